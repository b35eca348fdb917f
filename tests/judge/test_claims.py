"""One rule, four claims, on estimates whose answer is known."""

import math

import numpy as np
import pandas as pd
import pytest

from relic.errors import RelicError
from relic.judge import claims
from relic.judge.claims import (
    PAIRS,
    REFUTED,
    SUPPORTED,
    UNDECIDED,
    agreement,
    amplification,
    equalizer,
    less_than_gender,
    mean_less_than_gender,
    same_order,
    verdict,
)
from relic.judge.stats import Estimate
from relic.records.evidence import spreadsheet


def body(attribute="gender", classifier="linear", **values):
    """A lic table: a captioner each name (`NIC_` is NIC+), a split each value."""
    names = {"NIC_": "NIC+", "NIC_Equalizer": "NIC+Equalizer"}
    rows = [
        {"captioner": names.get(name, name), "seed": seed, "lic_model": 40 + v, "lic_data": 40.0, "lic": v}
        for name, each in values.items()
        for seed, v in enumerate(each)
    ]  # fmt: skip
    kind = {"corpus": "c", "attribute": attribute, "classifier": classifier, "seen": "all"}
    return pd.DataFrame(rows).assign(**kind, n_test=100)


def sure(mean, error=0.1, n=10):
    return Estimate(mean, error, n - 1, n)


# intervals with 9 degrees of freedom reach 2.262 errors
@pytest.mark.parametrize(
    ("mean", "bound", "word"),
    [
        (1.0, {"above": 0}, SUPPORTED), (0.23, {"above": 0}, SUPPORTED), (0.22, {"above": 0}, UNDECIDED),
        (-0.22, {"above": 0}, UNDECIDED), (-0.23, {"above": 0}, REFUTED),
        (0.77, {"below": 1}, SUPPORTED), (0.78, {"below": 1}, UNDECIDED), (1.23, {"below": 1}, REFUTED),
        (-9.0, {"below": 1}, SUPPORTED),
    ],
)  # fmt: skip
def test_the_rule(mean, bound, word):
    assert verdict(sure(mean), "claim", **bound).word == word


def test_one_split_is_undecided_and_the_least_mean_is_the_weakest():
    judged = amplification(body(A=[5.0], B=[4.0], C=[6.0]))
    assert (judged.word, judged.whose, judged.surely) == (UNDECIDED, "B", 0)
    assert math.isnan(judged.low)


def test_the_weakest_decides():
    judged = verdict({"A": sure(3), "B": sure(0.1), "C": sure(2)}, "claim", above=0)
    assert (judged.word, judged.whose, judged.estimate) == (UNDECIDED, "B", 0.1)
    assert (judged.surely, judged.captioners) == (2, 3)


def test_weakest_is_by_certainty_not_by_mean():
    judged = verdict({"A": sure(1), "B": sure(2, error=2)}, "claim", above=0)
    assert judged.whose == "B"


def test_every_needs_no_correction_but_the_count_has_holms_at_0025():
    # t = 2.4 with 9 df: one-sided p = 0.0200. Alone below 0.025, so each interval excludes 0;
    # times two it is not, so none passes on its own.
    judged = verdict({"A": sure(0.24), "B": sure(0.24)}, "claim", above=0)
    assert (judged.word, judged.surely) == (SUPPORTED, 0)
    # t = 3 has p = 0.0075, twice that is 0.015; the second then stands alone
    judged = verdict({"A": sure(0.3), "B": sure(0.24)}, "claim", above=0)
    assert judged.surely == 2


def test_refuting_every_is_corrected_too():
    few = {"A": sure(-0.24)} | {"B": sure(5)}
    assert verdict(few, "claim", above=0).word == UNDECIDED  # 2 * 0.02 > 0.025
    assert verdict(few | {"A": sure(-0.3)}, "claim", above=0).word == REFUTED


def test_nothing_to_judge_is_an_error():
    with pytest.raises(RelicError, match="nothing to judge"):
        verdict({}, "claim", above=0)


