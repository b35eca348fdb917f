"""What the claim pages share: splits of a page, and tables beside the papers'."""

from types import SimpleNamespace

import pandas as pd
import pytest

import relic
from relic.chapters import claims
from relic.errors import RelicError
from relic.records.serve import RecordedCorpus, Runs


def record(*rows):
    """Recorded runs: (captioner, side, caption_index, seed) of lstm and linear."""
    columns = ["captioner", "side", "caption_index", "seed", "classifier"]
    recipes = {"linear": "C=0.1", "lstm": "upstream"}
    frame = pd.DataFrame(rows, columns=columns).assign(attribute="gender")
    return Runs(frame.assign(recipe=frame["classifier"].map(recipes)), store=None)


@pytest.fixture
def recorded(monkeypatch):
    def set_to(runs):
        monkeypatch.setattr(claims, "_recorded", lambda size: runs)

    return set_to


REAL = SimpleNamespace(
    synthetic=False, attribute=SimpleNamespace(name="gender"), captioners=["nic", "sat"]
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
    assert claims.splits(REAL, "linear") == [0, 12]  # 100 lacks a human caption
    assert claims.splits(REAL, "linear", sides=["model"]) == [0, 12, 100]
    assert claims.splits(REAL, "lstm") == []


def test_one_human_caption_a_split_is_enough_for_the_lstm(recorded):
    recorded(record(*full(0, "lstm", [0]), *full(12, "lstm", [1])[:-1]))
    assert claims.splits(REAL, "lstm") == [0]
    assert claims.splits(REAL, "lstm", captioners=["nic"]) == [0, 12]


def test_asked_for_is_asked_for(recorded):
    recorded(record(*full(0, "linear", range(5))))
    assert claims.splits(REAL, "linear", [7]) == [7]
    assert claims.splits(SimpleNamespace(synthetic=True), "linear") == [0, 12, 100]


def test_nothing_recorded_is_an_error(recorded):
    recorded(record(*full(0, "linear", range(5))))
    with pytest.raises(RelicError, match="lstm: no split"):
        claims.runs_by_attribute({"gender": REAL}, "lstm", [])


def test_a_claim_about_two_attributes_needs_both(recorded, monkeypatch):
    recorded(record(*full(0, "linear", range(5))))
    monkeypatch.setattr(claims, "runs", lambda corpus, **options: options["seeds"])
    race = SimpleNamespace(**vars(REAL) | {"attribute": SimpleNamespace(name="race")})
    both = {"gender": REAL, "race": race}
    assert claims.runs_by_attribute(both, "linear", []) == {"gender": [0]}
    with pytest.raises(RelicError, match="of race"):
        claims.runs_by_attribute(both, "linear", [], every=True)


def test_a_plan_uses_classifiers_with_two_splits(recorded):
    recorded(record(*full(0, "lstm", [0]), *full(0, "linear", range(5)), *full(12, "linear", range(5))))  # fmt: skip
    found = claims.plan({"gender": REAL}, [], []).set_index("classifier")
    assert found["splits"].to_dict() == {"linear": 2, "lstm": 1, "bert-ft": 0, "bert-pre": 0}
    assert found.index[found["used"]].tolist() == ["linear"]
    assert claims.plan({"gender": REAL}, [], [12]).set_index("classifier").at["linear", "seeds"] == [12]  # fmt: skip
    assert claims.plan({"gender": REAL}, ["lstm"], [0, 7])["seeds"].tolist() == [[0, 7]]


def test_the_recorded_linear_runs_serve_the_papers_ten_splits(monkeypatch):
    monkeypatch.delenv("RELIC_DATA", raising=False)
    corpus = relic.load_corpus("gender")
    assert isinstance(corpus, RecordedCorpus)
    assert len(claims.splits(corpus, "linear")) == 10
    assert len(claims.splits(corpus, "linear", size=2190)) == 10


def test_ours_stands_beside_each_paper():
    ours = pd.DataFrame({"captioner": ["NIC", "mine"], "lic": [1.0, 2.0], "low": 0.0, "high": 3.0})
    found = claims.beside_papers(ours, relic.papers("gender"))
    assert found["captioner"].tolist() == ["NIC"]
    assert found["Hirota et al. 2022, lstm"].tolist() == [3.7]


def test_tau_of_printed_means():
    rows = [("hirota2022", "gender", c, n, v) for c, values in (("x", [1, 2, 3, 4]), ("y", [2, 1, 3, 4]))
            for n, v in zip("ABCD", values, strict=True)]  # fmt: skip
    papers = pd.DataFrame(rows, columns=["source", "attribute", "classifier", "captioner", "lic"])
    # one swap of neighbours in four: five pairs alike, one not
    assert claims.rank_agreement(papers)["τ"].tolist() == pytest.approx([4 / 6])


def test_published_leads_of_the_equalizer():
    found = claims.published_leads(relic.spreadsheet("race")).iloc[0]
    assert (found["difference"], found["low"], found["high"]) == pytest.approx(
        (0.50, -2.08, 3.07), abs=0.006
    )
    assert found["verdict"] == "? undecided"


def test_seeds_are_names_and_test_captions_whole():
    found = claims.headed(pd.DataFrame({"seed": [1234], "lic": [1.5], "n_test": [233.8]}))
    assert found.iloc[0].tolist() == ["1234", 1.5, 234]
