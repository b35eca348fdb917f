"""What a run reads: captions as its classifier sees them, and the classes of their images.

Everything that several runs share is computed once per process.
"""

import hashlib
import json
import random
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from relic.data.attribute import Attribute, load_attribute
from relic.data.corpus import Corpus
from relic.errors import RelicError
from relic.measure.classifiers.base import TextForm
from relic.measure.splits import check_labels
from relic.measure.text import TREEBANK, frequent_vocabulary, masked_captions

Side = Literal["model", "human"]  # whose captions: `model` for LIC_M, `human` for LIC_D
Vocabulary = Literal["", "captioner", "human-top-n", "none"]  # generated captions need none: ""
VOCABULARIES = get_args(Vocabulary)[1:]
OWN_WORDS = 0.85  # a vocabulary covers at least this share of its captioner's own words
MASKED, UNMASKED = "masked_", "unmasked"  # caption sets of masked images; the whole images of those
TOGETHER = ("paired", "grouped")  # splits over the images that every caption set has


class Reading(NamedTuple):
    """Which captions: a captioner's, or the human ones aligned to its vocabulary."""

    side: Side
    captioner: str
    caption_set: str = "standard"
    caption_index: int = 0
    vocabulary: Vocabulary = ""


@lru_cache(maxsize=32)
def raw_captions(corpus: Corpus, reading: Reading) -> pd.Series:
    """Captions by image id, in the order of their rows.

    As plain Python strings: Arrow's are converted one by one at every use.
    """
    if reading.side == "human":
        return corpus.human_captions(reading.caption_index).astype(object)
    captioner, wanted = reading.captioner, reading.caption_set
    texts = corpus.captions(captioner, "standard" if wanted == UNMASKED else wanted)
    if wanted == UNMASKED or wanted.startswith(MASKED):  # on the images that all masked sets share
        for name in corpus.caption_sets(captioner):
            if name.startswith(MASKED):
                texts = texts[texts.index.isin(corpus.captions(captioner, name).index)]
    return texts.astype(object)


def vocabulary(corpus: Corpus, reading: Reading) -> tuple[str, ...] | None:
    """Words that human captions keep; None keeps all."""
    if reading.side == "model" or reading.vocabulary == "none":
        return None
    if reading.captioner not in corpus.vocabularies:
        raise RelicError(
            f"{corpus.name} has no vocabulary of {reading.captioner}",
            expected="model_vocab/ beside the captions",
            mend="relic data fetch DIR, or vocabulary none",
        )
    own = _own_vocabulary(corpus, reading.captioner)
    return own if reading.vocabulary == "captioner" else _frequent(corpus, len(own))


def own_words(captions: Iterable[str], attribute: Attribute) -> tuple[str, ...]:
    """The vocabulary of a captioner that published none: the words of its captions after masking."""
    return tuple(sorted(set(" ".join(masked_captions(captions, attribute)).split())))


@lru_cache(maxsize=64)
def _own_vocabulary(corpus: Corpus, captioner: str) -> tuple[str, ...]:
    """A captioner's vocabulary; refused if it lacks many of its own words, as another's would.

    Upstream built the vocabularies on gender-masked captions: gender words do not count against them.
    """
    attribute, texts = corpus.attribute, corpus.captions(captioner)
    own = corpus.vocabularies[captioner] or own_words(texts, attribute)
    covered = {*own, attribute.mask_token, *load_attribute("gender").masked_words}
    tokens = " ".join(masked_captions(texts.drop_duplicates().iloc[:2000], attribute)).split()
    share = np.mean([token in covered for token in tokens])
    if share < OWN_WORDS:
        raise RelicError(
            f"the vocabulary of {captioner} covers {100 * share:.0f} % of its own words",
            expected=f"at least {100 * OWN_WORDS:.0f} %: this looks like another captioner's file",
            mend="relic data check DIR names files whose bytes are not upstream's",
        )
    return own


@lru_cache(maxsize=32)
def _frequent(corpus: Corpus, size: int) -> tuple[str, ...]:
    """The most frequent words of all human captions, masked (Antequera et al. 2023, appendix C)."""
    masked = masked_captions(corpus.human["caption"], corpus.attribute)
    return tuple(frequent_vocabulary(masked, size))


@lru_cache(maxsize=16)
def read_captions(corpus: Corpus, reading: Reading, form: TextForm) -> pd.Series:
    """Captions by image id, masked and aligned, in the form a classifier reads."""
    texts = raw_captions(corpus, reading)
    masked = masked_captions(
        texts,
        corpus.attribute,
        lowercase=form.lowercase_generated or reading.side == "human",
        mask_token=form.mask_token,
        vocabulary=vocabulary(corpus, reading),
        unknown=form.unknown,
    )
    return pd.Series(masked, index=texts.index, dtype=object)


