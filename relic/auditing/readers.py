"""The files of an audit: generated captions, labels of the images, human captions, objects, words.

Each reader gives a `Table` with its tidy `frame`. What is not unmistakable is refused with the rows in question.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from relic.auditing.tables import AGAIN, SHOWN, Table, is_clean, read_table, read_values, shortened
from relic.data.attribute import SHIPPED, Attribute, load_attribute
from relic.data.corpus import PADDING, UNKNOWN, is_text
from relic.errors import RelicError
from relic.numbers import count

GENERATED = ("caption", "pred", "prediction", "text", "generated_caption")
WRITTEN = ("caption", "text", "sentence", "raw")
LISTS = ("caption_list", "captions", "sentences")
CLASSES = ("label", "class", "gt")
HUMAN_INSTEAD = "these look like human captions: --human takes them"
LABELS_INSTEAD = "these look like labels: --labels takes them"
CAPTIONS_INSTEAD = "these look like generated captions: they are the first file of relic audit"
ABSENT = {"", "nan", "null", "<na>"}


def read_captions(file: str | Path) -> Table:
    """Generated captions as `image_id, caption`: one row an image, in file order."""
    table = read_table(file)
    ids = table.ids()
    values = table.column(_column(table, "captions", GENERATED))
    lists = [i for i, value in enumerate(values) if isinstance(value, list)]
    several = [i for i in lists if len(values[i]) > 1]
    mend = f"choose one; or, if these are reference captions, {HUMAN_INSTEAD}"
    table.refuse(several, "with several captions", "one caption an image", mend)
    table.note(len(lists), "with a list of one caption: it is taken")
    values = [next(iter(v), None) if isinstance(v, list) else v for v in values]
    return _framed(table, _once(table, _written(table, ids, values), "caption"))


def read_human(file: str | Path) -> Table:
    """Human captions as `image_id, caption_index, caption`: several rows an image, in file order."""
    table = read_table(file)
    ids = table.ids()
    lists = list(map(_texts, table.column(_column(table, "human captions", LISTS, WRITTEN))))
    at = [i for i, texts in enumerate(lists) for _ in texts]
    frame = _written(table, ids.iloc[at], [text for texts in lists for text in texts])
    frame.insert(1, "caption_index", frame.groupby("image_id").cumcount())
    if not frame["caption_index"].any():
        table.notes.append("every image has one caption: make sure that people wrote them")
    return _framed(table, frame)


def read_labels(file: str | Path, attribute: Attribute, classes: Sequence[str] = ()) -> Table:
    """Labels as `image_id, label`: 0 or 1, in file order.

    `classes` are the two values of the file, in any order, where these are not the attribute's.
    """
    table = read_table(file, value="label")
    ids = table.ids()
    name = _column(table, "labels", (attribute.field,), (attribute.name,), CLASSES)
    upstream = table.kind == "pickle" and name == attribute.field
    codes = _codes(table, table.column(name), attribute, classes, bool(classes) or upstream)
    frame = pd.DataFrame({"image_id": ids, "label": codes}).dropna().astype({"label": "int64"})
    frame = _once(table, frame, "label")
    if frame["label"].nunique() < 2:
        names = attribute.classes
        only = f"only {names[frame['label'].iloc[0]]}" if len(frame) else "none"
        mend = "give the labels of all images; --classes A,B if the classes have other names"
        what = f"has {only} of the two classes {' and '.join(names)}"
        raise table.wrong(what, "images of both classes", mend)
    return _framed(table, frame)


def read_objects(file: str | Path) -> Table:
    """Objects seen in images as `image_id, label, probability, source`; a source may be absent."""
    table = read_table(file, value="label")
    frame = pd.DataFrame({"image_id": table.ids()})
    for name, wanted in (("label", ("label", "labels")), ("probability", ("probability",))):
        values = table.column(table.named(name, wanted))
        frame[name] = pd.Series(values, dtype="object")
    sources = table.matching(("source",))
    frame["source"] = pd.Series(table.column(sources[0]) if sources else None, dtype="object")
    frame["source"] = frame["source"].where(~frame["source"].map(_is_empty), "file")
    frame["probability"] = pd.to_numeric(frame["probability"], errors="coerce")
    frame = _filled(table, frame, "label", "without a label left out", "object")
    texts = frame["label"].map(is_text) & frame["source"].map(is_text)
    bad = frame.index[~(texts & frame["probability"].between(0, 1))]
    mend = "relic gender-score objects IMAGES --out FILE makes such a file"
    table.refuse(bad, "that cannot be read", "a label and a probability from 0 to 1", mend)
    kinds = {"label": "str", "probability": "float64", "source": "str"}
    return _framed(table, frame.astype(kinds))


def read_words(file: str | Path) -> frozenset[str]:
    """Words to mask, in lower case: one or several a line; what follows a `#` does not count."""
    table, words = read_values(file)
    words = re.sub(r"#[^\r\n]*", "", words).split() if isinstance(words, str) else words
    return frozenset(word.lower() for word in _distinct(table, words))


def read_vocabulary(file: str | Path) -> tuple[str, ...]:
    """The words a captioner can say: a text of words, a JSON list, or upstream's pickled list."""
    table, words = read_values(file)
    return _distinct(table, words.split() if isinstance(words, str) else words)


