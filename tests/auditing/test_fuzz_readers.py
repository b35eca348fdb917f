"""relic.auditing.readers on anything: rows that keep the contract, or a RelicError."""

import gzip
import io
import json
import pickle
import re

import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from relic.auditing.readers import (
    read_captions,
    read_human,
    read_labels,
    read_objects,
    read_vocabulary,
    read_words,
)
from relic.data.attribute import load_attribute
from relic.errors import RelicError

GENDER = load_attribute("gender")
COLUMNS = {
    read_captions: ["image_id", "caption"],
    read_human: ["image_id", "caption_index", "caption"],
    read_labels: ["image_id", "label"],
    read_objects: ["image_id", "label", "probability", "source"],
}
READERS = {
    "captions": read_captions,
    "human": read_human,
    "labels": lambda file: read_labels(file, GENDER),
    "classes": lambda file: read_labels(file, GENDER, ("Male=a", "Female=0")),
    "objects": read_objects,
}
ROLES = sorted(READERS)


def fuzz(examples: int):
    return settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


def read(reader, file):
    """What a reader gives, or None where it refuses the file with a message that helps."""
    try:
        return reader(file)
    except RelicError as error:
        refusal = error
    assert file.name in refusal.found
    assert refusal.expected
    assert refusal.mend
    assert len(str(refusal).encode()) < 5000
    return None


def keeps_the_contract(role: str, file):
    """Rows as promised, or None where the file is refused."""
    rows = read(READERS[role], file)
    if rows is None:
        return None
    frame = rows.frame
    reader = read_labels if role == "classes" else READERS[role]
    assert list(frame) == COLUMNS.get(reader, COLUMNS[read_labels])
    assert frame.index.equals(pd.RangeIndex(len(frame)))
    assert len(frame)
    assert not frame.isna().any(axis=None)
    ids = frame["image_id"]
    assert ids.dtype == "int64" or (
        pd.api.types.is_string_dtype(ids) and ids.str.strip().ne("").all()
    )
    if "caption" in frame:
        assert all(text.strip() and text.encode() and "\0" not in text for text in frame["caption"])
    if role == "captions":
        assert ids.is_unique
    elif role == "human":
        assert frame["caption_index"].equals(frame.groupby("image_id").cumcount())
    elif role == "objects":
        assert frame["probability"].between(0, 1).all()
    else:
        assert ids.is_unique
        assert set(frame["label"]) == {0, 1}
        assert frame["label"].dtype == "int64"
    assert all(isinstance(note, str) and note for note in rows.notes)
    assert re.fullmatch("[0-9a-f]{64}", rows.sha256)
    return rows


@fuzz(150)
@given(role=st.sampled_from(ROLES), data=st.binary(max_size=200), begin=st.sampled_from(
    [b"", b"\xff\xfe", b"\xef\xbb\xbf", b"\x1f\x8b\x08\x00", b"\x80\x04", b"[", b"{", b"image_id,caption,label\n1,"]
))  # fmt: skip
def test_any_bytes(tmp_path, role, data, begin):
    file = tmp_path / "any"
    file.write_bytes(begin + data)
    keeps_the_contract(role, file)
    for reader in (read_words, read_vocabulary):
        words = read(reader, file)
        assert words is None or all(word.split() == [word] for word in words)
        assert words is None or words


KEYS = st.sampled_from(
    ["image_id", "id", "file_name", "caption", "pred", "captions", "label", "gender", "probability",
     "annotations", "images", "source", "7", "a.png", ""]
)  # fmt: skip
IDS = st.sampled_from(
    [7, "7", 7.0, -7, "-7.5", 7.5, True, None, "", " ", "nan", "a.png", "x/7.jpg", "x/", [7], {}, 2**63, -(2**63),
     "9" * 25, 10**400, float("inf"), float("nan"), "\ud800", "a\0", "COCO_val2014_000000000007.jpg", "٧", "²", "1_0"]
)  # fmt: skip
TEXTS = st.sampled_from(["a man", "Male", "female", "a", "0", "", " ", "[]", "['x']", "[1, 'y']", "['x', 'y']", "\ud83d", "é\u2028b", "a\0b", "1" * 300])  # fmt: skip
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), IDS, TEXTS)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=3), inner, max_size=5),
    max_leaves=12,
)  # fmt: skip


