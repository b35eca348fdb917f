"""Scores by hand."""

import math

import numpy as np
import pytest
from scipy.special import expit

from relic.measure.score import caption_scores, fit_temperature, lic_score, summary


def test_the_limits_that_methods_names():
    classes = np.array([0, 1] * 50)
    assert lic_score(np.full(100, 0.5 + 1e-12), classes) == pytest.approx(25)  # uninformed, unsure
    assert lic_score(np.ones(100), classes) == 50  # uninformed, sure
    assert lic_score(classes.astype(float), classes) == 100


def test_one_half_is_class_0():
    assert caption_scores(np.array([0.5, 0.5]), np.array([0, 1])).tolist() == [0.5, 0]


def test_summary_by_hand():
    p, y = np.array([0.9, 0.4, 0.2, 0.7]), np.array([1, 1, 0, 0])
    scores = summary(p, y, [True, False, False, False], [True, True, False, False])
    assert scores["score"] == pytest.approx(100 * (0.9 + 0 + 0.8 + 0) / 4)
    assert scores["accuracy"] == 50
    assert scores["auc"] == 75  # of four pairs, three in order
    assert scores["score_class1"] == pytest.approx(45)
    assert scores["score_class0"] == pytest.approx(40)
    assert (scores["unseen_raw_score"], scores["n_unseen_raw"]) == (pytest.approx(80 / 3), 3)
    assert (scores["unseen_score"], scores["n_unseen"]) == (pytest.approx(40), 2)
    expected = -np.mean(np.log([0.9, 0.4, 0.8, 0.3]))
    assert scores["log_loss"] == pytest.approx(expected)


def test_nothing_unseen_is_not_a_number():
    scores = summary([0.6, 0.4], [1, 0], [True, True], [True, True])
    assert math.isnan(scores["unseen_score"])
    assert scores["n_unseen"] == 0


def test_temperature_undoes_overconfidence():
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 1.5, 20_000)
    classes = (rng.random(20_000) < expit(logits)).astype(int)
    assert fit_temperature(3 * logits, classes) == pytest.approx(3, rel=0.05)
    assert fit_temperature(logits / 2, classes) == pytest.approx(0.5, rel=0.05)
