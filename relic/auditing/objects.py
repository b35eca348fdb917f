"""Objects seen in the images of an audit."""

from pathlib import Path

import pandas as pd

from relic.auditing.formats import read_table
from relic.auditing.rows import Rows, as_rows, ids_of, is_empty, rows_of, some
from relic.data.rows import is_text
from relic.errors import RelicError


def read_objects(file: str | Path) -> Rows:
    """Objects seen in images as `image_id, label, probability, source`; a source may be absent."""
    table = read_table(file, value="label")
    ids = ids_of(table)
    label = table.only(table.matching(("label", "labels")), "object", ("label",))
    sure = table.only(table.matching(("probability",)), "probability", ("probability",))
    source = table.matching(("source",))
    columns = {
        "label": table.column(label),
        "probability": [_number(value) for value in table.column(sure)],
        "source": table.column(source[0]) if source else ["file"] * len(ids),
    }
    frame = pd.DataFrame({"image_id": ids}).assign(
        **{name: pd.Series(values, dtype="object") for name, values in columns.items()}
    )
    frame["source"] = frame["source"].where(~frame["source"].map(is_empty), "file")
    empty = frame["label"].map(is_empty)
    if empty.any():
        table.notes.append(f"{rows_of(empty.sum())} without a label left out")
    frame = frame[~empty.astype(bool)]
    some(table, frame, "object")
    texts = frame["label"].map(is_text) & frame["source"].map(is_text)
    bad = ~(texts & frame["probability"].between(0, 1))
    if bad.any():
        raise RelicError(
            f"{table.file}: {rows_of(bad.sum())} cannot be read: {table.listed(frame.index[bad])}",
            expected="a label and a probability from 0 to 1",
            mend="relic gender-score objects IMAGES --out FILE makes such a file",
        )
    return as_rows(table, frame.astype({"label": "str", "probability": "float64", "source": "str"}))


def _number(value) -> float:
    """A number, also one that is written as text; NaN for anything else."""
    try:
        return float("nan" if isinstance(value, bool) else value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")
