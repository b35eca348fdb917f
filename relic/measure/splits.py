"""Split policies: which images train the attribute classifier and which test it.

`upstream` reproduces the papers' procedure bit by bit for a seed and a file's row order.
The other policies differ in what may change a split: see `Policy`.
"""

import random
from functools import lru_cache
from typing import Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from relic.errors import RelicError

Policy = Literal[
    "upstream",  # as the papers: depends on the seed and on the row order of the captioner's file
    "unpaired",  # as upstream, over rows sorted by image id
    "paired",  # one split per seed over image ids, the same for human captions and every captioner
    "grouped",  # ten folds: images whose generated captions read alike, once masked, lie in one
]
PAPER_SEEDS = (0, 12, 100, 200, 300, 400, 456, 500, 789, 1234)
TEST_SHARE, FOLDS = 0.1, 10
FEWEST = 20  # images of a class below which a score means nothing


class Split(NamedTuple):
    """Image ids of the training and the test side, in training order."""

    train: np.ndarray
    test: np.ndarray


def split(
    labels: pd.Series, policy: str = "paired", seed: int = 0, *, groups: pd.Series | None = None
) -> Split:
    """Balanced split of labelled images; `labels` maps image id to 0 or 1 in row order.

    `paired` expects the images that every compared caption set has: the caller intersects them,
    then one seed gives one split whatever the row order.
    """
    check_labels(labels, policy)
    if policy == "grouped":
        return Split(*map(np.asarray, _grouped(labels, seed, groups)))
    rows = labels if policy == "upstream" else labels.sort_index()
    return _popped(rows.index.to_numpy().tobytes(), rows.to_numpy("int8").tobytes(), seed)


@lru_cache(maxsize=64)  # ten seeds, with labels true, permuted and flipped: alike for all captions
def _popped(ids: bytes, classes: bytes, seed: int) -> Split:
    """As the papers' code: pop random rows of each class, train first, then shuffle.

    `random.Random(seed)` draws what the seeded global generator drew in the papers' code.
    """
    images, of_class = np.frombuffer(ids, "int64"), np.frombuffer(classes, "int8")
    rng, left = random.Random(seed), [images[of_class == value].tolist() for value in (0, 1)]
    test_size = round(len(left[1]) * TEST_SHARE)
    sides: list[list] = [[], []]
    for side, size in zip(sides, (len(left[1]) - test_size, test_size), strict=True):
        for rows in left:
            side += [rows.pop(rng.randrange(len(rows))) for _ in range(size)]
    for side in sides:
        rng.shuffle(side)
    return Split(*(np.asarray(side, dtype="int64") for side in sides))


def _grouped(labels: pd.Series, fold: int, groups: pd.Series | None) -> tuple[list, list]:
    """Grouped cross-fitting: the run's seed is the number of the fold that tests.

    All images of class 1 and as many of class 0, drawn once, are dealt into ten folds: no group lies
    in two, and the classes are shared out as evenly as the groups allow. A fold is tested whole, so
    that ten runs test every image once; groups are uneven, and balancing a fold would leave images
    out. Training is balanced, because a classifier that knows the commoner class scores by it.
    """
    groups = pd.Series(dtype=object) if groups is None else groups
    if groups.index.has_duplicates or not labels.index.isin(groups.dropna().index).all():
        raise RelicError("images without a group, or with several", expected="one for every image")
    if not 0 <= fold < FOLDS:
        raise RelicError(f"grouped split number {fold}", expected=f"a seed from 0 to {FOLDS - 1}")
    rows, rng = labels.sort_index(), random.Random(0)
    one = rows.index[rows == 1].tolist()
    chosen = rows.loc[sorted([*one, *rng.sample(rows.index[rows == 0].tolist(), len(one))])]
    keys = pd.factorize(groups.loc[chosen.index])[0].astype("int64")
    if len(set(keys)) < FOLDS:
        found = f"{len(set(keys))} different captions among {len(chosen)} images"
        raise RelicError(found, expected=f"at least {FOLDS} groups for {FOLDS} folds")
    tests = _dealt(chosen.to_numpy("int8").tobytes(), keys.tobytes()) == fold
    train, test = chosen[~tests], chosen[tests]
    if min(train.nunique(), test.nunique()) < 2:
        raise RelicError(
            f"grouped split number {fold} has one class on a side: captions of a class are too alike",
            expected="captions that differ within each class",
        )
    by_class = [train.index[train == value].tolist() for value in (0, 1)]
    balanced = [i for members in by_class for i in rng.sample(members, min(map(len, by_class)))]
    rng.shuffle(balanced)
    return balanced, test.index.tolist()


@lru_cache(maxsize=16)
def _dealt(classes: bytes, keys: bytes) -> np.ndarray:
    """The fold of each image; dealing takes seconds, and all ten folds of both sides share it."""
    from sklearn.model_selection import StratifiedGroupKFold  # a second that most need not wait

    of_class, of_group = np.frombuffer(classes, "int8"), np.frombuffer(keys, "int64")
    dealer = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=0)
    dealt = np.empty(len(of_group), dtype="int64")
    for number, (_, test) in enumerate(dealer.split(of_group, of_class, of_group)):
        dealt[test] = number
    return dealt


def check_labels(labels: pd.Series, policy: str) -> None:
    """Refuse labels that cannot be split, with what is wrong with them."""
    if policy not in get_args(Policy):
        raise RelicError(f"unknown split policy {policy!r}", expected=", ".join(get_args(Policy)))
    if labels.index.has_duplicates or not labels.isin([0, 1]).all():
        raise RelicError("an image's label twice, or neither 0 nor 1", expected="0 or 1, once each")
    counts = labels.value_counts().reindex([0, 1], fill_value=0)
    if counts.min() < FEWEST:
        found = f"{counts[0]} images of class 0 and {counts[1]} of class 1"
        raise RelicError(found, expected=f"at least {FEWEST} of each")
    if counts[1] > counts[0]:
        raise RelicError(
            f"class 1 has {counts[1]} images, class 0 only {counts[0]}",
            expected="class 1 to be the rarer: it sets the balanced size",
            mend="swap the two classes of the attribute",
        )
