"""`relic calibrate`: studies that go on where they stopped, in `results/calibration/` and `results/learning/`."""

from itertools import product

import pandas as pd
from tqdm import tqdm

from benchmarks import bias, intervals
from relic.chapters import learning
from relic.chapters.calibration import FIFTHS, Setting
from relic.data.captioners import captioners_of
from relic.errors import RelicError
from relic.measure import inputs
from relic.records.tables import home, read_table, write_record

ATTRIBUTES = ("gender", "race")
SIZES = {  # training images of the recorded curves, by images and attribute; 1: all there are
    (learning.EVERY, "gender"): (500, 1000, 1280, 2000, 3000, 4388, 1),
    (learning.EVERY, "race"): (500, 750, 1000, 1280, 1),
    (learning.OLDER, "gender"): (1280, 1),
}


def calibrate(what: str, corpora: int = 0, images: int = 0, classifier: str = "") -> pd.DataFrame:
    """Compute what a study lacks, and return all that is recorded then.

    It is written whole after each corpus, so that a kill loses one. One process a record.
    """
    if min(corpora, images) < 0:
        raise RelicError(f"corpora {corpora}, images {images}", expected="whole numbers from 0")
    synthetic = bias.wanted(corpora, images, classifier)
    captioners = {captioner["name"]: key for key, captioner in captioners_of().items()}
    fifths = product(ATTRIBUTES, captioners.values(), range(corpora or intervals.PARTITIONS))
    sized = [(*which, key) for which, key in product(SIZES, captioners.values())]
    changed = (["attribute", "captioner"], product(ATTRIBUTES, captioners.values()))
    studies = {  # record, keys, values of the keys that are wanted, what measures them
        "intervals": ("calibration", intervals.KEYS, intervals.wanted(corpora), intervals.measure),
        "fifths": ("calibration", FIFTHS, fifths, intervals.measure_fifths),
        "grid": ("calibration", list(Setting._fields), synthetic, bias.measure),
        "curves": ("learning", ["images", "attribute", "captioner"], sized, _curve),
        "length": ("learning", *changed, _length),
        "objects": ("learning", *changed, _objects),
    }
    if what not in studies:
        raise RelicError(f"relic calibrate {what}", expected=", ".join(studies))
    record, keys, wanted, measure = studies[what]
    exists = (home(record) / f"{what}.csv").exists()
    done = read_table(record, what) if exists else pd.DataFrame(columns=keys)
    finished = done[keys].replace({"captioner": captioners})  # some record keys, some names
    finished = set(finished.itertuples(index=False, name=None))
    for values in tqdm([values for values in wanted if values not in finished], unit="corpus"):
        new = measure(*values)
        done = new if done.empty else pd.concat([done, new], ignore_index=True)
        write_record(record, what, done)
        for function in vars(inputs).values():  # what runs share is kept, for corpora now done with
            if hasattr(function, "cache_clear"):
                function.cache_clear()
    return done


def _curve(images: str, attribute: str, captioner: str) -> pd.DataFrame:
    corpus, sizes = intervals.real(attribute, images), SIZES[images, attribute]
    return learning.curve(corpus, [captioner], sizes=sizes).assign(images=images)


def _length(attribute: str, captioner: str) -> pd.DataFrame:
    return learning.length_matched(intervals.real(attribute), [captioner])


def _objects(attribute: str, captioner: str) -> pd.DataFrame:
    return learning.objects_masked(intervals.real(attribute), [captioner])
