"""Compile the book: stage sources and executed notebooks, run Jupyter Book, publish in one step."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml
from doit.exceptions import TaskFailed

from relic import paths
from relic.book.depends import files
from relic.book.execute import read_record
from relic.book.pages import notebook_page, status_page
from relic.book.runner import Step
from relic.errors import RelicError

STATUS_PAGE = "status.md"


def book_step(profile: str, directory: Path, notebooks: dict[str, dict]) -> Step:
    """Compile when a source, an executed notebook, its record or a value of the pages changed."""
    sources = [
        p for p in sorted(paths.BOOK.rglob("*")) if p.is_file() and paths.BUILD not in p.parents
    ]
    executed = [
        p
        for n in notebooks
        for e in (".json", ".ipynb", ".failed.ipynb")
        if (p := directory / f"{n}{e}").exists()
    ]
    declared = [paths.RESULTS / "grid.yml", paths.RESULTS / "provenance.json"]
    declared = [p for p in [*declared, paths.ROOT / "CITATION.cff"] if p.exists()]
    return Step(
        name="book",
        action=lambda: compile_book(profile, directory, list(notebooks)),
        files=[*sources, *executed, *declared, *files("import relic.book.book")],
        values={"profile": profile, "notebooks": list(notebooks)},
        targets=[paths.HTML / "index.html"],
    )


def fill(stage: Path) -> None:
    """Put the values that pages name into the stage's configuration, for MyST to substitute."""
    pages = {p.name: p.read_text(encoding="utf-8") for p in stage.glob("*.md")}
    if not any("{{" in text for text in pages.values()):
        return
    from relic.book import values  # seconds: only for a book that names values

    found = values.values()
    values.check(pages, found)
    file = stage / "_config.yml"
    config = yaml.safe_load(file.read_text(encoding="utf-8"))
    config["parse"]["myst_substitutions"] = found
    file.write_text(yaml.safe_dump(config, allow_unicode=True, width=10**9), encoding="utf-8")


def compile_book(profile: str, directory: Path, notebooks: list[str]) -> bool:
    """Build the book from a clean stage and swap it in; the old one stays until then."""
    stage, made = paths.BUILD / "stage", paths.BUILD / "made"
    for old in (stage, made):
        shutil.rmtree(old, ignore_errors=True)
    shutil.copytree(paths.BOOK, stage, ignore=shutil.ignore_patterns("_build"))
    records = {name: read_record(directory / f"{name}.json") for name in notebooks}
    for name in notebooks:
        page = stage / "notebooks" / f"{name}.ipynb"
        page.parent.mkdir(exist_ok=True)
        page.write_text(json.dumps(notebook_page(name, directory, records[name])), encoding="utf-8")
    try:
        fill(stage)
    except RelicError as error:
        return TaskFailed(str(error))
    (stage / STATUS_PAGE).write_text(status_page(profile, records), encoding="utf-8")
    if problem := jupyter_book(stage, made):
        return TaskFailed(problem)
    publish(made / "_build" / "html")
    shutil.rmtree(made, ignore_errors=True)
    return True


def jupyter_book(stage: Path, made: Path) -> str:
    """Run Jupyter Book with warnings as errors; returns what it complained about."""
    log = paths.BUILD / "book.log"
    script = (
        "from relic.book.execute import die_with_parent; "
        f"die_with_parent({os.getpid()}); from jupyter_book.cli.main import main; main()"
    )
    command = [sys.executable, "-c", script, "build", str(stage), "--path-output", str(made)]
    command += ["-W", "-n", "--keep-going"]
    with log.open("w", encoding="utf-8") as stream:
        done = subprocess.run(command, stdout=stream, stderr=subprocess.STDOUT, cwd=paths.BUILD)
    text = re.sub(r"\x1b\[[0-9;]*m", "", log.read_text(encoding="utf-8", errors="replace"))
    if done.returncode == 0 and (made / "_build" / "html" / "index.html").exists():
        return ""
    lines = [line for line in text.splitlines() if re.search("WARNING|ERROR|Error|error:", line)]
    lines = (lines or text.splitlines()[-5:])[:20]
    found = ["the book did not compile without warnings:", *lines, f"all: {os.path.relpath(log)}"]
    return "\n  ".join(found)


def publish(made: Path) -> None:
    """Put the new book in the old one's place: two renames, no half-copied book."""
    old = paths.BUILD / "old"
    shutil.rmtree(old, ignore_errors=True)
    if paths.HTML.exists():
        os.replace(paths.HTML, old)
    os.replace(made, paths.HTML)
    shutil.rmtree(old, ignore_errors=True)


def check_contents(notebooks: list[str]) -> None:
    """Every notebook is in the table of contents, and every page there exists or will be made."""
    try:
        contents = yaml.safe_load((paths.BOOK / "_toc.yml").read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise RelicError(f"book/_toc.yml: {error}") from error
    listed = set(re.findall(r"(?:file|root): (\S+)", yaml.safe_dump(contents)))
    made = {f"notebooks/{name}" for name in notebooks} | {Path(STATUS_PAGE).stem}
    missing = sorted(made - listed - {Path(STATUS_PAGE).stem})
    absent = sorted(f for f in listed - made if not (paths.BOOK / f"{f}.md").exists())
    if missing or absent:
        raise RelicError(
            f"book/_toc.yml: {', '.join(missing + absent)}",
            expected="every notebook listed, and every page listed to exist",
        )
