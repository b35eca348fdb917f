"""What we found: sentences and verdicts follow the recorded numbers."""

import shlex

import pandas as pd
import pytest

from relic import claims, declared, evidence, findings, stand_in
from relic.calibration.grid import read_grid
from relic.calibration.study import read_study
from relic.gender_score.record import recorded
from relic.results import RECORDED, load_runs


@pytest.fixture(scope="module")
def every():
    return load_runs()


@pytest.fixture(scope="module")
def runs(every):
    """Of the linear classifier: complete, so that what else gets recorded changes no test."""
    return every[every["classifier"] == "linear"]


def judged(runs):
    return claims.judge_all(evidence.from_runs(runs, RECORDED))


def model(runs, captioner, **where):
    """Which rows are a captioner's own captions."""
    where = {"side": "model", "captioner": captioner, "classifier": "linear"} | where
    return (runs[list(where)] == pd.Series(where)).all(axis=1)


def test_a_verdict_changes_and_its_sentence_with_it(runs):
    text = findings.claims_found(judged(runs), runs)
    assert "Gender: **✓ supported** (linear, 10 splits). LIC is surely above 0 for 9 of 9" in text
    changed = runs.copy()
    changed.loc[model(runs, "nic", attribute="gender"), "score"] -= 20
    text = findings.claims_found(judged(changed), changed)
    assert (
        "Gender: **✗ not supported** (linear, 10 splits). LIC is surely above 0 for 8 of 9" in text
    )


def test_all_that_is_recorded_can_be_told(every):
    verdicts = judged(every)
    told = [
        findings.claims_found(verdicts, every), findings.repetition(verdicts, every),
        findings.recipe(every), stand_in.linear_for_lstm(every), findings.untested(every),
    ]  # fmt: skip
    assert not any("nan" in text for text in told)


def test_claims_without_runs_name_the_command(runs):
    text = findings.claims_found(judged(runs), runs)
    assert f"Not recorded yet: `{findings.COMMANDS['1']}`" in text
    names = [part.grid for part in declared.read()]
    for command in (*findings.COMMANDS.values(), findings.AGAIN, stand_in.LSTM):
        *start, begins = shlex.split(command)
        assert start == ["relic", "sweep", "--grid"]
        assert any(name.startswith(begins) for name in names)
    none = runs.iloc[:0]
    assert findings.claims_found([], none).count("Not recorded yet") == 5
    assert findings.repetition([], none).startswith("Not recorded yet")
    assert stand_in.linear_for_lstm(none).startswith("Not recorded yet")
    assert "not recorded yet" in findings.recipe(none)
    assert "No recorded run uses" in findings.untested(none)


def test_another_complete_classifier_is_told_and_carries_claim_1(runs):
    both = pd.concat([runs, runs.assign(classifier="lstm", recipe="upstream")])
    text = findings.claims_found(judged(both), both)
    assert "Others: lstm ✓. On unseen captions: linear ✗, lstm ✗." in text
    assert (
        "The least alike of 2 classifiers (linear, lstm) order the 9 captioners with τ = 1.00"
        in text
    )
    some = both[(both["classifier"] == "linear") | both["captioner"].isin(["nic", "oscar"])]
    text = findings.claims_found(judged(some), some)
    assert "Others: lstm (2 of 9 captioners) ✓." in text  # claim 3, LIC_M


def test_the_equalizers_lead_follows_the_unseen_captions(runs):
    changed = runs.copy()
    lost = model(runs, "nic_equalizer", attribute="gender", split="paired")
    changed.loc[lost, "unseen_score"] -= 20
    text = findings.repetition(judged(changed), changed)
    assert text.startswith(f"**{findings.SURVIVES[claims.NOT_SUPPORTED]}**")


def test_a_gain_on_unseen_captions_is_not_called_a_loss(runs):
    changed = runs.assign(
        unseen_score=runs["unseen_score"].where(runs["side"] == "human", runs["score"] + 5)
    )
    assert "Amplification itself does not shrink" in findings.repetition(judged(changed), changed)


