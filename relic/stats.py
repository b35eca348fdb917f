"""Statistics of repeated random splits: small functions, each with its reference.

Runs on random splits of the same images share most of their training images, so their scores vary
less than those of fresh samples would. Nadeau & Bengio (2003, *Inference for the generalization
error*, Machine Learning 52) widen the variance of the mean from 1/n to 1/n + n_test/n_train.
"""

import math
from collections.abc import Sequence
from functools import cache
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np
from scipy import special, stats

TEST_TO_TRAIN = 1 / 9  # one image in ten tests
DRAWS = 2000  # of a bootstrap
DRAWN = 9_999  # arrangements of a permutation test that is not exact


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

    def minus(self, other: "Estimate") -> "Estimate":
        """Difference of independent estimates, degrees of freedom by Welch and Satterthwaite."""
        squares = self.error**2, other.error**2
        rest = sum(s**2 / e.df for s, e in zip(squares, (self, other), strict=True))
        df = sum(squares) ** 2 / rest if rest else min(self.df, other.df)
        error = math.sqrt(sum(squares))
        return Estimate(self.mean - other.mean, error, df, min(self.n, other.n))


def estimate(values: Sequence[float], test_to_train: float = TEST_TO_TRAIN) -> Estimate:
    """Mean over repeated splits with the corrected error of Nadeau & Bengio (2003), equation 19.

    >>> estimate([1.0, 2.0, 3.0], test_to_train=0.0).error  # the plain error: 1 / sqrt(3)
    0.5773502691896257
    """
    values = np.asarray(values, dtype=float)
    values, n = values[~np.isnan(values)], int((~np.isnan(values)).sum())
    if n < 2:
        mean = float(values.mean()) if n else math.nan
        return Estimate(mean, math.nan, math.nan, n)
    return from_spread(float(values.mean()), float(values.std(ddof=1)), n, test_to_train)


def from_spread(mean: float, std: float, n: int, test_to_train: float = TEST_TO_TRAIN) -> Estimate:
    """The same from a printed mean and standard deviation over `n` splits."""
    return Estimate(mean, math.sqrt((1 / n + test_to_train) * std**2), n - 1, n)


def corrected_resampled_interval(
    differences: Sequence[float], test_to_train: float = TEST_TO_TRAIN, level: float = 0.95
) -> tuple[float, float, float]:
    """Mean and corrected resampled t interval of per-seed differences: `(mean, low, high)`.

    >>> [round(value, 3) for value in corrected_resampled_interval([1.0, 2.0, 3.0])]
    [2.0, -0.868, 4.868]
    """
    return estimate(differences, test_to_train).interval(level)


def holm(p_values: Sequence[float]) -> np.ndarray:
    """Adjusted p of several tests (Holm 1979).

    >>> holm([0.01, 0.04, 0.03]).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    # as statsmodels' multipletests, which runs the garbage collector at every call (0.2 s each)
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p)
    adjusted = np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order])
    return np.minimum(adjusted, 1)[np.argsort(order)]


def every_one(p_values: Sequence[float]) -> float:
    """p of "all of them" by intersection-union: the largest (Berger 1982)."""
    return float(max(p_values))


def at_least(p_values: Sequence[float], level: float = 0.05) -> int:
    """How many of the effects are there, with confidence 1 - level: partial conjunction.

    Benjamini & Heller (2008), Bonferroni form: `u` effects when (n - u + 1) p_(u) <= level.

    >>> at_least([0.001, 0.02, 0.2])  # 3 * .001, 2 * .02 and 1 * .2
    2
    """
    p = np.sort(np.asarray(p_values, dtype=float))
    conjunction = np.maximum.accumulate((len(p) - np.arange(len(p))) * p)
    return int((conjunction <= level).sum())


def equivalence(found: Estimate, margin: float) -> float:
    """p of two one-sided tests (Schuirmann 1987): small when |mean| is surely below `margin`."""
    if margin <= 0:
        raise ValueError(f"margin {margin}: a positive number is needed")
    return max(found.p_above(-margin), found.p_below(margin))


def kendall_w(scores: np.ndarray) -> float:
    """Kendall's W of raters (rows) over things (columns), corrected for ties; 1 is full agreement.

    >>> kendall_w(np.array([[1, 2, 3], [10, 20, 30]]))
    1.0
    """
    ranks = np.apply_along_axis(stats.rankdata, 1, np.asarray(scores, dtype=float))
    raters, things = ranks.shape
    spread = ((ranks.sum(axis=0) - ranks.sum() / things) ** 2).sum()
    ties = sum(
        (count**3 - count).sum()
        for count in (np.unique(row, return_counts=True)[1] for row in ranks)
    )
    return float(12 * spread / (raters**2 * (things**3 - things) - raters * ties))


def tau(first: Sequence[float], second: Sequence[float]) -> float:
    """Kendall's τ-b of two rankings."""
    return float(stats.kendalltau(first, second).statistic)


