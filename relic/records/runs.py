"""Recorded runs: condensed from a store into `results/`, and read back.

`runs.csv`: description and scores of every run. `outcomes.parquet`: score and seen flags of each test
image for the runs that intervals need. No class, no caption text. `provenance.json`: who computed it.
"""

import json
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import pandas as pd

from relic import paths, provenance
from relic.errors import RelicError
from relic.measure.runs import Run
from relic.measure.score import caption_scores
from relic.measure.store import Store
from relic.records import grid, privacy
from relic.whole import write_whole

RECORDED, OWN = "recorded", "own"  # in results/; in this machine's store
DESCRIPTION = list(Run.__dataclass_fields__)
COLUMNS = (  # of `relic results show --csv`
    "source corpus attribute captioner side caption_set labels size caption_index vocabulary split seed "
    "classifier recipe batching encoder score accuracy auc unseen_score n_train n_test n_unseen seconds"
).split()
TEXT = [name for name in DESCRIPTION if Run.__dataclass_fields__[name].type not in (int, bool)]
UNCHANGED = [name for name in DESCRIPTION if name not in ("fingerprint", "code")]  # what was asked
DIGITS = 9


def publish(store: Store, directory: Path = paths.RESULTS) -> pd.DataFrame:
    """Add a store's runs on real captions to `results/`; returns all that is published now."""
    frame = _current(store.frame())
    if frame.empty:
        raise RelicError(f"{store.directory} holds no runs", mend="relic sweep computes some")
    frame = frame[~frame["corpus"].str.contains("synthetic")]
    frame = frame.assign(key=[_run(row).key for row in frame.to_dict("records")])
    known = read_recorded(directory)
    known = known[~_told(known).isin(_told(frame))]  # what was computed again replaces the old
    runs = frame if known.empty else pd.concat([known, frame], ignore_index=True)
    order = "attribute classifier recipe split side captioner caption_set vocabulary"
    order = [*order.split(), "labels", "size", "caption_index", "seed", "key"]
    runs = runs.sort_values(order, ignore_index=True).round(DIGITS)
    wanted = frame.query("labels == 'true' and size == 0 and vocabulary in ['', 'captioner']")
    wanted = wanted[wanted["caption_set"].isin(["standard", "th10"])]
    parts = [read_outcomes(directory), stored_outcomes(store, wanted)]
    outcomes = pd.concat(parts, ignore_index=True)
    outcomes = outcomes.drop_duplicates(["key", "image_id"], keep="last")
    outcomes = outcomes[outcomes["key"].isin(runs["key"])]
    directory.mkdir(parents=True, exist_ok=True)
    kept = {"index": False, "compression": "zstd", "compression_level": 19}
    kept |= {"use_dictionary": ["key", "image_id"], "use_byte_stream_split": ["score"]}
    write_whole(directory / "outcomes.parquet", lambda f: outcomes.to_parquet(f, **kept))
    write_whole(directory / "runs.csv", lambda f: runs.to_csv(f, index=False))
    now = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    about = {"published": now, "runs": len(runs), **provenance.stamp()}
    write_whole(directory / "provenance.json", json.dumps(about, indent=1) + "\n")
    return runs


def _current(runs: pd.DataFrame) -> pd.DataFrame:
    """Without runs that a later version of the code computed again."""
    if runs.empty:
        return runs
    told = [name for name in DESCRIPTION if name != "code"]
    return runs.sort_values("code", kind="stable").drop_duplicates(told, keep="last").sort_index()


def _told(runs: pd.DataFrame) -> pd.MultiIndex:
    """What runs are but for captions and code that may have changed since."""
    return pd.MultiIndex.from_frame(runs[UNCHANGED])


def stored_outcomes(store: Store, runs: pd.DataFrame) -> pd.DataFrame:
    """Per-image outcomes of runs in a store; score in percent."""
    parts = [_EMPTY]
    for row in runs.to_dict("records"):
        images = store.get(_run(row)).images
        part = images[["image_id"]].assign(unseen_raw=~images["seen_raw"])
        score = (100 * caption_scores(images["p"], images["y"])).astype("float32")
        part = part.assign(key=row["key"], score=score, unseen=~images["seen_masked"])
        parts.append(part[list(_EMPTY)])
    return pd.concat(parts, ignore_index=True)