def masked(
    corpus: Corpus, captioner: str, side: Side = "model", caption_index: int = 0
) -> pd.DataFrame:
    """Captions beside what a classifier reads of them, by image id: to look at.

    `side` human: people's captions, aligned to the captioner's vocabulary.
    """
    vocabulary: Vocabulary = "captioner" if side == "human" else ""
    reading = Reading(side, captioner, caption_index=caption_index, vocabulary=vocabulary)
    said, read = raw_captions(corpus, reading), read_captions(corpus, reading, TextForm())
    label = corpus.labels.map(dict(enumerate(corpus.attribute.classes))).reindex(said.index)
    return pd.DataFrame({"label": label, "caption": said, "as the classifier reads it": read})


@lru_cache(maxsize=256)
def usable_labels(corpus: Corpus, reading: Reading, policy: str, size: int, seed: int) -> pd.Series:
    """Classes of the images a run may use, in row order; `size` of them if that is not 0."""
    labels = _labelled(corpus, reading, policy in TOGETHER)
    if size:
        labels = _subsample(labels, size, seed)
    check_labels(labels, policy)
    return labels


def _labelled(corpus: Corpus, reading: Reading, together: bool) -> pd.Series:
    """Classes of the captions' images in row order; of those that every caption set has."""
    labels = corpus.labels.reindex(raw_captions(corpus, reading).index).dropna().astype("int64")
    return labels[labels.index.isin(_common(corpus))] if together else labels


@lru_cache(maxsize=16)
def _common(corpus: Corpus) -> frozenset[int]:
    """Images with a label, human captions (where there are any) and every captioner's caption."""
    common = set(corpus.labels.index if corpus.human.empty else corpus.covered)
    for captioner in corpus.captioners:
        common &= set(corpus.captions(captioner).index)
    return frozenset(common)


def _subsample(labels: pd.Series, size: int, seed: int) -> pd.Series:
    """`size` images, half of each class, the same for every captioner with one seed."""
    half, rng, sample = size // 2, random.Random(f"size {size} {seed}"), set()
    for value in (0, 1):
        ids = sorted(labels.index[labels == value].tolist())
        if len(ids) < half:
            found = f"size {size}: class {value} has {len(ids)} images"
            raise RelicError(found, expected=str(half))
        sample.update(rng.sample(ids, half))
    return labels[labels.index.isin(sample)]


@lru_cache(maxsize=4096)
def fingerprint(corpus: Corpus, reading: Reading, policy: str) -> str:
    """SHA-256 of what a run reads: labels, captions, masked words, vocabulary."""
    attribute, words = corpus.attribute, vocabulary(corpus, reading)
    blind = reading._replace(vocabulary="")  # the same human captions for every vocabulary
    if reading.side == "human":
        blind = blind._replace(captioner="")
    text = _text_digest(corpus, blind, policy in TOGETHER)
    parts = [text, sorted(attribute.masked_words), attribute.mask_token, words and list(words)]
    parts += [attribute.tokenizer] if attribute.tokenizer != TREEBANK else []
    if policy == "grouped":  # folds hang on the captioner's captions, for human captions too
        parts += ["folds", _text_digest(corpus, grouped_by(reading), True)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


@lru_cache(maxsize=1024)
def _text_digest(corpus: Corpus, reading: Reading, together: bool) -> str:
    labels = _labelled(corpus, reading, together)
    texts = raw_captions(corpus, reading).loc[labels.index].tolist()
    pairs = zip(labels.items(), texts, strict=True)
    rows = [f"{image_id}\x1f{y}\x1f{text}" for (image_id, y), text in pairs]
    return hashlib.sha256("\x1e".join(rows).encode()).hexdigest()


def grouped_by(reading: Reading) -> Reading:
    """The generated captions that deal images into folds: the same for both sides."""
    return Reading("model", reading.captioner, reading.caption_set)


def learned_classes(labels: pd.Series, how: str, seed: int) -> pd.Series:
    """Classes to learn: `true`, `permuted` among the images, or `noisy:RATE` of them flipped."""
    if how == "true":
        return labels
    ids, rng = labels.sort_index(), np.random.default_rng([seed, 7])
    if how == "permuted":
        return pd.Series(rng.permutation(ids.to_numpy()), index=ids.index).loc[labels.index]
    rate = re.fullmatch(r"noisy:(0|0?\.\d+)", how)
    if rate is None or float(rate[1]) > 0.5:
        expected = "true, permuted, or noisy:RATE with RATE up to 0.5"
        raise RelicError(f"labels {how!r}", expected=expected)
    flipped = rng.random(len(ids)) < float(rate[1])
    noisy = (ids ^ flipped).astype("int64").loc[labels.index]
    return 1 - noisy if noisy.mean() > 0.5 else noisy  # class 1 stays the rarer
