"""Words from recorded rows: they must move when the rows do."""

import pandas as pd
import pytest

from relic.calibration import report
from relic.errors import RelicError


def study_frame(above: int, n: int = 10) -> pd.DataFrame:
    """n corpora at gain 0; of the corrected intervals `above` lie above 0, the rest straddle it."""
    rows = []
    for i in range(n):
        lic = 2.0 if i < above else 0.0
        row = {"images": 100, "corpus_seed": i, "captioner": "planted_none", "gain": 0.0,
               "score": "plain", "true_model": 30.0, "true_data": 30.0, "true_lic": 0.0,
               "lic_model": 30.0 + lic, "lic_data": 30.0, "lic": lic, "n_test": 10,
               "corrected_low": lic - 1, "corrected_high": lic + 1}  # fmt: skip
        for method in ("uncorrected", "independent", "images"):
            row |= {f"{method}_low": -5.0, f"{method}_high": 5.0}
        rows.append(row)
    return pd.DataFrame(rows)


def test_headline_says_it_holds_its_level_when_the_exact_interval_allows_it():
    text = report.headline(study_frame(above=0, n=200))
    assert "holds its level, as far as 200 corpora can tell" in text
    assert "does **not**" not in text
    assert "not finished" not in text


def test_headline_says_that_a_study_is_not_finished():
    text = report.headline(study_frame(above=0, n=60))
    assert "The study is not finished: 200 corpora are planned" in text


def test_headline_says_it_does_not_hold_when_too_many_are_above_0():
    text = report.headline(study_frame(above=60, n=200))
    assert "does **not** hold its level" in text


def test_headline_tells_the_shares():
    """Four of 200 above 0: 2 % false positives, and 98 % hold the truth."""
    text = report.headline(study_frame(above=4, n=200))
    assert "200 synthetic corpora" in text
    assert "above 0 in 2.0 % (" in text
    assert "true LIC in 98.0 % (" in text


def test_calibrate_refuses_an_unknown_what():
    with pytest.raises(RelicError, match="study or grid"):
        report.calibrate("guess")


def test_calibrate_refuses_an_unknown_classifier():
    with pytest.raises(RelicError, match="bert-pre"):
        report.calibrate("grid", classifier="spacy")


def test_recorded_study_says_how_to_get_one_when_missing(tmp_path):
    with pytest.raises(RelicError, match="relic calibrate study"):
        report.recorded_study(tmp_path / "nope.csv")


def test_level_table_has_one_row_a_method_and_score():
    table = report.level_table(report.calibration.rates(study_frame(above=1, n=20)))
    assert len(table) == 4  # four methods, one score (plain)
    assert set(table.columns) >= {"interval", "width", "covers truth (95 %)"}


def test_holds_is_true_only_when_both_bounds_are_met():
    good = {"covers truth, high": 95, "above 0, low": 1}
    bad_coverage = {"covers truth, high": 90, "above 0, low": 1}
    bad_fp = {"covers truth, high": 95, "above 0, low": 10}
    assert report.holds(pd.Series(good))
    assert not report.holds(pd.Series(bad_coverage))
    assert not report.holds(pd.Series(bad_fp))


def grid_frame(found_at_top: float) -> pd.DataFrame:
    """Two corpora: right without gain, `found_at_top` of 10 points at gain 1."""
    rows = []
    for seed in (0, 1):
        top = found_at_top + 0.01 * seed
        for gain, true, lic in ((0.0, 0.0, 0.1 - 0.2 * seed), (1.0, 10.0, top)):
            rows.append(
                {"gain": gain, "images": 4000, "stock": 0.7, "vocabulary": 0.75,
                 "classifier": "linear", "recipe": "C=0.1", "corpus_seed": seed, "score": "plain",
                 "true_model": 30 + true, "true_data": 30.0, "true_lic": true,
                 "lic_model": 30 + lic, "lic_data": 30.0, "lic": lic,
                 "seen_model": 5.0, "n_train": 100}
            )  # fmt: skip
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("found", "words"),
    [(7.0, "LIC finds too little"), (13.0, "LIC finds too much"), (9.995, "no bias of LIC shows")],
)
def test_the_direction_of_the_bias_follows_its_interval(found, words):
    text = report.grid_headline(grid_frame(found))
    assert f"At gain 1 {words}" in text
    assert "Without amplification no bias of LIC shows" in text


def test_classifiers_that_are_not_recorded_are_named():
    table = report.calibration_grid.classifier_table(grid_frame(7.0), images=4000)
    assert "Not recorded yet: bert-pre, lstm, bert-ft" in report.classifier_sentence(table)