_KINDS = {"key": "str", "image_id": "int64", "score": "float32", "unseen_raw": "bool"}
_KINDS["unseen"] = "bool"
_EMPTY = pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in _KINDS.items()})


def _run(row: dict) -> Run:
    return Run(**{name: row[name] for name in DESCRIPTION})


def read_recorded(directory: Path = paths.RESULTS) -> pd.DataFrame:
    """Recorded runs; an empty frame where nothing is recorded."""
    file = directory / "runs.csv"
    if not file.exists():
        return pd.DataFrame(columns=[*DESCRIPTION, "score", "key"])
    return _read(file, file.stat().st_mtime_ns).copy(deep=False)


@lru_cache(maxsize=2)
def _read(file: Path, _changed: int) -> pd.DataFrame:
    """Read once: a page asks many times."""
    frame = pd.read_csv(file, dtype=dict.fromkeys([*TEXT, "key"], "str"), keep_default_na=True)
    missing = [name for name in [*DESCRIPTION, "score", "key"] if name not in frame]
    if missing:
        raise RelicError(
            f"{file} lacks the columns {', '.join(missing)}", mend="git checkout results/"
        )
    return frame.fillna(dict.fromkeys(TEXT, ""))


def read_outcomes(directory: Path = paths.RESULTS) -> pd.DataFrame:
    """Recorded per-image outcomes by run key."""
    file = directory / "outcomes.parquet"
    return pd.read_parquet(file) if file.exists() else _EMPTY


def load_runs(store: Store | None = None, directory: Path = paths.RESULTS) -> pd.DataFrame:
    """Recorded runs and a store's alike, told apart by `source`."""
    frames = [read_recorded(directory).assign(source=RECORDED)]
    if store is not None and store.directory.is_dir():
        frames.append(own_frame(store))
    frames = [frame for frame in frames if not frame.empty]
    if not frames:
        return pd.DataFrame(columns=COLUMNS)
    frame = pd.concat(frames, ignore_index=True)
    return frame[[*COLUMNS, *(c for c in frame if c not in COLUMNS)]]


def own_frame(store: Store, runs: list[Run] | None = None) -> pd.DataFrame:
    """Finished runs of a store with their keys: all, or those asked for."""
    frame = _current(store.frame(runs))
    return frame.assign(key=[_run(row).key for row in frame.to_dict("records")], source=OWN)


ALIKE = "source corpus attribute classifier recipe encoder split labels size".split()


def score_table(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean score of runs that differ in nothing but seed and human caption."""
    groups = [*ALIKE, "side", "captioner", "caption_set", "vocabulary", "n_test"]
    table = runs.groupby(groups, dropna=False)["score"].agg(["count", "mean", "std"]).reset_index()
    table = table.rename(columns={"count": "runs", "std": "std over runs"}).round(2)
    return _telling(table, ["captioner", "n_test", "runs", "mean", "std over runs"])


def _telling(table: pd.DataFrame, always: list[str]) -> pd.DataFrame:
    """Without the columns that say the same in every row."""
    return table[[c for c in table if c in always or table[c].nunique(dropna=False) > 1]]


def check(directory: Path = paths.RESULTS) -> list[str]:
    """What is wrong with `results/`; empty when all is well."""
    problems, runs, outcomes = [], read_recorded(directory), read_outcomes(directory)
    for row in runs.to_dict("records"):
        if _run(row).key != row["key"]:
            problems.append(f"run {row['key']}: its description gives another key")
    if _told(runs).duplicated().any():
        problems.append("a run is listed twice")
    if set(outcomes["key"]) - set(runs["key"]):
        problems.append("outcomes of runs that are not listed")
    if list(outcomes.columns) != list(_EMPTY.columns):
        problems.append(f"outcomes hold other columns than {', '.join(_EMPTY.columns)}")
    means = outcomes.groupby("key")["score"].mean()
    scores = runs.set_index("key")["score"].reindex(means.index)
    problems += [
        f"run {key}: its outcomes do not give its score"
        for key in means.index[(means - scores).abs() > 1e-3]
    ]
    try:
        problems += grid.problems(grid.read(directory), runs)
    except RelicError as error:
        problems.append(str(error))
    problems += privacy.problems(directory)
    size = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
    if size > 20_000_000:
        problems.append(f"{size / 1e6:.1f} MB; at most 20 MB are meant to be committed")
    return problems
