"""Verdicts on hand-made evidence, and on the papers' numbers."""

import math

import pandas as pd
import pytest

from relic import claims, evidence, results
from relic.claims import NOT_SUPPORTED, SUPPORTED, UNDECIDED, judge
from relic.classifiers.base import CLASSIFIERS, classifier_type
from relic.errors import RelicError
from relic.published import published
from relic.stats import Interval


def body(attribute="gender", classifier="linear", source="made", **values):
    """Evidence by seed: captioner -> LIC values; LIC_D is 40."""
    rows = [
        {
            "source": source, "corpus": "made", "attribute": attribute, "classifier": classifier,
            "variant": "standard", "captioner": name.replace("_", "+"), "seed": seed,
            "lic_model": 40 + lic, "lic_data": 40.0, "lic": lic, "n_seeds": 1, "n_test": 100,
        }
        for name, lics in values.items()
        for seed, lic in enumerate(lics)
    ]  # fmt: skip
    return pd.DataFrame(rows).reindex(columns=evidence.COLUMNS)


def verdict(frame, claim, **about):
    found = [
        v
        for v in claims.judge_all(frame)
        if v.claim == claim and all(getattr(v, k) == value for k, value in about.items())
    ]
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    ("interval", "bound", "above", "word"),
    [
        ((2, 1, 3), 0, True, SUPPORTED),
        ((2, -1, 5), 0, True, UNDECIDED),
        ((-1, -4, 2), 0, True, NOT_SUPPORTED),
        ((-3, -4, -2), 0, True, NOT_SUPPORTED),
        ((0, 0, 0), 0, True, NOT_SUPPORTED),
        ((0.1, -0.5, 0.7), 1, False, SUPPORTED),
        ((0.5, -1.5, 2.5), 1, False, UNDECIDED),
        ((1.5, 0.2, 2.8), 1, False, NOT_SUPPORTED),
        ((2, math.nan, math.nan), 0, True, UNDECIDED),
    ],
)
def test_the_rule(interval, bound, above, word):
    assert judge(Interval(*interval), bound, above) == word


def test_every_captioner_is_judged_on_the_weakest():
    strong, weak = [5.0, 5.1, 4.9, 5.0], [1.0, -1.0, 1.5, -0.5]
    assert verdict(body(A=strong, B=strong), "2").verdict == SUPPORTED
    found = verdict(body(A=strong, B=weak), "2")
    assert (found.verdict, found.estimate) == (UNDECIDED, pytest.approx(0.25))
    assert "1 of 2 captioners" in found.sentence
    assert "weakest is B" in found.sentence
    assert verdict(body(A=strong, B=[-x for x in weak]), "2").verdict == NOT_SUPPORTED


def test_a_part_of_the_captioners_is_told():
    both = pd.concat([body(A=[5.0, 5.1], B=[4.0, 4.1]), body(classifier="lstm", A=[5.0, 5.1])])
    judged = [v for v in claims.judge_all(both) if v.claim == "2"]
    assert [v.by for v in judged] == ["linear", "lstm on 1 of 2 captioners"]


def test_a_classifier_without_all_captioners_does_not_count_in_claim_1():
    rows = [body(A=[5.0, 5.1], B=[4.0, 4.1], C=[1.0, 1.1])] * 2
    rows = [rows[0], rows[1].assign(classifier="bert-pre"), body(classifier="lstm", A=[5.0])]
    found = verdict(pd.concat(rows), "1")
    assert (found.classifier, found.n_seeds, found.captioners) == ("linear, bert-pre", 2, 3)
    assert found.sentence.endswith("Left out (not all captioners, or one split): lstm.")


def test_a_classifier_with_one_split_does_not_count_where_two_have_more():
    rows = [body(A=[5.0, 5.1], B=[4.0, 4.1], C=[1.0, 1.1])] * 2
    single = body(A=[1.0], B=[2.0], C=[3.0]).assign(classifier="bert-ft")
    found = verdict(pd.concat([rows[0], rows[1].assign(classifier="bert-pre"), single]), "1")
    assert (found.classifier, found.estimate) == ("linear, bert-pre", 1.0)


