"""`relic audit` as a user calls it: a whole report or none, clear errors, no traceback."""

import contextlib
import json
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relic.auditing.audit import read
from relic.auditing.examples import example_files
from relic.auditing.inputs import Inputs
from relic.auditing.measure import Choices, plan
from relic.auditing.report import OURS
from relic.cli import main
from relic.commands.audit import held
from relic.errors import RelicError


@pytest.fixture(scope="module")
def files() -> dict:
    return example_files("gender", 600, "embedded")


@pytest.fixture
def call(files, tmp_path, monkeypatch):
    """Run the command in a directory of its own; arguments after the three files."""
    monkeypatch.setenv("RELIC_RUNS", str(tmp_path / "runs"))

    def run(*more: str, captions: tuple = (), labels: str = "") -> subprocess.CompletedProcess:
        given = captions or (files["captions"][2],)
        data = ["--labels", labels or files["labels"], "--human", files["human"], "--seeds", "0,12"]
        return subprocess.run(
            [sys.executable, "-m", "relic.cli", "audit", *given, *data, "--no-accuracy", "--no-checks", "--workers", "1", *more],
            capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False,
        )  # fmt: skip

    return run


def leftovers(place) -> list[str]:
    return sorted(f.name for f in place.iterdir() if f.name != "runs")


@pytest.mark.slow
def test_a_whole_report_then_no_second_without_force(call, tmp_path):
    first = call("--out", "out")
    assert first.returncode == 0, first.stderr
    assert sorted(f.name for f in (tmp_path / "out").iterdir()) == sorted(OURS)
    report = json.loads((tmp_path / "out/report.json").read_text())
    assert report["captioner"] == "Strong amplifier (gain 1.5)"
    assert report["n_seeds"] == 2
    assert (
        report["sentence"] in first.stdout
    )  # the terminal says the verdict, and where the report is
    assert "out/report.html" in first.stdout
    assert "%|" not in first.stderr  # progress bars belong on terminals
    before = (tmp_path / "out/report.json").stat().st_mtime_ns
    again = call("--out", "out")
    assert again.returncode == 1
    assert "holds a report already" in again.stderr
    assert (tmp_path / "out/report.json").stat().st_mtime_ns == before
    forced = call("--out", "out", "--force", "--format", "json")
    assert forced.returncode == 0, forced.stderr
    assert sorted(f.name for f in (tmp_path / "out").iterdir()) == ["report.json"]
    assert leftovers(tmp_path) == ["out"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--classifier", "svm"], "unknown classifier 'svm'"),
        (["--attribute", "height"], "unknown attribute 'height'"),
        (["--split", "upstream"], "row order"),
        (["--seeds", "a"], "--seeds a"),
        (["--format", "pdf"], "format pdf"),
        (["--classes", "Male,Female,Other"], "two different values"),
        (["--vocabulary", "nowhere.txt"], "nowhere.txt"),
        (["--masked-words", "nowhere.txt"], "nowhere.txt"),
    ],
)
def test_wrong_options_are_named_before_computing(
    files, tmp_path, monkeypatch, capsys, more, message
):
    monkeypatch.chdir(tmp_path)
    command = [
        "relic",
        "audit",
        files["captions"][2],
        "--labels",
        files["labels"],
        "--human",
        files["human"],
    ]
    monkeypatch.setattr(sys, "argv", [*command, "--out", "out", *more])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 1
    assert message in capsys.readouterr().err
    assert leftovers(tmp_path) == []


def test_a_directory_of_somebody_else_is_left_alone(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/thesis.tex").write_text("mine")
    with pytest.raises(RelicError, match=r"holds other files: thesis\.tex"), held(tmp_path / "out", True):  # fmt: skip
        pass
    with pytest.raises(RelicError, match="is a file"), held(tmp_path / "out/thesis.tex", True):
        pass
    assert (tmp_path / "out/thesis.tex").read_text() == "mine"


def test_a_failure_leaves_the_old_report(tmp_path):
    out = tmp_path / "out"
    with held(out, False) as place:
        (place / "report.json").write_text("old")

    def fails():
        with held(out, True):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert (out / "report.json").read_text() == "old"
    assert leftovers(tmp_path) == ["out"]


ids = st.one_of(st.integers(0, 60), st.integers(0, 60).map(str), st.text(max_size=4), st.none())
texts = st.one_of(st.text(max_size=12), st.none(), st.integers(), st.lists(st.text(max_size=4), max_size=2))  # fmt: skip
values = st.one_of(st.sampled_from(["Male", "Female", "male", ""]), st.text(max_size=5), st.none())
mixed = st.fixed_dictionaries({
    "captions": st.lists(st.fixed_dictionaries({"image_id": ids, "caption": texts}), max_size=8),
    "labels": st.lists(st.fixed_dictionaries({"image_id": ids, "label": values}), max_size=8),
    "human": st.lists(st.fixed_dictionaries({"image_id": ids, "caption": texts}), max_size=8),
})  # fmt: skip


@settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(mixed, st.booleans())
def test_any_three_files_give_a_corpus_or_a_clear_error(tmp_path, drawn, filled):
    """What is drawn alone, or added to rows that can be audited: never another exception."""
    good = {
        "captions": [{"image_id": i, "caption": f"a man {i % 7}"} for i in range(100, 160)],
        "labels": [
            {"image_id": i, "label": "Male" if i % 2 else "Female"} for i in range(100, 160)
        ],
        "human": [{"image_id": i, "caption": f"x {i}"} for i in range(100, 160) for _ in range(5)],
    }
    for name, rows in drawn.items():
        rows = rows + good[name] if filled else rows
        (tmp_path / f"{name}.json").write_text(json.dumps(rows), encoding="utf-8")
    files = Inputs((str(tmp_path / "captions.json"),), str(tmp_path / "labels.json"), str(tmp_path / "human.json"))  # fmt: skip
    with contextlib.suppress(RelicError):
        plan(read(files, "gender")[0][0], Choices())


@pytest.mark.slow
def test_a_threshold_decides_the_exit_code(call, files, tmp_path):
    strong = [call("--out", f"o{above}", "--seeds", "0", "--fail-above", above).returncode for above in ("-90", "90")]  # fmt: skip
    assert strong == [3, 0]
    assert (tmp_path / "o-90/report.html").exists()  # the report is there either way


def test_without_human_captions_nothing_is_judged(files, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RELIC_RUNS", str(tmp_path / "runs"))
    line = ["relic", "audit", files["captions"][2], "--labels", files["labels"], "--seeds", "0,12"]
    monkeypatch.setattr(sys, "argv", [*line, "--out", str(tmp_path / "out")])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert "cannot be judged" in capsys.readouterr().out
    row = json.loads((tmp_path / "out/report.json").read_text())
    assert row["lic"] is None
    assert row["lic_model"] > row["chance"]
    monkeypatch.setattr(sys, "argv", [*line, "--fail-above", "1"])
    with pytest.raises(SystemExit):
        main()
    assert "LIC is a difference" in capsys.readouterr().err
