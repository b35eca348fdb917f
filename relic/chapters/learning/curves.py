"""Learning curves: LIC_M, LIC_D and LIC against the number of training images, and beyond.

`of` is the score that is subtracted, as in `lic_table`: LIC, AUC or bits.
"""

from collections.abc import Iterable
from functools import cache

import numpy as np
import pandas as pd

from relic.chapters.layout import in_cells
from relic.chapters.learning.fits import LINEAR, Rows, halves, measure, texts
from relic.chapters.thinning import complete_only
from relic.data.corpus import Corpus
from relic.data.load import load_corpus
from relic.judge.lic import lic_table, mean_over_captioners, shared_by
from relic.judge.stats import estimate
from relic.measure.splits import PAPER_SEEDS

EVERY, OLDER = "all", "older"  # images; `older`: those of the complete sources, five captions each
SIZES = {  # training images of the recorded curves, by images and attribute; 0: all there are
    (EVERY, "gender"): (500, 1000, 1280, 2000, 3000, 4388, 0),
    (EVERY, "race"): (500, 750, 1000, 1280, 0),
    (OLDER, "gender"): (1280, 0),
}
SHARES = (0.125, 0.25, 0.5)  # of the largest training set, where no sizes are given
SHOWN = {"generated": "lic_model", "human": "lic_data", "difference": "lic"}
FORMS = {"1/n": 1.0, "1/√n": 0.5, "n^(−1/4)": 0.25, "log n": 0.0}  # what a score is linear in


@cache
def real(attribute: str, images: str = EVERY) -> Corpus:
    """The real captions, on all images or on those of the complete sources."""
    corpus = load_corpus(attribute, "real")
    return complete_only(corpus)[0] if images == OLDER else corpus


def curve(
    corpus: Corpus,
    captioners: Iterable[str] | None = None,
    seeds: Iterable[int] = PAPER_SEEDS,
    sizes: Iterable[int] = (),
) -> pd.DataFrame:
    """A row a captioner, split, training size and side; `captions`: human ones an image in training, 1 or 5."""
    parts = []
    for captioner in captioners or corpus.captioners:
        read, full = texts(corpus, captioner), len(halves(corpus, captioner, 0)[0])
        wanted = sizes or [*(2 * round(full * share / 2) for share in SHARES), 0]
        one = measure(corpus, captioner, read, seeds, wanted).assign(captions=1)
        five = one[one["n_train"] == one["n_train"].max()].assign(captions=5)
        five = five.set_index(["side", "seed"])
        numbers = range(len(read.human))
        every = Rows(pd.concat(read.human, keys=numbers))
        for seed in seeds:  # all captions of an image train, each of a test image's is scored
            train, test = halves(corpus, captioner, seed)
            tests = [pd.concat({number: test}) for number in numbers]
            scores = every.scores(pd.concat(dict.fromkeys(numbers, train)), *tests)
            five.loc[("human", seed), scores.index] = scores
        parts += [one, five.reset_index()]
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


def beyond(lic: pd.DataFrame, times: float, upto: float = 1.0) -> pd.DataFrame:
    """LIC extrapolated, split by split, to `times` the largest set: a row a captioner and form.

    A form says what LIC is linear in; a straight line is fitted over the sizes up to `upto` of the
    largest. `measured` and `error` (of the forecast) where the wanted size is there. `log n` has no
    limit, so infinitely many images leave it out.
    """
    rows, largest = [], lic["n_train"].max()
    wanted = largest * times
    wide = lic.pivot_table(index=["captioner", "seed"], columns="n_train", values="lic", sort=False)
    used = [size for size in wide if size <= largest * upto]
    sizes = np.array([*used, wanted])
    for form, power in FORMS.items():
        if np.isinf(wanted) and not power:
            continue
        x = sizes**-power if power else np.log(sizes)
        slope, start = np.polyfit(x[:-1], wide[used].to_numpy().T, 1)
        forecast = pd.Series(start + slope * x[-1], index=wide.index)
        for captioner, part in forecast.groupby(level=0, sort=False):
            mean, low, high = estimate(part, shared_by(lic)).interval()
            row = {"captioner": captioner, "form": form, "lic": mean, "low": low, "high": high}
            if wanted in wide:
                measured = wide.loc[captioner, wanted].mean()
                row |= {"measured": measured, "error": mean - measured}
            rows.append(row)
    return pd.DataFrame(rows)
