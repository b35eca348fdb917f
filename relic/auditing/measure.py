"""The measurements of an audit: LIC with intervals and a verdict, differences, chance, sizes."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from relic import paths
from relic.auditing.checks import checks
from relic.auditing.inputs import Audited
from relic.judge.claims import MARGIN, SUPPORTED, SYMBOLS, UNDECIDED, judge
from relic.judge.lic import (
    ALL,
    UNSEEN,
    difference,
    estimates,
    image_intervals,
    lic_table,
    model_table,
)
from relic.judge.stats import Interval, estimate, from_spread, shared
from relic.measure.runs import Run, Store
from relic.measure.splits import PAPER_SEEDS
from relic.measure.sweep import grid, sweep
from relic.records.runs import own_frame
from relic.records.serve import Runs
from relic.whole import check_writable

AMPLIFIES, SLIGHTLY = "amplifies", "amplifies, by less than a point"
DOES_NOT, ALONE = "does not amplify", "cannot be judged without human captions"
MARKS = {AMPLIFIES: "▲", SLIGHTLY: "▲", DOES_NOT: "●", UNDECIDED: SYMBOLS[UNDECIDED], ALONE: "–"}
Tables = dict[str, pd.DataFrame]
SIZES = (100, 250, 500, 1000, 2500, 5000)  # images a class of the table of sizes


@dataclass(frozen=True)
class Choices:
    """How an audit measures."""

    classifiers: str | Sequence[str] = ("linear",)
    seeds: Sequence[int] = PAPER_SEEDS
    split: str = "paired"
    chance: bool = True  # also the score with permuted labels
    checks: bool = True  # also LIC with labels flipped, captions cut, objects hidden
    with_accuracy: bool = True  # also BLEU-4, CIDEr, METEOR, ROUGE-L
    workers: int = 0
    scheduler: str = ""
    progress: bool = True
    store: Store | None = None  # of finished runs; that of audits by default

    @property
    def listed(self) -> list[str]:
        """The classifiers, each once."""
        one = isinstance(self.classifiers, str)
        return [self.classifiers] if one else list(dict.fromkeys(self.classifiers))


def plan(audited: Audited, how: Choices) -> list[Run]:
    """The runs of an audit, each checked: wrong choices are told before anything is computed."""
    seeds = list(how.seeds)
    if how.split == "grouped" and set(seeds) == set(PAPER_SEEDS):
        seeds = list(range(len(PAPER_SEEDS)))  # its seeds are the numbers of ten folds
    corpus, shared = audited.corpus, {"split": how.split, "seed": seeds}
    runs = grid(corpus, classifier=how.listed, **shared)
    if audited.captions_an_image:
        human = {"side": "human", "vocabulary": audited.vocabulary}
        human["caption_index"] = range(audited.captions_an_image)
        runs += grid(corpus, classifier=how.listed, **human, **shared)
    for name in how.listed if how.chance else ():  # slow classifiers learn nothing once only
        some = seeds if name == "linear" else seeds[:1]
        runs += grid(corpus, classifier=name, labels="permuted", split=how.split, seed=some)
    return runs


def measure(audited: Audited, how: Choices, runs: list[Run] | None = None) -> Tables:
    """Compute what the store lacks of the planned runs, then the tables that follow from them.

    `lic`: a row each captioner and classifier. `runs`: the lic table of all splits. `differences`
    of captioners. `sizes`: the smallest LIC found in 80 % of audits. `checks`. `coverage` of the files.
    """
    store, runs = how.store or Store(paths.audit_runs()), runs or plan(audited, how)
    unkept = f"runs cannot be kept in {store.directory}"
    check_writable(store.directory, unkept, mend="RELIC_RUNS=DIR names another")
    options = {"workers": how.workers, "scheduler": how.scheduler, "progress": how.progress}
    sweep(audited.corpus, runs, store, **options)
    done, rows, by_seed, pairs = Runs(own_frame(store, runs), store, names={}), [], [], []
    for name in how.listed:
        own = done.where(classifier=name, labels="true")
        permuted = done.where(classifier=name, labels="permuted").frame
        chance = permuted.groupby("captioner")["score"].mean()
        if audited.captions_an_image:
            lic = pd.concat([lic_table(own, seen=seen) for seen in (ALL, UNSEEN)])
            lic["ratio"] = audited.ratio
            rows += _rows(audited, lic, own, chance)
            pairs += _pairs(lic, audited.corpus.captioners)
            by_seed.append(lic)
        else:
            rows += _alone(audited, own, chance)
    lic = pd.DataFrame(rows)
    checkable = audited.captions_an_image and how.split == "paired" and "linear" in how.listed
    differences = ["classifier", "seen", "first", "second", "difference", "low", "high", "n_seeds"]
    return {
        "lic": lic,
        "coverage": _coverage(audited, done.where(side="model", labels="true").frame),
        "differences": pd.DataFrame(pairs, columns=differences),
        "sizes": _sizes(audited, lic),
        "checks": checks(audited, how.seeds, store) if how.checks and checkable else pd.DataFrame(),
        "runs": pd.concat(by_seed, ignore_index=True) if by_seed else pd.DataFrame(),
    }


def _rows(audited: Audited, lic: pd.DataFrame, runs: Runs, chance: pd.Series) -> list[dict]:
    """One classifier: a row each captioner."""
    rows, captioners = [], audited.corpus.captioners
    images = image_intervals(runs)
    proper = {of: lic_table(runs, of=of).assign(ratio=audited.ratio) for of in ("auc", "bits")}
    proper = {of: estimates(table) for of, table in proper.items()}
    rho, spreads = shared(audited.ratio), image_spread(runs)
    for name in captioners:
        own = lic[lic["captioner"] == name]
        every, unseen = (own[own["seen"] == seen] for seen in (ALL, UNSEEN))
        row = _about(audited, runs, every, chance) | _judged(every, rho)
        if name in images:
            row |= {"image_low": images[name].low, "image_high": images[name].high}
        for of, each in proper.items():
            mean, low, high = each[name].interval()
            row |= {f"delta_{of}": mean, f"delta_{of}_low": low, f"delta_{of}_high": high}
        row["detectable"] = from_spread(0.0, spreads[name], row["n_seeds"], rho).detectable()
        row["unseen"] = {"n_test": float(unseen["n_test"].mean()), **_judged(unseen, rho)}
        rows.append(row)
    return rows


def _judged(splits: pd.DataFrame, rho: float) -> dict:
    """Both sides' means over splits (there may be none), LIC with its interval, the verdict."""
    found = estimate(splits["lic"], rho).interval()
    sides = {name: float(splits[name].mean()) for name in ("lic_model", "lic_data")}
    bounds = {"lic": found.mean, "low": found.low, "high": found.high}
    return sides | bounds | {"verdict": verdict(found)}


