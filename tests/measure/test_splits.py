"""Splits: the papers' procedure carried out again here, by hand, against `relic.measure.splits`."""

import os
import pickle
import random
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relic.data.planted import planted_corpus
from relic.errors import RelicError
from relic.measure.classifiers.base import TextForm
from relic.measure.inputs import Reading, fingerprint, read_captions
from relic.measure.runs import describe, prepare
from relic.measure.splits import Split, split

PAPER_SEEDS = [0, 12, 100, 200, 300, 400, 456, 500, 789, 1234]
FLAT_POLICIES = ["upstream", "unpaired", "paired"]
OSCAR_RACE = "bias_data/Oscar/race_val_cider_oscar_cap_entries.pkl"
OSCAR = "bias_data/Oscar/gender_val_cider_oscar_cap_mw_entries.pkl"
SAT = "bias_data/Show-Attend-Tell/gender_val_sat_cap_mw_entries.pkl"
FILES = {  # attribute: file, field, class 0, class 1, train, test (METHODS, "Labels")
    "gender": (OSCAR, "bb_gender", "Male", "Female", 5966, 662),
    "race": (OSCAR_RACE, "bb_skin", "Light", "Dark", 1972, 220),
    "age": ("age_data/age_dataset.pkl", "bb_age", "old", "young", 4382, 488),
}


@cache
def entries(name):
    """Rows of an upstream pickle, read without the package."""
    folder = os.environ.get("RELIC_DATA")
    path = Path(folder or "") / name
    if not folder or not path.is_file():
        pytest.skip(f"no {name} under RELIC_DATA ({folder or 'not set'})")
    return pickle.loads(path.read_bytes())


def labels_of(name, field, zero, one):
    codes = {zero: 0, one: 1}
    return pd.Series({e["img_id"]: codes[e[field]] for e in entries(name) if e[field] in codes})


def by_hand(labels, seed, test_share=0.1):
    """METHODS' procedure with the global `random`, as upstream ran it; its state is put back."""
    state = random.getstate()
    random.seed(seed)
    pools = {k: [i for i, label in labels.items() if label == k] for k in (0, 1)}
    n_test = round(len(pools[1]) * test_share)
    sides = [
        [pools[k].pop(random.randrange(len(pools[k]))) for k in (0, 1) for _ in range(n)]
        for n in (len(pools[1]) - n_test, n_test)
    ]
    for side in sides:
        random.shuffle(side)
    random.setstate(state)
    return sides


def ids(s):
    return [s.train.tolist(), s.test.tolist()]


def shuffled(series, seed):
    return series.sample(frac=1, random_state=seed)


@st.composite
def made_labels(draw):
    n_ones = draw(st.integers(20, 40))
    n_zeros = draw(st.integers(n_ones, 80))
    rng = random.Random(draw(st.integers(0, 2**32)))
    values = [0] * n_zeros + [1] * n_ones
    rng.shuffle(values)
    return pd.Series(values, index=rng.sample(range(10**6), len(values)))


# 22 images of class 0 (101..122) and 20 of class 1 (201..220), worked out for seed 0.
TINY = pd.Series({i: int(i > 200) for i in [*range(101, 123), *range(201, 221)]})
TINY_TRAIN = [
    *(106, 219, 110, 205, 216, 207, 119, 108, 103, 105, 101, 118, 208, 218, 115, 104, 121, 204),
    *(211, 220, 117, 102, 212, 214, 202, 122, 111, 210, 217, 107, 209, 206, 203, 120, 113, 215),
]
TINY_TEST = [201, 116, 112, 213]  # drawn as 116, 112, 213, 201; 109 and 114 are left over
TINY_GROUPS = pd.Series({i: f"caption {i % 14}" for i in TINY.index})


@pytest.mark.parametrize("seed", PAPER_SEEDS)
@pytest.mark.parametrize("attribute", FILES)
def test_upstream_is_the_papers_split(attribute, seed):
    *source, n_train, n_test = FILES[attribute]
    labels = labels_of(*source)
    got = split(labels, "upstream", seed)
    assert (len(got.train), len(got.test)) == (n_train, n_test)
    assert ids(got) == by_hand(labels, seed)


def test_tiny_example():
    rows = TINY.sort_index(key=lambda i: i % 100)  # classes interleaved, each still in id order
    got = split(rows, "upstream", 0)
    assert (type(got), type(got.train), type(got.test)) == (Split, np.ndarray, np.ndarray)
    assert ids(got) == [TINY_TRAIN, TINY_TEST] == by_hand(rows, 0)
    assert ids(split(shuffled(rows, 5), "unpaired", 0)) == [TINY_TRAIN, TINY_TEST]


