"""Directional bias amplification (Wang & Russakovsky, ICML 2021, equation 2), over object words.

    BiasAmp = mean over classes a and objects t of  y_at · Δ_at

y_at is +1 where humans name the object more often with the class than chance has it, -1 where less.

- A→T: Δ_at = P(caption names t | a) - P(human caption names t | a): does the class change the objects named?
- T→A: Δ_at = P(caption names a | t) - P(label a | t): do the objects change the class named?

With two classes both Δ of an object differ in sign only (T→A) or give the difference of two gaps (A→T), so
one number an object is enough. P(t) is that of a human caption drawn at random from an image's five: the
union of five names more objects than one caption can. T→A reads the captions that name one class,
and compares them with the labels of the same images: a captioner cannot win by staying silent.
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
    classes: np.ndarray, human: np.ndarray, generated: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """A→T of each object, a row each row of weights; NaN for an object without leaning.

    `human`, `generated`: images × objects, how often captions name them (0 to 1). `weights`: how often
    each image is drawn; which class an object leans to stays that of all images.

    Two men, two women; humans name the object for both men and one woman, the captioner for the men only:
    P(t | man) stays 1, P(t | woman) falls from 0.5 to 0, so BiasAmp = (0 + 0.5) / 2.

    >>> human, said = np.array([[1.0], [1], [1], [0]]), np.array([[1.0], [1], [0], [0]])
    >>> attribute_to_objects(np.array([0, 0, 1, 1]), human, said).tolist()
    [[0.25]]
    """
    weights, leaning = _defaults(classes, human, weights)
    return (_gap(weights, classes, generated) - _gap(weights, classes, human)) * leaning / 2


def objects_to_attribute(
    classes: np.ndarray, human: np.ndarray, named: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """T→A of each object, a row each row of weights; NaN where no caption names one class.

    `named`: the class that the caption names, 0 or 1; anything else is none or both.

    Four images with the object, three men and one woman; the captioner calls all four men:
    P(man | t) rises from 0.75 to 1.

    >>> human, classes = np.array([[1.0]] * 4 + [[0.0]] * 2), np.array([0, 0, 0, 1, 1, 1])
    >>> objects_to_attribute(classes, human, np.array([0, 0, 0, 0, 1, 1])).tolist()
    [[0.25]]
    """
    weights, leaning = _defaults(classes, human, weights)
    one = np.isin(named, (0, 1))
    weights, human, change = weights[:, one], human[one], (named - classes)[one].astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (weights * change) @ human / (weights @ human) * leaning


def at_human_rate(said: np.ndarray, human: np.ndarray) -> np.ndarray:
    """Objects scaled so that each is named as often as by humans: what is left is the tilt.

    A captioner that names every object twice as often doubles A→T without any tilt of its own.

    >>> at_human_rate(np.array([[1.0], [1.0]]), np.array([[0.5], [0.0]])).tolist()
    [[0.25], [0.25]]
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = human.mean(axis=0) / said.mean(axis=0)
    return said * np.where(np.isfinite(scale), scale, np.nan)


def _defaults(classes, human, weights):
    """All images once, and the leaning of the human captions; NaN for objects without leaning."""
    leaning = human_leaning(classes, human)
    weights = np.ones((1, len(classes))) if weights is None else weights
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
