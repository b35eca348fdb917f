"""`python -m relic.build`: what ./run_all.sh does once the environment is there."""

import os
import sys
from pathlib import Path

from relic import paths
from relic.build import book, options
from relic.build.progress import Progress
from relic.build.runner import Step, notebook_action, run
from relic.data.load import corpus_choice
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
    sets = [*(["corpus=real"] if chosen.data else []), *chosen.sets]
    available = notebooks()
    complete = load_profile(chosen.profile, available, sets)
    wanted = load_profile(chosen.profile, available, sets, chosen.only)
    if chosen.workers > 1:  # two kernels with two threads each would slow each other down
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ["RELIC_PROFILE"] = chosen.profile
    directory = paths.profile_build(chosen.profile)
    directory.mkdir(parents=True, exist_ok=True)
    Progress.directory = directory
    flags = {"keep_going": chosen.keep_going, "fresh": chosen.fresh, "why": chosen.why}
    steps = notebook_steps(wanted, directory, chosen.timeout)
    print(f"profile {chosen.profile}: {len(steps)} notebooks", file=sys.stderr)
    failures = run(steps, workers=chosen.workers, **flags)
    for message in failures.values():
        print(f"FAILED  {message}", file=sys.stderr)
    if failures:
        look = [f"  look at {directory.relative_to(paths.ROOT)}/{n}.failed.ipynb" for n in failures]
        print("\n".join(look), file=sys.stderr)
        if not chosen.keep_going:
            print("no book is published over a failed run (--keep-going would)", file=sys.stderr)
            return 1
    step = book.book_step(chosen.profile, directory, complete)
    problems = run([step], workers=1, **flags)
    for message in problems.values():
        print(f"FAILED  {message}", file=sys.stderr)
    if problems:
        return 1
    where = os.path.relpath(paths.HTML)
    print(f"the book: {where}/index.html   serve it: python3 -m http.server --directory {where}")
    return 1 if failures else 0


def notebook_steps(wanted: dict[str, dict], directory: Path, timeout: int) -> list[Step]:
    """A step for each notebook, keyed on source, parameters, relic code, lock and data."""
    code = [
        file
        for file in sorted(paths.PACKAGE.rglob("*"))
        if file.suffix in (".py", ".yml", ".csv") and file.parent != paths.PACKAGE / "build"
    ]
    source, fingerprints = commit(), {"embedded": "embedded"}
    steps = []
    for name, parameters in wanted.items():
        which = corpus_choice(parameters.get("corpus", "embedded"))
        if which == "real" and which not in fingerprints:
            data = paths.real_data()
            fingerprints[which] = directory_fingerprint(data) if data else "none"
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
                files=[paths.NOTEBOOKS / f"{name}.ipynb", paths.ROOT / "requirements.lock", *code],
                values={
                    "parameters": parameters,
                    "data": fingerprints[which],
                    "in": directory.name,
                },
                targets=[directory / f"{name}.ipynb", directory / f"{name}.json"],
            )
        )
    return steps


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
