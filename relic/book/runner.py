"""Run what is out of date, with pydoit: hashed dependencies, parallel tasks, reasons.

pydoit keeps its state in memory until the end; `AtOnce` saves it after every task, so that a
killed build loses at most the notebooks at work.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from doit.control import TaskControl
from doit.dependency import Dependency, JsonDB
from doit.exceptions import TaskFailed
from doit.runner import MThreadRunner, Runner
from doit.task import Stream, dict_to_task
from doit.tools import config_changed

from relic import paths
from relic.book.execute import FAILED, Record, read_record
from relic.book.progress import Progress
from relic.whole import write_whole

STATE = "state.json"


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
    """A task with what it depends on: files by content, and plain values."""

    name: str
    action: object
    files: list[Path]
    values: dict
    targets: list[Path]
    changes: Callable[[], list[str]] = list  # how `values` differ from last time, in words

    def task(self):
        """The step in pydoit's words."""
        files = [str(file.relative_to(paths.ROOT)) for file in self.files]
        changed, targets = [config_changed(self.values)], [str(file) for file in self.targets]
        about = {"file_dep": files, "targets": targets, "uptodate": changed, "verbosity": 2}
        return dict_to_task({"name": self.name, "actions": [(self.action, [])], **about})


def run(steps: list[Step], memory: Path, chosen, workers: int = 1) -> dict[str, str]:
    """Run the steps that are out of date; returns the failures by step name.

    `memory` is the directory of the state file: each profile has its own, and so has the book.
    `chosen`: the options of the build (`keep_going`, `fresh`, `why`).
    """
    os.chdir(paths.ROOT)  # dependencies are named relative to the repository
    state = Dependency(AtOnce, str(memory / STATE))
    tasks = [step.task() for step in steps]
    stale = {
        task.name: "runs: --fresh" if chosen.fresh else reasons(state, task, step)
        for task, step in zip(tasks, steps, strict=True)
    }
    if chosen.why:
        for name, reason in stale.items():
            print(f"  {name}: {reason or 'skipped: nothing changed since it last ran'}", flush=True)
    control = TaskControl(tasks)
    control.process(None)
    progress = Progress(list(stale), memory)
    options = {"continue_": chosen.keep_going, "always_execute": chosen.fresh, "stream": Stream(2)}
    if workers > 1 and len(tasks) > 1:
        runner = MThreadRunner(state, progress, num_process=workers, **options)
    else:
        runner = Runner(state, progress, **options)
    with progress:
        runner.run_all(control.task_dispatcher())
    return progress.failures


def reasons(state: Dependency, task, step: Step) -> str:
    """Why a task will run, in words; empty when nothing changed."""
    found = state.get_status(task, {}, get_log=True).reasons
    if not found:
        return ""
    words = {
        "changed_file_dep": "changed: {}",
        "added_file_dep": "new: {}",
        "removed_file_dep": "gone: {}",
        "missing_target": "no result yet: {}",
    }
    said = step.changes() or ["the profile changed"] if found.pop("uptodate_false", None) else []
    for reason, value in found.items():
        names = [Path(str(v)).name for v in (value if isinstance(value, list) else [value])]
        listed = ", ".join(sorted(names)[:4]) + f" and {len(names) - 4} more" * (len(names) > 4)
        if value:
            said.append(words.get(reason, reason + " {}").format(listed))
    return "runs: " + "; ".join(said)


def notebook_action(job: dict):
    """An action that executes a notebook in its own process and reports its failure."""

    def action():
        file = Path(job["directory"]) / f"{job['notebook']}.json"
        file.unlink(missing_ok=True)  # an old failure is not this one's
        process = subprocess.run(
            [sys.executable, "-m", "relic.book.execute"],
            input=json.dumps({**job, "build": os.getpid()}),
            text=True,
            errors="replace",
            capture_output=True,
        )
        record = read_record(file) or Record(job["notebook"], FAILED)
        if process.returncode == 0:
            return True
        if record.status != FAILED or not record.error:  # it could not even write its record
            record.status = FAILED
            last = (process.stderr.strip().splitlines() or ["no message"])[-1]
            record.error = f"the process ended with status {process.returncode}: {last}"
            record.write(file)
        return TaskFailed(record.failure)

    return action
