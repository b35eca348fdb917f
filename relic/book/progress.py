"""Progress on screen: which notebooks are at work, at which cell, and what is done. pydoit's reporter."""

import sys
import threading
import time
from pathlib import Path

from doit.reporter import ZeroReporter
from tqdm import tqdm

from relic.book.execute import read_record

EVERY = {True: 0.5, False: 30.0}  # seconds between looks at the cell at work: terminal, log


class Progress(ZeroReporter):
    """A line when a step starts and ends, and a bar in between."""

    def __init__(self, names: list[str], directory: Path):
        self.failures: dict[str, str] = {}
        self._names, self._directory = names, directory
        self._running: dict[str, float] = {}
        self._terminal = sys.stderr.isatty()
        look = "  {n_fmt} of {total_fmt} done, about {remaining} left{postfix}"
        look, every = look + "\n" * (not self._terminal), EVERY[self._terminal]
        self._bar = tqdm(total=len(names), bar_format=look, leave=False, mininterval=every, delay=1)
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()
        self._bar.close()

    # pydoit calls these
    def execute_task(self, task):
        """A task starts."""
        self._running[task.name] = time.time()
        self._say(task, "")

    def add_success(self, task):
        """A task ended well."""
        self._finish(task, "done in ")

    def add_failure(self, task, fail):
        """A task failed; a TaskFailed is our message, anything else a mistake of ours, shown whole."""
        self.failures[task.name] = "".join([f"{fail.message}\n", *fail.traceback]).strip()
        self._finish(task, "FAILED after ")

    def skip_uptodate(self, task):
        """Nothing changed."""
        self._say(task, ": up to date")
        self._bar.update()

    def runtime_error(self, msg):
        """pydoit itself could not go on."""
        self.failures["build"] = str(msg)

    def _finish(self, task, words: str) -> None:
        took = time.time() - self._running.pop(task.name, time.time())
        self._say(task, f": {words}{tqdm.format_interval(took)}")
        self._bar.update()

    def _say(self, task, words: str) -> None:
        place = f"[{self._names.index(task.name) + 1}/{len(self._names)}]"
        tqdm.write(f"{place} {task.name}{words}", file=sys.stderr)

    def _watch(self) -> None:
        while not self._end.wait(EVERY[self._terminal]):
            records = {
                name: read_record(self._directory / f"{name}.json") for name in list(self._running)
            }
            at = [f"{n} (cell {r.cell}/{r.cells})" if r else n for n, r in records.items()]
            self._bar.set_postfix_str(", ".join(at))
