"""Run what is out of date, several steps at a time, with reasons and progress.

A step's record says what the step rested on when it last ran: files by content, plain values by name.
It is written whole when the step ends, so that a killed build loses at most the steps at work.
"""

import sys
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from tqdm import tqdm

from relic import paths
from relic.book.execute import OK, read_record


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
            told = f"runs: {why}" if why else "skipped: nothing changed since it last ran"
            print(f"  {name}: {told}", flush=True)
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
                for each in done:
                    each.result()  # a mistake of ours is raised here
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
