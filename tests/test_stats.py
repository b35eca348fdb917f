"""Statistics against values worked out by hand or given by their sources."""

import math

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from relic import stats
from relic.evidence import difference, from_per_seed, means
from relic.published import published
from relic.stats import Estimate


def per_seed(attribute, classifier):
    frame = from_per_seed()
    return frame[(frame["attribute"] == attribute) & (frame["classifier"] == classifier)]


@pytest.mark.parametrize(
    ("captioner", "mean", "low", "high"),
    [("NIC", 3.73, 2.05, 5.42), ("NIC+Equalizer", 12.43, 11.68, 13.17)],
)
def test_corrected_interval_of_published_seeds(captioner, mean, low, high):
    values = published("lic_per_seed")
    rows = values[
        (values["attribute"] == "gender")
        & (values["classifier"] == "LSTM")
        & (values["captioner"] == captioner)
    ].pivot(index="row", columns="metric", values="value")
    found = stats.corrected_resampled_interval(rows["LIC_M"] - rows["LIC_D"])
    assert found == pytest.approx((mean, low, high), abs=0.005)


def test_corrected_interval_by_hand():
    # mean 2, variance 1, n 3: error sqrt(1/3 + 1/9) = 2/3; t(2, .975) = 4.30265
    mean, low, high = stats.corrected_resampled_interval([1, 2, 3])
    assert (mean, high - mean, mean - low) == pytest.approx(
        (2, 4.30265 * 2 / 3, 4.30265 * 2 / 3), rel=1e-5
    )


def test_level_and_share_widen():
    values = [1.0, 2.5, 3.0, 4.5]
    widths = [
        high - low
        for _, low, high in (
            stats.corrected_resampled_interval(values, 0.0),
            stats.corrected_resampled_interval(values),
            stats.corrected_resampled_interval(values, level=0.99),
        )
    ]
    assert widths == sorted(widths)
    assert widths[1] / widths[0] == pytest.approx(math.sqrt((1 / 4 + 1 / 9) / (1 / 4)))


def test_one_split_has_no_interval():
    found = stats.estimate([3.0])
    assert found.mean == 3
    assert math.isnan(found.interval().low)


def test_missing_splits_are_left_out():
    assert stats.estimate([1, 2, math.nan, 3]) == stats.estimate([1, 2, 3])


def test_equalizer_differences_of_published_seeds():
    gender = difference(per_seed("gender", "lstm"), "NIC+Equalizer", "NIC+").interval()
    race = difference(per_seed("race", "lstm"), "NIC+Equalizer", "NIC+").interval()
    assert gender == pytest.approx((5.47, 3.35, 7.60), abs=0.006)
    assert race == pytest.approx((0.50, -1.50, 2.50), abs=0.006)


def test_holm_leaves_four_of_nine_for_bert_ft():
    p = [found.p_above(0) for found in means(per_seed("gender", "bert-ft")).values()]
    assert len(p) == 9
    assert (stats.holm(p) < 0.05).sum() == 4


def test_holm_is_that_of_statsmodels():
    p = np.random.default_rng(4).uniform(0, 0.3, 12)
    assert stats.holm(p) == pytest.approx(multipletests(p, method="holm")[1])


def test_race_oscar_has_nine_pairs():
    assert means(per_seed("race", "lstm"))["OSCAR"].n == 9


def test_partial_conjunction_by_hand():
    assert stats.at_least([0.001, 0.001, 0.001]) == 3
    assert stats.at_least([0.02, 0.2, 0.2]) == 0  # 3 * .02 = .06
    assert stats.at_least([0.016, 0.2, 0.2]) == 1
    assert stats.at_least([0.04, 0.04], level=0.05) == 0  # 2 * .04 fails, so u = 2 does too


def test_welch_by_hand():
    # errors 3 and 4, df 9 and 9: error 5, df 5^4 / (3^4 / 9 + 4^4 / 9)
    found = Estimate(10, 3, 9, 10).minus(Estimate(4, 4, 9, 10))
    assert found == pytest.approx((6, 5, 625 / (81 / 9 + 256 / 9), 10))


def test_equivalence():
    sure, vague = Estimate(0.0, 0.2, 9, 10), Estimate(0.0, 2.0, 9, 10)
    assert stats.equivalence(sure, 1.0) < 0.001 < 0.1 < stats.equivalence(vague, 1.0)
    # symmetric around 0: both one-sided tests have t = 5 with 9 df, p = 0.000369
    assert stats.equivalence(sure, 1.0) == pytest.approx(0.000369, abs=1e-6)
    assert stats.equivalence(Estimate(3.0, 0.2, 9, 10), 1.0) > 0.99
    with pytest.raises(ValueError, match="margin"):
        stats.equivalence(sure, 0)


