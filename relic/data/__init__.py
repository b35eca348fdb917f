"""Captions, labels and where they come from."""

from relic.data.corpus import Corpus
from relic.data.load import load_corpus

__all__ = ["Corpus", "load_corpus"]
