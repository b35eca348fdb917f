"""`relic calibrate`: studies that go on where they stopped, in `results/calibration/` and `results/learning/`."""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import product

import pandas as pd
from tqdm import tqdm

from relic.chapters.calibration import grid, intervals
from relic.chapters.learning import curves, sensitivity
from relic.data.captioners import captioner_files
from relic.data.corpus import Corpus
from relic.data.load import GET
from relic.errors import RelicError
from relic.measure import inputs
from relic.measure.splits import PAPER_SEEDS
from relic.records.serve import AnyCorpus
from relic.records.tables import home, read_table, write_record

CALIBRATION, LEARNING = "calibration", "learning"
ATTRIBUTES = ("gender", "race")
MEASURES = {
    "curves": curves.curve,
    "length": sensitivity.length_matched,
    "objects": sensitivity.objects_masked,
}


def calibrate(what: str, corpora: int = 0, images: int = 0, classifier: str = "") -> pd.DataFrame:
    """Compute what a study lacks, and return all that is recorded then."""
    if min(corpora, images) < 0:
        raise RelicError(f"corpora {corpora}, images {images}", expected="whole numbers from 0")
    synthetic = grid.wanted(corpora, images, classifier)
    fifths = product(ATTRIBUTES, captioner_files(), range(corpora or intervals.PARTITIONS))
    sized = ((*which, key) for which, key in product(curves.SIZES, captioner_files()))
    named = product(ATTRIBUTES, (about["name"] for about in captioner_files().values()))
    studies = {  # record, keys, wanted, measure
        "intervals": (CALIBRATION, intervals.KEYS, intervals.wanted(corpora), intervals.measure),
        "fifths": (CALIBRATION, intervals.FIFTHS, fifths, intervals.measure_fifths),
        "grid": (CALIBRATION, grid.Setting._fields, synthetic, grid.measure),
        "curves": (LEARNING, ("images", "attribute", "captioner"), sized, _curve),
        "length": (LEARNING, ("attribute", "captioner"), named, partial(_changed, "length")),
        "objects": (LEARNING, ("attribute", "captioner"), named, partial(_changed, "objects")),
    }
    if what not in studies:
        raise RelicError(f"relic calibrate {what}", expected=", ".join(studies))
    record, keys, wanted, measure = studies[what]
    return extend(record, what, list(keys), wanted, measure)


def _curve(images: str, attribute: str, captioner: str) -> pd.DataFrame:
    corpus, sizes = curves.real(attribute, images), curves.SIZES[images, attribute]
    return curves.curve(corpus, [captioner], sizes=sizes).assign(images=images)


def _changed(part: str, attribute: str, name: str) -> pd.DataFrame:
    keys = {about["name"]: key for key, about in captioner_files().items()}
    return MEASURES[part](curves.real(attribute), [keys[name]])


def extend(
    record: str, part: str, keys: list[str], wanted: Iterable[tuple], measure: Callable
) -> pd.DataFrame:
    """Measure what the record lacks, and write it whole after each, so that a kill loses one.

    `wanted`: values of `keys`, which `measure` takes. One process a record.
    """
    exists = (home(record) / f"{part}.csv").exists()
    done = read_table(record, part) if exists else pd.DataFrame(columns=keys)
    known = set(done[keys].itertuples(index=False, name=None))
    for each in tqdm([each for each in wanted if each not in known], unit="corpus"):
        new = measure(*each)
        done = new if done.empty else pd.concat([done, new], ignore_index=True)
        write_record(record, part, done)
        for function in vars(inputs).values():  # what runs share is kept, for corpora now done with
            if hasattr(function, "cache_clear"):
                function.cache_clear()
    return done


def serve(part: str, corpus: AnyCorpus, seeds: Iterable[int] = PAPER_SEEDS) -> pd.DataFrame:
    """Curves, length or objects of a corpus: recorded or, where the captions are, measured now."""
    seeds = list(seeds)
    if not corpus.synthetic:
        known = read_table("learning", part)
        known = known[(known["attribute"] == corpus.attribute.name) & known["seed"].isin(seeds)]
        if known["seed"].nunique() == len(seeds):
            return known.reset_index(drop=True)
    if isinstance(corpus, Corpus):
        return MEASURES[part](corpus, seeds=seeds)
    raise RelicError(
        f"{part} of {corpus.attribute.name} on splits {seeds} is not recorded",
        expected=f"{' or '.join(ATTRIBUTES)}, splits {', '.join(map(str, PAPER_SEEDS))}",
        mend=GET,
    )
