"""Learning curves: LIC_M, LIC_D and LIC against the number of training images, and beyond.

`of` is the score that is subtracted, as in `lic_table`: LIC, AUC or bits.
"""

from collections.abc import Iterable
from functools import cache

import numpy as np
import pandas as pd

from relic.chapters.learning.fits import Rows, Texts, halves, measure, scores, texts
from relic.chapters.learning.scores import PARTS
from relic.chapters.thinning import complete_only
from relic.data.corpus import Corpus
from relic.data.load import load_corpus
from relic.judge.lic import lic_table
from relic.judge.stats import estimate
from relic.measure.splits import PAPER_SEEDS
from relic.records.evidence import PAPERS, papers

SIZES = {"gender": (500, 1000, 1280, 2000, 3000, 4388, 0), "race": (500, 750, 1000, 1280, 0)}
SHARES = (0.125, 0.25, 0.5)  # of the largest training set, where nothing is recorded
EVERY, OLDER = "all", "older"  # images; `older`: those of the complete sources, five captions each
SHOWN = ("generated", "human", "difference")
FORMS = {"1/n": 1.0, "1/√n": 0.5, "n^(−1/4)": 0.25, "log n": 0.0}  # what a score is linear in


@cache
def real(attribute: str, images: str = EVERY) -> Corpus:
    """The real captions, on all images or on those of the complete sources."""
    corpus = load_corpus(attribute, "real")
    return complete_only(corpus)[0] if images == OLDER else corpus


def curve(
    corpus: Corpus,
    captioner: str,
    sizes: Iterable[int] | None = None,
    seeds: Iterable[int] = PAPER_SEEDS,
) -> pd.DataFrame:
    """A row a split, training size and side; `captions`: human ones an image in training, 1 or 5."""
    read = texts(corpus, captioner)
    if sizes is None:
        full = len(halves(corpus, captioner, 0)[0])
        sizes = [*(2 * round(full * share / 2) for share in SHARES), 0]
    found = measure(corpus, captioner, read, seeds, sizes).assign(captions=1)
    five = found[found["n_train"] == found["n_train"].max()].assign(captions=5)
    five = five.set_index(["side", "seed"])
    for seed, each in _five(corpus, captioner, read, seeds).items():
        five.loc[("human", seed), list(each)] = list(each.values())
    return pd.concat([found, five.reset_index()], ignore_index=True).assign(images=EVERY)


def _five(corpus: Corpus, captioner: str, read: Texts, seeds: Iterable[int]) -> dict[int, dict]:
    """LIC_D by split when all human captions of a training image train; each test caption is scored."""
    rows, found = Rows(pd.concat(read.human)), {}
    starts = np.arange(len(read.human)) * len(read.human[0])
    place = pd.Index(read.human[0].index)
    for seed in seeds:
        train, test = halves(corpus, captioner, seed)
        learned, tested = (place.get_indexer(each.index) for each in (train, test))
        learned, classes = (
            np.concatenate([learned + s for s in starts]),
            np.tile(train, len(starts)),
        )
        guesses = rows.guesses(learned, classes, *(tested + s for s in starts))
        found[seed] = dict(pd.DataFrame([scores(p, test.to_numpy()) for p in guesses]).mean())
    return found


def by_size(curves: pd.DataFrame, of: str = "score") -> pd.DataFrame:
    """Lic tables of every training size (`n_train`) and number of human captions (`captions`)."""
    by = ["images", "captions", "n_train"]
    parts = [lic_table(part, of=of).assign(**dict(zip(by, values, strict=True)))
             for values, part in curves.groupby(by, sort=True)]  # fmt: skip
    return pd.concat(parts, ignore_index=True).drop(columns="human")


def mean_curve(lic: pd.DataFrame) -> pd.DataFrame:
    """Means over captioners by training size, with intervals over splits."""
    rows = []
    for (attribute, size), part in lic.groupby(["attribute", "n_train"]):
        row = {"attribute": attribute, "training images": size}
        for name, column in zip(SHOWN, PARTS, strict=True):
            found = estimate(part.groupby("seed")[column].mean()).interval()
            row |= {name: found.mean, f"{name} low": found.low, f"{name} high": found.high}
        rows.append(row)
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
    for form, power in FORMS.items():
        if np.isinf(wanted) and not power:
            continue
        x = _bent(np.array([*used, wanted]), power)
        slope, start = np.polyfit(x[:-1], wide[used].to_numpy().T, 1)
        there = pd.Series(start + slope * x[-1], index=wide.index)
        for captioner, part in there.groupby(level=0, sort=False):
            found = estimate(part).interval()
            row = {"captioner": captioner, "form": form, "times": times, "lic": found.mean}
            row |= {"low": found.low, "high": found.high}
            if wanted in wide:
                real = wide.loc[captioner, wanted].mean()
                row |= {"measured": real, "error": found.mean - real}
            rows.append(row)
    return pd.DataFrame(rows)


def _bent(sizes: np.ndarray, power: float) -> np.ndarray:
    return np.log(sizes) if not power else sizes**-power


def published_levels() -> pd.DataFrame:
    """The papers' tables: mean LIC_D and mean LIC over captioners, by paper, attribute and classifier."""
    by = ["attribute", "source", "classifier"]
    found = (
        papers().replace({"source": PAPERS}).groupby(by)[["lic_data", "lic"]].agg(["mean", "size"])
    )
    table = pd.DataFrame({"captioners": found["lic", "size"], "LIC_D": found["lic_data", "mean"], "LIC": found["lic", "mean"]})  # fmt: skip
    return table.reset_index().sort_values(["attribute", "source", "LIC_D"], ignore_index=True)
