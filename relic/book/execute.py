"""Execute one notebook in a process of its own and record what became of it.

papermill's own metadata calls a cell that timed out, or whose kernel died, `completed`. So each
notebook has a record of ours, `NAME.json`: running, ok or failed, with the cell and the error.
"""

import json
import os
import signal
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from relic.whole import write_whole

RUNNING, OK, FAILED = "running", "ok", "failed"


@dataclass
class Record:
    """What we know of one notebook's last execution."""

    notebook: str
    status: str
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


def execute(job: dict) -> bool:
    """Run a notebook as the job says; True when every cell ran."""
    import papermill  # late: the build itself does not need it
    from papermill.engines import NBClientEngine, papermill_engines

    name, out = job["notebook"], Path(job["directory"])
    executed, failed, running = (out / f"{name}{end}.ipynb" for end in ("", ".failed", ".running"))
    for stale in (executed, failed, running):
        stale.unlink(missing_ok=True)
    record = Record(name, RUNNING, started=time.time(), **job["about"])
    file = out / f"{name}.json"

    class Engine(NBClientEngine):
        """papermill's engine, with a record of the cell at work."""

        @classmethod
        def execute_managed_notebook(cls, nb_man, kernel_name, **options):
            code = [i for i, cell in enumerate(nb_man.nb.cells) if cell.cell_type == "code"]
            start = nb_man.cell_start

            def cell_start(cell, cell_index=None, **kwargs):
                if cell_index in code:
                    record.cell, record.cells = code.index(cell_index) + 1, len(code)
                    record.write(file)
                return start(cell, cell_index, **kwargs)

            nb_man.cell_start = cell_start
            return super().execute_managed_notebook(nb_man, kernel_name, **options)

    papermill_engines.register("relic", Engine)
    record.write(file)
    try:
        papermill.execute_notebook(
            job["source"],
            running,
            parameters=job["about"]["parameters"],
            engine_name="relic",
            kernel_name="python3",
            progress_bar=False,
            execution_timeout=job["timeout"] or None,
            cwd=out,
        )
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


def main() -> int:
    """Read a job from standard input, execute it; the record holds the outcome."""
    job = json.load(sys.stdin)
    die_with_parent(job["build"])
    # jsonschema would spend 2.3 s importing this for a check that notebooks never make
    sys.modules["rfc3987_syntax"] = None
    return 0 if execute(job) else 1


if __name__ == "__main__":
    sys.exit(main())
