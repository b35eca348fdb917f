"""Which way captions err: naming, silence, objects, and the tables of the page."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import relic
from relic.chapters import direction, figures, layout
from relic.chapters.direction import HUMAN, SILENT, named_class, naming, neutralised, words_of
from relic.data.attribute import load_attribute
from relic.data.corpus import Corpus
from relic.errors import RelicError
from relic.page import table_html
from relic.records.tables import home, read_table


@pytest.fixture
def corpus():
    """Six images: 1 to 4 Male, 5 and 6 Female; five human captions each that name the label."""
    said = ["a man", "a woman", "a person", "a man and a woman", "a man <script>x</script> & co", "a woman"]  # fmt: skip
    people = ["a man"] * 4 + ["a woman"] * 2
    ids = list(range(1, 7))
    human = [
        (i, k, f"{who} and a dog", "hand")
        for i, who in zip(ids, people, strict=True)
        for k in range(5)
    ]
    return Corpus(
        name="six images",
        synthetic=False,
        attribute=load_attribute("gender"),
        labels=pd.Series([0, 0, 0, 0, 1, 1], index=pd.Index(ids, name="image_id")),
        generated=pd.DataFrame(
            {"captioner": "sat", "caption_set": "standard", "image_id": ids, "caption": said}
        ),
        human=pd.DataFrame(human, columns=["image_id", "caption_index", "caption", "source"]),
        vocabularies={},
        display_names={"sat": "SAT"},
    )


@pytest.fixture
def table(corpus):
    return naming(direction.gather(corpus), 200).set_index(["captioner", "label", "outcome"])


@pytest.mark.parametrize("attribute", ["gender", "age"])
def test_class_words_are_masked_words_of_one_class(attribute):
    loaded, (first, second) = load_attribute(attribute), words_of(load_attribute(attribute))
    assert not first & second
    assert first | second <= loaded.masked_words
    if attribute == "gender":
        assert first | second == loaded.masked_words
        assert "he" in first
        assert "pregnant" in second


def test_race_has_no_such_words():
    assert words_of(load_attribute("race")) is None
    captions = direction.gather(relic.load_corpus("race", "embedded", images=200))
    assert SILENT not in captions.sets
    with pytest.raises(RelicError, match="no words name a class of race"):
        naming(captions, 5)
    with pytest.raises(RelicError, match="no words name a class of race"):
        direction.table(relic.load_corpus("race"), "naming")


def test_outcomes_by_hand(table):
    """Men: right, wrong, neutral, both; women: wrong, right."""
    shares = table["value"]
    for outcome in ("right", "wrong", "neutral", "both"):
        assert shares["SAT", "Male", outcome] == 25
    assert shares["SAT", "Female", "wrong"] == 50
    assert shares["SAT", "Female", "right"] == 50
    assert shares["SAT", "gap", "wrong"] == 25
    assert shares["SAT", "all", "wrong"] == pytest.approx(100 / 3)
    assert shares["SAT", "Male", "wrong of named"] == 50
    assert table["n"]["SAT", "Male", "wrong"] == 4


def test_an_always_neutral_captioner_is_never_wrong_and_never_right(table):
    shares = table["value"]
    assert shares[SILENT, "all", "wrong"] == 0
    assert shares[SILENT, "all", "neutral"] == 100
    assert shares[SILENT, "all", "right"] == 0
    assert np.isnan(shares[SILENT, "all", "wrong of named"])


def test_intervals_hold_the_value(table):
    valued = table.dropna(subset="value")
    assert (valued["low"] <= valued["value"]).all()
    assert (valued["value"] <= valued["high"]).all()
    assert (
        valued.loc[("SAT", "Female", "wrong"), "high"]
        > valued.loc[("SAT", "Female", "wrong"), "low"]
    )


@pytest.mark.parametrize("attribute", ["gender", "age"])
def test_neutral_captions_name_nothing(attribute):
    words = words_of(load_attribute(attribute))
    for word in sorted(words[0] | words[1]):
        assert named_class(neutralised(f"the {word} runs", words), words) == direction.NONE


def test_planted_gains_show_in_objects():
    """A captioner with gain amplifies A→T, one that removes the tilt reduces it; silence has no T→A."""
    tables = direction.measure(
        relic.load_corpus("gender", "embedded", images=4000), draws=100, fewest=50
    )
    table = tables["amplification"].set_index(["captioner", "direction"])
    for way in ("A→T", "A→T, equal rates"):
        assert table.loc[("Strong amplifier (gain 1.5)", way), "low"] > 0
        assert table.loc[("Reducer (gain −1)", way), "high"] < 0
        assert abs(table.loc[(HUMAN, way), "value"]) < 0.1
    assert np.isnan(table.loc[(SILENT, "T→A"), "value"])


def test_too_few_objects_is_an_error(corpus):
    captions = direction.gather(corpus)
    with pytest.raises(RelicError, match="no object in 7 images"):
        direction.amplification(captions, 5, fewest=7)


def test_a_corpus_without_human_captions_is_an_error(corpus):
    nobody = replace(corpus, human=corpus.human.iloc[:0])
    with pytest.raises(RelicError, match="no human captions"):
        direction.gather(nobody)


def test_the_record_holds_every_attribute_and_no_text():
    for attribute in ("gender", "age"):
        assert set(read_table("direction", f"{attribute}_naming")["attribute"]) == {attribute}
    for file in home(direction.RECORD).glob("*.csv"):
        assert "caption" not in pd.read_csv(file).columns


def test_real_captions_are_served_from_the_record_and_no_further(monkeypatch):
    monkeypatch.delenv("RELIC_DATA", raising=False)
    recorded = direction.table(relic.load_corpus("gender"), "amplification")
    assert recorded.equals(read_table("direction", "gender_amplification"))
    with pytest.raises(RelicError, match="the captions are not on this machine"):
        direction.table(relic.load_corpus("gender"), "amplification", draws=10)


def test_the_record_is_of_the_real_captions(real_data):
    """Counts NIC+'s errors again."""
    corpus = relic.load_corpus("gender", "real")
    captions = direction.gather(corpus)
    words = words_of(load_attribute("gender"))
    classes = [named_class(text, words) for text in captions.sets["NIC+"][0]]
    women = captions.classes == 1
    share = 100 * (np.array(classes)[women] == 0).mean()
    known = read_table("direction", "gender_naming").set_index(["captioner", "label", "outcome"])
    assert known.loc[("NIC+", "Female", "wrong"), "value"] == pytest.approx(share, abs=1e-3)


