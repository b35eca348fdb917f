"""relic.chapters.gender_score.score: whose gender a caption states, its forms, the worked values of METHODS, limits, counts by hand."""

import numpy as np
import pandas as pd
import pytest

import relic
from relic.chapters.gender_score.score import (
    _WORD,
    FORMS,
    NEUTRAL,
    belief_revision,
    contexts,
    cooccurrence,
    estimated,
    gender_of,
    ratio_to_men,
    score_captions,
    similarity,
    with_person,
)
from relic.errors import RelicError
from relic.measure.text import tokenize

MAN = {"prior": 0.12759140133857727, "similarity": 0.5452305674552917, "confidence": 0.2183}
WOMAN = {"prior": 0.11249390989542007, "similarity": 0.5037289261817932, "confidence": 0.2183}
CAPTIONS = pd.Series(
    ["A man on a bike", "a woman and a dog", "a man and a woman", "a cat", "", "a person", "two men"],
    index=[1, 2, 3, 4, 5, 6, 9],
)  # fmt: skip
CONTEXTS = pd.DataFrame(
    {"context": ["bike"] * 6 + ["vase"], "confidence": [0.0] * 6 + [0.5]},
    index=[1, 2, 3, 4, 5, 6, 7],
)


def test_the_worked_values():
    man, woman = belief_revision(**MAN), belief_revision(**WOMAN)
    assert man == pytest.approx(0.45320714150193153, abs=1e-9)
    assert woman == pytest.approx(0.39912252800731546, abs=1e-9)
    assert 100 * ratio_to_men(man, woman) == pytest.approx(53.17275201306536, abs=1e-9)
    both = belief_revision(*([MAN[k], WOMAN[k]] for k in MAN))
    assert both.tolist() == [man, woman]


@pytest.mark.parametrize(
    ("prior", "similarity", "confidence", "expected"),
    [
        (0.25, 0.0, 0.3, 0.25),  # no relation: the prior stays
        (0.25, 1.0, 0.3, 1.0),  # the same text: certain
        (0.25, -1.0, 0.3, 0.0),  # the opposite: impossible
        (0.25, -1.0, 1.0, 0.25),  # a sure object tells nothing
        (0.25, 0.6, 0.0, 0.25**0.25),  # (1 - .6) / (1 + .6) = 1/4
        (0.0, 0.5, 0.5, 0.0),
    ],
)
def test_limits_by_hand(prior, similarity, confidence, expected):
    assert belief_revision(prior, similarity, confidence) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ((1.2, 0.1, 0.5), "a prior of 1.2"),
        ((0.1, 0.1, -0.5), "a confidence of -0.5"),
        (([0.1, 0.2], [0.1, -3], 0.5), "a similarity of -3"),
    ],
)
def test_values_out_of_range_are_errors(values, named):
    with pytest.raises(RelicError, match=named):
        belief_revision(*values)


def test_missing_values_stay_missing():
    assert np.isnan(belief_revision(np.nan, 1.0, 0.5))  # NumPy's nan ** 0 is 1
    assert np.isnan(belief_revision([0.5, 0.5], [np.nan, 0.1], 0.5)).tolist() == [True, False]
    assert np.isnan(ratio_to_men([0, -1, 1], [0, 2, -0.5])).all()


def test_scores_and_estimation_by_hand(prior, encoder):
    """With confidence 0 and similarity 0.6, α is 1/4; with similarity 0 it is 1."""
    frame = score_captions(CAPTIONS, CONTEXTS, prior, encoder)
    assert frame.index.tolist() == [1, 2, 3, 4, 5, 6]  # image 9 has no context
    assert frame["gender"].tolist() == ["man", "woman", "both", "none", "none", "person"]
    assert frame.loc[1, ["score", "score_woman", "score_person"]].tolist() == pytest.approx(
        [0.5**0.25, 0.25**0.25, 0.5**0.25]
    )
    assert frame.loc[2, ["score", "score_man", "score_woman"]].tolist() == pytest.approx(
        [0.25, 0.5, 0.25]
    )
    assert frame.loc[3, "score"] == pytest.approx(0.25)
    assert frame.loc[[3, 4, 5], "score_man"].isna().all()  # both, nobody, an empty caption
    assert np.isnan(frame.loc[5, "score"])
    assert estimated(frame).loc[[1, 2, 6]].tolist() == ["man"] * 3
    assert estimated(frame).loc[[3, 4, 5]].isna().all()
    even = pd.DataFrame({"score_man": [0.3, 0.2], "score_woman": [0.3, 0.4]})
    assert estimated(even).isna().tolist() == [True, False]


def test_similarity_of_pairs(encoder):
    cosines = similarity(encoder, ["a bike", "a cat"], ["bike", "bike"])
    assert cosines.tolist() == pytest.approx([0.6, 0.0])
    assert similarity(encoder, [], []).tolist() == []