def tau_p(first: Sequence[float], second: Sequence[float]) -> float:
    """One-sided permutation p of τ > 0: all arrangements up to nine things, else 9,999 drawn."""
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    signs = _pair_signs(first)
    shuffled = _pair_signs(second[_arrangements(len(first))])
    found, observed = shuffled @ signs, _pair_signs(second) @ signs
    return float((found >= observed - 1e-9).mean())


def pearson_interval(first: Sequence[float], second: Sequence[float]) -> Interval:
    """Pearson's r with Fisher's 95 % interval, as if the pairs were a random sample.

    >>> [round(value, 2) for value in pearson_interval([1, 2, 3, 4, 5], [1, 2, 3, 5, 4])]
    [0.9, 0.09, 0.99]
    """
    r = float(np.corrcoef(first, second)[0, 1])
    return _by_fisher(r, 1.0, len(first) - 3)


def tau_interval(first: Sequence[float], second: Sequence[float]) -> Interval:
    """Kendall's τ-b with the 95 % interval of Fieller, Hartley & Pearson (1957).

    >>> [round(value, 2) for value in tau_interval(range(9), [1, 0, 2, 3, 4, 5, 6, 8, 7])]
    [0.89, 0.68, 0.96]
    """
    return _by_fisher(tau(first, second), 0.437, len(first) - 4)


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> dict[str, float]:
    """Spearman's ρ with the 95 % interval of Bonett & Wright (2000); none for fewer than five pairs.

    >>> rank_correlation([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 6, 5])["rho"] > 0.9
    True
    """
    pairs = np.array([first, second], dtype=float)
    pairs = pairs[:, ~np.isnan(pairs).any(axis=0)]
    n = pairs.shape[1]
    if n < 5 or any(len(np.unique(row)) < 2 for row in pairs):
        return {"rho": math.nan, "low": math.nan, "high": math.nan, "n": n}
    rho = float(stats.spearmanr(*pairs).statistic)
    _, low, high = _by_fisher(rho, 1 + rho**2 / 2, n - 3)
    return {"rho": rho, "low": low, "high": high, "n": n}


def _by_fisher(found: float, variance: float, df: int) -> Interval:
    if df < 1 or not abs(found) < 1:
        return Interval(found, math.nan, math.nan)
    reach = float(special.ndtri(0.975)) * math.sqrt(variance / df)
    low, high = np.tanh(np.arctanh(found) + np.array([-reach, reach]))
    return Interval(found, float(low), float(high))


def _pair_signs(values: np.ndarray) -> np.ndarray:
    """Signs of the differences of all pairs, along the last axis."""
    first, second = np.triu_indices(values.shape[-1], k=1)
    return np.sign(values[..., first] - values[..., second])


@cache
def _arrangements(things: int) -> np.ndarray:
    """All orders of up to nine things, else the given order and 9,999 drawn ones."""
    if things <= 9:
        return np.array(list(permutations(range(things))), dtype="int8")
    drawn = np.random.default_rng(0).permuted(np.tile(np.arange(things), (DRAWN, 1)), axis=1)
    return np.vstack([np.arange(things), drawn])


