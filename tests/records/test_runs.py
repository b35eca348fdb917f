"""Published runs: condensed, read back, checked, and without what must not be published."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from relic import cli
from relic.errors import RelicError
from relic.judge.lic import intervals, lic_table
from relic.measure.runs import Outcome, Run, Store
from relic.records.check import check
from relic.records.runs import (
    own_frame,
    publish,
    read_outcomes,
    read_recorded,
)

LINEAR = Run(
    "COCO captions", "gender", "nic", "linear", recipe="C=0.1", fingerprint="f", code="1.1"
)

GRID = """
grids:
  two:
    - {status: partial, attribute: gender, captioner: nic, classifier: linear, recipe: C=0.1}
    - {status: partial, attribute: race, captioner: nic, classifier: linear}
"""


def outcome(run, p=(0.75, 0.1, 0.6)):
    images = pd.DataFrame(
        {
            "image_id": [5, 7, 9],
            "y": [1, 0, 0],
            "p": p,
            "seen_raw": [True, False, False],
            "seen_masked": [True, True, False],
        }
    )
    scores = {
        "score": 55.0,
        "accuracy": 66.7,
        "auc": 100.0,
        "unseen_score": 0.0,
        "n_unseen": 1,
        "n_train": 30,
        "n_test": 3,
        "seconds": 0.1,
    }
    return Outcome(run, scores, images)


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "runs")
    store.put(outcome(LINEAR))
    return store


def test_published_runs_come_back_with_their_keys(store, tmp_path):
    results = tmp_path / "results"
    publish(store, results)
    frame = read_recorded(results)
    assert frame["key"].tolist() == [LINEAR.key]
    assert frame.loc[0, ["captioner", "vocabulary", "encoder"]].tolist() == ["nic", "", ""]
    (results / "grid.yml").write_text(GRID)
    assert check(results) == []
    assert json.loads((results / "provenance.json").read_text())["runs"] == 1


def test_outcomes_hold_scores_and_flags_but_no_class(store, tmp_path):
    publish(store, tmp_path / "results")
    outcomes = read_outcomes(tmp_path / "results")
    assert list(outcomes.columns) == ["key", "image_id", "score", "unseen_raw", "unseen"]
    assert outcomes["score"].tolist() == pytest.approx([75, 90, 0])
    assert outcomes["unseen"].tolist() == [False, False, True]


def test_pieces_add_up_and_the_same_run_is_replaced(store, tmp_path):
    results = tmp_path / "results"
    publish(store, results)
    other = Store(tmp_path / "more")
    other.put(outcome(LINEAR))
    other.put(outcome(Run("COCO captions", "race", "nic", "linear")))
    assert len(publish(other, results)) == 2
    (results / "grid.yml").write_text(GRID)
    assert len(read_outcomes(results)) == 6
    assert check(results) == []


def test_a_later_version_replaces_the_earlier_one(store, tmp_path):
    results = tmp_path / "results"
    publish(store, results)
    store.put(outcome(replace(LINEAR, code="1.2")))  # the store holds both versions
    assert publish(store, results)["code"].tolist() == ["1.2"]
    other = Store(tmp_path / "more")
    other.put(outcome(replace(LINEAR, code="1.2", fingerprint="of other captions")))
    assert publish(other, results)["fingerprint"].tolist() == ["of other captions"]
    (results / "grid.yml").write_text(GRID)
    assert check(results) == []


def test_synthetic_runs_are_not_published_as_real(tmp_path):
    store = Store(tmp_path / "runs")
    store.put(outcome(LINEAR))
    store.put(outcome(Run("embedded corpus (synthetic)", "gender", "planted_none", "linear")))
    assert publish(store, tmp_path / "results")["corpus"].unique().tolist() == ["COCO captions"]


def test_outcomes_only_where_intervals_need_them(tmp_path):
    store = Store(tmp_path / "runs")
    for options in (
        {},
        {"labels": "permuted"},
        {"size": 4},
        {"side": "human", "vocabulary": "none"},
    ):
        store.put(outcome(Run("COCO captions", "gender", "sat", "linear", **options)))
    publish(store, tmp_path / "results")
    assert read_outcomes(tmp_path / "results")["key"].nunique() == 1


def test_recorded_and_own_runs_are_told_apart(store, monkeypatch, capsys):
    shown = ["results", "show", "--captioner", "nic", "--store", str(store.directory)]
    cli.app([*shown, "--classifier", "linear"], standalone_mode=False)
    text = capsys.readouterr().out
    assert "LIC, recorded, percentage points" in text
    row = next(line for line in text.splitlines() if line.startswith("     own "))
    assert row.split()[-3:] == ["1", "55.00", "NaN"]  # runs, mean, spread
    cli.app([*shown, "--source", "own", "--csv"], standalone_mode=False)
    assert len(capsys.readouterr().out.splitlines()) == 2
    with pytest.raises(RelicError, match="no runs with captioner 'cat'"):
        cli.app(["results", "show", "--captioner", "cat"], standalone_mode=False)


def test_lic_is_model_less_the_mean_of_its_human_captions(tmp_path):
    store = Store(tmp_path / "runs")
    for seed, (model, humans) in enumerate([(50, (40, 44)), (52, (41, 43))]):
        choices = {"split": "paired", "seed": seed}
        run = Run("COCO captions", "gender", "nic", "linear", **choices)
        store.put(Outcome(run, outcome(run).scores | {"score": model}, outcome(run).images))
        for index, score in enumerate(humans):
            run = Run(
                "COCO captions",
                "gender",
                "nic",
                "linear",
                side="human",
                vocabulary="captioner",
                caption_index=index,
                **choices,
            )
            store.put(Outcome(run, outcome(run).scores | {"score": score}, outcome(run).images))
    odd = Run("COCO captions", "gender", "nic", "linear", labels="permuted")
    store.put(outcome(odd))
    frame = own_frame(store)
    (row,) = intervals(lic_table(frame[frame["labels"] == "true"])).to_dict("records")
    assert (row["captioner"], row["seeds"], row["lic"]) == ("NIC", 2, 9.0)


def test_check_names_what_is_wrong(store, tmp_path):
    results = tmp_path / "results"
    publish(store, results)
    frame = pd.read_csv(results / "runs.csv")
    frame.assign(seed=99).to_csv(results / "runs.csv", index=False)
    assert "another key" in check(results)[0]
    frame.assign(score=10.0).to_csv(results / "runs.csv", index=False)
    assert any("do not give its score" in problem for problem in check(results))
    outcomes = read_outcomes(results).assign(y=1)
    outcomes.to_parquet(results / "outcomes.parquet")
    assert any("other columns" in problem for problem in check(results))


def test_an_empty_store_is_not_published(tmp_path):
    with pytest.raises(RelicError, match="holds no runs"):
        publish(Store(tmp_path / "none"), tmp_path / "results")


def test_the_committed_results_are_sound():
    assert check() == []


def test_recorded_linear_runs_can_be_computed_again(real_data):
    from relic.data.load import load_corpus
    from relic.measure.runs import compute, describe

    recorded = read_recorded()
    recorded = recorded[(recorded["classifier"] == "linear") & (recorded["labels"] == "true")]
    for row in recorded.sample(6, random_state=1).to_dict("records"):
        fields = {
            n: row[n]
            for n in (
                "captioner",
                "classifier",
                "side",
                "caption_set",
                "caption_index",
                "vocabulary",
                "split",
                "seed",
                "size",
            )
        }
        corpus = load_corpus(row["attribute"], row["corpus"])
        run = describe(corpus, **fields)
        assert run.key == row["key"]
        assert compute(corpus, run).scores["score"] == pytest.approx(row["score"], abs=1e-6)
