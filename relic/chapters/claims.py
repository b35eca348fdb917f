"""What the claim pages share: tables as the papers head them, verdicts in words, ours beside theirs."""

import pandas as pd

from relic.judge.claims import SYMBOLS
from relic.records.evidence import PAPERS

HEADS = {"lic_model": "LIC_M", "lic_data": "LIC_D", "lic": "LIC", "n_test": "test captions"}


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
