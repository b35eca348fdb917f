"""Which interval holds? Candidates on synthetic corpora drawn anew, by the linear classifier.

A corpus has three captioners that differ in gain alone, so they share their LIC_D (five human captions).
Sizes are those of race and gender (images of class 1), class ratios 1 : 2.2 (the planted gender) and
1 : 9 (race). The *estimand* is LIC of this classifier trained on so many images, averaged over training
sets and images: in a setting, the mean of all corpora's estimates. A row a corpus and gain in
`results/calibration/intervals.csv`: means and standard deviations over the first 3, 10 and 40 splits
of LIC and of its lead over the captioner without gain, and of every fifth corpus the ten-fold estimate
with its jackknife error. `fifths.csv` has real captions, five disjoint parts of the images at a time.
"""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pandas as pd
from scipy.special import stdtrit
from scipy.stats import binomtest

from relic.chapters.calibration.record import extend
from relic.chapters.learning.curves import real
from relic.chapters.learning.fits import Rows, class_mean, texts
from relic.data.captioners import captioner_files
from relic.data.planted import CAPTIONERS, planted_corpus
from relic.judge.stats import NADEAU_BENGIO, SHARED, Interval
from relic.measure.inputs import Reading, usable_labels
from relic.measure.score import lic_score
from relic.measure.splits import split

GAINS = (0.0, 0.5, 1.5)
PLANTED = tuple(replace(CAPTIONERS[0], key=f"gain {g:g}", gain=g) for g in GAINS)
IMAGES = {"race": {"gender": 3550, "race": 10_950}, "gender": {"gender": 10_700, "race": 33_000}}
CORPORA = {"race": 500, "gender": 150}  # of each class ratio
FIRST_SEED, MANY_EVERY = 20_000, 5  # every fifth corpus has forty splits and the jackknife
SPLITS, FOLDS = (3, 10, 40), 10
KEYS = ["size", "ratio", "corpus_seed"]
SETTING = ["size", "class ratio", "gain"]
RATIOS = {"gender": "1 : 2.2", "race": "1 : 9"}
OURS, FORMER = f"10 splits, 1/J + {SHARED:g}", "10 splits, 1/J + 1/9"
PARTS, PARTITIONS = 5, 4  # of the real images


