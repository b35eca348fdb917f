"""Learning curves: LIC_M, LIC_D and LIC against the number of training images, and beyond.

`of` is the score that is subtracted, as in `lic_table`: LIC, AUC or bits.
"""

from collections.abc import Iterable
from functools import cache

import numpy as np
import pandas as pd

from relic.chapters.datacard import complete_only
from relic.chapters.layout import in_cells
from relic.chapters.learning.sensitivity import LINEAR, measure, texts
from relic.data.corpus import Corpus
from relic.data.load import load_corpus
from relic.judge.lic import lic_table, mean_over_captioners
from relic.measure.splits import PAPER_SEEDS

EVERY, OLDER = "all", "older"  # images; `older`: those of the complete sources, five captions each
SIZES = {  # training images of the recorded curves, by images and attribute; 1: all there are
    (EVERY, "gender"): (500, 1000, 1280, 2000, 3000, 4388, 1),
    (EVERY, "race"): (500, 750, 1000, 1280, 1),
    (OLDER, "gender"): (1280, 1),
}
SHARES = (0.125, 0.25, 0.5, 1)  # of the largest training set, where no sizes are given
SHOWN = {"generated": "lic_model", "human": "lic_data", "difference": "lic"}
FORMS = {  # what LIC is linear in
    "1/n": lambda n: 1 / n,
    "1/√n": lambda n: n**-0.5,
    "n^(−1/4)": lambda n: n**-0.25,
    "log n": np.log,
}


@cache
def real(attribute: str, images: str = EVERY) -> Corpus:
    """The real captions, on all images or on those of the complete sources."""
    corpus = load_corpus(attribute, "real")
    return complete_only(corpus)[0] if images == OLDER else corpus


def curve(
    corpus: Corpus,
    captioners: Iterable[str] | None = None,
    seeds: Iterable[int] = PAPER_SEEDS,
    sizes: Iterable[float] = SHARES,
) -> pd.DataFrame:
    """A row a captioner, split, training size and side; `captions`: human ones an image in training, 1 or 5."""
    parts = []
    for captioner in captioners or corpus.captioners:
        read = texts(corpus, captioner)
        parts.append(measure(corpus, captioner, read, seeds, sizes=sizes).assign(captions=1))
        parts.append(measure(corpus, captioner, read, seeds, together=True).assign(captions=5))
    return pd.concat(parts, ignore_index=True).assign(images=EVERY)


def by_size(curves: pd.DataFrame, of: str = "score") -> pd.DataFrame:
    """Lic tables of every training size (`n_train`) and number of human captions (`captions`)."""
    by = ["images", "captions", "n_train"]
    groups = curves.assign(**LINEAR).groupby(by, sort=True)  # a CSV has nothing for ""
    tables = {values: lic_table(part, of=of) for values, part in groups}
    return pd.concat(tables, names=by).reset_index(by).reset_index(drop=True).drop(columns="human")


def mean_curve(lic: pd.DataFrame) -> pd.DataFrame:
    """Means over captioners by training size, with intervals over splits."""
    rows = []
    for (attribute, size), part in lic.groupby(["attribute", "n_train"]):
        means = {name: mean_over_captioners(part, column) for name, column in SHOWN.items()}
        rows.append({"attribute": attribute, "training images": size} | in_cells(means))
    return pd.DataFrame(rows)


def beyond(lic: pd.DataFrame, images: float, upto: float = np.inf) -> dict[str, pd.DataFrame]:
    """Lic tables by form, extrapolated split by split to so many training images.

    A form says what LIC is linear in; a straight line is fitted over the sizes up to `upto`. Forms
    without a limit are left out where `images` is infinite.
    """
    keys, tables = ["captioner", "seed"], {}
    wide = lic.pivot_table(index=keys, columns="n_train", values="lic").loc[:, :upto]
    largest = lic[lic["n_train"] == lic["n_train"].max()].set_index(keys)
    for form, shape in FORMS.items():
        if np.isfinite(shape(images)):
            slope, start = np.polyfit(shape(wide.columns.to_numpy(float)), wide.to_numpy().T, 1)
            forecast = pd.Series(start + slope * shape(images), wide.index)
            tables[form] = largest.assign(lic=forecast).reset_index()
    return tables
