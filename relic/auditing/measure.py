"""The measurements of an audit: LIC with intervals and a verdict, differences, chance, label noise."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from relic import paths
from relic.auditing.inputs import Audited
from relic.errors import RelicError
from relic.judge.claims import MARGIN, SUPPORTED, judge
from relic.judge.lic import (  # fmt: skip
    ALL,
    UNSEEN,
    difference,
    estimates,
    image_intervals,
    labelled,
    lic_table,
    model_table,
)
from relic.judge.stats import Interval, estimate
from relic.measure.splits import PAPER_SEEDS
from relic.measure.store import Store
from relic.measure.sweep import grid, sweep
from relic.records.runs import own_frame
from relic.records.serve import Runs

AMPLIFIES, SLIGHTLY = "amplifies", "amplifies, by less than a point"
DOES_NOT, UNDECIDED = "does not amplify", "undecided"
ALONE = "cannot be judged without human captions"
SYMBOLS = {AMPLIFIES: "▲", SLIGHTLY: "▲", DOES_NOT: "●", UNDECIDED: "?", ALONE: "–"}
NOISE = (0.05, 0.1, 0.2)  # shares of labels flipped
FEW, LARGE = 3, 3000  # splits that flipped labels are told of where there are so many images
SIZES = (100, 250, 500, 1000, 2500, 5000)  # images a class of the table of sizes


@dataclass(frozen=True, eq=False)
class Measured:
    """Runs of an audit and what follows from them."""

    runs: pd.DataFrame
    by_seed: pd.DataFrame  # the lic table: a row each captioner, classifier, seed and seen
    lic: pd.DataFrame  # a row each captioner and classifier
    differences: pd.DataFrame  # a row each pair of captioners and classifier
    noise: pd.DataFrame  # LIC with labels flipped: captioner, flipped %, lic_model, lic_data, lic
    sizes: pd.DataFrame  # smallest LIC found in 80 % of audits: captioner, images a class


def measure(
    audited: Audited,
    *,
    classifiers: str | Sequence[str] = ("linear",),
    seeds: Sequence[int] = PAPER_SEEDS,
    split: str = "paired",
    chance: bool = True,
    noise: bool = True,
    workers: int = 0,
    scheduler: str = "",
    progress: bool = True,
    store: Store | None = None,
) -> Measured:
    """Compute the runs that the store lacks (that of audits, by default), then estimates and verdicts."""
    store, corpus, with_human = store or Store(paths.audit_runs()), audited.corpus, bool(audited.captions_an_image)  # fmt: skip
    _check(store)
    classifiers = [classifiers] if isinstance(classifiers, str) else list(classifiers)
    if split == "grouped" and set(seeds) == set(PAPER_SEEDS):
        seeds = range(len(PAPER_SEEDS))  # its seeds are the numbers of ten folds
    shared = {"classifier": classifiers, "split": split, "seed": list(seeds)}
    human = {"side": "human", "vocabulary": audited.vocabulary}
    indices = range(audited.captions_an_image)
    runs = grid(corpus, **shared)
    if with_human:
        runs += grid(corpus, caption_index=indices, **human, **shared)
    for name in classifiers if chance else ():  # slow classifiers learn nothing once only
        some = list(seeds) if name == "linear" else list(seeds)[:1]
        runs += grid(corpus, **shared | {"labels": "permuted", "seed": some, "classifier": name})
    if noise and with_human and "linear" in classifiers and split != "grouped":
        noisy = {"classifier": "linear", "seed": list(seeds)[: FEW if len(audited.images) > LARGE else None], "labels": [f"noisy:{r}" for r in NOISE]}  # fmt: skip
        runs += grid(corpus, **shared | noisy) + grid(corpus, **human, **shared | noisy)
    sweep(corpus, runs, store, workers=workers, scheduler=scheduler, progress=progress)
    return judged(audited, Runs(own_frame(store, runs), store, names={}))


def _check(store: Store) -> None:
    """Refuse a store that cannot be written to, before anything is computed."""
    try:
        store.directory.mkdir(parents=True, exist_ok=True)
        if not os.access(store.directory, os.W_OK):
            raise PermissionError(13, "no permission")
    except OSError as error:
        raise RelicError(
            f"runs cannot be kept in {store.directory}: {error.strerror}",
            expected="a directory that can be written to",
            mend="RELIC_RUNS=DIR names another",
        ) from error


def judged(audited: Audited, runs: Runs) -> Measured:
    """Estimates and verdicts from finished runs."""
    true, rows, pairs = runs.where(labels="true"), [], []
    labels, chance = np.array(labelled(true.frame)), _chance(runs.frame)
    lic = pd.DataFrame()
    if audited.captions_an_image:
        lic = pd.concat([lic_table(true, seen=seen) for seen in (ALL, UNSEEN)], ignore_index=True)
    for label in dict.fromkeys(labels):
        own = Runs(true.frame[labels == label], true.store, {})
        learnt = chance[chance["classifier"] == label].set_index("captioner")["mean"].to_dict()
        if lic.empty:
            rows += _alone(audited, own, label, learnt)
        else:
            part = lic[lic["classifier"] == label]
            rows += _rows(audited, part, own, learnt)
            pairs += _pairs(part, audited.corpus.captioners)
    columns = ["classifier", "seen", "first", "second", "difference", "low", "high", "n_seeds"]
    table = pd.DataFrame(rows)
    return Measured(runs.frame, lic, table, pd.DataFrame(pairs, columns=columns), _noise(runs), _sizes(audited, table))  # fmt: skip


def _rows(audited: Audited, part: pd.DataFrame, runs: Runs, chance: dict) -> list[dict]:
    """One classifier: a row each captioner."""
    captioners = audited.corpus.captioners
    images = image_intervals(runs, {name: {name: 1} for name in captioners})
    proper = {of: estimates(lic_table(runs, of=of)) for of in ("auc", "bits")}
    result = []
    for name in captioners:
        every, unseen = (
            part[(part["captioner"] == name) & (part["seen"] == seen)] for seen in (ALL, UNSEEN)
        )
        found, rare = estimate(every["lic"]), estimate(unseen["lic"]).interval()
        interval = found.interval()
        row = _about(audited, runs, name, part["classifier"].iloc[0], every, chance)
        row |= _lic(every, interval) | {"verdict": verdict(interval)}
        row |= {"image_low": images[name].low, "image_high": images[name].high} if name in images else {}  # fmt: skip
        for of, each in proper.items():
            mean, low, high = each[name].interval()
            row |= {f"delta_{of}": mean, f"delta_{of}_low": low, f"delta_{of}_high": high}
        row["detectable"] = found.detectable()
        row["unseen"] = {"n_test": float(unseen["n_test"].mean()), **_lic(unseen, rare), "verdict": verdict(rare)}  # fmt: skip
        result.append(row)
    return result


def _alone(audited: Audited, runs: Runs, label: str, chance: dict) -> list[dict]:
    """Without human captions: LIC_M with its interval, and nothing to subtract."""
    table, result = model_table(runs), []
    for name in audited.corpus.captioners:
        every = table[table["captioner"] == name]
        mean, low, high = estimate(every["lic_model"]).interval()
        row = _about(audited, runs, name, label, every, chance)
        row |= {"lic_model": mean, "model_low": low, "model_high": high, "verdict": ALONE}
        result.append(row | {"lic_data": np.nan, "lic": np.nan, "low": np.nan, "high": np.nan})
    return result


def _about(audited: Audited, runs: Runs, name: str, label: str, every, chance: dict) -> dict:
    """What a row rests on, and how well the classifier does on either side."""
    sides = runs.frame[runs.frame["captioner"] == name].groupby("side")
    means = sides[["accuracy", "auc"]].mean()
    auc = estimate(runs.frame.loc[sides.groups["model"], "auc"]).interval()
    return {
        "captioner": name, "attribute": audited.corpus.attribute.name, "classifier": label,
        "n_images": len(audited.images), "n_test": round(every["n_test"].mean()), "n_seeds": len(every),
        "chance": chance.get(name, np.nan), "auc_low": auc.low,
        **{f"{of}{end}": means[of].get(side, np.nan) for of in means
           for side, end in (("model", ""), ("human", "_human"))},
    }  # fmt: skip


def _lic(rows: pd.DataFrame, interval: Interval) -> dict[str, float]:
    sides = {name: float(rows[name].mean()) for name in ("lic_model", "lic_data")}
    return sides | {"lic": interval.mean, "low": interval.low, "high": interval.high}


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
    return {(True, False): AMPLIFIES, (True, True): SLIGHTLY, (False, True): DOES_NOT}.get((more, less), UNDECIDED)  # fmt: skip


def _sizes(audited: Audited, lic: pd.DataFrame) -> pd.DataFrame:
    """What other numbers of images would find, if the spread shrinks with their square root."""
    labels = audited.corpus.labels.loc[audited.images]
    rarer = int(min(labels.sum(), len(labels) - labels.sum()))
    rows = [
        (row["captioner"], row["classifier"], n, row["detectable"] * np.sqrt(rarer / n))
        for row in lic.to_dict("records")
        if row.get("detectable", 0) > 0
        for n in sorted({*SIZES, rarer})
    ]
    return pd.DataFrame(rows, columns=["captioner", "classifier", "images a class", "smallest LIC"])


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
    return permuted.groupby(["classifier", "captioner"], sort=False)["score"].agg(["mean"]).reset_index()  # fmt: skip


def _noise(runs: Runs) -> pd.DataFrame:
    """LIC where a share of the labels is flipped, beside LIC on the same splits as they are."""
    noisy = runs.frame[runs.frame["labels"].str.startswith("noisy")]
    if noisy.empty:
        return pd.DataFrame()
    same = {"classifier": "linear", "caption_index": 0, "seed": sorted(set(noisy["seed"]))}
    rows = []
    for labels in ("true", *dict.fromkeys(noisy["labels"])):
        table = lic_table(runs.where(labels=labels, **same))
        means = table.groupby("captioner", sort=False)[["lic_model", "lic_data", "lic"]].mean()
        share = 0.0 if labels == "true" else float(labels.partition(":")[2])
        rows.append(
            means.assign(flipped=round(100 * share), n_seeds=len(same["seed"])).reset_index()
        )
    return pd.concat(rows, ignore_index=True).sort_values(["captioner", "flipped"], kind="stable")