@given(made_labels(), st.integers(0, 2000))
def test_disjoint_balanced_and_of_the_right_size(labels, seed):
    n_test = round((labels == 1).sum() * 0.1)  # Python's rounding: 2.5 becomes 2
    n_train = (labels == 1).sum() - n_test
    for policy in FLAT_POLICIES:
        got = split(labels, policy, seed)
        used = [*got.train, *got.test]
        assert len(set(used)) == len(used)
        for side, n in ((got.train, n_train), (got.test, n_test)):
            assert labels.loc[side].value_counts().to_dict() == {0: n, 1: n}
        assert ids(split(labels, policy, seed)) == ids(got)


@given(made_labels(), st.integers(0, 2000))
def test_what_row_order_does(labels, seed):
    mixed = shuffled(labels, 1)
    assert ids(split(labels, "paired", seed)) == ids(split(mixed, "paired", seed))
    assert ids(split(mixed, "unpaired", seed)) == by_hand(labels.sort_index(), seed)
    assert ids(split(labels, "upstream", seed)) == by_hand(labels, seed)
    # The same positions are drawn from the reversed rows, so other images come out.
    assert ids(split(labels[::-1], "upstream", seed)) != ids(split(labels, "upstream", seed))


@pytest.mark.parametrize("policy", FLAT_POLICIES)
def test_seeds_give_different_splits(policy):
    tests = {tuple(split(TINY, policy, seed).test.tolist()) for seed in PAPER_SEEDS}
    assert len(tests) == len(PAPER_SEEDS)


@pytest.mark.parametrize("mean_size", [1, 2, 4, 8])
def test_grouped_folds_test_every_image_once(mean_size):
    rng = random.Random(mean_size)
    labels = shuffled(pd.Series([1] * 150 + [0] * 250, index=range(1000, 1400)), 3)
    keys = [f"caption {rng.randrange(400 // mean_size)}" for _ in labels]
    groups, tested = pd.Series(keys, index=labels.index), []
    folds = [split(labels, "grouped", fold, groups=groups) for fold in range(10)]
    for got in folds:
        assert set(groups.loc[got.train]).isdisjoint(groups.loc[got.test])
        assert labels.loc[got.train].mean() == 0.5
        assert len(set(got.train)) == len(got.train)
        tested += got.test.tolist()
    assert len(set(tested)) == len(tested)  # no image in two folds
    assert labels.loc[tested].value_counts().to_dict() == {0: 150, 1: 150}
    again = split(shuffled(labels, 1), "grouped", 4, groups=shuffled(groups, 2))
    assert ids(again) == ids(folds[4])  # row order does not matter


def test_grouped_trains_on_all_other_folds_but_what_balance_costs():
    groups = pd.Series({i: f"caption {i}" for i in TINY.index})  # nothing repeats
    for fold in range(10):
        got = split(TINY, "grouped", fold, groups=groups)
        assert (len(got.train), len(got.test)) == (36, 4)  # 20 of each class, two of each tested
        assert TINY.loc[got.test].mean() == 0.5


@pytest.mark.parametrize("fold", [-1, 10, 12])
def test_grouped_has_ten_folds(fold):
    with pytest.raises(RelicError, match=f"number {fold}") as error:
        split(TINY, "grouped", fold, groups=TINY_GROUPS)
    assert "0 to 9" in error.value.expected


def test_grouped_refuses_a_fold_of_one_class():
    groups = pd.Series({i: "one" if i > 200 else f"caption {i}" for i in TINY.index})
    for fold in range(10):  # all of class 1 lie in one fold: none has both classes on both sides
        with pytest.raises(RelicError, match="one class"):
            split(TINY, "grouped", fold, groups=groups)


def test_grouped_on_real_captions():
    labels = labels_of(*FILES["gender"][:4])
    people = {"man", "woman", "men", "women", "boy", "girl"}
    words = {e["img_id"]: e["pred"].split() for e in entries(OSCAR)}
    groups = pd.Series({i: " ".join("_" if w in people else w for w in words[i]) for i in words})
    assert groups.duplicated().any()  # or the test would show nothing
    folds = [split(labels, "grouped", fold, groups=groups) for fold in range(10)]
    assert sum(len(got.test) for got in folds) == 6628
    for got in folds:
        assert set(groups.loc[got.train]).isdisjoint(groups.loc[got.test])
        assert len(got.test) == pytest.approx(663, rel=0.03)  # large groups, and yet even folds
        assert len(got.train) == pytest.approx(5965, rel=0.01)
        assert labels.loc[got.test].mean() == pytest.approx(0.5, abs=0.01)


