"""The declared grid: which runs `results/` is meant to hold, and how many of them it does.

`results/grid.yml` names grids; each has parts, and a part is every combination of its lists.
"""

from collections.abc import Callable, Iterable
from dataclasses import MISSING, dataclass, fields
from itertools import product
from pathlib import Path

import pandas as pd
import yaml

from relic import paths
from relic.data.captioners import REAL
from relic.data.corpus import Corpus
from relic.errors import RelicError
from relic.measure.runs import Run, describe

FILE = "grid.yml"
COMPLETE, PARTIAL = "complete", "partial"
DEFAULTS = {
    field.name: None if field.default is MISSING else field.default
    for field in fields(Run)
    if field.name not in ("corpus", "fingerprint", "code")  # follow from the captions and the code
} | {"corpus": REAL}
NEEDED = [name for name, value in DEFAULTS.items() if value is None]


@dataclass(frozen=True)
class Part:
    """One block of a grid: every combination of `choices`, with `together` in step."""

    grid: str
    status: str
    choices: dict[str, list]
    together: dict[str, list]

    def runs(self) -> list[tuple]:
        """Each run as the values of `DEFAULTS`' names."""
        lists = {name: self.choices.get(name, [value]) for name, value in DEFAULTS.items()}
        rows = list(zip(*self.together.values(), strict=True)) or [()]
        steps = [{k: [v] for k, v in zip(self.together, row, strict=True)} for row in rows]
        return [run for step in steps for run in product(*(lists | step).values())]


def read(directory: Path = paths.RESULTS) -> list[Part]:
    """The declared parts; a RelicError that names the part where the file is wrong."""
    file = directory / FILE
    if not file.exists():
        raise RelicError(f"no {FILE} in {directory.name}/", mend=f"git checkout results/{FILE}")
    try:
        grids = yaml.safe_load(file.read_text(encoding="utf-8"))["grids"]
        return [_part(name, part) for name, parts in grids.items() for part in parts]
    except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError, AttributeError) as error:
        expected = "grids: a name, then a list of parts"
        raise RelicError(f"{FILE}: {error}", expected=expected) from error


def _part(name: str, part: dict) -> Part:
    status, together = part.get("status"), part.get("together", {})
    rest = {k: v for k, v in part.items() if k not in ("status", "together", *together)}
    choices = {k: v if isinstance(v, list) else [v] for k, v in rest.items()}
    unknown = sorted({*choices, *together} - set(DEFAULTS))
    missing = [n for n in NEEDED if n not in choices and n not in together]
    lengths = {len(values) for values in together.values()}
    if unknown or missing or status not in (COMPLETE, PARTIAL) or len(lengths) > 1:
        raise RelicError(
            f"{FILE}, {name}: status {status!r}, unknown {unknown}, missing {missing}, together {together}",
            expected=f"status {COMPLETE} or {PARTIAL}; fields {', '.join(DEFAULTS)}; lists of one length together",
        )
    return Part(name, status, choices, together)


def _recorded(runs: pd.DataFrame) -> set[tuple]:
    return set(runs[list(DEFAULTS)].itertuples(index=False, name=None))


def problems(parts: Iterable[Part], runs: pd.DataFrame) -> list[str]:
    """Runs that a complete part lacks, and runs outside of every part."""
    parts, there, found = list(parts), _recorded(runs), []
    for part in parts:
        absent = [run for run in part.runs() if run not in there]
        if absent and part.status == COMPLETE:
            missing = f"{len(absent)} of {len(part.runs())} runs are missing"
            found.append(f"{part.grid}: {missing}, the first: {_name(absent[0])}")
    outside = sorted(there - {run for part in parts for run in part.runs()}, key=str)
    if outside:
        first = _name(outside[0])
        found.append(f"{len(outside)} runs are in no grid of {FILE}, the first: {first}")
    return found


def _name(run: tuple) -> str:
    fields = zip(DEFAULTS.items(), run, strict=True)
    return ", ".join(f"{name} {value}" for (name, default), value in fields if value != default)


def progress(parts: Iterable[Part], runs: pd.DataFrame) -> pd.DataFrame:
    """A row a grid and attribute: how many of its runs are recorded."""
    there, keys = _recorded(runs), ["grid", "attribute"]
    rows = [(part.grid, run[0], run in there) for part in parts for run in part.runs()]
    table = pd.DataFrame(rows, columns=[*keys, "recorded"]).groupby(keys, sort=False)["recorded"]
    table = table.agg(recorded="sum", of="size").reset_index()
    table.insert(2, "state", list(map(_state, table["recorded"], table["of"])))
    return table


def _state(recorded: int, wanted: int) -> str:
    if recorded == wanted:
        return "✓ complete"
    return "part" if recorded else "not run"


def grid_runs(load: Callable[[str, str], Corpus], name: str, directory=paths.RESULTS) -> list[Run]:
    """The runs of the grids whose name begins so. `load`: a corpus by its name and attribute."""
    every = read(directory)
    parts = [part for part in every if part.grid.startswith(name)]
    if not name or not parts:
        names = "; ".join(dict.fromkeys(part.grid for part in every))
        raise RelicError(f"no grid {name!r} in {FILE}", expected=f"a beginning of one of: {names}")
    found = []
    for run in (dict(zip(DEFAULTS, run, strict=True)) for part in parts for run in part.runs()):
        found.append(describe(load(run.pop("corpus"), run.pop("attribute")), **run))
    return list(dict.fromkeys(found))


def by_grid(table: pd.DataFrame) -> pd.DataFrame:
    """Progress as a reader wants it: a row a grid, an attribute a column."""
    shown = table.assign(
        runs=table["recorded"].map("{:,} of ".format) + table["of"].map("{:,}".format)
    )
    wide = shown.pivot(index="grid", columns="attribute", values="runs")
    sums = table.groupby("grid", sort=False)[["recorded", "of"]].sum()
    wide = wide.reindex(sums.index)[table["attribute"].unique()]
    wide.insert(0, "state", list(map(_state, sums["recorded"], sums["of"])))
    return wide.reset_index()
