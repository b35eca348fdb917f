"""relic.gender_score.formula: the worked values of METHODS, limits, bad values, the paper's leakage."""

import numpy as np
import pytest

from relic.errors import RelicError
from relic.gender_score import belief_revision, leakage, ratio_to_men, ratio_to_neutral, truncated
from relic.gender_score.tables import leakage_check

MAN = {"prior": 0.12759140133857727, "similarity": 0.5452305674552917, "confidence": 0.2183}
WOMAN = {"prior": 0.11249390989542007, "similarity": 0.5037289261817932, "confidence": 0.2183}


def test_the_worked_values():
    assert belief_revision(**MAN) == pytest.approx(0.45320714150193153, abs=1e-9)
    assert belief_revision(**WOMAN) == pytest.approx(0.39912252800731546, abs=1e-9)
    ratio = 100 * ratio_to_men(belief_revision(**MAN), belief_revision(**WOMAN))
    assert ratio == pytest.approx(53.17275201306536, abs=1e-9)


def test_arrays_give_what_floats_give():
    both = belief_revision(*([MAN[k], WOMAN[k]] for k in ("prior", "similarity", "confidence")))
    assert both.tolist() == [belief_revision(**MAN), belief_revision(**WOMAN)]
    assert isinstance(belief_revision(**MAN), float)


@pytest.mark.parametrize(
    ("prior", "similarity", "confidence", "expected"),
    [
        (0.25, 0.0, 0.3, 0.25),  # no relation: the prior stays
        (0.25, 1.0, 0.3, 1.0),  # the same text: certain
        (0.25, -1.0, 0.3, 0.0),  # the opposite: impossible
        (0.25, 0.6, 1.0, 0.25),  # a sure object tells nothing
        (0.25, 1.0, 1.0, 0.25),
        (0.25, -1.0, 1.0, 0.25),
        (0.25, 0.6, 0.0, 0.25**0.25),  # (1 - .6) / (1 + .6) = 1/4
        (0.0, 0.5, 0.5, 0.0),
        (1.0, -0.5, 0.5, 1.0),
        (0.25, 1.0 + 1e-7, 0.3, 1.0),  # a cosine in single precision
    ],
)
def test_limits_by_hand(prior, similarity, confidence, expected):
    assert belief_revision(prior, similarity, confidence) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ((1.2, 0.1, 0.5), "a prior of 1.2"),
        ((0.1, 0.1, -0.5), "a confidence of -0.5"),
        ((0.1, 1.1, 0.5), "a similarity of 1.1"),
        (([0.1, 0.2], [0.1, -3], 0.5), "a similarity of -3"),
    ],
)
def test_values_out_of_range_are_errors(values, named):
    with pytest.raises(RelicError, match=named):
        belief_revision(*values)


def test_missing_values_stay_missing():
    assert np.isnan(belief_revision(np.nan, 1.0, 0.5))  # NumPy's nan ** 0 is 1
    assert np.isnan(belief_revision([0.5, 0.5], [np.nan, 0.1], 0.5)).tolist() == [True, False]


def test_ratios_by_hand():
    assert ratio_to_men(3, 1) == 0.75
    assert ratio_to_men([3, 0, -1], [1, 0, 2]).tolist()[0] == 0.75
    assert np.isnan(ratio_to_men([0, -1, 1], [0, 2, -0.5])).all()
    assert ratio_to_neutral(0.3, 0.6) == 0.5
    assert np.isnan(ratio_to_neutral(0.3, 0.0))


def test_leakage_of_the_papers_counts():
    """METHODS: table 5's counts over 930 and 291 give table 3's columns but for three cells."""
    assert (truncated(leakage(792, 930)), truncated(leakage(408, 291))) == (0.85, 1.40)
    table = leakage_check()
    assert len(table) == 14
    wrong = table[~table["follows"]][["captioner", "gender"]].to_records(index=False).tolist()
    assert wrong == [("AoANet", "woman"), ("OSCAR", "man"), ("BLIP-2", "man")]
    with pytest.raises(RelicError):
        leakage(3, 0)
