"""From a file on disk to rows with named columns, and from what a row calls an image to its id.

Gzip, byte order marks and UTF-16 are undone; what is not unmistakable is refused with the rows in question.
"""

import ast
import csv
import gzip
import hashlib
import io
import json
import os
import re
import reprlib
import warnings
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

import pandas as pd

from relic.data.corpus import is_image_id, is_text
from relic.data.pickles import plain_values
from relic.errors import RelicError
from relic.numbers import count

LARGEST = 2_000_000_000  # bytes; COCO's val captions have 20 MB
PACKED, DENSEST = 50_000_000, 40  # bytes that any gzip may unpack to; above, times its own size
SMALLER = "captions or labels alone", "leave other columns out"
FORMATS = "JSON, JSON lines, CSV or TSV in UTF-8 (gzip is fine), or one of upstream's pickles"
AGAIN = "write the file again"
OTHERS = {  # first bytes of what is often given by mistake: what it is, what mends it
    b"PK": ("a zip archive (Excel workbooks are, too)", "unzip it; from Excel, save as CSV"),
    b"PAR1": ("a parquet file", "pandas.read_parquet(FILE).to_csv(OUT, index=False)"),
    b"BZh": ("compressed with bzip2", "bunzip2 FILE"),
    b"\xfd7zXZ": ("compressed with xz", "unxz FILE"),
    b"\x28\xb5\x2f\xfd": ("compressed with zstd", "zstd -d FILE"),
    b"\x93NUMPY": ("a NumPy array", "write the captions as JSON"),
    b"version https://git-lfs": ("a Git LFS pointer, not the file itself", "git lfs pull"),
}
SHOWN = 5  # rows or ids that an error lists
IMAGE_ID = ("image_id", "img_id", "cocoid")  # these name an image's id and nothing else
IMAGE_NAME = ("image", "file_name", "filename", "image_name", "id")
WRAPPERS = ("annotations", "images", "results", "predictions", "captions", "labels", "data", "rows")
RECORDS = '[{"image_id": 391895, "caption": "a man rides a bike"}, …]'
WRITTEN_SO = "frame.to_csv(FILE, index=False) writes it so"
ROWS_INSTEAD = "write the rows as JSON or CSV, e.g. frame.to_csv(FILE, index=False)"

_SHORT = reprlib.Repr()  # lists that share lists, and numbers of a thousand digits, end too
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxdict = 3, 200, 8


def shortened(value, width: int = 80) -> str:
    """What a value looks like, on one line that ends.

    >>> shortened("a" * 100, 10)
    "'aaaaaaaa…"
    """
    if isinstance(value, dict):  # reprlib would sort the keys, and hide the image's id
        pairs = (f"{_SHORT.repr(k)}: {_SHORT.repr(v)}" for k, v in islice(value.items(), 8))
        text = f"{{{', '.join(pairs)}}}"
    else:
        text = repr(value[: width + 1]) if isinstance(value, str | bytes) else _SHORT.repr(value)
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= width else f"{text[: width - 1]}…"


def plain_name(name: str) -> str:
    """A column's name without case, spaces and dashes."""
    return re.sub(r"[\s-]+", "_", name.strip().casefold())


def is_clean(value) -> bool:
    """Text that can be written, without NUL."""
    return is_text(value) and "\0" not in value


