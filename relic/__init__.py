"""RELIC: do image captioners amplify the bias of their training captions, and how sure can we be?

What a notebook may import: the names below, and the modules that compute (`datacard`, ...).
`relic.audit(...)` and `relic.lic(...)` answer for captions of one's own.
"""

__version__ = "0.1.0"

from relic.attribute import load_attribute
from relic.data import Corpus, load_corpus
from relic.errors import RelicError
from relic.page import Page

__all__ = ["Corpus", "Page", "RelicError", "__version__", "audit", "lic", "load_attribute", "load_corpus"]  # fmt: skip


def __getattr__(name: str):
    """`audit` and `lic` are imported when asked for: they need what computes."""
    if name in ("audit", "lic"):
        from relic.auditing import audit

        return getattr(audit, name)
    raise AttributeError(f"module 'relic' has no attribute {name!r}")
