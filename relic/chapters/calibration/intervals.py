"""Which interval holds? Candidates on synthetic corpora drawn anew, by the linear classifier.

A corpus has three captioners that differ in gain alone, so they share their LIC_D (five human captions).
Sizes are those of race and gender (images of class 1), class ratios 1 : 2.2 (the planted gender) and
1 : 9 (race); with gender's words also 1 : 1 and 1 : 9, so that ratio and words are told apart. The
*estimand* is LIC of this classifier trained on so many images, averaged over training sets and
images: in a setting, the mean of all corpora's estimates. A row a corpus and gain in
`results/calibration/intervals.csv`: means and standard deviations over the first 3, 10 and 40 splits
of LIC and of its lead over the captioner without gain. Two columns more are of a candidate not taken,
ten folds with a jackknife error. `fifths.csv` has real captions, five disjoint parts of the images at a time.
"""

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
from scipy.special import stdtrit
from scipy.stats import binomtest

from relic.chapters.learning import real
from relic.data.corpus import HUMAN_CAPTIONS, Corpus
from relic.data.planted import CAPTIONERS, planted_corpus
from relic.judge.stats import NADEAU_BENGIO, shared
from relic.measure.inputs import Reading, usable_labels
from relic.measure.runs import train

GAINS = (0.0, 0.5, 1.5)
PLANTED = tuple(replace(CAPTIONERS[0], key=f"gain {g:g}", gain=g) for g in GAINS)
IMAGES = {"race": {"gender": 3550, "race": 10_950, "even": 3550, "uneven": 15_500}}
IMAGES["gender"] = {"gender": 10_700, "race": 33_000}
CORPORA = 500  # of race size and a class ratio
THINNED = 150  # of one that is made by leaving images out
FIRST_SEED = 20_000
MANY = {"race": 470, "gender": 230}  # every fifth of so many has forty splits
SPLITS = (3, 10, 40)
KEYS = ["size", "ratio", "corpus_seed"]
SETTING = ["size", "class ratio", "gain"]
RATIOS = {"gender": "1 : 2.2", "race": "1 : 9", "even": "1 : 1", "uneven": "1 : 9, gender's words"}
CLASSES = {"gender": 0.31 / 0.69, "race": 1 / 9, "even": 1.0, "uneven": 1 / 9}  # class 1 to class 0
SHARES = {"1/J": 0.0, "1/J + 1/9": NADEAU_BENGIO, "1/J + 1/4": 1 / 4}  # of splits, beside 1/J
SHARES |= {"1/J + ρ": None}  # by the ratio of the classes
CANDIDATES = {  # of what, splits, splits that count, what they share
    f"{n} splits, {way}": ("lic", n, n, rho) for n, (way, rho) in product(SPLITS, SHARES.items())
}
CANDIDATES["40 splits, 1/10 + ρ"] = ("lic", 40, 10, None)
CANDIDATES["lead, 10 splits, 1/J + ρ"] = ("lead", 10, 10, None)
OURS, FORMER = "10 splits, 1/J + ρ", "10 splits, 1/J + 1/9"
PARTS, PARTITIONS = 5, 4  # of the real images
FIFTHS = ["attribute", "captioner", "partition"]


def wanted(corpora: int = 0) -> list[tuple]:
    """Values of `KEYS`, the settings in turn; `corpora` of race size and class ratio."""
    found = []
    for number in range(corpora or CORPORA):
        settings = [("race", "gender"), ("race", "race")]
        if number % 10 in (3, 6, 9):  # gender is larger: three of ten
            settings += [("gender", "gender"), ("gender", "race")]
        if number < THINNED:
            settings += [("race", "even"), ("race", "uneven")]
        found += [(*setting, FIRST_SEED + number) for setting in settings]
    return found


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
        for name, spread, each in (("lic", "std", enough), ("lead", "lead_std", lead)):
            columns = pd.DataFrame(each)
            table[f"{name}_{n}"], table[f"{spread}_{n}"] = columns.mean(), columns.std()
    return table.assign(size=size, ratio=ratio, corpus_seed=corpus_seed)


def thinned(labels: pd.Series, ratio: float) -> pd.Series:
    """The first images of each class, as many as give the ratio of class 1 to class 0."""
    zeros, ones = labels.value_counts()[[0, 1]]
    kept = labels.map({0: min(zeros, round(ones / ratio)), 1: min(ones, round(zeros * ratio))})
    return labels[labels.groupby(labels).cumcount() < kept]


def by_split(corpus: Corpus, captioners: list[str], splits: int) -> np.ndarray:
    """LIC of captioners, which share their human captions, on each paired split."""
    lic = []
    for seed in range(splits):
        one = partial(train, corpus, seed=seed)
        human = [one(captioners[0], side="human", caption_index=k) for k in range(HUMAN_CAPTIONS)]
        lic_data = np.mean([each.scores["score"] for each in human])
        lic.append([one(name).scores["score"] - lic_data for name in captioners])
    return np.array(lic)


