"""relic.auditing.readers: each format and each mistake by example."""

import csv
import gzip
import hashlib
import io
import json
import os
import pickle
import re
from pathlib import Path

import pandas as pd
import pytest

from relic.auditing import tables
from relic.auditing.inputs import numbered
from relic.auditing.readers import (
    read_captions,
    read_human,
    read_labels,
    read_objects,
    read_vocabulary,
    read_words,
)
from relic.auditing.tables import image_ids
from relic.data.attribute import load_attribute
from relic.data.load import load_corpus
from relic.errors import RelicError

GENDER = load_attribute("gender")
ROWS = [(391895, "a man, on a bike"), (5, 'she said "hi"\nand left'), (9, "une fille à vélo")]
FRAME = pd.DataFrame(ROWS, columns=["image_id", "caption"])
RECORDS = FRAME.to_dict("records")


def table(rows, names=("image_id", "caption"), mark=",", end="\n") -> str:
    """CSV text."""
    stream = io.StringIO()
    csv.writer(stream, delimiter=mark, lineterminator=end).writerows([names, *rows])
    return stream.getvalue()


def lines(records) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


@pytest.fixture
def write(tmp_path):
    """Write bytes as they are, text as UTF-8, anything else as JSON; gives the path."""

    def written(content, name="captions.json"):
        file = tmp_path / name
        if not isinstance(content, bytes | str):
            content = json.dumps(content)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    return written


def refused(reader, file, *arguments) -> str:
    """The message of a file that must not be read: it names the file and what mends it."""
    with pytest.raises(RelicError) as caught:
        reader(file, *arguments)
    assert file.name in caught.value.found
    assert caught.value.mend, f"no mend in: {caught.value}"
    assert len(str(caught.value)) < 2000
    return str(caught.value)


def said(rows) -> str:
    return " | ".join(rows.notes)


# ---- captions: every format gives the same frame


FORMATS = {
    "results": RECORDS,
    "lines": lines(RECORDS),
    "csv": table(ROWS),
    "tsv": table(ROWS, mark="\t"),
    "semicolons": table(ROWS, mark=";"),
    "windows": table(ROWS, end="\r\n"),
    "index column": table([(i, *row) for i, row in enumerate(ROWS)], ("", "image_id", "caption")),
    "blank lines": table(ROWS) + "\n\n",
    "other case": table(ROWS, ("Image ID", " Caption ")),
    "dict": {str(i): text for i, text in ROWS},
    "dict of names": {f"COCO_val2014_{i:012}.jpg": text for i, text in ROWS},
    "annotations": {"info": {}, "images": [{"id": 1}], "annotations": [{"id": 0, **r} for r in RECORDS]},
    "images": {"images": [{"cocoid": i, "filename": "x", "caption": text} for i, text in ROWS]},
    "id and name agree": {"images": [{"id": i, "file_name": f"{i:012}.jpg", "caption": t} for i, t in ROWS]},
    "pickle": pickle.dumps([{"img_id": i, "pred": text} for i, text in ROWS]),
    "old pickle": pickle.dumps(dict(ROWS), protocol=0),
    "strings": [{"id": str(i), "text": text} for i, text in ROWS],
    "floats": [{"image": float(i), "prediction": text} for i, text in ROWS],
    "names": [{"file_name": f"val2014/COCO_val2014_{i:012}.jpg", "caption": t} for i, t in ROWS],
    "lists of one": [{"image_id": i, "caption": [text]} for i, text in ROWS],
    "lists of one in csv": table([(i, str([text])) for i, text in ROWS]),
}  # fmt: skip


