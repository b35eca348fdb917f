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
from relic.records import grid, privacy
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
DIGITS, MOST = 9, 20_000_000  # of numbers; bytes of results/


def publish(store: Store, directory: Path = paths.RESULTS) -> pd.DataFrame:
    """Add a store's runs on real captions to `results/`; returns all that is published now."""
    frame = own_frame(store).drop(columns="source")
    if frame.empty:
        raise RelicError(f"{store.directory} holds no runs", mend="relic sweep computes some")
    frame = frame[~frame["corpus"].str.contains("synthetic")]
    known = read_recorded(directory)
    known = known[~_asked(known).isin(_asked(frame))]  # what was computed again replaces the old
    runs = frame if known.empty else pd.concat([known, frame], ignore_index=True)
    runs = runs.sort_values(ORDER, ignore_index=True).round(DIGITS)
    compared = runs.loc[runs[list(PLAIN)].isin(PLAIN).all(axis=1), "key"]
    new = stored_outcomes(store, frame[frame["key"].isin(compared)])
    outcomes = pd.concat([read_outcomes(directory), new], ignore_index=True)
    outcomes = outcomes[outcomes["key"].isin(compared)]
    outcomes = outcomes.drop_duplicates(["key", "image_id"], keep="last")
    write_whole(directory / "outcomes.parquet", lambda file: outcomes.to_parquet(file, **PACKED))
    write_whole(directory / "runs.csv", runs.to_csv(index=False))
    made = made_now("published") | {"runs": len(runs)}
    write_whole(directory / "provenance.json", json.dumps(made, indent=1) + "\n")
    return runs


def _asked(runs: pd.DataFrame) -> pd.MultiIndex:
    """What runs are but for captions and code that may have changed since."""
    return pd.MultiIndex.from_frame(runs[UNCHANGED])


def stored_outcomes(store: Store, runs: pd.DataFrame) -> pd.DataFrame:
    """Per-image outcomes of runs in a store; score in percent."""
    parts = [_NO_OUTCOMES]
    for row in runs.to_dict("records"):
        outcome = store.get(_run(row))
        if outcome is None:
            raise RelicError(f"run {row['key']} is damaged", mend="relic sweep computes it again")
        images = outcome.images
        score = (100 * caption_scores(images["p"], images["y"])).astype("float32")
        part = images.assign(key=row["key"], score=score, unseen_raw=~images["seen_raw"])
        parts.append(part.assign(unseen=~part["seen_masked"])[list(OUTCOMES)])
    return pd.concat(parts, ignore_index=True)


def _run(row: dict) -> Run:
    return Run(**{name: row[name] for name in DESCRIPTION})


def read_recorded(directory: Path = paths.RESULTS) -> pd.DataFrame:
    """Recorded runs; an empty frame where nothing is recorded."""
    file = directory / "runs.csv"
    if not file.exists():
        return pd.DataFrame(columns=NEEDED)
    return _read(file, file.stat().st_mtime_ns).copy(deep=False)


@lru_cache(maxsize=2)
def _read(file: Path, _changed: int) -> pd.DataFrame:
    """Read once: a page asks many times."""
    frame = pd.read_csv(file, dtype=dict.fromkeys([*TEXT, "key"], "str"), keep_default_na=True)
    missing = [name for name in NEEDED if name not in frame]
    if missing:
        found = f"{file} lacks the columns {', '.join(missing)}"
        raise RelicError(found, mend="git checkout results/")
    return frame.fillna(dict.fromkeys(TEXT, ""))


def read_outcomes(directory: Path = paths.RESULTS) -> pd.DataFrame:
    """Recorded per-image outcomes by run key."""
    file = directory / "outcomes.parquet"
    return pd.read_parquet(file) if file.exists() else _NO_OUTCOMES


def load_runs(store: Store, directory: Path = paths.RESULTS) -> pd.DataFrame:
    """Recorded runs and a store's alike, told apart by `source`."""
    frames = [read_recorded(directory).assign(source=RECORDED), own_frame(store)]
    return pd.concat([frame for frame in frames if len(frame)] or frames[:1], ignore_index=True)


def own_frame(store: Store, runs: list[Run] | None = None) -> pd.DataFrame:
    """Finished runs of a store with their keys, by the latest code: all, or those asked for."""
    frame = store.frame(runs)
    if len(frame):
        same = [name for name in DESCRIPTION if name != "code"]
        frame = frame.sort_values("code", kind="stable").drop_duplicates(same, keep="last")
    keys = [_run(row).key for row in frame.sort_index().to_dict("records")]
    return frame.sort_index().assign(key=keys, source=OWN)


def score_table(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean score of runs that differ in nothing but seed and human caption."""
    fields = ["source", *UNCHANGED, "n_test"]
    alike = [name for name in fields if name not in ("seed", "caption_index")]
    table = runs.groupby(alike, dropna=False)["score"].agg(["count", "mean", "std"]).reset_index()
    table = table.rename(columns={"count": "runs", "std": "std over runs"}).round(2)
    same = [name for name in alike if table[name].nunique(dropna=False) == 1]
    return table.drop(columns=[name for name in same if name not in ("captioner", "n_test")])


def check(directory: Path = paths.RESULTS) -> list[str]:
    """What is wrong with `results/`; empty when all is well."""
    runs, outcomes = read_recorded(directory), read_outcomes(directory)
    wrong = [row["key"] for row in runs.to_dict("records") if _run(row).key != row["key"]]
    problems = [f"run {key}: its description gives another key" for key in wrong]
    if _asked(runs).duplicated().any():
        problems.append("a run is listed twice")
    if set(outcomes["key"]) - set(runs["key"]):
        problems.append("outcomes of runs that are not listed")
    if list(outcomes.columns) != list(OUTCOMES):
        problems.append(f"outcomes hold other columns than {', '.join(OUTCOMES)}")
    means = outcomes.groupby("key")["score"].mean()
    scores = runs.set_index("key")["score"].reindex(means.index)
    wrong = means.index[(means - scores).abs() > 1e-3]
    problems += [f"run {key}: its outcomes do not give its score" for key in wrong]
    try:
        problems += grid.problems(grid.read(directory), runs)
    except RelicError as error:
        problems.append(str(error))
    problems += privacy.problems(directory)
    size = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
    if size > MOST:
        problems.append(f"{size / 1e6:.1f} MB; at most {MOST / 1e6:.0f} are meant to be committed")
    return problems
