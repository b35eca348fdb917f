"""Studies that go on where they stopped, in `results/calibration/` or another record."""

from collections.abc import Callable, Iterable

import pandas as pd
from tqdm import tqdm

from relic.measure import inputs
from relic.records.tables import home, read_table, write_record

NAME = "calibration"


def read(part: str) -> pd.DataFrame:
    """A recorded study: `intervals`, `fifths` or `grid`."""
    return read_table(NAME, part)


def extend(
    part: str,
    keys: list[str],
    wanted: Iterable[tuple],
    measure: Callable[..., pd.DataFrame],
    name: str = NAME,
) -> pd.DataFrame:
    """Measure what the record lacks, and write it whole after each, so that a kill loses one.

    `wanted`: values of `keys`, which `measure` takes. One process a record.
    """
    done = (
        read_table(name, part)
        if (home(name) / f"{part}.csv").exists()
        else pd.DataFrame(columns=keys)
    )
    known = set(done[keys].itertuples(index=False, name=None))
    missing = [each for each in wanted if each not in known]
    for each in tqdm(missing, unit="corpus"):
        new = measure(*each)
        done = new if done.empty else pd.concat([done, new], ignore_index=True)
        write_record(name, part, done)
        _forget()
    return done


def _forget() -> None:
    """Let go of corpora that will not come again: what runs share is kept for each of them."""
    for each in vars(inputs).values():
        if hasattr(each, "cache_clear"):
            each.cache_clear()
