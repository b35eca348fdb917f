"""The files of an audit: generated captions, labels of the images, human captions.

Each reader gives `Rows`: a tidy frame, what was understood on the way, and the file's hash. What
is not unmistakable is refused with the rows in question.
"""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from relic.auditing.files import shortened
from relic.auditing.formats import parsed_list, read_table
from relic.auditing.labels import label_codes
from relic.auditing.lists import read_vocabulary, read_words
from relic.auditing.objects import read_objects
from relic.auditing.rows import HUMAN_INSTEAD, Rows, as_rows, ids_of, is_empty, once, rows_of, some
from relic.auditing.tables import Table
from relic.data.attribute import Attribute, known_attributes, load_attribute
from relic.data.rows import is_text
from relic.errors import RelicError

__all__ = ["Rows", "read_captions", "read_human", "read_labels", "read_objects", "read_vocabulary", "read_words"]  # fmt: skip

GENERATED = ("caption", "pred", "prediction", "text", "generated_caption")
WRITTEN = ("caption", "text", "sentence", "raw")
LISTS = ("caption_list", "captions", "sentences")
CLASSES = ("label", "class", "gt")
LABELS_INSTEAD = "these look like labels: --labels takes them"
CAPTIONS_INSTEAD = "these look like generated captions: they are the first file of relic audit"


def read_captions(file: str | Path | Table) -> Rows:
    """Generated captions as `image_id, caption`: one row an image, in file order."""
    table = read_table(file)
    ids = ids_of(table)
    name = _column(table, table.matching(GENERATED), "generated caption", GENERATED)
    if name.strip().casefold() != GENERATED[0]:
        table.notes.append(f"captions are read from {name}")
    frame = _written(table, _frame(ids, _single(table, table.column(name))))
    return as_rows(table, once(table, frame, "caption"))


def read_human(file: str | Path | Table) -> Rows:
    """Human captions as `image_id, caption_index, caption`: several rows an image, in file order."""
    table = read_table(file)
    ids = ids_of(table)
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
    return as_rows(table, frame)


def read_labels(
    file: str | Path | Table, attribute: Attribute, classes: Sequence[str] = ()
) -> Rows:
    """Labels as `image_id, label`: 0 or 1, in file order.

    `classes` are the two values of the file, in any order, where these are not the attribute's.
    """
    table = read_table(file, value="label")
    ids = ids_of(table)
    own = table.matching([attribute.field]) or table.matching([attribute.name])
    found = own or table.matching(CLASSES)
    name = _column(table, found, "class", (attribute.field, attribute.name, *CLASSES))
    if table.kind != "mapping":
        table.notes.append(f"labels are read from {name}")
    upstream = table.kind == "pickle" and name == attribute.field
    codes = label_codes(table, table.column(name), attribute, classes, drop_others=upstream)
    frame = pd.DataFrame({"image_id": ids, "label": codes}).dropna().astype({"label": "int64"})
    frame = once(table, frame, "label")
    if frame["label"].nunique() < 2:
        names = attribute.classes
        only = f"only {names[frame['label'].iloc[0]]}" if len(frame) else "none"
        raise RelicError(
            f"{table.file}: {only} of the two classes {' and '.join(names)} is there",
            expected="images of both classes",
            mend="give the labels of all images; --classes A,B if the classes have other names",
        )
    return as_rows(table, frame)


def _column(table: Table, found: list[str], what: str, wanted: tuple[str, ...]) -> str:
    """The column that is meant; if there is none, the error says what the file looks like."""
    about = [load_attribute(name) for name in known_attributes()]
    labels = (*CLASSES, *(word for known in about for word in (known.name, known.field)))
    roles = ((LISTS, HUMAN_INSTEAD), (GENERATED, CAPTIONS_INSTEAD), (labels, LABELS_INSTEAD))
    looks = next((hint for names, hint in roles if table.matching(names)), "")
    hint = f"{looks}; else name the column {wanted[0]}" if looks and not found else ""
    return table.only(found, what, wanted, hint)


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
            f"{table.file}: {rows_of(len(several))} with several captions: {table.listed(several)}",
            expected="one caption an image",
            mend=f"choose one; or, if these are reference captions, {HUMAN_INSTEAD}",
        )
    if lists:
        table.notes.append(f"{rows_of(len(lists))} with a list of one caption: the caption taken")
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
    empty = frame["caption"].map(is_empty)
    frame = frame[~empty.astype(bool)]
    good = [is_text(text) and "\0" not in text for text in frame["caption"]]
    if not all(good):
        wrong = [i for i, fits in zip(frame.index, good, strict=True) if not fits]
        raise RelicError(
            f"{table.file}: {rows_of(len(wrong))} whose caption is not text: {table.listed(wrong)}",
            expected="captions as strings of valid characters",
            mend="write captions as text; half an emoji (a lone surrogate) must be taken out",
        )
    if empty.any():
        table.notes.append(f"{rows_of(empty.sum())} with an empty caption left out")
    some(table, frame, "caption")
    words = set(frame["caption"])
    if (
        table.kind == "mapping"
        and len(words) < 4
        and not any(len(word.split()) > 1 for word in words)
    ):
        values = ", ".join(shortened(word, 30) for word in sorted(words))
        raise RelicError(
            f"{table.file} gives one word an image: {values}",
            expected="captions, or a column that is named so",
            mend=LABELS_INSTEAD,
        )
    return frame.astype({"caption": "str"})
