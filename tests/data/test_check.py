"""relic.data.check and the commands `relic data check` and `relic data fetch`."""

import json
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import pandas as pd
import pytest

import relic
from relic import cli
from relic.commands.data import as_text
from relic.data import check as module
from relic.data import fetch as fetching
from relic.data.check import DISABLES, check
from relic.errors import RelicError

SAT = "bias_data/Show-Attend-Tell/gender_val_sat_cap_mw_entries.pkl"
HUMAN = [
    "bias_data/Human_Ann/gender_obj_cap_mw_entries.pkl",
    "bias_data/Human_Ann/race_val_obj_cap_entries.pkl",
]


def run(monkeypatch, *arguments: str) -> tuple[int, str, str]:
    """Exit status, output and errors of the `relic` command."""
    monkeypatch.setattr(sys, "argv", ["relic", *map(str, arguments)])
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
        cli.main()
    return ended.value.code or 0, out.getvalue(), err.getvalue()


@pytest.fixture
def own_manifest(tiny, monkeypatch):
    """The tiny directory's own files as the manifest: nothing is missing, nothing modified."""
    names = [p.relative_to(tiny.root).as_posix() for p in tiny.root.rglob("*.pkl")]
    rows = [
        (name, name, fetching.git_blob_sha1((tiny.root / name).read_bytes()))
        for name in sorted(names)
    ]
    frame = pd.DataFrame(rows, columns=["path", "local", "git_blob_sha1"])
    monkeypatch.setattr(module, "manifest", lambda: frame)
    return frame


# --- the tiny directory -----------------------------------------------------------------------


def test_report_of_the_tiny_directory(tiny, own_manifest):
    report = check(tiny.root)
    gender, race, age = report.attributes
    assert (gender.images, gender.labels) == (5, {"Male": 3, "Female": 2})
    assert (gender.with_human_captions, race.with_human_captions) == (2, 1)
    assert gender.with_human_captions_by_label == {"Male": 1, "Female": 1}
    assert gender.captioners == ["NIC", "SAT"]
    assert gender.missing_captioners == [
        "FC", "Att2in", "UpDn", "Transformer", "OSCAR", "NIC+", "NIC+Equalizer",
    ]  # fmt: skip
    assert (age.images, age.missing_captioners) == (2, [])
    assert gender.labels != gender.expected
    assert report.usable
    assert report.modified == report.errors == []
    assert [m["path"] for m in report.missing] == [
        "coco",
        "visual_context",
        "gender_score",
        "captioners",
    ]
    text = as_text(report)
    assert "gender  5 images (Male 3, Female 2): the papers have Male 7,466, Female 3,314" in text
    assert "missing captioners: FC, Att2in" in text


def test_modified_file_is_named(tiny, own_manifest):
    tiny.write(SAT, [{"img_id": 1, "bb_gender": "Male", "pred": "other"}])
    report = check(tiny.root)
    assert report.modified == [SAT]
    assert SAT in as_text(report).split("other bytes than upstream's")[1]


def test_missing_file_and_what_that_disables(tiny, own_manifest):
    (tiny.root / "age_data/age_dataset.pkl").unlink()
    report = check(tiny.root)
    assert report.missing[0]["path"] == "age_data/age_dataset.pkl"
    assert report.missing[0]["disables"].startswith("everything on age")
    assert "age     no captions" in as_text(report)
    assert report.usable  # gender and race are


@pytest.mark.parametrize("content", [b"", b"text", b"\x80\x04]"])
def test_broken_file_is_named_with_the_mend(tiny, own_manifest, monkeypatch, content):
    file = tiny.write(SAT, content)
    code, out, err = run(monkeypatch, "data", "check", tiny.root)
    assert (code, err) == (1, "")
    broken = out.split("broken:")[1]
    assert str(file) in broken
    assert "relic data fetch DIR --replace" in broken
    assert "gender  broken, see below" in out
    assert "race    2 images" in out  # the rest is still reported


def test_broken_coco_file_is_named_once(tiny, own_manifest):
    file = tiny.write("coco/captions_x.json", "{")
    report = check(tiny.root)
    assert len(report.errors) == 1
    assert str(file) in report.errors[0]
    assert not report.usable


@pytest.mark.parametrize("name", [SAT, "coco/captions_x.json"])
def test_directory_in_place_of_a_file(tiny, own_manifest, monkeypatch, name):
    (tiny.root / name).unlink(missing_ok=True)
    (tiny.root / name).mkdir(parents=True)
    code, out, _ = run(monkeypatch, "data", "check", tiny.root)
    assert code == 1
    assert str(tiny.root / name) in out


@pytest.mark.parametrize("name", [SAT, "coco/captions_x.json", "gender_score/objects.txt"])
def test_unreadable_file_is_named(tiny, own_manifest, monkeypatch, unreadable, name):
    file = tiny.write(name, b"")
    file.unlink()
    file.symlink_to(unreadable)
    code, out, err = run(monkeypatch, "data", "check", tiny.root)
    assert code == 1
    assert str(file) in out + err


def test_json_of_a_broken_directory(tiny, own_manifest, monkeypatch):
    tiny.write(SAT, b"")
    code, out, _ = run(monkeypatch, "data", "check", tiny.root, "--json")
    report = json.loads(out)
    assert code == 1
    assert report["usable"] is False
    assert SAT in report["errors"][0]


