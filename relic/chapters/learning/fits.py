"""Many linear fits on one corpus: captions are counted once, and a fit takes rows of the counts.

The model of `linear` (`relic/measure/classifiers/linear.py`), so the same scores (a test compares them).
"""

from collections.abc import Iterable
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from scipy.special import expit

from relic.data.corpus import HUMAN_CAPTIONS, Corpus
from relic.measure.classifiers.base import TextForm
from relic.measure.classifiers.linear import LEAST, joined_terms, optimum
from relic.measure.inputs import Reading, learned_classes, read_captions, usable_labels
from relic.measure.score import auc, caption_scores, lic_score, log_loss
from relic.measure.splits import PAPER_SEEDS, split

PENALTY = 0.1  # C of `linear`
LINEAR = {"classifier": "linear", "recipe": "C=0.1", "split": "paired"}
LINEAR |= {"encoder": "", "batching": ""}  # it has none


class Rows:
    """Captions by image id as rows of a binary table of words and word pairs."""

    def __init__(self, captions: pd.Series):
        columns, ends = joined_terms(captions)
        self.table = csr_matrix((np.ones(len(columns)), columns, ends))
        self.images = captions.index

    def guesses(self, train: pd.Series, *tests: pd.Index) -> list[np.ndarray]:
        """Train on images, given with their classes; the probability of class 1 for each of others."""
        seen = self.table[self.images.get_indexer(train.index)]
        kept = np.flatnonzero(np.bincount(seen.indices, minlength=seen.shape[1]) >= LEAST)
        weights = optimum(seen[:, kept], train.to_numpy(), PENALTY)
        read = [self.table[self.images.get_indexer(test)][:, kept] for test in tests]
        return [expit(rows @ weights[:-1] + weights[-1]) for rows in read]

    def scores(self, train: pd.Series, *tests: pd.Series) -> pd.Series:
        """LIC of a set, AUC (percent) and log-loss: the means of the tests'."""
        pairs = zip(self.guesses(train, *(t.index for t in tests)), tests, strict=True)
        metrics = {"score": lic_score, "auc": auc, "log_loss": log_loss}
        found = [{n: of(p, t.to_numpy()) for n, of in metrics.items()} for p, t in pairs]
        return pd.DataFrame(found).mean()


def class_mean(p: np.ndarray, y: np.ndarray) -> float:
    """LIC of a set whose classes are uneven: the mean of the two classes' scores."""
    each = 100 * caption_scores(p, y)
    return float((each[y == 0].mean() + each[y == 1].mean()) / 2)


class Texts(NamedTuple):
    """What a classifier reads, by image id: of a captioner, and of people; each side is averaged."""

    model: list[pd.Series]
    human: list[pd.Series]


def texts(
    corpus: Corpus,
    captioner: str,
    vocabulary: str = "captioner",
    indices: Iterable[int] = range(HUMAN_CAPTIONS),
) -> Texts:
    """A captioner's captions, and the human ones of these numbers aligned to its vocabulary."""
    human = [Reading("human", captioner, "standard", k, vocabulary) for k in indices]
    model = [Reading("model", captioner)]
    return Texts(*([read_captions(corpus, r, TextForm()) for r in side] for side in (model, human)))


def halves(
    corpus: Corpus, captioner: str, seed: int, labels: str = "true"
) -> tuple[pd.Series, pd.Series]:
    """Classes by image id of the training and the test side of a paired split."""
    true = usable_labels(corpus, Reading("model", captioner), "paired", 0, 0)
    labels = learned_classes(true, labels, seed)
    both = split(labels, "paired", seed)
    return labels.loc[both.train], labels.loc[both.test]


def measure(
    corpus: Corpus,
    captioner: str,
    read: Texts,
    seeds: Iterable[int] = PAPER_SEEDS,
    sizes: Iterable[int] = (0,),
    labels: Iterable[str] = ("true",),
) -> pd.DataFrame:
    """A row a split, training size (0: all), labels (of `learned_classes`) and side, for `lic_table`.

    The test side of a split stays; of its training side the first images of each class are used, so
    that larger sets hold the smaller ones.
    """
    rows, counted = [], {"model": [*map(Rows, read.model)], "human": [*map(Rows, read.human)]}
    about = {"corpus": corpus.name, "attribute": corpus.attribute.name, "captioner": captioner}
    for seed, size, how in product(seeds, sizes, labels):
        train, test = halves(corpus, captioner, seed, how)
        train = train[train.groupby(train).cumcount() < size // 2] if size else train
        setting = {"labels": how, "seed": seed, "n_train": len(train), "n_test": len(test)}
        for side, captions in counted.items():
            means = pd.DataFrame([each.scores(train, test) for each in captions]).mean()
            rows.append(about | setting | {"side": side, **means})
    return pd.DataFrame(rows).assign(caption_index=0, **LINEAR)
