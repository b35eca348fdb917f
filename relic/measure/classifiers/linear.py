"""Logistic regression on word uni- and bigrams: LIC in seconds.

On the real captions its LIC_M tracks the LSTM's over the nine captioners at a small fraction of
the cost. Counts are binary; what occurs in one training caption only is left out.
"""

from functools import lru_cache
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from relic.measure.classifiers.base import TextForm

LEAST = 2  # training captions that must have a word or word pair
LARGE, LOOSE = (
    100_000,
    1e-3,
)  # above so many captions the fit stops sooner: half the steps, a score within 0.1

_numbers: dict[str, int] = {}  # word or word pair -> number, as they come


@lru_cache(maxsize=500_000)
def caption_terms(caption: str) -> np.ndarray:
    """Numbers of the distinct words and word pairs of a caption; each caption is read once."""
    words = caption.split()
    terms = dict.fromkeys([*words, *map(" ".join, pairwise(words))])
    return np.array([_numbers.setdefault(term, len(_numbers)) for term in terms], dtype=np.int64)


class Linear:
    """The fourth encoder of claim 1, and the default where speed matters."""

    version = 1
    text_form = TextForm()
    recipes = ("C=0.1", "C=0.01", "C=1", "C=10")  # the others show what confidence does
    batchings = ("",)

    def __init__(self, recipe: str = "C=0.1", batching: str = "", encoder: str = ""):
        self.model = LogisticRegression(C=float(recipe.removeprefix("C=")), max_iter=1000)

    def fit(self, captions, classes, seed: int):
        """The seed changes nothing: the optimum is unique.

        Columns stand in the order in which the training captions first name their terms, so that the
        last bit of a score does not depend on what this process read before.
        """
        terms = np.concatenate([caption_terms(caption) for caption in captions])
        numbers, first, counts = np.unique(terms, return_index=True, return_counts=True)
        kept = np.flatnonzero(counts >= LEAST)
        kept = kept[np.argsort(first[kept])]
        self.columns = {int(number): column for column, number in enumerate(numbers[kept])}
        if len(captions) > LARGE:
            self.model.set_params(tol=LOOSE)
        self.model.fit(self._matrix(captions), classes)
        return self

    def logits(self, captions) -> np.ndarray:
        """Log-odds of class 1."""
        return self.model.decision_function(self._matrix(captions))

    def weights(self) -> dict[str, float]:
        """Weight of each word and word pair; above 0 it speaks for class 1."""
        names = {number: term for term, number in _numbers.items() if number in self.columns}
        return {names[n]: float(self.model.coef_[0, c]) for n, c in self.columns.items()}

    def _matrix(self, captions) -> csr_matrix:
        rows = [caption_terms(caption) for caption in captions]
        table = np.full(len(_numbers) + 1, -1, dtype=np.int64)
        table[list(self.columns)] = list(self.columns.values())
        columns = table[np.concatenate([*rows, np.empty(0, dtype=np.int64)])]
        owners = np.repeat(np.arange(len(rows)), [len(row) for row in rows])[columns >= 0]
        columns = columns[columns >= 0]
        shape = (len(rows), len(self.columns))
        return csr_matrix((np.ones(len(columns)), (owners, columns)), shape=shape)
