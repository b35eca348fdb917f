"""`relic.runs`: recorded, then the store, then trained; and what it says when it can do neither."""

from types import SimpleNamespace

import pandas as pd
import pytest

import relic
from relic import paths
from relic.data.planted import planted_corpus
from relic.errors import RelicError
from relic.measure.runs import compute, describe
from relic.records import serve
from relic.records.runs import OWN, RECORDED, read_recorded


@pytest.fixture
def no_captions(monkeypatch):
    monkeypatch.delenv(paths.DATA_SETTING, raising=False)


@pytest.fixture
def own_store(tmp_path, monkeypatch):
    monkeypatch.setenv(paths.RUNS_SETTING, str(tmp_path / "runs"))
    return tmp_path / "runs"


def test_recorded_runs_need_no_captions(no_captions, own_store):
    corpus = relic.load_corpus("gender")
    runs = relic.runs(corpus, ["sat"], seeds=[0, 12])
    assert len(runs) == 2 * (1 + 5)
    assert set(runs.frame["source"]) == {RECORDED}
    assert not own_store.exists()
    known = read_recorded().set_index("key")["score"]
    assert (runs.frame.set_index("key")["score"] == known.loc[runs.frame["key"]]).all()


def test_what_is_not_recorded_is_an_error_that_names_it(no_captions, own_store):
    corpus = relic.load_corpus("gender")
    with pytest.raises(RelicError) as error:
        relic.runs(corpus, ["sat"], seeds=[0, 7])
    assert "6 of 12 runs" in error.value.found
    assert "seed 7" in error.value.found
    assert "0, 12, 100" in error.value.expected
    assert "relic data fetch" in error.value.mend


def test_captions_that_are_not_here_are_an_error(no_captions):
    corpus = relic.load_corpus("race")
    with pytest.raises(RelicError, match="not on this machine"):
        corpus.captions("sat")
    assert relic.readable(corpus).synthetic
    assert relic.readable(corpus).attribute.name == "race"


def test_the_embedded_corpus_is_trained_once(own_store, monkeypatch):
    corpus, calls = planted_corpus("gender", images=300), []
    asked = {"captioners": ["planted_lot"], "seeds": [0], "caption_indices": [0], "progress": False}
    first = relic.runs(corpus, **asked)
    assert set(first.frame["source"]) == {OWN}
    monkeypatch.setattr("relic.measure.sweep.compute", lambda *a: calls.append(a))
    again = relic.runs(corpus, **asked)
    assert again.frame["score"].tolist() == first.frame["score"].tolist()
    assert not calls


def test_one_human_caption_a_split_in_turn_where_a_run_takes_minutes(no_captions, monkeypatch):
    asked = []
    monkeypatch.setattr(serve, "serve", lambda corpus, wanted, **_: asked.extend(wanted))
    relic.runs(relic.load_corpus("gender"), ["nic"], "lstm", [100, 0, 12])
    turns = [(run.seed, run.caption_index) for run in asked if run.side == "human"]
    assert turns == [(100, 2), (0, 0), (12, 1)]


def test_other_captions_than_the_recorded_are_trained(own_store, monkeypatch):
    """With captions at hand a differing fingerprint means: train."""
    corpus = planted_corpus("gender", images=300)
    run = describe(corpus, "planted_lot", "linear")
    row = compute(corpus, run)
    record = vars(run) | row.scores | {"key": run.key, "score": 99.0, "source": RECORDED}
    monkeypatch.setattr(serve, "read_recorded", lambda: pd.DataFrame([record]))
    asked = {"sides": ["model"], "seeds": [0], "captioners": ["planted_lot"], "progress": False}
    assert relic.runs(corpus, **asked).frame["score"].tolist() == [99.0]
    monkeypatch.setattr(
        serve,
        "read_recorded",
        lambda: pd.DataFrame([record | {"fingerprint": "of other captions"}]),
    )
    frame = relic.runs(corpus, **asked).frame
    assert frame["score"].tolist() == [row.scores["score"]]


