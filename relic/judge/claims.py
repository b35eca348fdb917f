"""The four claims as inequalities, and one rule that turns an estimate into a verdict.

    supported   the whole 95 % interval satisfies the inequality
    refuted     the whole interval violates it
    undecided   anything else

One level everywhere: 95 % two-sided, so Holm at 0.025 one-sided. Notebook `06_decide` tells the rule's
history. Every function takes lic tables (`relic.judge.lic`) of one kind and returns a `Verdict`.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from relic.data.captioners import in_order
from relic.errors import RelicError
from relic.judge.lic import difference, estimates, mean_over_captioners, shared_by
from relic.judge.stats import Estimate, Interval, estimate, from_spread, holm

SUPPORTED, REFUTED, UNDECIDED = "supported", "refuted", "undecided"
SYMBOLS = {SUPPORTED: "✓", REFUTED: "✗", UNDECIDED: "?"}
LEVEL = 0.025  # one-sided
Estimates = dict[str, Estimate]  # by captioner
MARGIN = 1.0  # LIC points that count as no difference: claim 4, race and age
ALIKE = 0.7  # correlation of true LIC above which two classifiers order captioners alike (τ of one half)
DRAWS = 2000  # of the interval of a correlation
CLAIMS = {
    "1": "Every classifier orders the captioners alike.",
    "2": "Every captioner amplifies: LIC > 0.",
    "3 (LIC_M)": "Every captioner gives race away less than gender: lower LIC_M.",
    "3 (LIC)": "Every captioner amplifies race less than gender: lower LIC.",
}
PAIRS = (("NIC+Equalizer", "NIC+"), ("Strong amplifier (gain 1.5)", "Faithful (gain 0)"))


@dataclass(frozen=True)
class Verdict:
    """A claim judged: the word, and the estimate it rests on."""

    claim: str
    word: str
    estimate: float
    low: float
    high: float
    whose: str  # which captioner, pair or difference the estimate is of
    seeds: int
    n_test: float = float("nan")
    surely: int = 0  # captioners for which it surely holds (Holm)
    captioners: int = 0  # captioners judged

    @property
    def symbol(self) -> str:
        """For those who cannot see colours."""
        return SYMBOLS[self.word]


def judge(interval: Interval, *, above: float | None = None, below: float | None = None) -> str:
    """The rule, for "more than `above`" or "less than `below`".

    >>> judge(Interval(2, 0.5, 3.5), above=0), judge(Interval(2, -1, 5), above=0)
    ('supported', 'undecided')
    >>> judge(Interval(-2, -3, -1), above=0), judge(Interval(0.2, -0.4, 0.8), below=1)
    ('refuted', 'supported')
    """
    if above is not None:
        holds, violated = interval.low > above, interval.high <= above
    elif below is not None:
        holds, violated = interval.high < below, interval.low >= below
    else:
        raise ValueError("a bound is needed: above or below")
    return SUPPORTED if holds else REFUTED if violated else UNDECIDED  # no interval: undecided


def verdict(
    estimated: Estimate | Estimates,
    claim: str,
    *,
    above: float | None = None,
    below: float | None = None,
    whose: str = "",
    n_test: float = float("nan"),
) -> Verdict:
    """A claim on every one of several estimates, where the weakest decides, or on one (`whose`).

    "Every" is supported when each interval satisfies the inequality (intersection-union), refuted when
    one surely violates it after Holm's correction over all.
    """
    judged = {whose: estimated} if isinstance(estimated, Estimate) else estimated
    if not judged:
        raise RelicError(f"nothing to judge for: {claim}", expected="at least one captioner")
    words = {judge(one.interval(), above=above, below=below) for one in judged.values()}
    against = {  # one-sided p against the claim
        name: one.p_above(above) if above is not None else one.p_below(below or 0.0)
        for name, one in judged.items()
    }
    sign = -1 if above is not None else 1  # without intervals the least mean is the weakest
    weakest = max(judged, key=lambda n: (np.nan_to_num(against[n], nan=2), sign * judged[n].mean))
    p_values = np.array([p for p in against.values() if not np.isnan(p)])
    word = SUPPORTED if words == {SUPPORTED} else UNDECIDED
    word = REFUTED if (holm(1 - p_values) < LEVEL).any() else word
    surely, seeds = int((holm(p_values) < LEVEL).sum()), judged[weakest].n
    interval = judged[weakest].interval()
    return Verdict(claim, word, *interval, weakest, seeds, n_test, surely, len(judged))


def amplification(lic: pd.DataFrame) -> Verdict:
    """Claim 2: LIC > 0 for every captioner."""
    return verdict(estimates(lic), CLAIMS["2"], above=0, n_test=lic["n_test"].mean())


def gender_minus_race(gender: pd.DataFrame, race: pd.DataFrame, quantity="lic") -> Estimates:
    """Gender minus race by captioner, as independent: a seed's two test sets share few images."""
    first, second = estimates(gender, quantity), estimates(race, quantity)
    return {name: first[name].minus(second[name]) for name in in_order(first) if name in second}


