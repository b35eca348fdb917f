"""The measurements of an audit: LIC with intervals and a verdict, differences, chance level."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from relic import paths
from relic.auditing.inputs import Audited, Inputs
from relic.claims import MARGIN
from relic.data.corpus import Corpus
from relic.evidence import difference, from_runs, image_intervals, labelled, means
from relic.local import paired_grid
from relic.results import local_frame
from relic.splits import PAPER_SEEDS
from relic.stats import Estimate, Interval
from relic.store import Store
from relic.sweep import Source, grid, sweep

AMPLIFIES, DOES_NOT, UNDECIDED = "amplifies", "does not amplify", "undecided"
SYMBOLS = {AMPLIFIES: "▲", DOES_NOT: "●", UNDECIDED: "?"}
POWER = 0.8


@dataclass(frozen=True, eq=False)
class Held:
    """A corpus in this process's memory, in a `Source`'s place."""

    corpus: Corpus

    def load(self, attribute: str) -> Corpus:
        """The corpus, whatever the attribute's name."""
        return self.corpus


@dataclass(frozen=True, eq=False)
class Measured:
    """Runs of an audit and what follows from them."""

    runs: pd.DataFrame
    evidence: pd.DataFrame
    lic: pd.DataFrame  # a row each captioner and classifier
    differences: pd.DataFrame  # a row each pair of captioners and classifier
    chance: pd.DataFrame  # score with permuted labels: classifier, captioner, mean, std, runs


def source_of(inputs: Inputs) -> Source:
    """How any worker gets the audited corpus: from the same files."""
    return Source(corpus="files", files=inputs.told())


def measure(
    audited: Audited,
    source: Source | Held,
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
    store, about = store or Store(paths.audit_runs()), audited.corpus.attribute
    indices = range(audited.captions_an_image)
    shared = {"classifier": list(classifiers), "split": split}
    runs = paired_grid(source, about.name, seeds=list(seeds), caption_indices=indices,
                       vocabulary=audited.vocabulary, **shared)  # fmt: skip
    if chance:
        for name in classifiers:  # slow classifiers learn nothing once only
            some = list(seeds) if name == "linear" else list(seeds)[:1]
            runs += grid(source, about.name, labels="permuted", seed=some, classifier=name, split=split)  # fmt: skip
    sweep(source, runs, store, workers=workers, scheduler=scheduler, progress=progress)
    return judged(audited, local_frame(store, runs), store, split)


def judged(audited: Audited, runs: pd.DataFrame, store: Store, split: str = "paired") -> Measured:
    """Estimates and verdicts from finished runs."""
    choice = {"vocabulary": audited.vocabulary, "split": split, "names": {}}
    evidence = from_runs(runs, "audit", **choice)
    true = runs[runs["labels"] == "true"]
    rows, pairs = [], []
    for label, part in evidence.groupby("classifier", sort=False):
        own = true[[each == label for each in labelled(true)]]
        rows += _rows(audited, part, own, store)
        pairs += _pairs(part, audited.corpus.captioners)
    columns = ["classifier", "variant", "first", "second", "difference", "low", "high", "n_seeds"]
    return Measured(
        runs, evidence, pd.DataFrame(rows), pd.DataFrame(pairs, columns=columns), _chance(runs)
    )


def _rows(audited: Audited, part: pd.DataFrame, runs: pd.DataFrame, store: Store) -> list[dict]:
    """One classifier: a row each captioner."""
    captioners = audited.corpus.captioners
    images = image_intervals(runs, {name: {name: 1} for name in captioners}, store=store)
    sides = dict(iter(part.groupby("variant", sort=False)))
    found = {variant: means(rows) for variant, rows in sides.items()}
    result = []
    for name in captioners:
        own = {variant: rows[rows["captioner"] == name] for variant, rows in sides.items()}
        estimate, interval = found["standard"][name], found["standard"][name].interval()
        score = runs[(runs["captioner"] == name)].groupby("side")
        accuracy, auc = score["accuracy"].mean(), score["auc"].mean()
        result.append(
            {
                "captioner": name,
                "attribute": audited.corpus.attribute.name,
                "classifier": part["classifier"].iloc[0],
                "n_images": len(audited.images),
                "n_test": round(own["standard"]["n_test"].mean()),
                "n_seeds": estimate.n,
                **_lic(own["standard"], interval),
                "verdict": verdict(interval),
                "image_low": images[name].low if name in images else np.nan,
                "image_high": images[name].high if name in images else np.nan,
                "detectable": detectable(estimate),
                "accuracy": accuracy["model"], "auc": auc["model"],
                "accuracy_human": accuracy["human"], "auc_human": auc["human"],
                "unseen": {
                    "n_test": float(own["unseen"]["n_test"].mean()),
                    **_lic(own["unseen"], found["unseen"][name].interval()),
                    "verdict": verdict(found["unseen"][name].interval()),
                },
            }
        )  # fmt: skip
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
    for variant, group in part.groupby("variant", sort=False):
        for i, first in enumerate(names):
            for second in names[i + 1 :]:
                found = difference(group, first, second)
                rows.append((part["classifier"].iloc[0], variant, first, second, *found.interval(), found.n))  # fmt: skip
    return rows


def _chance(runs: pd.DataFrame) -> pd.DataFrame:
    """Scores of a classifier that learnt permuted labels: what nothing at all would score."""
    permuted = runs[runs["labels"] == "permuted"]
    permuted = permuted.assign(classifier=labelled(permuted))
    table = permuted.groupby(["classifier", "captioner"], sort=False)["score"]
    return table.agg(["mean", "std", "count"]).rename(columns={"count": "runs"}).reset_index()
