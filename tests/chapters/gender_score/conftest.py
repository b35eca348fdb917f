"""Hand-made language model and encoder, with values one can work out."""

import numpy as np
import pytest


class Prior:
    """A quarter for captions about a woman, a half for all others; it is asked no empty ones."""

    name = "by hand"

    def probabilities(self, captions):
        assert all(captions)
        return np.array([0.25 if "woman" in caption else 0.5 for caption in captions])


class Encoder:
    """Texts that share the word bike are alike by 0.6, all others not at all."""

    name = "by hand"

    def encode(self, texts):
        bike = {True: [0.6, 0.8], False: [0.0, 1.0]}
        rows = [[1.0, 0.0] if text == "bike" else bike["bike" in text] for text in texts]
        return np.array(rows)


@pytest.fixture(autouse=True)
def empty_memory(tmp_path_factory, monkeypatch):
    """What models say of texts is kept apart for each test."""
    monkeypatch.setenv("RELIC_RUNS", str(tmp_path_factory.mktemp("runs")))


@pytest.fixture
def prior():
    return Prior()


@pytest.fixture
def encoder():
    return Encoder()