def test_a_cosine_of_single_precision_is_no_more_than_one():
    class Rounded:
        def encode(self, texts):
            return np.array([[1 + 1e-7, 0]] * len(texts), dtype="float32")

    assert similarity(Rounded(), ["a bike"], ["bike"]).tolist() == [1.0]


def test_counts_and_what_is_no_series(prior, encoder):
    captions = ["a man on a bike", "a boy and a girl", "a womans bike", "a woman"]
    assert cooccurrence(captions) == {"man": 2, "woman": 2}
    with pytest.raises(RelicError, match="captions as list"):
        score_captions(captions, CONTEXTS, prior, encoder)


OBJECTS = pd.DataFrame(
    [
        (1, "motor scooter", 0.6), (1, "helmet", 0.4), (1, "dog", 0.5), (1, "cat", 0.3),
        (2, "man", 0.9), (2, "cowboy hat", 0.2), (3, "person", 0.9), (4, "vase", 0.19),
        (5, "kite", 0.8), (5, "kite", 0.4), (6, "ski person", 0.4),
    ],
    columns=["image_id", "label", "probability"],
)  # fmt: skip


def test_contexts_by_hand():
    """The three surest labels; no person, no gender word, nothing under 0.2, nothing twice."""
    table = contexts(OBJECTS)
    texts = {1: "motor scooter dog helmet", 2: "hat", 5: "kite", 6: "ski"}
    assert table["context"].to_dict() == texts
    assert table["confidence"].to_dict() == pytest.approx({1: 0.5, 2: 0.2, 5: 0.8, 6: 0.4})
    assert contexts(OBJECTS, threshold=0)["context"].to_dict() == texts | {4: "vase"}


@pytest.mark.parametrize(
    ("caption", "gender"),
    [
        ("a man riding a horse", "man"),
        ("A Man's hat.", "man"),
        ("the boys and their dog", "man"),
        ("a lady with her dog", "woman"),
        ("a pregnant person", "woman"),
        ("a man holding her bag", "both"),
        ("a person on a bench", "person"),
        ("people, many", "person"),
        ("a manhole", "none"),
        ("a man-made lake", "none"),
        ("", "none"),
    ],
)
def test_gender_of(caption, gender):
    assert gender_of(caption) == gender


@pytest.mark.parametrize(
    ("caption", "man", "woman", "person"),
    [
        ("a man on a bike", "a man on a bike", "a woman on a bike", "a person on a bike"),
        ("An actress sings.", "a man sings.", "a woman sings.", "a person sings."),
        ("two men", "two men", "two women", "two people"),
        ("a girl and her dog", "a man and his dog", "a woman and her dog", "a person and their dog"),
        ("a dog near her", "a dog near him", "a dog near her", "a dog near them"),
        ("a boy with her on a bed", "a man with him on a bed", "a woman with her on a bed", "a person with them on a bed"),
        ("she sees himself", "he sees himself", "she sees herself", "they sees themselves"),
        ("the bag is hers", "the bag is his", "the bag is hers", "the bag is theirs"),
        ("a pregnant woman", "a pregnant man", "a pregnant woman", "a pregnant person"),
        ("a person's hat", "a man's hat", "a woman's hat", "a person's hat"),
        ("a cat", "a cat", "a cat", "a cat"),
    ],
)  # fmt: skip
def test_with_person(caption, man, woman, person):
    assert with_person(caption, "man") == man
    assert with_person(caption, "woman") == woman
    assert with_person(caption, "person") == person


def test_masked_and_an_unknown_person():
    assert with_person("A man and his dog.", "[MASK]") == "a [MASK] and [MASK] dog."
    with pytest.raises(RelicError, match="person 'child'"):
        with_person("a man", "child")


def test_every_listed_word_is_a_gender_or_person_word():
    """And every word's form about a man or a woman is one of our gender words itself."""
    known = relic.load_attribute("gender").masked_words
    assert FORMS.keys() == (known | NEUTRAL) - {"pregnant"}
    assert {form for forms in FORMS.values() for form in forms[1:]} <= known


def test_replacing_finds_the_words_that_lic_masks(real_data):
    """On all real captions our regular expression finds the gender words that tokenizing finds."""
    corpus = relic.load_corpus("gender", "real")
    captions = {*corpus.generated["caption"].str.lower(), *corpus.human["caption"].str.lower()}
    words = relic.load_attribute("gender").masked_words
    other = [
        c for c in captions
        if {*tokenize(c)} & words != {word for _, word in _WORD.findall(c)} & words
    ]  # fmt: skip
    assert len(captions) > 100_000
    assert len(other) <= 1  # "his/her" is one token to NLTK
