"""The calibration grid: tables by hand, monotone in confidence, and resumable."""

from dataclasses import replace

import pandas as pd
import pytest

from relic.calibration import grid as calibration_grid
from relic.calibration.grid import (
    BASE,
    FACTORS,
    SHARPER,
    bias_table,
    classifier_settings,
    classifier_table,
    compute_grid,
    factor_table,
    measure,
    ordered,
    read_grid,
    settings,
)


def row(gain=1.0, images=4000, stock=0.7, vocabulary=0.75, classifier="linear", recipe="C=0.1",
        score="plain", true_lic=10.0, lic=9.0, corpus_seed=0) -> dict:  # fmt: skip
    return {"gain": gain, "images": images, "stock": stock, "vocabulary": vocabulary,
            "classifier": classifier, "recipe": recipe, "score": score, "true_model": 40.0,
            "true_data": 30.0, "true_lic": true_lic, "lic_model": 40.0 + lic - 10, "lic_data": 30.0,
            "lic": lic, "n_train": 100, "seen_model": 5.0, "corpus_seed": corpus_seed}  # fmt: skip


def test_settings_include_the_base_and_every_factor_at_its_levels():
    wanted = settings()
    assert BASE in wanted
    for factor, levels in FACTORS.items():
        assert {getattr(s, factor) for s in wanted} == set(levels)
    assert len(wanted) == len(set(wanted))


def test_classifier_settings_cover_both_gains_at_one_recipe():
    found = classifier_settings("linear", 500)
    assert {s.gain for s in found} == {0.0, 1.0}
    assert {s.recipe for s in found} == {"C=0.1"}
    assert {s.images for s in found} == {500}


def test_bias_table_by_hand():
    """9 and 11 around a truth of 10: bias −1 and 1, mean 0; error √2 / √2 = 1, t(1) = 12.7062."""
    frame = pd.DataFrame([row(lic=9.0, corpus_seed=0), row(lic=11.0, corpus_seed=1)])
    found = bias_table(frame, ["gain"]).iloc[0]
    assert found["bias"] == pytest.approx(0.0)
    assert found["bias, high"] == pytest.approx(12.7062, abs=1e-3)
    assert found["corpora"] == 2


def test_factor_table_keeps_the_base_elsewhere_and_two_gains():
    rows = [
        row(gain=0.0, images=4000, lic=0.2, true_lic=0.0),
        row(gain=0.0, images=4000, lic=0.1, true_lic=0.0, corpus_seed=1),
        row(gain=1.0, images=4000, lic=8.0, corpus_seed=0),
        row(gain=1.0, images=1000, lic=5.0, corpus_seed=0),  # another level of images
        row(gain=1.0, images=4000, lic=8.0, classifier="lstm", corpus_seed=0),  # not linear: excluded
    ]  # fmt: skip
    table = factor_table(pd.DataFrame(rows), "images")
    assert set(table["images"]) == {4000, 1000}
    at_4000 = table[(table["images"] == 4000) & (table["gain"] == 0.0)].iloc[0]
    assert at_4000["bias"] == pytest.approx(0.15)


def test_factor_table_scores_to_show():
    rows = [row(score="plain", lic=9.0), row(score="scaled", lic=9.5), row(score="x2", lic=9.9)]
    table = factor_table(pd.DataFrame(rows), "gain", ["plain", "scaled"])
    assert set(table["score"]) == {"plain", "scaled"}


def test_ordered_from_unsure_to_sure():
    rows = [{"gain": 0.0, "score": score, "bias": i} for i, score in
            enumerate(["x4", "plain", "x0.25", "x2", "x0.5"])]  # fmt: skip
    found = ordered(pd.DataFrame(rows))
    assert found["score"].tolist() == ["x0.25", "x0.5", "plain", "x2", "x4"]


def test_classifier_table_excludes_other_recipes_of_linear():
    rows = [row(classifier="linear", recipe="C=0.1", images=2000, lic=8.0),
            row(classifier="linear", recipe="C=1", images=2000, lic=8.0),
            row(classifier="lstm", recipe="upstream", images=2000, lic=5.0)]  # fmt: skip
    table = classifier_table(pd.DataFrame(rows), images=2000)
    assert sorted(table["classifier"]) == ["linear", "lstm"]


def test_the_score_rises_with_confidence_alone():
    """Predictions stay; what is right is right with more confidence, so both sides score more."""
    found = pd.DataFrame(measure(replace(BASE, images=300), 1, fresh=300)).set_index("score")
    for side in ("lic_model", "lic_data"):
        assert found.loc[list(SHARPER), side].is_monotonic_increasing
    assert found["true_lic"].nunique() == 1


def test_grid_resumes_where_it_left_off(tmp_path, monkeypatch):
    file = tmp_path / "grid.csv"
    calls, small, real = [], replace(BASE, images=300), measure

    def counting(*args, **kwargs):
        calls.append(args)
        yield from real(*args, **kwargs)

    monkeypatch.setattr(calibration_grid, "measure", counting)
    first = compute_grid([small], corpora=1, file=file, progress=False)
    assert len(calls) == 1
    again = compute_grid([small], corpora=1, file=file, progress=False)
    assert len(calls) == 1  # nothing new to compute
    pd.testing.assert_frame_equal(first, again, check_dtype=False)
    assert read_grid(file).equals(again)
