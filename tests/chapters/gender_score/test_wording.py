"""relic.chapters.gender_score.wording: whose gender a caption states, and the caption about someone else."""

import pytest

import relic
from relic.chapters.gender_score.wording import (
    _FORMS,
    _STAYS,
    _WORD,
    NEUTRAL,
    _forms,
    gender_of,
    masked,
    with_person,
)
from relic.errors import RelicError
from relic.measure.text import tokenize


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
    assert masked("A man and his dog.") == "a [MASK] and [MASK] dog."
    with pytest.raises(RelicError, match="person 'child'"):
        with_person("a man", "child")


def test_every_listed_word_is_a_gender_or_person_word():
    """And every word's form about a man or a woman is one of our gender words itself."""
    known = relic.load_attribute("gender").masked_words
    listed = {word for words in _FORMS for word in words.split()}
    assert {*listed, _STAYS} <= known | NEUTRAL
    assert {form for forms in _forms().values() for form in forms[1:]} <= known


def test_replacing_finds_the_words_that_lic_masks(real_data):
    """On all real captions our regular expression finds the gender words that tokenizing finds."""
    corpus = relic.load_corpus("gender", "real")
    captions = {*corpus.generated["caption"].str.lower(), *corpus.human["caption"].str.lower()}
    words = relic.load_attribute("gender").masked_words
    other = [
        c for c in captions
        if {*tokenize(c)} & words != {*_WORD.findall(c)} & words
    ]  # fmt: skip
    assert len(captions) > 100_000
    assert len(other) <= 1  # "his/her" is one token to NLTK
