"""The three papers side by side: every cell of LIC_M, LIC_D and LIC, and where they differ.

A difference counts as *beyond the spread* when |m1 - m2| > sqrt(s1² + s2²), s being the standard
deviation over seeds that the papers print. That is a spread, not a test: the papers share seeds
and, in part, splits, so their runs are not independent, and a mean of ten seeds varies less than
one seed does.
"""

from itertools import combinations

import numpy as np
import pandas as pd

from relic.figures import ORDER, PAPERS
from relic.published import CELL

CLASSIFIERS = ["LSTM", "BERT-ft", "BERT-pre"]
METRICS = ["LIC_M", "LIC_D", "LIC"]


def main_cells(lic: pd.DataFrame) -> pd.DataFrame:
    """The papers' main tables: gender and race, nine captioners, three classifiers, with spreads.

    No paper prints a spread for LIC; it follows from those of LIC_M and LIC_D taken as independent.
    """
    kept = lic[lic["variant"].isna() & lic["attribute"].isin(["gender", "race"])]
    kept = kept[kept["source"].isin(PAPERS)].rename(columns={"std": "spread"})
    squares = kept.dropna(subset="spread").assign(spread=lambda frame: frame["spread"] ** 2)
    key = ["source", "attribute", "classifier", "captioner"]
    derived = np.sqrt(squares.groupby(key)["spread"].sum()).rename("derived")
    kept = kept.merge(derived.reset_index(), on=key, how="left")
    kept["spread"] = kept["spread"].fillna(kept["derived"])
    return _ordered(kept)[["source", *CELL, "mean", "spread"]]


def side_by_side(lic: pd.DataFrame) -> pd.DataFrame:
    """One row a cell: mean and spread of each paper, and the pairs that differ beyond the spread."""
    cells, parts = main_cells(lic), []
    for source, label in PAPERS.items():
        one = cells[cells["source"] == source].set_index(CELL)[["mean", "spread"]]
        parts.append(one.set_axis([_short(label), f"± ({_short(label)})"], axis=1))
    wide = pd.concat(parts, axis=1)
    pairs = differences(lic)
    apart = pairs[pairs["beyond"]].groupby(CELL)["papers"].agg("; ".join)
    wide["beyond the spread"] = apart.reindex(wide.index).fillna("none")
    return _ordered(wide.reset_index())


def differences(lic: pd.DataFrame) -> pd.DataFrame:
    """Every cell that two papers share: second minus first, the spread, and whether beyond it."""
    cells = main_cells(lic)
    parts = []
    for first, second in combinations(PAPERS, 2):
        left, right = cells[cells["source"] == first], cells[cells["source"] == second]
        pair = left.merge(right, on=CELL, suffixes=("_first", "_second"))
        parts.append(pair.assign(papers=f"{_short(PAPERS[first])} – {_short(PAPERS[second])}"))
    pairs = pd.concat(parts, ignore_index=True)
    # Printed values have one decimal: rounding takes away what binary fractions add.
    pairs["difference"] = (pairs["mean_second"] - pairs["mean_first"]).round(1)
    pairs["spread"] = np.hypot(pairs["spread_first"], pairs["spread_second"])
    pairs["beyond"] = pairs["difference"].abs() > pairs["spread"] + 1e-9
    wanted = ["source_first", "source_second", "papers", *CELL]
    return _ordered(pairs)[[*wanted, "difference", "spread", "beyond"]]


def counts(lic: pd.DataFrame) -> pd.DataFrame:
    """How many cells differ beyond the spread, by pair of papers and classifier."""
    rows = []
    for (papers, classifier), part in differences(lic).groupby(
        ["papers", "classifier"], sort=False
    ):
        beyond = part.groupby("metric")["beyond"].sum()
        rows.append(
            {
                "papers": papers,
                "classifier": classifier,
                "cells": len(part),
                **{f"beyond, {metric}": int(beyond[metric]) for metric in METRICS},
                "largest |difference|": part["difference"].abs().max(),
                "median spread": part["spread"].median(),
            }
        )
    return pd.DataFrame(rows)


def _short(label: str) -> str:
    """A paper's first name.

    >>> [_short(label) for label in PAPERS.values()]
    ['Hirota', 'RELIC', 'Türk']
    """
    return label.split()[0]


def _ordered(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows in the order in which the papers print them."""
    ranks = {"classifier": CLASSIFIERS, "metric": METRICS, "captioner": ORDER}
    return frame.sort_values(
        ["attribute", "classifier", "metric", "captioner"],
        key=lambda column: column.map(ranks[column.name].index) if column.name in ranks else column,
        kind="stable",
        ignore_index=True,
    )
