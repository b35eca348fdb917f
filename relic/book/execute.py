"""Execute one notebook in a process of its own and record what became of it.

papermill's own metadata calls a cell that timed out, or whose kernel died, `completed`. So each
notebook has a record of ours, `NAME.json`: running, ok or failed, with the cell and the error, and
what it rested on, by which the next build knows whether it is up to date.
"""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from relic.whole import write_whole

RUNNING, OK, FAILED = "running", "ok", "failed"


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
    dirty: bool | None = None

    @property
    def failure(self) -> str:
        """Notebook, cell and error in one line."""
        return f"{self.notebook}, cell {self.cell} of {self.cells}: {self.error}"

    def write(self, file: Path) -> None:
        """Replace the file in one step: a reader never meets half a record."""
        write_whole(file, json.dumps(asdict(self), indent=1))


def read_record(file: Path) -> Record | None:
    """A record, or None where there is none that can be read."""
    try:
        return Record(**json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def run_notebook(job: dict) -> str:
    """The build's side: execute a notebook in its own process; returns its failure, or nothing."""
    file = Path(job["directory"]) / f"{job['notebook']}.json"
    file.unlink(missing_ok=True)  # an old failure is not this one's
    command, told = [sys.executable, "-m", "relic.book.execute"], {**job, "build": os.getpid()}
    options = {"text": True, "errors": "replace", "capture_output": True}
    process = subprocess.run(command, input=json.dumps(told), **options)
    if process.returncode == 0:
        return ""
    record = read_record(file) or Record(job["notebook"], RUNNING)
    if record.status != FAILED:  # it could not even write its record
        last = (process.stderr.strip().splitlines() or ["no message"])[-1]
        record.error = f"the process ended with status {process.returncode}: {last}"
        record.status = FAILED
        record.write(file)
    return record.failure


def execute(job: dict) -> bool:
    """Run a notebook as the job says; True when every cell ran."""
    import papermill  # late: the build itself does not need it

    name, out = job["notebook"], Path(job["directory"])
    executed, failed, running = (out / f"{name}{end}.ipynb" for end in ("", ".failed", ".running"))
    for stale in (executed, failed, running):
        stale.unlink(missing_ok=True)
    about, file = job["about"], out / f"{name}.json"
    cells = json.loads(Path(job["source"]).read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    injected = len(code) + bool(about["parameters"])  # papermill adds one
    record = Record(name, RUNNING, cells=injected, started=time.time(), **about)
    record.write(file)

    def begins(cell, cell_index):
        if cell.cell_type == "code":
            record.cell += 1
            record.write(file)

    try:
        options = {"parameters": about["parameters"], "kernel_name": "python3", "cwd": out}
        options |= {"progress_bar": False, "execution_timeout": job["timeout"] or None}
        papermill.execute_notebook(job["source"], running, on_cell_start=begins, **options)
        record.status = OK
    except Exception as error:  # whatever went wrong, the record says it
        record.status, record.error = FAILED, _one_line(error)
    record.seconds = round(time.time() - record.started, 2)
    if running.exists():
        os.replace(running, executed if record.status == OK else failed)
    record.write(file)
    return record.status == OK


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


if __name__ == "__main__":  # a job on standard input; the record holds the outcome
    told = json.load(sys.stdin)
    die_with_parent(told["build"])
    # jsonschema would spend 2.3 s importing this for a check that notebooks never make
    sys.modules["rfc3987_syntax"] = None
    sys.exit(not execute(told))
