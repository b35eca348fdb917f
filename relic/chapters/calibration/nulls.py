"""Null checks: what LIC says where there is nothing to find, and what pairing does to intervals."""

from itertools import combinations

import numpy as np
import pandas as pd

from relic.errors import RelicError
from relic.judge.lic import difference, estimates, intervals, lic_table
from relic.judge.stats import Estimate

WHOSE = {"model": "generated", "human": "human"}  # captions of a side


def misses(table: pd.DataFrame, value: float = 0.0) -> int:
    """How many intervals leave a value out."""
    return int(((table["low"] > value) | (table["high"] < value)).sum())


def met_before(runs) -> pd.DataFrame:
    """Score by side on test captions that training held, as the classifier reads them, and on new ones."""
    rows = []
    for side, part in runs.frame.groupby("side", sort=False):
        tested, new = part["n_test"].sum(), part["n_unseen"].sum()
        total = (part["score"] * part["n_test"]).sum()
        of_new = (part["unseen_score"].fillna(0) * part["n_unseen"]).sum()
        row = {"captions": WHOSE[side], "met before, %": 100 * (tested - new) / tested}
        row |= {"score, new": of_new / new, "score, met before": (total - of_new) / (tested - new)}
        rows.append(row | {"runs": len(part)})
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
    tables = []
    for index in sorted(human["caption_index"].unique()):
        sides = np.where(human["caption_index"] == index, "model", "human")
        table = intervals(lic_table(human.assign(side=sides)))
        table.insert(0, "caption", index + 1)
        tables.append(table.rename(columns={"captioner": "words of"}))
    return pd.concat(tables, ignore_index=True)


def pairing(lic: pd.DataFrame) -> pd.DataFrame:
    """Width of the interval on shared splits, and had its two parts come from other images.

    A row a captioner (LIC_M against LIC_D) and a pair of captioners (LIC against LIC).
    """
    model, data, both = (estimates(lic, name) for name in ("lic_model", "lic_data", "lic"))
    rows = [("LIC", name, both[name], model[name].minus(data[name])) for name in both]
    for first, second in combinations(both, 2):
        paired, alone = difference(lic, first, second), both[first].minus(both[second])
        rows.append(("LIC of two captioners", f"{first} − {second}", paired, alone))
    rows = [(*names, _width(paired), _width(alone)) for *names, paired, alone in rows]
    table = pd.DataFrame(rows, columns=["of", "captioner", "paired", "as if independent"])
    return table.assign(ratio=table["paired"] / table["as if independent"])


def _width(found: Estimate) -> float:
    return found.interval().high - found.interval().low
