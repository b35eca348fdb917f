"""Logistic regression on word uni- and bigrams: LIC in seconds.

On the real captions its LIC_M tracks the LSTM's over the nine captioners at a small fraction of
the cost. Counts are binary; what occurs in one training caption only is left out. The steps are those
of scikit-learn's `LogisticRegression` (a test compares), without what it checks at every call.
"""

from array import array
from collections import defaultdict
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import expit

from relic.measure.classifiers.base import RECIPES

LEAST = 2  # training captions that must have a word or word pair
LARGE = 100_000  # captions above which the fit stops sooner: half the steps, a score within 0.1
CLOSE, LOOSE = 1e-4, 1e-3  # gradients at which a fit stops

_numbers: defaultdict[str, int] = defaultdict()  # word or word pair -> number, as they come
_numbers.default_factory = _numbers.__len__


@lru_cache(maxsize=500_000)
def caption_terms(caption: str) -> bytes:
    """Numbers of the distinct words and word pairs of a caption; each caption is read once."""
    words = caption.split()
    terms = dict.fromkeys([*words, *map(" ".join, pairwise(words))])
    return array("q", map(_numbers.__getitem__, terms)).tobytes()  # joined sooner than arrays


def joined_terms(captions) -> tuple[np.ndarray, np.ndarray]:
    """Terms of all captions in a row, and where each caption's begin and end."""
    rows = list(map(caption_terms, captions))
    return np.frombuffer(b"".join(rows), np.int64), np.cumsum([0, *map(len, rows)]) // 8


def optimum(rows: csr_matrix, classes: np.ndarray, penalty: float) -> np.ndarray:
    """Weights of the columns, and the intercept; `penalty` is scikit-learn's C."""
    signs, columns = np.where(classes == 1, 1.0, -1.0), rows.T.tocsr()
    n = len(signs)
    shrink = 1 / (penalty * n)

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        inner, margin = weights[:-1], signs * (rows @ weights[:-1] + weights[-1])
        slope = -signs * expit(-margin) / n
        value = np.logaddexp(0, -margin).sum() / n + shrink / 2 * (inner @ inner)
        return value, np.append(columns @ slope + shrink * inner, slope.sum())

    options = {"gtol": LOOSE if n > LARGE else CLOSE, "ftol": 64 * np.finfo(float).eps}
    options |= {"maxls": 50, "maxiter": 1000}
    start = np.zeros(rows.shape[1] + 1)
    return minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x


class Linear:
    """The fourth encoder of claim 1, and the default where speed matters."""

    def __init__(self, recipe: str = RECIPES["linear"], batching: str = "", encoder: str = ""):
        self.penalty = float(recipe.removeprefix("C="))

    def fit(self, captions, classes, seed: int):
        """The seed changes nothing: the optimum is unique.

        Columns stand in the order in which the training captions first name their terms, so that the
        last bit of a score does not depend on what this process read before.
        """
        terms, ends = joined_terms(captions)
        codes, numbers = pd.factorize(terms)
        self.numbers = numbers[np.bincount(codes) >= LEAST]
        self.coefficients = optimum(self._matrix(terms, ends), np.asarray(classes), self.penalty)
        return self

    def logits(self, captions) -> np.ndarray:
        rows, weights = self._matrix(*joined_terms(captions)), self.coefficients
        return rows @ weights[:-1] + weights[-1]

    def _matrix(self, terms: np.ndarray, ends: np.ndarray) -> csr_matrix:
        column = np.full(len(_numbers), -1)
        column[self.numbers] = np.arange(len(self.numbers))
        columns = column[terms]
        learned = columns >= 0
        before, columns = np.append(0, np.cumsum(learned)), columns[learned]
        shape = len(ends) - 1, len(self.numbers)
        return csr_matrix((np.ones(len(columns)), columns, before[ends]), shape=shape)
