"""Bootstrap over images: how often each image is drawn, and the interval of what comes out.

One table of draws serves every captioner, so that two captioners are compared on the same draws.
"""

import numpy as np

from relic.errors import RelicError


def image_draws(images: int, draws: int = 1000, seed: int = 0) -> np.ndarray:
    """How often each image is drawn: a row each resample, a column each image.

    >>> image_draws(3, draws=2).sum(axis=1).tolist()
    [3.0, 3.0]
    """
    if images < 1 or draws < 1:
        raise RelicError(f"{images} images, {draws} draws", expected="at least one of each")
    rng = np.random.default_rng([seed, 5])
    counts = np.zeros((draws, images), dtype=np.float32)
    for row in counts:  # row by row: a table of whole numbers for all draws would be large
        row += np.bincount(rng.integers(0, images, images), minlength=images)
    return counts


def interval(values: np.ndarray) -> tuple[float, float]:
    """The middle 95 % of resampled values; draws without a value do not count.

    >>> interval(np.arange(101.0))
    (2.5, 97.5)
    """
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    low, high = np.percentile(known, [2.5, 97.5]) if len(known) else (np.nan, np.nan)
    return float(low), float(high)
