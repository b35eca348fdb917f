"""`relic calibrate`: studies that go on where they stopped, in `results/calibration/` and `results/learning/`."""

from collections.abc import Iterable
from functools import partial
from itertools import product

import pandas as pd
from tqdm import tqdm

from relic.chapters import learning
from relic.chapters.calibration import grid, intervals
from relic.data.captioners import captioners_of
from relic.data.corpus import Corpus
from relic.data.load import GET
from relic.errors import RelicError
from relic.measure import inputs
from relic.measure.splits import PAPER_SEEDS
from relic.records.serve import AnyCorpus
from relic.records.tables import home, read_table, write_record

ATTRIBUTES = ("gender", "race")
MEASURES = {
    "curves": learning.curve,
    "length": learning.length_matched,
    "objects": learning.objects_masked,
}


def calibrate(what: str, corpora: int = 0, images: int = 0, classifier: str = "") -> pd.DataFrame:
    """Compute what a study lacks, and return all that is recorded then.

    It is written whole after each corpus, so that a kill loses one. One process a record.
    """
    if min(corpora, images) < 0:
        raise RelicError(f"corpora {corpora}, images {images}", expected="whole numbers from 0")
    captioners, synthetic = captioners_of(), grid.wanted(corpora, images, classifier)
    fifths = product(ATTRIBUTES, captioners, range(corpora or intervals.PARTITIONS))
    sized = [(*which, key) for which, key in product(learning.SIZES, captioners)]
    names = [about["name"] for about in captioners.values()]
    changed = (["attribute", "captioner"], product(ATTRIBUTES, names), partial(_changed, what))
    studies = {  # record, keys, values of the keys that are wanted, what measures them
        "intervals": ("calibration", intervals.KEYS, intervals.wanted(corpora), intervals.measure),
        "fifths": ("calibration", intervals.FIFTHS, fifths, intervals.measure_fifths),
        "grid": ("calibration", list(grid.Setting._fields), synthetic, grid.measure),
        "curves": ("learning", ["images", "attribute", "captioner"], sized, _curve),
        "length": ("learning", *changed),
        "objects": ("learning", *changed),
    }
    if what not in studies:
        raise RelicError(f"relic calibrate {what}", expected=", ".join(studies))
    record, keys, wanted, measure = studies[what]
    exists = (home(record) / f"{what}.csv").exists()
    done = read_table(record, what) if exists else pd.DataFrame(columns=keys)
    known = set(done[keys].itertuples(index=False, name=None))
    for each in tqdm([each for each in wanted if each not in known], unit="corpus"):
        new = measure(*each)
        done = new if done.empty else pd.concat([done, new], ignore_index=True)
        write_record(record, what, done)
        for function in vars(inputs).values():  # what runs share is kept, for corpora now done with
            if hasattr(function, "cache_clear"):
                function.cache_clear()
    return done


def _curve(images: str, attribute: str, captioner: str) -> pd.DataFrame:
    corpus, sizes = learning.real(attribute, images), learning.SIZES[images, attribute]
    return learning.curve(corpus, [captioner], sizes=sizes).assign(images=images)


def _changed(part: str, attribute: str, name: str) -> pd.DataFrame:
    keys = {about["name"]: key for key, about in captioners_of().items()}
    return MEASURES[part](learning.real(attribute), [keys[name]])


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
