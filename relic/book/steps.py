"""Steps of a build: what they rest on, why they run, how a notebook is executed and recorded.

papermill's own metadata calls a cell that timed out, or whose kernel died, `completed`. So each
notebook has a record of ours, `NAME.json`: running, ok or failed, with the cell and the error, and
what it rested on, files by content, plain values by name. It is written whole when the step ends, so
that a killed build loses at most the steps at work.

The modules that a notebook imports, directly or not, and the records that they read are found by
reading the source, not by running it. `relic.name` counts as an import of the module that
`relic/__init__.py` takes the name from, and a text such as "relic.measure.classifiers.linear:Linear"
as one of the module it names, because that is how classifiers are loaded.
"""

import ast
import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from functools import cache
from hashlib import sha256
from itertools import accumulate
from pathlib import Path

from tqdm import tqdm

import relic
from relic import paths, provenance
from relic.whole import write_whole

NOT_RUN, RUNNING, OK, FAILED = "", "running", "ok", "failed"
CODE = (".py", ".pyc")  # all else in a module's directory is data that it may read
RUNS = ("runs.csv", "outcomes.parquet", "grid.yml", "provenance.json")
READS_RUNS = "relic.records.runs"
READERS = ("read_table", "read_record", "write_record")


# -- what code rests on ---------------------------------------------------------------------------


def notebook_files(notebook: Path) -> list[Path]:
    """Files of the package and of results/ that a notebook rests on."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return files("\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code"))


def files(code: str, package: Path = paths.PACKAGE, results: Path = paths.RESULTS) -> list[Path]:
    """The same for any code."""
    names, records = map(set, _read(code, package))
    modules: set[str] = set()
    while names:
        name = names.pop()
        modules.add(name)
        if name != "relic":  # its table of names is followed name by name
            imported, read = _read(_file(name, package).read_text(encoding="utf-8"), package)
            names |= imported - modules
            records |= read
    listed = {_file(name, package) for name in modules}
    listed |= {f for module in list(listed) for f in _data_beside(module, package)}
    listed |= {results / f for f in RUNS if READS_RUNS in modules and (results / f).exists()}
    listed |= {f for name in records for f in (results / name).glob("*.csv")}
    return sorted(listed)


@cache
def _read(code: str, package: Path) -> tuple[frozenset[str], frozenset[str]]:
    """Modules of the package that code imports, anywhere in it, and records that it names."""
    asked, records = [], set()
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Import():
                asked += [alias.name for alias in node.names]
            case ast.ImportFrom(module=str() as module):
                asked += [f"{module}.{alias.name}" for alias in node.names]
            case ast.Attribute(value=ast.Name(id="relic"), attr=name):
                asked.append(f"relic.{name}")
            case ast.Constant(value=str() as text) if re.match(r"relic(\.\w+)+:\w+$", text):
                asked.append(text.split(":")[0])
            case ast.Assign(targets=[target], value=value):
                pairs = zip(getattr(target, "elts", [target]), getattr(value, "elts", [value]))  # noqa: B905
                records |= {v.value for t, v in pairs if getattr(t, "id", "") == "RECORD"}
            case ast.Call(func=function, args=[ast.Constant(value=str() as text), *_]):
                called = getattr(function, "attr", getattr(function, "id", ""))
                records |= {text} if called in READERS else set()
    ours = [name for name in asked if name.split(".")[0] == "relic"]
    modules = {module for name in ours for module in _modules(name, package)}
    return frozenset(modules), frozenset(records)


def _modules(name: str, package: Path) -> set[str]:
    """The module that a dotted name lies in, and the packages around it."""
    home = getattr(relic, "_PLACE", {}).get(name.removeprefix("relic."), name)
    around = accumulate(home.split("."), "{}.{}".format)
    return {module for module in around if _file(module, package).exists()}


def _file(module: str, package: Path) -> Path:
    place = package.joinpath(*module.split(".")[1:])
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


def _data_beside(module: Path, package: Path) -> list[Path]:
    """Data files in a module's directory and in directories below that are no packages."""
    if module.parent == package:
        return []
    below = [d for d in module.parent.iterdir() if d.is_dir() and not (d / "__init__.py").exists()]
    beside = [f for d in (module.parent, *below) for f in d.glob("*")]
    return [f for f in beside if f.is_file() and f.suffix not in CODE]


# -- a notebook, executed and recorded ------------------------------------------------------------


@dataclass
class Record:
    """What we know of one notebook's last execution; the book has one, too."""

    notebook: str
    status: str
    rests_on: dict = field(default_factory=dict)
    parameters: dict = field(default_factory=dict)
    cell: int = 0
    cells: int = 0
    error: str = ""
    started: float = 0.0
    seconds: float = 0.0
    data: str = ""
    commit: str = ""

    @property
    def failure(self) -> str:
        """Notebook, cell and error in one line."""
        return f"{self.notebook}, cell {self.cell} of {self.cells}: {self.error}"

    def write(self, file: Path) -> None:
        """Replace the file in one step: a reader never meets half a record."""
        write_whole(file, json.dumps(asdict(self), indent=1))


