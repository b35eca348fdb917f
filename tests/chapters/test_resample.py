"""Bootstrap draws and intervals."""

import numpy as np
import pytest

from relic.chapters.resample import image_draws, interval
from relic.errors import RelicError


def test_every_draw_has_as_many_images_as_there_are():
    table = image_draws(7, draws=50)
    assert table.shape == (50, 7)
    assert (table.sum(axis=1) == 7).all()
    assert table.max() > 1  # with replacement


def test_the_same_seed_gives_the_same_draws():
    assert (image_draws(9, 5, seed=3) == image_draws(9, 5, seed=3)).all()
    assert (image_draws(9, 5, seed=3) != image_draws(9, 5, seed=4)).any()


def test_the_interval_of_a_mean_is_about_two_standard_errors_each_side():
    scores = np.random.default_rng(0).normal(10, 2, size=400)
    low, high = interval(image_draws(400, 2000) @ scores / 400)
    assert high - low == pytest.approx(2 * 1.96 * scores.std() / 20, rel=0.1)
    assert low < scores.mean() < high


def test_draws_without_a_value_do_not_count():
    assert interval(np.array([np.nan, 1.0, 1.0])) == (1.0, 1.0)
    assert np.isnan(interval(np.array([np.nan]))).all()


@pytest.mark.parametrize(("images", "draws"), [(0, 5), (5, 0)])
def test_nothing_to_draw_is_an_error(images, draws):
    with pytest.raises(RelicError, match="at least one"):
        image_draws(images, draws)