@dataclass(eq=False)
class Table:
    """A file: its rows, each a dict; what was understood on the way; the tidy frame that came of it."""

    file: Path
    sha256: str = ""  # of the bytes on disk
    kind: str = "JSON"  # or "CSV", "mapping" (id → value), "pickle"
    rows: list = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)  # where rows begin, if the file is read by lines
    notes: list[str] = field(default_factory=list)
    frame: pd.DataFrame = field(default_factory=pd.DataFrame)

    def column(self, name: str) -> list:
        """The values of a column, None where a row has none; lists that CSV writes out are lists."""
        values = [row.get(name) for row in self.rows]
        return list(map(list_or_text, values)) if self.kind == "CSV" else values

    def wrong(self, what: str, expected: str, mend: str) -> RelicError:
        """An error about the file."""
        return RelicError(f"{self.file} {what}", expected=expected, mend=mend)

    def refuse(self, rows: Sequence[int], what: str, expected: str, mend: str) -> None:
        """Rows that cannot be used are an error, which shows up to five of them."""
        if len(rows):
            found = f"has {count(len(rows), 'row')} {what}: {self.listed(rows)}"
            raise self.wrong(found, expected, mend)

    def note(self, rows: int, what: str) -> None:
        """What was understood of so many rows."""
        if rows:
            self.notes.append(f"{count(rows, 'row')} {what}")

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

    def named(self, what: str, *choices: Iterable[str], mend: str = "") -> str:
        """The one column that is meant, by the first names that fit any; none or several are an error."""
        matches = next(filter(None, map(self.matching, choices)), [])
        if len(matches) == 1:
            return matches[0]
        names = ", ".join(shortened(name, 30) for name in self.names[:20]) or "none"
        several = f": {' and '.join(matches[:SHOWN])} could all be meant" if matches else ""
        columns = "several columns" if matches else "no column"
        raise self.wrong(
            f"has {columns} for the {what}{several} (columns found: {names})",
            f"one column named {' or '.join(chain(*choices))}",
            "take the others out" if matches else mend or "add a first line of names",
        )

    def ids(self) -> pd.Series:
        """The image ids of the rows; rows without one are an error."""
        sure, maybe, names = self.matching(IMAGE_ID), self.matching(IMAGE_NAME), IMAGE_NAME
        if not sure and len(set(maybe)) > 1:  # as `id` and `file_name` of COCO's images
            first, *others = (image_ids(self.column(name)) for name in maybe)
            if not first[1] and all(first[0].equals(other) for other, *_ in others):
                names = maybe[:1]  # by name: the same name twice stays an error
        chosen = self.named("image id", IMAGE_ID, names)
        if sure and maybe:
            self.notes.append(f"image ids are read from {chosen}, not from {' or '.join(maybe)}")
        elif plain_name(chosen) != IMAGE_ID[0]:
            self.notes.append(f"image ids are read from {chosen}")
        ids, bad, named = image_ids(self.column(chosen))
        expected = "a whole number, or the name of a file"
        mend = "take these rows out or give them their id"
        self.refuse(bad, "without an image id that can be used", expected, mend)
        if named:
            self.notes.append(f"{count(named, 'row')}: the id is the number in a file name")
        return ids


_WHOLE = re.compile(r"([+-]?\d+)(?:\.0*)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|[+-]?inf(?:inity)?", re.ASCII | re.I)
_COCO = r"COCO_(?:train|val|test)\d{4}_"
_NAMED = re.compile(
    rf"(?:{_COCO})?(\d+)\.(?:jpe?g|png|webp|gif|bmp|tiff?)|{_COCO}(\d+)", re.ASCII | re.I
)
_ABSENT = {"", "nan", "null", "none", "<na>", "true", "false"}


def image_ids(values: list) -> tuple[pd.Series, list[int], int]:
    """Ids of a column; positions of what is none; how many are the number in a file name.

    Whole numbers, or strings as soon as one is no number. None: what is empty, true or false, a
    fraction or no scalar.

    >>> image_ids(["391895", 391895.0, "val2014/COCO_val2014_000000391895.jpg"])[0].tolist()
    [391895, 391895, 391895]
    >>> image_ids([7, "img_a12.png", "x/000000000009.jpg"])[0].tolist()
    ['7', 'img_a12.png', '9']
    """
    read = [_image_id(value) for value in values]
    bad = [i for i, image in enumerate(read) if image is None]
    if all(isinstance(image, int) for image in read if image is not None):
        ids = pd.Series([image or 0 for image in read], dtype="int64")
    else:
        ids = pd.Series([str(image) for image in read], dtype="str")
    pairs = zip(values, read, strict=True)
    texts = [text for text, image in pairs if isinstance(text, str) and isinstance(image, int)]
    return ids, bad, sum(not _WHOLE.fullmatch(text.strip()) for text in texts)


def _image_id(value) -> int | str | None:
    """The number that a value is or names, if it fits 64 bits; else a name; None for what is no id."""
    if is_image_id(value):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() < 10_000:
        value = str(value)
    if not is_clean(value) or value.strip().casefold() in _ABSENT:
        return None
    text = value.strip()
    name = text.replace("\\", "/").rpartition("/")[2].strip()
    if match := _WHOLE.fullmatch(text) or _NAMED.fullmatch(name):
        digits = next(filter(None, match.groups()))
        number = int(digits) if len(digits) < 4000 else digits
        return number if is_image_id(number) else str(number)
    return None if _NUMBER.fullmatch(text) else name or None


