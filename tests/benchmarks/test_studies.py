"""Studies of our own instruments: what they measure again, and one that survives a kill."""

import os
import subprocess
import sys
import time

import pandas as pd
import pytest

from benchmarks import bias, intervals
from benchmarks.studies import calibrate
from relic import paths
from relic.chapters import calibration, learning
from relic.errors import RelicError
from relic.records.tables import read_table


@pytest.fixture(scope="module")
def page(executed):
    """The page's names, as far as its table of biases."""
    return executed("45_calibration", until="def bias_table")


def test_images_are_left_out_of_the_larger_class_or_of_the_rarer():
    """Two of class 1, six of class 0: even 2 and 2; one in six keeps 1 and 6; one in three as it is."""
    labels = pd.Series([0, 1, 0, 0, 1, 0, 0, 0])
    kept = {r: intervals.thinned(labels, r).value_counts().to_dict() for r in (1, 1 / 6, 1 / 3)}
    assert kept == {1: {0: 2, 1: 2}, 1 / 6: {0: 6, 1: 1}, 1 / 3: {0: 6, 1: 2}}
    assert intervals.thinned(labels, 1).index.tolist() == [0, 1, 2, 4]  # the first of each


TINY_STUDY = {size: {"gender": 260, "race": 900, "even": 260, "uneven": 900} for size in ("race", "gender")}  # fmt: skip


def test_a_corpus_has_three_gains_and_every_fifth_forty_splits(monkeypatch):
    monkeypatch.setattr(intervals, "IMAGES", TINY_STUDY)
    plain, many = (intervals.measure("race", "gender", seed) for seed in (20_001, 20_004))
    assert plain["true_lic"].tolist() == sorted(plain["true_lic"])
    assert plain["true_lic"].iloc[0] == 0
    assert plain["lic_40"].isna().all()
    assert many[["lic_40", "lead_std_40"]].notna().all(axis=None)
    even = intervals.measure("race", "even", 20_004)  # gender's corpus with images left out
    assert even["true_lic"].equals(many["true_lic"])
    assert even["lic_40"].isna().all()
    assert not even["lic_10"].equals(many["lic_10"])


@pytest.mark.slow
def test_a_killed_study_goes_on_and_ends_as_if_it_had_not_been_killed(tmp_path, monkeypatch):
    code = (
        "from pathlib import Path; from relic import paths; "
        f"paths.RESULTS = Path({str(tmp_path / 'killed')!r}); "
        f"from benchmarks import intervals; from benchmarks.studies import calibrate; "
        f"intervals.IMAGES = {TINY_STUDY}; calibrate('intervals', 50)"
    )
    environment = os.environ | {"PYTHONPATH": str(paths.ROOT)}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.DEVNULL)  # fmt: skip
    file, deadline = tmp_path / "killed" / "calibration" / "intervals.csv", time.time() + 120
    while not file.exists() and process.poll() is None and time.time() < deadline:
        time.sleep(0.05)
    process.kill()
    process.wait()
    monkeypatch.setattr(paths, "RESULTS", tmp_path / "killed")
    survivors = read_table("calibration", "intervals").groupby(intervals.KEYS).size()
    assert survivors.eq(3).all()  # whole corpora only

    monkeypatch.setattr(intervals, "IMAGES", TINY_STUDY)
    calibrate("intervals", len(survivors) + 1)
    resumed = read_table("calibration", "intervals")
    assert not resumed.duplicated([*intervals.KEYS, "gain"]).any()
    monkeypatch.setattr(paths, "RESULTS", tmp_path / "other")
    calibrate("intervals", 1)
    first = resumed[resumed["corpus_seed"] == intervals.FIRST_SEED].reset_index(drop=True)
    pd.testing.assert_frame_equal(first, read_table("calibration", "intervals"))
    assert (tmp_path / "other" / "calibration" / "provenance.json").exists()


def test_a_recorded_corpus_can_be_computed_again():
    known = read_table("calibration", "intervals").query("size == 'race' and ratio == 'gender' and corpus_seed == 20_001")  # fmt: skip
    again = intervals.measure("race", "gender", 20_001)
    for column in ("lic_10", "std_10", "lead_3"):
        assert again[column].to_numpy() == pytest.approx(known[column].to_numpy(), abs=1e-3)


def test_both_sides_are_cut_before_they_are_learned():
    wordy = calibration.BASE._replace(images=300, sentences=3, gain=0.0, corpus_seed=1)
    plain, same = (
        bias.measure(*each, fresh=300).set_index("score").loc["plain"]
        for each in (wordy, wordy._replace(length=learning.SAME))
    )
    assert same["n_train"] == plain["n_train"]
    assert same["lic_model"] < plain["lic_model"]


def test_settings_change_one_factor_at_a_time():
    wanted = bias.settings()
    assert len(wanted) == len(set(wanted))
    for factor, levels in bias.FACTORS.items():
        assert {getattr(s, factor) for s in wanted} == set(levels)
    changed = [
        sum(
            getattr(s, k) != getattr(calibration.BASE, k)
            for k in s._fields
            if k not in ("gain", "length")
        )
        for s in wanted
    ]
    assert max(changed) == 1


def test_classifiers_are_wanted_with_their_first_recipe():
    settings = bias.wanted(corpora=1, classifier="lstm")
    assert [(s.classifier, s.recipe, s.gain, s.images) for s in settings] == [
        ("lstm", "upstream", gain, calibration.CLASSIFIER_IMAGES)
        for gain in calibration.SETTING_GAINS
    ]
    seeds = [s.corpus_seed for s in bias.wanted(corpora=2, images=500, classifier="linear")]
    assert seeds == [5000, 5001] * 2


def test_the_score_rises_with_confidence_alone(page):
    """Predictions stay; what is right is right with more confidence, so both sides score more."""
    rows = bias.measure(*calibration.BASE._replace(images=300, corpus_seed=1), fresh=300)
    table = page["bias_table"](rows, ["score"]).set_index("score")
    unsure_to_sure = table.loc[list(calibration.SHARPNESS)]
    assert unsure_to_sure["bias of LIC_M"].is_monotonic_increasing
    assert unsure_to_sure["bias of LIC_D"].is_monotonic_increasing


def test_grid_goes_on_where_it_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    real, calls = bias.measure, []
    monkeypatch.setattr(
        bias, "measure", lambda *values: calls.append(values) or real(*values, fresh=300)
    )
    for corpora in (1, 2):
        calibrate("grid", corpora, images=300, classifier="linear")
    wanted = bias.wanted(2, images=300, classifier="linear")
    assert sorted(calls) == sorted(wanted)  # each once
    recorded = read_table("calibration", "grid")
    assert recorded.groupby(["gain", "corpus_seed"]).size().tolist() == [6] * 4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"what": "guess"}, "curves, length, objects"),
        ({"what": "grid", "classifier": "spacy"}, "bert-pre"),
        ({"what": "grid", "corpora": -1}, "whole numbers"),
    ],
)
def test_calibrate_refuses_what_it_does_not_know(options, words):
    with pytest.raises(RelicError, match=words):
        calibrate(**options)
