"""The subtraction, against numbers worked out by hand."""

from types import SimpleNamespace

import pandas as pd
import pytest

from relic.errors import RelicError
from relic.judge.lic import (
    classifier_label,
    difference,
    estimates,
    intervals,
    lic_table,
    mean_over_captioners,
    model_table,
)
from relic.records.evidence import papers


def run(side, score, *, captioner="nic_plus", index=0, seed=0, **more):
    key = f"{side} {captioner} {index} {seed}"
    return {
        "key": key, "corpus": "COCO captions", "attribute": "gender", "captioner": captioner, "side": side,
        "caption_index": index, "split": "paired", "seed": seed, "classifier": "linear", "recipe": "C=0.1",
        "batching": "", "encoder": "", "score": score, "auc": score + 20, "log_loss": 0.5, "n_test": 4, **more,
    }  # fmt: skip


def body(**values):
    """A lic table: a captioner each name, a split each value."""
    rows = [
        {"captioner": name.replace("_plus", "+"), "seed": seed, "lic_model": 40 + v, "lic_data": 40.0, "lic": v}
        for name, each in values.items()
        for seed, v in enumerate(each)
    ]  # fmt: skip
    kind = {"corpus": "c", "attribute": "gender", "classifier": "linear", "seen": "all"}
    return pd.DataFrame(rows).assign(**kind, n_test=100)


def test_lic_data_is_the_mean_over_human_captions():
    frame = pd.DataFrame([run("model", 50.0), run("human", 44.0), run("human", 46.0, index=1)])
    row = lic_table(frame).iloc[0]
    assert row[["lic_model", "lic_data", "lic"]].tolist() == [50, 45, 5]
    assert (row["captioner"], row["human"], row["n_test"]) == ("NIC+", "0, 1", 4)


def test_a_seed_with_one_side_only_is_left_out_of_the_difference_but_not_of_lic_model():
    frame = pd.DataFrame([run("model", 50.0), run("human", 44.0), run("model", 51.0, seed=12)])
    assert lic_table(frame)["seed"].tolist() == [0]
    assert model_table(frame)["lic_model"].tolist() == [50, 51]


def test_lic_model_on_unseen_captions_is_the_runs_own_score():
    own = {"unseen_raw_score": 45.0, "n_unseen_raw": 2, "unseen_score": 30.0, "n_unseen": 1}
    frame = pd.DataFrame([run("model", 50.0, **own), run("human", 44.0, **own)])
    columns = ["lic_model", "n_test", "seen"]
    raw, masked = (model_table(frame, seen=s) for s in ("unseen as written", "unseen"))
    assert raw[columns].to_numpy().tolist() == [[45.0, 2, "unseen as written"]]
    assert masked[columns].to_numpy().tolist() == [[30.0, 1, "unseen"]]


def test_bits_are_one_less_the_cross_entropy_in_bits():
    half = 0.6931471805599453 / 2  # half a bit, in nats
    frame = pd.DataFrame([run("model", 50.0, log_loss=half), run("human", 44.0, log_loss=2 * half)])
    row = lic_table(frame, of="bits").iloc[0]
    assert row[["lic_model", "lic_data", "lic"]].tolist() == pytest.approx([0.5, 0, 0.5])
    assert lic_table(frame, of="auc").iloc[0]["lic_model"] == 70


def outcomes(*rows):
    columns = ["key", "image_id", "score", "unseen", "unseen_raw"]
    return pd.DataFrame(rows, columns=columns)


def test_unseen_is_matched():
    frame = pd.DataFrame([run("model", 0.0), run("human", 0.0), run("human", 0.0, index=1)])
    model, first, second = frame["key"]
    scored = outcomes(
        (model, 1, 60.0, True, True),
        (model, 2, 40.0, True, False),
        (model, 3, 90.0, False, False),  # met in training
        (first, 1, 50.0, False, False),  # whether the human caption is new does not matter
        (first, 2, 30.0, True, True),
        (first, 3, 99.0, True, True),
        (second, 1, 10.0, True, True),
        (second, 2, 20.0, True, True),
        (second, 3, 99.0, True, True),
    )
    runs = SimpleNamespace(frame=frame, outcomes=scored)
    row = lic_table(runs, seen="unseen").iloc[0]
    # images 1 and 2: (60 + 40) / 2; human captions (50 + 30) / 2 and (10 + 20) / 2, and their mean
    assert row[["lic_model", "lic_data", "lic", "n_test"]].tolist() == [50, 27.5, 22.5, 2]
    raw = lic_table(runs, seen="unseen as written").iloc[0]
    assert raw[["lic_model", "lic_data", "n_test"]].tolist() == [60, 30, 1]  # image 1 only


