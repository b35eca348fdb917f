"""`python -m relic.book`: what ./run_all.sh does once the environment is there."""

import contextlib
import fcntl
import os
import sys
from functools import cache, partial
from pathlib import Path

from relic import paths
from relic.book import book, options
from relic.book.depends import notebook_files
from relic.book.execute import read_record
from relic.book.profiles import load_profile, notebooks
from relic.book.runner import Step, notebook_action, run
from relic.data.load import CHOICES
from relic.data.upstream import directory_fingerprint
from relic.errors import RelicError
from relic.numbers import count
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
    steps = notebook_steps(wanted, directory, chosen.timeout)
    print(f"profile {chosen.profile}: {count(len(steps), 'notebook')}", file=sys.stderr)
    failures = run(steps, directory, chosen, chosen.workers)
    for name, message in failures.items():
        kept = directory / f"{name}.failed.ipynb"
        look = f"\n  look at {os.path.relpath(kept)}" if kept.exists() else ""
        print(f"FAILED  {message}{look}", file=sys.stderr)
    if failures and not chosen.keep_going:
        print("no book is published over a failed run (--keep-going would)", file=sys.stderr)
        return 1
    problems = run([book.book_step(chosen.profile, directory, complete)], paths.BUILD, chosen)
    if problems:
        print(f"FAILED  {problems.popitem()[1]}", file=sys.stderr)
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
    """A step for each notebook, keyed on source, parameters, modules, lock, records and data."""
    source, steps = commit(), []
    for name, parameters in wanted.items():
        notebook, record = paths.NOTEBOOKS / f"{name}.ipynb", directory / f"{name}.json"
        data = data_fingerprint(parameters.get("corpus", "embedded"))
        about = {"parameters": parameters, "data": data, **source}
        job = {"notebook": name, "source": str(notebook), "directory": str(directory)}
        step = Step(
            name=name,
            action=notebook_action(job | {"timeout": timeout, "about": about}),
            files=[notebook, paths.ROOT / "requirements.lock", *notebook_files(notebook)],
            values={"parameters": parameters, "data": data, "in": directory.name},
            targets=[directory / f"{name}.ipynb", record],
            changes=partial(changes, record, about),
        )
        steps.append(step)
    return steps


@cache
def data_fingerprint(corpus: str) -> str:
    """What stands for the captions in a notebook's key; the record's files are keyed by themselves."""
    if corpus not in CHOICES:
        raise RelicError(f"corpus {corpus!r}", expected=f"one of {', '.join(CHOICES)}")
    if corpus == "embedded":
        return "embedded"
    return directory_fingerprint(paths.real_data()) if paths.real_data() else "recorded"


def changes(file: Path, about: dict) -> list[str]:
    """How parameters and data differ from those of the last execution, in words."""
    record = read_record(file)
    if record is None:
        return ["never ran"]
    found = [
        f"parameter {name}: {record.parameters.get(name)!r} before, {value!r} now"
        for name, value in about["parameters"].items()
        if record.parameters.get(name) != value
    ]
    found += [f"parameter gone: {n}" for n in record.parameters if n not in about["parameters"]]
    return found + (["the data changed"] if record.data != about["data"] else [])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