def test_both_sides_share_the_folds_of_the_captioner():
    corpus = planted_corpus("gender", images=600)
    said = read_captions(corpus, Reading("model", "planted_lot"), TextForm())
    tested = []
    for fold in range(10):
        how = {"split": "grouped", "seed": fold}
        model = prepare(corpus, describe(corpus, "planted_lot", "linear", **how))
        how |= {"side": "human", "vocabulary": "none"}
        human = prepare(corpus, describe(corpus, "planted_lot", "linear", **how))
        assert model.images["image_id"].tolist() == human.images["image_id"].tolist()
        assert model.train_classes.tolist() == human.train_classes.tolist()
        assert not model.images["seen_masked"].any()
        assert set(said.loc[model.images["image_id"]]) == set(model.test)
        tested += model.images["image_id"].tolist()
    assert sorted(set(tested)) == sorted(tested)
    assert len(tested) == 2 * (corpus.labels == 1).sum()


def test_a_grouped_human_run_hangs_on_the_captioner_too():
    corpus = planted_corpus("gender", images=600)
    generated = corpus.generated.copy()
    row = generated.index[generated["captioner"] == "planted_lot"][0]
    generated.loc[row, "caption"] = "something else"
    changed = replace(corpus, generated=generated)
    human = Reading("human", "planted_lot", vocabulary="none")
    other = Reading("human", "planted_none", vocabulary="none")
    assert fingerprint(corpus, human, "grouped") != fingerprint(changed, human, "grouped")
    assert fingerprint(corpus, human, "paired") == fingerprint(changed, human, "paired")
    assert fingerprint(corpus, other, "grouped") == fingerprint(changed, other, "grouped")


def test_captioners_share_test_images_only_when_paired():
    oscar, sat = (labels_of(name, *FILES["gender"][1:4]) for name in (OSCAR, SAT))
    a, b = (split(labels, "upstream", 0).test for labels in (oscar, sat))
    assert 0.04 <= len({*a} & {*b}) / 662 <= 0.13
    assert ids(split(oscar, "paired", 0)) == ids(split(sat, "paired", 0))


@pytest.mark.parametrize("policy", [*FLAT_POLICIES, "grouped"])
def test_global_random_states_and_input_are_left_alone(policy):
    groups = TINY_GROUPS if policy == "grouped" else None
    labels, before = TINY.copy(), (random.getstate(), np.random.get_state())
    first = split(labels, policy, 2, groups=groups)
    assert random.getstate() == before[0]
    np.testing.assert_equal(np.random.get_state(), before[1])
    pd.testing.assert_series_equal(labels, TINY)
    random.random(), np.random.random()  # a state that has moved on must not matter either
    assert ids(split(labels, policy, 2, groups=groups)) == ids(first)


def test_twenty_images_of_a_class_are_enough():
    assert len(split(TINY.loc[103:], "paired", 0).train) == 36


@pytest.mark.parametrize("policy", [*FLAT_POLICIES, "grouped"])
@pytest.mark.parametrize(
    "labels",
    [
        pytest.param(pd.concat([TINY, TINY.loc[[101]]]), id="duplicate id"),
        pytest.param(TINY.loc[:122], id="only class 0"),
        pytest.param(TINY.loc[201:], id="only class 1"),
        pytest.param(TINY.replace(1, 2), id="labels 0 and 2"),
        pytest.param(TINY.astype(float).where(TINY.index != 101), id="a missing label"),
        pytest.param(TINY.map({0: "Male", 1: "Female"}), id="labels in words"),
        pytest.param(TINY.drop(201), id="19 of class 1"),
        pytest.param(TINY.drop([101, 102, 103]), id="19 of class 0"),
    ],
)
def test_labels_that_cannot_be_split(labels, policy):
    groups = TINY_GROUPS.loc[labels.index.unique()] if policy == "grouped" else None
    with pytest.raises(RelicError) as error:
        split(labels, policy, 0, groups=groups)
    assert error.value.expected


def test_unknown_policy():
    with pytest.raises(RelicError, match="sideways") as error:
        split(TINY, "sideways", 0)
    assert "paired" in str(error.value)  # the allowed ones are named


@pytest.mark.parametrize(
    "groups",
    [
        pytest.param(None, id="missing"),
        pytest.param(TINY_GROUPS.drop(101), id="one image has none"),
        pytest.param(TINY_GROUPS.set_axis(range(len(TINY))), id="other ids"),
        pytest.param(pd.Series("a caption", TINY.index), id="one group for all"),
        pytest.param(pd.concat([TINY_GROUPS, TINY_GROUPS.loc[[101]]]), id="two for an image"),
    ],
)
def test_groups_that_do_not_fit(groups):
    with pytest.raises(RelicError, match="group"):
        split(TINY, "grouped", 0, groups=groups)
