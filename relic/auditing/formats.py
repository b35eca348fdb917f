"""From the bytes of a file to a `Table`, whichever of the formats they are in."""

import ast
import csv
import io
import json
import warnings
from pathlib import Path

from relic.auditing.files import FORMATS, SHOWN, Content, read_content, shortened
from relic.auditing.tables import IMAGE_ID, IMAGE_NAME, Table, listed_rows, plain_name
from relic.data.pickles import plain_values
from relic.errors import RelicError

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
