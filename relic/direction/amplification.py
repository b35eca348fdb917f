"""Directional bias amplification (Wang & Russakovsky, ICML 2021, equation 2), over object words.

    BiasAmp = mean over classes a and objects t of  y_at · Δ_at

y_at is +1 where humans name the object more often with the class than chance has it, -1 where less.

- A→T: Δ_at = P(caption names t | a) - P(human caption names t | a): does the class change the objects named?
- T→A: Δ_at = P(caption names a | t) - P(label a | t): do the objects change the class named?

With two classes both Δ of an object differ in sign only (T→A) or give the difference of two gaps (A→T), so
one number an object is enough. P(t) is that of a human caption drawn at random from an image's five: the
union of five names more objects than one caption can. T→A reads the captions that name one class,
and compares them with the labels of the same images: a captioner cannot win by staying silent.

The PyPI package `bias-amplification` 0.2.1 has the same metric, but divides by the objects named in a class
instead of its images, which is right for one object an image only; so these lines are ours.
"""

import numpy as np

from relic.errors import RelicError


def human_leaning(classes: np.ndarray, human: np.ndarray) -> np.ndarray:
    """+1 for objects that humans name more often with class 1, -1 with class 0, 0 with neither.

    >>> human_leaning(np.array([0, 0, 1, 1]), np.array([[1, 0], [1, 0], [0.5, 0], [0, 0]])).tolist()
    [-1.0, 0.0]
    """
    return np.sign(_gap(np.ones((1, len(classes))), classes, human)[0])


def attribute_to_objects(
    classes: np.ndarray,
    human: np.ndarray,
    generated: np.ndarray,
    weights: np.ndarray | None = None,
    leaning: np.ndarray | None = None,
) -> np.ndarray:
    """A→T of each object, a row each row of weights; NaN for an object without leaning.

    `human`, `generated`: images × objects, how often captions name them (0 to 1). `leaning`: see
    `human_leaning`; it stays that of all images when images are drawn again.

    Two men, two women; humans name the object for both men and one woman, the captioner for the men only:
    P(t | man) stays 1, P(t | woman) falls from 0.5 to 0, so BiasAmp = (0 + 0.5) / 2.

    >>> human, said = np.array([[1.0], [1], [1], [0]]), np.array([[1.0], [1], [0], [0]])
    >>> attribute_to_objects(np.array([0, 0, 1, 1]), human, said).tolist()
    [[0.25]]
    """
    weights, leaning = _defaults(classes, human, weights, leaning)
    change = _gap(weights, classes, generated) - _gap(weights, classes, human)
    return change * leaning / 2


def objects_to_attribute(
    classes: np.ndarray,
    human: np.ndarray,
    named: np.ndarray,
    weights: np.ndarray | None = None,
    leaning: np.ndarray | None = None,
) -> np.ndarray:
    """T→A of each object, a row each row of weights; NaN where no caption names one class.

    `named`: the class that the caption names, 0 or 1; NaN for none or both.

    Four images with the object, three men and one woman; the captioner calls all four men:
    P(man | t) rises from 0.75 to 1.

    >>> human, classes = np.array([[1.0]] * 4 + [[0.0]] * 2), np.array([0, 0, 0, 1, 1, 1])
    >>> objects_to_attribute(classes, human, np.array([0.0, 0, 0, 0, 1, 1])).tolist()
    [[0.25]]
    """
    weights, leaning = _defaults(classes, human, weights, leaning)
    told = np.isfinite(named)
    weights, human = weights[:, told], human[told]
    change = np.asarray(named[told] - classes[told], dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (weights * change) @ human / (weights @ human) * leaning


def _defaults(classes, human, weights, leaning):
    """All images once, and the leaning of these captions; objects without leaning become NaN."""
    if len(classes) != len(human):
        raise RelicError(
            f"{len(classes)} classes, {len(human)} rows of objects", expected="as many"
        )
    weights = np.ones((1, len(classes))) if weights is None else weights
    leaning = human_leaning(classes, human) if leaning is None else leaning
    return weights, np.where(leaning == 0, np.nan, leaning)


def _gap(weights: np.ndarray, classes: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """P(t | class 1) - P(t | class 0)."""
    shares = []
    for value in (1, 0):
        own = classes == value
        if not own.any():
            raise RelicError(f"no image of class {value}", expected="images of both classes")
        part = weights[:, own]
        shares.append(part @ rates[own] / part.sum(axis=1, keepdims=True))
    return shares[0] - shares[1]
