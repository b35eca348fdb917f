"""Integrated gradients: which words of a caption move the classifier, and towards which class.

Sundararajan, Taly & Yan (2017), equation 1, on the embeddings, by captum's `LayerIntegratedGradients`:
gradients of the output along the straight line from a caption of padding to the caption, integrated,
times the step in embedding space, summed over dimensions. Positive is towards class 1. A caption's
attributions sum to the output for the caption less the output for the padding (completeness); what the
quadrature misses of that is its `delta`.

The head of BERT-ft has LeakyReLUs, whose kinks make gradients jump along the path, so that no number of points
converges fast. Its encoder is smooth: there we integrate by product. At few points the Jacobian J of the
encoder's state is exact and between them it is a polynomial; the head's gradient g is taken on a fine grid, which costs
next to nothing, and Σ_k J_kᵀ ∫ ℓ_k g dα needs one backward pass (ℓ_k: Lagrange's polynomials).

Türk et al. (2023) divide by the L2 norm over tokens and call the sum the caption's attribution score.
Dropout is off here: with it, two calls for one caption differ.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from captum.attr import LayerIntegratedGradients
from scipy.interpolate import BarycentricInterpolator

from relic.errors import RelicError
from relic.measure.classifiers.bert import FineTuned
from relic.measure.classifiers.device import best_device
from relic.measure.classifiers.encoder import padding_piece, piece_texts, word_pieces
from relic.measure.classifiers.lstm import LSTM, PAD, UNK, spacy_tokens

OUTPUTS = ("logit", "probability")  # log-odds of class 1, or its probability as in Türk et al.
STEPS = {"lstm": 20, "bert-ft": 32}  # Gauss-Legendre points that give what 500 give, within 1 %
REFERENCE = 500  # those of Türk et al.
ROWS = 128  # interpolated captions a pass: with more, BERT-ft takes over 2 GB and is no faster
FINE = 1000  # grid for the gradient of a kinked head


class Tokens(NamedTuple):
    """A caption as a classifier reads it, and the caption of padding it is compared with."""

    ids: tuple[int, ...]
    baseline: tuple[int, ...]
    texts: tuple[str, ...]


class Parts(NamedTuple):
    """What integrated gradients need of a classifier."""

    logits: Callable[[torch.Tensor], torch.Tensor]
    embedding: torch.nn.Module
    read: Callable[[str], Tokens]
    modules: tuple[torch.nn.Module, ...]
    # where the head has kinks: the smooth part below it, and the head from there to logits
    states: Callable[[torch.Tensor], torch.Tensor] | None = None
    head: Callable[[torch.Tensor], torch.Tensor] | None = None


def attribute(
    model, captions: Sequence[str], of: str = "logit", steps: int = 0, plain: bool = False
) -> pd.DataFrame:
    """Attributions of a trained classifier's output to the words of captions, a row each.

    `words`, `attributions` (word pieces joined); `output`, `baseline` (the output for padding only),
    `delta`; `norm` over the tokens, and Türk et al.'s `score`. Equal captions are attributed once.
    `steps` 0 means the classifier's own in STEPS; `plain` is captum's sum for every classifier.
    """
    if of not in OUTPUTS:
        raise RelicError(f"attribution of {of!r}", expected=" or ".join(OUTPUTS))
    if not isinstance(steps, int) or steps < 0:
        raise RelicError(f"{steps} steps", expected="a whole number, 0 for the classifier's own")
    parts = _parts(model)
    steps = steps or STEPS["lstm" if isinstance(model, LSTM) else "bert-ft"]
    for module in parts.modules:
        module.eval()
    squash = torch.sigmoid if of == "probability" else torch.nn.Identity()

    def output(ids: torch.Tensor) -> torch.Tensor:
        return squash(parts.logits(ids))

    if parts.states is None or plain:
        captum = LayerIntegratedGradients(output, parts.embedding)
        integrate = partial(
            captum.attribute, n_steps=steps, method="gausslegendre", internal_batch_size=ROWS
        )
    else:
        integrate = partial(_by_product, parts=parts, squash=squash, steps=steps)
    read = {caption: parts.read(caption) for caption in dict.fromkeys(captions)}
    done = {}
    for group in _batches(read, steps):
        rows = _attribute_alike([read[caption] for caption in group], integrate, output)
        done.update(zip(group, rows, strict=True))
    return pd.DataFrame([done[caption] for caption in captions])


def _batches(read: dict[str, Tokens], steps: int) -> list[list[str]]:
    """Captions of one length together, so that none is padded; about ROWS passes a batch."""
    alike: dict[int, list[str]] = {}
    for caption, tokens in read.items():
        alike.setdefault(len(tokens.ids), []).append(caption)
    size = max(1, ROWS // steps)
    return [group[i : i + size] for group in alike.values() for i in range(0, len(group), size)]


def _attribute_alike(batch: list[Tokens], integrate, output) -> list[dict]:
    device = best_device()
    ids, baselines = (
        torch.tensor([getattr(tokens, name) for tokens in batch], device=device)
        for name in ("ids", "baseline")
    )
    with torch.no_grad():
        ends, starts = output(ids).double(), output(baselines[:1]).double().expand(len(batch))
    # cuDNN's LSTM has no backward pass in eval mode (captum issue 564); untested, for lack of a GPU.
    with torch.backends.cudnn.flags(enabled=False):
        values = integrate(ids, baselines)
    values = values.detach().double().sum(dim=-1)
    deltas = values.sum(dim=1) - (ends - starts)
    numbers = zip(*(x.cpu().tolist() for x in (values, ends, starts, deltas)), strict=True)
    rows = []
    for tokens, (value, end, start, delta) in zip(batch, numbers, strict=True):
        words, joined = join_words(tokens.texts, value)
        norm = float(np.linalg.norm(value))
        score = sum(value) / norm if norm else 0.0  # no word counts: no direction
        rows.append(
            {"words": words, "attributions": joined, "norm": norm, "score": score}
            | {"output": end, "baseline": start, "delta": delta}
        )
    return rows


def _by_product(ids, baselines, parts: Parts, squash, steps: int) -> torch.Tensor:
    """Integrated gradients of a kinked head on smooth states, for captions of one length."""
    nodes = (np.polynomial.legendre.leggauss(steps)[0] + 1) / 2
    grid = (np.arange(FINE) + 0.5) / FINE
    basis = torch.tensor(
        BarycentricInterpolator(nodes, np.eye(steps))(grid), dtype=torch.float32, device=ids.device
    )
    with torch.no_grad():
        start = parts.embedding(baselines)
        way = parts.embedding(ids) - start
    alphas = torch.tensor(nodes, dtype=torch.float32, device=ids.device)[:, None, None]
    path = (start[:, None] + alphas * way[:, None]).flatten(0, 1).requires_grad_()
    hook = parts.embedding.register_forward_hook(lambda *_: path)
    try:
        states = parts.states(ids.repeat_interleave(steps, dim=0)).unflatten(0, (-1, steps))
    finally:
        hook.remove()
    fine = torch.einsum("mk,bkd->bmd", basis, states.detach()).requires_grad_()
    (slopes,) = torch.autograd.grad(squash(parts.head(fine.flatten(0, 1))).sum(), fine)
    weights = torch.einsum("mk,bmd->bkd", basis, slopes) / FINE
    (gradients,) = torch.autograd.grad((states * weights).sum(), path)
    return way * gradients.unflatten(0, (-1, steps)).sum(dim=1)


def join_words(texts: Sequence[str], values: Sequence[float]) -> tuple[list[str], list[float]]:
    """Tokens as words with summed attributions: word pieces, and spaCy's three parts of `<unk>`.

    >>> join_words(["[CLS]", "snow", "##board", "<", "unk", ">", "[SEP]"], [0, 1, 2, 3, 4, 5, 0])
    (['snowboard', '<unk>'], [3.0, 12.0])
    """
    words: list[str] = []
    sums: list[float] = []
    for text, value in zip(texts, values, strict=True):
        if text in ("[CLS]", "[SEP]"):  # the same in the baseline, so exactly zero
            continue
        if text.startswith("##") and len(text) > 2 and words:
            words[-1] += text.removeprefix("##")
            sums[-1] += float(value)
            continue
        words.append(text)
        sums.append(float(value))
        if words[-3:] == ["<", "unk", ">"]:
            words[-3:], sums[-3:] = ["<unk>"], [sum(sums[-3:])]
    return words, sums


def _parts(model) -> Parts:
    for kind, parts in ((LSTM, _lstm_parts), (FineTuned, _bert_parts)):
        if isinstance(model, kind):
            return parts(model)
    name = type(model).__name__
    raise RelicError(f"no integrated gradients of {name}", expected=", ".join(STEPS))


def _lstm_parts(model: LSTM) -> Parts:
    def read(caption: str) -> Tokens:
        texts = spacy_tokens(caption) or ("",)  # a caption without tokens is one unknown word
        ids = tuple(model.ids.get(text, UNK) for text in texts)
        return Tokens(ids, (PAD,) * len(ids), texts)

    network = model.network
    return Parts(lambda ids: network(ids, None), network.embedding, read, (network,))


def _bert_parts(model: FineTuned) -> Parts:
    """On the sum of word, position and type embeddings; [CLS] and [SEP] stay in the baseline."""
    padding = padding_piece(model.encoder_name)

    def read(caption: str) -> Tokens:
        ids = word_pieces(model.encoder_name, [caption])[0]
        baseline = (ids[0], *[padding] * (len(ids) - 2), ids[-1])
        return Tokens(ids, baseline, piece_texts(model.encoder_name, ids))

    def states(ids: torch.Tensor) -> torch.Tensor:
        return model.encoder(ids).last_hidden_state[:, 0]

    def head(states: torch.Tensor) -> torch.Tensor:
        both = model.head(states)
        return both[:, 1] - both[:, 0]

    modules, embedding = (model.encoder, model.head), model.encoder.embeddings
    return Parts(lambda ids: head(states(ids)), embedding, read, modules, states, head)