@fuzz(200)
@given(role=st.sampled_from(ROLES), value=VALUES, pickled=st.booleans())
@example(role="human", value={"images": {"7": ["a"]}}, pickled=False)
@example(role="captions", value=[{"image_id": 7, "caption": "a"}, {3: 4}], pickled=True)
@example(role="captions", value="", pickled=True)
def test_any_json_value_and_pickle(tmp_path, role, value, pickled):
    file = tmp_path / "any"
    file.write_bytes(pickle.dumps(value) if pickled else json.dumps(value).encode())
    keeps_the_contract(role, file)


DROPPED = "dropped"  # in place of a value: the key goes, too
RECORD = st.fixed_dictionaries(
    {
        "image_id": st.integers(1, 10**6),
        "caption": st.sampled_from(["a man, a dog", 'she says "no"', "a\nb", "é"]),
        "label": st.sampled_from(["Male", "Female", "a", "0"]),
        "probability": st.sampled_from([0, 1, 0.5, "0.5"]),
    },
    optional={"captions": st.lists(TEXTS, max_size=2), "id": IDS, "source": TEXTS},
)
CHANGES = st.dictionaries(
    st.sampled_from(["image_id", "caption", "label", "probability", "gender"]),
    st.just(DROPPED) | VALUES,
    max_size=2,
)


def coated(data: bytes, coats: list[str]) -> bytes:
    """The same file as another program would have written it."""
    for coat in coats:
        if coat == "mark":
            data = b"\xef\xbb\xbf" + data
        elif coat == "windows":
            data = data.replace(b"\n", b"\r\n")
        elif coat == "gzip":
            data = gzip.compress(data, 1)
        elif coat == "cut":
            data = data[: len(data) * 2 // 3]
    return data


@fuzz(250)
@given(
    role=st.sampled_from(ROLES),
    records=st.lists(RECORD, min_size=1, max_size=6),
    form=st.sampled_from(["json", "lines", "csv", "tsv", "wrapped", "pickle"]),
    changes=CHANGES,
    as_names=st.booleans(),
    coats=st.lists(st.sampled_from(["mark", "windows", "gzip", "cut"]), max_size=1),
)
def test_mutated_records(tmp_path, role, records, form, changes, as_names, coats):
    if as_names:
        for record in records:
            record["image_id"] = f"val2014/COCO_val2014_{record['image_id']:012}.jpg"
    records[-1].update(changes)
    records = [{k: v for k, v in record.items() if v != DROPPED} for record in records]
    if form in ("csv", "tsv"):
        stream = io.StringIO()
        frame = pd.DataFrame(records, dtype="object")
        frame.to_csv(stream, index=False, sep="," if form == "csv" else "\t")
        data = stream.getvalue().encode("utf-8", "surrogatepass")
    elif form == "pickle":
        data = pickle.dumps(records)
    elif form == "lines":
        data = "\n".join(map(json.dumps, records)).encode()
    else:
        data = json.dumps({"annotations": records} if form == "wrapped" else records).encode()
    file = tmp_path / "mutated"
    file.write_bytes(coated(data, coats))
    keeps_the_contract(role, file)


CAPTION = st.text(  # pandas writes a lone \\r without quotes: then no reader can tell
    st.characters(blacklist_categories=("Cs",), blacklist_characters="\0\r"),
    min_size=1,
    max_size=30,
).filter(lambda text: text.strip() and not text.startswith("["))
NUMBERS = st.integers(0, 10**12)
NAMES = st.integers(0, 10**6).map("img_{:x}.png".format)


@st.composite
def tables(draw):
    """Captions and labels of a few images, in which both classes are."""
    kind = draw(st.sampled_from([NUMBERS, NAMES]))
    ids = draw(st.lists(kind, min_size=2, max_size=8, unique=True))
    captions = draw(st.lists(CAPTION, min_size=len(ids), max_size=len(ids)))
    labels = [
        0,
        1,
        *draw(st.lists(st.integers(0, 1), min_size=len(ids) - 2, max_size=len(ids) - 2)),
    ]
    return pd.DataFrame({"image_id": ids, "caption": captions, "label": labels})


def as_bytes(frame: pd.DataFrame, form: str) -> bytes:
    records = frame.to_dict("records")
    if form in (",", ";", "\t"):
        return frame.to_csv(index=False, sep=form, lineterminator="\n").encode()
    if form == "utf-16":
        return json.dumps(records, ensure_ascii=False).encode("utf-16")
    if form == "lines":
        return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records).encode()
    if form == "wrapped":
        return json.dumps({"annotations": records}).encode()
    return pickle.dumps(records) if form == "pickle" else json.dumps(records).encode()


