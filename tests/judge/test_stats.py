"""Statistics against values worked out by hand or given by their sources."""

import math

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

from relic.data.attribute import load_attribute
from relic.errors import RelicError
from relic.judge import stats
from relic.judge.lic import difference, estimates, shared_by
from relic.judge.stats import Estimate
from relic.records.evidence import spreadsheet


def per_seed(attribute, classifier):
    frame = spreadsheet(attribute)
    return frame[frame["classifier"] == classifier]


@pytest.mark.parametrize(
    ("captioner", "mean", "low", "high"),
    [("NIC", 3.73, 1.53, 5.93), ("NIC+Equalizer", 12.43, 11.45, 13.40)],
)
def test_corrected_interval_of_published_seeds(captioner, mean, low, high):
    interval = estimates(per_seed("gender", "lstm"))[captioner].interval()
    assert interval == pytest.approx((mean, low, high), abs=0.005)


def test_corrected_interval_by_hand():
    # mean 2, variance 1, n 3, classes of one size: error sqrt(1/3 + 4/9) = sqrt(7/9); t(2, .975) = 4.30265
    mean, low, high = stats.estimate([1, 2, 3]).interval()
    assert (mean, high - mean, mean - low) == pytest.approx(
        (2, 4.30265 * math.sqrt(7 / 9), 4.30265 * math.sqrt(7 / 9)), rel=1e-5
    )
    assert stats.estimate([1, 2, 3], stats.shared(1 / 3)).error == pytest.approx(
        math.sqrt(1 / 3 + 2 / 9)
    )


def test_level_and_share_widen():
    values = [1.0, 2.5, 3.0, 4.5]
    widths = [
        high - low
        for _, low, high in (
            stats.estimate(values, 0.0).interval(),
            stats.estimate(values).interval(),
            stats.estimate(values).interval(0.99),
        )
    ]
    assert widths == sorted(widths)
    assert widths[1] / widths[0] == pytest.approx(math.sqrt((1 / 4 + 4 / 9) / (1 / 4)))


def test_one_split_has_no_interval():
    estimate = stats.estimate([3.0])
    assert estimate.mean == 3
    assert math.isnan(estimate.interval().low)


def test_missing_splits_are_left_out():
    assert stats.estimate([1, 2, math.nan, 3]) == stats.estimate([1, 2, 3])


def test_equalizer_differences_of_published_seeds():
    gender = difference(per_seed("gender", "lstm"), "NIC+Equalizer", "NIC+").interval()
    race = difference(per_seed("race", "lstm"), "NIC+Equalizer", "NIC+").interval()
    assert gender == pytest.approx((5.47, 2.70, 8.24), abs=0.006)
    assert race == pytest.approx((0.50, -1.67, 2.67), abs=0.006)


def test_holm_leaves_four_of_nine_for_bert_ft():
    p = [estimate.p_above(0) for estimate in estimates(per_seed("gender", "bert-ft")).values()]
    assert len(p) == 9
    assert (stats.holm(p) < 0.05).sum() == 4


def test_holm_is_that_of_statsmodels():
    p = np.random.default_rng(4).uniform(0, 0.3, 12)
    assert stats.holm(p) == pytest.approx(multipletests(p, method="holm")[1])


def test_race_oscar_has_nine_pairs():
    assert estimates(per_seed("race", "lstm"))["OSCAR"].n == 9


def test_welch_by_hand():
    # errors 3 and 4, df 9 and 9: error 5, df 5^4 / (3^4 / 9 + 4^4 / 9)
    difference = Estimate(10, 3, 9, 10).minus(Estimate(4, 4, 9, 10))
    assert difference == pytest.approx((6, 5, 625 / (81 / 9 + 256 / 9), 10))


def test_resampled_of_a_plain_mean():
    scores = np.random.default_rng(2).normal(50, 10, size=(400, 1))
    interval = stats.interval(stats.resampled(scores, np.ones((400, 1)))[:, 0])
    assert interval.mean == pytest.approx(scores.mean(), rel=1e-5)
    reach = 1.96 * scores.std() / 20
    assert (interval.mean - interval.low, interval.high - interval.mean) == pytest.approx(
        (reach, reach), rel=0.1
    )


def test_resampled_keep_pairs_together():
    shared = np.random.default_rng(3).normal(50, 10, size=400)
    sums = np.column_stack([shared + 2, shared])  # one is always 2 above the other
    first, second = stats.resampled(sums, np.ones((400, 2))).T
    interval = stats.interval(first - second)
    assert interval == pytest.approx((2, 2, 2), abs=1e-3)


def test_a_table_may_name_the_ratio_of_its_classes():
    lic = pd.DataFrame({"attribute": ["gender"], "seed": [0]})
    assert shared_by(lic.assign(ratio=0)) == stats.NADEAU_BENGIO
    assert shared_by(lic.assign(ratio=1)) == pytest.approx(1 / 9 + 1 / 3)
    assert 0.2 < shared_by(lic) == stats.shared(load_attribute("gender").ratio) < 0.3


def test_more_than_ten_splits_do_not_narrow_the_error():
    ten, forty = (stats.from_spread(0.0, 2.0, n, 1 / 4) for n in (10, 40))
    assert ten.error == forty.error == pytest.approx(2 * (1 / 10 + 1 / 4) ** 0.5)
    assert ten.interval() == forty.interval()
    assert stats.from_spread(0.0, 2.0, 3, 1 / 4).error == pytest.approx(2 * (1 / 3 + 1 / 4) ** 0.5)
    assert stats.from_spread(0.0, 2.0, 40, shared=0).error == pytest.approx(2 / 40**0.5)


def test_every_draw_has_as_many_images_as_there_are():
    table = stats.image_draws(7, draws=50)
    assert table.shape == (51, 7)
    assert (table[0] == 1).all()  # first the images as they are
    assert (table.sum(axis=1) == 7).all()
    assert table.max() > 1  # with replacement


def test_draws_are_the_same_every_time_but_for_another_generator():
    first = stats.image_draws(9, 5)
    assert (first == stats.image_draws(9, 5)).all()
    assert (first != stats.image_draws(9, 5, np.random.default_rng(4))).any()


def test_the_interval_of_a_mean_is_about_two_standard_errors_each_side():
    scores = np.random.default_rng(0).normal(10, 2, size=400)
    mean, low, high = stats.interval(stats.image_draws(400, 2000) @ scores / 400)
    assert high - low == pytest.approx(2 * 1.96 * scores.std() / 20, rel=0.1)
    assert low < mean < high
    assert mean == pytest.approx(scores.mean())


def test_draws_without_a_value_do_not_count():
    assert stats.interval(np.array([5.0, np.nan, 1.0, 1.0])) == (5.0, 1.0, 1.0)
    assert np.isnan(stats.interval(np.array([np.nan, np.nan]))).all()


@pytest.mark.parametrize(("images", "draws"), [(0, 5), (5, 0)])
def test_nothing_to_draw_is_an_error(images, draws):
    with pytest.raises(RelicError, match="at least one"):
        stats.image_draws(images, draws)