def pair(attribute, lead, spread=0.01):
    return body(attribute, NIC_=[3.0, 3.1, 2.9, 3.0],
                NIC_Equalizer=[3 + lead - spread, 3.1 + lead + spread, 2.9 + lead, 3 + lead], A=[0.0] * 4)  # fmt: skip


@pytest.mark.parametrize(
    ("lead", "gender", "other"),
    [(0.1, SUPPORTED, SUPPORTED), (4, SUPPORTED, REFUTED), (-0.5, REFUTED, SUPPORTED)],
)
def test_equalizer_has_a_margin_for_race_and_age(lead, gender, other):
    words = {a: equalizer(pair(a, lead)).word for a in ("gender", "race", "age")}
    assert words == {"gender": gender, "race": other, "age": other}


def test_equalizer_that_may_be_more_or_less_is_undecided_everywhere():
    words = [equalizer(pair(a, 0.5, spread=2)).word for a in ("gender", "race", "age")]
    assert words == [UNDECIDED] * 3


def test_equalizer_counts_the_test_captions_of_its_pair():
    table = pair("gender", 1)
    table.loc[table["captioner"] == "A", "n_test"] = 900
    assert equalizer(table).n_test == 100


def test_the_embedded_corpus_has_a_pair_of_its_own():
    table = pair("race", 4).replace({"NIC+Equalizer": PAIRS[1][0], "NIC+": PAIRS[1][1]})
    judged = equalizer(table)
    assert judged.word == REFUTED
    assert PAIRS[1][0] in judged.claim
    assert equalizer(pair("race", 4)).claim.startswith("NIC+Equalizer amplifies race by less than")
    assert equalizer(pair("gender", 4)).claim == "NIC+Equalizer amplifies gender more than NIC+."


def test_race_against_gender_on_both_readings():
    gender = body("gender", A=[5.0, 5.1, 4.9], B=[6.0, 6.1, 5.9])
    race = body("race", A=[2.0, 2.1, 1.9], B=[7.0, 7.1, 6.9])
    race["lic_model"] -= 20  # harder to guess, yet B amplifies more
    assert less_than_gender(gender, race, "lic_model").word == SUPPORTED
    judged = less_than_gender(gender, race)
    assert (judged.word, judged.whose, judged.surely) == (REFUTED, "B", 1)
    assert judged.estimate == pytest.approx(-1)
    # the mean over captioners: 5.5 − 4.5
    assert mean_less_than_gender(gender, race).mean == pytest.approx(1)


def test_race_against_gender_on_lic_m_needs_no_human_captions():
    gender, race = (
        body(a, A=[v, v + 0.1, v - 0.1]).drop(columns=["lic", "lic_data"])
        for a, v in (("gender", 9.0), ("race", 2.0))
    )
    assert less_than_gender(gender, race, "lic_model").estimate == pytest.approx(7)


TRUE = np.array([1.9, 1.4, 3.3, 2.0, 4.8, 4.9, 5.5, 2.8, 6.5])  # LIC for gender, linear


def simulated(rng, first, second, splits=10, noise=0.8, shared=0.0):
    """Two classifiers' LIC by split; the error of the mean has variance noise² (1 / splits + 1 / 4).

    `shared`: the part of the noise variance that both have because they meet the same test images.
    """
    both = rng.normal(size=(splits, len(first))) + rng.normal(size=len(first)) / 2
    parts = []
    for name, true in (("a", first), ("b", second)):
        own = rng.normal(size=(splits, len(true))) + rng.normal(size=len(true)) / 2
        values = true + noise * (np.sqrt(shared) * both + np.sqrt(1 - shared) * own)
        columns = {f"c{i}": values[:, i] for i in range(len(true))}
        parts.append(body(classifier=name, **columns))
    return pd.concat(parts, ignore_index=True)


def words(rng, *pair, times=30, **options):
    return [same_order(simulated(rng, *pair, **options)).word for _ in range(times)]


@pytest.fixture
def few_draws(monkeypatch):
    monkeypatch.setattr(claims, "DRAWS", 300)


