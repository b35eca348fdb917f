"""Is `results/` sound: keys, scores, the declared grid; and no labels and no caption text in it?

`relic/records/privacy.yml` lists the files, columns and cells that may be there. A cell of text is refused when it reads like a caption: more than
six words, or three and more that begin with an article or a number word. A few short captions may be quoted
where the list says so.
"""

import re
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pandas as pd
import yaml

from relic import paths
from relic.errors import RelicError
from relic.records import grid
from relic.records.runs import OUTCOMES, asked, read_outcomes, read_recorded, run_of

MOST = 20_000_000  # bytes of results/
WORDS = 6  # a longer text is a description that the list names, or has no business here
ARTICLE = "an?|the|two|three|four|some|several|there|this|one|group"
OPENING = re.compile(rf"({ARTICLE})( [\w'-]+){{2,}}", re.IGNORECASE)


def check(directory: Path = paths.RESULTS) -> list[str]:
    """What is wrong with `results/`; empty when all is well."""
    runs, outcomes = read_recorded(directory), read_outcomes(directory)
    wrong = [row["key"] for row in runs.to_dict("records") if run_of(row).key != row["key"]]
    problems = [f"run {key}: its description gives another key" for key in wrong]
    if len(set(asked(runs))) < len(runs):
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
    problems += leaks(directory)
    size = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
    if size > MOST:
        problems.append(f"{size / 1e6:.1f} MB; at most {MOST / 1e6:.0f} are meant to be committed")
    return problems


@cache
def _listed() -> dict:
    return yaml.safe_load(paths.PRIVACY.read_text(encoding="utf-8"))


def like_a_caption(text: str) -> bool:
    """Does a cell read like a caption, and is no description that the list names?

    >>> like_a_caption("a dog on a couch"), like_a_caption("CIDEr of untokenized text")
    (True, False)
    """
    if len(text.split()) <= WORDS and not OPENING.match(text):
        return False
    return not any(re.fullmatch(pattern, text) for pattern in _listed()["descriptions"])


def leaks(directory: Path = paths.RESULTS) -> list[str]:
    """Files, columns and cells that have no business in `results/`."""
    wrong = []
    for file in sorted(p for p in directory.rglob("*") if p.is_file()):
        name = file.relative_to(directory).as_posix()
        if not any(fnmatch(name, pattern) for pattern in _listed()["documents"]):
            wrong += _of_file(file, name)
    return wrong


def _of_file(file: Path, name: str) -> list[str]:
    listed = next((c for pattern, c in _listed()["files"].items() if fnmatch(name, pattern)), None)
    if listed is None:
        return [f"{name}: a file that relic/records/privacy.yml does not list"]
    try:
        parquet = file.suffix == ".parquet"
        frame = pd.read_parquet(file) if parquet else pd.read_csv(file, low_memory=False)
    except (OSError, ValueError) as error:  # pandas' and pyarrow's own errors are ValueErrors
        return [f"{name} cannot be read: {error}"]
    wanted = [c for item in listed for c in (item if isinstance(item, list) else [item])]
    unknown = [column for column in frame if column not in wanted]
    wrong = [f"{name}: column {c!r} is not listed in relic/records/privacy.yml" for c in unknown]
    quoted = _listed()["quoted"].get(name, {})
    for column in frame.columns[[not pd.api.types.is_numeric_dtype(t) for t in frame.dtypes]]:
        texts = [str(value) for value in frame[column].dropna().unique()]
        bad = [text for text in texts if like_a_caption(text)]
        if column == quoted.get("column") and len(frame) <= quoted["rows"]:
            bad = [text for text in bad if len(text.split()) > quoted["words"]]
        if bad:
            wrong.append(f"{name}: column {column!r} holds {len(bad)} texts like captions")
    return wrong