def bert_pre(runs, recipe, shift):
    """Linear runs in the clothes of a frozen encoder."""
    kept = runs[(runs["classifier"] == "linear") & (runs["attribute"] == "gender")]
    kept = kept[(kept["split"] == "paired") & (kept["side"] == "model") & (kept["size"] == 0)]
    kept = kept[(kept["labels"] == "true") & (kept["caption_set"] == "standard")]
    return kept.assign(classifier="bert-pre", recipe=recipe, score=kept["score"] + shift)


@pytest.mark.parametrize(("shift", "said"), [(-6, ": as far as the papers"), (-1, ": not as far")])
def test_the_recipe_sentence_follows_its_runs(runs, shift, said):
    both = pd.concat([runs, bert_pre(runs, "5e-5x20", 0), bert_pre(runs, "1e-5x5", shift)])
    text = findings.recipe(both)
    assert f"moves LIC_M by −{-shift}.0 points (−{-shift}.0 to −{-shift}.0; captioners: 9)" in text
    assert said in text
    assert "5 epochs at 1e-5" in text  # no true minus in a learning rate


def test_linear_and_lstm_are_compared_on_the_same_seeds(runs):
    linear = runs[runs["split"] == "upstream"]
    lstm = linear[linear["seed"].isin([0, 12])].assign(classifier="lstm", recipe="upstream")
    same = pd.concat([linear, lstm.assign(seconds=100 * lstm["seconds"])])
    table = stand_in.side_by_side(same)
    assert table["lstm"].tolist() == pytest.approx(table["linear"].tolist())
    assert table["seeds"].tolist() == [2] * 9
    text = stand_in.linear_for_lstm(same)
    assert "r = 1.00" in text
    assert "100 times less" in text
    scores = lstm.groupby("captioner")["score"].transform("mean")
    upside_down = pd.concat([linear, lstm.assign(score=100 - scores)])
    assert "is open" in stand_in.linear_for_lstm(upside_down)


def test_where_the_lstms_lic_differs_follows_its_runs(runs):
    assert stand_in.lic_gap(runs) == ""
    lstm = runs[runs["seed"].isin([0, 12])].assign(classifier="lstm", recipe="upstream")
    lower = lstm.assign(score=lstm["score"] - 6 * (lstm["side"] == "human"))
    told = stand_in.lic_gap(pd.concat([runs, lower]))
    assert "+6.0 points from the linear classifier's (9 captioners, 2 splits)" in told
    assert "LIC_D -6.0. Most of it is LIC_D" in told
    raised = lstm.assign(score=lstm["score"] + 6 * (lstm["side"] == "model"))
    assert "Most of it" not in stand_in.lic_gap(pd.concat([runs, raised]))


def test_where_lic_is_biased_follows_study_and_grid():
    study, grid = read_study(), read_grid()
    assert "holds its level" in findings.where_biased(study, grid)
    wrong = study.assign(corrected_low=study["corrected_low"] + 50, lic=study["lic"] + 50)
    assert "does **not** hold its level" in findings.where_biased(wrong, grid)
    more = grid.assign(lic=grid["lic"] + 10)
    assert "LIC finds too much" in findings.where_biased(study, more)
    assert "Not recorded yet" in findings.where_biased(study.iloc[:0], grid)


def test_what_the_gender_score_adds_follows_its_intervals():
    scores = recorded("scores")
    assert "little contrast" in findings.gender_score_adds(scores)
    sharp = scores.assign(low=scores["to_m"] - 1e-9, high=scores["to_m"] + 1e-9)
    assert "36 of 36 pairs" in findings.gender_score_adds(sharp)


def test_untested_names_what_is_short_of_the_papers(runs):
    text = findings.untested(runs)
    assert "6,602 of the papers' 6,628 balanced images for gender" in text
    base = runs.assign(encoder="bert-base-uncased")
    assert f"{len(base[(base['labels'] == 'true') & (base['size'] == 0)])} recorded runs use" in findings.untested(base)  # fmt: skip
    whole = runs.assign(split="upstream")
    assert "Missing human captions" not in findings.untested(whole)
    assert "own LIC_D" not in findings.untested(whole)
