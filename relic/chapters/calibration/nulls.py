"""Null checks: what LIC says where there is nothing to find, and what pairing does to intervals."""

from itertools import combinations

import numpy as np
import pandas as pd

from relic.errors import RelicError
from relic.judge.lic import difference, estimates, intervals, lic_table
from relic.judge.stats import Estimate, estimate


def misses(table: pd.DataFrame, value: float = 0.0) -> int:
    """How many intervals leave a value out."""
    return int(((table["low"] > value) | (table["high"] < value)).sum())


def chance(runs) -> pd.DataFrame:
    """Score, accuracy and AUC by side: means over captioners with 95 % intervals over splits."""
    rows = []
    for side, part in runs.frame.groupby("side", sort=False):
        row = {"captions": {"model": "generated", "human": "human"}[side]}
        for column, name in (("accuracy", "accuracy"), ("auc", "AUC"), ("score", "score")):
            found = estimate(part.groupby("seed")[column].mean()).interval()
            row |= {name: found.mean, f"{name} low": found.low, f"{name} high": found.high}
        rows.append(row | {"runs": len(part), "seeds": part["seed"].nunique()})
    return pd.DataFrame(rows)


def parts(runs) -> pd.DataFrame:
    """LIC as what accuracy and what confidence make of it: means over captioners, intervals over splits.

    A score is accuracy times confidence when right, so LIC is the mean accuracy of the two sides times
    their difference in confidence, plus the mean confidence times their difference in accuracy.
    """
    frame = runs.frame.assign(sure=runs.frame["score"] / runs.frame["accuracy"])
    wide = frame.groupby(["captioner", "seed", "side"])[["score", "accuracy", "sure"]].mean()
    model, human = (wide.xs(side, level="side") for side in ("model", "human"))
    apart, middle = model - human, (model + human) / 2
    found = {
        "LIC": apart["score"],
        "by confidence": middle["accuracy"] * apart["sure"],
        "by accuracy": middle["sure"] * apart["accuracy"],
    }
    each = {name: estimate(v.groupby("seed").mean()).interval() for name, v in found.items()}
    rows = [(name, *interval) for name, interval in each.items()]
    return pd.DataFrame(rows, columns=["part", "points", "low", "high"])


def met_before(runs) -> pd.DataFrame:
    """Score by side on test captions that training held, as the classifier reads them, and on new ones."""
    rows = []
    for side, part in runs.frame.groupby("side", sort=False):
        new, met = part["n_unseen"], part["n_test"] - part["n_unseen"]
        unseen = (part["unseen_score"].fillna(0) * new).sum()
        row = {"captions": {"model": "generated", "human": "human"}[side]}
        row |= {"met before, %": 100 * met.sum() / part["n_test"].sum()}
        row |= {"score, new": unseen / new.sum()}
        total = (part["score"] * part["n_test"]).sum()
        rows.append(row | {"score, met before": (total - unseen) / met.sum(), "runs": len(part)})
    return pd.DataFrame(rows)


def human_zero(runs) -> pd.DataFrame:
    """Each human caption in the captioner's place, the others as the data.

    A row a caption and vocabulary (of the captioner that the human captions are aligned to). The
    values of one vocabulary add up to 0, so it is their size that counts.
    """
    human = runs.frame[runs.frame["side"] == "human"]
    if human.groupby(["captioner", "seed"])["caption_index"].nunique().min() < 2:
        raise RelicError(
            "one human caption a split has no other to be set against",
            expected="runs of two or more human captions a split",
        )
    found = []
    for index in sorted(human["caption_index"].unique()):
        sides = np.where(human["caption_index"] == index, "model", "human")
        table = intervals(lic_table(human.assign(side=sides)))
        table = table.rename(columns={"captioner": "words of"})
        table.insert(0, "caption", index + 1)
        found.append(table)
    return pd.concat(found, ignore_index=True)


def pairing(lic: pd.DataFrame) -> pd.DataFrame:
    """Width of the interval on shared splits, and had its two parts come from other images.

    A row a captioner (LIC_M against LIC_D) and a pair of captioners (LIC against LIC).
    """
    model, data, both = (estimates(lic, name) for name in ("lic_model", "lic_data", "lic"))
    rows = [
        {"of": "LIC", "captioner": name} | _widths(found, model[name].minus(data[name]))
        for name, found in both.items()
    ]
    for first, second in combinations(both, 2):
        row = {"of": "LIC of two captioners", "captioner": f"{first} − {second}"}
        alone = both[first].minus(both[second])
        rows.append(row | _widths(difference(lic, first, second), alone))
    return pd.DataFrame(rows)


def _widths(paired: Estimate, alone: Estimate) -> dict[str, float]:
    widths = [found.interval().high - found.interval().low for found in (paired, alone)]
    return {"paired": widths[0], "as if independent": widths[1], "ratio": widths[0] / widths[1]}
