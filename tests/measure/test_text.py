"""relic.measure.text: NLTK's tokens by a faster way, masking and alignment worked out by hand."""

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nltk.tokenize import word_tokenize

from relic.data.attribute import Attribute
from relic.data.corpus import PADDING, UNKNOWN
from relic.data.load import load_real
from relic.errors import RelicError
from relic.measure.text import (
    frequent_vocabulary,
    masked_captions,
    tokenize,
    tokenizer,
)


def masked(captions, words, token, tokenizer="treebank", **options):
    attribute = Attribute(
        name="x", classes=("0", "1"), mask_token=token, masked_words=words, tokenizer=tokenizer
    )
    return masked_captions(captions, attribute, **options)


CONTRACTED = ["cannot", "gimme", "gonna", "gotta", "lemme", "wanna", "d'ye", "more'n", "'tis", "'twas"]  # fmt: skip
WORDS = [*CONTRACTED, "can", "not", "can't", "man's", "t-shirt", "a", "dog", "--", "...", "``", "''", "U.S.", "2.5"]  # fmt: skip
CASES = st.sampled_from([str.lower, str.upper, str.title, str.swapcase])
PIECES = st.one_of(
    st.text("abcdnotxyzABMN0123456789 -.\"',", max_size=6),
    st.builds(lambda case, word: case(word), CASES, st.sampled_from(WORDS)),
)
SENTENCES = st.builds(
    lambda pieces, glue: glue.join(pieces), st.lists(PIECES, max_size=8), st.sampled_from(["", " "])
)


def nltk_tokens(caption: str) -> tuple[str, ...]:
    return tuple(word_tokenize(caption, language="english", preserve_line=True))


@settings(max_examples=500, deadline=None)
@given(SENTENCES)
@example("I WANNA go")
@example("a dog.")
@example("a dog .")
@example(" . ")
@example(".")
@example("a dog..")
@example("Cannot.")
@example("cannot-do")
@example("a-- b")
@example("- . -")
@example("gonna")
@example("a\tdog\nruns")
@example("a Kelvin \u212a sign and a long \u017f")
def test_tokens_are_nltks(caption):
    assert tokenize(caption) == nltk_tokens(caption)


@pytest.mark.parametrize(
    ("caption", "tokens"),
    [
        ("a man's hat.", ["a", "man", "'s", "hat", "."]),
        ("a dog. a cat.", ["a", "dog.", "a", "cat", "."]),  # the inner full stop stays
        ("a red-and-white bus", ["a", "red-and-white", "bus"]),
        ("they cannot", ["they", "can", "not"]),
        ("one, two", ["one", ",", "two"]),
        ("", []),
    ],
)
def test_tokens_by_hand(caption, tokens):
    assert list(tokenize(caption)) == tokens


def test_real_captions_have_nltks_tokens(real_data):
    corpus = load_real(real_data, "gender")
    captions = [*corpus.generated["caption"].unique(), *corpus.human["caption"].str.lower()]
    sample = random.Random(0).sample(captions, 4_000)
    assert [c for c in sample if tokenize(c) != nltk_tokens(c)] == []


def test_mask_replaces_whole_tokens_only():
    caption = ["a man in a mandarin suit and Man"]
    read = masked(caption, {"man"}, "X", lowercase=False)
    assert read == ["a X in a mandarin suit and Man"]
    assert masked(caption, set(), "X", lowercase=False) == caption


def test_aligned_captions_keep_the_vocabulary():
    human = {"lowercase": True, "vocabulary": {"a", "c"}}
    assert masked(["a b c"], set(), "X", **human) == [f"a {UNKNOWN} c"]
    assert masked(["a b"], set(), "X", **human, unknown="[UNK]") == ["a [UNK]"]


def test_human_captions_as_the_classifier_reads_them():
    captions = ["A Man and HIS dog.", "the man's hat"]
    read = masked(
        captions, {"man", "his"}, "genderword", lowercase=True, vocabulary=["a", "and", "dog", "."]
    )
    assert read == ["a genderword and genderword dog .", "<unk> genderword <unk> <unk>"]


def test_generated_captions_are_left_as_they_are():
    read = masked(["a UNK Man on a man"], {"man"}, "genderword", lowercase=False)
    assert read == ["a UNK Man on a genderword"]


@given(
    st.lists(st.sampled_from(["man", "dog", "runs", "his"]), max_size=6),
    st.sets(st.sampled_from(["man", "dog", "runs"])),
)
def test_mask_token_is_never_unknown(words, vocabulary):
    [read] = masked(
        [" ".join(words)], {"man", "his"}, "MASK", lowercase=True, vocabulary=vocabulary
    )
    expected = ["MASK" if w in ("man", "his") else w if w in vocabulary else UNKNOWN for w in words]
    assert read.split() == expected


def test_repeated_captions_keep_their_places():
    assert masked(["a b", "c", "a b"], {"b"}, "X", lowercase=True) == ["a X", "c", "a X"]


def test_frequent_vocabulary_breaks_ties_in_word_order():
    masked = ["b a", "c b", "d", "a c"]  # a, b, c twice; d once
    assert frequent_vocabulary(masked, 2) == ["a", "b"]
    assert frequent_vocabulary(masked[::-1], 2) == ["a", "b"]  # whatever the order of captions
    assert frequent_vocabulary(masked, 9) == ["a", "b", "c", "d"]
    assert frequent_vocabulary([], 3) == []


def test_special_tokens_are_those_of_the_published_vocabularies():
    assert (UNKNOWN, PADDING) == ("<unk>", "<pad>")


def test_tokenizers_by_name():
    assert tokenizer("treebank") is tokenize
    assert tokenizer("spaces")("a man's  hat.") == ("a", "man's", "hat.")
    assert tokenizer("spacy:de")("Der Mann, z.B. er.") == ("Der", "Mann", ",", "z.B.", "er", ".")
    for wrong in ("spacy:xx-none", "letters"):
        with pytest.raises(RelicError, match=wrong):
            tokenizer(wrong)


def test_another_tokenizer_masks_its_own_tokens():
    read = masked(["ein Mann's Hut"], {"mann's"}, "W", lowercase=True, tokenizer="spaces")
    assert read == ["ein W hut"]