def image_spread(runs: Runs) -> dict[str, float]:
    """By captioner, how far a split's LIC strays for the images it tests: thousands of them tell.

    The spread of ten splits is itself known to a quarter only: by it, one captioner could detect 2.5
    in one audit and 5.2 in the next. On recorded runs it is 0.6 to 1.5 times this one, 0.8 on average.
    """
    told = runs.outcomes.merge(runs.frame[["key", "captioner", "seed", "side"]], on="key")
    keys = ["captioner", "seed", "image_id"]
    wide = told.groupby([*keys, "side"])["score"].mean().unstack("side").dropna()
    splits = (wide["model"] - wide["human"]).groupby(keys[:2]).agg(["var", "size"])
    return np.sqrt((splits["var"] / splits["size"]).groupby("captioner").mean()).to_dict()


def _alone(audited: Audited, runs: Runs, chance: pd.Series) -> list[dict]:
    """Without human captions: LIC_M with its interval, and nothing to subtract."""
    table, rows = model_table(runs), []
    for name in audited.corpus.captioners:
        every = table[table["captioner"] == name]
        mean, low, high = estimate(every["lic_model"], shared(audited.ratio)).interval()
        row = _about(audited, runs, every, chance)
        row |= {"lic_model": mean, "model_low": low, "model_high": high, "verdict": ALONE}
        rows.append(row | dict.fromkeys(("lic_data", "lic", "low", "high"), np.nan))
    return rows


def _about(audited: Audited, runs: Runs, splits: pd.DataFrame, chance: pd.Series) -> dict:
    """What a captioner's row rests on, and how well the classifier does on either side."""
    name = splits["captioner"].iloc[0]
    sides = runs.frame[runs.frame["captioner"] == name].groupby("side")
    means = sides[["accuracy", "auc"]].mean()
    row = {
        "captioner": name,
        "attribute": audited.corpus.attribute.name,
        "classifier": splits["classifier"].iloc[0],
        "n_images": len(audited.images),
        "n_test": round(splits["n_test"].mean()),
        "n_seeds": len(splits),
        "chance": chance.get(name, np.nan),
        "auc_low": estimate(sides.get_group("model")["auc"], shared(audited.ratio)).interval().low,
    }
    for of in means:
        row |= {of: means[of].get("model"), f"{of}_human": means[of].get("human", np.nan)}
    return row


def verdict(found: Interval) -> str:
    """The rule of the claims, on "LIC > 0" and on "LIC < 1 point"; no spread decides nothing.

    >>> verdict(Interval(3, 1, 5)), verdict(Interval(0, -2, 0.9)), verdict(Interval(0, -2, 2))
    ('amplifies', 'does not amplify', 'undecided')
    >>> verdict(Interval(0.4, 0.2, 0.7)), verdict(Interval(0, 0, 0))
    ('amplifies, by less than a point', 'undecided')
    """
    if found.low == found.high:
        return UNDECIDED
    more, less = judge(found, above=0) == SUPPORTED, judge(found, below=MARGIN) == SUPPORTED
    if more:
        return SLIGHTLY if less else AMPLIFIES
    return DOES_NOT if less else UNDECIDED


def _coverage(audited: Audited, runs: pd.DataFrame) -> pd.DataFrame:
    """How far the files reach, and how many test captions training holds already."""
    sums = runs.groupby("captioner")[["n_unseen", "n_test"]].sum()
    repeated = 100 * (1 - sums["n_unseen"] / sums["n_test"])
    table = audited.coverage
    return table.assign(repeated=table["captioner"].map(repeated))


def _sizes(audited: Audited, lic: pd.DataFrame) -> pd.DataFrame:
    """What other numbers of images would find, if the spread shrinks with their square root."""
    rarer = min(audited.corpus.label_counts(audited.images).values())
    rows = [
        (row["captioner"], row["classifier"], n, row["detectable"] * np.sqrt(rarer / n))
        for row in lic.to_dict("records")
        if row.get("detectable", 0) > 0
        for n in sorted({*SIZES, rarer})
    ]
    return pd.DataFrame(rows, columns=["captioner", "classifier", "images a class", "smallest LIC"])


def _pairs(lic: pd.DataFrame, names: list[str]) -> list[tuple]:
    """One classifier: differences of LIC between every two captioners, split by split."""
    rows, label = [], lic["classifier"].iloc[0]
    for seen, group in lic.groupby("seen", sort=False):
        for first, second in combinations(names, 2):
            found = difference(group, first, second)
            rows.append((label, seen, first, second, *found.interval(), found.n))
    return rows
