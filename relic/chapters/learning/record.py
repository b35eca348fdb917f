"""`results/learning/`: curves, lengths and objects on the real captions, a captioner at a time."""

from itertools import product

import pandas as pd

from relic.chapters.calibration.record import extend
from relic.chapters.learning import curves, sensitivity
from relic.data.captioners import captioner_files, display_names
from relic.errors import RelicError
from relic.records.tables import read_table

NAME = "learning"
ATTRIBUTES = ("gender", "race")


def read(part: str) -> pd.DataFrame:
    """A recorded part: `curves`, `length` or `objects`."""
    return read_table(NAME, part).fillna({"encoder": "", "batching": ""})


def learn(part: str) -> pd.DataFrame:
    """`relic calibrate curves|length|objects`: measure what the record lacks."""
    pairs = list(product(ATTRIBUTES, captioner_files()))
    if part == "curves":
        wanted = [(curves.EVERY, *each) for each in pairs]
        wanted += [(curves.OLDER, *each) for each in pairs if each[0] == "gender"]
        return extend(part, ["images", "attribute", "captioner"], wanted, curves.curve, NAME)
    measures = {"length": sensitivity.length_matched, "objects": sensitivity.objects_masked}
    if part not in measures:
        raise RelicError(
            f"relic calibrate {part}",
            expected=f"intervals, grid, wordy, curves, {', '.join(measures)}",
        )
    names = display_names()
    keys = {names[key]: key for _, key in pairs}

    def measure(attribute: str, name: str) -> pd.DataFrame:
        return measures[part](curves.real(attribute), [keys[name]])

    shown = [(attribute, names[key]) for attribute, key in pairs]
    return extend(part, ["attribute", "captioner"], shown, measure, NAME)