def test_one_split_says_nothing_sure_about_the_order():
    rows = body(A=[5.0], B=[4.0], C=[1.0])
    found = verdict(pd.concat([rows, rows.assign(classifier="lstm")]), "1")
    assert (found.estimate, found.verdict, found.n_seeds) == (1.0, UNDECIDED, 1)
    assert math.isnan(found.low)


def test_seeds_are_those_that_the_estimate_rests_on():
    rows = body(NIC_=[3.0, 3.1, 2.9], NIC_Equalizer=[5.0, 5.1, 5.2], A=[1.0])
    assert verdict(rows, "4").n_seeds == 3


def test_one_split_is_undecided():
    found = verdict(body(A=[5.0], B=[4.0]), "2")
    assert found.verdict == UNDECIDED
    assert math.isnan(found.low)


def test_equalizer_on_race_needs_equivalence():
    same = [3.0, 3.1, 2.9, 3.0]
    pair = {"NIC_": same, "NIC_Equalizer": [x + 0.1 for x in same]}
    assert verdict(body("race", **pair), "4").verdict == SUPPORTED
    assert verdict(body("gender", **pair), "4").verdict == SUPPORTED  # 0.1, without any spread
    apart = {"NIC_": same, "NIC_Equalizer": [x + 4 for x in same]}
    assert verdict(body("race", **apart), "4").verdict == NOT_SUPPORTED


def test_race_against_gender_on_both_readings():
    gender = body("gender", A=[5.0, 5.1, 4.9], B=[6.0, 6.1, 5.9])
    race = body("race", A=[2.0, 2.1, 1.9], B=[7.0, 7.1, 6.9])
    race["lic_model"] -= 20  # harder to guess, yet B amplifies more
    both = pd.concat([gender, race])
    assert verdict(both, "3 (LIC_M)").verdict == SUPPORTED
    found = verdict(both, "3 (LIC)")
    assert (found.verdict, found.estimate) == (NOT_SUPPORTED, pytest.approx(-1))


def test_encoders_in_the_same_and_in_another_order():
    def order(*values):
        return {chr(65 + i): [v - 0.01, v, v + 0.01] for i, v in enumerate(values)}

    same = [body(classifier=c, **order(1, 2, 3, 4, 5)) for c in ("linear", "lstm")]
    found = verdict(pd.concat(same), "1")
    assert (found.verdict, found.estimate, found.low) == (
        SUPPORTED,
        pytest.approx(1),
        pytest.approx(1),
    )
    other = [same[0], body(classifier="lstm", **order(5, 4, 3, 2, 1))]
    assert verdict(pd.concat(other), "1").estimate == pytest.approx(-1)
    assert verdict(pd.concat(other), "1").verdict == NOT_SUPPORTED


def test_verdicts_on_published_seeds():
    frame = evidence.from_per_seed()
    assert verdict(frame, "2", attribute="gender", classifier="bert-ft").verdict == NOT_SUPPORTED
    race = verdict(frame, "4", attribute="race", classifier="lstm")
    assert race.verdict == UNDECIDED
    assert (race.estimate, race.low, race.high) == pytest.approx((0.50, -1.50, 2.50), abs=0.006)
    lstm = verdict(frame, "2", attribute="gender", classifier="lstm")
    assert (lstm.verdict, lstm.n_seeds, lstm.n_test) == (SUPPORTED, 10, 662)


def test_a_changed_value_changes_verdict_and_sentence():
    values = published("lic_per_seed")
    chosen = (
        (values["attribute"] == "gender") & (values["classifier"] == "LSTM")
        & (values["captioner"] == "SAT") & (values["metric"] == "LIC_M")
    )  # fmt: skip
    before = verdict(evidence.from_per_seed(values), "2", attribute="gender", classifier="lstm")
    values.loc[chosen, "value"] -= 8
    after = verdict(evidence.from_per_seed(values), "2", attribute="gender", classifier="lstm")
    assert (before.verdict, after.verdict) == (SUPPORTED, NOT_SUPPORTED)
    assert before.sentence != after.sentence
    assert "SAT" in after.sentence