def kendall_w_p(scores: np.ndarray, seed: int = 0) -> float:
    """One-sided permutation p of Kendall's W, 9,999 arrangements drawn: ranks shuffled by rater."""
    ranks = np.apply_along_axis(stats.rankdata, 1, np.asarray(scores, dtype=float))
    drawn = np.random.default_rng(seed).permuted(np.tile(ranks, (DRAWN, 1, 1)), axis=2)
    observed = ranks.sum(axis=0).var()  # ties do not change under shuffling
    return float((1 + (drawn.sum(axis=1).var(axis=1) >= observed - 1e-9).sum()) / (DRAWN + 1))


def smallest_tau(rows: np.ndarray) -> float:
    """The least τ-b of any two raters (rows)."""
    return min(tau(rows[i], rows[j]) for i, j in combinations(range(len(rows)), 2))


def smallest_taus(drawn: np.ndarray) -> np.ndarray:
    """The same for many draws at once, of shape (raters, draws, things), where nothing is tied."""
    signs = _pair_signs(drawn)
    pairs = combinations(range(len(drawn)), 2)
    return np.min([(signs[i] * signs[j]).mean(axis=1) for i, j in pairs], axis=0)


def drawn_means(values: np.ndarray, draws: int = DRAWS, seed: int = 0) -> np.ndarray:
    """Means that other splits might have given: multivariate t, with the corrected covariance.

    `values`: splits by captioner; splits are shared, so captioners vary together. Shape
    (draws, captioners). Few splits estimate their covariance badly, hence t and not normal.
    """
    values = np.asarray(values, dtype=float)
    n, captioners = values.shape
    cov = np.atleast_2d(np.cov(values, rowvar=False)) * (1 / n + TEST_TO_TRAIN)
    rng = np.random.default_rng(seed)
    noise = rng.multivariate_normal(np.zeros(captioners), cov, size=draws, method="eigh")
    return values.mean(axis=0) + noise / np.sqrt(rng.chisquare(n - 1, size=(draws, 1)) / (n - 1))


def rank_sets(drawn: np.ndarray, level: float = 0.95) -> list[tuple[int, int]]:
    """Ranks (1 is the largest) that each column takes in `level` of the draws."""
    ranks = np.apply_along_axis(stats.rankdata, 1, -drawn, method="ordinal")
    tail = (1 - level) / 2
    low = np.quantile(ranks, tail, axis=0, method="lower")
    high = np.quantile(ranks, 1 - tail, axis=0, method="higher")
    return [(int(a), int(b)) for a, b in zip(low, high, strict=True)]


def ratio_bootstrap(
    sums: np.ndarray, counts: np.ndarray, signs: np.ndarray, draws: int = DRAWS, seed: int = 0
) -> list[Interval]:
    """Percentile intervals over images of signed sums of means: `Σ sign · Σw·sum / Σw·count`.

    `sums` and `counts`: images by mean; `signs`: one row a wanted sum. An image keeps all its scores
    (of several seeds) when it is drawn: images, not scores, are sampled (cluster bootstrap).
    """
    rng, n, found = np.random.default_rng(seed), len(sums), []
    signs = np.atleast_2d(np.asarray(signs, dtype=float))

    def value(weights: np.ndarray) -> np.ndarray:
        return (weights @ sums / (weights @ counts)) @ signs.T

    for start in range(0, draws, 250):
        drawn = rng.integers(n, size=(min(250, draws - start), n))
        found.append(
            value(np.array([np.bincount(row, minlength=n) for row in drawn], dtype="float32"))
        )
    low, high = np.nanquantile(np.concatenate(found), [0.025, 0.975], axis=0)
    means = value(np.ones((1, n)))[0]
    return [Interval(*map(float, each)) for each in zip(means, low, high, strict=True)]
