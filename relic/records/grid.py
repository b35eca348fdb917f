"""The declared grid: which runs `results/` is meant to hold, and how many of them it does.

`results/grid.yml` names grids; each has parts, and a part is every combination of its lists.
"""

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pandas as pd
import yaml

from relic import paths
from relic.data.captioners import REAL
from relic.data.corpus import Corpus
from relic.errors import RelicError
from relic.measure.runs import Run, describe
from relic.records.runs import UNCHANGED, asked

FILE = "grid.yml"
COMPLETE, PARTIAL = "complete", "partial"
DEFAULTS = {name: getattr(Run, name, None) for name in UNCHANGED} | {"corpus": REAL}  # None: needed


def read(directory: Path = paths.RESULTS) -> pd.DataFrame:
    """Every declared run: fields as in `DEFAULTS`, and `grid`, `part`, `status` it is declared by.

    A RelicError names the grid where the file is wrong.
    """
    file = directory / FILE
    if not file.exists():
        raise RelicError(f"no {FILE} in {directory.name}/", mend=f"git checkout results/{FILE}")
    try:
        grids = yaml.safe_load(file.read_text(encoding="utf-8"))["grids"]
        parts = [_part(name, part) for name, parts in grids.items() for part in parts]
    except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError, AttributeError) as error:
        expected = "grids: a name, then a list of parts"
        raise RelicError(f"{FILE}: {error}", expected=expected) from error
    return pd.concat(parts, keys=range(len(parts)), names=["part"]).reset_index("part")


def _part(grid: str, part: dict) -> pd.DataFrame:
    """Every combination of a part's lists; those under `together` go in step."""
    status, together = part.get("status"), part.get("together", {})
    alone = {k: v for k, v in part.items() if k not in ("status", "together", *together)}
    unknown = sorted({*alone, *together} - set(DEFAULTS))
    missing = [n for n, v in DEFAULTS.items() if v is None and n not in {*alone, *together}]
    lengths = {len(values) for values in together.values()}
    if unknown or missing or status not in (COMPLETE, PARTIAL) or len(lengths) > 1:
        raise RelicError(
            f"{FILE}, {grid}: status {status!r}, unknown {unknown}, missing {missing}, together {together}",
            expected=f"status {COMPLETE} or {PARTIAL}; fields {', '.join(DEFAULTS)}; lists of one length together",
        )
    rows = zip(*together.values(), strict=True) if together else [()]
    steps = [DEFAULTS | alone | dict(zip(together, row, strict=True)) for row in rows]
    lists = [[v if isinstance(v, list) else [v] for v in step.values()] for step in steps]
    runs = [run for choices in lists for run in product(*choices)]
    return pd.DataFrame(runs, columns=UNCHANGED).assign(grid=grid, status=status)


def problems(declared: pd.DataFrame, runs: pd.DataFrame) -> list[str]:
    """Runs that a complete part lacks, and runs outside of every part."""
    there, wanted, messages = set(asked(runs)), asked(declared), []
    declared = declared.assign(run=wanted)
    absent = declared[(declared["status"] == COMPLETE) & ~declared["run"].isin(there)]
    for part, lacking in absent.groupby("part"):
        of, first = (declared["part"] == part).sum(), _name(lacking["run"].iloc[0])
        missing = f"{len(lacking)} of {of} runs are missing, the first: {first}"
        messages.append(f"{lacking['grid'].iloc[0]}: {missing}")
    if outside := sorted(there - set(wanted), key=str):
        first = _name(outside[0])
        messages.append(f"{len(outside)} runs are in no grid of {FILE}, the first: {first}")
    return messages


def _name(run: tuple) -> str:
    fields = zip(DEFAULTS.items(), run, strict=True)
    return ", ".join(f"{name} {value}" for (name, default), value in fields if value != default)


def progress(declared: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """A row a grid and attribute: how many of its runs are recorded."""
    there = set(asked(runs))
    declared = declared.assign(recorded=[run in there for run in asked(declared)])
    table = declared.groupby(["grid", "attribute"], sort=False)["recorded"]
    table = table.agg(recorded="sum", of="size").reset_index()
    table.insert(2, "state", list(map(state, table["recorded"], table["of"])))
    return table


def state(recorded: int, wanted: int) -> str:
    """How far a grid is recorded, in a word."""
    if recorded == wanted:
        return "✓ complete"
    return "part" if recorded else "not run"


def grid_runs(load: Callable[[str, str], Corpus], name: str, directory=paths.RESULTS) -> list[Run]:
    """The runs of the grids whose name begins so. `load`: a corpus by its name and attribute."""
    declared = read(directory)
    chosen = declared[declared["grid"].str.startswith(name)]
    if not name or chosen.empty:
        names = "; ".join(declared["grid"].unique())
        raise RelicError(f"no grid {name!r} in {FILE}", expected=f"a beginning of one of: {names}")
    rows = chosen[UNCHANGED].to_dict("records")
    runs = [describe(load(run.pop("corpus"), run.pop("attribute")), **run) for run in rows]
    return list(dict.fromkeys(runs))
