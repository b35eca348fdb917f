"""What holds for any input: splits, LIC in memory, ragged captions, served runs, a shared store."""

import json
import random
import threading
import warnings
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import relic
from relic import paths
from relic.data.attribute import load_attribute
from relic.data.load import human_captions
from relic.data.planted import planted_corpus
from relic.measure.runs import Outcome, Run, Store
from relic.measure.splits import split
from relic.records import serve
from relic.records.runs import OWN, RECORDED

FEW = settings(
    max_examples=6,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # trainings take too long to shrink
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
SEED = st.integers(0, 2**16)


# -- splits ---------------------------------------------------------------------------------------


@given(
    zeros=st.integers(20, 200),
    ones=st.integers(20, 200),
    seed=SEED,
    policy=st.sampled_from(["upstream", "unpaired", "paired", "grouped"]),
)
@settings(max_examples=60, deadline=None)
def test_a_split_is_disjoint_balanced_and_of_known_images(zeros, ones, seed, policy):
    zeros, ones = max(zeros, ones), min(zeros, ones)
    rng = random.Random(seed)
    values = [0] * zeros + [1] * ones
    rng.shuffle(values)
    labels = pd.Series(values, index=rng.sample(range(10**9), len(values)))
    groups = pd.Series(range(len(labels)), index=labels.index)  # no caption reads as another
    number = seed % 10 if policy == "grouped" else seed
    found = split(labels, policy, number, groups=groups)
    train, test = set(found.train), set(found.test)
    assert len(train) == len(found.train)
    assert len(test) == len(found.test)
    assert not train & test
    assert train | test <= set(labels.index)
    assert labels.loc[found.train].mean() == 0.5
    if policy == "grouped":  # a fold is tested whole
        assert abs(labels.loc[found.test].mean() - 0.5) < 0.2
    else:
        assert labels.loc[found.test].mean() == 0.5
        assert len(test) == 2 * round(ones / 10)


# -- LIC of captions in memory --------------------------------------------------------------------

CORPUS = planted_corpus("gender", images=240)
CAPTIONS = CORPUS.captions(CORPUS.captioners[-1]).to_dict()
LABELS = CORPUS.labels.map(dict(enumerate(CORPUS.attribute.classes))).to_dict()
HUMAN = CORPUS.human.groupby("image_id")["caption"].agg(list).to_dict()


def numbers(*inputs, **options) -> tuple:
    found = relic.lic(*inputs, seeds=[0, 1], **options)
    return found.lic_model, found.lic_data, found.lic, found.low, found.high


@pytest.fixture(scope="module")
def plain():
    """LIC of the captions above."""
    return pytest.approx(numbers(CAPTIONS, LABELS, HUMAN), abs=1e-9)


def reordered(table: dict, seed: int) -> dict:
    return dict(random.Random(seed).sample(list(table.items()), len(table)))


@FEW
@given(seeds=st.tuples(SEED, SEED, SEED))
def test_lic_does_not_hang_on_the_order_of_rows(plain, seeds):
    tables = (CAPTIONS, LABELS, HUMAN)
    assert numbers(*(reordered(t, s) for t, s in zip(tables, seeds, strict=True))) == plain


@FEW
@given(
    form=st.sampled_from(["{}", "{:012d}", "COCO_val2014_{:012d}.jpg", " {} "]),
    tables=st.sets(st.integers(0, 2), min_size=1),
)
def test_lic_is_the_same_for_numbers_strings_and_file_names(plain, form, tables):
    given_as = [
        {form.format(i) if at in tables else i: value for i, value in table.items()}
        for at, table in enumerate((CAPTIONS, LABELS, HUMAN))
    ]
    assert numbers(*given_as) == plain


@FEW
@given(classes=st.lists(st.text("abcxyzäß中", min_size=1, max_size=6), min_size=2, max_size=2, unique_by=str.casefold))  # fmt: skip
def test_lic_does_not_hang_on_what_the_classes_are_called(plain, classes):
    """Nor on their order: the rarer becomes class 1 whatever its place."""
    gender = load_attribute("gender")
    names = dict(zip(gender.classes, classes, strict=True))
    words = {names[name]: found for name, found in gender.class_words.items()}
    mine = gender.model_copy(update={"classes": tuple(classes), "class_words": words})
    labels = {image: names[label] for image, label in LABELS.items()}
    assert numbers(CAPTIONS, labels, HUMAN, mine) == plain


# -- ragged human captions ------------------------------------------------------------------------


@given(st.dictionaries(st.integers(1, 10**6), st.lists(st.text("ab c", min_size=1), min_size=1, max_size=8), min_size=1, max_size=12))  # fmt: skip
@FEW
def test_human_caption_k_is_caption_k_mod_c(tmp_path, said):
    said = {image: [f"a {t}" for t in texts] for image, texts in said.items()}
    (tmp_path / "coco").mkdir(exist_ok=True)
    rows = [{"image_id": i, "caption": t} for i, texts in said.items() for t in texts]
    (tmp_path / "coco" / "captions_x.json").write_text(json.dumps({"annotations": rows}))
    found = human_captions(tmp_path, "gender", said)
    corpus = replace(CORPUS, human=found, labels=pd.Series(0, index=sorted(said)))
    for k in range(5):
        expected = {image: texts[k % min(len(texts), 5)] for image, texts in said.items()}
        assert corpus.human_captions(k).to_dict() == expected
    assert len(corpus.covered) == len(corpus.labels)


@FEW
@given(seed=SEED)
def test_lic_of_ragged_captions_is_that_of_the_same_in_turn(seed):
    rng = random.Random(seed)  # most images have all five: an audit takes as many as most have
    ragged = {image: texts[: rng.choice([1, 2, 3, 4, *[5] * 9])] for image, texts in HUMAN.items()}
    turned = {image: (texts * 5)[:5] for image, texts in ragged.items()}
    assert numbers(CAPTIONS, LABELS, ragged) == pytest.approx(numbers(CAPTIONS, LABELS, turned))


# -- served runs ----------------------------------------------------------------------------------


@FEW
@given(
    captioners=st.sets(st.sampled_from(CORPUS.captioners), min_size=1, max_size=2).map(sorted),
    seeds=st.lists(st.integers(0, 50), min_size=1, max_size=2, unique=True),
    sides=st.sampled_from([("model",), ("human",), ("model", "human")]),
)
def test_trained_own_and_recorded_runs_are_the_same_frame(
    tmp_path_factory, captioners, seeds, sides
):
    asked = {"captioners": captioners, "seeds": seeds, "sides": sides}
    asked |= {"caption_indices": [0, 2], "progress": False}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(paths.RUNS_SETTING, str(tmp_path_factory.mktemp("runs")))
        trained = relic.runs(CORPUS, **asked).frame.sort_values("key", ignore_index=True)
        patch.setattr("relic.measure.sweep.compute", None)  # nothing may be trained again
        own = relic.runs(CORPUS, **asked).frame.sort_values("key", ignore_index=True)
        record = own.assign(source=RECORDED)
        patch.setattr(serve, "read_recorded", lambda: record)
        patch.setenv(paths.RUNS_SETTING, str(tmp_path_factory.mktemp("empty")))
        recorded = relic.runs(CORPUS, **asked).frame.sort_values("key", ignore_index=True)
    assert set(trained["source"]) == set(own["source"]) == {OWN}
    assert set(recorded["source"]) == {RECORDED}
    pd.testing.assert_frame_equal(trained, own)
    same = [c for c in own if c != "source"]
    pd.testing.assert_frame_equal(recorded[same], own[same], check_like=True)


# -- a store that two write -----------------------------------------------------------------------


@FEW
@given(first=st.lists(st.integers(0, 9), max_size=30), second=st.lists(st.integers(0, 9), max_size=30))  # fmt: skip
def test_a_reader_sees_whole_runs_only_while_two_write(tmp_path_factory, first, second):
    store = Store(tmp_path_factory.mktemp("store"))
    images = pd.DataFrame({"image_id": range(500), "y": 1, "p": 0.5, "seen_raw": True, "seen_masked": False})  # fmt: skip

    def outcome(seed: int) -> Outcome:
        run = Run("corpus (synthetic)", "gender", "nic", "linear", seed=seed)
        return Outcome(run, {"score": float(seed)}, images.head(50 * (seed + 1)))

    writers = [
        threading.Thread(target=lambda seeds=s: [store.put(outcome(i)) for i in seeds])
        for s in (first, second)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a damaged file is a warning
        for writer in writers:
            writer.start()
        while any(writer.is_alive() for writer in writers):
            for seed in range(10):
                found = store.get(outcome(seed).run)
                assert found is None or len(found.images) == 50 * (seed + 1)
        for writer in writers:
            writer.join()
        wanted = sorted({*first, *second})
        assert sorted(store.frame().get("seed", [])) == wanted
    assert not list(store.directory.glob("??/.*")), "unfinished files stay behind"