def test_identical_true_orders_are_found_alike_in_spite_of_noise(few_draws):
    verdicts = words(np.random.default_rng(0), TRUE, TRUE)
    assert verdicts.count(SUPPORTED) > 25
    assert REFUTED not in verdicts


def test_opposite_orders_are_refuted(few_draws):
    assert set(words(np.random.default_rng(1), TRUE, -TRUE)) == {REFUTED}


def unlike(correlation):
    """True values that correlate so with `TRUE`, alike in spread."""
    z = np.linspace(-1, 1, 9) ** 2
    x = TRUE - TRUE.mean()
    z = z - z.mean() - x * (z @ x) / (x @ x)
    return correlation * x + np.sqrt(1 - correlation**2) * z * np.sqrt((x @ x) / (z @ z))


def test_agreement_at_the_bound_is_seldom_called_alike(few_draws):
    assert np.corrcoef(TRUE, unlike(0.7))[0, 1] == pytest.approx(0.7)
    verdicts = words(np.random.default_rng(2), TRUE, unlike(0.7), splits=3)
    assert verdicts.count(SUPPORTED) <= 3  # 0.75 expected


def test_noise_that_two_classifiers_share_does_not_pass_for_agreement(few_draws):
    rng, correlations = np.random.default_rng(2), []
    for _ in range(30):
        table = simulated(rng, TRUE, unlike(0.7), splits=3, noise=1.6, shared=0.8)
        correlations.append(agreement(table)["correlation"].iloc[0])
    assert np.mean(correlations) < 0.8  # with the shared part forgotten: 0.9


def test_nothing_but_noise_says_nothing():
    rows = simulated(np.random.default_rng(3), TRUE * 0, TRUE * 0, noise=1)
    pair = agreement(rows).iloc[0]
    assert pair["low"] < -0.5
    assert pair["high"] > 0.5


def test_without_noise_the_correlation_is_the_observed_one():
    table = simulated(np.random.default_rng(4), TRUE, unlike(0.5), noise=0.001)
    pair = agreement(table).iloc[0]
    assert pair[["correlation", "low", "high", "observed"]].tolist() == pytest.approx(
        [0.5] * 4, abs=0.03
    )
    assert pair["pairs"] == 36


def test_pairs_in_opposite_order_beyond_noise_are_counted():
    first, second = np.array([1.0, 2, 3]), np.array([1.0, 3, 2])
    table = simulated(np.random.default_rng(5), first, second, noise=0.01)
    assert agreement(table)[["opposite", "pairs"]].iloc[0].tolist() == [1, 3]
    vague = simulated(np.random.default_rng(5), first, second, noise=2)
    assert agreement(vague)["opposite"].iloc[0] == 0


def test_agreement_does_not_hang_on_the_order_of_the_rows():
    table = simulated(np.random.default_rng(7), TRUE, unlike(0.9), splits=3)
    pd.testing.assert_frame_equal(agreement(table), agreement(table.iloc[::-1]))


def test_a_single_split_takes_no_part():
    table = simulated(np.random.default_rng(6), TRUE, TRUE)
    alone = table[table["seed"] == 0].assign(classifier="alone")
    assert len(agreement(pd.concat([table, alone]))) == 1
    with pytest.raises(RelicError, match="two classifiers"):
        same_order(table[table["classifier"] == "a"])


def test_verdicts_on_published_splits():
    sheet = spreadsheet("gender")
    lstm, bert = (sheet[sheet["classifier"] == c] for c in ("lstm", "bert-ft"))
    assert (amplification(lstm).word, amplification(lstm).seeds) == (SUPPORTED, 10)
    assert amplification(bert).word == UNDECIDED
    lead = equalizer(lstm)
    assert (lead.estimate, lead.low, lead.high) == pytest.approx((5.47, 2.70, 8.24), abs=0.006)
    race = equalizer(spreadsheet("race"))
    assert race.word == UNDECIDED
    assert (race.estimate, race.low, race.high) == pytest.approx((0.50, -1.67, 2.67), abs=0.006)
