"""The store: whole files or none, many writers, no locks."""

import json
import subprocess
import sys
import warnings

import pandas as pd
import pytest

from relic.errors import RelicError
from relic.measure.runs import Outcome, Run, Store

RUN = Run("corpus (synthetic)", "gender", "nic", "linear", seed=3)


def outcome(run=RUN, score=42.5):
    images = pd.DataFrame(
        {
            "image_id": [5, 7],
            "y": [1, 0],
            "p": [0.75, 0.1],
            "seen_raw": [True, False],
            "seen_masked": [True, True],
        }
    )
    return Outcome(run, {"score": score, "n_test": 2}, images)


def test_what_goes_in_comes_out(tmp_path):
    store = Store(tmp_path / "runs")
    assert store.missing([RUN, RUN]) == [RUN]
    store.put(outcome())
    assert store.missing([RUN]) == []
    stored = store.get(RUN)
    assert stored.scores == {"score": 42.5, "n_test": 2}
    assert stored.images["p"].tolist() == [0.75, 0.1]
    assert stored.images["seen_raw"].tolist() == [True, False]
    assert store.frame()[["captioner", "seed", "score"]].values.tolist() == [["nic", 3, 42.5]]


@pytest.mark.parametrize("damage", ["cut", "head", "empty", "foreign", "renamed", "longer"])
def test_a_damaged_file_is_ignored_with_a_warning_and_written_again(tmp_path, damage):
    store = Store(tmp_path)
    store.put(outcome())
    file = store.file(RUN)
    content = file.read_bytes()
    other = Store(tmp_path / "other")
    other.put(outcome(Run("c", "gender", "sat", "linear")))
    file.write_bytes({
        "cut": content[:-10], "head": content[:20], "empty": b"", "foreign": b"\x80\x04hello\n",
        "renamed": next((tmp_path / "other").glob("??/*.run")).read_bytes(), "longer": content + b"x",
    }[damage])  # fmt: skip
    with pytest.warns(UserWarning, match="ignored"):
        assert store.missing([RUN]) == [RUN]
    store.put(outcome())
    assert store.get(RUN).scores["score"] == 42.5


def test_an_unfinished_write_leaves_nothing_behind(tmp_path):
    store = Store(tmp_path)
    part = store.file(RUN).with_name(f".{RUN.key}.run.0")
    part.parent.mkdir(parents=True)
    part.write_bytes(b"half a ru")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store.missing([RUN]) == [RUN]
        assert store.frame().empty


def test_a_full_disk_leaves_no_half_file(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        Store(tmp_path).put(outcome())
    assert [f for f in tmp_path.rglob("*") if f.is_file()] == []


def test_a_pickle_in_disguise_is_not_loaded(tmp_path):
    store = Store(tmp_path)
    store.put(outcome())
    line = store.file(RUN).read_bytes().split(b"\n")[0]
    import numpy as np

    np.save(tmp_path / "evil.npy", np.array([print], dtype=object), allow_pickle=True)
    payload = (tmp_path / "evil.npy").read_bytes()
    head = json.loads(line) | {"bytes": len(payload)}
    store.file(RUN).write_bytes(json.dumps(head).encode() + b"\n" + payload)
    with pytest.warns(UserWarning, match="ignored"):
        assert store.get(RUN) is None


@pytest.mark.slow
def test_many_processes_write_the_same_runs_at_once(tmp_path):
    script = (
        "import sys; sys.path.insert(0, 'tests/measure')\n"
        "from test_store import outcome, RUN\nfrom dataclasses import replace\nfrom relic.measure.runs import Store\n"
        f"s = Store({str(tmp_path)!r})\n"
        "for i in range(60): s.put(outcome(replace(RUN, seed=i), score=float(i)))"
    )
    processes = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    frame = Store(tmp_path).frame().sort_values("seed")
    assert frame["score"].tolist() == [float(i) for i in range(60)]
    assert not list(tmp_path.glob("??/.*"))


def test_a_file_where_the_store_should_be(tmp_path):
    (tmp_path / "runs").write_text("")
    with pytest.raises(RelicError, match="is a file"):
        Store(tmp_path / "runs")
