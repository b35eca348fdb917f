"""From the bytes of a file to rows with named columns, and the checks that every reader shares."""

import ast
import csv
import io
import json
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from relic.auditing.files import FORMATS, SHOWN, Content, read_content, shortened
from relic.auditing.ids import image_ids
from relic.data.pickles import plain_values
from relic.errors import RelicError

IMAGE_ID = ("image_id", "img_id", "cocoid")  # these name an image's id and nothing else
SEVERAL, NONE = "take the others out", "rename the column, or add a first line of names"
IMAGE_NAME = ("image", "file_name", "filename", "image_name", "id")


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a file: dicts (JSON, pickles) or lists in the order of `names` (CSV, id → value)."""

    file: Path
    sha256: str
    names: list[str]
    rows: list
    lines: list[int] | None = None  # where a row begins in the file, if it is read by lines
    kind: str = "JSON"  # or "CSV", "mapping" (id → value), "pickle"
    notes: list[str] = field(default_factory=list)

    def column(self, name: str) -> list:
        """The values of a column; None where a row has none."""
        if self.kind in ("CSV", "mapping"):
            at = self.names.index(name)
            return [row[at] for row in self.rows]
        return [row.get(name) for row in self.rows]

    def listed(self, positions: Iterable[int]) -> str:
        """Up to five rows as an error shows them: number and content."""
        return listed_rows(self.rows, positions, self.lines)

    def matching(self, wanted: Iterable[str]) -> list[str]:
        """Columns of these names, in the file's spelling; case and spaces do not count."""
        wanted = set(map(plain_name, wanted))
        return [name for name in self.names if plain_name(name) in wanted]

    def only(self, found: list[str], what: str, wanted: Iterable[str], hint: str = "") -> str:
        """The one column that is meant; none or several are an error."""
        if len(found) == 1:
            return found[0]
        names = ", ".join(shortened(name, 30) for name in self.names[:20]) or "none"
        several = f": {' and '.join(found[:SHOWN])} could all be meant" if found else ""
        raise RelicError(
            f"{self.file} has {'several columns' if found else 'no column'} for the {what}{several}"
            f" (columns found: {names})",
            expected=f"one column named {' or '.join(wanted)}",
            mend=hint or (SEVERAL if found else NONE),
        )

    def id_column(self) -> str:
        """The column of image ids: one named for it, or else one that may hold them."""
        sure, maybe = self.matching(IMAGE_ID), self.matching(IMAGE_NAME)
        if not sure and len(maybe) > 1 and self._agree(maybe):
            return maybe[0]
        chosen = self.only(sure or maybe, "image id", IMAGE_ID + IMAGE_NAME)
        if sure and maybe:
            self.notes.append(f"image ids are read from {chosen}, not from {' or '.join(maybe)}")
        elif plain_name(chosen) != IMAGE_ID[0]:
            self.notes.append(f"image ids are read from {chosen}")
        return chosen

    def _agree(self, names: list[str]) -> bool:
        """Whether columns hold the same ids, as `id` and `file_name` of COCO's images do."""
        first, *others = (image_ids(self.column(name)) for name in names)
        return not first.bad and all(first.values.equals(other.values) for other in others)


def plain_name(name: str) -> str:
    """A column's name without case, spaces and dashes."""
    return re.sub(r"[\s-]+", "_", name.strip().casefold())


def listed_rows(rows: list, positions: Iterable[int], lines: list[int] | None = None) -> str:
    """Up to five rows, each with its line or its number (the first is 1), shortened."""
    positions = list(positions)
    shown = [
        f"{f'line {lines[i]}' if lines else f'row {i + 1}'}: {shortened(rows[i])}"
        for i in positions[:SHOWN]
    ]
    more = f"; and {len(positions) - SHOWN:,} more" if len(positions) > SHOWN else ""
    return "; ".join(shown) + more


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


WRAPPERS = ("annotations", "images", "results", "predictions", "captions", "labels", "data", "rows")
RECORDS = '[{"image_id": 391895, "caption": "a man rides a bike"}, …]'


def read_table(file: str | Path | Table, value: str = "caption") -> Table:
    """The rows of a file; in a dict id → something, `value` names the something."""
    if isinstance(file, Table):  # captions in memory
        return file
    content = read_content(file)
    if content.is_pickle:
        table = _of_values(unpickled(content), content, value, "pickle")
    elif content.data.lstrip()[:1] in (b"[", b"{"):
        table = _of_json(content, value)
    else:
        table = _of_csv(content)
    if not table.rows:
        raise RelicError(f"{table.file} has no rows", expected=FORMATS, mend="write the file again")
    return table


def parsed_list(text: str) -> list | None:
    """A list that a CSV cell holds as Python or JSON writes it; None if it is none.

    >>> parsed_list("['a man', 'he rides']"), parsed_list("[sic] a man")
    (['a man', 'he rides'], None)
    """
    if not (text.startswith("[") and text.endswith("]")):
        return None
    try:
        with warnings.catch_warnings(action="ignore"):  # of a backslash in a caption
            found = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    fits = isinstance(found, list) and all(isinstance(item, str | dict) for item in found)
    return found if fits else None


def unpickled(content: Content):
    """The plain values of a pickle; the error says how else to give the rows."""
    try:
        return plain_values(content.data, content.file)
    except RelicError as error:
        mend = "write the rows as JSON or CSV, e.g. frame.to_csv(FILE, index=False)"
        raise RelicError(error.found, expected=error.expected or "plain values", mend=mend) from error  # fmt: skip


