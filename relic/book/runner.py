"""Run what is out of date, with pydoit: hashed dependencies, parallel tasks, reasons, progress.

pydoit keeps its state in memory until the end; `AtOnce` saves it after every task, so that a
killed build loses at most the notebooks at work.
"""

import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from doit.control import TaskControl
from doit.dependency import Dependency, JsonDB
from doit.reporter import ZeroReporter
from doit.runner import MThreadRunner, Runner
from doit.task import Stream, dict_to_task
from tqdm import tqdm

from relic import paths
from relic.book.execute import read_record
from relic.whole import write_whole

WORDS = {  # of pydoit's reasons to run
    "changed_file_dep": "changed",
    "added_file_dep": "new",
    "removed_file_dep": "gone",
    "missing_target": "no result yet",
}


class AtOnce(JsonDB):
    """pydoit's JSON state, written whole after every change."""

    def _load(self):
        try:
            found = super()._load()
        except Exception:  # half a file of an older, killed build: forget it and run again
            found = None
        sound = isinstance(found, dict) and all(isinstance(v, dict) for v in found.values())
        return found if sound else {}

    def set(self, task_id, dependency, value):
        super().set(task_id, dependency, value)
        self.dump()

    def remove(self, task_id):
        super().remove(task_id)
        self.dump()

    def dump(self):
        write_whole(Path(self.name), self.codec.encode(self._db))


@dataclass(frozen=True)
class Step:
    """A task with what it depends on: files by content, and plain values by name."""

    name: str
    action: Callable
    files: list[Path]
    given: dict
    targets: list[Path]

    def task(self):
        """The step in pydoit's words."""
        files = [str(file.relative_to(paths.ROOT)) for file in self.files]
        about = {"file_dep": files, "targets": list(map(str, self.targets)), "verbosity": 2}
        about |= {"uptodate": [self.unchanged], "actions": [(self.action, [])]}
        return dict_to_task({"name": self.name, **about})

    def unchanged(self, task, values) -> bool:
        """Are the values those of the last time? pydoit keeps them for us."""
        task.value_savers.append(lambda: {"given": self.given})
        return values.get("given") == self.given

    def why(self, state: Dependency, task) -> str:
        """Why it will run, in words; empty when nothing changed."""
        found = state.get_status(task, {}, get_log=True).reasons
        before = state.get_values(self.name).get("given")
        both = {**before, **self.given} if before else {}
        pairs = {name: (before.get(name), self.given.get(name)) for name in both}
        said = [f"{n}: {a!r} before, {b!r} now" for n, (a, b) in pairs.items() if a != b]
        for reason, word in WORDS.items():
            names = sorted(Path(str(each)).name for each in found.get(reason) or ())
            more = f" and {len(names) - 4} more" * (len(names) > 4)
            said += [f"{word}: {', '.join(names[:4])}{more}"] if names else []
        return f"runs: {'; '.join(said) or 'never ran'}" if found else ""


class Progress(ZeroReporter):
    """A line when a step starts and ends, and a bar with the cells at work in between."""

    def __init__(self, names: list[str], directory: Path):
        self.failures: dict[str, str] = {}
        self._names, self._directory = names, directory
        self._running: dict[str, float] = {}
        terminal = sys.stderr.isatty()
        self._every = 0.5 if terminal else 30.0  # seconds between looks at the cells at work
        look = "  {n_fmt} of {total_fmt} done, about {remaining} left{postfix}"
        look += "" if terminal else "\n"
        options = {"bar_format": look, "leave": False, "mininterval": self._every, "delay": 1}
        self._bar, self._end = tqdm(total=len(names), **options), threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the bar."""
        self._end.set()
        self._thread.join()
        self._bar.close()

    # pydoit calls these
    def execute_task(self, task):
        self._running[task.name] = time.time()
        self._say(task, "")

    def add_success(self, task):
        self._finish(task, ": done in ")

    def add_failure(self, task, fail):  # not a TaskFailed of ours: a mistake of ours, shown whole
        self.failures[task.name] = "".join([f"{fail.message}\n", *fail.traceback]).strip()
        self._finish(task, ": FAILED after ")

    def skip_uptodate(self, task):
        self._say(task, ": up to date")
        self._bar.update()

    def runtime_error(self, msg):
        self.failures["build"] = str(msg)

    def _finish(self, task, words: str) -> None:
        took = time.time() - self._running.pop(task.name, time.time())
        self._say(task, words + tqdm.format_interval(took))
        self._bar.update()

    def _say(self, task, words: str) -> None:
        place = f"[{self._names.index(task.name) + 1}/{len(self._names)}]"
        tqdm.write(f"{place} {task.name}{words}", file=sys.stderr)

    def _watch(self) -> None:
        while not self._end.wait(self._every):
            records = {n: read_record(self._directory / f"{n}.json") for n in list(self._running)}
            at = [f"{n} (cell {r.cell}/{r.cells})" if r else n for n, r in records.items()]
            self._bar.set_postfix_str(", ".join(at))


def run(steps: list[Step], memory: Path, chosen, workers: int = 1) -> dict[str, str]:
    """Run the steps that are out of date; returns the failures by step name.

    `memory` is the directory of the state file: each profile has its own, and so has the book.
    `chosen`: the options of the build (`keep_going`, `fresh`, `why`).
    """
    os.chdir(paths.ROOT)  # dependencies are named relative to the repository
    state, tasks = Dependency(AtOnce, str(memory / "state.json")), [step.task() for step in steps]
    if chosen.why:
        for step, task in zip(steps, tasks, strict=True):
            why = "runs: --fresh" if chosen.fresh else step.why(state, task)
            why = why or "skipped: nothing changed since it last ran"
            print(f"  {step.name}: {why}", flush=True)
    control = TaskControl(tasks)
    control.process(None)
    progress = Progress([step.name for step in steps], memory)
    options = {"continue_": chosen.keep_going, "always_execute": chosen.fresh, "stream": Stream(2)}
    if workers > 1 and len(tasks) > 1:
        runner = MThreadRunner(state, progress, num_process=workers, **options)
    else:
        runner = Runner(state, progress, **options)
    try:
        runner.run_all(control.task_dispatcher())
    finally:
        progress.close()
    return progress.failures
