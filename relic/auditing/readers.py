"""The files of an audit: generated captions, labels of the images, human captions.

Each reader gives `Rows`: a tidy frame, what was understood on the way, and the file's hash. What
is not unmistakable is refused with the rows in question.
"""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from relic.attribute import Attribute, known_attributes, load_attribute
from relic.auditing.files import SHOWN, shortened
from relic.auditing.formats import parsed_list, read_table
from relic.auditing.ids import image_ids
from relic.auditing.labels import label_codes
from relic.auditing.lists import read_vocabulary, read_words
from relic.auditing.tables import Table
from relic.data.rows import is_text
from relic.errors import RelicError

__all__ = ["Rows", "read_captions", "read_human", "read_labels", "read_objects", "read_vocabulary", "read_words"]  # fmt: skip

GENERATED = ("caption", "pred", "prediction", "text", "generated_caption")
WRITTEN = ("caption", "text", "sentence", "raw")
LISTS = ("caption_list", "captions", "sentences")
CLASSES = ("label", "class", "gt")
HUMAN_INSTEAD = "these look like human captions: --human takes them"
LABELS_INSTEAD = "these look like labels: --labels takes them"
CAPTIONS_INSTEAD = "these look like generated captions: they are the first file of relic audit"


@dataclass(frozen=True, eq=False)
class Rows:
    """What a file holds: `frame`, with `notes` on how it was understood."""

    frame: pd.DataFrame
    notes: list[str]
    file: Path
    sha256: str  # of the bytes on disk


def read_captions(file: str | Path) -> Rows:
    """Generated captions as `image_id, caption`: one row an image, in file order."""
    table = read_table(file)
    ids = _ids(table)
    name = _column(table, table.matching(GENERATED), "generated caption", GENERATED)
    if name.strip().casefold() != GENERATED[0]:
        table.notes.append(f"captions are read from {name}")
    captions = _single(table, table.column(name))
    frame = _written(table, _frame(ids, captions))
    if table.kind == "mapping" and len(set(captions)) < 4 and not any(" " in c for c in captions if c):  # fmt: skip
        values = ", ".join(shortened(text, 30) for text in frame["caption"].unique())
        raise RelicError(f"{table.file} gives one word an image: {values}", expected="captions", mend=LABELS_INSTEAD)  # fmt: skip
    return _rows(table, _once(table, frame, "caption"))


def read_human(file: str | Path) -> Rows:
    """Human captions as `image_id, caption_index, caption`: several rows an image, in file order."""
    table = read_table(file)
    ids = _ids(table)
    found = table.matching(LISTS) or table.matching(WRITTEN)
    name = _column(table, found, "human captions", LISTS + WRITTEN)
    if name.strip().casefold() != WRITTEN[0]:
        table.notes.append(f"human captions are read from {name}")
    lists = [_texts(value, table.kind == "CSV") for value in table.column(name)]
    at = [i for i, texts in enumerate(lists) for _ in texts]
    frame = _frame(ids.iloc[at].array, [text for texts in lists for text in texts])
    frame = _written(table, frame.set_axis(at))
    frame.insert(1, "caption_index", frame.groupby("image_id").cumcount())
    if not frame["caption_index"].any():
        table.notes.append("every image has one caption: make sure that people wrote them")
    return _rows(table, frame)


def read_labels(
    file: str | Path, attribute: Attribute, classes: tuple[str, str] | None = None
) -> Rows:
    """Labels as `image_id, label`: 0 or 1, in file order.

    `classes` are the two values of the file, class 0 first, where these are not the attribute's.
    """
    table = read_table(file, value="label")
    ids = _ids(table)
    own = table.matching([attribute.field]) or table.matching([attribute.name])
    found = own or table.matching(CLASSES)
    name = _column(table, found, "class", (attribute.field, attribute.name, *CLASSES))
    if table.kind != "mapping":
        table.notes.append(f"labels are read from {name}")
    upstream = table.kind == "pickle" and name == attribute.field
    codes = label_codes(table, table.column(name), attribute, classes, drop_others=upstream)
    frame = pd.DataFrame({"image_id": ids, "label": codes}).dropna().astype({"label": "int64"})
    frame = _once(table, frame, "label")
    if frame["label"].nunique() < 2:
        names = classes or attribute.classes
        only = f"only {names[frame['label'].iloc[0]]}" if len(frame) else "none"
        raise RelicError(
            f"{table.file}: {only} of the two classes {' and '.join(names)} is there",
            expected="images of both classes",
            mend="give the labels of all images; --classes A,B if the classes have other names",
        )
    return _rows(table, frame)


def read_objects(file: str | Path) -> Rows:
    """Objects seen in images as `image_id, label, probability, source`; a source may be absent."""
    table = read_table(file, value="label")
    ids = _ids(table)
    label = table.only(table.matching(("label", "labels")), "object", ("label",))
    sure = table.only(table.matching(("probability",)), "probability", ("probability",))
    frame = pd.DataFrame({"image_id": ids, "label": table.column(label)})
    numbers = pd.Series(table.column(sure), dtype="object").where(lambda s: s.map(_is_number))
    frame["probability"] = pd.to_numeric(numbers, errors="coerce").astype("float64")
    source = table.matching(("source",))
    frame["source"] = (
        [_or(value, "file") for value in table.column(source[0])] if source else "file"
    )
    empty = frame["label"].map(_is_empty)
    if empty.any():
        table.notes.append(f"{_rows_of(empty.sum())} without a label left out")
    frame = frame[~empty]
    bad = ~(frame["label"].map(is_text) & frame["source"].map(is_text) & frame["probability"].between(0, 1))  # fmt: skip
    if bad.any():
        raise RelicError(
            f"{table.file}: {_rows_of(bad.sum())} cannot be read: {table.listed(frame.index[bad])}",
            expected="a label and a probability from 0 to 1",
            mend="relic gender-score objects IMAGES --out FILE makes such a file",
        )
    _some(table, frame, "object")
    return _rows(table, frame.astype({"label": "str", "source": "str"}))


