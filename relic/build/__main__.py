"""`python -m relic.build`: what ./run_all.sh does once the environment is there."""

import contextlib
import fcntl
import os
import sys
from functools import partial
from pathlib import Path

from relic import paths
from relic.build import book, options
from relic.build.execute import read_record
from relic.build.progress import Progress
from relic.build.runner import Step, notebook_action, run
from relic.data.load import corpus_choice, real_directory
from relic.data.upstream import directory_fingerprint
from relic.errors import RelicError
from relic.profiles import load_profile, notebooks
from relic.provenance import commit


def main(arguments: list[str]) -> int:
    """Execute, compile, say where the book is. 1: a notebook failed; 2: wrong options."""
    chosen = options.parse(arguments)
    try:
        return build(chosen)
    except RelicError as error:
        print(f"run_all.sh: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nrun_all.sh: stopped; the same command continues", file=sys.stderr)
        return 130


def build(chosen) -> int:
    """The whole build."""
    if chosen.data:
        os.environ[paths.DATA_SETTING] = str(Path(chosen.data).resolve())
    elif data := paths.real_data():
        os.environ[paths.DATA_SETTING] = str(data)  # notebooks run in another directory
        if not data.is_dir():
            raise RelicError(
                f"{paths.DATA_SETTING}: no directory {data}", mend=f"relic data fetch {data}"
            )
    sets = [*(["corpus=real"] if chosen.data else []), *chosen.sets]
    available = notebooks()
    complete = load_profile(chosen.profile, available, sets)
    wanted = load_profile(chosen.profile, available, sets, chosen.only)
    book.check_contents(list(available))
    if chosen.workers > 1:  # two kernels with two threads each would slow each other down
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ["RELIC_PROFILE"] = chosen.profile
    directory = paths.profile_build(chosen.profile)
    directory.mkdir(parents=True, exist_ok=True)
    with one_build_at_a_time(paths.BUILD / "lock"):
        return execute_and_compile(chosen, wanted, complete, directory)


def execute_and_compile(chosen, wanted: dict, complete: dict, directory: Path) -> int:
    """Notebooks, then the book."""
    Progress.directory = directory
    flags = {"keep_going": chosen.keep_going, "fresh": chosen.fresh, "why": chosen.why}
    steps = notebook_steps(wanted, directory, chosen.timeout)
    count = f"{len(steps)} notebook{'' if len(steps) == 1 else 's'}"
    print(f"profile {chosen.profile}: {count}", file=sys.stderr)
    failures = run(steps, directory, workers=chosen.workers, **flags)
    for message in failures.values():
        print(f"FAILED  {message}", file=sys.stderr)
    if failures:
        kept = [f for n in failures if (f := directory / f"{n}.failed.ipynb").exists()]
        for file in kept:
            print(f"  look at {os.path.relpath(file)}", file=sys.stderr)
        if not chosen.keep_going:
            print("no book is published over a failed run (--keep-going would)", file=sys.stderr)
            return 1
    step = book.book_step(chosen.profile, directory, complete)
    problems = run([step], paths.BUILD, workers=1, **flags)
    for message in problems.values():
        print(f"FAILED  {message}", file=sys.stderr)
    if problems:
        return 1
    where = os.path.relpath(paths.HTML)
    print(f"the book: {where}/index.html   serve it: python3 -m http.server --directory {where}")
    return 1 if failures else 0


@contextlib.contextmanager
def one_build_at_a_time(file: Path):
    """Two builds would overwrite each other's state. The system frees the lock of a dead process."""
    with file.open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            busy = "another build of this checkout is running"
            raise RelicError(busy, mend="wait for it, or stop it") from error
        yield


def notebook_steps(wanted: dict[str, dict], directory: Path, timeout: int) -> list[Step]:
    """A step for each notebook, keyed on source, parameters, code, lock, records and data."""
    code = [
        file
        for file in sorted(paths.PACKAGE.rglob("*"))
        if file.suffix in (".py", ".yml", ".csv") and file.parent != paths.PACKAGE / "build"
    ]
    records = [f for f in sorted(paths.RESULTS.rglob("*")) if f.suffix in (".csv", ".parquet")]
    source, fingerprints = commit(), {"embedded": "embedded"}
    steps = []
    for name, parameters in wanted.items():
        which = corpus_choice(parameters.get("corpus", "embedded"))
        if which == "real" and which not in fingerprints:
            fingerprints[which] = directory_fingerprint(real_directory())
        about = {"parameters": parameters, "data": fingerprints[which], **source}
        job = {
            "notebook": name,
            "source": str(paths.NOTEBOOKS / f"{name}.ipynb"),
            "directory": str(directory),
            "timeout": timeout,
            "about": about,
        }
        steps.append(
            Step(
                name=name,
                action=notebook_action(job),
                files=[
                    paths.NOTEBOOKS / f"{name}.ipynb",
                    paths.ROOT / "requirements.lock",
                    *code,
                    *records,
                ],
                values={
                    "parameters": parameters,
                    "data": fingerprints[which],
                    "in": directory.name,
                },
                targets=[directory / f"{name}.ipynb", directory / f"{name}.json"],
                changes=partial(changes, directory / f"{name}.json", about),
            )
        )
    return steps


def changes(file: Path, about: dict) -> list[str]:
    """How parameters and data differ from those of the last execution, in words."""
    record = read_record(file)
    if record is None:
        return ["never ran"]
    told = [
        f"parameter {name}: {record.parameters.get(name)!r} before, {value!r} now"
        for name, value in about["parameters"].items()
        if record.parameters.get(name) != value
    ]
    told += [
        "parameter gone: " + name for name in record.parameters if name not in about["parameters"]
    ]
    return told + (["the data changed"] if record.data != about["data"] else [])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
