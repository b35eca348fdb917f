"""BiasAmp by hand: Wang & Russakovsky (2021), equation 2."""

import numpy as np
import pytest

from relic.chapters.direction import (
    attribute_to_objects,
    human_leaning,
    objects_to_attribute,
)
from relic.errors import RelicError

CLASSES = np.array([0, 0, 0, 0, 1, 1, 1, 1])
HUMAN = np.array([[1, 0], [1, 0], [1, 1], [0, 0], [1, 1], [0, 1], [0, 1], [0, 0]], dtype=float)
# object 0: 3/4 of class 0, 1/4 of class 1; object 1: 1/4 of class 0, 3/4 of class 1
ONCE = np.ones((1, 8))  # every image counts once


def plain(classes, truth, predicted, given_attribute):
    """Equation 2 over every class and object, written out; A→T or T→A."""
    values = []
    attributes = np.stack([classes == 0, classes == 1], axis=1).astype(float)
    for a in (0, 1):
        for t in range(truth.shape[1]):
            own, has = attributes[:, a], truth[:, t]
            y = np.sign((own * has).mean() - own.mean() * has.mean())
            if given_attribute:
                delta = predicted[own == 1, t].mean() - has[own == 1].mean()
            else:
                delta = (predicted[has == 1] == a).mean() - own[has == 1].mean()
            values.append(y * delta)
    return np.mean(values)


def test_humans_lean():
    assert human_leaning(CLASSES, HUMAN).tolist() == [-1, 1]


def test_saying_what_humans_say_amplifies_nothing():
    assert attribute_to_objects(CLASSES, HUMAN, HUMAN, ONCE).tolist() == [[0, 0]]
    assert objects_to_attribute(CLASSES, HUMAN, CLASSES.astype(float), ONCE).tolist() == [[0, 0]]


def test_naming_an_object_for_its_class_only_amplifies():
    """Object 0 for all of class 0 and none of class 1: gap from 1/2 to 1, so (1/4 + 1/4) / 2."""
    said = HUMAN.copy()
    said[:, 0] = CLASSES == 0
    assert attribute_to_objects(CLASSES, HUMAN, said, ONCE)[0].tolist() == [0.25, 0]


def test_both_directions_equal_the_equation_written_out():
    rng = np.random.default_rng(2)
    classes, truth = rng.integers(0, 2, 200), (rng.random((200, 5)) < 0.3).astype(float)
    truth[:, 0] = classes * truth[:, 0]
    said, named = (rng.random((200, 5)) < 0.4).astype(float), rng.integers(0, 2, 200).astype(float)
    ours = attribute_to_objects(classes, truth, said, np.ones((1, 200))).mean()
    assert ours == pytest.approx(plain(classes, truth, said, True))
    ours = objects_to_attribute(classes, truth, named, np.ones((1, 200))).mean()
    assert ours == pytest.approx(plain(classes, truth, named, False))


def test_silence_is_no_merit():
    """T→A of captions that name no class is empty, not zero; silence on some images moves nothing else."""
    silent = np.full(8, np.nan)
    assert np.isnan(objects_to_attribute(CLASSES, HUMAN, silent, ONCE)).all()
    some = CLASSES.astype(float)
    some[[0, 4]] = np.nan
    assert objects_to_attribute(CLASSES, HUMAN, some, ONCE).tolist() == [[0, 0]]


def test_an_object_without_leaning_has_no_value():
    even = np.ones((8, 1))
    assert np.isnan(attribute_to_objects(CLASSES, even, even, ONCE)).all()


def test_weights_count_images():
    """Drawing an image twice is the same as having it twice."""
    said = np.roll(HUMAN, 1, axis=0)
    twice = [0, 0, 1, 2, 3, 4, 5, 7]
    weights = np.bincount(twice, minlength=8)[None].astype(float)
    drawn = attribute_to_objects(CLASSES, HUMAN, said, weights)
    copied = attribute_to_objects(CLASSES[twice], HUMAN[twice], said[twice], ONCE)
    assert human_leaning(CLASSES[twice], HUMAN[twice]).tolist() == [-1, 1]  # as of all images
    assert drawn == pytest.approx(copied)


def test_one_class_only_is_an_error():
    with pytest.raises(RelicError, match="no image of class 1"):
        attribute_to_objects(np.zeros(8), HUMAN, HUMAN, ONCE)