def measure_fifths(attribute: str, captioner: str, partition: int) -> pd.DataFrame:
    """A row a fifth of the images, which are independent samples: LIC's mean and spread over ten splits."""
    corpus, rng = real(attribute), np.random.default_rng([99, partition])
    labels = usable_labels(corpus, Reading("model", captioner), "paired", 0, 0)
    part = pd.Series(0, index=labels.index)
    for own in (labels.index[labels == value] for value in (0, 1)):
        part.loc[rng.permutation(own)] = np.arange(len(own)) % PARTS
    parts = [replace(corpus, labels=labels[part == number]) for number in range(PARTS)]
    lic = [by_split(each, [captioner], 10) for each in parts]
    means = [(number, each.mean(), each.std(ddof=1)) for number, each in enumerate(lic)]
    table = pd.DataFrame(means, columns=["part", "lic_10", "std_10"])
    return table.assign(attribute=attribute, captioner=captioner, partition=partition)


def in_fifths(rows: pd.DataFrame) -> pd.DataFrame:
    """ρ on real captions: variance between the parts of a partition against that between splits."""
    groups = rows.assign(square=rows["std_10"] ** 2).groupby(FIFTHS)
    each = groups.agg(between=("lic_10", "var"), within=("square", "mean"))
    each = each.groupby("attribute").mean()
    count = rows.groupby("attribute")[["captioner", "partition"]].nunique()
    return count.assign(rho=each["between"] / each["within"] - 1 / 10).reset_index()


def calibrated(rows: pd.DataFrame, by: tuple = ("class ratio",)) -> pd.DataFrame:
    """ρ of ten splits beside that of the rule: a mean over gains and what `by` does not name.

    The variance of the mean over corpora in units of the variance over splits, less 1/J; each setting
    counts by its corpora.
    """
    names, rule = rows["ratio"].map(RATIOS), shared(rows["ratio"].map(CLASSES))
    rows = rows.assign(square=rows["std_10"] ** 2, rule=rule, **{"class ratio": names})
    each = rows.groupby(SETTING).agg(
        between=("lic_10", "var"),
        within=("square", "mean"),
        n=("square", "size"),
        rule=("rule", "mean"),
    )
    each["rho"] = (each["between"] / each["within"] - 1 / 10) * each["n"]
    sums = each.groupby(list(by)).agg({"rho": "sum", "rule": "mean", "n": "sum"})
    table = sums.assign(rho=sums["rho"] / sums["n"], corpora=sums["n"] // len(GAINS))
    return table.drop(columns="n").reset_index()


def held(rows: pd.DataFrame) -> pd.DataFrame:
    """Every interval of every candidate; what `coverage` averages is in percent.

    `off`: distance from the estimand in units of the interval's reach, so it holds it up to 1.
    """
    rows = rows.assign(**{"class ratio": rows["ratio"].map(RATIOS)})
    estimands = rows.groupby(SETTING)[["lic_10", "lead_10"]].transform("mean")
    ours, parts = shared(rows["ratio"].map(CLASSES)), []
    for name, (quantity, n, count, rho) in CANDIDATES.items():
        spread = f"std_{n}" if quantity == "lic" else f"lead_std_{n}"
        kept = rows[f"{quantity}_{n}"].notna() & ((quantity == "lic") | (rows["gain"] > 0))
        part, estimand = rows[kept], estimands.loc[kept, f"{quantity}_10"]
        rho = ours[kept] if rho is None else rho
        mean, t = part[f"{quantity}_{n}"], stdtrit(count - 1, 0.975)
        reach = t * np.sqrt(1 / count + rho) * part[spread]
        off = (mean - estimand).abs() / reach
        found = {
            "holds the mean": 100 * (off <= 1),
            "above 0": 100 * (mean > reach),
            "holds the true LIC": 100 * ((mean - part["true_lic"]).abs() <= reach),
            "width": 2 * reach,
        }
        parts.append(part[SETTING].assign(interval=name, off=off, **found))
    return pd.concat(parts, ignore_index=True)


def coverage(intervals: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """How often intervals hold the estimand, by candidate and `by`, with exact 95 % intervals.

    `above 0`: how often amplification is found (without gain: falsely). `width at 95 %`: had each
    interval been scaled so that 95 % of them hold the estimand.
    """
    groups = intervals.groupby(["interval", *by], sort=False)
    table = groups[["holds the mean", "above 0", "holds the true LIC", "width"]].mean()
    hits = (groups["off"].agg(lambda off: (off <= 1).sum()), groups.size())
    ends = [binomtest(int(k), int(n)).proportion_ci() for k, n in zip(*hits, strict=True)]
    for at, end in ((1, "low"), (2, "high")):  # Clopper & Pearson 1934
        table.insert(at, end, [100 * getattr(each, end) for each in ends])
    table["width at 95 %"] = table["width"] * groups["off"].quantile(0.95)
    return table.assign(estimates=groups.size()).reset_index()


def summary(intervals: pd.DataFrame, fewest: int = 20) -> pd.DataFrame:
    """A row a candidate: all settings together, and the least and greatest coverage of any."""
    table = coverage(intervals, []).drop(columns=["above 0", "holds the true LIC"])
    each = coverage(intervals, SETTING)
    each = each[each["estimates"] >= fewest].groupby("interval")["holds the mean"]
    return table.join(each.agg(least="min", greatest="max"), on="interval")
