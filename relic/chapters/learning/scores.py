"""LIC beside scores that do not mix being right with being sure, and LIC by what there is to amplify.

V-information (Xu et al. 2020): bits that a caption tells *this family of classifiers* about the class,
H(a) less the cross-entropy. Balanced classes have H(a) = 1 bit. It is a proper score: no classifier
gains by claiming more or less than it knows. AUC looks at the order of the guesses only.
"""

import pandas as pd

from relic.data.captioners import in_order
from relic.judge.claims import SYMBOLS, judge
from relic.judge.lic import intervals, lic_table

FLOOR = 25.0  # score of a classifier that knows nothing and says so
SCORES = {"LIC": ("score", 1), "ΔAUC": ("auc", 1), "Δbits × 100": ("bits", 100)}  # unit: percent
PARTS = ["lic_model", "lic_data", "lic"]
NORMALISED = "normalised"


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
    found = {name: (intervals(table), "lic") for name, table in tables.items()}
    marks = [marks_above(table) for table, _ in found.values()]
    of_room = intervals(normalised(tables["LIC"]), NORMALISED)
    found["normalised LIC × 100"] = of_room, NORMALISED
    shown = of_room[["attribute", "classifier", "captioner"]].copy()
    for name, (table, value) in found.items():
        ends = table[[value, "low", "high"]].to_numpy()
        shown[[name, f"{name} low", f"{name} high"]] = ends
    return shown.assign(**{"above 0": [" ".join(each) for each in zip(*marks, strict=True)]})


def marks_above(table: pd.DataFrame, bound: float = 0.0) -> list[str]:
    """Does each row's interval lie above the bound (✓), below it (✗) or neither (?)?"""
    return [SYMBOLS[judge(each, above=bound)] for each in table.itertuples(index=False)]


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


def survival(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """A row a captioner, a column a test: is LIC surely above 0 (✓), surely not (✗) or neither (?)?"""
    found = {name: intervals(table).set_index("captioner") for name, table in tables.items()}
    marks = {name: pd.Series(marks_above(t), t.index) for name, t in found.items()}
    table = pd.DataFrame(marks)
    return table.loc[in_order(table.index)].rename_axis("captioner").reset_index()


def learned(runs) -> pd.DataFrame:
    """By classifier, on the splits that all of them have: AUC of both sides, LIC_M, LIC_D and LIC.

    A row a captioner and classifier. One split has no interval.
    """
    score, auc = (lic_table(runs, of=of) for of in ("score", "auc"))  # the same rows
    shared = score.groupby(["captioner", "seed"])["classifier"].transform("nunique")
    most = score.groupby("captioner")["classifier"].transform("nunique")
    kept = (shared == most) & (most > 1)
    table, by = intervals(score[kept]), ["captioner", "classifier"]
    if table.empty:
        return table
    table[["AUC, generated", "AUC, human"]] = intervals(auc[kept])[["lic_model", "lic_data"]]
    human = score[kept].groupby(by)["human"].agg(lambda each: ", ".join(sorted(set(each))))
    table = table.join(human.rename("human captions"), on=by)
    names = {"lic_model": "LIC_M", "lic_data": "LIC_D", "lic": "LIC", "seeds": "splits"}
    table = table.sort_values("captioner", key=lambda c: c.map(in_order(c).index), kind="stable")
    return table.rename(columns=names)