def read_record(file: Path) -> Record:
    """A record; an empty one where there is none that can be read."""
    try:
        return Record(**json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return Record(file.stem, NOT_RUN)


def execute(name: str, directory: Path, timeout: int, described: dict) -> str:
    """Run a notebook in a kernel of its own; returns its failure, or nothing.

    papermill and the kernel work in the current directory. A build that is killed takes its kernels
    with it: each looks for its parent every second.
    """
    # jsonschema would spend 2.3 s importing this for a check that notebooks never make
    sys.modules["rfc3987_syntax"] = None
    import papermill  # late: a build that finds all up to date does not need it

    source, file = paths.NOTEBOOKS / f"{name}.ipynb", directory / f"{name}.json"
    ends = ("", ".failed", ".running")
    executed, failed, running = (directory / f"{name}{end}.ipynb" for end in ends)
    for stale in (executed, failed, running):
        stale.unlink(missing_ok=True)
    cells = json.loads(source.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    injected = len(code) + bool(described["parameters"])  # papermill adds one
    head = provenance.commit()
    commit = head["commit"] + " with uncommitted changes" * bool(head["dirty"])
    started = {"started": time.time(), "cells": injected, "commit": commit}
    record = Record(name, RUNNING, **started, **described)
    record.write(file)

    def begins(cell, cell_index):
        if cell.cell_type == "code":
            record.cell += 1
            record.write(file)

    try:
        options = {"parameters": described["parameters"], "kernel_name": "python3"}
        options |= {"progress_bar": False, "execution_timeout": timeout or None}
        papermill.execute_notebook(source, running, on_cell_start=begins, **options)
        record.status = OK
    except Exception as error:  # whatever went wrong, the record says it
        record.status, record.error = FAILED, _one_line(error)
    record.seconds = round(time.time() - record.started, 2)
    if running.exists():
        os.replace(running, executed if record.status == OK else failed)
    record.write(file)
    return record.failure if record.status == FAILED else ""


def _one_line(error: Exception) -> str:
    """The error in one line; papermill's carries the cell's own exception in fields."""
    name, text = getattr(error, "ename", type(error).__name__), getattr(error, "evalue", str(error))
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    shown = lines if name == "RelicError" else lines[:1]  # ours say what mends it
    return f"{name}: {'; '.join(shown)}".strip(": ")


def die_with_parent(build: int) -> None:
    """Linux: end this process when the build is killed, so that none works on unseen."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != build:  # it was killed while we were starting
        sys.exit("the build is gone")


# -- steps ----------------------------------------------------------------------------------------


@cache
def digest(file: Path) -> str:
    """A hash of a file's content; a file is read once a build."""
    return sha256(file.read_bytes()).hexdigest()[:16]


def resting_on(files: list[Path], given: dict) -> dict:
    """What a step rests on, as its record keeps it."""
    hashes = {file.relative_to(paths.ROOT).as_posix(): digest(file) for file in files}
    return {"files": hashes, "given": given}


@dataclass(frozen=True)
class Step:
    """What makes a file, what that rests on, and the record that remembers it."""

    name: str
    action: Callable[[], str]  # returns what went wrong, or nothing; writes the record
    rests_on: dict
    record: Path
    target: Path

    def why(self) -> str:
        """Why it has to run, in words; empty where nothing changed since it last did."""
        record = read_record(self.record)
        if record.status != OK or not self.target.exists():
            return "no result yet"
        changes = {}
        for kind, now in self.rests_on.items():
            before = record.rests_on.get(kind, {})
            both = {name: (before.get(name), now.get(name)) for name in {**before, **now}}
            changes[kind] = {name: pair for name, pair in both.items() if pair[0] != pair[1]}
        said = [f"{name}: {a!r} before, {b!r} now" for name, (a, b) in changes["given"].items()]
        if files := sorted(Path(name).name for name in changes["files"]):
            more = f" and {len(files) - 4} more" * (len(files) > 4)
            said.append(f"changed: {', '.join(files[:4])}{more}")
        return "; ".join(said)


def run(steps: list[Step], chosen, workers: int = 1) -> dict[str, str]:
    """Run the steps that are out of date; returns the failures by step name.

    `chosen`: the options of the build (`keep_going`, `fresh`, `why`).
    """
    reasons = {step.name: "--fresh" if chosen.fresh else step.why() for step in steps}
    if chosen.why:
        for name, why in reasons.items():
            outcome = f"runs: {why}" if why else "skipped: nothing changed since it last ran"
            print(f"  {name}: {outcome}", flush=True)
    failures: dict[str, str] = {}
    at_work: dict[str, Step] = {}

    def perform(number: int, step: Step) -> None:
        def say(words: str) -> None:
            tqdm.write(f"[{number}/{len(steps)}] {step.name}{words}", file=sys.stderr)

        if not reasons[step.name]:
            say(": up to date")
        elif chosen.keep_going or not failures:
            say("")
            started, at_work[step.name] = time.time(), step
            if problem := step.action():
                failures[step.name] = problem
            del at_work[step.name]
            took = tqdm.format_interval(time.time() - started)
            say(f": FAILED after {took}" if problem else f": done in {took}")

    pool = ThreadPoolExecutor(workers)
    waiting = {pool.submit(perform, n, step) for n, step in enumerate(steps, 1)}
    with _bar(len(steps)) as bar:
        try:
            while waiting:
                done, waiting = wait(waiting, bar.mininterval, FIRST_COMPLETED)
                bar.set_postfix_str(", ".join(map(_place, [*at_work.values()])), refresh=not done)
                bar.update(len(done))
                for future in done:
                    future.result()  # a mistake of ours is raised here
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    return failures


def _bar(steps: int) -> tqdm:
    terminal = sys.stderr.isatty()
    look = "  {n_fmt} of {total_fmt} done, about {remaining} left{postfix}" + "\n" * (not terminal)
    every = 0.5 if terminal else 30.0  # seconds between looks at the cells at work
    return tqdm(total=steps, bar_format=look, leave=False, mininterval=every, delay=1)


def _place(step: Step) -> str:
    """A step at work, with the cell that it is at."""
    record = read_record(step.record)
    return f"{step.name} (cell {record.cell}/{record.cells})" if record.cells else step.name
