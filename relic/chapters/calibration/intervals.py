"""Which interval holds? Candidates on synthetic corpora drawn anew, by the linear classifier.

A corpus has three captioners that differ in gain alone, so they share their LIC_D (five human captions).
Sizes are those of race and gender (images of class 1), class ratios 1 : 2.2 (the planted gender) and
1 : 9 (race). The *estimand* is LIC of this classifier trained on so many images, averaged over training
sets and images: in a setting, the mean of all corpora's estimates. A row a corpus and gain in
`results/calibration/intervals.csv`: means and standard deviations over the first 3, 10 and 40 splits,
and of every few corpora the ten-fold estimate with its jackknife error.
"""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd

from relic.chapters.calibration.record import extend
from relic.chapters.learning.fits import Rows, class_mean, halves, texts
from relic.data.planted import CAPTIONERS, PlantedCorpus, planted_corpus
from relic.measure.score import lic_score

GAINS = (0.0, 0.5, 1.5)
PLANTED = tuple(replace(CAPTIONERS[0], key=f"gain {g:g}", name=f"gain {g:g}", gain=g) for g in GAINS)  # fmt: skip
IMAGES = {"race": {"gender": 3550, "race": 10_950}, "gender": {"gender": 10_700, "race": 33_000}}
CORPORA = {"race": 500, "gender": 150}  # of each class ratio
FIRST_SEED, MANY_EVERY = 20_000, 5  # every fifth corpus has forty splits and the jackknife
SPLITS = (3, 10, 40)
FOLDS = 10
KEYS = ["size", "ratio", "corpus_seed"]
RATIOS = {"gender": "1 : 2.2", "race": "1 : 9"}


def study(corpora: int = 0) -> pd.DataFrame:
    """Measure what the record lacks, the settings in turn; `corpora` of race size and class ratio."""
    race, wanted = corpora or CORPORA["race"], []
    for number in range(race):
        wanted += [("race", ratio, FIRST_SEED + number) for ratio in RATIOS]
        if number * CORPORA["gender"] // CORPORA["race"] < (number + 1) * CORPORA["gender"] // CORPORA["race"]:  # fmt: skip
            wanted += [("gender", ratio, FIRST_SEED + number) for ratio in RATIOS]
    return extend("intervals", KEYS, wanted, measure)


def measure(size: str, ratio: str, corpus_seed: int) -> pd.DataFrame:
    """A row a gain. The class ratio is that of the planted attribute of its name."""
    images = IMAGES[size][ratio]
    corpus = planted_corpus(ratio, images=images, seed=corpus_seed, captioners=PLANTED)
    many = size == "race" and corpus_seed % MANY_EVERY == 0
    read = [texts(corpus, PLANTED[0].key), *(texts(corpus, p.key, indices=()) for p in PLANTED[1:])]
    rows = [Rows(each) for side in (*(t.model for t in read), read[0].human) for each in side]
    by_split = np.array([_split(corpus, rows, seed) for seed in range(SPLITS[-1 if many else -2])])
    folds = jackknife(corpus.labels, rows, corpus_seed) if many else (np.full(3, np.nan),) * 2
    found = []
    for at, gain in enumerate(GAINS):
        row = dict(zip(KEYS, (size, ratio, corpus_seed), strict=True))
        row |= {"gain": gain, "true_lic": corpus.true_lic(PLANTED[at].key).lic}
        for n in SPLITS:
            lic = by_split[:n, at] if len(by_split) >= n else np.full(2, np.nan)
            lead = by_split[:n, at] - by_split[:n, 0] if len(by_split) >= n else np.full(2, np.nan)
            row |= {f"lic_{n}": lic.mean(), f"std_{n}": lic.std(ddof=1)}
            row |= {f"lead_{n}": lead.mean(), f"lead_std_{n}": lead.std(ddof=1)}
        found.append(row | {"lic_folds": folds[0][at], "jackknife": folds[1][at]})
    return pd.DataFrame(found)


def _split(corpus: PlantedCorpus, rows: list[Rows], seed: int) -> np.ndarray:
    """LIC of the three captioners on one paired split."""
    train, test = halves(corpus, PLANTED[0].key, seed)
    learned, tested = train.to_numpy(), test.to_numpy()
    scores = []
    for each in rows:
        (p,) = each.guesses(each.of(train.index), learned, each.of(test.index))
        scores.append(lic_score(p, tested))
    return _minus_human(np.array(scores))


def _minus_human(scores: np.ndarray) -> np.ndarray:
    """The captioners' scores less the mean of the human captions', which come after them."""
    return scores[: len(GAINS)] - scores[len(GAINS) :].mean()


def jackknife(labels: pd.Series, rows: list[Rows], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Ten-fold LIC over all labelled images, and its delete-a-group jackknife error with retraining.

    Training is balanced: all of class 1 and the first as many of class 0, in one random order; a test
    fold is scored as the mean of its classes. Leaving out group g retrains every other fold without g;
    what is trained without g and h serves both, so 45 fits are added to ten.
    """
    rng = np.random.default_rng([seed, 17])
    ids, y = labels.index.to_numpy(), labels.to_numpy()
    order = rng.permutation(len(y))
    fold = np.empty(len(y), dtype=int)
    for value in (0, 1):
        members = order[y[order] == value]
        fold[members] = np.arange(len(members)) % FOLDS
    of = [each.of(ids) for each in rows]
    whole = np.zeros((FOLDS, len(rows)))
    without = np.zeros((FOLDS, FOLDS, len(rows)))  # [left out, tested]
    for out in [*combinations(range(FOLDS), 2), *((g,) for g in range(FOLDS))]:
        train = _balanced(order[~np.isin(fold[order], out)], y)
        tests = [np.flatnonzero(fold == g) for g in out]
        for at, each in enumerate(rows):
            guesses = each.guesses(of[at][train], y[train], *(of[at][t] for t in tests))
            found = [class_mean(p, y[t]) for p, t in zip(guesses, tests, strict=True)]
            if len(out) == 1:
                whole[out[0], at] = found[0]
            else:
                without[out[1], out[0], at], without[out[0], out[1], at] = found
    replicates = np.array([_minus_human(each) for each in without.sum(axis=1) / (FOLDS - 1)])
    spread = ((replicates - replicates.mean(axis=0)) ** 2).sum(axis=0)
    return _minus_human(whole.mean(axis=0)), np.sqrt((FOLDS - 1) / FOLDS * spread)


def _balanced(rows: np.ndarray, y: np.ndarray) -> np.ndarray:
    ones = rows[y[rows] == 1]
    return np.concatenate([ones, rows[y[rows] == 0][: len(ones)]])