def study(corpora: int = 0) -> pd.DataFrame:
    """Measure what the record lacks, the settings in turn; `corpora` of race size and class ratio."""
    race, wanted = corpora or CORPORA["race"], []
    for number in range(race):
        wanted += [("race", ratio, FIRST_SEED + number) for ratio in RATIOS]
        done, due = (n * CORPORA["gender"] // CORPORA["race"] for n in (number, number + 1))
        wanted += [("gender", ratio, FIRST_SEED + number) for ratio in RATIOS if done < due]
    return extend("intervals", KEYS, wanted, measure)


def measure(size: str, ratio: str, corpus_seed: int) -> pd.DataFrame:
    """A row a gain. The class ratio is that of the planted attribute of its name."""
    images = IMAGES[size][ratio]
    corpus = planted_corpus(ratio, images=images, seed=corpus_seed, captioners=PLANTED)
    many = corpus_seed % MANY_EVERY == MANY_EVERY - 1
    said = [texts(corpus, PLANTED[0].key), *(texts(corpus, p.key, indices=()) for p in PLANTED[1:])]
    rows = [Rows(each) for side in (*(t.model for t in said), said[0].human) for each in side]
    labels = usable_labels(corpus, Reading("model", PLANTED[0].key), "paired", 0, 0)
    lic = pd.DataFrame(by_split(labels, rows, SPLITS[-1 if many else -2]))
    found = pd.DataFrame({"gain": GAINS, "true_lic": [corpus.true_lic(p.key).lic for p in PLANTED]})
    for n, (name, each) in product(SPLITS, (("lic", lic), ("lead", lic.sub(lic[0], axis=0)))):
        spread = "std" if name == "lic" else "lead_std"
        found[f"{name}_{n}"] = each[:n].mean() if len(each) >= n else np.nan
        found[f"{spread}_{n}"] = each[:n].std() if len(each) >= n else np.nan
    folds = jackknife(corpus.labels, rows, corpus_seed) if many else (np.nan, np.nan)
    about = dict(zip(KEYS, (size, ratio, corpus_seed), strict=True))
    return found.assign(**about, lic_folds=folds[0], jackknife=folds[1])


def by_split(labels: pd.Series, rows: list[Rows], splits: int, captioners: int = 3) -> np.ndarray:
    """LIC of each captioner on each paired split; human captions come after the captioners' rows."""
    found = []
    for seed in range(splits):
        both, scores = split(labels, "paired", seed), []
        train, test = labels.loc[both.train], labels.loc[both.test]
        for each in rows:
            (p,) = each.guesses(each.of(train.index), train.to_numpy(), each.of(test.index))
            scores.append(lic_score(p, test.to_numpy()))
        found.append(_minus_human(np.array(scores), captioners))
    return np.array(found)


def _minus_human(scores: np.ndarray, captioners: int = 3) -> np.ndarray:
    """The captioners' scores less the mean of the human captions', which come after them."""
    return scores[:captioners] - scores[captioners:].mean()


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


def fifths(partitions: int = 0) -> pd.DataFrame:
    """Real captions: the same estimate on each of five disjoint parts, which are independent samples."""
    numbers = range(partitions or PARTITIONS)
    wanted = list(product(("gender", "race"), captioner_files(), numbers))
    return extend("fifths", ["attribute", "captioner", "partition"], wanted, measure_fifths)


def measure_fifths(attribute: str, captioner: str, partition: int) -> pd.DataFrame:
    """A row a part: mean and spread of LIC over ten splits."""
    corpus, rng = real(attribute), np.random.default_rng([99, partition])
    rows = [Rows(each) for side in texts(corpus, captioner) for each in side]
    labels = usable_labels(corpus, Reading("model", captioner), "paired", 0, 0)
    part = pd.Series(0, index=labels.index)
    for own in (labels.index[labels == value] for value in (0, 1)):
        part.loc[rng.permutation(own)] = np.arange(len(own)) % PARTS
    lic = [by_split(labels[part == k], rows, 10, 1) for k in range(PARTS)]
    found = {
        "part": range(PARTS),
        "lic_10": [e.mean() for e in lic],
        "std_10": [e.std(ddof=1) for e in lic],
    }
    return pd.DataFrame(found).assign(attribute=attribute, captioner=captioner, partition=partition)


def in_fifths(rows: pd.DataFrame) -> pd.DataFrame:
    """ρ on real captions: variance between the parts of a partition against that between splits."""
    groups = rows.assign(square=rows["std_10"] ** 2).groupby(
        ["attribute", "captioner", "partition"]
    )
    each = (
        groups.agg(between=("lic_10", "var"), within=("square", "mean")).groupby("attribute").mean()
    )
    count = rows.groupby("attribute")[["captioner", "partition"]].nunique()
    return count.assign(rho=each["between"] / each["within"] - 0.1).reset_index()


def _half(rows: pd.DataFrame) -> pd.Series:
    """0: the corpora that calibrate, 1: those that test; every second of a size and class ratio."""
    return rows.groupby(["size", "ratio"])["corpus_seed"].rank("dense") % 2


def calibrated(rows: pd.DataFrame, splits: int = 10, by: tuple = ("ratio",)) -> pd.DataFrame:
    """ρ by class ratio, on the half of the corpora that calibrates: a mean over sizes and gains.

    The variance of the mean over corpora in units of the variance over splits, less 1/J; each setting
    counts by its corpora.
    """
    known = rows[_half(rows) == 0].dropna(subset=f"lic_{splits}")
    known = known.assign(square=known[f"std_{splits}"] ** 2)
    each = known.groupby(["size", "ratio", "gain"]).agg(
        between=(f"lic_{splits}", "var"), within=("square", "mean"), corpora=("square", "size")
    )
    each["rho"] = (each["between"] / each["within"] - 1 / splits) * each["corpora"]
    table = each.groupby(list(by))[["rho", "corpora"]].sum().reset_index()
    table["class ratio"] = table.pop("ratio").map(RATIOS)
    table["rho"], table["corpora"] = table["rho"] / table["corpora"], table["corpora"] // len(GAINS)
    return table[[*(n for n in by if n != "ratio"), "class ratio", "rho", "corpora"]]


def candidates(shared: float = SHARED) -> dict[str, tuple[str, float, int, int]]:
    """Name: quantity, factor of the variance over splits, degrees of freedom, fits a captioner needs.

    `shared` is what splits of the same images share, beside 1/J; a fit is one classifier on one split.
    """
    found = {}
    for n in SPLITS:
        found[f"{n} splits, 1/J"] = (f"lic_{n}", 1 / n, n - 1, n)
        found[f"{n} splits, 1/J + 1/9"] = (f"lic_{n}", 1 / n + NADEAU_BENGIO, n - 1, n)
        found[f"{n} splits, 1/J + {shared:g}"] = (f"lic_{n}", 1 / n + shared, n - 1, n)
        found[f"{n} splits, pooled, 1/J + {shared:g}"] = (f"pooled_{n}", 1 / n + shared, n - 1, n)
    found[f"40 splits, 1/10 + {shared:g}"] = ("lic_40", 1 / 10 + shared, 9, 40)
    found[f"lead, 10 splits, 1/J + {shared:g}"] = ("lead_10", 1 / 10 + shared, 9, 10)
    found["ten folds, jackknife"] = ("lic_folds", 1.0, FOLDS - 1, 55)
    return found


def held(rows: pd.DataFrame, shared: float = SHARED) -> pd.DataFrame:
    """Every interval of every candidate, on the half of the corpora that tests.

    `off`: distance from the estimand in units of the interval's reach, so it holds it up to 1.
    """
    rows = rows.assign(**{"class ratio": rows["ratio"].map(RATIOS), "std_folds": rows["jackknife"]})
    for n in SPLITS:
        pooled = (rows[f"std_{n}"] ** 2).groupby([rows[k] for k in KEYS]).transform("mean")
        rows = rows.assign(**{f"pooled_{n}": rows[f"lic_{n}"], f"pooled_std_{n}": np.sqrt(pooled)})
    tested = _half(rows) == 1
    means, found = rows.groupby(SETTING)[["lic_10", "lead_10"]].transform("mean"), []
    for name, (of, factor, df, fits) in candidates(shared).items():
        own = tested & rows[of].notna() & (rows["gain"].gt(0) | (not name.startswith("lead")))
        part, kind = rows[own], of.split("_")[0]
        spread = part[of.replace("lic_", "std_") if kind == "lic" else of.replace("_", "_std_")]
        reach = stdtrit(df, 0.975) * np.sqrt(factor) * spread
        target = means.loc[own, "lead_10" if kind == "lead" else "lic_10"]
        off, true = ((part[of] - t).abs() / reach for t in (target, part["true_lic"]))
        more = {"off": off, "off_true": true, "above": part[of] > reach, "width": 2 * reach}
        found.append(part[SETTING].assign(interval=name, fits=fits, **more))
    return pd.concat(found, ignore_index=True)


def coverage(intervals: pd.DataFrame, by: list[str], fewest: int = 1) -> pd.DataFrame:
    """How often intervals hold the estimand, by candidate and `by`, with exact 95 % intervals.

    `above 0`: how often amplification is found (without gain: falsely). `width at 95 %`: had each
    interval been scaled so that 95 % of them hold the estimand.
    """
    found = []
    for values, part in intervals.groupby(["interval", *by], sort=False):
        if len(part) < fewest:
            continue
        share = exact(int((part["off"] <= 1).sum()), len(part))
        width = part["width"].mean()
        row = dict(zip(["interval", *by], values, strict=True)) | {"holds the mean": share.mean}
        row |= {"low": share.low, "high": share.high, "above 0": 100 * part["above"].mean()}
        row |= {"holds the true LIC": 100 * (part["off_true"] <= 1).mean(), "width": width}
        row |= {"width at 95 %": width * part["off"].quantile(0.95)}
        found.append(row | {"estimates": len(part), "fits": part["fits"].iloc[0]})
    return pd.DataFrame(found)


def summary(intervals: pd.DataFrame, fewest: int = 20) -> pd.DataFrame:
    """A row a candidate: all settings together, and the least and greatest coverage of any."""
    shown = [
        "interval",
        "holds the mean",
        "low",
        "high",
        "width",
        "width at 95 %",
        "estimates",
        "fits",
    ]
    table = coverage(intervals, [])[shown].set_index("interval")
    each = coverage(intervals, SETTING, fewest).groupby("interval")["holds the mean"]
    return table.join(each.agg(least="min", greatest="max")).reset_index()


def exact(hits: int, n: int) -> Interval:
    """A share in percent with its exact 95 % interval (Clopper & Pearson 1934).

    >>> [round(value, 1) for value in exact(0, 10)]  # high: 1 - 0.025 ** (1 / 10)
    [0.0, 0.0, 30.8]
    """
    low, high = binomtest(hits, n).proportion_ci(0.95, method="exact")
    return Interval(100 * hits / n, 100 * float(low), 100 * float(high))
