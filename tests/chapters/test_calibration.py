"""Null checks and calibration: frames worked out by hand, a study that survives a kill, the record."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from relic import paths
from relic.chapters.calibration import figures, grid, nulls, record, study
from relic.chapters.calibration.command import calibrate
from relic.errors import RelicError

TINY, SEEDS = 220, (0, 1)
T1, T2, T3 = 12.7062, 4.30265, 3.18245  # t at 97.5 % with 1, 2 and 3 degrees of freedom


# Runs by hand


def frame(scores: dict[tuple, list[float]], **options) -> SimpleNamespace:
    """Runs from (captioner, side, caption) to scores by seed."""
    rows = [
        {
            "corpus": "COCO captions", "attribute": "gender", "classifier": "linear", "encoder": "",
            "recipe": "C=0.1", "batching": "", "split": "paired", "captioner": captioner, "side": side,
            "caption_index": index, "seed": seed, "score": score, "accuracy": score + 20,
            "auc": score + 21, "n_test": 100,
        }
        | options
        for (captioner, side, index), values in scores.items()
        for seed, score in enumerate(values)
    ]  # fmt: skip
    return SimpleNamespace(frame=pd.DataFrame(rows))


TWO = {("nic", "human", 0): [10.0, 12.0], ("nic", "human", 1): [14.0, 12.0]}


def test_one_human_caption_against_the_others():
    """Caption 1 less caption 2: −4 and 0, mean −2; caption 2 the reverse. s = 2√2."""
    zeros = nulls.human_zero(frame(TWO))
    assert zeros["lic"].tolist() == [-2.0, 2.0]
    assert zeros[["caption", "words of"]].to_numpy().tolist() == [[1, "NIC"], [2, "NIC"]]
    assert zeros["high"][1] == pytest.approx(2 + T1 * 8**0.5 * (1 / 2 + 1 / 9) ** 0.5, abs=1e-3)
    assert nulls.misses(zeros) == 0
    sure = {("nic", "human", 0): [10.0, 10.1, 9.9], ("nic", "human", 1): [14.0, 14.1, 13.8]}
    assert nulls.misses(nulls.human_zero(frame(sure))) == 2


def test_one_human_caption_alone_is_refused():
    with pytest.raises(RelicError, match="no other"):
        nulls.human_zero(frame({("nic", "human", 0): [10.0, 12.0]}))


def test_chance_is_a_mean_over_captioners_split_by_split():
    """Scores 28, 30 and 30, 32: by split 29 and 31, so 30 with s = √2."""
    runs = frame({("nic", "model", 0): [28.0, 30.0], ("sat", "model", 0): [30.0, 32.0]})
    row = nulls.chance(runs).iloc[0]
    assert (row["captions"], row["runs"], row["seeds"]) == ("generated", 4, 2)
    assert (row["score"], row["accuracy"], row["AUC"]) == (30.0, 50.0, 51.0)
    assert row["score low"] == pytest.approx(30 - T1 * 2**0.5 * (11 / 18) ** 0.5, abs=1e-3)


def test_pairing_removes_what_both_share():
    """LIC_M is LIC_D plus one in every split: paired, nothing is left to vary."""
    lic = pd.DataFrame({"captioner": "NIC", "seed": [0, 1, 2], "lic_model": [31.0, 35, 39],
                        "lic_data": [30.0, 34, 38], "lic": [1.0, 1, 1]})  # fmt: skip
    row = nulls.pairing(lic).iloc[0]
    assert row["paired"] == pytest.approx(0)
    # each side: s = 4, error 4·√(1/3 + 1/9); together √2 times that, t with 4 degrees of freedom
    assert row["as if independent"] == pytest.approx(2 * 2.77645 * 2**0.5 * 4 * (2 / 3), abs=1e-3)


def test_pairing_of_two_captioners():
    """Both rise by the same from split to split: their difference does not vary."""
    lic = pd.DataFrame({"captioner": ["NIC"] * 3 + ["SAT"] * 3, "seed": [0, 1, 2] * 2,
                        "lic_data": 30.0, "lic": [2.0, 4, 9, 1, 3, 8]})  # fmt: skip
    found = nulls.pairing(lic.assign(lic_model=lic["lic"] + 30)).set_index("captioner")
    assert found.loc["NIC − SAT", "ratio"] == pytest.approx(0)
    assert found.loc["NIC", "ratio"] == pytest.approx(1)  # LIC_D does not vary


# The study of the intervals


def rows(intervals: list[tuple[float, float, float]], true: float = 0.0, gain: float = 0.0):
    """Rows of a study from (estimate, low, high), the same for every method."""
    ends = {f"{m}_{end}": k for m in study.METHODS for end, k in (("low", 1), ("high", 2))}
    return pd.DataFrame(
        {"gain": gain, "score": "plain", "true_model": 30 + true, "true_data": 30.0, "true_lic": true,
         "lic_model": 31 + each[0], "lic_data": 31.0, "lic": each[0], "n_train": 90}
        | {name: each[k] for name, k in ends.items()}
        for each in intervals
    )  # fmt: skip


FOUR = [(1.0, -1.0, 3.0), (-1.0, -3.0, 1.0), (2.0, 0.5, 3.5), (0.0, -2.0, 2.0)]


def shares(table: pd.DataFrame, method: str = "corrected") -> pd.Series:
    own = table[table["interval"] == study.METHODS[method]]
    return own.set_index("question")["share"]


def test_exact_interval_inverts_the_binomial_tails():
    found = study.exact(5, 200)
    assert found.mean == 2.5
    assert binom.sf(4, 200, found.low / 100) == pytest.approx(0.025)
    assert binom.cdf(5, 200, found.high / 100) == pytest.approx(0.025)
    assert study.exact(200, 200).low == pytest.approx(100 * 0.025 ** (1 / 200))


def test_rates_count_what_the_intervals_do():
    """Mean estimate 0.5. The third interval misses the truth 0; all hold 0.5, its end included."""
    table = study.rates(rows(FOUR))
    assert shares(table).to_dict() == {study.TRUTH: 75, study.MEAN: 100, study.ABOVE: 25}
    first = table.iloc[0]
    assert (first["corpora"], first["nominal"], first["width"]) == (4, 95, (4 + 4 + 3 + 4) / 4)
    assert (first["low"], first["high"]) == study.exact(3, 4)[1:]


def test_rates_tell_coverage_of_the_truth_from_coverage_of_the_mean():
    """0.5 is found where 3.2 is true: one interval holds the truth, four the mean; power has no nominal."""
    table = study.rates(rows(FOUR, true=3.2, gain=0.5))
    assert shares(table, "images")[[study.TRUTH, study.MEAN]].tolist() == [25, 100]
    nominal = table.set_index("question")["nominal"]
    assert nominal[study.ABOVE].isna().all()


def test_rates_leave_out_a_method_without_intervals():
    without = rows(FOUR).assign(images_low=np.nan, images_high=np.nan)
    assert study.METHODS["images"] not in set(study.rates(without)["interval"])


def test_intervals_over_splits_by_hand():
    """Differences 1, 3, 5: mean 3, s = 2."""
    lic = pd.DataFrame({"lic_model": [40.0, 42, 44], "lic_data": 39.0, "lic": [1.0, 3, 5]})
    found = study.ends(lic)
    assert found["uncorrected_low"] == pytest.approx(3 - T2 * 2 / 3**0.5, abs=1e-4)
    assert found["corrected_high"] == pytest.approx(3 + T2 * 2 * (1 / 3 + 1 / 9) ** 0.5, abs=1e-4)
    assert found["independent_low"] == pytest.approx(found["corrected_low"])  # LIC_D does not vary
    assert np.isnan(found["images_low"])


def test_interval_over_images_by_hand():
    """All images score 60 and, twice, 50: whatever is drawn, the difference is 10."""
    runs = study.Measured(
        pd.DataFrame({"key": ["m", "a", "b"], "side": ["model", "human", "human"]}),
        pd.DataFrame({"key": list("mab") * 5, "image_id": np.repeat(range(5), 3), "score": [60.0, 50, 50] * 5}),
    )  # fmt: skip
    found = study.ends(pd.DataFrame({"lic_model": [60.0] * 2, "lic_data": 50.0, "lic": 10.0}), runs)
    assert (found["images_low"], found["images_high"]) == pytest.approx((10, 10))


def test_a_corpus_through_the_pipeline():
    """Both captioners have one LIC_D, and the planted truth; 1004 is divisible by four: scaled too."""
    found = study.measure(TINY, 1004, SEEDS).set_index(["captioner", "score"])
    assert set(found.index.unique("score")) == {"plain", "matched", "scaled"}
    none, gained = (found.loc[each.key] for each in (study.FAITHFUL, study.GAINED))
    assert none.loc["plain", "lic_data"] == gained.loc["plain", "lic_data"]
    assert none["true_lic"].eq(0).all()
    assert gained["true_lic"].gt(4).all()
    assert np.allclose(found["lic_model"] - found["lic_data"], found["lic"])
    assert found["images_low"].notna().tolist() == [True, False, False] * 2


def test_a_killed_study_goes_on_and_ends_as_if_it_had_not_been_killed(tmp_path, monkeypatch):
    code = (
        "from pathlib import Path; from relic import paths; "
        f"paths.RESULTS = Path({str(tmp_path / 'killed')!r}); "
        f"from relic.chapters.calibration.study import study; study(50, {TINY}, {SEEDS})"
    )
    environment = os.environ | {"PYTHONPATH": str(paths.ROOT)}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.DEVNULL)  # fmt: skip
    file, deadline = tmp_path / "killed" / "calibration" / "study.csv", time.time() + 120
    while not file.exists() and process.poll() is None and time.time() < deadline:
        time.sleep(0.05)
    process.kill()
    process.wait()
    monkeypatch.setattr(paths, "RESULTS", tmp_path / "killed")
    survivors = record.read("study").groupby("corpus_seed").size()
    assert survivors.isin([4, 6]).all()  # whole corpora only

    measured, real = [], study.measure
    monkeypatch.setattr(
        study, "measure", lambda images, seed, seeds: measured.append(seed) or real(images, seed, seeds)
    )  # fmt: skip
    study.study(len(survivors) + 1, TINY, SEEDS)
    assert measured == [study.FIRST_SEED + len(survivors)]
    resumed = record.read("study")
    monkeypatch.setattr(paths, "RESULTS", tmp_path / "other")
    study.study(1, TINY, SEEDS)
    first = resumed[resumed["corpus_seed"] == study.FIRST_SEED].reset_index(drop=True)
    pd.testing.assert_frame_equal(first, record.read("study"))
    assert (tmp_path / "other" / "calibration" / "provenance.json").exists()


def test_the_recorded_study_can_be_computed_again():
    """One recorded corpus; part of the record was bootstrapped with other draws."""
    known = record.read("study").query("images == @study.IMAGES and corpus_seed == 1001")
    known = known[known["score"] == "plain"].set_index("captioner")
    again = study.measure(study.IMAGES, 1001).query("score == 'plain'").set_index("captioner")
    for column, near in (("lic", 1e-3), ("corrected_low", 1e-3), ("images_low", 0.5)):
        assert again[column].to_numpy() == pytest.approx(known[column].to_numpy(), abs=near)


def test_the_recorded_study_is_whole():
    plain = record.read("study").query("score == 'plain' and images == @study.IMAGES")
    assert plain.groupby("captioner")["corpus_seed"].nunique().min() >= 200
    assert not plain.duplicated(["captioner", "corpus_seed"]).any()
    assert plain["n_seeds"].eq(10).all()


# The grid of biases


def row(lic: float, gain=1.0, true_lic=10.0, corpus_seed=0, score="plain", **options) -> dict:
    setting = {"gain": gain, "images": 4000, "stock": 0.7, "vocabulary": 0.75,
               "classifier": "linear", "recipe": "C=0.1"} | options  # fmt: skip
    return setting | {"score": score, "true_model": 40.0, "true_data": 30.0, "true_lic": true_lic,
                      "lic_model": 30 + lic, "lic_data": 30.0, "lic": lic, "n_train": 100,
                      "corpus_seed": corpus_seed}  # fmt: skip


def test_bias_by_hand():
    """Estimates 1, −1, 2, 0 around a truth of 2: bias −1.5, s = 1.29099."""
    found = grid.bias_table(rows(FOUR, true=2.0), ["gain"]).iloc[0]
    assert (found["corpora"], found["bias"]) == (4, pytest.approx(-1.5))
    assert found["high"] - found["bias"] == pytest.approx(T3 * 1.29099 / 2, abs=1e-4)
    assert found["bias of LIC_M"] == pytest.approx(-0.5)  # 31.5 of 32
    assert found["bias of LIC_D"] == pytest.approx(1.0)


def test_settings_change_one_factor_at_a_time():
    wanted = grid.settings()
    assert len(wanted) == len(set(wanted))
    for factor, levels in grid.FACTORS.items():
        assert {getattr(s, factor) for s in wanted} == set(levels)
    changed = [
        sum(getattr(s, k) != getattr(grid.BASE, k) for k in grid.KEYS if k != "gain")
        for s in wanted
    ]
    assert max(changed) == 1


def test_factor_table_keeps_the_base_elsewhere_and_two_gains():
    table = grid.factor_table(
        pd.DataFrame([row(0.2, 0.0, 0.0), row(0.1, 0.0, 0.0, 1), row(8.0), row(5.0, images=1000),
                      row(1.0, classifier="lstm"), row(2.0, 0.5), row(3.0, score="scaled")]),
        "images",
    ).set_index(["images", "gain"])  # fmt: skip
    expected = {(1000, 1.0): -5.0, (4000, 0.0): 0.15, (4000, 1.0): -2.0}
    assert table["bias"].to_dict() == pytest.approx(expected)


def test_classifiers_are_compared_with_their_first_recipe():
    small = {"images": grid.CLASSIFIER_IMAGES}
    both = [row(8.0, **small), row(9.0, recipe="C=1", **small), row(5.0, classifier="lstm", recipe="upstream", **small)]  # fmt: skip
    table = grid.classifier_table(pd.DataFrame(both)).set_index("classifier")
    assert table["LIC"].to_dict() == {"linear": 8.0, "lstm": 5.0}


def test_the_score_rises_with_confidence_alone():
    """Predictions stay; what is right is right with more confidence, so both sides score more."""
    found = grid.measure(replace(grid.BASE, images=300), 1, fresh=300)
    table = grid.confidence_table(found.assign(images=grid.BASE.images))
    assert table["score"].tolist() == list(grid.SHARPNESS)  # from unsure to sure
    assert table["bias of LIC_M"].is_monotonic_increasing
    assert table["bias of LIC_D"].is_monotonic_increasing


def test_grid_goes_on_where_it_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    small, real, calls = replace(grid.BASE, images=300), grid.measure, []
    monkeypatch.setattr(
        grid, "measure", lambda *args, known: calls.append(args) or real(*args, fresh=300, known=known)
    )  # fmt: skip
    grid.grid([small], corpora=1)
    grid.grid([small], corpora=2)
    assert calls == [(small, grid.FIRST_SEED), (small, grid.FIRST_SEED + 1)]
    assert record.read("grid").groupby("corpus_seed").size().tolist() == [6, 6]


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


# Figures


def test_truth_figure_draws_the_intervals():
    table = pd.DataFrame({"gain": [0.0, 1], "true LIC": [0.0, 5], "LIC": [-0.1, 3],
                          "bias": [-0.1, -2], "low": [-0.5, -2.5], "high": [0.3, np.nan]})  # fmt: skip
    axes = figures.truth_figure(table)
    (segments,) = [c.get_segments() for c in axes.collections]
    assert segments[0][:, 1].tolist() == pytest.approx([-0.5, 0.3])
    assert [text.get_text() for text in axes.texts] == ["gain 0", "gain 1"]


def test_bias_figure_has_a_panel_a_factor_and_a_line_a_gain():
    table = pd.DataFrame({"images": [500, 4000] * 2, "gain": [0.0, 0, 1, 1], "bias": [0, 0, -2, -1],
                          "low": -3.0, "high": 1.0})  # fmt: skip
    axes = figures.bias_figure({"images": table, "one": table, "another": table})
    assert sum(panel.get_visible() for panel in axes.figure.axes) == 3
    assert [label.get_text() for label in axes.get_xticklabels()] == ["500", "4k"]
    assert axes.get_legend_handles_labels()[1] == ["gain 0", "gain 1"]
