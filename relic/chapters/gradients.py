"""Integrated gradients: which words of a caption move the classifier, and towards which class.

Sundararajan, Taly & Yan (2017), equation 1, on the embeddings, by captum's `LayerIntegratedGradients`:
gradients of the output along the straight line from a caption of padding to the caption, integrated,
times the step in embedding space, summed over dimensions. Positive is towards class 1. A caption's
attributions sum to the output for the caption less the output for the padding (completeness); what the
quadrature misses of that is its `delta`.

Türk et al. (2023) divide by the L2 norm over tokens and call the sum the caption's attribution score.
Dropout is off here: with it, two calls for one caption differ.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import torch
from captum.attr import LayerIntegratedGradients

from relic.measure.classifiers.bert import FineTuned, pieces, word_pieces
from relic.measure.classifiers.device import best_device
from relic.measure.classifiers.lstm import LSTM, PAD, UNK, spacy_tokens

OUTPUTS = ("logit", "probability")  # log-odds of class 1, or its probability as in Türk et al.
# Gauss-Legendre points that give what 500 give, within 1 %; BERT-ft's head has kinks (LeakyReLU)
STEPS = {"lstm": 20, "bert-ft": 100}
REFERENCE = 500  # those of Türk et al.
ROWS = 128  # interpolated captions a pass: with more, BERT-ft takes over 2 GB and is no faster


def attribute(
    model: LSTM | FineTuned, captions: Sequence[str], of: str, steps: int
) -> pd.DataFrame:
    """Attributions of a trained classifier's output to the words of captions, a row each.

    `words`, `attributions` (word pieces joined); `output`, `baseline` (the output for padding only),
    `delta`; `norm` over the tokens, and Türk et al.'s `score`. Equal captions are attributed once.
    `of`: one of OUTPUTS.
    """
    logits, embedding, read = _parts(model)

    def output(ids: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(logits(ids)) if of == "probability" else logits(ids)

    integrated = LayerIntegratedGradients(output, embedding)
    how = {"n_steps": steps, "method": "gausslegendre", "internal_batch_size": ROWS}

    def attribute_one(caption: str) -> dict:
        *both, tokens = read(caption)
        ids, padding = (torch.tensor([row], device=best_device()) for row in both)
        with torch.no_grad():
            end, start = output(torch.cat([ids, padding])).tolist()
        # cuDNN's LSTM has no backward pass in eval mode (captum issue 564); untested, for lack of a GPU.
        with torch.backends.cudnn.flags(enabled=False):
            values = integrated.attribute(ids, padding, **how).detach().double()
        values = values.sum(dim=-1)[0].tolist()
        words, joined = join_words(tokens, values)
        total, norm = sum(values), float(np.linalg.norm(values))
        score = total / norm if norm else 0.0  # no word counts: no direction
        row = {"words": words, "attributions": joined, "norm": norm, "score": score}
        return row | {"output": end, "baseline": start, "delta": total - (end - start)}

    rows = {caption: attribute_one(caption) for caption in dict.fromkeys(captions)}
    return pd.DataFrame([rows[caption] for caption in captions])


def join_words(texts: Sequence[str], values: Sequence[float]) -> tuple[list[str], list[float]]:
    """Tokens as words with summed attributions: word pieces, and spaCy's three parts of `<unk>`.

    >>> join_words(["[CLS]", "snow", "##board", "<", "unk", ">", "[SEP]"], [0, 1, 2, 3, 4, 5, 0])
    (['snowboard', '<unk>'], [3.0, 12.0])
    """
    words, sums = [], []
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


def _parts(model: LSTM | FineTuned) -> tuple[Callable, torch.nn.Module, Callable]:
    """What integrated gradients need of a classifier: logits of token ids, embedding layer, reader; dropout off.

    The reader gives a caption's token ids, those of the padding it is compared with, and the tokens as texts.
    """
    if isinstance(model, LSTM):
        network = model.network.eval()

        def read_tokens(caption: str):
            texts = spacy_tokens(caption) or ("",)  # a caption without tokens is one unknown word
            return [model.ids.get(text, UNK) for text in texts], [PAD] * len(texts), texts

        return lambda ids: network(ids, None), network.embedding, read_tokens
    encoder, head, name = model.encoder.eval(), model.head.eval(), model.encoder_name

    def logits(ids: torch.Tensor) -> torch.Tensor:
        both = head(encoder(ids).last_hidden_state[:, 0])
        return both[:, 1] - both[:, 0]

    def read_pieces(caption: str):
        ids = word_pieces(name, [caption])[0]  # [CLS] and [SEP] stay in the baseline
        baseline = (ids[0], *[pieces(name).pad_token_id] * (len(ids) - 2), ids[-1])
        return ids, baseline, pieces(name).convert_ids_to_tokens(list(ids))

    return logits, encoder.embeddings, read_pieces  # of word, position and type, summed