def _of_json(content: Content, value: str) -> Table:
    try:
        return _of_values(_DECODER.decode(content.data.decode()), content, value, "JSON")
    except json.JSONDecodeError as error:
        begins = content.data.lstrip()[:1] == b"{" and error.msg == "Extra data"
        lines = _json_lines(content, error) if begins else None
        if lines is None:
            raise _not_json(content, f"line {error.lineno}, column {error.colno}", error) from error
        return lines
    except (ValueError, RecursionError) as error:
        raise _not_json(content, "it", error) from error


def _json_lines(content: Content, whole: json.JSONDecodeError) -> Table:
    rows, numbers = [], []
    for number, line in enumerate(content.data.decode().split("\n"), 1):
        if not line.isspace() and line:
            try:
                rows.append(_DECODER.decode(line))
            except (ValueError, RecursionError) as error:
                raise _not_json(content, f"line {number}", error) from whole
            numbers.append(number)
    return _of_records(rows, content, "JSON", lines=numbers)


def _not_json(content: Content, where: str, error: Exception) -> RelicError:
    why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]
    return RelicError(
        f"{content.file} is not JSON, or cut short; {where}: {why}",
        expected=f"{RECORDS}, or one such object a line",
        mend="write the file again; where a value is unknown write null, not NaN",
    )


def _no_constant(name: str):
    raise ValueError(f"{name} is no JSON value")


def _object(pairs: list) -> dict:
    """A dict; the same key with two values is an error that `json` would pass over."""
    found = dict(pairs)
    if len(found) != len(pairs):
        for key, value in pairs:
            if found[key] != value:
                raise ValueError(f"{shortened(key)} is there twice in one object")
    return found


_DECODER = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_object)


def _of_values(found, content: Content, value: str, kind: str) -> Table:
    """Rows of a list of dicts, of a dict that holds such a list, or of a dict id → value."""
    notes = []
    if isinstance(found, dict):
        wrapped = [key for key in WRAPPERS if _is_records(found.get(key))]
        if wrapped and (len(wrapped) == 1 or wrapped[0] == "annotations"):
            notes.append(f'the rows are those of "{wrapped[0]}"')
            found = found[wrapped[0]]
        elif any(plain_name(key) in IMAGE_ID + IMAGE_NAME for key in found if isinstance(key, str)):
            if any(isinstance(item, dict | list) for item in found.values()):
                raise RelicError(
                    f"{content.file} holds columns, not rows: {', '.join(shortened(k, 30) for k in list(found)[:SHOWN])}",
                    expected=RECORDS,
                    mend='frame.to_json(FILE, orient="records")',
                )
            found = [found]  # a file of JSON lines with one line
        elif set(found) & set(WRAPPERS):
            keys = ", ".join(shortened(key, 30) for key in list(found)[:20])
            raise RelicError(
                f"{content.file}: which of {keys} holds the rows is not clear, or it is empty",
                expected=f'{RECORDS}, alone or under "annotations"',
                mend="write the list of rows alone",
            )
        else:
            rows = [[key, item] for key, item in found.items()]
            return Table(content.file, content.sha256, ["image_id", value], rows, kind="mapping")
    if not isinstance(found, list):
        raise RelicError(f"{content.file} holds {shortened(found)}", expected=RECORDS, mend="write the rows as a list")  # fmt: skip
    return _of_records(found, content, kind, notes=notes)


def _is_records(value) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _of_records(rows: list, content: Content, kind: str, lines=None, notes=()) -> Table:
    names: dict = {}
    wrong = []
    for number, row in enumerate(rows):
        if isinstance(row, dict):
            names.update(dict.fromkeys(row))
        else:
            wrong.append(number)
    if wrong:
        raise RelicError(
            f"{content.file}: {len(wrong):,} of {len(rows):,} rows are not objects: {listed_rows(rows, wrong, lines)}",
            expected=RECORDS,
            mend="write every row as an object with its image id",
        )
    names = [name for name in names if isinstance(name, str)]
    return Table(content.file, content.sha256, names, rows, lines, kind, list(notes))


def _of_csv(content: Content) -> Table:
    first = content.data.lstrip(b"\r\n ")[:100_000].splitlines()[0].decode(errors="replace")
    counts = {mark: len(_header(first, mark)) for mark in ",;\t"}
    marks = [mark for mark, count in counts.items() if count == max(counts.values())]
    if len(marks) > 1 and counts[marks[0]] > 1:
        raise RelicError(
            f"{content.file}: {' and '.join(map(repr, marks))} could both be the delimiter of {shortened(first)}",
            expected="a first line of column names between , or ; or tabs",
            mend="use one delimiter",
        )
    stream = io.TextIOWrapper(io.BytesIO(content.data), encoding="utf-8", newline="")
    reader = csv.reader(stream, delimiter=marks[0], strict=True)
    rows, lines, begins = [], [], 1
    try:
        for row in reader:
            if row:  # not a blank line
                rows.append(row)
                lines.append(begins)
            begins = reader.line_num + 1
    except csv.Error as error:
        raise RelicError(
            f"{content.file}, line {begins}: {error}",
            expected='CSV: a text with a delimiter, a quote or a line end stands in "…", quotes in it are doubled',
            mend="frame.to_csv(FILE, index=False) writes it so",
        ) from error
    names, rows, lines = [name.strip() for name in rows[0]], rows[1:], lines[1:]
    wrong = [i for i, row in enumerate(rows) if len(row) != len(names)]
    if wrong:
        raise RelicError(
            f"{content.file}: {len(wrong):,} rows do not have the {len(names)} columns of the first line: {listed_rows(rows, wrong, lines)}",
            expected=f'{len(names)} values in every row; a text with {marks[0]!r} in it stands in "…"',
            mend="frame.to_csv(FILE, index=False) writes it so",
        )
    return Table(content.file, content.sha256, names, rows, lines, "CSV")


def _header(line: str, mark: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=mark), [])
    except csv.Error:
        return []
