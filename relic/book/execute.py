"""Execute one notebook and record what became of it.

papermill's own metadata calls a cell that timed out, or whose kernel died, `completed`. So each
notebook has a record of ours, `NAME.json`: running, ok or failed, with the cell and the error, and
what it rested on, by which the next build knows whether it is up to date.
"""

import json
import os
import signal
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from relic import paths, provenance
from relic.whole import write_whole

NOT_RUN, RUNNING, OK, FAILED = "", "running", "ok", "failed"


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


def execute(name: str, directory: Path, timeout: int, about: dict) -> str:
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
    injected = len(code) + bool(about["parameters"])  # papermill adds one
    made = provenance.commit()
    commit = made["commit"] + " with uncommitted changes" * bool(made["dirty"])
    started = {"started": time.time(), "cells": injected, "commit": commit}
    record = Record(name, RUNNING, **started, **about)
    record.write(file)

    def begins(cell, cell_index):
        if cell.cell_type == "code":
            record.cell += 1
            record.write(file)

    try:
        options = {"parameters": about["parameters"], "kernel_name": "python3"}
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
    kept = lines if name == "RelicError" else lines[:1]  # ours say what mends it
    return f"{name}: {'; '.join(kept)}".strip(": ")


def die_with_parent(build: int) -> None:
    """Linux: end this process when the build is killed, so that none works on unseen."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != build:  # it was killed while we were starting
        sys.exit("the build is gone")
