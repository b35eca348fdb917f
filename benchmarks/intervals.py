"""Which interval holds? Candidates on synthetic corpora drawn anew, by the linear classifier.

A corpus has three captioners that differ in gain alone, so they share their LIC_D (five human captions).
Sizes are those of race and gender (images of class 1), class ratios 1 : 2.2 (the planted gender) and
1 : 9 (race); with gender's words also 1 : 1 and 1 : 9, so that ratio and words are told apart.
`relic/chapters/calibration.py` says what a row is, and reads them.
"""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pandas as pd

from relic.chapters.calibration import CLASSES, GAINS, SPLITS
from relic.chapters.learning import EVERY, OLDER, complete_only
from relic.data.corpus import HUMAN_CAPTIONS, Corpus
from relic.data.load import load_corpus
from relic.data.planted import CAPTIONERS, planted_corpus
from relic.measure.inputs import Reading, usable_labels
from relic.measure.runs import train

PLANTED = tuple(replace(CAPTIONERS[0], key=f"gain {g:g}", gain=g) for g in GAINS)
IMAGES = {"race": {"gender": 3550, "race": 10_950, "even": 3550, "uneven": 15_500}}
IMAGES["gender"] = {"gender": 10_700, "race": 33_000}
CORPORA = 500  # of race size and a class ratio
THINNED = 150  # of one that is made by leaving images out
FIRST_SEED = 20_000
MANY = {"race": 470, "gender": 230}  # every fifth of so many has forty splits
KEYS = ["size", "ratio", "corpus_seed"]
PARTS, PARTITIONS = 5, 4  # of the real images


def wanted(corpora: int = 0) -> list[tuple]:
    """Values of `KEYS`, the settings in turn; `corpora` of race size and class ratio."""
    values = []
    for number in range(corpora or CORPORA):
        settings = [("race", "gender"), ("race", "race")]
        if number % 10 in (3, 6, 9):  # gender is larger: three of ten
            settings += [("gender", "gender"), ("gender", "race")]
        if number < THINNED:
            settings += [("race", "even"), ("race", "uneven")]
        values += [(*setting, FIRST_SEED + number) for setting in settings]
    return values


def measure(size: str, ratio: str, corpus_seed: int) -> pd.DataFrame:
    """A row a gain. The class ratio is that of the planted attribute of its name, or made of gender's."""
    planted, images = ratio in ("gender", "race"), IMAGES[size][ratio]
    attribute = ratio if planted else "gender"
    corpus = planted_corpus(attribute, images=images, seed=corpus_seed, captioners=PLANTED)
    if not planted:
        labels = usable_labels(corpus, Reading("model", PLANTED[0].key), "paired", 0, 0)
        corpus = replace(corpus, labels=thinned(labels, CLASSES[ratio]))
    many = planted and corpus_seed % 5 == 4 and corpus_seed < FIRST_SEED + MANY[size]
    lic = by_split(corpus, corpus.captioners, SPLITS[-1 if many else -2])
    table = pd.DataFrame({"gain": GAINS, "true_lic": [corpus.true_lic(p.key).lic for p in PLANTED]})
    for n in SPLITS:
        enough = lic[: n if len(lic) >= n else 0]  # no splits: no number
        lead = enough - enough[:, :1]
        for name, spread, values in (("lic", "std", enough), ("lead", "lead_std", lead)):
            columns = pd.DataFrame(values)
            table[f"{name}_{n}"], table[f"{spread}_{n}"] = columns.mean(), columns.std()
    return table.assign(size=size, ratio=ratio, corpus_seed=corpus_seed)


def thinned(labels: pd.Series, ratio: float) -> pd.Series:
    """The first images of each class, as many as give the ratio of class 1 to class 0."""
    zeros, ones = labels.value_counts()[[0, 1]]
    most = labels.map({0: min(zeros, round(ones / ratio)), 1: min(ones, round(zeros * ratio))})
    return labels[labels.groupby(labels).cumcount() < most]


def by_split(corpus: Corpus, captioners: list[str], splits: int) -> np.ndarray:
    """LIC of captioners, which share their human captions, on each paired split."""
    lic = []
    for seed in range(splits):
        one = partial(train, corpus, seed=seed)
        human = [one(captioners[0], side="human", caption_index=k) for k in range(HUMAN_CAPTIONS)]
        lic_data = np.mean([outcome.scores["score"] for outcome in human])
        lic.append([one(name).scores["score"] - lic_data for name in captioners])
    return np.array(lic)


@cache
def real(attribute: str, images: str = EVERY) -> Corpus:
    """The real captions, on all images or on those of the complete sources."""
    corpus = load_corpus(attribute, "real")
    return complete_only(corpus)[0] if images == OLDER else corpus


def measure_fifths(attribute: str, captioner: str, partition: int) -> pd.DataFrame:
    """A row a fifth of the images, which are independent samples: LIC's mean and spread over ten splits."""
    corpus, rng = real(attribute), np.random.default_rng([99, partition])
    labels = usable_labels(corpus, Reading("model", captioner), "paired", 0, 0)
    part = pd.Series(0, index=labels.index)
    for ids in (labels.index[labels == value] for value in (0, 1)):
        part.loc[rng.permutation(ids)] = np.arange(len(ids)) % PARTS
    parts = [replace(corpus, labels=labels[part == number]) for number in range(PARTS)]
    splits = [by_split(fifth, [captioner], 10) for fifth in parts]
    means = [(number, lic.mean(), lic.std(ddof=1)) for number, lic in enumerate(splits)]
    table = pd.DataFrame(means, columns=["part", "lic_10", "std_10"])
    return table.assign(attribute=attribute, captioner=captioner, partition=partition)
