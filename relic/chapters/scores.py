"""LIC beside scores that do not mix being right with being sure, and LIC by what there is to amplify.

V-information (Xu et al. 2020): bits that a caption tells *this family of classifiers* about the class,
H(a) less the cross-entropy. Balanced classes have H(a) = 1 bit. It is a proper score: no classifier
gains by claiming more or less than it knows. AUC looks at the order of the guesses only.
"""

import pandas as pd

from relic.chapters.layout import stacked, wide
from relic.judge.claims import SYMBOLS, judge
from relic.judge.lic import lic_table

FLOOR = 25.0  # score of a classifier that knows nothing and says so
SCORES = {"LIC": ("score", 1), "ΔAUC": ("auc", 1), "Δbits × 100": ("bits", 100)}  # unit: percent
PARTS = ["lic_model", "lic_data", "lic"]
NORMALISED = "normalised"
RUNS = ["attribute", "classifier", "captioner"]  # what a row is of


def score_tables(runs) -> dict[str, pd.DataFrame]:
    """Lic tables by each score, all in percent: `lic` is always generated less human."""
    tables = {name: lic_table(runs, of=of) for name, (of, _) in SCORES.items()}
    for name, (_, times) in SCORES.items():
        tables[name][PARTS] *= times
    return tables


def all_scores(runs) -> pd.DataFrame:
    """A row a captioner: LIC, ΔAUC, Δbits and normalised LIC, each with its 95 % interval.

    `above 0`: for each of LIC, ΔAUC and Δbits whether it surely lies above 0 (✓), below (✗) or neither (?).
    """
    tables = score_tables(runs)
    shares = normalised(tables["LIC"])
    tables["normalised LIC × 100"] = shares.assign(lic=shares[NORMALISED])
    every = stacked(tables, "of")
    marks = every.assign(mark=marks_above(every))[every["of"].isin(SCORES)]
    marks = marks.groupby(RUNS, sort=False)["mark"].agg(" ".join).rename("above 0")
    return wide(every, "of", RUNS, "lic").merge(marks, on=RUNS)


def marks_above(table: pd.DataFrame) -> list[str]:
    """Does each row's interval lie above 0 (✓), below it (✗) or neither (?)?"""
    return [SYMBOLS[judge(row, above=0.0)] for row in table.itertuples(index=False)]


def normalised(lic: pd.DataFrame) -> pd.DataFrame:
    """With (LIC_M − LIC_D) / (LIC_D − 25) in percent, by split, linear around the ratio of means.

    The mean over splits is the ratio of the means, and the spread that of the ratio (delta method);
    a single split's own ratio would be wild where LIC_D lies near 25.
    """
    parts = []
    for _, part in lic.groupby(["attribute", "classifier", "seen", "captioner"], sort=False):
        room = part["lic_data"] - FLOOR
        ratio = part["lic"].mean() / room.mean()
        value = ratio + (part["lic"] - ratio * room) / room.mean()
        parts.append(part.assign(**{NORMALISED: 100 * value}))
    return pd.concat(parts, ignore_index=True)