def test_runs_add_and_say_what_they_are(no_captions, own_store):
    corpus = relic.load_corpus("gender")
    one, two = (relic.runs(corpus, [name], seeds=[0]) for name in ("sat", "oscar"))
    both = one + two + one
    assert len(both) == 12
    assert (
        repr(both) == "COCO captions, gender: linear, 2 captioners, 1 split, 12 runs (12 recorded)"
    )


def test_recorded_outcomes_give_the_recorded_scores(no_captions, own_store):
    runs = relic.runs(relic.load_corpus("race"), ["nic"], seeds=[0, 12])
    means = runs.outcomes.groupby("key")["score"].mean()
    scores = runs.frame.set_index("key")["score"]
    assert means.loc[scores.index].to_numpy() == pytest.approx(scores.to_numpy(), abs=1e-3)
    seen = relic.lic_table(runs, seen="unseen")
    every = relic.lic_table(runs)
    assert (seen["n_test"] < every["n_test"]).all()


# Which splits a page rests on


def record(*rows):
    """Recorded runs: (captioner, side, caption_index, seed) of lstm and linear."""
    columns = ["captioner", "side", "caption_index", "seed", "classifier"]
    recipes = {"linear": "C=0.1", "lstm": "upstream"}
    frame = pd.DataFrame(rows, columns=columns).assign(attribute="gender")
    return serve.Runs(frame.assign(recipe=frame["classifier"].map(recipes)), store=None)


@pytest.fixture
def recorded(monkeypatch):
    def set_to(runs):
        def of(size, **kind):
            return runs.where(**kind)

        monkeypatch.setattr(serve, "recorded", of)

    return set_to


REAL = SimpleNamespace(
    name="COCO captions",
    synthetic=False,
    attribute=SimpleNamespace(name="gender"),
    captioners=["nic", "sat"],
)


def full(seed, classifier, indices):
    return [
        (captioner, side, index, seed, classifier)
        for captioner in REAL.captioners
        for side, each in (("model", [0]), ("human", indices))
        for index in each
    ]


def test_a_split_counts_once_every_captioner_has_both_sides(recorded):
    recorded(record(*full(12, "linear", range(5)), *full(0, "linear", range(5)), *full(100, "linear", range(4))))  # fmt: skip
    assert serve.splits(REAL, "linear") == [0, 12]  # 100 lacks a human caption
    assert serve.splits(REAL, "linear", sides=["model"]) == [0, 12, 100]
    assert serve.splits(REAL, "lstm") == []


def test_one_human_caption_a_split_is_enough_for_the_lstm(recorded):
    recorded(record(*full(0, "lstm", [0]), *full(12, "lstm", [1])[:-1]))
    assert serve.splits(REAL, "lstm") == [0]
    assert serve.splits(REAL, "lstm", captioners=["nic"]) == [0, 12]


def test_asked_for_is_asked_for(recorded):
    recorded(record(*full(0, "linear", range(5))))
    assert serve.splits(REAL, "linear", [7]) == [7]
    assert serve.splits(SimpleNamespace(synthetic=True), "linear") == [0, 12, 100]


def test_without_a_split_there_are_no_runs(recorded):
    recorded(record(*full(0, "linear", range(5))))
    race = SimpleNamespace(**vars(REAL) | {"attribute": SimpleNamespace(name="race")})
    assert serve.splits(race, "linear") == []
    with pytest.raises(RelicError, match="race: linear: no split"):
        serve.runs(race, seeds=serve.splits(race, "linear"))


def test_the_recorded_linear_runs_serve_the_papers_ten_splits(monkeypatch):
    monkeypatch.delenv("RELIC_DATA", raising=False)
    corpus = relic.load_corpus("gender")
    assert isinstance(corpus, serve.RecordedCorpus)
    assert len(serve.splits(corpus, "linear")) == 10
    assert len(serve.splits(corpus, "linear", size=2190)) == 10
