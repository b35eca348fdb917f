"""What every reader of an audit gives, and the checks that they share."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from relic.auditing.files import SHOWN, shortened
from relic.auditing.ids import image_ids
from relic.auditing.tables import Table
from relic.errors import RelicError

HUMAN_INSTEAD = "these look like human captions: --human takes them"


@dataclass(frozen=True, eq=False)
class Rows:
    """What a file holds: `frame`, with `notes` on how it was understood."""

    frame: pd.DataFrame
    notes: list[str]
    file: Path
    sha256: str  # of the bytes on disk


def ids_of(table: Table) -> pd.Series:
    """The image ids of a table's rows; rows without one are an error."""
    found = image_ids(table.column(table.id_column()))
    if found.bad:
        raise RelicError(
            f"{table.file}: {rows_of(len(found.bad))} without an image id that can be used: {table.listed(found.bad)}",
            expected="a whole number, or the name of a file",
            mend="take these rows out or give them their image's id",
        )
    if found.from_names:
        table.notes.append(f"{rows_of(found.from_names)}: the id is the number in a file name")
    return found.values


def once(table: Table, frame: pd.DataFrame, value: str) -> pd.DataFrame:
    """One row an image; the same image with another value is an error."""
    if frame["image_id"].is_unique:
        return frame
    kept = frame[~frame.duplicated(["image_id", value])]
    repeated = kept["image_id"].duplicated(keep=False)
    if repeated.any():
        ids = kept["image_id"][repeated].unique()
        mend = "keep one row an image"
        if value == "caption" and 2 * len(ids) >= kept["image_id"].nunique():
            mend = f"{HUMAN_INSTEAD}; else keep one row an image"
        shown = ", ".join(shortened(i, 40) for i in ids[:SHOWN].tolist())
        raise RelicError(
            f"{table.file}: {len(ids):,} {'image has' if len(ids) == 1 else 'images have'} several {value}s: {shown}"
            f"{', …' if len(ids) > SHOWN else ''} ({table.listed(kept.index[repeated])})",
            expected=f"one {value} an image",
            mend=mend,
        )
    if len(kept) < len(frame):
        more = rows_of(len(frame) - len(kept), "repeats", "repeat")
        table.notes.append(f"{more} an image with the same {value}; one kept")
    return kept


def some(table: Table, frame: pd.DataFrame, what: str) -> None:
    """An error if no row is left."""
    if frame.empty:
        found = f"{table.file}: all {len(table.rows):,} rows have an empty {what}"
        raise RelicError(found, expected=f"a {what} a row", mend="write the file again")


def as_rows(table: Table, frame: pd.DataFrame) -> Rows:
    """The frame with what its table says of the file."""
    return Rows(frame.reset_index(drop=True), table.notes, table.file, table.sha256)


def rows_of(number: int, one: str = "", many: str = "") -> str:
    """`1 row` or `2,000 rows`, with the verb that goes with it."""
    return (f"1 row {one}" if number == 1 else f"{number:,} rows {many}").rstrip()


def is_empty(value) -> bool:
    """None, NaN or white space."""
    return value is None or value != value or (isinstance(value, str) and not value.strip())
