"""Which way captions err: naming, silence, objects, LIC by class."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import relic
from relic import records
from relic.attribute import load_attribute
from relic.data.corpus import Corpus
from relic.direction import measure as direction
from relic.direction import report as direction_report
from relic.direction.measure import (
    HUMAN,
    SILENT,
    class_words,
    named_class,
    naming,
    neutralised,
    words_of,
)
from relic.errors import RelicError
from relic.page import table_html
from relic.resample import image_draws
from relic.results import load_runs


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
    return naming(direction.gather(corpus), image_draws(6, 200)).set_index(
        ["captioner", "label", "outcome"]
    )


@pytest.mark.parametrize("attribute", ["gender", "age"])
def test_class_words_are_masked_words_of_one_class(attribute):
    about, (first, second) = load_attribute(attribute), class_words(attribute)
    assert not first & second
    assert first | second <= about.masked_words
    if attribute == "gender":
        assert first | second == about.masked_words
        assert "he" in first
        assert "pregnant" in second


def test_the_classes_are_in_the_attributes_order():
    from pathlib import Path

    import yaml

    text = Path(direction.__file__).with_name("class_words.yml").read_text()
    for attribute, words in yaml.safe_load(text).items():
        assert tuple(words) == load_attribute(attribute).classes


def test_race_has_no_such_words(corpus):
    assert class_words("race") is None
    captions = direction.gather(relic.load_corpus("race", "embedded", images=200))
    assert SILENT not in captions.sets
    with pytest.raises(RelicError, match="no words name a class of race"):
        naming(captions, image_draws(200, 5))


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
    told = table.dropna(subset="value")
    assert (told["low"] <= told["value"]).all()
    assert (told["value"] <= told["high"]).all()
    assert (
        told.loc[("SAT", "Female", "wrong"), "high"] > told.loc[("SAT", "Female", "wrong"), "low"]
    )


@pytest.mark.parametrize("attribute", ["gender", "age"])
def test_neutral_captions_name_nothing(attribute):
    words = class_words(attribute)
    for word in sorted(words[0] | words[1]):
        assert named_class(neutralised(f"the {word} runs", words), words) == direction.NONE


def test_a_caption_with_markup_is_shown_as_text(corpus):
    examples = direction_report.wrong_examples(corpus)
    assert list(examples["caption"]) == ["a woman"]  # image 2, the first that is wrong
    rows = corpus.generated.assign(caption="a woman <script>x</script> & co")
    fresh = replace(corpus, generated=rows)
    shown = table_html(direction_report.wrong_examples(fresh), "x.csv", "examples")
    assert "a woman &lt;script&gt;x&lt;/script&gt; &amp; co" in shown
    assert "<script>" not in shown


def test_planted_gains_show_in_objects():
    """A captioner with gain amplifies A→T, one that removes the tilt reduces it; silence has no T→A."""
    tables = direction.measure(
        relic.load_corpus("gender", "embedded", images=4000), draws=200, fewest=50
    )
    found = tables["amplification"].set_index(["captioner", "direction"])
    for way in ("A→T", "A→T, equal rates"):
        assert found.loc[("Strong amplifier (gain 1.5)", way), "low"] > 0
        assert found.loc[("Reducer (gain −1)", way), "high"] < 0
        assert abs(found.loc[(HUMAN, way), "value"]) < 0.1
    assert np.isnan(found.loc[(SILENT, "T→A"), "value"])


def test_too_few_objects_is_an_error(corpus):
    captions = direction.gather(corpus)
    with pytest.raises(RelicError, match="no object in 7 images"):
        direction.amplification(captions, image_draws(6, 5), fewest=7)


def test_a_corpus_without_human_captions_is_an_error(corpus):
    nobody = replace(corpus, human=corpus.human.iloc[:0])
    with pytest.raises(RelicError, match="no human captions"):
        direction.gather(nobody)


def test_lic_by_class_by_hand():
    """Two seeds: model 60 and 40 by class; humans 50 and 50, twice a seed."""
    shared = {"source": "recorded", "corpus": "x", "attribute": "gender", "classifier": "linear", "split": "paired",
              "caption_set": "standard", "labels": "true", "size": 0, "captioner": "sat", "caption_index": 0,
              "recipe": "", "batching": "", "encoder": ""}  # fmt: skip
    rows = []
    for seed in (0, 1):
        rows.append({**shared, "side": "model", "vocabulary": "", "seed": seed, "score": 50,
                     "score_class0": 60 + 2 * seed, "score_class1": 40})  # fmt: skip
        rows += [{**shared, "side": "human", "vocabulary": "captioner", "seed": seed, "score": 45, "caption_index": d,
                  "score_class0": 50 + d, "score_class1": 50 - d} for d in (-1, 1)]  # fmt: skip
    found = direction.class_lic(pd.DataFrame(rows), "gender", "linear", ("Male", "Female"))
    found = found.set_index("label")
    assert found.loc["Male", "LIC"] == 11
    assert found.loc["Female", "LIC"] == -10
    assert found.loc["both", "LIC"] == 5
    assert found.loc["Male", "seeds"] == 2
    assert found.loc["Male", "std over seeds"] == pytest.approx(2**0.5)


def test_recorded_lic_is_the_mean_of_its_classes():
    """Test sides are balanced, so the classes weigh the same."""
    found = direction_report.class_lic_table(load_runs(), "gender", "linear")
    wide = found.pivot(index="name", columns="label", values="LIC")
    assert len(wide) == 9
    assert wide["both"].to_numpy() == pytest.approx(
        wide[["Male", "Female"]].mean(axis=1).to_numpy()
    )


def test_the_record_holds_every_attribute_and_no_text():
    assert set(direction_report.recorded("gender")) == {"naming", "amplification", "objects"}
    assert set(direction_report.recorded("race")) == {"amplification", "objects"}
    for file in records.home(direction.RECORD).glob("*.csv"):
        assert "caption" not in pd.read_csv(file).columns
    assert set(direction_report.other_attributes("gender")["attribute"]) == {"race", "age"}


def test_the_record_is_of_the_real_captions(real_data):
    """Counts NIC+'s errors again."""
    corpus = relic.load_corpus("gender", "real")
    captions = direction.gather(corpus)
    words = class_words("gender")
    told = [named_class(text, words) for text in captions.sets["NIC+"][0]]
    women = captions.classes == 1
    share = 100 * (np.array(told)[women] == 0).mean()
    known = direction_report.recorded("gender")["naming"].set_index(
        ["captioner", "label", "outcome"]
    )
    assert known.loc[("NIC+", "Female", "wrong"), "value"] == pytest.approx(share, abs=1e-3)


def test_words_of_an_attribute_follow_its_classes():
    """Swapped classes swap the words; an attribute of one's own has its masked words by class."""
    gender = load_attribute("gender")
    swapped = gender.model_copy(update={"classes": ("Female", "Male")})
    assert words_of(gender) == class_words("gender")
    assert words_of(swapped) == class_words("gender")[::-1]
    assert words_of(load_attribute("race")) is None
    own = gender.model_copy(update={"name": "sex"})
    assert "cowboy" in words_of(own)[0]
