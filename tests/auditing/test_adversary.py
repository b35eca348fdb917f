"""What a hundred audits by a user and by an adversary found: wrong results, lost files, hostile input."""

import gzip
import io
import json
import os
import pickle
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import relic
from relic.auditing.examples import example_files
from relic.auditing.inputs import Inputs, audited
from relic.auditing.readers import read_captions, read_labels
from relic.commands.audit import held
from relic.data.attribute import load_attribute
from relic.errors import RelicError
from relic.measure.classifiers.base import kind_of
from relic.measure.inputs import Reading
from relic.measure.inputs import read_captions as as_read
from relic.measure.runs import Store

IDS = range(300)
LABELS = {i: "Male" if i % 3 else "Female" for i in IDS}
HUMAN = {i: [f"a person with thing {(i * k) % 11}" for k in (1, 2, 3)] for i in IDS}


@pytest.fixture(scope="module")
def files() -> dict:
    return example_files("gender", 600, "embedded")


def quick(files: dict, place, **more):
    captions = more.pop("captions", files["captions"][2])
    given = {"labels": files["labels"], "human": files["human"]} | more
    return relic.audit(captions, given.pop("labels"), given.pop("human"), "gender", seeds=[0, 12], progress=False,
                       with_accuracy=False, checks=False, store=Store(place), **given)  # fmt: skip


def command(files: dict, *more: str, **options) -> subprocess.CompletedProcess:
    line = [sys.executable, "-m", "relic.cli", "audit", files["captions"][2], "--labels", files["labels"],
            "--human", files["human"], "--seeds", "0,12", "--no-accuracy", "--no-checks", *more]  # fmt: skip
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=300, **options)


def refused(function, *arguments) -> str:
    with pytest.raises(RelicError) as error:
        function(*arguments)
    return str(error.value)


# Wrong results, silently


def test_1_upper_case_is_masked_for_every_classifier(files, tmp_path):
    _, _, file = files["captions"][2].partition("=")
    rows = json.loads(Path(file).read_text())
    shouted = tmp_path / "shouted.json"
    shouted.write_text(json.dumps([row | {"caption": row["caption"].upper()} for row in rows]))
    for classifier in ("linear", "lstm"):
        form = kind_of(classifier).text_form
        texts = [
            as_read(audited(Inputs((each,), files["labels"], files["human"])).corpus, Reading("model", "x"), form).tolist()
            for each in (f"x={file}", f"x={shouted}")
        ]  # fmt: skip
        assert texts[0] == texts[1], classifier


def test_2_the_order_of_classes_does_not_matter(files, tmp_path):
    plain, swapped = (
        quick(files, tmp_path / "r", classes=classes) for classes in ((), ("Female", "Male"))
    )
    assert plain.results == swapped.results
    for part in (plain.parts[0], swapped.parts[0]):
        assert part.tables["naming"]["wrong_of_named"].max() < 50


def test_2_which_class_is_which_is_named(tmp_path):
    file = tmp_path / "labels.json"
    file.write_text(json.dumps({str(i): {"Male": "0", "Female": "1"}[LABELS[i]] for i in IDS}))
    gender = load_attribute("gender")
    named = read_labels(file, gender, ("Female=1", "Male=0")).frame
    assert named["label"].mean() == pytest.approx(1 / 3)
    assert "which is Male" in refused(read_labels, file, gender, ("0", "1"))
    other = [relic.load_attribute("race"), ("0", "1"), ("1", "0")]
    codes = [read_labels(file, other[0], given).frame["label"].tolist() for given in other[1:]]
    assert codes[0] == codes[1]  # no word states skin tone: nothing hangs on which is which


GERMAN = "name: geschlecht\nclasses: [Mann, Frau]\nmask_token: wort\ntokenizer: words\nmasked_words: {Mann: Mann Er, Frau: Frau Sie}\n"


def german(tmp_path, yml: str = GERMAN, **more):
    (tmp_path / "g.yml").write_text(yml)
    said = {i: f"{'Ein Mann' if i % 3 else 'Eine Frau'} mit Ding {i % 11}" for i in IDS}
    for name, content in (
        ("c", said),
        ("l", {i: "Mann" if i % 3 else "Frau" for i in IDS}),
        ("h", {i: [text] * 2 for i, text in said.items()}),
    ):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    return relic.audit(
        tmp_path / "c.json", tmp_path / "l.json", tmp_path / "h.json", str(tmp_path / "g.yml"),
        seeds=[0, 12], progress=False, checks=False, with_accuracy=False, store=Store(tmp_path / "r"), **more,
    )  # fmt: skip


def test_3_masked_words_of_a_yaml_file_count_in_any_case(tmp_path):
    result = german(tmp_path)
    corpus = result.parts[0].corpus
    read = as_read(corpus, Reading("model", "c"), kind_of("linear").text_form)
    assert not read.str.contains(r"mann|frau").any()


