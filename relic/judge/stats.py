"""Statistics of repeated random splits: small functions, each with its reference.

Runs on random splits of the same images share most of their training images, so their scores vary
less than those of fresh samples would. Nadeau & Bengio (2003, *Inference for the generalization
error*, Machine Learning 52) widen the variance of the mean from 1/n to 1/n + n_test/n_train, here 1/9.
On synthetic corpora that was too narrow where splits share much of both classes: a balanced split takes
all of the rarer class and draws the larger one anew. `shared` is what `relic calibrate intervals` found.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from scipy import special

from relic.errors import RelicError

NADEAU_BENGIO = 1 / 9  # one image in ten tests
ENOUGH = 10  # splits after which more do not narrow an interval
DRAWS = 2000  # of a bootstrap
POWER = 0.8  # share of studies that find what is called detectable


class Interval(NamedTuple):
    """A mean and its interval."""

    mean: float
    low: float
    high: float


class Estimate(NamedTuple):
    """A mean with its standard error and degrees of freedom."""

    mean: float
    error: float
    df: float
    n: int

    def interval(self, level: float = 0.95) -> Interval:
        """Student's t interval."""
        reach = float(special.stdtrit(self.df, 0.5 + level / 2)) * self.error
        return Interval(self.mean, self.mean - reach, self.mean + reach)

    def p_above(self, bound: float = 0.0) -> float:
        """One-sided p of "the mean is at most `bound`"."""
        if self.error == 0:
            return float(self.mean <= bound)
        return float(special.stdtr(self.df, (bound - self.mean) / self.error))

    def p_below(self, bound: float = 0.0) -> float:
        """One-sided p of "the mean is at least `bound`"."""
        return 1 - self.p_above(bound) if self.error else float(self.mean >= bound)

    def detectable(self) -> float:
        """The smallest true value above 0 that would be found, with this spread, in 80 % of studies."""
        return float(special.stdtrit(self.df, [0.975, POWER]).sum() * self.error)

    def minus(self, other: "Estimate") -> "Estimate":
        """Difference of independent estimates, degrees of freedom by Welch and Satterthwaite."""
        squares = self.error**2, other.error**2
        terms = sum(s**2 / e.df for s, e in zip(squares, (self, other), strict=True))
        df = sum(squares) ** 2 / terms if terms else min(self.df, other.df)
        error = math.sqrt(sum(squares))
        return Estimate(self.mean - other.mean, error, df, min(self.n, other.n))


def shared(ratio: float) -> float:
    """What splits of the same images share (ρ), in units of the variance between them.

    `ratio`: images of class 1 for one of class 0, so the share of class 0 that a split draws.

    >>> round(shared(1 / 9), 3), round(shared(1), 3)  # one in ten, and classes of one size
    (0.148, 0.444)
    """
    return NADEAU_BENGIO + ratio / 3


def estimate(values: Iterable[float], shared: float = NADEAU_BENGIO + 1 / 3) -> Estimate:
    """Mean over repeated splits with an error as Nadeau & Bengio (2003, equation 19) correct it.

    `shared`: ρ in place of their 1/9, by default that of classes of one size; 0 for independent values.

    >>> estimate([1.0, 2.0, 3.0], shared=0).error  # the plain error: 1 / sqrt(3)
    0.5773502691896257
    """
    array = np.asarray(values, dtype=float)
    array = array[~np.isnan(array)]
    if len(array) < 2:
        mean = float(array.mean()) if len(array) else math.nan
        return Estimate(mean, math.nan, math.nan, len(array))
    return from_spread(float(array.mean()), float(array.std(ddof=1)), len(array), shared)


def from_spread(mean: float, std: float, n: int, shared: float) -> Estimate:
    """The same from a printed mean and standard deviation over `n` splits.

    Splits beyond `ENOUGH` count for nothing: what all share does not go away, and splits that are
    added later must not make an interval narrower than it is.
    """
    count = min(n, ENOUGH) if shared else n
    return Estimate(mean, std * math.sqrt(1 / count + shared), count - 1, n)


def holm(p_values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Adjusted p of several tests (Holm 1979).

    >>> holm([0.01, 0.04, 0.03]).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    # as statsmodels' multipletests, which runs the garbage collector at every call (0.2 s each)
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p)
    adjusted = np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order])
    return np.minimum(adjusted, 1)[np.argsort(order)]


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> dict[str, float]:
    """Spearman's ρ with the 95 % interval of Bonett & Wright (2000); none for fewer than five pairs.

    >>> rank_correlation([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 6, 5])["rho"] > 0.9
    True
    """
    pairs = np.array([first, second], dtype=float)
    pairs = pairs[:, ~np.isnan(pairs).any(axis=0)]
    n, rho, low, high = pairs.shape[1], math.nan, math.nan, math.nan
    if n >= 5 and all(len(np.unique(row)) > 1 for row in pairs):
        from scipy import stats  # a second that most need not wait

        rho = float(stats.spearmanr(*pairs).statistic)
        if abs(rho) < 1:
            reach = float(special.ndtri(0.975)) * math.sqrt((1 + rho**2 / 2) / (n - 3))
            low, high = math.tanh(math.atanh(rho) - reach), math.tanh(math.atanh(rho) + reach)
    return {"rho": rho, "low": low, "high": high, "n": n}


def image_draws(
    images: int, draws: int = 1000, rng: np.random.Generator | None = None
) -> np.ndarray:
    """How often each image counts: once in the first row, then as often as each resample draws it.

    One table serves every captioner, so that two captioners are compared on the same draws.

    >>> image_draws(3, draws=2).sum(axis=1).tolist()
    [3.0, 3.0, 3.0]
    """
    if images < 1 or draws < 1:
        raise RelicError(f"{images} images, {draws} draws", expected="at least one of each")
    rng = rng or np.random.default_rng([0, 5])
    counts = np.ones((draws + 1, images), dtype=np.float32)
    for row in counts[1:]:  # row by row: a table of whole numbers for all draws would be large
        row[:] = np.bincount(rng.integers(0, images, images), minlength=images)
    return counts


def interval(values: np.ndarray) -> Interval:
    """The first value, of all images, with the middle 95 % of the resampled; NaN does not count.

    >>> interval(np.array([50.0, *range(101)]))
    Interval(mean=50.0, low=2.5, high=97.5)
    """
    values = np.asarray(values, dtype=float)
    drawn = values[1:][np.isfinite(values[1:])]
    low, high = np.percentile(drawn, [2.5, 97.5]) if len(drawn) else (math.nan, math.nan)
    return Interval(float(values[0]), float(low), float(high))


def resampled(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Means by column, `Σw·sum / Σw·count`: over all images first, then over each resample of them.

    `sums` and `counts`: images by column. An image keeps all its scores (of several seeds) when it is
    drawn: images, not scores, are sampled (cluster bootstrap).
    """
    rng, n = np.random.default_rng(0), len(sums)
    some = 250  # draws at a time: an audit may have many images
    drawn = (image_draws(n, some, rng)[1:] for _ in range(DRAWS // some))
    means = [w @ sums / (w @ counts) for w in chain([np.ones((1, n))], drawn)]
    return np.concatenate(means, dtype=float)
