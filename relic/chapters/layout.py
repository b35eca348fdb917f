"""Tables as pages show them: under the papers' heads, beside the papers, several lic tables compared.

All start from runs (`relic.runs`) and lic tables (`relic.lic_table`): `{"all": lic, "unseen": lic}`.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd

from relic.judge.claims import SYMBOLS, Verdict, amplification
from relic.judge.lic import estimates, intervals
from relic.judge.stats import Estimate
from relic.records.evidence import PAPERS

HEADS = {"lic_model": "LIC_M", "lic_data": "LIC_D", "lic": "LIC", "n_test": "test captions"}
Tables = dict[str, pd.DataFrame]  # lic tables by name
Judge = Callable[[pd.DataFrame], Verdict]


def headed(table: pd.DataFrame) -> pd.DataFrame:
    """A table under the papers' names; seeds are names, test captions are whole."""
    if "seed" in table:
        table = table.assign(seed=table["seed"].astype(str))
    if "n_test" in table:
        table = table.assign(n_test=table["n_test"].round().astype("int64"))
    return table.rename(columns=HEADS)


def worded(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Verdicts, a row each, with `verdict` in a symbol and a word, and `difference` for the estimate."""
    words = verdicts["word"].map(SYMBOLS) + " " + verdicts["word"]
    return verdicts.assign(verdict=words).rename(columns={"estimate": "difference"})


def beside_papers(table: pd.DataFrame, papers: pd.DataFrame, quantity: str = "lic") -> pd.DataFrame:
    """Ours with its interval, and a column for each paper and classifier."""
    names = papers["source"].map(PAPERS) + ", " + papers["classifier"]
    wide = papers.assign(column=names).pivot(index="captioner", columns="column", values=quantity)
    ours = table[["captioner", quantity, "low", "high"]].rename(columns={quantity: "ours"})
    return ours.merge(wide[list(names.unique())], left_on="captioner", right_index=True)


def change(lic: pd.DataFrame, base: pd.DataFrame, quantity: str = "lic") -> pd.DataFrame:
    """A table with `change`: how far each captioner's split lies from the same split of `base`."""
    keys = ["captioner", "seed"]
    both = lic.merge(base[[*keys, quantity]], on=keys, suffixes=("", "_base"))
    return both.assign(change=both[quantity] - both[f"{quantity}_base"])


def stacked(tables: Tables, series: str, quantity: str = "lic") -> pd.DataFrame:
    """Intervals of several tables one under the other, told apart by a column: for figures."""
    parts = [intervals(lic, quantity).assign(**{series: name}) for name, lic in tables.items()]
    return pd.concat(parts, ignore_index=True)


def side_by_side(tables: Tables, quantity: str = "lic") -> pd.DataFrame:
    """Intervals of several tables in columns, a row a captioner: for reading."""
    return wide(stacked(tables, "table", quantity), "table", value=quantity)


def wide(table: pd.DataFrame, by: str, rows=("captioner",), value: str = "value") -> pd.DataFrame:
    """A row a captioner, three columns each value of column `by`: NAME, NAME low, NAME high."""
    parts = []
    for name, part in table.groupby(by, sort=False):
        part = part.set_index(list(rows))[[value, "low", "high"]]
        parts.append(part.set_axis([name, f"{name} low", f"{name} high"], axis=1))
    return pd.concat(parts, axis=1).reset_index()


def in_cells(by_name: dict[str, Estimate]) -> dict[str, float]:
    """Estimates by name as cells of one row: NAME, NAME low, NAME high."""
    cells = {}
    for name, estimate in by_name.items():
        cells[name], cells[f"{name} low"], cells[f"{name} high"] = estimate.interval()
    return cells


def judged(
    tables: Tables, judge: Judge = amplification, by: str = "captions", value: str = "LIC"
) -> pd.DataFrame:
    """One claim on each table: the verdict, and the estimate (`value`) that it rests on."""
    rows = pd.DataFrame([{by: name} | vars(judge(lic)) for name, lic in tables.items()])
    columns = [by, "verdict", *(["surely"] if rows["captioners"].max() > 1 else [])]
    columns += [value, "low", "high", "rests on", "seeds", HEADS["n_test"]]
    rows["surely"] = rows["surely"].astype(str) + " of " + rows["captioners"].astype(str)
    rows = headed(worded(rows)).rename(columns={"difference": value, "whose": "rests on"})
    return rows[columns]


def mean_of_folds(lic: pd.DataFrame) -> Estimate:
    """The mean over captioners that have folds of their own, as grouped cross-fitting gives them.

    Fold 3 of two captioners holds different images, so folds do not tell how captioners vary
    together. However they do, the error of their mean is at most the mean of their errors.
    """
    every = list(estimates(lic).values())
    mean, error = (float(np.mean([getattr(e, name) for e in every])) for name in ("mean", "error"))
    return Estimate(mean, error, min(e.df for e in every), min(e.n for e in every))