def _distinct(table: Table, words) -> tuple[str, ...]:
    """Words in order, each once; what is no list of words is refused."""
    expected, mend = "a text or a JSON list of words", "write one word a line"
    if not isinstance(words, list) or not words:
        raise table.wrong("holds no words", expected, mend)
    if table.kind == "pickle" and words[:2] != [UNKNOWN, PADDING]:
        expected = f"a list that begins with {UNKNOWN}, {PADDING}"
        raise table.wrong(f"holds {shortened(words[:3])}", expected, mend)
    wrong = [word for word in words if not is_clean(word) or word.split() != [word]]
    if wrong:
        shown = ", ".join(map(shortened, wrong[:SHOWN]))
        raise table.wrong(f"holds {len(wrong)} that are no words: {shown}", expected, mend)
    return tuple(dict.fromkeys(words))


def with_classes(attribute: Attribute, classes: Sequence[str]) -> Attribute:
    """The attribute with its two classes named as `classes` says; their order does not matter."""
    names = _named(attribute, classes)[0] if classes else attribute.classes
    return attribute.model_copy(update={"classes": names})


def _named(attribute: Attribute, classes: Sequence[str]) -> tuple[tuple[str, str], dict[str, int]]:
    """Names of class 0 and 1, and the class of each value of the file.

    Values say which class they mean by name (`Male=m`), by being its name or one of its words (`man`).
    Where no words state the classes nothing hangs on which is which: the values are their names.
    """
    pairs = [str(each).partition("=") for each in classes]
    names, values = ([n.strip() for n, _, _ in pairs], [(v or n).strip() for n, _, v in pairs])
    first, second = (name.strip() for name in attribute.classes)
    if len(values) != 2 or not all(values) or values[0].casefold() == values[1].casefold():
        raise RelicError(
            f"--classes names {', '.join(values) or 'nothing'}",
            expected="two different values of the labels file, or CLASS=VALUE twice",
            mend=f"--classes {first or 'yes'}=A,{second or 'no'}=B",
        )
    words = [{name.casefold(), *attribute.class_words.get(name, ())} for name in attribute.classes]
    meant = [[i for i in (0, 1) if {name.casefold(), name.lower()} & words[i]] for name in names]
    if sorted(meant) == [[0], [1]]:
        codes = {value: code for value, (code,) in zip(values, meant, strict=True)}
        return attribute.classes, codes
    if attribute.class_words or (any(mark for _, mark, _ in pairs) and first and second):
        raise RelicError(
            f"--classes {','.join(map(str, classes))}: which is {first}, which is {second}?",
            expected="the attribute's own names, or CLASS=VALUE",
            mend=f"--classes {first}={values[0]},{second}={values[1]}, or the other way",
        )
    order = sorted(range(2), key=lambda i: names[i])
    return tuple(names[i] for i in order), {values[i]: at for at, i in enumerate(order)}


def _codes(table: Table, values: list, attribute: Attribute, classes, drop_others: bool) -> list:
    """0 or 1 for each value, None for what is left out; notes on `table` say what that was."""
    first, second = attribute.classes
    wanted = _named(attribute, classes)[1] if classes else {first: 0, second: 1}
    texts = [_text(value) for value in values]
    wrong = [i for i, text in enumerate(texts) if text is None]
    expected, mend = " or ".join(wanted), "write the class as a word"
    table.refuse(wrong, "whose label is no word", expected, mend)
    folded = {value.casefold(): code for value, code in wanted.items()}
    codes = {text: folded.get(text.casefold()) for text in dict.fromkeys(texts)}
    others = Counter(text for text in texts if codes[text] is None)
    absent = sum(others.pop(text, 0) for text in list(others) if text.casefold() in ABSENT)
    if others and not drop_others:
        raise _unknown(table, others, attribute)
    names = {text: attribute.classes[code] for text, code in codes.items() if code is not None}
    read = [f"{text} read as {name}" for text, name in names.items() if text not in (first, second)]
    table.notes += [", ".join(read)] if read else []
    table.note(others.total(), f"with another label left out: {_listed(others)}")
    table.note(absent, "without a label left out")
    return [codes[text] for text in texts]


def _text(value) -> str | None:
    """A label as text; whole numbers without their fraction; None for lists and the like."""
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    if isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 2**63):
        return str(value)
    return value.strip() if is_text(value) else None


