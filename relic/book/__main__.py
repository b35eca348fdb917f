"""`python -m relic.book`: what ./run_all.sh does once the environment is there."""

import contextlib
import fcntl
import os
import sys
from functools import cache, partial
from pathlib import Path

from relic import paths
from relic.book import book, options
from relic.book.profiles import load_profile, notebooks
from relic.book.steps import Step, execute, notebook_files, resting_on, run
from relic.data.load import CHOICES, directory_fingerprint
from relic.errors import RelicError
from relic.numbers import count


def main(arguments: list[str]) -> int:
    """Execute, compile, say where the book is. 1: a notebook failed; 2: wrong options."""
    chosen = options.parse(arguments)
    try:
        return build(chosen)
    except RelicError as error:
        print(f"run_all.sh: {error}", file=sys.stderr)
        return 2
    except OSError as error:  # a full disk, a directory that cannot be written
        where = f"{error.filename}: " if error.filename else ""
        mend = "mend it, and the same command continues"
        print(f"run_all.sh: {where}{error.strerror}; {mend}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nrun_all.sh: stopped; the same command continues", file=sys.stderr, flush=True)
        os._exit(130)  # without waiting for the notebooks at work; their kernels end with us


def build(chosen) -> int:
    """The whole build."""
    data = Path(chosen.data).resolve() if chosen.data else paths.real_data()
    if data and not data.is_dir():
        found = f"{paths.DATA_SETTING}: no directory {data}"
        raise RelicError(found, mend=f"relic data fetch {data}")
    if data:
        os.environ[paths.DATA_SETTING] = str(data)  # notebooks run in another directory
    if chosen.pdf:
        book.browser()  # an error now, not after the build
    sets = [*(["corpus=real"] if chosen.data else []), *chosen.sets]
    available = notebooks()
    always = {book.NUMBERS} & set(available)  # Markdown pages name its numbers
    only = [*chosen.only, *always] if chosen.only else []
    wanted = load_profile(chosen.profile, available, sets, only)
    book.check_contents(list(available))
    if chosen.workers > 1:  # two kernels with two threads each would slow each other down
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ["RELIC_PROFILE"] = chosen.profile
    directory = paths.PROFILES / chosen.profile
    directory.mkdir(parents=True, exist_ok=True)
    with (paths.BUILD / "lock").open("w") as lock:
        try:  # two builds would overwrite each other's state; the system frees a dead one's lock
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            busy = "another build of this checkout is running"
            raise RelicError(busy, mend="wait for it, or stop it") from error
        for half in (*directory.glob(".*.part"), *directory.glob("*.running.ipynb")):
            half.unlink()  # of a build that was killed
        return execute_and_compile(chosen, wanted, list(available), directory)


def execute_and_compile(chosen, wanted: dict, every: list[str], directory: Path) -> int:
    """Notebooks, then the book."""
    steps = [notebook_step(name, values, directory, chosen) for name, values in wanted.items()]
    steps = [*steps[-1:], *steps[:-1]]  # the last, an audit, takes longest: no core waits for it
    print(f"profile {chosen.profile}: {count(len(steps), 'notebook')}", file=sys.stderr)
    with contextlib.chdir(directory):  # papermill would change it under other notebooks at work
        failures = run(steps, chosen, chosen.workers)
    for name, message in failures.items():
        failed = directory / f"{name}.failed.ipynb"
        look = f"\n  look at {os.path.relpath(failed)}" if failed.exists() else ""
        print(f"FAILED  {message}{look}", file=sys.stderr)
    if failures and not chosen.keep_going:
        print("no book is published over a failed run (--keep-going would)", file=sys.stderr)
        return 1
    problems = run([book.book_step(chosen.profile, directory, every)], chosen)
    if problems:
        print(f"FAILED  {problems.popitem()[1]}", file=sys.stderr)
        return 1
    where = os.path.relpath(paths.HTML)
    print(f"the book: {where}/index.html   serve it: python3 -m http.server --directory {where}")
    if chosen.pdf:
        print(f"printed:  {os.path.relpath(book.print_book())}")
    return 1 if failures else 0


def notebook_step(name: str, parameters: dict, directory: Path, chosen) -> Step:
    """A notebook's step, keyed on source, parameters, modules, lock, records and data."""
    notebook = paths.NOTEBOOKS / f"{name}.ipynb"
    data = data_fingerprint(parameters.get("corpus", "embedded"))
    given = {f"parameter {key}": value for key, value in parameters.items()}
    files = [notebook, paths.ROOT / "requirements.lock", *notebook_files(notebook)]
    rests_on = resting_on(files, given | {"data": data})
    described = {"parameters": parameters, "data": data, "rests_on": rests_on}
    action = partial(execute, name, directory, chosen.timeout, described)
    return Step(name, action, rests_on, directory / f"{name}.json", directory / f"{name}.ipynb")


@cache
def data_fingerprint(corpus: str) -> str:
    """What stands for the captions in a notebook's key; the record's files are keyed by themselves."""
    if corpus not in CHOICES:
        raise RelicError(f"corpus {corpus!r}", expected=f"one of {', '.join(CHOICES)}")
    if corpus == "embedded":
        return "embedded"
    return directory_fingerprint(paths.real_data()) if paths.real_data() else "recorded"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
