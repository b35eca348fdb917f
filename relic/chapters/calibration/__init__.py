"""Is LIC right? Null checks, and studies on corpora whose true LIC is known."""

import pandas as pd

from relic.chapters.calibration import grid, record, study
from relic.chapters.learning.record import learn
from relic.errors import RelicError


def calibrate(what: str, corpora: int = 0, images: int = 0, classifier: str = "") -> pd.DataFrame:
    """`relic calibrate`: compute what is missing; all that is recorded then."""
    if min(corpora, images) < 0:
        raise RelicError(f"corpora {corpora}, images {images}", expected="whole numbers from 0")
    if what == "study":
        return study.study(corpora or study.CORPORA, images or study.IMAGES)
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
