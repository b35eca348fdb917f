"""The four classifiers: architecture, recipe, determinism, and that they learn."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from relic.errors import RelicError
from relic.measure.classifiers.base import CLASSIFIERS, classifier
from relic.measure.classifiers.bert import (
    MINILM,
    FineTuned,
    Pretrained,
    batches,
    check_encoder,
    cls_states,
    encoder_directory,
    features,
    head,
    load_encoder,
    optimizer,
    padded,
    word_pieces,
)
from relic.measure.classifiers.linear import Linear
from relic.measure.classifiers.lstm import LSTM, Network, spacy_tokens


@pytest.fixture(scope="module")
def task():
    """160 short captions in which one word gives the class away most of the time."""
    rng = np.random.default_rng(0)
    classes = np.array([0, 1] * 80)
    nouns = ["dog", "cat", "horse", "kite", "table", "phone"]
    hints = np.where(rng.random(160) < 0.9, classes, 1 - classes)
    captions = [
        f"a genderword with a {rng.choice(nouns)} and a {['bat', 'bag'][hint]}"
        + " now" * int(rng.integers(3))
        for hint in hints
    ]
    return captions, classes


def quick(name):
    """A classifier with a recipe strong enough for a tiny task."""
    model = classifier(name)
    if name == "lstm":
        model.epochs = 2
    if name.startswith("bert"):
        model.epochs, model.rate = 2, 1e-3 if name == "bert-pre" else 1e-4
    return model


def test_parameters_of_the_lstm_and_of_the_head():
    for words in (486, 615):
        assert sum(p.numel() for p in Network(words).parameters()) == 2_310_657 + 100 * words
    assert sum(p.numel() for p in Network(615).parameters()) == 2_372_157  # Türk et al., table 6
    assert sum(p.numel() for p in head(768).parameters()) == 199_426


def test_embeddings_of_unknown_and_padding_start_at_zero():
    weights = Network(20).embedding.weight
    assert not weights[:2].any()
    assert weights[2:].abs().min(dim=1).values.gt(0).all()


def test_spacy_splits_what_the_papers_lstm_saw_split():
    assert spacy_tokens("a <unk> brown-haired genderword") == (
        "a",
        "<",
        "unk",
        ">",
        "brown",
        "-",
        "haired",
        "genderword",
    )


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.slow
def test_the_same_seed_gives_the_same_logits_to_the_last_bit(name, task):
    captions, classes = task
    torch.set_num_threads(1)
    first, second = (
        quick(name).fit(captions[:96], classes[:96], 5).logits(captions[96:]) for _ in range(2)
    )
    assert first.tolist() == second.tolist()
    if name != "linear":
        other = quick(name).fit(captions[:96], classes[:96], 6).logits(captions[96:])
        assert other.tolist() != first.tolist()


@pytest.mark.parametrize("name", ["linear", "bert-ft", "bert-pre"])
@pytest.mark.slow
def test_it_learns(name, task):
    captions, classes = task
    model = quick(name)
    model.epochs = 8
    logits = model.fit(captions[:120], classes[:120], 0).logits(captions[120:])
    assert ((logits > 0) == classes[120:]).mean() > 0.75


@pytest.mark.slow
def test_the_lstm_learns(task, monkeypatch):
    captions, classes = task
    monkeypatch.setattr(
        "relic.measure.classifiers.lstm.LEARNING_RATE", 5e-3
    )  # the papers' takes minutes
    model = LSTM()
    model.epochs = 15
    logits = model.fit(captions[:120], classes[:120], 0).logits(captions[120:])
    assert ((logits > 0) == classes[120:]).mean() > 0.75


def test_a_tuned_lstm_takes_the_rate_that_learns(task, monkeypatch):
    captions, classes = task
    monkeypatch.setattr("relic.measure.classifiers.lstm.RATES", (1e-9, 5e-3))
    monkeypatch.setattr("relic.measure.classifiers.lstm.EPOCHS", 8)
    model = LSTM("tuned").fit(captions[:120], classes[:120], 0)
    assert model.rate == 5e-3
    assert 1 <= model.epochs <= 8
    plain = LSTM(f"{model.rate}x{model.epochs}").fit(captions[:120], classes[:120], 0)
    assert (plain.logits(captions[120:]) == model.logits(captions[120:])).all()  # trained on all


def test_packed_and_bucketed_give_the_same_logits_for_the_same_weights(task):
    captions, classes = task
    model = LSTM(batching="bucketed")
    model.epochs = 1
    bucketed = model.fit(captions, classes, 0).logits(captions)
    model.batching = "packed"
    np.testing.assert_allclose(model.logits(captions), bucketed, atol=1e-6)


def test_linear_is_scikit_learns_own_on_uni_and_bigrams(task):
    captions, classes = task
    words = CountVectorizer(
        ngram_range=(1, 2), token_pattern=r"\S+", lowercase=False, binary=True, min_df=2
    )
    plain = LogisticRegression(C=0.1, max_iter=1000).fit(
        words.fit_transform(captions[:100]), classes[:100]
    )
    expected = plain.decision_function(words.transform(captions[100:]))
    logits = Linear().fit(captions[:100], classes[:100], 0).logits(captions[100:])
    np.testing.assert_allclose(logits, expected, atol=1e-3)


def test_linear_does_not_depend_on_what_was_read_before(task):
    captions, classes = task
    before = Linear().fit(captions, classes, 0).logits(captions)
    Linear().fit(["zebra a", "yak bag a", "zebra bag", "a yak"] * 5, [0, 1] * 10, 0)
    assert Linear().fit(captions, classes, 0).logits(captions).tolist() == before.tolist()


def test_captions_without_known_words_get_a_logit():
    captions, classes = ["a b", "c d"] * 20, [0, 1] * 20
    for name in ("linear", "lstm"):
        logits = quick(name).fit(captions, classes, 0).logits(["", "never seen", "a"])
        assert np.isfinite(logits).all()


def test_padding_does_not_change_an_encoders_states():
    model = load_encoder(MINILM).eval()
    rows = word_pieces(MINILM, ["a dog", "a [MASK] riding a horse on a beach", "a dog"])
    with torch.no_grad():
        wide = cls_states(model, *padded(rows, 64))
    np.testing.assert_allclose(features(model, rows).numpy(), wide.numpy(), atol=2e-5)
    assert rows[0] == rows[2]


def test_mask_and_unknown_are_single_pieces():
    pieces = word_pieces(MINILM, ["a [MASK] [UNK]"])[0]
    assert len(pieces) == 5  # with [CLS] and [SEP]


def test_weight_decay_leaves_biases_norms_and_pooler_alone():
    encoder = load_encoder(MINILM)
    decayed, plain = optimizer([encoder, head(384)], 1e-5).param_groups
    assert (decayed["weight_decay"], plain["weight_decay"]) == (0.1, 0.0)
    ids = {id(p) for group in (decayed, plain) for p in group["params"]}
    assert not any(id(p) in ids for n, p in encoder.named_parameters() if n.startswith("pooler."))
    named = dict(encoder.named_parameters())
    assert id(named["embeddings.LayerNorm.weight"]) in {id(p) for p in plain["params"]}
    assert id(named["encoder.layer.0.attention.self.query.weight"]) in {
        id(p) for p in decayed["params"]
    }


def test_batches_hold_every_caption_once_and_never_one_alone():
    for size in (64, 65, 129, 300):
        batched = batches(np.random.default_rng(0).integers(5, 20, size), np.random.default_rng(1))
        assert sorted(np.concatenate(batched)) == list(range(size))
        assert min(map(len, batched)) > 1


def test_dropout_in_the_frozen_encoder_changes_the_head(task):
    captions, classes = task
    on, off = (
        Pretrained(recipe).fit(captions[:64], classes[:64], 0).logits(captions[64:])
        for recipe in ("1e-5x5-dropout", "1e-5x5")
    )
    assert np.abs(on - off).max() > 1e-6


@pytest.mark.parametrize("missing", ["config.json", "tokenizer.json", "model.safetensors"])
def test_an_incomplete_encoder_is_refused_before_training(tmp_path, missing):
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        if name != missing:
            shutil.copy(f"{encoder_directory(MINILM)}/{name}", tmp_path)
    with pytest.raises(RelicError, match=f"lacks {Path(missing).stem}"):
        check_encoder(str(tmp_path))


def test_other_wrong_options():
    for options, says in (
        ({"name": "oracle"}, "linear, lstm"),
        ({"name": "lstm", "batching": "heaped"}, "packed"),
        ({"name": "bert-ft", "recipe": "1x1"}, "1e-5x5"),
        ({"name": "bert-pre", "encoder": "./no/such/place"}, "no/such/place"),
    ):
        with pytest.raises(RelicError) as error:
            classifier(**options)
        assert says in str(error.value)


def test_recipes_are_the_published_ones():
    assert [
        (Pretrained(r).rate, Pretrained(r).epochs) for r in CLASSIFIERS["bert-pre"].recipes[:2]
    ] == [
        (5e-5, 20),
        (1e-5, 5),
    ]
    assert (FineTuned("1e-5x5").rate, FineTuned("1e-5x5").epochs) == (1e-5, 5)
