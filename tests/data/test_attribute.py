"""relic.data.attribute: the word lists of METHODS' table, typed in from there, and broken files."""

import pytest
from pydantic import ValidationError

from relic.data.attribute import SHIPPED, Attribute, load_attribute
from relic.errors import RelicError
from relic.records.tables import read_table

GENDER = """
    man men male father gentleman gentlemen boy boys uncle husband actor prince waiter son he his
    him himself brother brothers guy guys emperor emperors dude dudes cowboy
    woman women female lady ladies mother girl girls aunt wife actress princess waitress daughter
    she her hers herself sister sisters queen queens pregnant
"""
AGE = """
    child children young baby babies kid kids little boy boys girl girls old elderly man men woman
    women lady ladies gentleman gentlemen person people guy guys teenager teenagers teen teens
    adult adults elder
"""
MINE = "name: mine\nfield: bb_mine\nclasses: [many, few]\nmask_token: M\nmasked_words: [a b, c]\n"


@pytest.mark.parametrize(
    ("name", "field", "classes", "token", "words"),
    [
        ("gender", "bb_gender", ("Male", "Female"), "genderword", GENDER),
        ("race", "bb_skin", ("Light", "Dark"), "raceword", ""),
        ("age", "bb_age", ("old", "young"), "AGEWORD", AGE),
    ],
)
def test_attributes_are_those_of_methods(name, field, classes, token, words):
    attribute = load_attribute(name)
    assert attribute.model_copy(update={"class_words": {}, "ratio": 1.0}) == Attribute(
        name=name,
        field=field,
        classes=classes,  # class 0, then the rarer class 1
        mask_token=token,
        masked_words=[words],
    )
    assert attribute.masked_words == set(words.split())


@pytest.mark.parametrize("name", ["gender", "race", "age"])
def test_the_ratio_is_that_of_the_labelled_images_with_human_captions(name):
    counts = read_table("data", "labels").query("attribute == @name")["with human captions"]
    assert load_attribute(name).ratio == pytest.approx(counts.min() / counts.max(), abs=5e-4)


def test_word_counts():
    assert len(load_attribute("gender").masked_words) == len(GENDER.split()) == 50
    assert len(load_attribute("age").masked_words) == len(AGE.split()) == 33
    assert not load_attribute("race").masked_words
    assert SHIPPED == ["gender", "race", "age"]


def test_gender_words_are_known_by_class():
    """METHODS lists the male words first, `woman` begins the female ones."""
    male, _, female = GENDER.partition("woman ")
    words = load_attribute("gender").class_words
    assert words == {"Male": set(male.split()), "Female": {"woman", *female.split()}}
    assert load_attribute("race").class_words == {}


@pytest.mark.parametrize("name", ["height", "", "gender.txt", "absent.yml"])
def test_unknown_attribute_names_the_known_ones(name):
    with pytest.raises(RelicError) as caught:
        load_attribute(name)
    assert repr(name) in caught.value.found
    assert "gender, race, age" in caught.value.expected


def test_own_file(tmp_path):
    file = tmp_path / "mine.yml"
    file.write_text(MINE)
    attribute = load_attribute(file)
    assert (attribute.classes, attribute.masked_words) == (("many", "few"), {"a", "b", "c"})
    assert load_attribute(str(file)) == attribute


def test_words_on_one_line_are_words_not_letters(tmp_path):
    """`masked_words: man woman` without a dash or brackets is the likeliest slip."""
    file = tmp_path / "mine.yml"
    file.write_text(MINE.replace("[a b, c]", "man woman"))
    try:
        words = load_attribute(file).masked_words
    except RelicError:
        return
    assert words == {"man", "woman"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a: [1",
        "- gender",
        "just words",
        "\x00",
        MINE.replace("name: mine\n", ""),
        MINE + "colour: red\n",
        MINE.replace("[many, few]", "[many, few, none]"),
        MINE.replace("[many, few]", "[many]"),
        MINE.replace("[many, few]", "[yes, no]"),  # YAML reads these as true and false
        MINE.replace("[a b, c]", "3"),
        MINE.replace("[a b, c]", ""),
        "1: 2\n",
    ],
)
def test_broken_files_are_named(tmp_path, text):
    file = tmp_path / "broken.yml"
    file.write_text(text)
    with pytest.raises(RelicError) as caught:
        load_attribute(file)
    assert f"{file} does not describe an attribute" in caught.value.found
    assert "gender.yml" in caught.value.expected


def test_file_that_is_not_utf8(tmp_path):
    file = tmp_path / "latin.yml"
    file.write_bytes(MINE.replace("mine", "\xe4ge").encode("latin-1"))
    with pytest.raises(RelicError, match="does not describe an attribute"):
        load_attribute(file)


def test_an_attribute_cannot_be_changed():
    with pytest.raises(ValidationError):
        load_attribute("gender").mask_token = "other"
