"""The declared grid: what is missing, what is outside, what is partly there."""

import shutil

import pandas as pd
import pytest
import yaml

from relic import paths
from relic.data.planted import planted_corpus
from relic.errors import RelicError
from relic.records import grid as declared
from relic.records.check import check
from relic.records.runs import read_recorded

CORPUS = planted_corpus("gender", images=400)
PART = {"status": "complete", "attribute": "gender", "captioner": ["nic", "sat"], "classifier": "linear"}  # fmt: skip


def write(directory, **parts):
    text = yaml.safe_dump(
        {"grids": {name: [part] for name, part in parts.items()}}, sort_keys=False
    )
    (directory / "grid.yml").write_text(text)
    return declared.read(directory)


def frame(*rows):
    return pd.DataFrame([declared.DEFAULTS | row for row in rows])


def test_a_grid_is_every_combination(tmp_path):
    runs = write(tmp_path, one=PART | {"seed": [0, 12, 100]})
    assert len(runs) == 6
    assert runs.iloc[0][["split", "side", "seed"]].tolist() == ["paired", "model", 0]


def test_together_goes_in_step(tmp_path):
    step = {"seed": [0, 12], "caption_index": [0, 1]}
    runs = write(tmp_path, one=PART | {"side": "human", "caption_index": 4, "together": step})
    assert set(zip(runs["seed"], runs["caption_index"], strict=True)) == {(0, 0), (12, 1)}
    assert len(runs) == 4


def test_missing_partial_and_outside(tmp_path):
    both = write(tmp_path, whole=PART, some=PART | {"status": "partial", "seed": 12})
    nic, sat = ({"attribute": "gender", "captioner": c, "classifier": "linear"} for c in ("nic", "sat"))  # fmt: skip
    assert declared.problems(both, frame(nic, sat)) == []
    (missing,) = declared.problems(both, frame(nic, nic | {"seed": 12}))
    assert missing.startswith("whole: 1 of 2 runs are missing")
    assert "captioner sat" in missing
    (outside,) = declared.problems(both, frame(nic, sat, sat | {"seed": 7}))
    assert "1 runs are in no grid" in outside
    assert "seed 7" in outside
    table = declared.progress(both, frame(nic, sat, sat | {"seed": 12}))
    assert table["state"].tolist() == ["✓ complete", "part"]
    assert table[["recorded", "of"]].to_numpy().tolist() == [[2, 2], [1, 2]]
    assert declared.progress(both[both["grid"] == "some"], frame(nic))["state"].tolist() == [
        "not run"
    ]


@pytest.mark.parametrize("wrong", [{"status": "done"}, {"sed": 1}, {"together": {"seed": [0, 1], "caption_index": [0]}}])  # fmt: skip
def test_a_wrong_declaration_is_named(tmp_path, wrong):
    with pytest.raises(RelicError, match=r"grid\.yml, odd"):
        write(tmp_path, odd=PART | wrong)
    (tmp_path / "grid.yml").write_text("grids: [1")
    with pytest.raises(RelicError, match=r"grid\.yml"):
        declared.read(tmp_path)


def test_a_grid_becomes_runs_of_a_corpus(tmp_path):
    planted = PART | {"captioner": ["planted_none"], "seed": [0, 1]}
    write(tmp_path, **{"planted LIC_M": planted, "other": PART})
    asked = []
    runs = declared.grid_runs(lambda *names: asked.append(names) or CORPUS, "planted", tmp_path)
    assert set(asked) == {("COCO captions", "gender")}
    assert [(run.captioner, run.seed, run.recipe) for run in runs] == [("planted_none", 0, "C=0.1"), ("planted_none", 1, "C=0.1")]  # fmt: skip
    with pytest.raises(RelicError, match="planted LIC_M; other"):
        declared.grid_runs(lambda *_: CORPUS, "nothing", tmp_path)


@pytest.fixture
def spoilt(tmp_path):
    """A copy of runs.csv and grid.yml to spoil; outcomes are not needed here."""
    for name in ("runs.csv", "grid.yml"):
        shutil.copy(paths.RESULTS / name, tmp_path / name)
    return tmp_path


def test_a_run_taken_out_of_a_complete_grid_is_missed(spoilt):
    runs = pd.read_csv(spoilt / "runs.csv", keep_default_na=False)
    assert check(spoilt) == []
    lost = runs[(runs["classifier"] == "linear") & (runs["attribute"] == "race")].index[0]
    runs.drop(lost).to_csv(spoilt / "runs.csv", index=False)
    (problem,) = check(spoilt)
    assert "runs are missing, the first: attribute race" in problem


def test_without_a_declaration_the_check_fails(spoilt):
    (spoilt / "grid.yml").unlink()
    assert any("no grid.yml" in problem for problem in check(spoilt))


def test_issue_grids_that_are_not_finished_are_partial_not_absent():
    table = declared.progress(declared.read(), read_recorded()).set_index(["grid", "attribute"])
    assert table.loc[("linear LIC_M", "gender"), "state"] == "✓ complete"
    names = " ".join(table.index.get_level_values(0))
    assert all(name in names for name in ("lstm upstream", "lstm paired LIC_D", "bert-pre LIC_M", "bert-ft LIC_D"))  # fmt: skip
