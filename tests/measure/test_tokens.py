"""Golden tokens: a new release of transformers must not read captions otherwise, silently."""

import pytest

from relic.measure.classifiers.bert import MINILM, pieces

# What BERT's uncased vocabulary gives; MiniLM shares it.
UNCASED = {
    "a man riding a wave on top of a surfboard.": [
        101, 1037, 2158, 5559, 1037, 4400, 2006, 2327, 1997, 1037, 14175, 6277, 1012, 102],
    "A [MASK] and her dog, naïve café — 3 kites!": [
        101, 1037, 103, 1998, 2014, 3899, 1010, 15743, 7668, 1517, 1017, 20497, 2015, 999, 102],
    "skateboarder's snowboarding t-shirt": [
        101, 17260, 6277, 2121, 1005, 1055, 4586, 21172, 1056, 1011, 3797, 102],
    "中国 𝒳 😀 don't": [101, 1746, 1799, 100, 100, 2123, 1005, 1056, 102],
    "a  [UNK]\tman [SEP] x": [101, 1037, 100, 2158, 102, 1060, 102],
    "": [101, 102],
}  # fmt: skip


@pytest.mark.parametrize("text", UNCASED)
def test_minilm_reads_as_ever(text):
    assert pieces(MINILM)(text)["input_ids"] == UNCASED[text]


def at_hand(name: str):
    """A tokenizer of the hub that this machine has kept; nothing is fetched."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(name, local_files_only=True)
    except (OSError, ValueError):
        pytest.skip(f"{name} is not on this machine")


def test_the_papers_model_reads_as_ever():
    tokenizer = at_hand("bert-base-uncased")
    assert {text: tokenizer(text)["input_ids"] for text in UNCASED} == UNCASED


def test_a_padded_batch_is_cut_and_masked():
    texts = [next(iter(UNCASED)), ""]
    batch = pieces(MINILM)(texts, padding=True, truncation=True, max_length=8)
    assert batch["input_ids"] == [
        [101, 1037, 2158, 5559, 1037, 4400, 2006, 102],
        [101, 102, 0, 0, 0, 0, 0, 0],
    ]
    assert batch["attention_mask"][1] == [1, 1, 0, 0, 0, 0, 0, 0]
