"""The formulas of the Gender Score (Sabir & Padró, EMNLP Findings 2023), for floats and arrays.

Belief revision (Blok et al. 2003; their equation 3): a caption's prior probability is raised when it is
close to an object seen in the image, the more so the less sure the object is.
"""

import math

import numpy as np

from relic.errors import RelicError

ROUNDING = 1e-5  # by how much a cosine in single precision may leave -1..1


def belief_revision(prior, similarity, confidence):
    """The revised probability `prior ** α`, α = ((1 - similarity) / (1 + similarity)) ** (1 - confidence).

    `prior`: the language model's mean token probability of the caption. `similarity`: cosine of caption
    and object. `confidence`: the object's probability. Limits: a similarity of 1 gives 1, of -1 gives 0;
    an object of confidence 1 leaves the prior as it is, whatever the similarity. A missing value (NaN)
    gives NaN; a value out of its range is an error.

    >>> round(belief_revision(0.12759140133857727, 0.5452305674552917, 0.2183), 12)
    0.453207141502
    >>> [float(x) for x in belief_revision(0.5, np.array([-1.0, 0.0, 1.0]), 0.0)]
    [0.0, 0.5, 1.0]
    """
    prior, similarity, confidence = (
        np.asarray(v, dtype=float) for v in (prior, similarity, confidence)
    )
    _within("prior", prior, 0, 1, 0)
    _within("confidence", confidence, 0, 1, 0)
    _within("similarity", similarity, -1, 1, ROUNDING)
    similarity = np.clip(similarity, -1, 1)
    with np.errstate(divide="ignore"):  # a similarity of -1: α is infinite, the score 0
        alpha = ((1 - similarity) / (1 + similarity)) ** (1 - confidence)
    missing = np.isnan(prior) | np.isnan(similarity) | np.isnan(confidence)
    score = np.where(missing, np.nan, prior**alpha)  # NumPy's nan ** 0 would be 1
    return score if score.ndim else float(score)


def _within(name: str, values: np.ndarray, low: float, high: float, slack: float) -> None:
    bad = (values < low - slack) | (values > high + slack)
    if bad.any():
        first = float(values[bad].flat[0]) if values.ndim else float(values)
        raise RelicError(f"a {name} of {first:g}", expected=f"{low} to {high}")


def ratio_to_men(men, women):
    """Share of `men` in `men + women` (their equation 1): scores, similarities or counts.

    NaN where a value is negative or both are 0: a share of cosines below 0 means nothing.

    >>> ratio_to_men(792, 408)
    0.66
    >>> ratio_to_men(-0.1, 0.3), ratio_to_men(0, 0)
    (nan, nan)
    """
    return _share(men, np.asarray(men, dtype=float) + np.asarray(women, dtype=float), women)


def ratio_to_neutral(gendered, person):
    """How a value for `man` or `woman` compares with that for `person` (their equation 2).

    >>> round(ratio_to_neutral(0.062, 0.075), 4)
    0.8267
    """
    return _share(gendered, person, person)


def _share(part, whole, other):
    part, whole, other = (np.asarray(v, dtype=float) for v in (part, whole, other))
    good = (part >= 0) & (other >= 0) & (whole > 0)
    found = np.divide(part, whole, out=np.full(np.broadcast(part, whole).shape, np.nan), where=good)
    return found if found.ndim else float(found)


def leakage(captioner: int, human: int) -> float:
    """Captions to which a captioner gives a gender, over those to which humans give it.

    >>> leakage(408, 291) > 1.4
    True
    """
    if human <= 0 or captioner < 0:
        raise RelicError(f"{captioner} captions against {human} human ones", expected="counts")
    return captioner / human


def truncated(value: float, digits: int = 2) -> float:
    """Cut after `digits` decimals, as the paper prints; a rounding error of a float does not count.

    >>> truncated(0.8279), truncated(0.29), truncated(-0.019)
    (0.82, 0.29, -0.01)
    """
    if math.isnan(value):
        return value
    return math.trunc(round(value * 10**digits, 6)) / 10**digits
