"""Tables of numbers: ours in `results/NAME/`, one CSV a part; the papers' in `published/`, a row a value.

A CSV holds numbers only, no caption text; `provenance.json` says when, at which commit and with what.
"""

import json
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from relic import paths, provenance
from relic.errors import RelicError
from relic.whole import write_whole

CELL = ["attribute", "classifier", "captioner", "metric"]  # what names a cell of the papers' tables
RECORDED = "recorded"  # the `source` of a row that was read from results/


def home(name: str) -> Path:
    """The directory of a record."""
    return paths.RESULTS / name


def made_now(how: str) -> dict[str, object]:
    """When and with what numbers are recorded or published: what `provenance.json` keeps."""
    return {how: f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC", **provenance.stamp()}


def write_record(name: str, part: str, frame: pd.DataFrame) -> Path:
    """Keep a frame as `results/NAME/PART.csv`, and where it came from beside it."""
    file, beside = home(name) / f"{part}.csv", home(name) / "provenance.json"
    write_whole(file, frame.to_csv(index=False, float_format="%.6g"))
    parts = json.loads(beside.read_text(encoding="utf-8")) if beside.exists() else {}
    parts[part] = made_now("recorded")
    write_whole(beside, json.dumps(dict(sorted(parts.items())), indent=1) + "\n")
    return file


def read_record(name: str) -> pd.DataFrame:
    """All parts of a record as one frame with `source`; empty where nothing is recorded."""
    parts = [read_table(name, file.stem) for file in sorted(home(name).glob("*.csv"))]
    return pd.concat(parts or [pd.DataFrame()], ignore_index=True).assign(source=RECORDED)


def read_table(name: str, part: str, **how) -> pd.DataFrame:
    """One recorded table, `results/NAME/PART.csv`; `how` as `pandas.read_csv` takes it."""
    file = home(name) / f"{part}.csv"
    try:
        return pd.read_csv(file, **how)
    except (OSError, ValueError) as error:  # pandas' own errors are ValueErrors
        found, expected = f"{file} cannot be read: {error}", "a CSV of recorded numbers"
        raise RelicError(found, expected=expected, mend="git checkout results/") from error


def published(name: str) -> pd.DataFrame:
    """A published table by name; `relic/records/published/README.md` tells where each comes from.

    >>> published("attribution").columns.tolist()
    ['source', 'table', 'captioner', 'classifier', 'female', 'male', 'sum']
    """
    tables = {file.stem: file for file in sorted(paths.PUBLISHED.glob("*.csv"))}
    if name not in tables:
        raise RelicError(f"no published table {name!r}", expected=f"one of {', '.join(tables)}")
    return pd.read_csv(tables[name])
