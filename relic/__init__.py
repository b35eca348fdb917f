"""RELIC: do image captioners amplify the bias of their training captions, and how sure can we be?

What a notebook may import: the names below, and the modules that compute (`datacard`, ...).
"""

__version__ = "0.1.0"

from relic.attribute import load_attribute
from relic.data import Corpus, load_corpus
from relic.errors import RelicError
from relic.page import Page

__all__ = ["Corpus", "Page", "RelicError", "__version__", "load_attribute", "load_corpus"]
