"""Recorded numbers: written with their provenance, read back as recorded."""

import json

import pandas as pd
import pytest

from relic import paths
from relic.errors import RelicError
from relic.records import tables as records


@pytest.fixture(autouse=True)
def results(monkeypatch, tmp_path):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    return tmp_path


def test_what_is_written_is_read_back_with_its_source(results):
    records.write_record("accuracy", "b", pd.DataFrame({"value": [1.5]}))
    records.write_record("accuracy", "a", pd.DataFrame({"value": [2.5]}))
    assert records.read_record("accuracy").to_dict("list") == {
        "value": [2.5, 1.5],
        "source": ["recorded", "recorded"],
    }
    provenance = json.loads((results / "accuracy" / "provenance.json").read_text())
    assert list(provenance) == ["a", "b"]
    assert {"recorded", "commit", "versions", "device"} <= set(provenance["a"])


def test_nothing_recorded_is_an_empty_frame():
    assert records.read_record("nothing").empty


def test_a_broken_record_names_its_file_and_mend(results):
    (results / "accuracy").mkdir()
    (results / "accuracy" / "x.csv").write_text("")
    with pytest.raises(RelicError, match=r"x\.csv cannot be read[\s\S]*git checkout results/"):
        records.read_record("accuracy")
