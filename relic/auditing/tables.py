"""From the bytes of a file to rows with named columns, and from what a file calls an image to its id."""

import ast
import csv
import io
import json
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from relic.auditing.files import AGAIN, FORMATS, Content, read_content, shortened
from relic.data.corpus import is_image_id, is_text
from relic.data.pickles import plain_values
from relic.errors import RelicError
from relic.numbers import count

SHOWN = 5  # rows or ids that an error lists
IMAGE_ID = ("image_id", "img_id", "cocoid")  # these name an image's id and nothing else
IMAGE_NAME = ("image", "file_name", "filename", "image_name", "id")
WRAPPERS = ("annotations", "images", "results", "predictions", "captions", "labels", "data", "rows")
RECORDS = '[{"image_id": 391895, "caption": "a man rides a bike"}, …]'
WRITTEN_SO = "frame.to_csv(FILE, index=False) writes it so"


def plain_name(name: str) -> str:
    """A column's name without case, spaces and dashes."""
    return re.sub(r"[\s-]+", "_", name.strip().casefold())


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a file, each a dict."""

    file: Path
    sha256: str
    names: list[str]
    rows: list
    lines: list[int] | None = None  # where a row begins in the file, if it is read by lines
    kind: str = "JSON"  # or "CSV", "mapping" (id → value), "pickle"
    notes: list[str] = field(default_factory=list)

    def column(self, name: str) -> list:
        """The values of a column; None where a row has none."""
        return [row.get(name) for row in self.rows]

    def wrong(self, rows: Sequence[int], what: str, expected: str, mend: str) -> RelicError:
        """An error that shows up to five of the rows in question."""
        found = f"{self.file}: {count(len(rows), 'row')} {what}: {self.listed(rows)}"
        return RelicError(found, expected=expected, mend=mend)

    def listed(self, rows: Sequence[int]) -> str:
        """Up to five rows, each with its line or its number (the first is 1)."""
        where = [f"line {self.lines[i]}" if self.lines else f"row {i + 1}" for i in rows[:SHOWN]]
        shown = [f"{at}: {shortened(self.rows[i])}" for at, i in zip(where, rows, strict=False)]
        more = f"; and {len(rows) - SHOWN:,} more" if len(rows) > SHOWN else ""
        return "; ".join(shown) + more

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
            mend=hint or ("take the others out" if found else "add a first line of names"),
        )

    def ids(self) -> pd.Series:
        """The image ids of the rows; rows without one are an error."""
        sure, maybe = self.matching(IMAGE_ID), self.matching(IMAGE_NAME)
        if not sure and len(maybe) > 1 and self._agree(maybe):
            maybe = maybe[:1]
        chosen = self.only(sure or maybe, "image id", IMAGE_ID + IMAGE_NAME)
        if sure and maybe:
            self.notes.append(f"image ids are read from {chosen}, not from {' or '.join(maybe)}")
        elif plain_name(chosen) != IMAGE_ID[0]:
            self.notes.append(f"image ids are read from {chosen}")
        found = image_ids(self.column(chosen))
        if found.bad:
            what = "without an image id that can be used"
            expected = "a whole number, or the name of a file"
            raise self.wrong(found.bad, what, expected, "take these rows out or give them their id")
        if found.from_names:
            rows = count(found.from_names, "row")
            self.notes.append(f"{rows}: the id is the number in a file name")
        return found.values

    def _agree(self, names: list[str]) -> bool:
        """Whether columns hold the same ids, as `id` and `file_name` of COCO's images do."""
        first, *others = (image_ids(self.column(name)) for name in names)
        return not first.bad and all(first.values.equals(other.values) for other in others)


_WHOLE = re.compile(r"[+-]?\d+(?:\.0*)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|[+-]?inf(?:inity)?", re.ASCII | re.I)
_COCO = r"COCO_(?:train|val|test)\d{4}_"
_NAMED = re.compile(
    rf"(?:{_COCO})?(\d+)\.(?:jpe?g|png|webp|gif|bmp|tiff?)|{_COCO}(\d+)", re.ASCII | re.I
)
_ABSENT = {"", "nan", "null", "none", "<na>", "true", "false"}


class Ids(NamedTuple):
    """The ids of a file's rows: whole numbers, or strings as soon as one is no number."""

    values: pd.Series  # int64 or str; without meaning where `bad` says so
    bad: list[int]  # positions of what is no id
    from_names: int  # how many numbers were taken from file names