@fuzz(100)
@given(
    frame=tables(),
    form=st.sampled_from([",", ";", "\t", "utf-16", "lines", "wrapped", "pickle", "json"]),
    packed=st.booleans(),
)
def test_a_table_reads_back_equal(tmp_path, frame, form, packed):
    frame = frame.assign(label=[GENDER.classes[label] for label in frame["label"]])
    file = tmp_path / "table"
    data = as_bytes(frame, form)
    file.write_bytes(gzip.compress(data, 1) if packed else data)
    captions = keeps_the_contract("captions", file)
    assert captions is not None, READERS["captions"](file)
    assert captions.frame.to_dict("list") == frame[["image_id", "caption"]].to_dict("list")
    labels = keeps_the_contract("labels", file)
    assert [GENDER.classes[label] for label in labels.frame["label"]] == frame["label"].tolist()
    human = keeps_the_contract("human", file)
    assert human.frame["caption"].tolist() == frame["caption"].tolist()


@fuzz(60)
@given(
    images=st.dictionaries(NUMBERS, st.lists(CAPTION.map("a {}".format), min_size=1, max_size=4), min_size=1, max_size=4),
    form=st.sampled_from(["dict", "lists", "annotations", "csv", "pickle"]),
)  # fmt: skip
def test_human_captions_read_back_equal(tmp_path, images, form):
    pairs = [(i, text) for i, texts in images.items() for text in texts]
    lists = [{"img_id": i, "caption_list": texts} for i, texts in images.items()]
    flat = pd.DataFrame(pairs, columns=["image_id", "caption"])
    data = {
        "dict": lambda: json.dumps(images).encode(),
        "lists": lambda: json.dumps(lists).encode(),
        "annotations": lambda: json.dumps({"annotations": flat.to_dict("records")}).encode(),
        "csv": lambda: pd.DataFrame(lists).to_csv(index=False).encode(),
        "pickle": lambda: pickle.dumps(lists),
    }[form]()
    file = tmp_path / "human"
    file.write_bytes(data)
    rows = keeps_the_contract("human", file)
    assert list(zip(rows.frame["image_id"], rows.frame["caption"], strict=True)) == pairs


@pytest.mark.parametrize("role", ROLES)
def test_a_file_is_read_the_same_twice(tmp_path, role):
    file = tmp_path / "same"
    file.write_text(
        "image_id,caption,label,probability\n1,a man,Male,1\n2,she,Female,0\n3,0,0,1\n4,a,a,1\n"
    )
    first, second = (keeps_the_contract(role, file) for _ in range(2))
    assert (first is None) == (second is None)
    if first:
        pd.testing.assert_frame_equal(first.frame, second.frame)
        assert first.notes == second.notes
