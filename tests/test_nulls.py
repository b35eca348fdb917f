"""Null checks on runs made by hand, and on a tiny corpus."""

import pandas as pd
import pytest

from relic.calibration import nulls
from relic.errors import RelicError
from relic.evidence import THIS_BUILD


def runs(scores: dict[tuple, list[float]], **options) -> pd.DataFrame:
    """Runs from (captioner, side, index) to scores by seed."""
    rows = []
    for (captioner, side, index), values in scores.items():
        for seed, score in enumerate(values):
            row = {
                "source": "recorded", "corpus": "COCO captions", "attribute": "gender",
                "captioner": captioner, "side": side, "caption_set": "standard", "labels": "true",
                "size": 0, "caption_index": index, "split": "paired", "seed": seed,
                "vocabulary": "captioner" if side == "human" else "", "classifier": "linear",
                "recipe": "C=0.1", "batching": "", "encoder": "", "score": score, "accuracy": score + 20,
                "auc": score + 21, "unseen_score": score, "n_test": 100, "n_unseen": 50,
            }  # fmt: skip
            rows.append(row | options)
    return pd.DataFrame(rows)


TWO = {("nic", "human", 0): [10.0, 12.0], ("nic", "human", 1): [14.0, 12.0]}


def test_one_human_caption_against_the_others():
    """Caption 0 less caption 1: −4 and 0, mean −2; caption 1 the reverse."""
    zeros = nulls.human_zero(runs(TWO))
    assert zeros["mean"].tolist() == [-2.0, 2.0]
    assert zeros["captioner"].tolist() == ["NIC", "NIC"]
    # s = 2√2, t(1) = 12.7062, correction 1/2 + 1/9
    assert zeros["high"][1] == pytest.approx(2 + 12.7062 * 8**0.5 * (11 / 18) ** 0.5, abs=1e-3)


def test_one_human_caption_alone_has_nothing_to_be_set_against():
    assert nulls.human_zero(runs({("nic", "human", 0): [10.0, 12.0]})).empty


def test_summary_counts_intervals_that_miss_0():
    sure = {("nic", "human", 0): [10.0, 10.1, 9.9], ("nic", "human", 1): [14.0, 14.1, 13.8]}
    found = nulls.zero_summary(nulls.human_zero(runs(sure))).iloc[0]
    assert (found["intervals"], found["miss 0"]) == (2, 2)
    assert found["largest |LIC|"] == pytest.approx((4 + 4 + 3.9) / 3)
    assert nulls.zero_summary(nulls.human_zero(runs(TWO)))["miss 0"].iloc[0] == 0


def test_chance_is_told_by_side_from_permuted_runs_only():
    permuted = runs({("nic", "model", 0): [28.0, 30.0], ("sat", "model", 0): [30.0, 32.0]}, labels="permuted")  # fmt: skip
    found = nulls.chance(pd.concat([runs(TWO), permuted]))
    row = found.iloc[0]
    assert len(found) == 1
    assert (row["captions"], row["runs"], row["seeds"]) == ("generated", 4, 2)
    assert (row["score"], row["accuracy"], row["auc"]) == (30.0, 50.0, 51.0)  # by seed 29 and 31
    assert row["score, low"] == pytest.approx(30 - 12.7062 * 2**0.5 * (11 / 18) ** 0.5, abs=1e-3)


def test_lic_with_permuted_labels():
    scores = {("nic", "model", 0): [30.0, 31.0], ("nic", "human", 0): [29.0, 30.0], ("nic", "human", 1): [30.0, 29.0]}  # fmt: skip
    found = nulls.permuted_lic(runs(scores, labels="permuted"))
    assert found["mean"].tolist() == [1.0]  # 30 − 29.5 and 31 − 29.5


def test_pairing_removes_what_both_share():
    """LIC_M is LIC_D plus one in every split: paired, nothing is left to vary."""
    scores = {("nic", "model", 0): [31.0, 35.0, 39.0], ("nic", "human", 0): [30.0, 34.0, 38.0]}
    found = nulls.pairing(runs(scores)).iloc[0]
    assert found["paired"] == pytest.approx(0, abs=1e-9)
    # each side: s = 4, error 4·√(1/3 + 1/9); together √2 times that, t with 4 degrees of freedom
    assert found["as if independent"] == pytest.approx(
        2 * 2.77645 * 2**0.5 * 4 * (4 / 9) ** 0.5, abs=1e-3
    )


def test_pairing_of_two_captioners_and_its_summary():
    scores = {("nic", "model", 0): [32.0, 34.0, 39.0], ("nic", "human", 0): [30.0, 30.0, 30.0],
              ("sat", "model", 0): [31.0, 33.0, 38.0], ("sat", "human", 0): [30.0, 30.0, 30.0]}  # fmt: skip
    found = nulls.pairing_summary(nulls.pairing(runs(scores))).set_index("what")
    assert (found.loc["difference", "pairs"], found.loc["difference", "narrower"]) == (1, 1)
    assert found.loc["difference", "ratio"] == pytest.approx(0, abs=1e-9)
    assert found.loc["LIC", "pairs"] == 2


def test_split_policies_need_both_and_enough_seeds():
    paired = runs({("nic", "model", 0): [30.0, 32.0, 34.0]})
    upstream = runs({("nic", "model", 0): [33.0, 33.0, 36.0]}, split="upstream", n_test=200)
    assert nulls.split_policies(paired).empty
    found = nulls.split_policies(pd.concat([paired, upstream])).set_index("split")
    assert found["mean LIC_M"].to_dict() == {"paired": 32.0, "upstream": 34.0}
    assert found["spread over seeds"].to_dict() == pytest.approx({"paired": 2, "upstream": 3**0.5})
    short = nulls.split_policies(pd.concat([paired, upstream[upstream["seed"] < 2]]))
    assert short.empty


def test_figure_rows_are_recorded_ones_of_one_vocabulary_where_there_are_any():
    both = nulls.human_zero(pd.concat([runs(TWO), runs(TWO, source=THIS_BUILD)]))
    assert nulls.one_vocabulary(both, "NIC")["label"].tolist() == [
        "gender, caption 1",
        "gender, caption 2",
    ]
    assert len(nulls.one_vocabulary(both, "OSCAR")) == 4


def test_null_runs_of_a_tiny_corpus(tmp_path, monkeypatch):
    monkeypatch.setenv("RELIC_RUNS", str(tmp_path))
    options = {"corpus": "embedded", "images": 220, "seeds": [0, 1]}
    found = nulls.null_runs("gender", captioners=["planted_lot"], **options)
    counts = found.groupby(["split", "labels", "side"]).size().to_dict()
    assert counts == {
        ("paired", "permuted", "human"): 10, ("paired", "permuted", "model"): 2,
        ("paired", "true", "human"): 10, ("paired", "true", "model"): 2,
        ("upstream", "true", "human"): 10, ("upstream", "true", "model"): 2,
    }  # fmt: skip
    assert set(found["source"]) == {THIS_BUILD}


def test_one_split_is_refused():
    with pytest.raises(RelicError, match="two or more"):
        nulls.null_runs("gender", corpus="embedded", images=220, seeds=[0])
