"""Descriptions, keys, what is refused before any training, and what a run reads."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from relic.data.planted import PlantedCaptioner, planted_corpus
from relic.errors import RelicError
from relic.measure.classifiers.base import TextForm, kind_of
from relic.measure.inputs import Reading, learned_classes, read_captions
from relic.measure.runs import Run, compute, describe, prepare


@pytest.fixture(scope="module")
def corpus():
    return planted_corpus("gender", images=600)


def test_a_key_is_what_it_was():
    """Keys name stored runs: a change here orphans everything that users have computed."""
    assert Run("c", "gender", "nic", "linear").key == "b56ef3356e550bff7348ce294b0d76c8"
    assert (
        Run("c", "gender", "nic", "linear", seed=0).key == Run("c", "gender", "nic", "linear").key
    )
    assert (
        Run("c", "gender", "nic", "linear", seed=1).key != Run("c", "gender", "nic", "linear").key
    )


def test_the_same_description_gives_the_same_result(corpus):
    run = describe(corpus, "planted_lot", "linear", seed=3)
    again = planted_corpus("gender", images=600)
    assert describe(again, "planted_lot", "linear", seed=3) == run
    first, second = compute(corpus, run), compute(again, run)
    pd.testing.assert_frame_equal(first.images, second.images)
    assert first.scores["score"] == second.scores["score"]


def test_every_part_of_a_description_changes_the_key(corpus):
    base = describe(corpus, "planted_lot", "linear")
    others = [
        describe(corpus, "planted_none", "linear"),
        describe(corpus, "planted_lot", "linear", seed=1),
        describe(corpus, "planted_lot", "linear", split="upstream"),
        describe(corpus, "planted_lot", "linear", labels="permuted"),
        describe(corpus, "planted_lot", "linear", size=200),
        describe(corpus, "planted_lot", "linear", side="human"),
        describe(corpus, "planted_lot", "linear", side="human", caption_index=1),
        describe(corpus, "planted_lot", "linear", side="human", vocabulary="none"),
        describe(planted_corpus("gender", images=600, seed=1), "planted_lot", "linear"),
    ]
    assert len({run.key for run in [base, *others]}) == len(others) + 1


def test_a_changed_caption_changes_the_fingerprint_of_its_captioner_only(corpus):
    changed = corpus.generated.copy()
    row = changed.index[changed["captioner"] == "planted_lot"][5]
    changed.loc[row, "caption"] = "something else"
    other = replace(corpus, generated=changed)
    assert (
        describe(other, "planted_lot", "linear").fingerprint
        != describe(corpus, "planted_lot", "linear").fingerprint
    )
    assert describe(other, "planted_none", "linear") == describe(corpus, "planted_none", "linear")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"captioner": "nobody"}, "planted_none"),
        ({"classifier": "oracle"}, "linear"),
        ({"split": "random"}, "paired"),
        ({"recipe": "C=7"}, "C=0.1"),
        ({"labels": "noisy:0.9"}, "noisy"),
        ({"labels": "wrong"}, "permuted"),
        ({"side": "robot"}, "human"),
        ({"side": "human", "vocabulary": "latin"}, "human-top-n"),
        ({"side": "human", "caption_index": 9}, "0 to 4"),
        ({"caption_set": "masked_moon"}, "planted_none"),
        ({"size": 5000}, "2500"),
        ({"colour": "blue"}, "captioner"),
    ],
)
def test_refused_before_training(corpus, options, says):
    fields = {"captioner": "planted_none", "classifier": "linear"} | options
    with pytest.raises(RelicError) as error:
        describe(corpus, **fields)
    assert says in str(error.value)


def test_too_few_images_and_one_class(corpus):
    few = replace(
        corpus, labels=corpus.labels.where(corpus.labels.index > 60, 0).astype(int).head(80)
    )
    with pytest.raises(RelicError, match="at least 20 of each"):
        describe(few, "planted_none", "linear")
    with pytest.raises(RelicError, match="0 of class 1"):
        describe(replace(corpus, labels=corpus.labels * 0), "planted_none", "linear")


def test_another_captioners_vocabulary_is_refused(corpus):
    wrong = corpus.vocabularies | {"planted_none": ("<unk>", "<pad>", "a", "the")}
    with pytest.raises(RelicError, match="another captioner's"):
        describe(replace(corpus, vocabularies=wrong), "planted_none", "linear", side="human")


def test_paired_runs_share_their_test_images(corpus):
    sides = [
        prepare(corpus, describe(corpus, captioner, "linear", side=side, seed=4))
        for side, captioner in (
            ("model", "planted_none"),
            ("model", "planted_lot"),
            ("human", "planted_lot"),
        )
    ]
    for side in sides[1:]:
        assert side.images["image_id"].tolist() == sides[0].images["image_id"].tolist()


def test_paired_uses_only_images_that_all_have(corpus):
    human = corpus.human[corpus.human["image_id"] > 100]
    part = replace(corpus, human=human)
    side = prepare(part, describe(part, "planted_none", "linear"))
    assert side.images["image_id"].min() > 100
    side = prepare(part, describe(part, "planted_none", "linear", split="upstream"))
    assert len(side.train) + len(side.test) == 2 * int((corpus.labels == 1).sum())


def test_seen_flags_by_hand(corpus):
    side = prepare(corpus, describe(corpus, "planted_lot", "linear"))
    read = read_captions(corpus, Reading("model", "planted_lot"), TextForm())
    for number, text in enumerate(side.test[:30]):
        assert side.images["seen_masked"][number] == (text in side.train)
        assert read[side.images["image_id"][number]] == text
    raw_seen = side.images["seen_raw"].mean()
    assert (
        raw_seen <= side.images["seen_masked"].mean()
    )  # masking can only make captions more alike


def test_masked_words_are_gone_in_every_form(corpus):
    for name in ("linear", "lstm", "bert-ft"):
        form = kind_of(name).text_form
        for reading in (
            Reading("model", "planted_none"),
            Reading("human", "planted_none", vocabulary="captioner"),
        ):
            words = {
                word for caption in read_captions(corpus, reading, form) for word in caption.split()
            }
            assert not words & corpus.attribute.masked_words
            assert (form.mask_token or "genderword") in words


def test_labels_permuted_and_noisy(corpus):
    labels = corpus.labels
    permuted = learned_classes(labels, "permuted", 1)
    assert permuted.sum() == labels.sum()
    assert 0.3 < (permuted != labels).mean() < 0.6
    noisy = learned_classes(labels, "noisy:0.2", 1)
    assert (noisy != labels).mean() == pytest.approx(0.2, abs=0.05)
    assert (
        learned_classes(labels.sample(frac=1, random_state=0), "noisy:0.2", 1)
        .sort_index()
        .equals(noisy)
    )


def test_permuted_labels_score_at_chance():
    corpus = planted_corpus("gender", images=4000)
    runs = [describe(corpus, "planted_lot", "linear", seed=s, labels="permuted") for s in range(4)]
    accuracy = np.mean([compute(corpus, run).scores["accuracy"] for run in runs])
    assert abs(accuracy - 50) < 5  # 984 test captions: standard error 1.6


@pytest.mark.slow
def test_the_linear_classifier_approaches_the_truth():
    """Within 2 points at 50,000 images, temperature-scaled, for LIC_M and LIC_D; no gain, no LIC."""
    captioners = (PlantedCaptioner("none", "none", 0.0), PlantedCaptioner("lot", "lot", 1.5))
    corpus = planted_corpus("gender", images=50_000, captioners=captioners)
    differences = {}
    for captioner in ("none", "lot"):
        truth = corpus.true_lic(captioner)
        scores = [
            compute(corpus, describe(corpus, captioner, "linear", side=c, calibrated=True)).scores[
                "scaled_score"
            ]
            for c in ("model", "human")
        ]
        assert scores == pytest.approx([truth.lic_model, truth.lic_data], abs=2)
        differences[captioner] = scores[0] - scores[1]
    assert abs(differences["none"]) < 2 < differences["lot"]
