"""Which interval holds? Candidates on synthetic corpora drawn anew, by the linear classifier.

A corpus has three captioners that differ in gain alone, so they share their LIC_D (five human captions).
Sizes are those of race and gender (images of class 1), class ratios 1 : 2.2 (the planted gender) and
1 : 9 (race); with gender's words also 1 : 1 and 1 : 9, so that ratio and words are told apart. The
*estimand* is LIC of this classifier trained on so many images, averaged over training sets and
images: in a setting, the mean of all corpora's estimates. A row a corpus and gain in
`results/calibration/intervals.csv`: means and standard deviations over the first 3, 10 and 40 splits
of LIC and of its lead over the captioner without gain, and of some corpora the ten-fold estimate with
its jackknife error. `fifths.csv` has real captions, five disjoint parts of the images at a time.
"""

from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
from scipy.special import stdtrit
from scipy.stats import binomtest

from relic.chapters.learning.curves import real
from relic.chapters.learning.fits import Rows, class_mean, texts
from relic.data.corpus import Corpus
from relic.data.planted import CAPTIONERS, planted_corpus
from relic.judge.stats import NADEAU_BENGIO, shared
from relic.measure.inputs import Reading, usable_labels
from relic.measure.score import lic_score
from relic.measure.splits import split

GAINS = (0.0, 0.5, 1.5)
PLANTED = tuple(replace(CAPTIONERS[0], key=f"gain {g:g}", gain=g) for g in GAINS)
IMAGES = {"race": {"gender": 3550, "race": 10_950, "even": 3550, "uneven": 15_500}}
IMAGES["gender"] = {"gender": 10_700, "race": 33_000}
CORPORA = {"race": 500, "gender": 150}  # of each class ratio
FIRST_SEED = 20_000
THINNED = 150  # corpora of each class ratio that is made by leaving images out
MANY = {"race": 470, "gender": 230}  # every fifth of so many has forty splits and the jackknife
SPLITS, FOLDS = (3, 10, 40), 10
KEYS = ["size", "ratio", "corpus_seed"]
SETTING = ["size", "class ratio", "gain"]
RATIOS = {"gender": "1 : 2.2", "race": "1 : 9", "even": "1 : 1", "uneven": "1 : 9, gender's words"}
CLASSES = {"gender": 0.31 / 0.69, "race": 1 / 9, "even": 1.0, "uneven": 1 / 9}  # class 1 to class 0
WAYS = {  # what splits share beside 1/J, by the ratio of the classes
    "1/J": lambda ratio: 0 * ratio,
    "1/J + 1/9": lambda ratio: NADEAU_BENGIO + 0 * ratio,
    "1/J + 1/4": lambda ratio: 1 / 4 + 0 * ratio,
    "1/J + ρ": shared,
}
OURS, FORMER = "10 splits, 1/J + ρ", "10 splits, 1/J + 1/9"
PARTS, PARTITIONS = 5, 4  # of the real images
FIFTHS = ["attribute", "captioner", "partition"]