def read_table(file: str | Path, value: str = "caption") -> Table:
    """The rows of a file; in a dict id → something, `value` names the something."""
    table, content = read_values(file)
    if isinstance(content, str) and table.kind != "pickle":
        _fill_from_csv(table, content)
    else:
        table.rows = _records(table, content, value)
        wrong = [i for i, row in enumerate(table.rows) if not isinstance(row, dict)]
        what = f"of {len(table.rows):,} that are not objects"
        table.refuse(wrong, what, RECORDS, "write every row as an object with its image id")
        names = dict.fromkeys(key for row in table.rows for key in row)
        table.names = [name for name in names if isinstance(name, str)]
    if not table.rows:
        raise table.wrong("has no rows", FORMATS, AGAIN)
    return table


def read_values(file: str | Path) -> tuple[Table, object]:
    """What a file holds: of JSON and of a pickle the values, other text as it is."""
    table = Table(Path(os.path.expanduser(file)))  # Path.expanduser raises for an unknown user
    raw = _bytes_of(table)
    table.sha256 = hashlib.sha256(raw).hexdigest()
    data = _unpacked(table, raw)
    if _is_pickle(data, table.file):
        table.kind = "pickle"
        return table, plain_values(data, table.file, ROWS_INSTEAD)
    text = _text(table, data)
    return table, _of_json(table, text) if text.lstrip()[:1] in ("[", "{") else text


def _bytes_of(table: Table) -> bytes:
    file, expected = table.file, "a file that you may read"
    try:
        size = file.stat().st_size
        if not file.is_file():
            what = "is a directory" if file.is_dir() else "is not a regular file"
            raise table.wrong(what, expected, "name a file on disk")
        if size > LARGEST:
            raise table.wrong(f"has more than {LARGEST:,} bytes", *SMALLER)
        return file.read_bytes()
    except FileNotFoundError as error:
        mend = f"check the path; the directory here is {Path.cwd().name or '/'}/"
        raise table.wrong("does not exist", expected, mend) from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        denied = isinstance(error, PermissionError)
        mend = f"chmod u+r {file}" if denied else "check the path and the disk"
        found = f"{shortened(str(file), 300)[1:-1]} cannot be read: {error}"
        raise RelicError(found, expected=expected, mend=mend) from error


def _unpacked(table: Table, raw: bytes) -> bytes:
    if not raw.startswith(b"\x1f\x8b"):
        return raw
    most = min(LARGEST, max(PACKED, DENSEST * len(raw)))
    try:
        with gzip.open(io.BytesIO(raw)) as stream:
            data = stream.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        what = f"is compressed with gzip, and damaged or cut short: {error}"
        raise table.wrong(what, "a complete file", "copy or pack it again") from error
    if len(data) > most:
        raise table.wrong(f"has more than {most:,} bytes when unpacked", *SMALLER)
    return data


def _is_pickle(data: bytes, file: Path) -> bool:
    """By the first two bytes; old protocols have no mark, there the name decides."""
    if data[:1] == b"\x80" and data[1:2] <= b"\x05":
        return True
    named = {".pkl", ".pickle"} & set(file.suffixes)
    return bool(named and data.strip()) and data.lstrip()[:1] not in (b"[", b"{")


def _text(table: Table, data: bytes) -> str:
    """Text without a byte order mark; what cannot be text is refused."""
    for magic, (what, mend) in OTHERS.items():
        if data.startswith(magic):
            raise table.wrong(f"is {what}", FORMATS, mend)
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line, file = data.count(b"\n", 0, error.start) + 1, table.file
        around = shortened(data[max(0, error.start - 20) : error.start + 20])
        name = encoding.removesuffix("-sig").upper()
        what = f"is not {name}: byte {error.start}, line {line}, at {around}"
        mend = f"iconv -f LATIN1 -t UTF-8 {file} > {file.stem}.utf8{file.suffix}, if it is text"
        raise table.wrong(what, FORMATS, mend) from error
    before, nul, _ = text.partition("\0")
    if nul:
        line = before.count("\n") + 1
        what = f"holds a NUL character at position {len(before)}, line {line}"
        mend = "if it is UTF-16 without a mark: iconv -f UTF-16LE -t UTF-8; else write it again"
        raise table.wrong(what, FORMATS, mend)
    if not text.strip():
        raise table.wrong("is empty", FORMATS, AGAIN)
    return text