def test_kendall_w():
    same = np.array([[1, 2, 3, 4]] * 3)
    assert stats.kendall_w(same) == 1
    assert stats.kendall_w(np.array([[1, 2, 3], [3, 2, 1]])) == 0
    # two raters: W = (1 + Spearman's rho) / 2; ranks 1234 and 2134 have rho 0.8
    assert stats.kendall_w(np.array([[1, 2, 3, 4], [2, 1, 3, 4]])) == pytest.approx(0.9)


def test_tau_and_its_exact_p():
    # one swap of neighbours in four: 5 concordant pairs, 1 discordant
    first, second = [1, 2, 3, 4], [2, 1, 3, 4]
    assert stats.tau(first, second) == pytest.approx(4 / 6)
    # 1 + 3 of the 24 orders have at most one inversion
    assert stats.tau_p(first, second) == pytest.approx(4 / 24)


def test_tied_tau_is_permuted_exactly():
    # [1, 1, 2] against [1, 2, 3]: τ is largest for the 2 orders that put the largest last
    assert stats.tau_p([1, 1, 2], [1, 2, 3]) == pytest.approx(2 / 6)


def test_w_permutation():
    # two raters in the same order of 4: 1 of 24 arrangements is as good
    assert stats.kendall_w_p(np.array([[1, 2, 3, 4], [5, 6, 7, 8]])) == pytest.approx(
        1 / 24, abs=0.006
    )
    assert stats.kendall_w_p(np.array([[1, 2, 3, 4], [4, 3, 2, 1]])) == 1


def test_nine_things_are_exact():
    p = stats.tau_p(range(9), range(9))
    assert p == pytest.approx(1 / math.factorial(9))


def test_smallest_taus_agree_with_scipy():
    drawn = np.random.default_rng(0).normal(size=(3, 20, 6))
    found = stats.smallest_taus(drawn)
    assert found == pytest.approx([stats.smallest_tau(drawn[:, i]) for i in range(20)])


def test_rank_sets():
    rng = np.random.default_rng(0)
    drawn = np.column_stack(
        [rng.normal(10, 0.1, 500), rng.normal(0, 1, 500), rng.normal(0, 1, 500)]
    )
    assert stats.rank_sets(drawn) == [(1, 1), (2, 3), (2, 3)]


def test_drawn_means_have_the_corrected_spread():
    values = np.random.default_rng(1).normal(size=(10, 3))
    drawn = stats.drawn_means(values, draws=40_000)
    wanted = [stats.estimate(column).interval() for column in values.T]
    found = np.quantile(drawn, [0.025, 0.975], axis=0).T
    assert found == pytest.approx(np.array([each[1:] for each in wanted]), abs=0.03)
    assert np.corrcoef(drawn.T) == pytest.approx(np.corrcoef(values.T), abs=0.03)


def test_draws_of_few_splits_reach_as_far_as_their_interval():
    values = np.array([[1.0, 4.0], [2.0, 4.5], [3.0, 3.5]])
    found = np.quantile(stats.drawn_means(values, draws=100_000), [0.025, 0.975], axis=0).T
    wanted = np.array([stats.estimate(column).interval()[1:] for column in values.T])
    assert found == pytest.approx(wanted, abs=0.15)


def test_ratio_bootstrap_of_a_plain_mean():
    scores = np.random.default_rng(2).normal(50, 10, size=(400, 1))
    found = stats.ratio_bootstrap(scores, np.ones((400, 1)), [1.0], draws=4000)[0]
    assert found.mean == pytest.approx(scores.mean(), rel=1e-5)
    reach = 1.96 * scores.std() / 20
    assert (found.mean - found.low, found.high - found.mean) == pytest.approx(
        (reach, reach), rel=0.1
    )


def test_ratio_bootstrap_keeps_pairs_together():
    shared = np.random.default_rng(3).normal(50, 10, size=400)
    sums = np.column_stack([shared + 2, shared])  # one is always 2 above the other
    found = stats.ratio_bootstrap(sums, np.ones((400, 2)), [1, -1])[0]
    assert found == pytest.approx((2, 2, 2), abs=1e-3)
