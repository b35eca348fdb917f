"""Recorded runs: condensed from a store into `results/`, and read back.

`runs.csv`: description and scores of every run. `outcomes.parquet`: score and seen flags of each test
image for the runs that are compared (`PLAIN`). No class, no caption text. `provenance.json`: who computed it.
"""

import json
from functools import lru_cache
from pathlib import Path

import pandas as pd

from relic import paths
from relic.errors import RelicError
from relic.measure.runs import Run, Store
from relic.measure.score import caption_scores
from relic.records.tables import RECORDED, made_now
from relic.whole import write_whole

OWN = "own"  # the `source` of runs in this machine's store
DESCRIPTION = list(Run.__dataclass_fields__)
TEXT = [name for name in DESCRIPTION if Run.__dataclass_fields__[name].type not in (int, bool)]
UNCHANGED = [name for name in DESCRIPTION if name not in ("fingerprint", "code")]  # what was asked
NEEDED = [*DESCRIPTION, "score", "n_test", "key"]
ORDER = "attribute classifier recipe split side captioner caption_set vocabulary".split()
ORDER += ["labels", "size", "caption_index", "seed", "key"]
OUTCOMES = {"key": "str", "image_id": "int64", "score": "float32"}
OUTCOMES |= {"unseen_raw": "bool", "unseen": "bool"}
_NO_OUTCOMES = pd.DataFrame(columns=list(OUTCOMES)).astype(OUTCOMES)
PLAIN = {"labels": ["true"], "size": [0], "caption_set": ["standard"], "split": ["paired"]}
PLAIN |= {"vocabulary": ["", "captioner"]}  # what is compared unless something else is asked for
PACKED = {"index": False, "compression": "zstd", "use_dictionary": ["key", "image_id"]}
PACKED |= {"compression_level": 19, "use_byte_stream_split": ["score"]}
DIGITS = 9  # of numbers


def publish(store: Store, directory: Path = paths.RESULTS) -> pd.DataFrame:
    """Add a store's runs on real captions to `results/`; returns all that is published now."""
    frame = own_frame(store)
    if frame.empty:
        raise RelicError(f"{store.directory} holds no runs", mend="relic sweep computes some")
    frame = frame[~frame["corpus"].str.contains("synthetic")]
    record, again = read_recorded(directory), set(asked(frame))  # which replaces the old
    record = record.loc[[run not in again for run in asked(record)]]
    runs = frame if record.empty else pd.concat([record, frame], ignore_index=True)
    runs = runs.drop(columns="source").sort_values(ORDER, ignore_index=True).round(DIGITS)
    compared = runs.loc[runs[list(PLAIN)].isin(PLAIN).all(axis=1), "key"]
    new = stored_outcomes(store, frame[frame["key"].isin(compared)])
    outcomes = pd.concat([read_outcomes(directory), new], ignore_index=True)
    outcomes = outcomes[outcomes["key"].isin(compared)]
    outcomes = outcomes.drop_duplicates(["key", "image_id"], keep="last")
    write_whole(directory / "outcomes.parquet", lambda file: outcomes.to_parquet(file, **PACKED))
    write_whole(directory / "runs.csv", runs.to_csv(index=False))
    stamp = made_now("published") | {"runs": len(runs)}
    write_whole(directory / "provenance.json", json.dumps(stamp, indent=1) + "\n")
    return runs


def asked(runs: pd.DataFrame) -> list[tuple]:
    """What runs are but for captions and code that may have changed since."""
    return list(runs[UNCHANGED].itertuples(index=False, name=None))


def stored_outcomes(store: Store, runs: pd.DataFrame) -> pd.DataFrame:
    """Per-image outcomes of runs in a store; score in percent."""
    parts = [_NO_OUTCOMES]
    for row in runs.to_dict("records"):
        outcome = store.get(run_of(row))
        if outcome is None:
            raise RelicError(f"run {row['key']} is damaged", mend="relic sweep computes it again")
        images = outcome.images
        score = (100 * caption_scores(images["p"], images["y"])).astype("float32")
        part = images.assign(key=row["key"], score=score, unseen_raw=~images["seen_raw"])
        parts.append(part.assign(unseen=~part["seen_masked"])[list(OUTCOMES)])
    return pd.concat(parts, ignore_index=True)


def outcomes_of(frame: pd.DataFrame, store: Store) -> pd.DataFrame:
    """Per-image outcomes of recorded runs and of this machine's own."""
    here = frame["source"] == OWN
    own, keys = stored_outcomes(store, frame[here]), set(frame["key"][~here])
    if not keys:  # an audit's: there need be no record
        return own
    record = read_outcomes()
    if without := len(keys - set(record["key"].unique())):
        found = f"{without} of these runs are recorded without outcomes by image"
        raise RelicError(found, expected=f"runs as compared by default: {PLAIN}")
    return pd.concat([record[record["key"].isin(keys)], own], ignore_index=True)


def run_of(row: dict) -> Run:
    """The run that a row describes."""
    return Run(**{name: row[name] for name in DESCRIPTION})


def read_recorded(directory: Path = paths.RESULTS) -> pd.DataFrame:
    """Recorded runs with `source`; an empty frame where nothing is recorded."""
    file = directory / "runs.csv"
    if not file.exists():
        return pd.DataFrame(columns=[*NEEDED, "source"])
    return _read(file, file.stat().st_mtime_ns).copy(deep=False)


@lru_cache(maxsize=2)
def _read(file: Path, _changed: int) -> pd.DataFrame:
    """Read once: a page asks many times."""
    frame = pd.read_csv(file, dtype=dict.fromkeys([*TEXT, "key"], "str"), keep_default_na=True)
    missing = [name for name in NEEDED if name not in frame]
    if missing:
        found = f"{file} lacks the columns {', '.join(missing)}"
        raise RelicError(found, mend="git checkout results/")
    return frame.fillna(dict.fromkeys(TEXT, "")).assign(source=RECORDED)


def read_outcomes(directory: Path = paths.RESULTS) -> pd.DataFrame:
    """Recorded per-image outcomes by run key."""
    file = directory / "outcomes.parquet"
    return pd.read_parquet(file) if file.exists() else _NO_OUTCOMES


def own_frame(store: Store, runs: list[Run] | None = None) -> pd.DataFrame:
    """Finished runs of a store, by the latest code: all, or those asked for."""
    frame = store.frame(runs)
    if len(frame):
        same = [name for name in DESCRIPTION if name != "code"]
        frame = frame.sort_values("code", kind="stable").drop_duplicates(same, keep="last")
    return frame.sort_index().assign(source=OWN)
