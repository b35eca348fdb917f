"""Calibration: frames worked out by hand, and the record."""

import pandas as pd
import pytest
from scipy.stats import binom

from relic.chapters import calibration, learning
from relic.data.planted import PlantedCaptioner, bayes_score, planted_corpus
from relic.records.tables import read_table

T2, T3 = 4.30265, 3.18245  # t at 97.5 % with 2 and 3 degrees of freedom


# The study of the intervals


def found_rows(lic: list[float], std: float = 1.0, **options) -> pd.DataFrame:
    """Rows of a study from estimates by corpus, the same for every number of splits."""
    each = {f"lic_{n}": lic for n in calibration.SPLITS} | {
        f"std_{n}": std for n in calibration.SPLITS
    }
    each |= {"lead_10": lic, "lead_std_10": std}
    fields = {"size": "race", "ratio": "race", "gain": 0.0, "true_lic": 0.0}
    return pd.DataFrame(fields | {"corpus_seed": range(len(lic))} | each | options)


def test_coverage_by_hand():
    """Mean 0. Three splits reach T2 · (1/3 + 1/9)^½ = 2.87 at s = 1: one of four misses it and 0."""
    held = calibration.held(found_rows([-3.0, 1.0, 1.0, 1.0]))
    table = calibration.coverage(held, []).set_index("interval")
    three = table.loc["3 splits, 1/J + 1/9"]
    assert three["width"] == pytest.approx(2 * T2 * (1 / 3 + 1 / 9) ** 0.5, abs=1e-4)
    assert (three["holds the mean"], three["holds the true LIC"], three["above 0"]) == (75, 75, 0)
    assert binom.sf(2, 4, three["low"] / 100) == pytest.approx(0.025)  # three or more of four
    assert binom.cdf(3, 4, three["high"] / 100) == pytest.approx(0.025)
    assert table.loc["3 splits, 1/J + 1/4", "holds the mean"] == 100  # reach 3.29
    assert table.loc["3 splits, 1/J + ρ", "holds the mean"] == 75  # 1 : 9, ρ = 4/27: reach 2.985
    assert table.loc["40 splits, 1/J", "above 0"] == 75  # reach 0.32
    assert not table.index.str.startswith("lead").any()  # without gain there is none


def test_an_interval_at_equal_coverage_is_scaled_to_hold_95_percent():
    """Twenty estimates 1 apart from their mean: whatever the interval, it is 2 wide then."""
    held = calibration.held(found_rows([-1.0, 1.0] * 10))
    assert calibration.coverage(held, [])["width at 95 %"].to_numpy() == pytest.approx(2)


def test_rho_is_what_the_variance_over_splits_leaves_out():
    """Estimates −1 and 1 vary by 2; the splits by 4, of which 1/10 is in the mean: ρ = 2/4 − 1/10."""
    (row,) = calibration.calibrated(found_rows([-1.0, 1.0], std=2.0)).to_dict("records")
    assert (row["rho"], row["rule"]) == pytest.approx((0.4, 4 / 27))
    assert (row["class ratio"], row["corpora"]) == ("1 : 9", 0)  # a corpus has three gains


def test_a_setting_counts_by_its_corpora():
    """ρ is 0.4 of two corpora and −1/10 of six that do not vary: (2 · 0.4 − 6 · 0.1) / 8."""
    two, six = found_rows([-1.0, 1.0], std=2.0), found_rows([0.0] * 6, std=2.0, size="gender")
    both = pd.concat([two, six], ignore_index=True)
    assert calibration.calibrated(both)["rho"].tolist() == pytest.approx([0.025])
    assert len(calibration.calibrated(both, by=("size", "class ratio"))) == 2


def test_fifths_set_parts_against_splits():
    """Parts −1 and 1 vary by 2, splits by 4."""
    rows = pd.DataFrame({"lic_10": [-1.0, 1.0], "std_10": 2.0, "part": [0, 1]})
    rows = rows.assign(attribute="race", captioner="nic", partition=0)
    assert calibration.in_fifths(rows)["rho"].tolist() == pytest.approx([0.4])


def test_a_summary_counts_all_settings():
    both = pd.concat([found_rows([-3.0, 1, 1, 1]), found_rows([0.0] * 4, gain=0.5, true_lic=4.0)])
    held = calibration.held(both.reset_index(drop=True))
    three = calibration.summary(held, 1).set_index("interval").loc["3 splits, 1/J + 1/9"]
    assert (three["least"], three["greatest"], three["holds the mean"]) == (75, 100, 87.5)
    assert three["estimates"] == 8