def less_than_gender(gender: pd.DataFrame, race: pd.DataFrame, quantity: str = "lic") -> Verdict:
    """Claim 3, on LIC_M (`lic_model`: needs no human captions) or on LIC: every captioner."""
    name = {"lic_model": "3 (LIC_M)", "lic": "3 (LIC)"}[quantity]
    apart = gender_minus_race(gender, race, quantity)
    return verdict(apart, CLAIMS[name], above=0, n_test=race["n_test"].mean())


def mean_less_than_gender(gender: pd.DataFrame, race: pd.DataFrame, quantity="lic") -> Estimate:
    """Gender minus race of the mean over captioners."""
    return mean_over_captioners(gender, quantity).minus(mean_over_captioners(race, quantity))


def equalizer(lic: pd.DataFrame) -> Verdict:
    """Claim 4: the first of a pair amplifies gender more than the second; race and age no more."""
    first, second = next((p for p in PAIRS if set(p) <= set(lic["captioner"])), PAIRS[0])
    bound = {"above": 0} if lic["attribute"].iloc[0] == "gender" else {"below": MARGIN}
    lead, both = difference(lic, first, second), lic["captioner"].isin([first, second])
    more = f"by less than {MARGIN:g} point more" if "below" in bound else "more"
    claim = f"{first} amplifies {lic['attribute'].iloc[0]} {more} than {second}."
    n_test = lic.loc[both, "n_test"].mean()
    return verdict(lead, claim, whose=f"{first} − {second}", n_test=n_test, **bound)


def agreement(lic: pd.DataFrame) -> pd.DataFrame:
    """Claim 1: for each pair of classifiers, the correlation of their *true* LIC over captioners.

    Noise of the splits makes observed rankings disagree even where true ones do not, and noise that
    two classifiers share makes them agree where true ones do not; both are taken into account
    (`_true_correlation`). `observed`: the correlation of the means as they are. `opposite`: pairs of
    captioners that the two surely order oppositely, both intervals excluding 0, of `pairs`.
    """
    # in order of names: the same pair has the same draws on every page
    parts = {n: p for n, p in lic.groupby("classifier") if len(_splits(p)) > 1}
    rows, rho = [], shared_by(lic) if len(parts) else 0.0
    for (a, first), (b, second) in combinations(parts.items(), 2):
        x, y = _splits(first), _splits(second)
        names = [n for n in in_order(x.columns) if n in y]
        if len(names) < 3:
            continue
        x, y = x[names], y[names]
        true = _true_correlation(x, y, rho)
        apart = [_opposite(x, y, one, two, rho) for one, two in combinations(names, 2)]
        observed = float(np.corrcoef(x.mean(), y.mean())[0, 1])
        counts = sum(apart), len(apart), observed, min(len(x), len(y))
        rows.append((a, b, len(names), *true, *counts))
    columns = "first second captioners correlation low high opposite pairs observed seeds"
    return pd.DataFrame(rows, columns=columns.split())