def _of_json(table: Table, text: str):
    """A JSON value; where several follow each other, as in JSON lines, the list of them."""
    text, values, end, line = text.rstrip(), [], 0, 1
    while end < len(text):
        begin = _SPACES.match(text, end).end()
        line += text.count("\n", end, begin)
        table.lines.append(line)
        try:
            value, end = _DECODER.raw_decode(text, begin)
        except (ValueError, RecursionError) as error:
            where, why = f"what begins in line {line}", str(error)[:200]
            if isinstance(error, json.JSONDecodeError):
                where = f"line {error.lineno}, column {error.colno}"
            elif isinstance(error, RecursionError):
                why = "it is nested too deeply"
            expected = f"{RECORDS}, or one such object a line"
            mend = f"{AGAIN}; where a value is unknown write null, not NaN"
            what = f"is not JSON, or cut short; {where}: {why}"
            raise table.wrong(what, expected, mend) from error
        line += text.count("\n", begin, end)
        values.append(value)
    if len(values) > 1:
        return values
    table.lines = []
    return values[0]


def _no_constant(name: str):
    raise ValueError(f"{name} is no JSON value")


def _object(pairs: list) -> dict:
    """A dict; the same key with two values is an error that `json` would pass over."""
    content = dict(pairs)
    if len(content) != len(pairs):
        for key, value in pairs:
            if content[key] != value:
                raise ValueError(f"{shortened(key)} is there twice in one object")
    return content


_SPACES = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_object)


def _records(table: Table, content, value: str) -> list:
    """Rows of a list of dicts, of a dict that holds such a list, or of a dict id → value."""
    if isinstance(content, list):
        return content
    if not isinstance(content, dict):
        raise table.wrong(f"holds {shortened(content)}", RECORDS, "write the rows as a list")
    keys = ", ".join(shortened(key, 30) for key in list(content)[:20])
    lists = {key: content[key] for key in WRAPPERS if isinstance(content.get(key), list)}
    wrapped = [key for key, rows in lists.items() if rows and isinstance(rows[0], dict)]
    if wrapped and (len(wrapped) == 1 or wrapped[0] == "annotations"):
        table.notes.append(f'the rows are those of "{wrapped[0]}"')
        return content[wrapped[0]]
    if any(plain_name(key) in IMAGE_ID + IMAGE_NAME for key in content if isinstance(key, str)):
        if not any(isinstance(item, dict | list) for item in content.values()):
            return [content]  # a file of JSON lines with one line
        mend = 'frame.to_json(FILE, orient="records")'
        raise table.wrong(f"holds columns, not rows: {keys}", RECORDS, mend)
    if set(content) & set(WRAPPERS):
        what = f"does not tell which of {keys} holds the rows: it is not clear, or it is empty"
        expected = f'{RECORDS}, alone or under "annotations"'
        raise table.wrong(what, expected, "write the list of rows alone")
    table.kind = "mapping"
    return [{"image_id": key, value: item} for key, item in content.items()]


def _fill_from_csv(table: Table, text: str) -> None:
    first = text.lstrip("\r\n ")[:100_000].splitlines()[0]
    counts = {mark: len(next(csv.reader([first], delimiter=mark), [])) for mark in ",;\t"}
    marks = [mark for mark, n in counts.items() if n == max(counts.values())]
    if len(marks) > 1 and counts[marks[0]] > 1:
        both = " and ".join(map(repr, marks))
        what = f"has a first line of which {both} could both be the delimiter: {shortened(first)}"
        expected = "a first line of column names between , or ; or tabs"
        raise table.wrong(what, expected, "use one delimiter")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=marks[0], strict=True)
    rows, begins = {}, 1  # by the line in which they begin
    try:
        for row in reader:
            rows[begins], begins = row, reader.line_num + 1
    except csv.Error as error:
        expected = 'a text with a delimiter, a quote or a line end in "…", quotes in it doubled'
        raise table.wrong(f"is no CSV, line {begins}: {error}", expected, WRITTEN_SO) from error
    (_, names), *filled = [(line, row) for line, row in rows.items() if row]  # no blank lines
    table.kind, table.names = "CSV", [name.strip() for name in names]
    table.lines, table.rows = [line for line, _ in filled], [row for _, row in filled]
    wrong = [i for i, row in enumerate(table.rows) if len(row) != len(names)]
    expected = f'{len(names)} values a row; a text with {marks[0]!r} in it stands in "…"'
    what = f"that do not have the {len(names)} columns of the first line"
    table.refuse(wrong, what, expected, WRITTEN_SO)
    table.rows = [dict(zip(table.names, row, strict=True)) for row in table.rows]


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