def test_a_captioner_is_matched_with_its_own_images():
    frame = pd.DataFrame(
        [run(side, 0.0, captioner=c) for c in ("nic_plus", "sat") for side in ("model", "human")]
    )
    scored = outcomes(
        *[(key, image, 10.0 * image, (image == 1) == ("nic" in key), False)
          for key in frame["key"] for image in (1, 2)]
    )  # fmt: skip
    runs = SimpleNamespace(frame=frame, outcomes=scored)
    rows = lic_table(runs, seen="unseen").set_index("captioner")
    assert rows["lic_data"].to_dict() == {"NIC+": 10, "SAT": 20}


@pytest.mark.parametrize("wrong", [{"of": "accuracy"}, {"seen": "new"}])
def test_an_unknown_score_or_subset_is_an_error(wrong):
    with pytest.raises(RelicError, match="auc"):
        lic_table(pd.DataFrame([run("model", 1.0)]), **wrong)


def test_intervals_by_hand():
    # mean 2, variance 1, n 3, gender: error sqrt(1/3 + 1/9 + .443/3) = .769488; t(2, .975) = 4.30265
    table = intervals(body(SAT=[4.0, 4.0, 4.0], NIC=[1.0, 2.0, 3.0])).set_index("captioner")
    assert list(table.index) == ["NIC", "SAT"]  # the papers' order
    assert table.loc["NIC", ["lic", "low", "high"]].tolist() == pytest.approx(
        [2, 2 - 3.310838, 2 + 3.310838]
    )
    assert table.loc["SAT", ["lic", "low", "high", "seeds"]].tolist() == [4, 4, 4, 3]


def test_a_difference_is_taken_split_by_split():
    table = body(A=[1.0, 5.0, 9.0], B=[0.0, 4.0, 8.0])  # wild splits, always 1 apart
    assert difference(table, "A", "B").interval() == pytest.approx((1, 1, 1))
    assert estimates(table)["A"].interval().low < 0
    with pytest.raises(RelicError, match="C is not among"):
        difference(table, "A", "C")


def test_the_mean_over_captioners_varies_as_their_mean_does():
    table = body(A=[1.0, 3.0], B=[3.0, 1.0])  # each varies, their mean does not
    assert mean_over_captioners(table)[:2] == (2, 0)


def test_printed_tables_count_as_independent_spreads():
    theirs = papers("gender").query("source == 'hirota2022' and classifier == 'lstm'")
    estimate = estimates(theirs)["NIC"]
    # spreads 1.5 and 0.9 over ten splits
    assert estimate.mean == 3.7
    shared = 1 / 9 + 0.443 / 3  # 443 women for 1,000 men
    assert estimate.error == pytest.approx(((1 / 10 + shared) * (1.5**2 + 0.9**2)) ** 0.5)


def test_a_small_encoder_is_not_called_bert():
    run = {"classifier": "bert-pre", "encoder": "all-MiniLM-L6-v2", "recipe": "1e-5x5"}
    run |= {"batching": "bucketed", "split": "paired"}
    assert classifier_label(run) == "bert-pre (MiniLM) 1e-5x5"
    base = run | {"encoder": "bert-base-uncased", "recipe": "5e-5x20"}
    assert classifier_label(base) == "bert-pre"


def test_a_classifier_is_plain_with_the_papers_recipe_and_batches():
    run = {"classifier": "lstm", "encoder": "", "recipe": "upstream", "split": "upstream"}
    labels = [classifier_label(run | {"batching": b}) for b in ("packed", "bucketed")]
    assert labels == ["lstm", "lstm bucketed"]
