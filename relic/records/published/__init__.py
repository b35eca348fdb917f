"""The papers' numbers: tidy CSV files beside this module, one row a value."""

import pandas as pd

from relic import paths
from relic.errors import RelicError

CELL = ["attribute", "classifier", "captioner", "metric"]  # what names a cell of the papers' tables


def names() -> list[str]:
    """Names of the published tables."""
    return sorted(file.stem for file in paths.PUBLISHED.glob("*.csv"))


def published(name: str) -> pd.DataFrame:
    """A published table by name; `relic/records/published/README.md` tells where each comes from.

    >>> published("attribution").columns.tolist()
    ['source', 'table', 'captioner', 'classifier', 'female', 'male', 'sum']
    """
    if name not in names():
        raise RelicError(f"no published table {name!r}", expected=f"one of {', '.join(names())}")
    return pd.read_csv(paths.PUBLISHED / f"{name}.csv")
