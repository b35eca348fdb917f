"""Coverage and false positives: shares by hand, a study that survives a kill, the recorded one."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from relic import paths
from relic.calibration import study as calibration
from relic.calibration.study import (
    FAITHFUL,
    GAINED,
    METHODS,
    biases,
    draw,
    exact,
    image_scores,
    measure,
    rates,
    read_study,
    study,
)
from relic.errors import RelicError
from relic.runs import Outcome, Run

TINY, SEEDS = 220, (0, 1)


def frame(rows: list[tuple[float, float, float]], true: float = 0.0) -> pd.DataFrame:
    """Rows of a study from (estimate, low, high), the same for every method."""
    found = []
    for number, (lic, low, high) in enumerate(rows):
        row = {"images": 100, "corpus_seed": number, "captioner": "planted_none", "gain": 0.0,
               "score": "plain", "true_model": 30.0 + true, "true_data": 30.0, "true_lic": true,
               "lic_model": 31.0 + lic, "lic_data": 31.0, "lic": lic, "n_test": 10}  # fmt: skip
        for method in METHODS:
            row |= {f"{method}_low": low, f"{method}_high": high}
        found.append(row)
    return pd.DataFrame(found)


FOUR = [(1.0, -1.0, 3.0), (-1.0, -3.0, 1.0), (2.0, 0.5, 3.5), (0.0, -2.0, 2.0)]


def test_exact_intervals_at_the_ends_have_a_closed_form():
    nothing, all_of_them = exact(0, 200), exact(200, 200)
    assert nothing.low == 0
    assert nothing.high == pytest.approx(100 * (1 - 0.025 ** (1 / 200)))
    assert all_of_them.low == pytest.approx(100 * 0.025 ** (1 / 200))
    assert all_of_them.high == 100


def test_exact_interval_inverts_the_binomial_tails():
    from scipy.stats import binom

    found = exact(5, 200)
    assert found.mean == 2.5
    assert binom.sf(4, 200, found.low / 100) == pytest.approx(0.025)
    assert binom.cdf(5, 200, found.high / 100) == pytest.approx(0.025)


def test_rates_count_what_the_intervals_do():
    """Mean estimate 0.5. The third interval misses the truth 0; all hold 0.5, its end included."""
    row = rates(frame(FOUR)).set_index("method").loc["corrected"]
    assert (row["corpora"], row["covers truth"], row["covers mean"]) == (4, 75, 100)
    assert row["above 0"] == 25
    assert row["width"] == pytest.approx((4 + 4 + 3 + 4) / 4)
    assert row["covers truth, low"] == exact(3, 4).low


def test_rates_tell_coverage_of_the_truth_from_coverage_of_the_mean():
    """A metric that finds 0.5 where 3.2 is true: one interval holds the truth, four the mean."""
    row = rates(frame(FOUR, true=3.2)).set_index("method").loc["images"]
    assert (row["covers truth"], row["covers mean"]) == (25, 100)


def test_rates_leave_out_a_method_without_intervals():
    without = frame(FOUR).assign(images_low=np.nan, images_high=np.nan)
    assert set(rates(without)["method"]) == set(METHODS) - {"images"}


def test_bias_is_the_mean_estimate_less_the_truth():
    """Estimates 1, −1, 2, 0 around a truth of 2: bias −1.5; t(3) = 3.1824, s = 1.2910."""
    row = biases(frame(FOUR, true=2.0)).iloc[0]
    assert row["bias"] == pytest.approx(-1.5)
    assert row["bias, high"] - row["bias"] == pytest.approx(3.18245 * 1.29099 / 2, abs=1e-4)
    assert row["bias of LIC_D"] == pytest.approx(1.0)
    assert row["bias of LIC_M"] == pytest.approx(-0.5)


def test_scores_of_images_plain_scaled_and_unseen():
    images = pd.DataFrame(
        {"image_id": [7, 8, 9], "y": [1, 0, 1], "p": [0.8, 0.8, 0.9],
         "seen_raw": False, "seen_masked": [False, False, True]}
    )  # fmt: skip
    outcome = Outcome(Run("c", "gender", "x", "linear"), {"temperature": 2.0}, images)
    assert image_scores(outcome, "plain").round(6).to_dict() == {7: 80, 8: 0, 9: 90}
    assert image_scores(outcome, "unseen").round(6).to_dict() == {7: 80, 8: 0}
    # odds of 4 become 2, odds of 9 become 3
    assert image_scores(outcome, "scaled").round(3).to_dict() == {7: 66.667, 8: 0, 9: 75}


def test_intervals_over_splits_by_hand():
    """Differences 1, 3, 5: mean 3, s = 2, t(2) = 4.30265."""
    values = {"model": np.array([40.0, 42, 44]), "human": np.array([39.0, 39, 39])}
    found = calibration._intervals(values, None)
    assert found["uncorrected_low"] == pytest.approx(3 - 4.30265 * 2 / 3**0.5, abs=1e-4)
    assert found["corrected_high"] == pytest.approx(
        3 + 4.30265 * 2 * (1 / 3 + 1 / 9) ** 0.5, abs=1e-4
    )
    assert found["independent_low"] == pytest.approx(found["corrected_low"])  # LIC_D does not vary
    assert np.isnan(found["images_low"])


def test_interval_over_images_by_hand():
    """All images score 60 and 50: whatever is drawn, the difference is 10."""
    columns = pd.MultiIndex.from_product([["model", "human"], ["sum", "count"]])
    by_image = pd.DataFrame([[60.0, 1, 100.0, 2]] * 5, columns=columns)
    values = {"model": np.array([60.0, 60]), "human": np.array([50.0, 50])}
    found = calibration._intervals(values, by_image)
    assert (found["images_low"], found["images_high"]) == pytest.approx((10, 10))


def test_a_corpus_through_the_pipeline():
    """Both captioners have one LIC_D; the truth is the planted one; a plain mean is the estimate."""
    corpus = draw(TINY, 1004)
    found = pd.DataFrame(measure(corpus, 1004, SEEDS))
    assert len(found) == 6  # 1004 is divisible by four: plain, scaled, unseen
    assert found.groupby("score")["lic_data"].nunique().eq(1).all()
    none = found[found["captioner"] == FAITHFUL.key]
    assert none["true_lic"].eq(0).all()
    gained = found[found["captioner"] == GAINED.key]
    assert gained["true_lic"].iloc[0] == pytest.approx(corpus.true_lic(GAINED.key).lic)
    assert np.allclose(found["lic_model"] - found["lic_data"], found["lic"])
    assert found.loc[found["score"] != "plain", "images_low"].isna().all()


def test_the_captioner_without_gain_has_an_interval_that_holds_0():
    found = pd.DataFrame(measure(draw(2000, 1), 1, (0, 12, 100, 200, 300)))
    plain = found[(found["captioner"] == FAITHFUL.key) & (found["score"] == "plain")].iloc[0]
    assert plain["true_lic"] == 0
    for method in ("corrected", "images"):
        assert plain[f"{method}_low"] < 0 < plain[f"{method}_high"]


def test_a_killed_study_goes_on_and_ends_as_if_it_had_not_been_killed(tmp_path, monkeypatch):
    file = tmp_path / "study.csv"
    code = (
        "from pathlib import Path; from relic.calibration.study import study; "
        f"study(50, {TINY}, file=Path({str(file)!r}), seeds={SEEDS}, progress=False)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(paths.ROOT)}
    )
    deadline = time.time() + 120
    while not file.exists() and time.time() < deadline:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    kept = read_study(file)
    survivors = set(kept["corpus_seed"])
    assert survivors, "nothing was written within two minutes"
    assert kept.groupby("corpus_seed").size().isin([4, 6]).all()  # whole corpora only

    measured = []
    monkeypatch.setattr(
        calibration, "measure", lambda corpus, seed, seeds: measured.append(seed) or measure(corpus, seed, seeds)
    )  # fmt: skip
    wanted = len(survivors) + 1
    resumed = study(wanted, TINY, file=file, seeds=SEEDS, progress=False)
    assert measured == [calibration.FIRST_SEED + wanted - 1]
    fresh = study(1, TINY, file=tmp_path / "other.csv", seeds=SEEDS, progress=False)
    first = resumed[resumed["corpus_seed"] == calibration.FIRST_SEED].reset_index(drop=True)
    pd.testing.assert_frame_equal(first, fresh, check_dtype=False)
    assert (tmp_path / "study.json").exists()


def test_a_foreign_file_is_refused(tmp_path):
    file = tmp_path / "study.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(RelicError, match="lacks the columns"):
        read_study(file)


def test_the_recorded_study_is_as_large_as_the_report_says():
    recorded = read_study()
    main = recorded[(recorded["images"] == calibration.IMAGES) & (recorded["score"] == "plain")]
    assert set(main["captioner"]) == {FAITHFUL.key, GAINED.key}
    assert main.groupby("captioner")["corpus_seed"].nunique().min() >= 200
    assert not main.duplicated(["captioner", "corpus_seed"]).any()
    assert main["n_seeds"].eq(10).all()


def test_the_recorded_study_can_be_computed_again():
    """One recorded corpus, recomputed in part: LIC_M of two of its splits bounds nothing, so all ten."""
    recorded = read_study()
    row = recorded[(recorded["images"] == calibration.IMAGES) & (recorded["corpus_seed"] == 1001)]
    again = pd.DataFrame(measure(draw(calibration.IMAGES, 1001), 1001))
    # part of the record was bootstrapped with other draws: its ends may lie a little apart
    for column, near in (
        ("lic", 1e-3),
        ("corrected_low", 1e-3),
        ("corrected_high", 1e-3),
        ("images_low", 0.5),
    ):
        wanted = pytest.approx(row[column].to_numpy(), abs=near, nan_ok=True)
        assert again[column].to_numpy() == wanted