def test_every_manifest_path_tells_what_it_disables():
    for path in [*fetching.manifest()["local"], "coco", "visual_context", "gender_score"]:
        assert any(path.startswith(start) for start in DISABLES), path


# --- the command ------------------------------------------------------------------------------


def test_empty_directory(tmp_path, monkeypatch):
    code, out, err = run(monkeypatch, "data", "check", tmp_path)
    assert code == 1
    assert err == ""
    assert "gender  no captions" in out
    assert f"relic data fetch {tmp_path}" in out


@pytest.mark.parametrize("exists", [False, True])
def test_not_a_directory(tmp_path, monkeypatch, exists):
    place = tmp_path / "file"
    if exists:
        place.write_text("not a directory")
    code, out, err = run(monkeypatch, "data", "check", place)
    assert (code, out) == (1, "")
    assert f"{place} is not a directory" in err
    assert "to mend:  relic data fetch" in err


def test_directory_from_the_environment(tiny, own_manifest, monkeypatch):
    monkeypatch.setenv("RELIC_DATA", str(tiny.root))
    code, out, _ = run(monkeypatch, "data", "check")
    assert code == 0
    assert out.startswith(str(tiny.root))
    monkeypatch.delenv("RELIC_DATA")
    code, _, err = run(monkeypatch, "data", "check")
    assert code == 1
    assert "RELIC_DATA is not set" in err


def test_errors_are_printed_without_a_traceback(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "relic.cli", "data", "check", str(tmp_path / "absent")],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith("relic: ")
    assert "Traceback" not in done.stderr


def test_version(monkeypatch):
    code, out, _ = run(monkeypatch, "--version")
    assert (code, out) == (0, f"relic {relic.__version__}\n")


def test_fetch_says_what_it_did(tmp_path, monkeypatch):
    asked = []

    def fetch(directory, base, *, replace):
        asked.append((directory, base, replace))
        return fetching.Fetched(downloaded=["a", "b"], kept=["c"])

    monkeypatch.setattr(fetching, "fetch", fetch)
    code, out, _ = run(monkeypatch, "data", "fetch", tmp_path)
    assert code == 0
    assert "2 files downloaded, 1 already there" in out
    assert f"relic data check {tmp_path}" in out
    run(monkeypatch, "data", "fetch", tmp_path, "--mirror", "http://mirror", "--replace")
    assert asked == [(tmp_path, fetching.UPSTREAM, False), (tmp_path, "http://mirror", True)]


def test_fetch_that_fails(tmp_path, monkeypatch):
    def fetch(*_, **__):
        raise RelicError("no network", mend="a mirror")

    monkeypatch.setattr(fetching, "fetch", fetch)
    code, out, err = run(monkeypatch, "data", "fetch", tmp_path)
    assert (code, out) == (1, "")
    assert err == "relic: no network\n  to mend:  a mirror\n"


# --- the real captions ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real_report(real_data):
    return check(real_data)


def test_real_data_as_the_papers_have_it(real_report, real_data):
    if any((real_data / name).exists() for name in HUMAN):
        pytest.skip("the Human_Ann files are here: coverage is not the subset's")
    text = as_text(real_report)
    for line in (
        "gender  10,780 images (Male 7,466, Female 3,314): as in the papers",
        "        10,757 with human captions (Male 7,456, Female 3,301); 2,407 of them with fewer than 5",
        "race    10,969 images (Light 9,873, Dark 1,096): as in the papers",
        "        10,936 with human captions (Light 9,841, Dark 1,095); 3,301 of them with fewer than 5",
        "age     7,038 images (old 4,603, young 2,435): as in the papers",
        "4 captioners: SAT, OSCAR, NIC+, NIC+Equalizer",
        *(f"  {name}: disables" for name in HUMAN),
    ):
        assert line in text
    assert text.count("9 captioners: NIC, SAT, FC, Att2in, UpDn, Transformer, OSCAR, NIC+") == 2
    assert [m["path"] for m in real_report.missing] == HUMAN
    assert real_report.modified == []
    assert real_report.usable


def test_real_data_command(real_data, real_report, monkeypatch):
    monkeypatch.setattr(module, "check", lambda directory: real_report)  # read once is enough
    code, out, _ = run(monkeypatch, "data", "check", real_data, "--json")
    assert code == 0
    report = json.loads(out)
    assert [a["images"] for a in report["attributes"]] == [10780, 10969, 7038]
    assert report["usable"] is True
    assert report["coco"]["captions_val2017.json"] == 5000


def test_one_changed_byte_of_a_real_file_is_found(real_data, tmp_path):
    name = "bias_data/Show-Attend-Tell/gender_val_sat_cap_mw_entries.pkl"
    (tmp_path / name).parent.mkdir(parents=True)
    shutil.copyfile(real_data / name, tmp_path / name)
    assert check(tmp_path).modified == []
    content = bytearray((tmp_path / name).read_bytes())
    at = content.index(b"a man")
    content[at + 2 : at + 5] = b"fan"
    (tmp_path / name).write_bytes(content)
    report = check(tmp_path)
    assert report.modified == [name]
    assert (
        report.attributes[0].labels == report.attributes[0].expected
    )  # the labels are still the papers'
