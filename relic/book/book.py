"""Compile the book: stage sources and executed notebooks, run Jupyter Book, publish in one step."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import yaml
from tqdm import tqdm

from relic import paths
from relic.book import sources
from relic.book.depends import files
from relic.book.execute import FAILED, NOT_RUN, OK, Record, read_record
from relic.book.runner import Step, resting_on
from relic.errors import RelicError

STATUS = "status.md"  # a template, filled with what became of the notebooks
WORDS = {NOT_RUN: "not run", OK: "✓ ok", FAILED: "✗ failed"}
ABSENT = """{title}

:::{{warning}}
This page {state} in this build. `./run_all.sh --only {name}` runs it.
:::"""
FAILURE = """:::{{danger}} {title}
{error}
:::"""
ADDED = {"injected-parameters", "papermill-error-cell-tag"}  # cells of papermill's, by tag


def book_step(profile: str, directory: Path, notebooks: list[str]) -> Step:
    """Compile when a source, an executed notebook, its record or a value of the pages changed."""
    read = [p for p in sorted(paths.BOOK.rglob("*")) if paths.BUILD not in p.parents]
    ends = (".json", ".ipynb", ".failed.ipynb")
    read += [directory / f"{name}{end}" for name in notebooks for end in ends]
    read += [paths.ROOT / "CITATION.cff", *files("import relic.book.book")]
    given = {"profile": profile, "notebooks": notebooks}
    rests_on = resting_on([file for file in read if file.is_file()], given)
    record = paths.BUILD / "book.json"

    def make() -> str:
        try:
            problem = compile_book(profile, directory, notebooks)
        except RelicError as error:
            return str(error)
        if not problem:
            Record("book", OK, rests_on).write(record)
        return problem

    return Step("book", make, rests_on, record, paths.HTML / "index.html")


def compile_book(profile: str, directory: Path, notebooks: list[str]) -> str:
    """Build the book from a clean stage and swap it in; returns what Jupyter Book complained about."""
    stage, made = paths.STAGE, paths.BUILD / "made"
    for old in (stage, made):
        shutil.rmtree(old, ignore_errors=True)
    shutil.copytree(paths.BOOK, stage, ignore=shutil.ignore_patterns("_build"))
    records = {name: read_record(directory / f"{name}.json") for name in notebooks}
    (stage / "notebooks").mkdir()
    for name, record in records.items():
        page = notebook_page(name, directory, record)
        code = [c for c in page["cells"] if c["cell_type"] == "code"]
        linked = sources.link(stage, "\n".join("".join(cell["source"]) for cell in code))
        page["cells"][-1:-1] = [_markdown(linked, "relic-sources")] if linked else []
        (stage / "notebooks" / f"{name}.ipynb").write_text(json.dumps(page), encoding="utf-8")
    fill(stage)
    template = (stage / STATUS).read_text(encoding="utf-8")
    (stage / STATUS).write_text(status_page(template, profile, records), encoding="utf-8")
    problem = jupyter_book(stage, made)
    if not problem:
        publish(made / "_build" / "html")
        shutil.rmtree(made, ignore_errors=True)
    return problem


def fill(stage: Path) -> None:
    """Put the values that pages name into the stage's configuration, for MyST to substitute."""
    if not any("{{" in page.read_text(encoding="utf-8") for page in stage.glob("*.md")):
        return
    from relic.book import values  # seconds: only for a book that names values

    file = stage / "_config.yml"
    config = yaml.safe_load(file.read_text(encoding="utf-8"))
    config["parse"]["myst_substitutions"] = values.values()
    file.write_text(yaml.safe_dump(config, allow_unicode=True, width=10**9), encoding="utf-8")


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
    made = {f"notebooks/{name}" for name in notebooks}
    absent = {f for f in listed - made if not (paths.BOOK / f"{f}.md").exists()}
    if wrong := sorted((made - listed) | absent):
        expected = "every notebook listed, and every page listed to exist"
        raise RelicError(f"book/_toc.yml: {', '.join(wrong)}", expected=expected)


