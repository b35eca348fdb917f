"""The measurements of an audit: LIC with intervals and a verdict, differences, chance level."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from relic import paths
from relic.auditing.inputs import Audited
from relic.judge.claims import MARGIN
from relic.judge.lic import ALL, UNSEEN, difference, image_intervals, labelled, lic_table
from relic.judge.stats import Estimate, Interval, estimate
from relic.measure.splits import PAPER_SEEDS
from relic.measure.store import Store
from relic.measure.sweep import grid, sweep
from relic.records.runs import own_frame
from relic.records.serve import Runs

AMPLIFIES, DOES_NOT, UNDECIDED = "amplifies", "does not amplify", "undecided"
SYMBOLS = {AMPLIFIES: "▲", DOES_NOT: "●", UNDECIDED: "?"}
POWER = 0.8


@dataclass(frozen=True, eq=False)
class Measured:
    """Runs of an audit and what follows from them."""

    runs: pd.DataFrame
    by_seed: pd.DataFrame  # the lic table: a row each captioner, classifier, seed and seen
    lic: pd.DataFrame  # a row each captioner and classifier
    differences: pd.DataFrame  # a row each pair of captioners and classifier
    chance: pd.DataFrame  # score with permuted labels: classifier, captioner, mean, std, runs


def measure(
    audited: Audited,
    *,
    classifiers: Sequence[str] = ("linear",),
    seeds: Sequence[int] = PAPER_SEEDS,
    split: str = "paired",
    chance: bool = True,
    workers: int = 1,
    scheduler: str = "",
    progress: bool = True,
    store: Store | None = None,
) -> Measured:
    """Compute the runs that the store lacks (that of audits, by default), then estimates and verdicts."""
    store, corpus = store or Store(paths.audit_runs()), audited.corpus
    if split == "grouped" and set(seeds) == set(PAPER_SEEDS):
        seeds = range(len(PAPER_SEEDS))  # its seeds are the numbers of ten folds
    shared = {"classifier": list(classifiers), "split": split, "seed": list(seeds)}
    human = {"caption_index": range(audited.captions_an_image), "vocabulary": audited.vocabulary}
    runs = grid(corpus, **shared) + grid(corpus, side="human", **human, **shared)
    for name in classifiers if chance else ():  # slow classifiers learn nothing once only
        some = list(seeds) if name == "linear" else list(seeds)[:1]
        runs += grid(corpus, **shared | {"labels": "permuted", "seed": some, "classifier": name})
    sweep(corpus, runs, store, workers=workers, scheduler=scheduler, progress=progress)
    return judged(audited, Runs(own_frame(store, runs), store, names={}))


def judged(audited: Audited, runs: Runs) -> Measured:
    """Estimates and verdicts from finished runs."""
    true, rows, pairs = runs.where(labels="true"), [], []
    lic = pd.concat([lic_table(true, seen=seen) for seen in (ALL, UNSEEN)], ignore_index=True)
    for label, part in lic.groupby("classifier", sort=False):
        own = Runs(true.frame[[each == label for each in labelled(true.frame)]], true.store, {})
        rows += _rows(audited, part, own)
        pairs += _pairs(part, audited.corpus.captioners)
    columns = ["classifier", "seen", "first", "second", "difference", "low", "high", "n_seeds"]
    differences = pd.DataFrame(pairs, columns=columns)
    return Measured(runs.frame, lic, pd.DataFrame(rows), differences, _chance(runs.frame))


def _rows(audited: Audited, part: pd.DataFrame, runs: Runs) -> list[dict]:
    """One classifier: a row each captioner."""
    captioners = audited.corpus.captioners
    images = image_intervals(runs, {name: {name: 1} for name in captioners})
    result = []
    for name in captioners:
        every, unseen = (
            part[(part["captioner"] == name) & (part["seen"] == seen)] for seen in (ALL, UNSEEN)
        )
        found, rare = estimate(every["lic"]), estimate(unseen["lic"]).interval()
        interval = found.interval()
        score = runs.frame[runs.frame["captioner"] == name].groupby("side")
        accuracy, auc = score["accuracy"].mean(), score["auc"].mean()
        result.append(
            {
                "captioner": name,
                "attribute": audited.corpus.attribute.name,
                "classifier": part["classifier"].iloc[0],
                "n_images": len(audited.images),
                "n_test": round(every["n_test"].mean()),
                "n_seeds": found.n,
                **_lic(every, interval),
                "verdict": verdict(interval),
                "image_low": images[name].low if name in images else np.nan,
                "image_high": images[name].high if name in images else np.nan,
                "detectable": detectable(found),
                "accuracy": accuracy["model"],
                "auc": auc["model"],
                "accuracy_human": accuracy["human"],
                "auc_human": auc["human"],
                "unseen": {
                    "n_test": float(unseen["n_test"].mean()),
                    **_lic(unseen, rare),
                    "verdict": verdict(rare),
                },
            }
        )
    return result


def _lic(rows: pd.DataFrame, interval: Interval) -> dict[str, float]:
    return {
        "lic_model": float(rows["lic_model"].mean()), "lic_data": float(rows["lic_data"].mean()),
        "lic": interval.mean, "low": interval.low, "high": interval.high,
    }  # fmt: skip


def verdict(found: Interval, margin: float = MARGIN) -> str:
    """The whole interval above 0; the whole interval below the margin; or neither.

    >>> verdict(Interval(3, 1, 5)), verdict(Interval(0, -2, 0.9)), verdict(Interval(0, -2, 2))
    ('amplifies', 'does not amplify', 'undecided')
    """
    if found.low > 0:
        return AMPLIFIES
    return DOES_NOT if found.high < margin else UNDECIDED  # no interval (one seed): undecided


def detectable(found: Estimate, level: float = 0.95, power: float = POWER) -> float:
    """The smallest true LIC that would be found, with this spread over splits, in 80 % of audits."""
    if not found.df > 0:
        return float("nan")
    quantiles = special.stdtrit(found.df, [0.5 + level / 2, power])
    return float(quantiles.sum() * found.error)


def _pairs(part: pd.DataFrame, names: list[str]) -> list[tuple]:
    """Differences of LIC between every two captioners, by seed on the same splits."""
    rows = []
    for seen, group in part.groupby("seen", sort=False):
        for i, first in enumerate(names):
            for second in names[i + 1 :]:
                found = difference(group, first, second)
                label = part["classifier"].iloc[0]
                rows.append((label, seen, first, second, *found.interval(), found.n))
    return rows


def _chance(runs: pd.DataFrame) -> pd.DataFrame:
    """Scores of a classifier that learnt permuted labels: what nothing at all would score."""
    permuted = runs[runs["labels"] == "permuted"]
    permuted = permuted.assign(classifier=labelled(permuted))
    table = permuted.groupby(["classifier", "captioner"], sort=False)["score"]
    return table.agg(["mean", "std", "count"]).rename(columns={"count": "runs"}).reset_index()
