"""relic.chapters.gender_score.models: a second call computes nothing again, whoever makes it."""

import numpy as np
import pytest

from relic.chapters.gender_score.models import Memory, fingerprint
from relic.errors import RelicError


def counted(calls):
    def compute(texts):
        calls.append(list(texts))
        return np.array([float(len(text)) for text in texts])

    return compute


def test_each_text_is_computed_once(tmp_path):
    calls, memory = [], Memory("lengths", tmp_path)
    assert memory.values(["bb", "a", "bb"], counted(calls)).tolist() == [[2], [1], [2]]
    assert memory.values(["a", "ccc"], counted(calls)).tolist() == [[1], [3]]
    assert calls == [["a", "bb"], ["ccc"]]
    again = Memory("lengths", tmp_path)  # as another process would
    assert again.values(["ccc", "a", "bb"], counted(calls)).tolist() == [[3], [1], [2]]
    assert (len(calls), again.computed, memory.computed) == (2, 0, 3)


def test_another_model_has_another_memory(tmp_path):
    calls = []
    Memory("one", tmp_path).values(["a"], counted(calls))
    Memory("two", tmp_path).values(["a"], counted(calls))
    assert len(calls) == 2


def test_rows_of_several_numbers(tmp_path):
    memory = Memory("vectors", tmp_path)
    rows = memory.values(["a", "b"], lambda texts: np.arange(6.0).reshape(2, 3))
    assert rows.shape == (2, 3)
    assert np.array_equal(Memory("vectors", tmp_path).values(["b"], None), rows[1:])
    single = Memory("single", tmp_path, "float32").values(["a"], lambda texts: np.array([[0.1]]))
    assert single.dtype == "float32"


@pytest.mark.parametrize("left", [40, 5000])
def test_a_broken_file_is_said(tmp_path, left):
    calls, memory = [], Memory("lengths", tmp_path)
    memory.values(["a"], counted(calls))
    memory.file.write_bytes(memory.file.read_bytes()[:left])
    with pytest.raises(RelicError, match="remove it: what it held is computed again"):
        Memory("lengths", tmp_path).values(["a"], counted(calls))
    memory.file.unlink()
    assert memory.values(["a"], counted(calls)).tolist() == [[1]]


def test_what_was_done_before_a_kill_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("relic.chapters.gender_score.models.PART", 2)
    done = []

    def killed(texts):
        done.append(texts)
        if len(done) == 2:
            raise KeyboardInterrupt
        return np.array([len(text) for text in texts])

    with pytest.raises(KeyboardInterrupt):
        Memory("lengths", tmp_path).values(["a", "bb", "ccc", "dddd"], killed)
    calls = []
    Memory("lengths", tmp_path).values(["a", "bb", "ccc", "dddd"], counted(calls))
    assert calls == [["ccc", "dddd"]]


def test_fingerprints_follow_the_bytes(tmp_path):
    first, second = tmp_path / "one", tmp_path / "two"
    for directory, content in ((first, "a"), (second, "b")):
        directory.mkdir()
        (directory / "config.json").write_text(content)
    assert fingerprint(str(first)) != fingerprint(str(second))
    assert fingerprint("org/name-of-a-hub") == "org/name-of-a-hub"
