"""relic.chapters.gradients: attributions that can be worked out by hand, completeness, batching, dropout."""

import numpy as np
import pytest
import torch

from relic.chapters.gradients import STEPS, join_words
from relic.chapters.gradients import attribute as attribute_of
from relic.measure.classifiers.bert import FineTuned, head, load_encoder
from relic.measure.classifiers.lstm import LSTM, Network

CAPTIONS = ["a dog", "a cat on a mat", "a dog on a mat", "dog", "an unheard word"]


def attribute(model, captions, of="logit", steps=STEPS["lstm"]):
    """Attributions of the log-odds by the LSTM's own number of steps."""
    return attribute_of(model, captions, of, steps)


class Sum(torch.nn.Module):
    """Stands where the LSTM's network does: adds up embeddings, so attributions are the embeddings."""

    def __init__(self, weights: list[float]):
        super().__init__()
        self.embedding = torch.nn.Embedding(len(weights), 2)
        self.embedding.weight.data = torch.tensor([[w, w] for w in weights], dtype=torch.float)

    def forward(self, ids, lengths):
        return self.embedding(ids).sum(dim=(1, 2))


@pytest.fixture
def by_hand() -> LSTM:
    """`a` counts 0, `dog` 2, `cat` -4; padding and unknown words 0."""
    model = LSTM()
    model.ids, model.network = {"a": 2, "dog": 3, "cat": 4}, Sum([0, 0, 0, 1, -2])
    return model


@pytest.fixture
def lstm(monkeypatch) -> LSTM:
    monkeypatch.setattr("relic.measure.classifiers.lstm.HIDDEN", 32)
    torch.manual_seed(0)
    model = LSTM()
    model.ids = {word: i for i, word in enumerate(["a", "dog", "cat", "on", "mat"], start=2)}
    model.network = Network(7).train()
    with torch.no_grad():
        model.network.lstm.weight_ih_l0.mul_(4)  # strong enough that the path is not straight
    return model


@pytest.fixture(scope="module")
def bert() -> FineTuned:
    model = FineTuned("1e-5x5")
    model.encoder = load_encoder(model.encoder_name).train()
    torch.manual_seed(0)
    model.head = head(model.encoder.config.hidden_size).train()
    return model


def test_a_sum_attributes_to_each_word_what_it_adds(by_hand):
    row = attribute(by_hand, ["a dog cat dog"]).iloc[0]
    assert row["words"] == ["a", "dog", "cat", "dog"]
    assert row["attributions"] == pytest.approx([0, 2, -4, 2])
    assert row["norm"] == pytest.approx(np.sqrt(24))
    assert row["score"] == pytest.approx(0)
    assert (row["output"], row["baseline"]) == (0, 0)


def test_the_score_is_the_sum_over_the_norm(by_hand):
    assert attribute(by_hand, ["dog dog"])["score"][0] == pytest.approx(4 / np.sqrt(8))
    assert attribute(by_hand, ["cat"])["score"][0] == pytest.approx(-1)
    assert attribute(by_hand, ["a"])["score"][0] == 0  # nothing counts: no direction, no NaN


def test_the_probability_is_attributed_in_the_same_proportions_when_words_just_add(by_hand):
    row = attribute(by_hand, ["dog cat"], "probability", 50).iloc[0]
    assert row["baseline"] == 0.5
    assert row["attributions"][1] / row["attributions"][0] == pytest.approx(-2)
    assert sum(row["attributions"]) == pytest.approx(1 / (1 + np.exp(2)) - 0.5, abs=1e-6)


def test_rows_are_in_the_order_of_the_captions_and_equal_ones_are_equal(by_hand):
    captions = ["dog", "a cat", "dog", "cat a dog"]
    rows = attribute(by_hand, captions)
    assert [" ".join(words) for words in rows["words"]] == captions
    assert rows["attributions"][0] == rows["attributions"][2]


@pytest.mark.parametrize("of", ["logit", "probability"])
def test_attributions_of_the_lstm_are_complete(lstm, of):
    rows = attribute(lstm, CAPTIONS, of)
    sums = rows["attributions"].map(sum)
    assert np.allclose(sums, rows["output"] - rows["baseline"], atol=1e-4)
    assert np.allclose(rows["delta"], sums - (rows["output"] - rows["baseline"]), atol=1e-9)
    logits = lstm.logits(CAPTIONS)
    expected = logits if of == "logit" else 1 / (1 + np.exp(-logits))
    assert np.allclose(rows["output"], expected, atol=1e-5)


def test_words_that_training_never_saw_get_nothing(lstm):
    """<unk> starts at zero, as padding does, and no caption ever trains it."""
    assert attribute(lstm, ["an unheard word"])["attributions"][0] == [0, 0, 0]


def test_batches_do_not_change_attributions(lstm, monkeypatch):
    together = attribute(lstm, CAPTIONS)
    monkeypatch.setattr("relic.chapters.gradients.ROWS", 1)
    alone = attribute(lstm, CAPTIONS)
    for one, other in zip(together["attributions"], alone["attributions"], strict=True):
        assert one == pytest.approx(other, abs=1e-6)


def test_dropout_is_off(lstm, bert):
    for model in (lstm, bert):
        first, second = (attribute(model, CAPTIONS[:2], steps=3) for _ in range(2))
        assert first["attributions"].tolist() == second["attributions"].tolist()


def test_few_steps_give_what_many_give(lstm):
    few, many = (attribute(lstm, CAPTIONS, steps=steps)["score"] for steps in (20, 200))
    assert np.abs(few - many).max() < 0.01 * np.abs(many).mean()


def test_bert_is_attributed_by_words_and_nearly_complete(bert):
    caption = "a [MASK] on a snowboarders [UNK] ramp"
    row = attribute(bert, [caption], steps=100).iloc[0]
    assert row["words"] == caption.split()
    assert abs(row["delta"]) < 0.02 * row["norm"]
    assert row["output"] == pytest.approx(bert.logits([caption])[0], abs=1e-4)


def test_special_pieces_get_exactly_nothing(bert):
    """[CLS] and [SEP] stay in the baseline, so leaving them out loses nothing."""
    row = attribute(bert, ["a dog"], steps=5).iloc[0]
    assert sum(row["attributions"]) == pytest.approx(row["output"] - row["baseline"] + row["delta"])


def test_words_are_joined_from_pieces():
    assert join_words(["un", "##believ", "##able", "dog"], [1, 2, 3, 4]) == (["unbelievable", "dog"], [6.0, 4.0])  # fmt: skip
    assert join_words(["<", "unk", ">", "<", "b", ">"], [1, 1, 1, 1, 2, 3]) == (["<unk>", "<", "b", ">"], [3.0, 1.0, 2.0, 3.0])  # fmt: skip
    assert join_words(["##"], [1]) == (["##"], [1.0])
