"""Progress on screen: which notebook, which cell of how many, time left. pydoit's reporter."""

import sys
import threading
import time
from pathlib import Path

from doit.reporter import ZeroReporter

from relic.book.execute import RUNNING, read_record

EVERY = {True: 0.5, False: 30.0}  # seconds between status lines on a terminal / in a log


class Progress(ZeroReporter):
    """Prints a line when a step starts and ends, and a status line in between."""

    directory: Path | None = None  # where notebooks keep their records

    def __init__(self, names: list[str], stale: list[str], workers: int = 1, stream=sys.stderr):
        self.stream, self.terminal = stream, stream.isatty()
        self.failures: dict[str, str] = {}
        self._names, self._waiting, self._workers = names, list(stale), workers
        self._total, self._done, self._running = len(names), 0, {}
        records = {name: self._record(name) for name in names}
        self._took = {name: record.seconds for name, record in records.items() if record}
        self._lock, self._end = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()
        self._clear()

    # pydoit calls these
    def execute_task(self, task):
        """A task starts."""
        with self._lock:
            self._running[task.name] = time.time()
            self._waiting = [name for name in self._waiting if name != task.name]
        self._say(f"[{self._place(task)}] {task.name}")

    def add_success(self, task):
        """A task ended well."""
        self._finish(task, "done in {}")

    def add_failure(self, task, fail):
        """A task failed; a TaskFailed is our message, anything else a mistake of ours, shown whole."""
        self.failures[task.name] = "".join([f"{fail.message}\n", *fail.traceback]).strip()
        self._finish(task, "FAILED after {}")

    def skip_uptodate(self, task):
        """Nothing changed."""
        self._done += 1
        self._say(f"[{self._place(task)}] {task.name}: up to date")

    def runtime_error(self, msg):
        """pydoit itself could not go on."""
        self.failures["build"] = str(msg)

    # what the user sees
    def _place(self, task) -> str:
        return f"{self._names.index(task.name) + 1}/{self._total}"

    def _finish(self, task, words: str) -> None:
        with self._lock:
            started = self._running.pop(task.name, time.time())
            self._done += 1
        self._took[task.name] = time.time() - started
        took = duration(self._took[task.name])
        self._say(f"[{self._place(task)}] {task.name}: {words.format(took)}")

    def _watch(self) -> None:
        while not self._end.wait(EVERY[self.terminal]):
            if line := self._status():
                self._clear()
                self.stream.write(line if self.terminal else f"{line}\n")
                self.stream.flush()

    def _status(self) -> str:
        with self._lock:
            running = dict(self._running)
        parts = []
        for name, started in running.items():
            record = self._record(name)
            busy = record and record.status == RUNNING
            at = f"cell {record.cell}/{record.cells}, " if busy else ""
            parts.append(f"{name} ({at}{duration(time.time() - started)})")
        if not parts:
            return ""
        return f"  {self._done} of {self._total} done, at work: {', '.join(parts)}{self._left(running)}"

    def _left(self, running: dict[str, float]) -> str:
        """Time left, from how long each step took last time, or else the others on average."""
        if not self._took:
            return ""
        usual = sum(self._took.values()) / len(self._took)
        rest = [self._took.get(n, usual) - (time.time() - at) for n, at in running.items()]
        work = sum(max(0.0, r) for r in rest) + sum(self._took.get(n, usual) for n in self._waiting)
        left = max([*rest, work / self._workers])
        return f", about {duration(left)} left" if left > 1 else ", nearly there"

    def _record(self, name: str):
        return read_record(self.directory / f"{name}.json") if self.directory else None

    def _say(self, line: str) -> None:
        with self._lock:
            self._clear()
            self.stream.write(f"{line}\n")
            self.stream.flush()

    def _clear(self) -> None:
        if self.terminal:
            self.stream.write("\r\033[K")


def duration(seconds: float) -> str:
    """Seconds in words.

    >>> duration(9.4), duration(75), duration(7300)
    ('9 s', '1 min 15 s', '2 h 1 min')
    """
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
