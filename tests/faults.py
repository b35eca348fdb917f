"""Faults on purpose: kill -9 at random points, a full disk, a home that is not there, two at once.

    python tests/faults.py [build sweep audit disk home two] [--kills 20] [--seed 0]

Prints a row a fault: how often, what was lost, what was corrupt, what went on running, and whether
the same command finished afterwards. Not a test: a kill needs minutes to be random enough. Nothing
outside a temporary directory is touched; `disk` mounts small file systems there, as root only.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "book")]

from conftest import Project, copy_project  # noqa: E402

from relic.auditing.examples import example_files  # noqa: E402
from relic.measure.runs import Store  # noqa: E402

SETTINGS = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
SETTINGS.pop("RELIC_DATA", None)
RELIC = [sys.executable, "-m", "relic.cli"]


class Count(dict):
    """A row of the table."""

    def __init__(self, fault: str, on: str):
        super().__init__(fault=fault, on=on, times=0, lost=0, corrupt=0, running=0, finished="")


def start(told: list[str], place: Path, **settings: str) -> subprocess.Popen:
    log = (place / "log.txt").open("a")
    return subprocess.Popen(told, cwd=place, env=SETTINGS | settings, stdin=subprocess.DEVNULL,
                            stdout=log, stderr=log, start_new_session=True)  # fmt: skip


def running(group: int) -> bool:
    """Does any process of a group live?"""
    found = subprocess.run(["pgrep", "-g", str(group), "-r", "R,S,D,T"], capture_output=True)
    return bool(found.stdout)


def kill(process: subprocess.Popen, alone: bool) -> int:
    """kill -9 of the process alone, or of its group; 1 when something of it lives on."""
    (os.kill if alone else os.killpg)(process.pid, signal.SIGKILL)
    process.wait()
    until = time.monotonic() + 60  # a child is told when its parent dies, once it has imported
    while running(process.pid) and time.monotonic() < until:
        time.sleep(0.2)
    return int(running(process.pid))


def kills(count: Count, times: int, rng: random.Random, begin, look, longest: float) -> None:
    """`begin()` starts the command, `look(fresh)` tells (lost, corrupt); a finished command begins anew."""
    while count["times"] < times:
        process, until = begin(), time.monotonic() + rng.uniform(0.05, longest)
        while process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        if process.poll() is None:
            count["running"] += kill(process, alone=bool(rng.getrandbits(1)))
            count["times"] += 1
        lost, corrupt = look(process.returncode == 0)
        count["lost"] += lost
        count["corrupt"] += corrupt
        print(f"  {count}", file=sys.stderr)


# -- what each leaves behind ----------------------------------------------------------------------


def broken_json(root: Path) -> int:
    found = 0
    for file in [*root.rglob("*.json"), *root.rglob("*.ipynb")]:
        try:
            json.loads(file.read_text())
        except ValueError:  # what papermill is at work on has a name of its own, and is not read
            found += not file.name.startswith(".") and ".running." not in file.name
    return found


def built(project: Project) -> Project:
    return project.use(n10_quick="quick", n20_slow="slow", n30_quick="quick")


class Build:
    """Builds of specimens; a finished one is followed by one with another parameter."""

    def __init__(self, place: Path):
        self.project, self.round, self.done = built(copy_project(place)), 1, {}

    @property
    def told(self) -> tuple[str, ...]:
        return ("--set", f"images={self.round}", "--set", "seconds=0.3", "--workers", "2")

    def begin(self) -> subprocess.Popen:
        return self.project.start(*self.told)

    def look(self, finished: bool) -> tuple[int, int]:
        said = self.project.log.read_text()  # what the build has called finished is finished
        records = {n: self.project.record(n) for n in ("10_quick", "20_slow", "30_quick")}
        now = {n: r["started"] for n, r in records.items() if r.get("status") == "ok"}
        told = {n: at for n, at in now.items() if f"{n}: " in said}
        lost = sum(now.get(name) != at for name, at in self.done.items())  # done, and done again
        lost += self.round > 1 and not (self.project.html / "index.html").exists()
        self.done = {} if finished else self.done | told
        self.round += finished
        return lost, broken_json(self.project.build)

    def finish(self) -> str:
        result = self.project.run(*self.told, timeout=600)
        left = [
            f for f in self.project.build.rglob("*") if ".part" in f.name or ".running" in f.name
        ]
        return "yes" if result.code == 0 and not left else f"no: {result} {left}"


class Runs:
    """A command that trains runs into a store: none finished may be lost, none be cut short."""

    def __init__(self, place: Path, told: list[str], report: str = ""):
        place.mkdir(parents=True)
        self.place, self.told, self.report, self.known, self.round = place, told, report, {}, 0

    @property
    def store(self) -> Store:
        return Store(self.place / "runs")

    def begin(self) -> subprocess.Popen:
        seeds = ",".join(str(self.round * 4 + k) for k in range(4))
        force = ["--force"] if self.report and self.round else []
        return start([*self.told, "--seeds", seeds, *force], self.place, RELIC_RUNS=str(self.place / "runs"))  # fmt: skip

    def files(self) -> dict[str, int]:
        return {f.name: f.stat().st_mtime_ns for f in self.place.rglob("*.run") if f.name[0] != "."}

    def look(self, finished: bool) -> tuple[int, int]:
        now = self.files()
        lost = sum(now.get(name) != at for name, at in self.known.items())
        self.known, self.round = now, self.round + finished
        stores = [self.store, Store(self.place / "runs" / "audit")]
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            whole = sum(len(store.frame()) for store in stores)
        corrupt = len(told) + (whole != len(now))
        report = self.place / self.report if self.report else None
        if report and self.round and not (report / "report.html").exists():
            lost += 1  # an older report is gone
        if report and report.exists():
            corrupt += broken_json(report)
            html = report / "report.html"
            corrupt += html.exists() and "</html>" not in html.read_text()
        return lost, corrupt

    def finish(self) -> str:
        code = self.begin().wait(600)
        return (
            "yes"
            if code == 0
            else f"no: exit {code}; {(self.place / 'log.txt').read_text()[-500:]}"
        )


def sweeping(place: Path) -> Runs:
    told = ["sweep", "--corpus", "embedded", "--corpus-images", "400", "--workers", "2"]
    return Runs(place, [*RELIC, *told])


def auditing(place: Path, files: dict) -> Runs:
    told = ["audit", files["captions"][2], "--labels", files["labels"], "--human", files["human"]]
    return Runs(place, [*RELIC, *told, "--no-accuracy", "--out", "out"], "out")


MAKERS = {"build": lambda place, _: Build(place), "sweep": lambda place, _: sweeping(place), "audit": auditing}  # fmt: skip


# -- the faults -----------------------------------------------------------------------------------


def killed(name: str, place: Path, files: dict, times: int, rng: random.Random) -> Count:
    about, count = MAKERS[name](place / name, files), Count("kill -9", name)
    began = time.monotonic()
    first = about.begin()
    first.wait(600)  # once undisturbed: how long it takes
    about.look(first.returncode == 0)
    kills(count, times, rng, about.begin, about.look, time.monotonic() - began)
    return count | {"finished": about.finish()}


def full_disk(name: str, place: Path, files: dict) -> Count:
    """A file system of 40 kB for what it writes; then a larger one and the same command."""
    about, count = MAKERS[name](place / name, files), Count("disk full", name)
    disk = about.project.build if name == "build" else about.place / "runs"
    disk.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40k", "tmpfs", disk], check=True)
    try:
        code = about.begin().wait(600)
        log = about.project.log if name == "build" else about.place / "log.txt"
        said = log.read_text()
        lost, corrupt = about.look(False)
        lost += code == 0 or "Traceback" in said  # it must fail, and say why
        count |= {"times": 1, "lost": lost, "corrupt": corrupt}
        subprocess.run(["mount", "-o", "remount,size=200m", disk], check=True)
        last = said.strip().splitlines()[-1][:160]
        return count | {"finished": f"{about.finish()}; it said: {last}"}
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def no_home(name: str, place: Path, files: dict) -> Count:
    """A home that nobody can write to, nor make."""
    about, count = MAKERS[name](place / name, files), Count("home read-only", name)
    kept = {key: os.environ.get(key) for key in ("HOME", "XDG_CACHE_HOME")}
    os.environ["HOME"] = SETTINGS["HOME"] = "/proc/nobody"
    try:
        finished = about.finish()
        lost, corrupt = about.look(False)
    finally:
        os.environ["HOME"] = SETTINGS["HOME"] = kept["HOME"] or "/"
    return count | {"times": 1, "lost": lost, "corrupt": corrupt, "finished": finished}


def two(name: str, place: Path, files: dict) -> Count:
    """The same command twice at once: both finish, or one is refused and says so."""
    about, count = MAKERS[name](place / name, files), Count("two at once", name)
    first = about.begin()
    time.sleep(0.5)
    if name == "build":
        second = about.project.run(*about.told, timeout=600).code
    else:
        second = about.begin().wait(600)
    codes = sorted([first.wait(600), second])
    lost, corrupt = about.look(False)
    count |= {"times": 1, "lost": lost + (codes[0] != 0), "corrupt": corrupt}
    return count | {"finished": f"exit codes {codes[0]} and {codes[1]}"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "faults", nargs="*", default=["build", "sweep", "audit", "disk", "home", "two"]
    )
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng, rows = random.Random(given.seed), []
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        files = example_files("gender", 400, "embedded")
        for fault in given.faults:
            at = place / fault
            at.mkdir()
            if fault in MAKERS:
                rows.append(killed(fault, at, files, given.kills, rng))
            else:
                make = {"disk": full_disk, "home": no_home, "two": two}[fault]
                rows += [make(name, at, files) for name in MAKERS]
            print(f"{rows[-3:]}", file=sys.stderr)
    print("| fault | of | times | lost | corrupt | still running | the same command finished |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        print("| " + " | ".join(str(row[key]) for key in row) + " |")


if __name__ == "__main__":
    main()
