"""Tables of what LIC and its intervals do on corpora whose true LIC is known: how they are read.

`relic calibrate` measures them, with the code of `benchmarks/`, into `results/calibration/`:

- `intervals.csv`: a row a synthetic corpus and gain, means and standard deviations over the first 3, 10
  and 40 splits of LIC and of its lead over the captioner without gain. The *estimand* is LIC of this
  classifier trained on so many images, averaged over training sets and images: in a setting, the mean of
  all corpora's estimates. Two columns more are of a candidate not taken, ten folds with a jackknife error.
- `fifths.csv`: a row one of five disjoint parts of the real images, which are independent samples.
- `grid.csv`: a row a `Setting`, corpus and score.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtrit
from scipy.stats import binomtest

from relic.chapters.learning import AS_WRITTEN
from relic.judge.stats import NADEAU_BENGIO, shared

GAINS = (0.0, 0.5, 1.5)  # of the captioners of a corpus, which differ in nothing else
SPLITS = (3, 10, 40)
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
FIFTHS = ["attribute", "captioner", "partition"]
SHARPNESS = {"x0.25": 0.25, "x0.5": 0.5, "plain": 1.0, "x2": 2.0, "x4": 4.0}  # of the logits


class Setting(NamedTuple):
    """A corpus, a captioner and a classifier: what LIC may depend on."""

    gain: float = 1.0
    images: int = 4000
    stock: float = 0.7  # share of captions in stock form, which recur word for word
    vocabulary: float = 0.75  # share of the phrases that the captioner has words for
    classifier: str = "linear"
    recipe: str = "C=0.1"
    sentences: int = 1
    fillers: int = 0
    length: str = AS_WRITTEN  # or the same: an image's two captions end where the shorter does
    corpus_seed: int = 5000


BASE = Setting()
CLASSIFIER_IMAGES = 2000  # small, so that an LSTM trains in a minute or two on a CPU
SETTING_GAINS = [0.0, 1.0]  # of every setting but those that vary the gain
LENGTH = ["sentences", "fillers"]  # also measured at the same length


def in_fifths(rows: pd.DataFrame) -> pd.DataFrame:
    """ρ on real captions: variance between the parts of a partition against that between splits."""
    partitions = rows.assign(square=rows["std_10"] ** 2).groupby(FIFTHS)
    between, within = partitions["lic_10"].var(), partitions["square"].mean()
    rho = between.groupby("attribute").mean() / within.groupby("attribute").mean() - 1 / 10
    count = rows.groupby("attribute")[["captioner", "partition"]].nunique()
    return count.assign(rho=rho).reset_index()


def calibrated(rows: pd.DataFrame, by: tuple = ("class ratio",)) -> pd.DataFrame:
    """ρ of ten splits beside that of the rule: a mean over gains and what `by` does not name.

    The variance of the mean over corpora in units of the variance over splits, less 1/J; each setting
    counts by its corpora.
    """
    names, rule = rows["ratio"].map(RATIOS), shared(rows["ratio"].map(CLASSES))
    rows = rows.assign(square=rows["std_10"] ** 2, rule=rule, **{"class ratio": names})
    groups = rows.groupby(SETTING)
    settings = groups[["square", "rule"]].mean().assign(n=groups.size())
    settings["rho"] = (groups["lic_10"].var() / settings["square"] - 1 / 10) * settings["n"]
    sums = settings.groupby(list(by)).agg({"rho": "sum", "rule": "mean", "n": "sum"})
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
        counts = rows[f"{quantity}_{n}"].notna() & ((quantity == "lic") | (rows["gain"] > 0))
        part, estimand = rows[counts], estimands.loc[counts, f"{quantity}_10"]
        rho = ours[counts] if rho is None else rho
        mean, t = part[f"{quantity}_{n}"], stdtrit(count - 1, 0.975)
        reach = t * np.sqrt(1 / count + rho) * part[spread]
        off = (mean - estimand).abs() / reach
        columns = {
            "holds the mean": 100 * (off <= 1),
            "above 0": 100 * (mean > reach),
            "holds the true LIC": 100 * ((mean - part["true_lic"]).abs() <= reach),
            "width": 2 * reach,
        }
        parts.append(part[SETTING].assign(interval=name, off=off, **columns))
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
        table.insert(at, end, [100 * getattr(exact, end) for exact in ends])
    table["width at 95 %"] = table["width"] * groups["off"].quantile(0.95)
    return table.assign(estimates=groups.size()).reset_index()


def summary(intervals: pd.DataFrame, fewest: int = 20) -> pd.DataFrame:
    """A row a candidate: all settings together, and the least and greatest coverage of any."""
    table = coverage(intervals, []).drop(columns=["above 0", "holds the true LIC"])
    settings = coverage(intervals, SETTING)
    settings = settings[settings["estimates"] >= fewest].groupby("interval")["holds the mean"]
    return table.join(settings.agg(least="min", greatest="max"), on="interval")
