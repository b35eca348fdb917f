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
from itertools import groupby
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


class Parts(NamedTuple):
    """What integrated gradients need of a classifier."""

    logits: Callable[[torch.Tensor], torch.Tensor]
    embedding: torch.nn.Module
    # a caption's token ids, those of the padding it is compared with, and the tokens as texts
    read: Callable[[str], tuple[Sequence[int], Sequence[int], Sequence[str]]]
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
        captum = LayerIntegratedGradients(output, parts.embedding).attribute
        how = {"method": "gausslegendre", "internal_batch_size": ROWS}
        integrate = partial(captum, n_steps=steps, **how)
    else:
        integrate = partial(_by_product, parts=parts, squash=squash, steps=steps)
    read = {caption: parts.read(caption) for caption in captions}
    done, size = {}, max(1, ROWS // steps)
    by_length = groupby(
        sorted(read, key=lambda text: len(read[text][0])), lambda t: len(read[t][0])
    )
    for alike in (list(texts) for _, texts in by_length):  # of one length: none is padded
        for batch in (alike[at : at + size] for at in range(0, len(alike), size)):
            rows = _attribute_alike([read[text] for text in batch], integrate, output)
            done |= zip(batch, rows, strict=True)
    return pd.DataFrame([done[caption] for caption in captions])


def _attribute_alike(batch: list[tuple], integrate, output) -> list[dict]:
    ids, baselines, texts = zip(*batch, strict=True)
    ids, baselines = (torch.tensor(rows, device=best_device()) for rows in (ids, baselines))
    with torch.no_grad():
        ends, starts = output(ids).double(), output(baselines[:1]).double().expand(len(batch))
    # cuDNN's LSTM has no backward pass in eval mode (captum issue 564); untested, for lack of a GPU.
    with torch.backends.cudnn.flags(enabled=False):
        values = integrate(ids, baselines).detach().double().sum(dim=-1)
    deltas = values.sum(dim=1) - (ends - starts)
    numbers = [tensor.cpu().tolist() for tensor in (values, ends, starts, deltas)]
    rows = []
    for tokens, value, end, start, delta in zip(texts, *numbers, strict=True):
        words, joined = join_words(tokens, value)
        norm = float(np.linalg.norm(value))
        score = sum(value) / norm if norm else 0.0  # no word counts: no direction
        row = {"words": words, "attributions": joined, "norm": norm, "score": score}
        rows.append(row | {"output": end, "baseline": start, "delta": delta})
    return rows


def _by_product(ids, baselines, parts: Parts, squash, steps: int) -> torch.Tensor:
    """Integrated gradients of a kinked head on smooth states, for captions of one length."""
    nodes = (np.polynomial.legendre.leggauss(steps)[0] + 1) / 2
    grid = (np.arange(FINE) + 0.5) / FINE
    basis = ids.new_tensor(BarycentricInterpolator(nodes, np.eye(steps))(grid), dtype=torch.float32)
    with torch.no_grad():
        start = parts.embedding(baselines)
        way = parts.embedding(ids) - start
    alphas = ids.new_tensor(nodes, dtype=torch.float32)[:, None, None]
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
    def read(caption: str):
        texts = spacy_tokens(caption) or ("",)  # a caption without tokens is one unknown word
        return [model.ids.get(text, UNK) for text in texts], [PAD] * len(texts), texts

    network = model.network
    return Parts(lambda ids: network(ids, None), network.embedding, read, (network,))


def _bert_parts(model: FineTuned) -> Parts:
    """On the sum of word, position and type embeddings; [CLS] and [SEP] stay in the baseline."""
    padding = padding_piece(model.encoder_name)

    def read(caption: str):
        ids = word_pieces(model.encoder_name, [caption])[0]
        baseline = (ids[0], *[padding] * (len(ids) - 2), ids[-1])
        return ids, baseline, piece_texts(model.encoder_name, ids)

    def states(ids: torch.Tensor) -> torch.Tensor:
        return model.encoder(ids).last_hidden_state[:, 0]

    def head(states: torch.Tensor) -> torch.Tensor:
        both = model.head(states)
        return both[:, 1] - both[:, 0]

    modules, embedding = (model.encoder, model.head), model.encoder.embeddings
    return Parts(lambda ids: head(states(ids)), embedding, read, modules, states, head)
