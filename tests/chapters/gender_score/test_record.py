"""relic.chapters.gender_score.record: what pages are served, what is recorded."""

import pandas as pd
import pytest

import relic
from relic.chapters.gender_score import record
from relic.chapters.gender_score.tables import (
    VILBERT,
    authors_objects,
    karpathy_study,
    lic_study,
)
from relic.errors import RelicError
from relic.records.tables import read_table

GLOVE = "GloVe 100d"


@pytest.fixture
def handle(monkeypatch):
    """The real corpus where its captions are not."""
    monkeypatch.delenv("RELIC_DATA", raising=False)
    return relic.load_corpus("gender")


def test_recorded_rows_follow_the_choice(handle):
    """One row a captioner and method; another language model or encoder, other rows."""
    scores = record.serve("scores", handle)
    assert scores.groupby("method")["captioner"].agg(["count", "nunique"]).values.tolist() == [[10, 10]] * 2  # fmt: skip
    other = record.serve("scores", handle, "2-gram")
    assert set(other["prior"].str[:6]) == {"2-gram"}
    assert set(record.serve("estimation", handle, encoder=GLOVE)["encoder"]) == {GLOVE}
    some = record.serve("objects", handle, objects=["kitchen"])
    assert set(some["object"]) == {"kitchen"}
    both, near = record.serve_distances(handle, [GLOVE])
    assert (both["model"].tolist(), set(near["embedding"])) == ([GLOVE], {GLOVE})
    assert len(record.serve_distances(handle)[0]) == 5


def test_no_other_part_is_recorded():
    with pytest.raises(RelicError, match="no part"):
        record.record("everything")


@pytest.mark.parametrize(
    ("table", "choice"),
    [
        ("scores", {"language_model": "gpt2"}),
        ("scores", {"encoder": "mine.vec"}),
        ("estimation", {"threshold": 0.3}),
        ("objects", {"objects": ["kitchen", "surfboard"]}),
    ],
)
def test_what_is_not_recorded_is_an_error(handle, table, choice):
    with pytest.raises(RelicError, match="not recorded") as raised:
        record.serve(table, handle, **choice)
    assert "3-gram of 39,530 human captions and all-MiniLM-L6-v2" in raised.value.expected
    with pytest.raises(RelicError, match=r"not recorded.*word2vec\.bin"):
        record.serve_distances(handle, ["word2vec.bin"])


def test_the_embedded_corpus_is_computed(tmp_path, monkeypatch):
    monkeypatch.setenv("RELIC_RUNS", str(tmp_path))
    corpus = relic.load_corpus("gender", "embedded", images=100)
    vectors = tmp_path / "hand.txt"
    vectors.write_text("man 1 0 0\nwoman 0 1 0\nperson 0 0 1\nskateboard 1 1 1\n")
    table = record.serve("estimation", corpus, "2-gram", str(vectors), 0.0)
    assert set(table["prior"]) == {"2-gram of 500 human captions"}
    assert set(table["corpus"].str.startswith(corpus.name)) == {True}
    assert record.serve_distances(corpus, [str(vectors)])[0]["dataset"].tolist() == [corpus.name]


def test_the_real_studies(real_data):
    corpus = relic.load_corpus("gender")
    study = lic_study(corpus)
    assert (len(study.captions), len(study.contexts)) == (9, 911)
    assert len(lic_study(corpus, threshold=0).contexts) == 1294  # METHODS
    assert {name: len(c) for name, c in karpathy_study().captions.items()} == {VILBERT: 3954}


def test_the_authors_captions_are_vilberts(real_data):
    """The words man and woman occur as often as table 5 says of ViLBERT, but for one `womans`."""
    table = record.count_check(authors_objects()["caption"])
    pd.testing.assert_frame_equal(table, read_table("gender_score", "counts"), rtol=1e-4)
    every = table[table["object"] == "any"]
    assert every[["man", "woman"]].values.tolist() == [[702, 310], [950, 420]]


def test_captions_are_counted_by_object():
    """Two captions have *baseball*: one says *man*, one *boys*, which only our list counts."""
    said = ["a man with a baseball bat", "boys play baseball", "a woman in a kitchen"]
    table = record.count_check(pd.Series(said)).set_index(["counted", "object"])
    plain, ours = (
        table.loc[way] for way in ("the words man, woman", "any gender word of our list")
    )
    assert plain.loc["baseball", ["man", "woman", "captions"]].tolist() == [1, 0, 2]
    assert ours.loc["baseball", ["man", "woman"]].tolist() == [2, 0]
    assert plain.loc["any", ["man", "woman", "captions"]].tolist() == [1, 1, 3]