def test_3_a_word_that_still_states_the_class_is_named_with_its_cure(tmp_path):
    said = " ".join(german(tmp_path).cautions)
    cure = re.search(r"--also-mask (\S+)", said).group(1)
    assert set(cure.split(",")) == {"ein", "eine"}
    mended = german(tmp_path, also_mask=cure.split(","))
    assert not any("--also-mask" in each for each in mended.cautions)
    assert mended.results[0]["accuracy_human"] < 75  # it was 100


def kinds(result) -> set[str]:
    return {kind for part in result.parts for kind in part.cautions}


def test_4_degenerate_captioners_get_cautions():
    options = {"seeds": [0, 1, 2, 3, 4], "chance": False}
    same = relic.lic(dict.fromkeys(IDS, "a man on a bike"), LABELS, HUMAN, **options)
    assert "constant" in kinds(same)
    words = {i: "man" if i % 2 else "woman" for i in IDS}
    bare = relic.lic({i: f"a {word}" for i, word in words.items()}, LABELS, {i: [f"a {w}"] for i, w in words.items()}, **options)  # fmt: skip
    assert "bare" in kinds(bare)
    assert bare.verdict == "undecided"  # not "does not amplify 0.0 [0.0, 0.0]"
    drawn = np.random.default_rng(0).integers(0, 50, (len(IDS), 4))
    chance = relic.lic({i: " ".join(f"w{k}" for k in drawn[i]) for i in IDS}, LABELS, HUMAN, **options)  # fmt: skip
    assert "chance" in kinds(chance)
    assert chance.parts[0].tables["words"].empty


def test_4_one_that_repeats_itself_beside_another(files, tmp_path):
    """None of its test captions is unseen: nothing to compare there, and the audit goes on."""
    _, _, file = files["captions"][2].partition("=")
    rows = json.loads(Path(file).read_text())
    same = tmp_path / "same.json"
    same.write_text(json.dumps([row | {"caption": "a man on a bike"} for row in rows]))
    result = quick(files, tmp_path / "r", captions=[f"other={file}", same])
    assert result.parts[0].tables["differences"]["seen"].tolist() == ["all"]
    assert result.results[1]["unseen"]["verdict"] == "undecided"
    assert len(result.write(tmp_path / "out")) == 4


def test_5_a_sure_but_tiny_amplification_says_so():
    from relic.auditing.measure import verdict
    from relic.judge.stats import Interval

    assert verdict(Interval(0.45, 0.2, 0.7)) == "amplifies, by less than a point"


# Lost or left behind


def test_6_what_others_put_into_out_stays(files, tmp_path):
    result = quick(files, tmp_path / "r")
    with held(tmp_path / "out", False) as place:
        (tmp_path / "out").mkdir(exist_ok=True)
        (tmp_path / "out/notes.txt").write_text("mine")
        result.write(place)
    assert (tmp_path / "out/notes.txt").read_text() == "mine"
    assert (tmp_path / "out/report.html").exists()


def test_6_two_audits_do_not_share_one_out(tmp_path):
    out = tmp_path / "out"
    with held(out, False), pytest.raises(RelicError, match="another audit is working"), held(out, True):  # fmt: skip
        pass


@pytest.mark.slow
def test_7_out_may_be_a_mount_point(files, tmp_path):
    """A directory that cannot be renamed: it must stay the same one, and nothing may lie beside it."""
    (tmp_path / "out").mkdir()
    before = (tmp_path / "out").stat().st_ino
    done = command(files, "--out", "out", cwd=tmp_path, env=os.environ | {"RELIC_RUNS": "kept"})
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out").stat().st_ino == before
    assert sorted(f.name for f in tmp_path.iterdir()) == [
        "kept",
        "out",
    ]  # 8: RELIC_RUNS is relative
    assert len(list((tmp_path / "out").iterdir())) == 4


def test_7_a_dangling_link_is_told(tmp_path):
    (tmp_path / "out").symlink_to(tmp_path / "nowhere")
    with pytest.raises(RelicError, match="nowhere, which does not exist"), held(tmp_path / "out", True):  # fmt: skip
        pass


