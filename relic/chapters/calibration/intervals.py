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
from scipy.special import stdtrit
from scipy.stats import binomtest

from relic.chapters.calibration.record import NAME, extend, read
from relic.chapters.learning.fits import Rows, class_mean, halves, texts
from relic.data.planted import CAPTIONERS, PlantedCorpus, planted_corpus
from relic.judge.stats import Interval
from relic.measure.score import lic_score
from relic.records.tables import home

GAINS = (0.0, 0.5, 1.5)
PLANTED = tuple(replace(CAPTIONERS[0], key=f"gain {g:g}", name=f"gain {g:g}", gain=g) for g in GAINS)  # fmt: skip
IMAGES = {"race": {"gender": 3550, "race": 10_950}, "gender": {"gender": 10_700, "race": 33_000}}
CORPORA = {"race": 500, "gender": 150}  # of each class ratio
FIRST_SEED, MANY_EVERY = 20_000, 5  # every fifth corpus has forty splits and the jackknife
SPLITS = (3, 10, 40)
FOLDS = 10
KEYS = ["size", "ratio", "corpus_seed"]
SMALLER = "142 test images"
COLUMNS = [*KEYS, "gain", "true_lic", *(f"{of}_{n}" for n in SPLITS for of in ("lic", "std")), "lic_folds", "jackknife"]  # fmt: skip
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
    many = size == "race" and corpus_seed % MANY_EVERY == MANY_EVERY - 1
    said = [texts(corpus, PLANTED[0].key), *(texts(corpus, p.key, indices=()) for p in PLANTED[1:])]
    rows = [Rows(each) for side in (*(t.model for t in said), said[0].human) for each in side]
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


def recorded() -> pd.DataFrame:
    """All corpora: of this study, and 200 of the first, which had 2,300 images and ten splits.

    The first went through the whole pipeline (gains 0 and 0.5; its code is in the history, at the
    commit that `provenance.json` names): the same estimate and spread over splits.
    """
    first = read("study").query("score == 'plain'")
    first = first.rename(columns={"lic": "lic_10", "std_lic": "std_10"})
    first = first[["corpus_seed", "gain", "true_lic", "lic_10", "std_10"]]
    parts = [first.assign(size=SMALLER, ratio="gender")]
    if (home(NAME) / "intervals.csv").exists():
        parts.append(read("intervals"))
    return pd.concat(parts, ignore_index=True).reindex(columns=COLUMNS)


def candidates(rho: float) -> dict[str, tuple[str, float, float, int]]:
    """Name: quantity, factor of the variance over splits, degrees of freedom, fits a captioner needs.

    `rho` is what splits of the same images share, beside 1/J; a fit is one classifier on one split.
    """
    found = {}
    for n in SPLITS:
        found[f"{n} splits, 1/J"] = (str(n), 1 / n, n - 1, n)
        found[f"{n} splits, 1/J + 1/9"] = (str(n), 1 / n + 1 / 9, n - 1, n)
        found[f"{n} splits, 1/J + {rho:g}"] = (str(n), 1 / n + rho, n - 1, n)
    found["40 splits, 1/10 + 1/9"] = ("40", 1 / 10 + 1 / 9, 39, 40)  # as `relic.judge.stats`
    found[f"10 splits, pooled, 1/J + {rho:g}"] = ("pooled", 1 / 10 + rho, 9, 10)
    found["ten folds, jackknife"] = ("folds", 1.0, FOLDS - 1, 55)
    return found


def calibrated(rows: pd.DataFrame, splits: int = 10) -> pd.DataFrame:
    """ρ by setting: variance of the mean over corpora in units of the variance over splits, less 1/J."""
    found = []
    for (size, ratio, gain), part in rows.groupby(["size", "ratio", "gain"]):
        known = part.dropna(subset=f"lic_{splits}")
        rho = known[f"lic_{splits}"].var() / (known[f"std_{splits}"] ** 2).mean() - 1 / splits
        found.append({"size": size, "class ratio": RATIOS[ratio], "gain": gain, "rho": rho, "corpora": len(known)})  # fmt: skip
    return pd.DataFrame(found)


def coverage(rows: pd.DataFrame, rho: float, fewest: int = 20) -> pd.DataFrame:
    """How often each candidate holds the estimand, by size, class ratio and gain; exact 95 % intervals.

    The estimand of a setting is the mean of all its estimates; settings with fewer than `fewest` corpora
    are left out. `true`: how often the true LIC of a
    perfect classifier is held; `above 0`: how often amplification is found (without gain: falsely).
    """
    found, by = [], ["size", "ratio", "corpus_seed"]
    pooled = np.sqrt((rows["std_10"] ** 2).groupby([rows[k] for k in by]).transform("mean"))
    rows = rows.assign(lic_pooled=rows["lic_10"], std_pooled=pooled, std_folds=rows["jackknife"])
    for name, (of, factor, df, fits) in candidates(rho).items():
        for (size, ratio, gain), part in rows.groupby(["size", "ratio", "gain"]):
            known = part.dropna(subset=[f"lic_{of}", f"std_{of}"])
            if len(known) < fewest:
                continue
            reach = stdtrit(df, 0.975) * np.sqrt(factor) * known[f"std_{of}"]
            lic, target = known[f"lic_{of}"], part["lic_10"].mean()
            held = ((lic - target).abs() <= reach).sum()
            share = exact(int(held), len(known))
            found.append({
                "interval": name, "size": size, "class ratio": RATIOS[ratio], "gain": gain, "holds the mean": share.mean,
                "low": share.low, "high": share.high, "holds the true LIC": 100 * ((lic - known["true_lic"]).abs() <= reach).mean(),
                "above 0": 100 * (lic > reach).mean(), "width": 2 * reach.mean(), "corpora": len(known), "fits": fits,
            })  # fmt: skip
    return pd.DataFrame(found)


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """A row a candidate: least and greatest coverage over the settings, all settings together, width."""
    found = []
    for name, part in table.groupby("interval", sort=False):
        held = round(float((part["holds the mean"] * part["corpora"]).sum()) / 100)
        share = exact(held, int(part["corpora"].sum()))
        found.append({
            "interval": name, "all settings": share.mean, "low": share.low, "high": share.high,
            "least": part["holds the mean"].min(), "greatest": part["holds the mean"].max(),
            "width": part["width"].mean(), "settings": len(part), "estimates": int(part["corpora"].sum()), "fits": part["fits"].iloc[0],
        })  # fmt: skip
    return pd.DataFrame(found)


def exact(hits: int, n: int) -> Interval:
    """A share in percent with its exact 95 % interval (Clopper & Pearson 1934).

    >>> [round(value, 1) for value in exact(0, 10)]  # high: 1 - 0.025 ** (1 / 10)
    [0.0, 0.0, 30.8]
    """
    low, high = binomtest(hits, n).proportion_ci(0.95, method="exact")
    return Interval(100 * hits / n, 100 * float(low), 100 * float(high))