def test_our_interval_is_what_the_record_asks_for():
    """The rule is no less than what each class ratio asks for, and not much more."""
    corpora = read_table("calibration", "intervals")
    rho = calibration.calibrated(corpora)
    assert (rho["rule"] - rho["rho"]).between(-0.03, 0.15).all()
    held = calibration.held(corpora)
    by_setting = calibration.coverage(
        held[held["interval"] == calibration.OURS], calibration.SETTING
    )
    assert (by_setting["high"] > 93).all()  # no setting is surely held less often
    assert by_setting["estimates"].min() >= 20


@pytest.fixture(scope="module")
def page(executed):
    """The page's names, as far as its table of biases."""
    return executed("45_calibration", until="def bias_table")


# Wordy captioners


def test_more_sentences_of_an_image_tell_more():
    words = frozenset(planted_corpus("gender", images=100).vocabularies["planted_none"])
    for gain in (0.0, 1.0):
        one = bayes_score("gender", gain, words)
        assert bayes_score("gender", gain, words, 1) == one
        assert bayes_score("gender", gain, words, 2) > one + 1  # only says more


def test_a_wordy_captioner_says_more_of_the_same_and_others_stay_as_they_were():
    plain, wordy = (PlantedCaptioner("one", "One", 0.0, sentences=k, fillers=k - 1) for k in (1, 2))
    short, long = (planted_corpus("gender", images=200, captioners=(c,)) for c in (plain, wordy))
    words = [c.captions("one").str.split().str.len().mean() for c in (short, long)]
    assert words[1] > 2 * words[0]
    assert short.human.equals(long.human)
    assert long.true_lic("one").lic == 0


def test_a_wordy_captioner_without_gain_has_lic_as_written_and_hardly_at_the_same_length(page):
    recorded = read_table("calibration", "grid").query("score == 'plain' and sentences == 3")
    part = page["at_base"](recorded, *calibration.LENGTH, "length").query("gain == 0")
    table = page["bias_table"](part, ["length"]).set_index("length")
    assert table["true LIC"].eq(0).all()
    assert table.loc[learning.AS_WRITTEN, "low"] > 2
    assert table.loc[learning.SAME, "high"] < 1


# The grid of biases


def row(lic: float, gain=1.0, true_lic=10.0, corpus_seed=0, score="plain", **options) -> dict:
    setting = calibration.BASE._replace(gain=gain, **options)._asdict()
    return setting | {"score": score, "true_model": 40.0, "true_data": 30.0, "true_lic": true_lic,
                      "lic_model": 30 + lic, "lic_data": 30.0, "lic": lic, "n_train": 100,
                      "corpus_seed": corpus_seed}  # fmt: skip


def test_bias_by_hand(page):
    """Estimates 1, −1, 2, 0 around a truth of 2: bias −1.5, s = 1.29099."""
    rows = pd.DataFrame([row(lic, true_lic=2.0) for lic in (1.0, -1.0, 2.0, 0.0)])
    rows = rows.assign(true_model=32.0, lic_model=rows["lic"] + 31, lic_data=31.0)
    bias = page["bias_table"](rows, ["gain"]).iloc[0]
    assert (bias["corpora"], bias["bias"]) == (4, pytest.approx(-1.5))
    assert bias["high"] - bias["bias"] == pytest.approx(T3 * 1.29099 / 2, abs=1e-4)
    assert bias["bias of LIC_M"] == pytest.approx(-0.5)  # 31.5 of 32
    assert bias["bias of LIC_D"] == pytest.approx(1.0)


def test_a_factor_is_changed_with_the_base_elsewhere_and_two_gains(page):
    rows = [row(0.2, 0.0, 0.0), row(0.1, 0.0, 0.0, 1), row(8.0), row(5.0, images=1000)]
    rows += [row(1.0, classifier="lstm"), row(2.0, 0.5)]
    table = page["bias_table"](page["at_base"](pd.DataFrame(rows), "images"), ["images", "gain"])
    expected = {(1000, 1.0): -5.0, (4000, 0.0): 0.15, (4000, 1.0): -2.0}
    assert table.set_index(["images", "gain"])["bias"].to_dict() == pytest.approx(expected)
    gains = page["bias_table"](page["at_base"](pd.DataFrame(rows), "gain"), ["gain"])
    assert gains["LIC"].tolist() == pytest.approx([0.15, 2.0, 8.0])
