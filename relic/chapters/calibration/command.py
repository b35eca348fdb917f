"""`relic calibrate`: which study, and how much of it."""

import pandas as pd

from relic.chapters.calibration import grid, intervals, record
from relic.chapters.learning.record import learn
from relic.errors import RelicError


def calibrate(what: str, corpora: int = 0, images: int = 0, classifier: str = "") -> pd.DataFrame:
    """`relic calibrate`: compute what is missing; all that is recorded then."""
    if min(corpora, images) < 0:
        raise RelicError(f"corpora {corpora}, images {images}", expected="whole numbers from 0")
    studies = {"intervals": intervals.study, "fifths": intervals.fifths}
    if what in studies:
        return studies[what](corpora)
    if what != "grid":
        return learn(what)
    if classifier and classifier not in grid.CLASSIFIERS:
        raise RelicError(f"classifier {classifier!r}", expected=", ".join(grid.CLASSIFIERS))
    if not classifier:
        grid.grid(grid.settings(), corpora or grid.CORPORA)
    for name in [classifier] if classifier else grid.CLASSIFIERS:
        wanted = grid.classifier_settings(name, images or grid.CLASSIFIER_IMAGES)
        grid.grid(wanted, corpora or grid.CLASSIFIERS[name])
    return record.read(what)