def notebook_page(name: str, directory: Path, record: Record) -> dict:
    """The executed notebook as a page: injected cell and progress bars out, failure on top."""
    failed = record.status == FAILED
    file = directory / f"{name}{'.failed' if failed else ''}.ipynb"
    done = record.status in (OK, FAILED) and file.exists()
    source = file if done else paths.NOTEBOOKS / f"{name}.ipynb"
    page = json.loads(source.read_text(encoding="utf-8"))
    cells = [c for c in page["cells"] if not ADDED & set(c["metadata"].get("tags", []))]
    for cell in cells:
        if cell["cell_type"] == "code":
            cell["outputs"] = [o for o in cell["outputs"] if o.get("name") != "stderr"]
    starts = ["".join(cell["source"]).partition("\n")[0] for cell in cells]
    title = next((i for i, line in enumerate(starts) if line.startswith("# ")), -1)
    if not done:
        state = "failed before its first cell" if failed else "was not run"
        heading = starts[title] if title >= 0 else f"# {name}"
        cells = [_markdown(ABSENT.format(title=heading, state=state, name=name))]
    elif failed:
        told = f"{literal(record.failure)}\n\nWhat it shows ends there."
        cells.insert(title + 1, _markdown(FAILURE.format(title="This page failed", error=told)))
    return page | {"cells": cells}


def _markdown(text: str, name: str = "relic-added") -> dict:
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": text}


def status_page(template: str, profile: str, records: dict[str, Record]) -> str:
    """The status page, from our records."""
    known = [record for record in records.values() if record.status != NOT_RUN]
    bad = [record for record in known if record.status == FAILED]
    ran = sum(record.status == OK for record in known)
    summary = f"{ran} of {len(records)} notebooks ran."
    summary = "All notebooks ran." if ran == len(records) else summary
    given = {r.notebook: ", ".join(f"{k} = {v}" for k, v in r.parameters.items()) for r in known}
    failures = [FAILURE.format(title=r.notebook, error=literal(r.failure)) for r in bad]
    return template.format(
        profile=profile,
        now=f"{datetime.now(UTC):%Y-%m-%d %H:%M}",
        summary=f"**{len(bad)} of {len(records)} notebooks failed.**" if bad else summary,
        shared=_shared(known) if known else "",
        notebooks="\n".join(map(_row, records.values())),
        failures="\n\n".join(failures),
        rebuilt=_rebuilt(),
        parameters="\n".join(f"- {name}: {literal(text)}" for name, text in given.items() if text),
        total=tqdm.format_interval(sum(record.seconds for record in known)),
    )


def _shared(records: list[Record]) -> str:
    """When, at which commit and on which data the notebooks ran; mostly the same for all."""
    started = sorted(time.strftime("%Y-%m-%d %H:%M", time.gmtime(r.started)) for r in records)
    commits = dict.fromkeys(f"`{r.commit}`" + (" with changes" if r.dirty else "") for r in records)
    data = dict.fromkeys(f"`{r.data[:12]}`" for r in records)
    return f"Started between {started[0]} and {started[-1]} UTC; commit {', '.join(commits)}; data {', '.join(data)}."


def _rebuilt() -> str:
    """How far runs of this machine's store on the real captions lie from the recorded ones."""
    nothing = "Nothing was trained here on the real captions: what pages show is the record."
    if not any(paths.runs().glob("*")):
        return nothing
    from relic.book.values import rebuilt

    return rebuilt() or nothing


def _row(record: Record) -> str:
    name, status = record.notebook, WORDS.get(record.status, "interrupted")
    seconds = f"{record.seconds:.1f}" if record.status != NOT_RUN else ""
    return f"| [{name}](notebooks/{name}.ipynb) | {status} | {seconds} |"


def literal(text: str) -> str:
    """Text that Markdown shows as it is: in a code span nothing but a backtick has a meaning."""
    return "`" + text.replace("`", "'").replace("\n", " ") + "`"