def test_words_of_an_attribute_follow_its_classes():
    """Swapped classes swap the words; an attribute of one's own has its masked words by class."""
    gender = load_attribute("gender")
    swapped = gender.model_copy(update={"classes": ("Female", "Male")})
    assert "man" in words_of(gender)[0]
    assert words_of(swapped) == words_of(gender)[::-1]
    assert words_of(load_attribute("race")) is None
    own = gender.model_copy(update={"name": "sex"})
    assert "cowboy" in words_of(own)[0]
    audited = gender.model_copy(update={"masked_words": frozenset({"x"}), "class_words": {}})
    assert words_of(audited) == words_of(gender)  # other masked words name no other class


# --- the page's tables ------------------------------------------------------------------------


LONG = pd.DataFrame(
    [("SAT", "wrong", 10, 8, 12), ("SAT", "right", 50, 45, 55), ("NIC", "wrong", 20, 15, 25)],
    columns=["captioner", "outcome", "value", "low", "high"],
)


def test_wide_keeps_an_interval_beside_its_value():
    table = layout.wide(LONG, "outcome")
    assert ",".join(table) == "captioner,wrong,wrong low,wrong high,right,right low,right high"
    assert table.set_index("captioner").loc["NIC", "wrong low"] == 15
    assert np.isnan(table.set_index("captioner").loc["NIC", "right"])
    assert "20.0 [15.0, 25.0]" in table_html(table, "x.csv", "wide")


def test_the_figure_shows_each_captioner_at_its_values():
    both = pd.concat([LONG, LONG[:1].assign(captioner="NIC", outcome="right")])
    table, named = layout.wide(both, "outcome"), {"xlabel": "right", "ylabel": "wrong"}
    axes = figures.crossed(table, "right", "wrong", **named, arrow=("SAT", "NIC"))
    drawn = {c.get_label(): c.lines[0].get_xydata().tolist() for c in axes.containers}
    assert drawn == {"SAT": [[50, 10]], "NIC": [[10, 20]]}
    assert axes.get_xlim()[1] < 60  # nothing constructed stretches the axis
    assert len(axes.texts) == 1