def _unknown(table: Table, others: Counter, attribute: Attribute) -> RelicError:
    first, second = attribute.classes
    words = sum(n for text, n in others.items() if len(text.split()) > 3)
    read = {text.casefold() for text in others}
    whose = [n for n in SHIPPED if {c.casefold() for c in load_attribute(n).classes} <= read]
    if whose:
        mend = f"these are classes of {whose[0]}: --attribute {whose[0]}"
    elif words > others.total() / 2:
        mend = "these look like captions: --labels takes image ids and classes"
    elif len(others) == 2:
        a, b = sorted(text.removesuffix(".0") for text in others)
        mend = f"--classes {first}={a},{second}={b}, or the other way round"
    else:
        mend = f"--classes {first},{second} leaves the others out; {first}=A,{second}=B names words"
    what = f"has {count(others.total(), 'row')} with another label: {_listed(others)}"
    return table.wrong(what, f"{first} or {second}", mend)


def _listed(counts: Counter, most: int = 8) -> str:
    """Values with their counts, the most frequent first."""
    shown = [f"{shortened(text, 40)} ({n:,})" for text, n in counts.most_common(most)]
    return ", ".join(shown) + (f" and {len(counts) - most} more" if len(counts) > most else "")


def _column(table: Table, what: str, *choices: tuple[str, ...]) -> str:
    """The column that is meant, by the first names that fit any; else what the file looks like."""
    attributes = [load_attribute(name) for name in SHIPPED]
    labels = (*CLASSES, *(word for a in attributes for word in (a.name, a.field)))
    roles = {LISTS: HUMAN_INSTEAD, GENERATED: CAPTIONS_INSTEAD, labels: LABELS_INSTEAD}
    looks = [hint for names, hint in roles.items() if table.matching(names)]
    mend = f"{looks[0]}; else name the column {choices[0][0]}" if looks else ""
    name = table.named(what, *choices, mend=mend)
    if name.strip().casefold() != "caption" and table.kind != "mapping":
        table.notes.append(f"{what} are read from {name}")
    return name


def _texts(value) -> list:
    """The captions of a row of human captions: text, a list of texts, or of COCO's dicts."""
    items = (value or [None]) if isinstance(value, list) else [value]
    return [
        item.get("raw", item.get("caption", item)) if isinstance(item, dict) else item
        for item in items
    ]


def _written(table: Table, ids: pd.Series, captions: list) -> pd.DataFrame:
    """`image_id, caption`, by row of the file; empty ones are left out, what is no text is refused."""
    # as objects: pandas would turn captions to strings, and fail on half an emoji
    texts = pd.Series(captions, ids.index, dtype="object")
    frame = pd.DataFrame({"image_id": ids.array, "caption": texts})
    frame = _filled(table, frame, "caption", "with an empty caption left out", "caption")
    wrong = frame.index[[not is_clean(text) for text in frame["caption"]]]
    expected = "captions as strings of valid characters"
    mend = "write captions as text; half an emoji (a lone surrogate) must be taken out"
    table.refuse(wrong, "whose caption is not text", expected, mend)
    words = set(frame["caption"])
    if table.kind == "mapping" and len(words) < 4 and all(len(w.split()) < 2 for w in words):
        values = ", ".join(shortened(word, 30) for word in sorted(words))
        expected = "captions, or a column that is named so"
        raise table.wrong(f"gives one word an image: {values}", expected, LABELS_INSTEAD)
    return frame.astype({"caption": "str"})


def _filled(table: Table, frame: pd.DataFrame, column: str, note: str, what: str) -> pd.DataFrame:
    """Rows that have a value; an error if none is left."""
    empty = frame[column].map(_is_empty).astype(bool)
    if empty.all():
        found = f"has an empty {what} in all {len(table.rows):,} rows"
        raise table.wrong(found, f"a {what} a row", AGAIN)
    table.note(empty.sum(), note)
    return frame[~empty]


def _is_empty(value) -> bool:
    """None, NaN or white space."""
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def _once(table: Table, frame: pd.DataFrame, value: str) -> pd.DataFrame:
    """One row an image; the same image with another value is an error."""
    kept = frame[~frame.duplicated(["image_id", value])]
    repeated = kept["image_id"].duplicated(keep=False)
    if repeated.any():
        ids = kept["image_id"][repeated].unique()
        mend = "keep one row an image"
        if value == "caption" and 2 * len(ids) >= kept["image_id"].nunique():
            mend = f"{HUMAN_INSTEAD}; else keep one row an image"
        shown = ", ".join(shortened(i, 40) for i in ids[:SHOWN].tolist())
        rows = f"{', …' * (len(ids) > SHOWN)} ({table.listed(kept.index[repeated])})"
        what = f"has several {value}s of {count(len(ids), 'image')}: {shown}{rows}"
        raise table.wrong(what, f"one {value} an image", mend)
    again = f"left out: the same image and {value} are there already"
    table.note(len(frame) - len(kept), again)
    return kept


def _framed(table: Table, frame: pd.DataFrame) -> Table:
    """The table with its frame, without the rows that it came of."""
    table.frame, table.rows = frame.reset_index(drop=True), []
    return table
