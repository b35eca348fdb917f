"""Image ids: one value for all the ways in which a file may write one."""

import math
import re
from dataclasses import dataclass

import pandas as pd

from relic.data.rows import is_image_id, is_text

_WHOLE = re.compile(r"[+-]?\d+(?:\.0*)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|[+-]?inf(?:inity)?", re.ASCII | re.I)
_NAMED = re.compile(
    r"(?:COCO_(?:train|val|test)\d{4}_)?(\d+)\.(?:jpe?g|png|webp|gif|bmp|tiff?)|COCO_(?:train|val|test)\d{4}_(\d+)",
    re.ASCII | re.IGNORECASE,
)
_ABSENT = {"", "nan", "null", "none", "<na>", "true", "false"}


@dataclass(frozen=True, eq=False)
class Ids:
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
    known: dict = {}  # a file of human captions repeats each id five times
    read = [_cached(value, known) for value in values]
    bad = [i for i, (found, _) in enumerate(read) if found is None]
    numeric = all(isinstance(found, int) for found, _ in read if found is not None)
    if numeric:
        column = pd.Series([found or 0 for found, _ in read], dtype="int64")
    else:
        column = pd.Series([str(found) for found, _ in read], dtype="str")
    return Ids(column, bad, sum(named for _, named in read))


def same_kind(*columns: pd.Series) -> list[pd.Series]:
    """Id columns of several files, all numbers or all strings, so that they join by value."""
    if len({pd.api.types.is_integer_dtype(column) for column in columns}) == 1:
        return list(columns)
    return [column.astype("str") for column in columns]


def _cached(value, known: dict):
    if type(value) is not str:
        return _one(value)
    if value not in known:
        known[value] = _one(value)
    return known[value]


def _one(value) -> tuple[int | str | None, bool]:
    """(id or None, whether its number was taken from a file name)."""
    if isinstance(value, str) and len(value) < 19 and value.isascii() and value.isdigit():
        return int(value), False  # the plainest form, and the fastest
    if isinstance(value, bool):
        return None, False
    if isinstance(value, int):
        return (value if is_image_id(value) else _digits(value)), False
    if isinstance(value, float):
        whole = math.isfinite(value) and value.is_integer() and abs(value) < 2**53
        return (int(value) if whole else None), False
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
    short = digits.lstrip("+-").lstrip("0") or "0"
    sign = "-" if digits.startswith("-") and short != "0" else ""
    number = int(sign + short) if len(short) < 20 else None
    return number if number is not None and is_image_id(number) else sign + short


def _digits(number: int) -> str | None:
    try:
        return str(number)
    except ValueError:  # more digits than Python writes
        return None