def wanted(corpora: int = 0) -> list[tuple]:
    """Values of `KEYS`, the settings in turn; `corpora` of race size and class ratio."""
    found = []
    for number in range(corpora or CORPORA["race"]):
        done, due = (n * CORPORA["gender"] // CORPORA["race"] for n in (number, number + 1))
        planted = ["gender", "race"]
        found += [("race", name, FIRST_SEED + number) for name in planted]
        found += [("gender", name, FIRST_SEED + number) for name in planted if done < due]
        found += [("race", n, FIRST_SEED + number) for n in ("even", "uneven") if number < THINNED]
    return found


def measure(size: str, ratio: str, corpus_seed: int) -> pd.DataFrame:
    """A row a gain. The class ratio is that of the planted attribute of its name, or made of gender's."""
    planted, images = ratio in ("gender", "race"), IMAGES[size][ratio]
    attribute = ratio if planted else "gender"
    corpus = planted_corpus(attribute, images=images, seed=corpus_seed, captioners=PLANTED)
    many = planted and corpus_seed % 5 == 4 and corpus_seed < FIRST_SEED + MANY[size]
    rows, reading = captions_of(corpus), Reading("model", PLANTED[0].key)
    labels = usable_labels(corpus, reading, "paired", 0, 0)
    labels = labels if planted else thinned(labels, CLASSES[ratio])
    lic = pd.DataFrame(by_split(labels, rows, SPLITS[-1 if many else -2]))
    table = pd.DataFrame({"gain": GAINS, "true_lic": [corpus.true_lic(p.key).lic for p in PLANTED]})
    lead = lic.sub(lic[0], axis=0)
    for n in SPLITS:
        enough = n if len(lic) >= n else 0  # no splits: no number
        for prefix, each in (("", lic), ("lead_", lead)):
            table[f"{prefix or 'lic_'}{n}"] = each[:enough].mean()
            table[f"{prefix}std_{n}"] = each[:enough].std()
    folds, error = jackknife(corpus.labels, rows, corpus_seed) if many else (np.nan, np.nan)
    about = dict(zip(KEYS, (size, ratio, corpus_seed), strict=True))
    return table.assign(**about, lic_folds=folds, jackknife=error)


def captions_of(corpus: Corpus) -> list[Rows]:
    """Each captioner's captions, then the human ones, which all captioners share."""
    first, *others = corpus.captioners
    said = [texts(corpus, first), *(texts(corpus, key, indices=()) for key in others)]
    return [Rows(each) for side in (*(s.model for s in said), said[0].human) for each in side]


def thinned(labels: pd.Series, ratio: float) -> pd.Series:
    """The first images of each class, as many as give the ratio of class 1 to class 0."""
    zeros, ones = labels.value_counts()[[0, 1]]
    kept = labels.map({0: min(zeros, round(ones / ratio)), 1: min(ones, round(zeros * ratio))})
    return labels[labels.groupby(labels).cumcount() < kept]


def by_split(labels: pd.Series, rows: list[Rows], splits: int, captioners: int = 3) -> np.ndarray:
    """LIC of each captioner on each paired split; human captions come after the captioners' rows."""
    scores = []
    for seed in range(splits):
        both = split(labels, "paired", seed)
        train, y = labels.loc[both.train], labels.loc[both.test].to_numpy()
        guesses = [each.guesses(train, both.test)[0] for each in rows]
        scores.append([lic_score(p, y) for p in guesses])
    return _minus_human(np.array(scores), captioners)


def _minus_human(scores: np.ndarray, captioners: int = 3) -> np.ndarray:
    """The captioners' scores less the mean of the human captions', which come after them."""
    return scores[..., :captioners] - scores[..., captioners:].mean(axis=-1, keepdims=True)


def jackknife(labels: pd.Series, rows: list[Rows], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Ten-fold LIC over all labelled images, and its delete-a-group jackknife error with retraining.

    Training is balanced: all of class 1 and the first as many of class 0, in one random order; a test
    fold is scored as the mean of its classes. Leaving out group g retrains every other fold without g;
    what is trained without g and h serves both, so 45 fits are added to ten.
    """
    labels = labels.iloc[np.random.default_rng([seed, 17]).permutation(len(labels))]
    fold = labels.groupby(labels).cumcount() % FOLDS
    # [left out beside the tested one, tested]; on the diagonal the tested one alone
    scores = np.zeros((FOLDS, FOLDS, len(rows)))
    for out in combinations_with_replacement(range(FOLDS), 2):
        kept, tests = labels[~fold.isin(out)], [labels[fold == group] for group in out]
        ones = kept[kept == 1]
        train = pd.concat([ones, kept[kept == 0].iloc[: len(ones)]])
        for at, each in enumerate(rows):
            guesses = each.guesses(train, *(test.index for test in tests))
            found = [class_mean(p, t.to_numpy()) for p, t in zip(guesses, tests, strict=True)]
            scores[out[1], out[0], at], scores[out[0], out[1], at] = found
    whole = scores.diagonal().T  # a row a fold
    replicates = _minus_human((scores.sum(axis=1) - whole) / (FOLDS - 1))
    spread = ((replicates - replicates.mean(axis=0)) ** 2).sum(axis=0)
    return _minus_human(whole.mean(axis=0)), np.sqrt((FOLDS - 1) / FOLDS * spread)


def measure_fifths(attribute: str, captioner: str, partition: int) -> pd.DataFrame:
    """A row a fifth of the images, which are independent samples: LIC's mean and spread over ten splits."""
    corpus, rng = real(attribute), np.random.default_rng([99, partition])
    rows = [Rows(each) for side in texts(corpus, captioner) for each in side]
    labels = usable_labels(corpus, Reading("model", captioner), "paired", 0, 0)
    part = pd.Series(0, index=labels.index)
    for own in (labels.index[labels == value] for value in (0, 1)):
        part.loc[rng.permutation(own)] = np.arange(len(own)) % PARTS
    lic = [by_split(labels[part == number], rows, 10, 1) for number in range(PARTS)]
    means = [(number, each.mean(), each.std(ddof=1)) for number, each in enumerate(lic)]
    about = dict(zip(FIFTHS, (attribute, captioner, partition), strict=True))
    return pd.DataFrame(means, columns=["part", "lic_10", "std_10"]).assign(**about)


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


def candidates(ratio: pd.Series) -> dict[str, tuple[str, str, pd.Series | float, int, int]]:
    """Name: columns of the mean and the spread, factor of its square, degrees of freedom, fits.

    `ratio`: of the classes, corpus by corpus. A fit is one classifier on one split.
    """
    found, rho = {}, shared(ratio)
    for n in SPLITS:
        for way, more in WAYS.items():
            found[f"{n} splits, {way}"] = (f"lic_{n}", f"std_{n}", 1 / n + more(ratio), n - 1, n)
        found[f"{n} splits, pooled, {way}"] = (f"lic_{n}", f"pooled_{n}", 1 / n + rho, n - 1, n)
    found["40 splits, 1/10 + ρ"] = ("lic_40", "std_40", 1 / 10 + rho, 9, 40)
    found["lead, 10 splits, 1/J + ρ"] = ("lead_10", "lead_std_10", 1 / 10 + rho, 9, 10)
    found["ten folds, jackknife"] = ("lic_folds", "jackknife", 1.0 + 0 * ratio, FOLDS - 1, 55)
    return found


def held(rows: pd.DataFrame) -> pd.DataFrame:
    """Every interval of every candidate.

    `off`: distance from the estimand in units of the interval's reach, so it holds it up to 1.
    """
    rows = rows.assign(**{"class ratio": rows["ratio"].map(RATIOS)})
    rows[["mean_lic", "mean_lead"]] = rows.groupby(SETTING)[["lic_10", "lead_10"]].transform("mean")
    for n in SPLITS:
        squares = (rows[f"std_{n}"] ** 2).groupby([rows[key] for key in KEYS])
        rows[f"pooled_{n}"] = np.sqrt(squares.transform("mean"))
    parts = []
    for name, (mean, spread, factor, df, fits) in candidates(rows["ratio"].map(CLASSES)).items():
        part, quantity = rows[rows[mean].notna()], mean.split("_")[0]
        part = part[part["gain"] > 0] if quantity == "lead" else part
        reach = stdtrit(df, 0.975) * np.sqrt(factor[part.index]) * part[spread]
        more = {"above": part[mean] > reach, "width": 2 * reach}
        for column, target in (("off", f"mean_{quantity}"), ("off_true", "true_lic")):
            more[column] = (part[mean] - part[target]).abs() / reach
        parts.append(part[SETTING].assign(interval=name, fits=fits, **more))
    return pd.concat(parts, ignore_index=True)


def coverage(intervals: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """How often intervals hold the estimand, by candidate and `by`, with exact 95 % intervals.

    `above 0`: how often amplification is found (without gain: falsely). `width at 95 %`: had each
    interval been scaled so that 95 % of them hold the estimand.
    """
    rows, names = [], ["interval", *by]
    for values, part in intervals.groupby(names, sort=False):
        hits, width = int((part["off"] <= 1).sum()), part["width"].mean()
        low, high = binomtest(hits, len(part)).proportion_ci()  # Clopper & Pearson 1934
        row = {
            "holds the mean": 100 * hits / len(part),
            "low": 100 * low,
            "high": 100 * high,
            "above 0": 100 * part["above"].mean(),
            "holds the true LIC": 100 * (part["off_true"] <= 1).mean(),
            "width": width,
            "width at 95 %": width * part["off"].quantile(0.95),
            "estimates": len(part),
            "fits": part["fits"].iloc[0],
        }
        rows.append(dict(zip(names, values, strict=True)) | row)
    return pd.DataFrame(rows)


def summary(intervals: pd.DataFrame, fewest: int = 20) -> pd.DataFrame:
    """A row a candidate: all settings together, and the least and greatest coverage of any."""
    table = coverage(intervals, []).drop(columns=["above 0", "holds the true LIC"])
    each = coverage(intervals, SETTING)
    each = each[each["estimates"] >= fewest].groupby("interval")["holds the mean"]
    return table.join(each.agg(least="min", greatest="max"), on="interval")