@pytest.mark.parametrize("content", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_captions_of_every_format(write, content, pack, request):
    name = "captions.pkl" if "old pickle" in request.node.callspec.id else "captions.data"
    content = content if isinstance(content, str | bytes) else json.dumps(content)
    data = pack(content if isinstance(content, bytes) else content.encode())
    rows = read_captions(write(data, name))
    pd.testing.assert_frame_equal(rows.frame, FRAME)
    assert rows.sha256 == hashlib.sha256(data).hexdigest()
    assert rows.file.name == name


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("content", [table(ROWS), json.dumps(RECORDS), lines(RECORDS)])
def test_marks_of_an_encoding(write, encoding, content):
    pd.testing.assert_frame_equal(read_captions(write(content.encode(encoding))).frame, FRAME)


def test_one_line_of_json(write):
    assert read_captions(write('{"image_id": 7, "caption": "a dog"}')).frame["image_id"].item() == 7


@pytest.mark.parametrize(
    ("content", "note"),
    [
        (FORMATS["strings"], "image ids are read from id | captions are read from text"),
        (FORMATS["names"], "3 rows: the id is the number in a file name"),
        (FORMATS["annotations"], 'the rows are those of "annotations"'),
        (FORMATS["annotations"], "image ids are read from image_id, not from id"),
        (FORMATS["lists of one"], "3 rows with a list of one caption"),
        (RECORDS + RECORDS[:2], "2 rows left out: the same image and caption are there already"),
        ([*RECORDS, {"image_id": 8, "caption": " \n"}], "1 row with an empty caption left out"),
        ([*RECORDS, {"image_id": 8, "caption": None}, {"image_id": 10}], "2 rows with an empty"),
    ],
)
def test_what_was_understood_is_said(write, content, note):
    rows = read_captions(write(content))
    pd.testing.assert_frame_equal(rows.frame, FRAME)
    assert note in said(rows)


def test_plain_captions_need_no_note(write):
    assert read_captions(write(RECORDS)).notes == []


BAD_CAPTIONS = {
    "no caption column": ([{"image_id": 1, "words": "a"}], "no column.*'image_id', 'words'"),
    "no id column": ([{"picture": 1, "caption": "a"}], "no column for the image id"),
    "two caption columns": ([{"id": 1, "caption": "a", "pred": "b"}], "caption and pred could all"),
    "two id columns": ([{"image_id": 1, "img_id": 2, "caption": "b"}], "several columns"),
    "id and name differ": ([{"id": 1, "file_name": "7.jpg", "caption": "b"}], "several columns"),
    "id twice": ("id,id,caption\n1,2,a\n", "several columns for the image id"),
    "columns twice": ("image_id,caption,caption\n1,a,b\n", "several columns"),
    "no header": ("391895,a man\n5,a dog\n", "no column.*first line of names"),
    "ragged": ("image_id,caption\n1,a man, on a bike\n2\n", "2 rows that do not have the 2 col.*line 2: "),
    "two delimiters": ("image_id;caption,x\n1;a,b\n", "could both be the delimiter"),
    "open quote": ('image_id,caption\n1,"a man\n2,b\n', "line 2: unexpected end"),
    "other values": ([{"image_id": 1, "caption": "a"}, {"image_id": 1, "caption": "b"}], "several captions of 1 image: 1 .*row 1: .*row 2: "),
    "many captions": ([{"image_id": i // 5, "caption": str(i)} for i in range(50)], "0, 1, 2, 3, 4, ….*look like human captions: --human"),
    "caption lists": ([{"image_id": 1, "caption_list": ["a", "b"]}], "look like human captions"),
    "several in a list": ([{"image_id": 1, "caption": ["a", "b"]}], "choose one.*--human"),
    "coco sentences": ({"images": [{"cocoid": 1, "sentences": [{"raw": "a"}]}]}, "--human"),
    "labels": ("image_id,gender\n1,Male\n", "look like labels: --labels"),
    "dict of labels": ({"1": "Male", "2": "Female"}, "look like labels: --labels"),
    "numbers": ([{"image_id": 1, "caption": 3}], "not text: row 1"),
    "dict caption": ([{"image_id": 1, "caption": {"a": 1}}], "not text"),
    "list in a list": ([{"image_id": 1, "caption": [["a"]]}], "not text"),
    "lone surrogate": ('[{"image_id": 1, "caption": "\\ud83d"}]', "lone surrogate"),
    "nul escape": ('[{"image_id": 1, "caption": "a\\u0000b"}]', "not text"),
    "all empty": ([{"image_id": 1, "caption": ""}, {"image_id": 2}], "no column|all 2 rows"),
    "bool id": ([{"image_id": True, "caption": "a"}], "1 row without an image id.*row 1: "),
    "null id": ([*RECORDS, {"image_id": None, "caption": "a"}], "row 4"),
    "no id": ([*RECORDS, {"caption": "a"}], "row 4"),
    "fraction": ("image_id,caption\n-1.5,a\nnan,b\n,c\n1e5,d\nTrue,e\n7,f\n8.5,f\n", "6 rows without.*line 2: .*line 6.*and 1 more"),
    "list id": ([{"image_id": [1], "caption": "a"}], "without an image id"),
    "infinite id": ('[{"image_id": 1e999, "caption": "a"}]', "without an image id"),
    "cut short": ('[{"image_id": 1, "caption": "a m', "not JSON, or cut short; line 1, column 29"),
    "line cut short": ('{"image_id": 1, "caption": "a"}\n{"image_id": 2, "ca', "line 2"),
    "NaN": ('[{"image_id": NaN, "caption": "a"}]', "NaN is no JSON value.*write null"),
    "Infinity": ('[{"image_id": -Infinity, "caption": "a"}]', "-Infinity is no JSON value"),
    "deep": ("[" * 100_000, "nested too deeply"),
    "long number": ('[{"image_id": ' + "1" * 5000 + ', "caption": "a"}]', "not JSON"),
    "key twice": ('{"1": "a man", "1": "a dog"}', "'1' is there twice"),
    "columns": ({"image_id": {"0": 1}, "caption": {"0": "a"}}, "columns, not rows.*orient"),
    "strings": (["a man", "a dog"], "2 rows of 2 that are not objects: row 1: 'a man'"),
    "scalar": ("3", "no rows"),
    "no rows": ([], "no rows"),
    "no rows in csv": ("image_id,caption\n", "no rows"),
    "no annotations": ({"annotations": [], "images": []}, "not clear, or it is empty"),
    "pickled tuple": (pickle.dumps([(1, "a")]), "to_csv"),
    "pickled class": (pickle.dumps(io.BytesIO), "refused, it could run code.*to_csv"),
    "empty": (b"", "is empty"),
    "blank": (b" \r\n\t", "is empty"),
    "only a mark": (b"\xef\xbb\xbf", "is empty"),
    "nul bytes": (b"image_id,caption\n1,a\0b\n", "NUL character at position 20, line 2"),
    "utf-16 without mark": ("image_id,caption".encode("utf-16-le"), "NUL.*UTF-16LE"),
    "half utf-16": (b"\xff\xfe\x00\xd8", "not UTF-16"),
    "latin-1": ("image_id,caption\n1,à vélo\n".encode("latin-1"), "byte 19, line 2.*iconv -f LATIN1"),
    "zip": (b"PK\x03\x04 and so on", "zip archive.*unzip"),
    "parquet": (b"PAR1 and so on", "parquet"),
    "bad gzip": (gzip.compress(b"[]" * 99)[:-9], "gzip, and damaged"),
    "other gzip": (b"\x1f\x8b\xff\xff\xff", "gzip, and damaged"),
    "empty gzip": (gzip.compress(b""), "is empty"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "message"), BAD_CAPTIONS.values(), ids=BAD_CAPTIONS)
def test_refused_captions(write, content, message):
    error = refused(read_captions, write(content))
    assert re.search(message, error, re.DOTALL), error


def test_files_that_are_none(tmp_path, monkeypatch, unreadable):
    assert "is a directory" in refused(read_captions, tmp_path)
    assert "does not exist" in refused(read_captions, tmp_path / "absent.json")
    assert "does not exist" in refused(read_captions, Path("~nobody-of-this-name/absent.json"))
    assert "cannot be read" in refused(read_captions, unreadable)
    assert "not a regular file" in refused(read_captions, Path(os.devnull))
    file = tmp_path / "large.json.gz"
    file.write_bytes(gzip.compress(b" " * 1000 + b"[]"))
    monkeypatch.setattr(tables, "LARGEST", 500)
    assert "more than 500 bytes" in refused(read_captions, file)


def test_a_file_that_may_not_be_read(write, monkeypatch):
    def denied(file):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", denied)  # root may read whatever its mode is
    assert "chmod u+r" in refused(read_captions, write(RECORDS))


def test_a_pickle_that_names_code_runs_nothing(tmp_path, write):
    class Runs:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "ran"),)

    data = pickle.dumps([{"img_id": 1, "pred": Runs()}])
    for content in (data, gzip.compress(data)):
        for name in ("a.pkl", "a.json", "a.csv"):
            refused(read_captions, write(content, name))
    assert not (tmp_path / "ran").exists()


# ---- ids


@pytest.mark.parametrize(
    "value",
    [391895, "391895", " 391895 ", "000000391895", 391895.0, "391895.0", "391895.jpg",
     "COCO_val2014_000000391895.jpg", "000000391895.png", "COCO_val2014_000000391895",
     "val2014/COCO_val2014_000000391895.jpg", "C:\\coco\\coco_train2014_000000391895.JPEG"],
)  # fmt: skip
def test_one_image_however_it_is_written(value):
    ids, bad, _ = image_ids([value])
    assert ids.tolist() == [391895]
    assert ids.dtype == "int64"
    assert not bad


def test_ids_that_are_no_numbers_stay_strings():
    ids, bad, from_names = image_ids(["x/a12.png", "COCO_val2014_000000000007.jpg", 8, 2**70, "1" * 30])  # fmt: skip
    assert ids.tolist() == ["a12.png", "7", "8", str(2**70), "1" * 30]
    assert pd.api.types.is_string_dtype(ids)
    assert (bad, from_names) == ([], 1)


def test_columns_of_two_kinds_join_by_value():
    columns = {"a": image_ids([7, 8])[0], "b": image_ids(["7", "b.png"])[0]}
    frames = numbered({name: ids.to_frame("image_id") for name, ids in columns.items()})
    assert frames["a"]["image_id"].isin(frames["b"]["image_id"]).tolist() == [True, False]
    assert {name: frame["image_id"].tolist() for name, frame in frames.items()} == {
        "a": [0, 1],
        "b": [0, 2],
    }
    numbers = {"a": pd.DataFrame({"image_id": [7]}), "b": pd.DataFrame({"image_id": [8]})}
    assert numbered(numbers) == numbers


# ---- human captions

HUMAN = pd.DataFrame(
    [(5, 0, "a man"), (5, 1, "he rides"), (3, 0, "a dog"), (5, 2, "a man")],
    columns=["image_id", "caption_index", "caption"],
)
FLAT = HUMAN.drop(columns="caption_index")
LISTED = [{"img_id": 5, "caption_list": ["a man", "he rides", "a man"]}, {"img_id": 3, "caption_list": ["a dog"]}]  # fmt: skip
BY_IMAGE = {row["img_id"]: row["caption_list"] for row in LISTED}


@pytest.mark.parametrize(
    ("content", "grouped"),
    [
        ({"annotations": FLAT.to_dict("records"), "images": [{"id": 5}]}, False),
        (FLAT.to_dict("records"), False),
        (lines(FLAT.to_dict("records")), False),
        (FLAT.to_csv(index=False), False),
        (BY_IMAGE, True),
        (LISTED, True),
        (pickle.dumps(LISTED), True),
        (table([(r["img_id"], str(r["caption_list"])) for r in LISTED], ("id", "captions")), True),
        (table([(r["img_id"], json.dumps(r["caption_list"])) for r in LISTED], ("id", "captions")), True),
        ({"images": [{"cocoid": i, "sentences": [{"raw": t} for t in ts]} for i, ts in BY_IMAGE.items()]}, True),
        ({i: [{"caption": t} for t in texts] for i, texts in BY_IMAGE.items()}, True),
    ],
)  # fmt: skip
def test_human_captions_of_every_format(write, content, grouped):
    expected = HUMAN.sort_values("image_id", ascending=False, kind="stable") if grouped else HUMAN
    rows = read_human(write(content))
    pd.testing.assert_frame_equal(rows.frame, expected.reset_index(drop=True))


def test_empty_human_captions_are_left_out(write):
    rows = read_human(write({"5": ["a man", " ", "he rides"], "3": [], "4": ["a dog"]}))
    assert rows.frame["caption_index"].tolist() == [0, 1, 0]
    assert "2 rows with an empty caption left out" in said(rows)


def test_human_captions_one_an_image_are_doubted(write):
    assert "make sure that people wrote them" in said(read_human(write(RECORDS)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([{"img_id": 1, "pred": "a"}], "look like generated captions"),
        ("image_id,gender\n1,Male\n", "look like labels"),
        ({"5": ["a", 3]}, "not text: row 1"),
        ({"5": [{"tokens": ["a"]}]}, "not text"),
        ({"5": [[], "a"]}, "not text"),
        ({"5": []}, "all 1 rows"),
        ({"1": "Male", "2": "Female"}, "look like labels"),
    ],
)
def test_refused_human_captions(write, content, message):
    assert message in refused(read_human, write(content))


# ---- labels

LABELS = pd.DataFrame({"image_id": [5, 3, 9], "label": [1, 0, 0]})
NAMES = [(5, "Female"), (3, "Male"), (9, "Male")]


@pytest.mark.parametrize(
    "content",
    [
        table(NAMES, ("image_id", "bb_gender")),
        table(NAMES, ("img_id", "Gender"), mark=";"),
        table(NAMES, ("id", "label"), mark="\t"),
        [{"id": i, "class": name} for i, name in NAMES],
        lines({"image": i, "gt": name} for i, name in NAMES),
        {str(i): name for i, name in NAMES},
        {str(i): f" {name.upper()} " for i, name in NAMES},
        pickle.dumps([{"img_id": i, "bb_gender": name, "gender": "x"} for i, name in [*NAMES, (1, "Unsure")]]),
        table([*NAMES, (7, ""), (8, "nan")], ("id", "gender")),
        [{"id": i, "gender": name} for i, name in [*NAMES, (7, None), *NAMES]],
    ],
)  # fmt: skip
def test_labels_of_every_format(write, content):
    pd.testing.assert_frame_equal(read_labels(write(content), GENDER).frame, LABELS)


@pytest.mark.parametrize(
    ("content", "classes", "note"),
    [
        ({"5": "FEMALE", "3": "Male", "9": "male"}, (), "FEMALE read as Female, male read as Male"),
        ({"5": "Female", "3": "Male", "9": "Male", "7": None}, (), "1 row without a label left"),
        (table([*NAMES, NAMES[0]], ("id", "label")), (), "1 row left out: the same image and label"),
        ({"5": "woman", "3": "man", "9": "man", "4": "both"}, ("man", "woman"), "1 row with another label left out: 'both' (1)"),
        ({"5": "Female", "3": "Male", "9": "male", "4": "Unsure"}, ("Male", "Female"), "'Unsure' (1)"),
        ([{"id": 5, "gt": 1}, {"id": 3, "gt": 0}, {"id": 9, "gt": 0.0}], ("Male=0", "Female=1"), "1 read as Female"),
        ([{"id": 5, "gt": 0}, {"id": 3, "gt": 1}, {"id": 9, "gt": 1}], ("Female=0", "Male=1"), "0 read as Female"),
        ({"5": "Female", "3": "Male", "9": "Male"}, ("Female", "Male"), ""),
    ],
)  # fmt: skip
def test_what_was_understood_of_labels(write, content, classes, note):
    rows = read_labels(write(content), GENDER, classes)
    pd.testing.assert_frame_equal(rows.frame, LABELS)
    assert note in said(rows)


def test_the_field_goes_before_the_name(write):
    rows = [{"img_id": 1, "bb_skin": "Light", "race": "x"}, {"img_id": 2, "bb_skin": "Dark"}]
    assert read_labels(write(rows), load_attribute("race")).frame["label"].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("content", "classes", "message"),
    [
        ({"1": "Male", "2": "Female", "3": "Unsure"}, (), r"'Unsure' \(1\).*--classes Male,Female leaves the others out"),
        ({"1": "man", "2": "woman", "3": "man"}, (), r"'man' \(2\), 'woman' \(1\).*--classes Male=man,Female=woman"),
        ({"1": 0, "2": 1}, (), "--classes Male=0,Female=1, or the other way"),
        ("id,gender\n1,0.0\n2,1.0\n", (), "--classes Male=0,Female=1"),
        ({"1": True, "2": False}, (), "--classes Male=False,Female=True"),
        ({"1": "Male", "2": ["Female"]}, (), "no word: row 2"),
        ({"1": "Male", "2": 10**30}, (), "no word"),
        ({"1": "Male", "2": "Male"}, (), "only Male"),
        ({"1": "Male", "2": "Female"}, ("man", "woman"), "none of the two"),
        ({"1": "", "2": None}, (), "none of the two"),
        ([{"id": 1, "gt": "Male"}, {"id": "1", "gt": "Female"}], (), "several labels of 1 image: 1"),
        ([{"id": 1, "label": "Male", "gt": "Male"}], (), "several columns"),
        (RECORDS, (), "look like generated captions"),
        ({"1": "a man on a bike", "2": "a dog in a car"}, (), "look like captions"),
        ([{"image_id": 1, "caption_list": ["a"]}], (), "look like human captions"),
    ],
)  # fmt: skip
def test_refused_labels(write, content, classes, message):
    error = refused(read_labels, write(content), GENDER, classes)
    assert re.search(message, error, re.DOTALL), error


@pytest.mark.parametrize(
    "classes", [("a", "a"), ("a", ""), ("a", "b", "c"), ("a", "b"), ("Male=a", "b")]
)
def test_classes_must_be_two(write, classes):
    with pytest.raises(RelicError, match="--classes"):
        read_labels(write({"1": "a", "2": "b"}), GENDER, classes)


# ---- objects and words


def test_objects(write):
    content = "image_id,label,probability\n000000000007.jpg,cowboy hat,0.5\n8,dog,1\n9,,\n"
    rows = read_objects(write(content, "objects.csv"))
    assert rows.frame.to_dict("list") == {
        "image_id": [7, 8], "label": ["cowboy hat", "dog"], "probability": [0.5, 1.0], "source": ["file"] * 2,
    }  # fmt: skip
    assert "1 row without a label left out" in said(rows)
    sourced = "image_id,label,probability,source\n7,hat,0.5,clip\n7,hat,0.5,\n"
    assert read_objects(write(sourced)).frame["source"].tolist() == ["clip", "file"]


@pytest.mark.parametrize("row", ["7,hat,1.5", "7,hat,", "7,hat,x", "7,hat,nan", "7,hat,-0.1", ",hat,1", "7,,"])  # fmt: skip
def test_refused_objects(write, row):
    error = refused(read_objects, write(f"image_id,label,probability\n{row}\n", "o.csv"))
    assert "line 2" in error or "an empty object in all 1 rows" in error


def test_words(write):
    assert read_words(write("# mine\nMan men\r\n  woman # and so on\n\n")) == {
        "man",
        "men",
        "woman",
    }
    assert "no words" in refused(read_words, write("# nothing\n"))
    refused(read_words, write(pickle.dumps(["man"])))


def test_vocabulary(write):
    words = ("<unk>", "<pad>", "a", "dog", "#")
    for content in ("<unk> <pad>\na dog # a\n", list(words), pickle.dumps(list(words))):
        assert read_vocabulary(write(content)) == words
    bad = [b"[", ["a", 1], ["a b"], [], [""], pickle.dumps(["a"]), pickle.dumps({"a": 1})]
    for content in bad:
        refused(read_vocabulary, write(content))


# ---- upstream's files


def test_upstream_files_read_as_load_real_reads_them(real_data):
    corpus = load_corpus("gender", "real")
    file = real_data / "bias_data/Show-Attend-Tell/gender_val_sat_cap_mw_entries.pkl"
    if not file.exists():
        pytest.skip(f"RELIC_DATA has no {file.name}")
    labels = read_labels(file, GENDER).frame.set_index("image_id")["label"]
    assert labels.sort_index().to_dict() == corpus.labels.loc[labels.index].sort_index().to_dict()
    generated = corpus.generated.query("captioner == 'sat' and caption_set == 'standard'")
    expected = generated[["image_id", "caption"]].reset_index(drop=True)
    assert read_captions(file).frame.to_dict("list") == expected.to_dict("list")


def test_upstream_race_labels_leave_out_what_load_real_does(real_data):
    file = real_data / "bias_data/UpDn/race_val_updn_cap_entries.pkl"
    if not file.exists():
        pytest.skip(f"RELIC_DATA has no {file.name}")
    corpus = load_corpus("race", "real")
    rows = read_labels(file, load_attribute("race"))
    assert (
        rows.frame.set_index("image_id")["label"].sort_index().to_dict() == corpus.labels.to_dict()
    )
    assert "Unsure" in said(rows)


@pytest.mark.parametrize("attribute", ["gender", "age"])
def test_real_human_captions_read_as_load_real_reads_them(real_data, attribute):
    human = load_corpus(attribute, "real").human
    for source, expected in human.groupby("source"):
        frame = read_human(real_data / source).frame
        frame = frame[frame["caption_index"] < 5].set_index(["image_id", "caption_index"])
        expected = expected.set_index(["image_id", "caption_index"])["caption"]
        assert frame["caption"].loc[expected.index].tolist() == expected.tolist()