@pytest.mark.slow
def test_7_a_full_disk_leaves_no_half_report(files, tmp_path):
    """No file may grow beyond 12 kB: runs fit, report.html does not."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, 12_000))  # noqa: E731
    place = os.environ | {"RELIC_RUNS": str(tmp_path / "r")}
    done = command(files, "--out", "out", cwd=tmp_path, env=place, preexec_fn=limit)
    assert done.returncode == 1
    assert "the report cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(f.name for f in tmp_path.iterdir()) == ["r"]


@pytest.mark.parametrize(
    ("setting", "more", "message"),
    [
        ({"RELIC_RUNS": "/proc/relic"}, (), "RELIC_RUNS=DIR"),
        ({}, ("--scheduler", "tcp://127.0.0.1:9"), "no scheduler answers at tcp://127.0.0.1:9"),
    ],
)
@pytest.mark.slow
def test_9_a_store_or_a_scheduler_that_is_not_there(files, tmp_path, setting, more, message):
    place = os.environ | {"RELIC_RUNS": str(tmp_path / "r")} | setting
    done = command(files, "--out", "out", *more, cwd=tmp_path, env=place)
    assert done.returncode == 1
    assert message in done.stderr
    assert "fault of ours" not in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_10_sigterm_leaves_nothing(files, tmp_path):
    line = [sys.executable, "-m", "relic.cli", "audit", *files["captions"], "--labels", files["labels"],
            "--human", files["human"], "--no-accuracy", "--out", "out"]  # fmt: skip
    place = os.environ | {"RELIC_RUNS": str(tmp_path / "r")}
    with subprocess.Popen(line, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd=tmp_path, env=place) as running:  # fmt: skip
        for _ in range(600):
            if (tmp_path / "out").exists() and list((tmp_path / "r").rglob("*.run")):
                break
            time.sleep(0.1)
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 143
        assert b"Traceback" not in running.stderr.read()
    assert [f.name for f in tmp_path.iterdir()] == ["r"]


def test_10_force_deletes_no_directory(tmp_path):
    (tmp_path / "out/report.html").mkdir(parents=True)
    with pytest.raises(RelicError, match=r"other files: report\.html"), held(tmp_path / "out", True):  # fmt: skip
        pass


def test_11_a_gzip_bomb_is_refused(tmp_path):
    file, stream = tmp_path / "bomb.json.gz", io.BytesIO()
    with gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=1) as out:
        for _ in range(100):
            out.write(b" " * 2_000_000)
    file.write_bytes(stream.getvalue())
    assert "bytes when unpacked" in refused(read_captions, file)


def test_11_lists_that_share_lists_end(tmp_path):
    nested = ["x"]
    for _ in range(60):
        nested = [nested, nested]
    file = tmp_path / "nested.pkl"
    file.write_bytes(pickle.dumps([{"image_id": i, "caption": nested} for i in range(9)]))
    started = time.process_time()
    assert "several captions" in refused(read_captions, file)
    assert time.process_time() - started < 2


def test_11_a_yaml_bomb_is_refused(tmp_path):
    lines = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 40)]
    file = tmp_path / "bomb.yml"
    file.write_text("\n".join([*lines, "name: *a39"]))
    started = time.process_time()
    assert "aliases" in refused(load_attribute, file)
    assert time.process_time() - started < 2


@pytest.mark.slow
def test_12_odd_names(files, tmp_path):
    _, _, file = files["captions"][2].partition("=")
    long = Inputs((f"{'x' * 5000}={file}",), files["labels"], files["human"])
    assert "at most 80 characters" in refused(audited, long)
    odd = os.fsencode(tmp_path) + b"/caf\xe9.json"
    os.link(file, odd)
    done = command(files | {"captions": [os.fsdecode(odd)] * 3}, "--out", "out", cwd=tmp_path,
                   env=os.environ | {"RELIC_RUNS": str(tmp_path / "r")})  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "out/report.json").read_text())["captioner"] == "caf?"
    gone = command(files | {"captions": [os.fsdecode(odd) + "x"] * 3}, cwd=tmp_path)
    assert gone.returncode == 1
    assert "does not exist" in gone.stderr


def test_13_names_are_text_everywhere(files, tmp_path):
    _, _, file = files["captions"][2].partition("=")
    words = tmp_path / "w.txt"
    words.write_text("man woman")
    result = relic.audit(
        f"=1+1={file}".replace("=1", "@SUM(1)", 1), files["labels"], files["human"], "a|b<i>*c*", classes=["Male", "Female"],
        masked_words=words, seeds=[0, 12], progress=False, checks=False, with_accuracy=False, store=Store(tmp_path / "r"),
    )  # fmt: skip
    result.write(tmp_path / "out")
    table = pd.read_csv(tmp_path / "out/report.csv")
    assert table["captioner"].iloc[0].startswith("'@SUM")
    card = (tmp_path / "out/report.md").read_text().split("---\n", 2)[2]
    assert "<i>" not in card
    rows = [line for line in card.splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1
    taken = Inputs((f"Human={file}",), files["labels"], files["human"])
    assert "Human stands for people's captions" in refused(audited, taken)


def test_labels_of_another_attribute_are_told_apart(tmp_path):
    """Gender's labels with --attribute race: no mapping of women to skin tones is offered."""
    file = tmp_path / "labels.csv"
    file.write_text(
        "image_id,label\n" + "".join(f"{i},{'Male' if i % 2 else 'Female'}\n" for i in range(20))
    )
    with pytest.raises(RelicError) as error:
        read_labels(str(file), load_attribute("race"))
    assert error.value.mend == "these are classes of gender: --attribute gender"
