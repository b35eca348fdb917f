"""Numbers computed from the real captions and kept in `results/NAME/`, one CSV a part.

A CSV holds numbers only, no caption text; `provenance.json` says when, at which commit and with what.
"""

import json
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from relic import paths, provenance
from relic.errors import RelicError
from relic.whole import write_whole

RECORDED = "recorded"  # the `source` of a row that was read from results/


def home(name: str) -> Path:
    """The directory of a record."""
    return paths.RESULTS / name


def write_record(name: str, part: str, frame: pd.DataFrame) -> Path:
    """Keep a frame as `results/NAME/PART.csv`, and where it came from beside it."""
    home(name).mkdir(parents=True, exist_ok=True)
    file = home(name) / f"{part}.csv"
    write_whole(file, frame.to_csv(index=False, float_format="%.6g"))
    about = home(name) / "provenance.json"
    told = json.loads(about.read_text(encoding="utf-8")) if about.exists() else {}
    told[part] = {
        "recorded": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        **provenance.stamp(),
    }
    write_whole(about, json.dumps(dict(sorted(told.items())), indent=1) + "\n")
    return file


def read_record(name: str) -> pd.DataFrame:
    """All parts of a record as one frame with `source`; empty where nothing is recorded."""
    frames = [read_part(file) for file in sorted(home(name).glob("*.csv"))]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def read_table(name: str, part: str) -> pd.DataFrame:
    """One recorded table, `results/NAME/PART.csv`."""
    return read_part(home(name) / f"{part}.csv").drop(columns="source")


def read_part(file: Path) -> pd.DataFrame:
    """One recorded CSV, marked as recorded."""
    try:
        return pd.read_csv(file).assign(source=RECORDED)
    except (OSError, ValueError) as error:  # pandas' own errors are ValueErrors
        raise RelicError(
            f"{file} cannot be read: {error}",
            expected="a CSV of recorded numbers",
            mend="git checkout results/",
        ) from error