def test_tables_count_as_independent_spreads():
    frame = evidence.from_tables()
    nic = frame[
        (frame["source"] == "hirota2022 table") & (frame["attribute"] == "gender")
        & (frame["classifier"] == "lstm") & (frame["captioner"] == "NIC")
    ]  # fmt: skip
    found = evidence.means(nic)["NIC"]
    # spreads 1.5 and 0.9 over ten seeds: sqrt((1/10 + 1/9) * (1.5² + 0.9²))
    assert found.mean == 3.7
    assert found.error == pytest.approx(math.sqrt((1 / 10 + 1 / 9) * (1.5**2 + 0.9**2)))


def run(captions, score, *, captioner="nic_plus", index=0, seed=0, unseen=30.0, **more):
    return {
        "source": "recorded", "corpus": "COCO captions", "attribute": "gender", "captioner": captioner,
        "side": captions, "caption_set": "standard", "labels": "true", "size": 0,
        "caption_index": index, "vocabulary": "" if captions == "model" else "captioner",
        "split": "paired", "seed": seed, "classifier": "linear", "recipe": "", "batching": "", "encoder": "",
        "score": score, "unseen_score": unseen, "n_test": 488, "n_unseen": 100, **more,
    }  # fmt: skip


def test_runs_become_differences_by_seed():
    runs = [run("model", 50.0), run("human", 44.0), run("human", 46.0, index=1, unseen=26.0)]
    runs += [run("model", 99.0, split="upstream"), run("model", 99.0, labels="permuted")]
    found = evidence.from_runs(pd.DataFrame(runs)).set_index("variant")
    assert found.loc["standard", ["lic_model", "lic_data", "lic"]].tolist() == [50, 45, 5]
    assert found.loc["unseen", ["lic", "n_test"]].tolist() == [2, 100]
    assert found.loc["standard", "captioner"] == "NIC+"


def test_a_small_encoder_is_not_called_bert():
    about = {"classifier": "bert-pre", "encoder": "all-MiniLM-L6-v2", "recipe": "1e-5x5"}
    about |= {"batching": "bucketed", "split": "paired"}
    assert evidence.classifier_label(about) == "bert-pre (MiniLM) 1e-5x5"
    base = about | {"encoder": "bert-base-uncased", "recipe": "5e-5x20"}
    assert evidence.classifier_label(base) == "bert-pre"


def test_a_classifier_is_plain_with_the_papers_recipe_and_batches():
    assert {name: classifier_type(name).recipes[0] for name in CLASSIFIERS} == evidence.RECIPES
    run = {"classifier": "lstm", "encoder": "", "recipe": "upstream", "split": "upstream"}
    labels = [evidence.classifier_label(run | {"batching": b}) for b in ("packed", "bucketed")]
    assert labels == ["lstm", "lstm bucketed"]


def test_a_run_that_is_there_twice_with_other_scores_is_an_error():
    frame = results.load_runs().query("classifier == 'linear' and attribute == 'race'")
    again = frame.head(1).assign(fingerprint="of other captions", key="other")
    assert len(evidence.select(pd.concat([frame, again]))) == len(evidence.select(frame))
    kept = evidence.select(frame).head(1)
    moved = kept.assign(classifier="linear", score=kept["score"] + 1, key="other")
    with pytest.raises(RelicError, match="1 runs are there twice"):
        evidence.select(pd.concat([frame, moved]))


def test_table_has_the_columns_of_the_command():
    assert list(claims.table(claims.judge_all(body(A=[1.0, 2.0])))) == [
        "source", "claim", "attribute", "classifier", "variant", "verdict", "estimate", "low",
        "high", "n_seeds", "n_test",
    ]  # fmt: skip
