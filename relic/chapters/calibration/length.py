"""Wordy captioners without and with gain: LIC as written and at the same length, beside the truth.

A captioner of several *sentences* says as many captions of the image as that, each as people would
(gain 0); *fillers* are phrases that tell nothing. Sentence by sentence, true LIC is that of the gain:
0 without. A perfect classifier that reads all sentences knows more than from one human caption
(`true_whole`), though nothing was amplified. A row a setting and corpus in `results/calibration/length.csv`.
"""

from collections import defaultdict
from itertools import product

import numpy as np
import pandas as pd

from relic.chapters.calibration.record import extend
from relic.chapters.learning.sensitivity import length_matched
from relic.data.planted import PlantedCaptioner, bayes_score, planted_corpus
from relic.data.planted.process import channel
from relic.judge.stats import estimate

SHAPES = ((1, 0), (1, 3), (1, 6), (2, 0), (3, 0))  # sentences, fillers
GAINS = (0.0, 1.0)
CORPORA, FIRST_SEED, IMAGES = 4, 7000, 4000
KEYS = ["sentences", "fillers", "gain", "corpus_seed"]


def study(corpora: int = 0) -> pd.DataFrame:
    """Measure what the record lacks; all its rows are returned."""
    seeds = range(FIRST_SEED, FIRST_SEED + (corpora or CORPORA))
    wanted = [(*shape, gain, seed) for seed in seeds for shape in SHAPES for gain in GAINS]
    return extend("length", KEYS, wanted, measure)


def measure(sentences: int, fillers: int, gain: float, corpus_seed: int) -> pd.DataFrame:
    """Mean LIC over ten splits, as written and at the same length."""
    about = PlantedCaptioner("wordy", "Wordy", gain, sentences=sentences, fillers=fillers)
    corpus = planted_corpus("gender", images=IMAGES, seed=corpus_seed, captioners=(about,))
    words = frozenset(corpus.vocabularies["wordy"])
    found = length_matched(corpus).groupby("length", sort=False)
    means = (
        found[["lic_model", "lic_data", "lic", "words_model", "words_data"]].mean().reset_index()
    )
    setting = dict(zip(KEYS, (sentences, fillers, gain, corpus_seed), strict=True))
    whole = whole_bayes("gender", gain, words, sentences) - bayes_score("gender", 0.0, words)
    return means.assign(**setting, true_lic=corpus.true_lic("wordy").lic, true_whole=whole)


def whole_bayes(attribute: str, gain: float, words: frozenset[str], sentences: int) -> float:
    """`bayes_score` of a caption of several sentences about one image, by enumeration.

    Given the image's hidden kind the sentences are independent; their order tells nothing.
    """
    source, kinds = channel(attribute), channel(attribute).kind_probabilities()
    phrases, total = source.phrase_probabilities(gain), defaultdict(lambda: np.zeros(2))
    for k, row in enumerate(source.phrases):
        said = defaultdict(lambda: np.zeros(2))
        for p, phrase in enumerate(row):
            for place, share in ((source.places[k], source.presence), ("", 1 - source.presence)):
                known = [w if w in words else "" for w in f"{phrase} | {place}".split()]
                said[" ".join(known)] += phrases[:, k, p] * share
        for each in product(said.items(), repeat=sentences):
            texts, chances = zip(*each, strict=True)
            total[tuple(sorted(texts))] += kinds[:, k] * np.prod(chances, axis=0)
    table = np.array(list(total.values()))
    return float(100 * (table.mean(axis=1) * (table.max(axis=1) / table.sum(axis=1)) ** 2).sum())


def length_table(rows: pd.DataFrame) -> pd.DataFrame:
    """By setting and length: mean LIC over corpora with its interval, beside the two truths."""
    found = []
    for values, part in rows.groupby([*KEYS[:-1], "length"], sort=False):
        mean, low, high = estimate(part["lic"], test_to_train=0.0).interval()
        row = dict(zip([*KEYS[:-1], "captions"], values, strict=True))
        row |= {"words, generated": part["words_model"].mean(), "words, human": part["words_data"].mean()}  # fmt: skip
        row |= {"LIC": mean, "low": low, "high": high, "true LIC": part["true_lic"].mean()}
        found.append(row | {"true LIC of the whole text": part["true_whole"].mean(), "corpora": len(part)})  # fmt: skip
    return pd.DataFrame(found)