def _column(table: Table, found: list[str], what: str, wanted: tuple[str, ...]) -> str:
    """The column that is meant; if there is none, the error says what the file looks like."""
    about = [load_attribute(name) for name in known_attributes()]
    labels = (*CLASSES, *(word for known in about for word in (known.name, known.field)))
    roles = ((LISTS, HUMAN_INSTEAD), (GENERATED, CAPTIONS_INSTEAD), (labels, LABELS_INSTEAD))
    looks = next((hint for names, hint in roles if table.matching(names)), "")
    hint = f"{looks}; else name the column {wanted[0]}" if looks and not found else ""
    return table.only(found, what, wanted, hint)


def _ids(table: Table) -> pd.Series:
    found = image_ids(table.column(table.id_column()))
    if found.bad:
        raise RelicError(
            f"{table.file}: {_rows_of(len(found.bad))} without an image id that can be used: {table.listed(found.bad)}",
            expected="a whole number, or the name of a file",
            mend="take these rows out or give them their image's id",
        )
    if found.from_names:
        table.notes.append(f"{_rows_of(found.from_names)}: the id is the number in a file name")
    return found.values


def _frame(ids, captions: list) -> pd.DataFrame:
    """Captions as they are: pandas would turn them to strings, and fail on half an emoji."""
    return pd.DataFrame({"image_id": ids, "caption": pd.Series(captions, dtype="object")})


def _single(table: Table, values: list) -> list:
    """Captions that stand in lists of one, out of their lists."""
    if table.kind == "CSV":
        values = [value if (found := parsed_list(value)) is None else found for value in values]
    lists = [i for i, value in enumerate(values) if isinstance(value, list)]
    several = [i for i in lists if len(values[i]) > 1]
    if several:
        raise RelicError(
            f"{table.file}: {_rows_of(len(several))} with several captions: {table.listed(several)}",
            expected="one caption an image",
            mend=f"choose one; or, if these are reference captions, {HUMAN_INSTEAD}",
        )
    if lists:
        table.notes.append(f"{_rows_of(len(lists))} with a list of one caption: the caption taken")
        for i in lists:
            values[i] = values[i][0] if values[i] else None
    return values


def _texts(value, from_csv: bool) -> list:
    """The captions of a row of human captions: text, a list of texts, or of COCO's dicts."""
    if from_csv:
        value = value if (found := parsed_list(value)) is None else found
    items = (value or [None]) if isinstance(value, list) else [value]
    return [_inner(item) if isinstance(item, dict) else item for item in items]


def _inner(item: dict):
    """The text of `{"raw": "…"}` or `{"caption": "…"}`; what is neither stays, to be refused."""
    return next((item[name] for name in ("raw", "caption") if name in item), item)


def _written(table: Table, frame: pd.DataFrame) -> pd.DataFrame:
    """Rows with a caption; empty ones are left out, what is no text is refused."""
    empty = frame["caption"].map(_is_empty)
    frame = frame[~empty.astype(bool)]
    good = [is_text(text) and "\0" not in text for text in frame["caption"]]
    if not all(good):
        wrong = [i for i, fits in zip(frame.index, good, strict=True) if not fits]
        raise RelicError(
            f"{table.file}: {_rows_of(len(wrong))} whose caption is not text: {table.listed(wrong)}",
            expected="captions as strings of valid characters",
            mend="write captions as text; half an emoji (a lone surrogate) must be taken out",
        )
    if empty.any():
        table.notes.append(f"{_rows_of(empty.sum())} with an empty caption left out")
    _some(table, frame, "caption")
    return frame.astype({"caption": "str"})


def _once(table: Table, frame: pd.DataFrame, value: str) -> pd.DataFrame:
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
            f"{table.file}: {len(ids):,} images have several {value}s: {shown}"
            f"{', …' if len(ids) > SHOWN else ''} ({table.listed(kept.index[repeated])})",
            expected=f"one {value} an image",
            mend=mend,
        )
    if len(kept) < len(frame):
        more = _rows_of(len(frame) - len(kept), "repeats", "repeat")
        table.notes.append(f"{more} an image with the same {value}; one kept")
    return kept


def _some(table: Table, frame: pd.DataFrame, what: str) -> None:
    if frame.empty:
        found = f"{table.file}: all {len(table.rows):,} rows have an empty {what}"
        raise RelicError(found, expected=f"a {what} a row", mend="write the file again")


def _rows(table: Table, frame: pd.DataFrame) -> Rows:
    return Rows(frame.reset_index(drop=True), table.notes, table.file, table.sha256)


def _rows_of(number: int, one: str = "", many: str = "") -> str:
    return (f"1 row {one}" if number == 1 else f"{number:,} rows {many}").rstrip()


def _is_empty(value) -> bool:
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def _or(value, default: str):
    return default if _is_empty(value) else value


def _is_number(value) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)
