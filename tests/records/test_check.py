"""Nothing but numbers in results/: each kind of leak in a spoilt copy is found."""

import shutil

import pandas as pd
import pytest

from relic import paths
from relic.records.check import leaks


@pytest.fixture
def results(tmp_path):
    """The committed records, without the large ones."""
    directory = tmp_path / "results"
    leave = shutil.ignore_patterns("outcomes.parquet", "intervals.csv")
    return shutil.copytree(paths.RESULTS, directory, ignore=leave)


def change(file, **columns):
    pd.read_csv(file).assign(**columns).to_csv(file, index=False)


def test_the_committed_records_are_clean():
    assert leaks() == []


def test_a_label_column_is_found(results):
    change(results / "runs.csv", bb_gender=1)
    assert leaks(results) == ["runs.csv: column 'bb_gender' is not listed in relic/records/privacy.yml"]  # fmt: skip


def test_classes_among_outcomes_are_found(results):
    frame = pd.DataFrame({"key": ["k"], "image_id": [5], "score": [0.5], "y": [1]})
    frame.to_parquet(results / "outcomes.parquet")
    (problem,) = leaks(results)
    assert "column 'y'" in problem


@pytest.mark.parametrize("file", ["runs.csv", "gender_score/scores.csv", "direction/gender_naming.csv"])  # fmt: skip
@pytest.mark.parametrize("text", ["a dog on a couch", "skiers and snowboarders wait in line at the top of some hill"])  # fmt: skip
def test_one_caption_in_a_listed_column_is_found(results, file, text):
    frame = pd.read_csv(results / file)
    frame.loc[len(frame) // 2, "captioner"] = text
    frame.to_csv(results / file, index=False)
    assert f"{file}: column 'captioner' holds 1 texts like captions" in leaks(results)


def test_a_caption_does_not_hide_in_a_column_of_descriptions(results):
    frame = pd.read_csv(results / "gender_score" / "scores.csv")
    frame.loc[0, "corpus"] += ", a man on a motorcycle beside a road"
    frame.to_csv(results / "gender_score" / "scores.csv", index=False)
    (problem,) = leaks(results)
    assert problem.startswith("gender_score/scores.csv: column 'corpus'")


@pytest.mark.parametrize(
    ("rows", "text", "fine"),
    [(6, "a dog on a couch", True), (7, "a dog on a couch", False), (1, "a dog " * 7, False)],
)
def test_a_few_short_captions_may_be_quoted_in_one_file(results, rows, text, fine):
    quoted = pd.DataFrame({"caption": [text.strip()] * rows, "p": 0.5})
    quoted.to_csv(results / "attribution" / "examples.csv", index=False)
    assert (leaks(results) == []) == fine


def test_files_that_are_not_listed_are_found(results):
    (results / "captions.txt").write_text("x")
    (results / "accuracy" / "more.jsonl").write_text("{}")
    (results / "runs.csv").write_bytes(b"")
    assert [p.split(":")[0] for p in leaks(results)] == [
        "accuracy/more.jsonl", "captions.txt", "runs.csv cannot be read",
    ]  # fmt: skip