def same_order(lic: pd.DataFrame) -> Verdict:
    """Claim 1: any two classifiers agree by more than `ALIKE`; the pair with the lowest end is shown."""
    pairs = agreement(lic)
    if pairs.empty:
        raise RelicError("claim 1 needs two classifiers, two splits or more of three captioners")
    least = pairs.loc[pairs["low"].idxmin()]
    words = [judge(Interval(r.correlation, r.low, r.high), above=ALIKE) for r in pairs.itertuples()]
    word = SUPPORTED if set(words) == {SUPPORTED} else REFUTED if REFUTED in words else UNDECIDED
    mean, low, high = least[["correlation", "low", "high"]]
    whose, seeds = f"{least['first']} and {least['second']}", int(pairs["seeds"].min())
    counts = seeds, lic["n_test"].mean(), words.count(SUPPORTED), len(pairs)
    return Verdict(CLAIMS["1"], word, mean, low, high, whose, *counts)


def _splits(part: pd.DataFrame) -> pd.DataFrame:
    """Splits by captioner; those that every captioner has."""
    return part.pivot_table(index="seed", columns="captioner", values="lic").dropna()


def _true_correlation(x: pd.DataFrame, y: pd.DataFrame, rho: float, seed: int = 0) -> Interval:
    """Correlation of the true values over captioners, given the noise of both means, with its interval.

    For each possible correlation, means are drawn: true values that vary as much as ours do without
    noise, plus noise. The interval holds those under which the observed correlation lies in the middle
    95 % of the draws; the estimate is the one that puts it at the median. Noise is alike for all
    captioners, so only lengths and the angle of the two vectors matter.
    """
    noise, free = _noise(x, y, rho), x.shape[1] - 1  # a common shift of all captioners is no order
    observed = float(np.corrcoef(x.mean(), y.mean())[0, 1])
    true = [v.mean().var() - n for v, n in zip((x, y), np.diag(noise), strict=True)]
    if min(true) <= 0:  # the captioners differ no more than noise does
        return Interval(observed, -1.0, 1.0)
    length_x, length_y = np.sqrt(free * np.array(true))
    rng, grid = np.random.default_rng(seed), np.linspace(-1, 1, 81)
    e_x, e_y = np.moveaxis(rng.multivariate_normal([0, 0], noise, size=(DRAWS, free)), -1, 0)
    e_x[:, 0] += length_x
    above = []
    for r in grid:
        drawn = e_y.copy()
        drawn[:, 0] += r * length_y
        drawn[:, 1] += np.sqrt(1 - r**2) * length_y
        lengths = np.linalg.norm(e_x, axis=1) * np.linalg.norm(drawn, axis=1)
        above.append(((e_x * drawn).sum(axis=1) / lengths >= observed).mean())
    rising = np.maximum.accumulate(above)  # with r, but for the draws' own noise
    return Interval(*(float(np.interp(p, rising, grid)) for p in (0.5, LEVEL, 1 - LEVEL)))


def _noise(x: pd.DataFrame, y: pd.DataFrame, rho: float) -> np.ndarray:
    """Variances and covariance of the errors of two classifiers' means, of one captioner less all.

    Classifiers tested on the same splits err together: without the covariance they look too alike.
    `rho`: what splits share (`stats.shared`).
    """
    x, y = (v.sub(v.mean(axis=1), axis=0) for v in (x, y))
    free, shared = x.shape[1] - 1, x.index.intersection(y.index)
    variances = [v.var().sum() / free * from_spread(0, 1, len(v), rho).error ** 2 for v in (x, y)]
    both = 0.0
    if len(shared) > 1:
        a, b = (v.loc[shared] - v.loc[shared].mean() for v in (x, y))
        both = (a * b).to_numpy().sum() / (len(shared) - 1) / free
        both *= len(shared) / len(x) / len(y) + rho
    most = np.sqrt(variances[0] * variances[1])
    both = float(np.clip(both, -most, most))
    return np.array([[variances[0], both], [both, variances[1]]])


def _opposite(x: pd.DataFrame, y: pd.DataFrame, one: str, two: str, rho: float) -> bool:
    """Do two classifiers surely order two captioners oppositely?"""
    apart = [estimate(values[one] - values[two], rho).interval() for values in (x, y)]
    signs = [int(interval.low > 0) - int(interval.high < 0) for interval in apart]
    return signs[0] * signs[1] < 0