def image_ids(values: list) -> Ids:
    """Ids of a column; `bad` lists what is empty, true or false, a fraction or no scalar.

    >>> image_ids(["391895", 391895.0, "val2014/COCO_val2014_000000391895.jpg"]).values.tolist()
    [391895, 391895, 391895]
    >>> image_ids([7, "img_a12.png", "x/000000000009.jpg"]).values.tolist()
    ['7', 'img_a12.png', '9']
    """
    if set(map(type, values)) == {int} and all(map(is_image_id, values)):
        return Ids(pd.Series(values, dtype="int64"), [], 0)
    known = {text: _one(text) for text in {value for value in values if type(value) is str}}
    read = [known[value] if type(value) is str else _one(value) for value in values]
    bad = [i for i, (found, _) in enumerate(read) if found is None]
    if all(isinstance(found, int) for found, _ in read if found is not None):
        column = pd.Series([found or 0 for found, _ in read], dtype="int64")
    else:
        column = pd.Series([str(found) for found, _ in read], dtype="str")
    return Ids(column, bad, sum(named for _, named in read))


def _one(value) -> tuple[int | str | None, bool]:
    """(id or None, whether its number was taken from a file name)."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() < 10_000:
        value = str(value)
    if not is_text(value) or "\0" in value or value.strip().casefold() in _ABSENT:
        return None, False
    text = value.strip()
    if _WHOLE.fullmatch(text):
        return _number(text.partition(".")[0]), False
    name = text.replace("\\", "/").rpartition("/")[2].strip()
    if match := _NAMED.fullmatch(name):
        return _number(match[1] or match[2]), True
    return (None if _NUMBER.fullmatch(text) else name or None), False


def _number(digits: str) -> int | str:
    """A number that fits 64 bits; a longer one stays a string."""
    number = int(digits) if len(digits) < 4000 else digits
    return number if is_image_id(number) else str(number)


def same_kind(*columns: pd.Series) -> list[pd.Series]:
    """Id columns of several files, all numbers or all strings, so that they join by value."""
    if len({pd.api.types.is_integer_dtype(column) for column in columns}) == 1:
        return list(columns)
    return [column.astype("str") for column in columns]


def read_table(file: str | Path | Table, value: str = "caption") -> Table:
    """The rows of a file; in a dict id → something, `value` names the something."""
    if isinstance(file, Table):  # captions in memory
        return file
    content = read_content(file)
    if isinstance(content.data, bytes):
        table = _of_values(unpickled(content), content, value, "pickle")
    elif content.data.lstrip()[:1] in ("[", "{"):
        table = _of_json(content, value)
    else:
        table = _of_csv(content)
    if not table.rows:
        raise RelicError(f"{table.file} has no rows", expected=FORMATS, mend=AGAIN)
    return table


def list_or_text(text: str) -> list | str:
    """The list that a CSV cell holds as Python or JSON writes it; the text if it is none.

    >>> list_or_text("['a man', 'he rides']"), list_or_text("[sic] a man")
    (['a man', 'he rides'], '[sic] a man')
    """
    if not (text.startswith("[") and text.endswith("]")):
        return text
    try:
        with warnings.catch_warnings(action="ignore"):  # of a backslash in a caption
            parsed = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text
    fits = isinstance(parsed, list) and all(isinstance(item, str | dict) for item in parsed)
    return parsed if fits else text


def unpickled(content: Content):
    """The plain values of a pickle; the error says how else to give the rows."""
    try:
        return plain_values(content.data, content.file)
    except RelicError as error:
        mend = "write the rows as JSON or CSV, e.g. frame.to_csv(FILE, index=False)"
        expected = error.expected or "plain values"
        raise RelicError(error.found, expected=expected, mend=mend) from error


def _of_json(content: Content, value: str) -> Table:
    text = content.data
    try:
        return _of_values(_DECODER.decode(text), content, value, "JSON")
    except (ValueError, RecursionError) as error:
        if getattr(error, "msg", "") != "Extra data" or text.lstrip()[:1] != "{":
            placed = hasattr(error, "colno")
            where = f"line {error.lineno}, column {error.colno}" if placed else "it"
            raise _not_json(content, where, error) from error
    rows, lines = [], [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
    for number, line in lines:
        try:
            rows.append(_DECODER.decode(line))
        except (ValueError, RecursionError) as error:
            raise _not_json(content, f"line {number}", error) from error
    return _of_records(rows, content, "JSON", lines=[number for number, _ in lines])


def _not_json(content: Content, where: str, error: Exception) -> RelicError:
    why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]
    found = f"{content.file} is not JSON, or cut short; {where}: {why}"
    mend = f"{AGAIN}; where a value is unknown write null, not NaN"
    return RelicError(found, expected=f"{RECORDS}, or one such object a line", mend=mend)


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
    if isinstance(found, list):
        return _of_records(found, content, kind)
    if not isinstance(found, dict):
        mend = "write the rows as a list"
        raise RelicError(f"{content.file} holds {shortened(found)}", expected=RECORDS, mend=mend)
    keys = ", ".join(shortened(key, 30) for key in list(found)[:20])
    lists = {key: found[key] for key in WRAPPERS if isinstance(found.get(key), list)}
    wrapped = [key for key, rows in lists.items() if rows and isinstance(rows[0], dict)]
    if wrapped and (len(wrapped) == 1 or wrapped[0] == "annotations"):
        note = f'the rows are those of "{wrapped[0]}"'
        return _of_records(found[wrapped[0]], content, kind, notes=[note])
    if any(plain_name(key) in IMAGE_ID + IMAGE_NAME for key in found if isinstance(key, str)):
        if not any(isinstance(item, dict | list) for item in found.values()):
            return _of_records([found], content, kind)  # a file of JSON lines with one line
        mend = 'frame.to_json(FILE, orient="records")'
        what = f"{content.file} holds columns, not rows: {keys}"
        raise RelicError(what, expected=RECORDS, mend=mend)
    if set(found) & set(WRAPPERS):
        what = f"{content.file}: which of {keys} holds the rows is not clear, or it is empty"
        expected = f'{RECORDS}, alone or under "annotations"'
        raise RelicError(what, expected=expected, mend="write the list of rows alone")
    rows = [{"image_id": key, value: item} for key, item in found.items()]
    return Table(content.file, content.sha256, ["image_id", value], rows, kind="mapping")


def _of_records(rows: list, content: Content, kind: str, lines=None, notes=()) -> Table:
    names = dict.fromkeys(key for row in rows if isinstance(row, dict) for key in row)
    names = [name for name in names if isinstance(name, str)]
    table = Table(content.file, content.sha256, names, rows, lines, kind, list(notes))
    wrong = [i for i, row in enumerate(rows) if not isinstance(row, dict)]
    if wrong:
        what = f"of {len(rows):,} are not objects"
        raise table.wrong(wrong, what, RECORDS, "write every row as an object with its image id")
    return table


def _of_csv(content: Content) -> Table:
    first = content.data.lstrip("\r\n ")[:100_000].splitlines()[0]
    counts = {mark: len(_header(first, mark)) for mark in ",;\t"}
    marks = [mark for mark, n in counts.items() if n == max(counts.values())]
    if len(marks) > 1 and counts[marks[0]] > 1:
        both = " and ".join(map(repr, marks))
        what = f"{content.file}: {both} could both be the delimiter of {shortened(first)}"
        expected = "a first line of column names between , or ; or tabs"
        raise RelicError(what, expected=expected, mend="use one delimiter")
    reader = csv.reader(io.StringIO(content.data, newline=""), delimiter=marks[0], strict=True)
    rows, lines, begins = [], [], 1
    try:
        for row in reader:
            if row:  # not a blank line
                rows.append(row)
                lines.append(begins)
            begins = reader.line_num + 1
    except csv.Error as error:
        what = f"{content.file}, line {begins}: {error}"
        expected = 'a text with a delimiter, a quote or a line end in "…", quotes in it doubled'
        raise RelicError(what, expected=expected, mend=WRITTEN_SO) from error
    names = [name.strip() for name in rows[0]]
    table = Table(content.file, content.sha256, names, rows[1:], lines[1:], "CSV")
    wrong = [i for i, row in enumerate(table.rows) if len(row) != len(names)]
    if wrong:
        expected = f'{len(names)} values a row; a text with {marks[0]!r} in it stands in "…"'
        what = f"do not have the {len(names)} columns of the first line"
        raise table.wrong(wrong, what, expected, WRITTEN_SO)
    return replace(table, rows=[dict(zip(names, row, strict=True)) for row in table.rows])


def _header(line: str, mark: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=mark), [])
    except csv.Error:
        return []
