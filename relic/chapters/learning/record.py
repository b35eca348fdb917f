"""`results/learning/`: curves, lengths and objects on the real captions, a captioner at a time."""

from collections.abc import Iterable
from itertools import product

import pandas as pd

from relic.chapters.calibration.record import extend
from relic.chapters.learning import curves, sensitivity
from relic.chapters.learning.curves import EVERY, OLDER, SIZES, real
from relic.chapters.learning.fits import LINEAR
from relic.data.captioners import captioner_files, display_names
from relic.data.corpus import Corpus
from relic.data.load import GET
from relic.errors import RelicError
from relic.measure.splits import PAPER_SEEDS
from relic.records.serve import AnyCorpus
from relic.records.tables import read_table

NAME = "learning"
ATTRIBUTES = ("gender", "race")
MEASURES = {
    "curves": curves.curve,
    "length": sensitivity.length_matched,
    "objects": sensitivity.objects_masked,
}


def read(part: str) -> pd.DataFrame:
    """A recorded part: `curves`, `length` or `objects`."""
    found = read_table(NAME, part)
    return (
        found.assign(**LINEAR) if "encoder" in found else found
    )  # what is empty is read as missing


def serve(part: str, corpus: AnyCorpus, seeds: Iterable[int] = PAPER_SEEDS) -> pd.DataFrame:
    """A part for a corpus and these splits: recorded or, where the captions are, measured now."""
    seeds = list(seeds)
    if not corpus.synthetic:
        known = read(part)
        known = known[(known["attribute"] == corpus.attribute.name) & known["seed"].isin(seeds)]
        if known["seed"].nunique() == len(seeds):
            return known.reset_index(drop=True)
    if not isinstance(corpus, Corpus):
        raise RelicError(
            f"{part} of {corpus.attribute.name} on splits {seeds} is not recorded",
            expected=f"{' or '.join(ATTRIBUTES)}, splits {', '.join(map(str, PAPER_SEEDS))}",
            mend=GET,
        )
    if part != "curves":
        return MEASURES[part](corpus, seeds=seeds)
    found = [curves.curve(corpus, name, seeds=seeds) for name in corpus.captioners]
    return pd.concat(found, ignore_index=True)


def learn(part: str) -> pd.DataFrame:
    """`relic calibrate curves|length|objects`: measure what the record lacks."""
    if part not in MEASURES:
        raise RelicError(
            f"relic calibrate {part}", expected=f"intervals, fifths, grid, {', '.join(MEASURES)}"
        )
    pairs, names = list(product(ATTRIBUTES, captioner_files())), display_names()
    if part == "curves":
        wanted = [(EVERY, *each) for each in pairs]
        wanted += [(OLDER, *each) for each in pairs if each[0] == "gender"]
        return extend(part, ["images", "attribute", "captioner"], wanted, _curve, NAME)
    keys = {names[key]: key for _, key in pairs}

    def measure(attribute: str, name: str) -> pd.DataFrame:
        return MEASURES[part](real(attribute), [keys[name]])

    shown = [(attribute, names[key]) for attribute, key in pairs]
    return extend(part, ["attribute", "captioner"], shown, measure, NAME)


def _curve(images: str, attribute: str, captioner: str) -> pd.DataFrame:
    sizes = (1280, 0) if images == OLDER else SIZES[attribute]
    return curves.curve(real(attribute, images), captioner, sizes).assign(images=images)
