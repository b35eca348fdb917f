"""Türk et al.'s printed cells against the per-seed values of their own spreadsheet."""

import math
from fractions import Fraction

import pandas as pd

from relic.published import CELL

LONGEST = 20  # cells of a spreadsheet range that we look for


def exact_mean(values) -> Fraction:
    """The mean without binary fractions: the sheet's values have two decimals.

    >>> float(exact_mean([0.1, 0.2, 0.3]))
    0.2
    """
    hundredths = [round(100 * value) for value in values]
    return Fraction(sum(hundredths), 100 * len(hundredths))


def truncated(value: Fraction) -> float:
    """One decimal, the rest cut off.

    >>> truncated(Fraction("51.971")), truncated(Fraction("-0.68"))
    (51.9, -0.6)
    """
    return math.trunc(10 * value) / 10


def rounded(value: Fraction) -> float:
    """One decimal, halves away from zero.

    >>> rounded(Fraction("51.971")), rounded(Fraction("0.25"))
    (52.0, 0.3)
    """
    return math.copysign(math.floor(abs(10 * value) + Fraction(1, 2)) / 10, value)


def printed_against_sheet(lic: pd.DataFrame, per_seed: pd.DataFrame) -> pd.DataFrame:
    """Printed mean and spread of each cell, the sheet's, and what leads from one to the other."""
    printed = lic[(lic["source"] == "turk2023") & lic["variant"].isna()].set_index(CELL)
    rows = []
    for key, values in per_seed.groupby(CELL, sort=False)["value"]:
        mean, std = exact_mean(values), float(values.std())
        shown = printed.loc[key]
        by_truncation, by_rounding = (way(mean) == shown["mean"] for way in (truncated, rounded))
        rows.append(
            {
                **dict(zip(CELL, key, strict=True)),
                "printed": shown["mean"],
                "printed ±": shown["std"],
                "sheet": float(mean),
                "sheet ±": std,
                "n": len(values),
                "truncation": by_truncation,
                "rounding": by_rounding,
                "± by truncation": truncated(Fraction(std)) == shown["std"],
                "± by rounding": rounded(Fraction(std)) == shown["std"],
                "largest seed": float(values.max()),
            }
        )
    return pd.DataFrame(rows)


def how_printed(against: pd.DataFrame) -> pd.DataFrame:
    """Cells that truncation, rounding, both or neither explains, for means and for spreads."""
    rows = []
    for what, cut, near in (
        ("means", against["truncation"], against["rounding"]),
        ("standard deviations", against["± by truncation"], against["± by rounding"]),
    ):
        rows.append(
            {
                "printed": what,
                "cells": len(against),
                "truncation and rounding": int((cut & near).sum()),
                "truncation only": int((cut & ~near).sum()),
                "rounding only": int((~cut & near).sum()),
                "neither": int((~cut & ~near).sum()),
            }
        )
    return pd.DataFrame(rows)


def unexplained(against: pd.DataFrame) -> pd.DataFrame:
    """Cells whose printed mean neither truncation nor rounding of the sheet's mean gives.

    `same as` names captioners of the same column that have the same printed mean and spread.
    """
    column = ["attribute", "classifier", "metric"]
    kept = against[~against["truncation"] & ~against["rounding"]]
    twins = []
    for row in kept.to_dict("records"):
        alike = against[
            (against[[*column, "printed", "printed ±"]] == pd.Series(row)[
                [*column, "printed", "printed ±"]
            ]).all(axis=1)
            & (against["captioner"] != row["captioner"])
        ]  # fmt: skip
        twins.append(", ".join(alike["captioner"]) or "none")
    kept = kept.assign(off=kept["printed"] - kept["sheet"], twins=twins)
    kept = kept.sort_values("off", key=abs, ascending=False)
    wanted = [
        *CELL,
        "printed",
        "printed ±",
        "sheet",
        "sheet ±",
        "n",
        "off",
        "largest seed",
        "± by truncation",
    ]
    return kept[[*wanted, "twins"]].rename(columns={"off": "printed − sheet", "twins": "same as"})


def repeats(against: pd.DataFrame) -> tuple[int, int]:
    """Printed cells that another captioner of the column repeats; how many the sheet bears out."""
    repeated = against[
        against.duplicated(
            ["attribute", "classifier", "metric", "printed", "printed ±"], keep=False
        )
    ]
    return len(repeated), int(repeated["truncation"].sum())


def ranges_giving(per_seed: pd.DataFrame, cell: dict, printed: float) -> pd.DataFrame:
    """Runs of 2 to 20 consecutive cells that overlap a column and whose mean truncates to a value.

    Consecutive means: in the order of `lic_per_seed.csv` within the attribute and classifier. How
    the columns lay in the spreadsheet is not known.
    """
    block = per_seed[
        (per_seed["attribute"] == cell["attribute"])
        & (per_seed["classifier"] == cell["classifier"])
    ].reset_index(drop=True)
    inside = (block["captioner"] == cell["captioner"]) & (block["metric"] == cell["metric"])
    first, last = block.index[inside].min(), block.index[inside].max()
    place = block["captioner"] + " " + block["metric"] + ", row " + block["row"].astype(str)
    rows = []
    for start in range(max(0, first - LONGEST), last + 1):
        for end in range(max(start + 1, first), min(start + LONGEST, len(block))):
            mean = exact_mean(block.loc[start:end, "value"])
            if truncated(mean) == printed:
                rows.append((place[start], place[end], end - start + 1, float(mean)))
    return pd.DataFrame(rows, columns=["from", "to", "cells", "mean"])
