"""Pages the build makes: executed notebooks as pages, and the status of the build."""

import json
import time
from datetime import UTC, datetime
from pathlib import Path

from tqdm import tqdm

from relic import paths
from relic.book.execute import FAILED, OK, Record

NOT_RUN = """{title}

:::{{warning}}
This page {state} in this build. `./run_all.sh --only {name}` runs it.
:::"""

FAILURE = """:::{{danger}} This page failed
{error}

What it shows ends there.
:::"""

STATUS = """# Status of this build

Profile `{profile}`, compiled {now} UTC. {summary}

{shared}

| notebook | status | seconds |
|---|---|---:|
{rows}

{failures}

## Runs of this machine beside the recorded ones

{rebuilt}

{parameters}

Notebooks together: {total} of computing. The first table comes from the build's own records, because
papermill's metadata calls a cell that timed out, or whose kernel died, completed.
"""


def notebook_page(name: str, directory: Path, record: Record | None) -> dict:
    """The executed notebook as a page: injected cell and progress bars out, failure on top."""
    status = record.status if record else None
    file = directory / f"{name}{'.failed' if status == FAILED else ''}.ipynb"
    if status not in (OK, FAILED) or not file.exists():
        return _placeholder(name, status)
    page = json.loads(file.read_text(encoding="utf-8"))
    added = {"injected-parameters", "papermill-error-cell-tag"}
    page["cells"] = [c for c in page["cells"] if not added & set(c["metadata"].get("tags", []))]
    for cell in page["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = [o for o in cell["outputs"] if o.get("name") != "stderr"]
    if status == FAILED:
        title = next(
            (i for i, c in enumerate(page["cells"]) if "".join(c["source"])[:2] == "# "), -1
        )
        page["cells"].insert(title + 1, _markdown(FAILURE.format(error=literal(record.failure))))
    return page


def _placeholder(name: str, status: str | None) -> dict:
    """A page for a notebook without a result, under the notebook's own title."""
    source = json.loads((paths.NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))
    lines = [line for cell in source["cells"] for line in "".join(cell["source"]).splitlines()]
    title = next((line for line in lines if line.startswith("# ")), f"# {name}")
    state = "failed before its first cell" if status == FAILED else "was not run"
    text = NOT_RUN.format(title=title, state=state, name=name)
    page = {"metadata": source["metadata"], "nbformat": 4, "nbformat_minor": 5}
    return {"cells": [_markdown(text)], **page}


def _markdown(text: str) -> dict:
    return {"cell_type": "markdown", "id": "relic-added", "metadata": {}, "source": text}


def status_page(profile: str, records: dict[str, Record | None]) -> str:
    """Markdown of the run-status page, from our records."""
    ran = sum(record is not None and record.status == OK for record in records.values())
    bad = [record for record in records.values() if record and record.status == FAILED]
    summary = (
        "All notebooks ran." if ran == len(records) else f"{ran} of {len(records)} notebooks ran."
    )
    return STATUS.format(
        profile=profile,
        now=f"{datetime.now(UTC):%Y-%m-%d %H:%M}",
        summary=f"**{len(bad)} of {len(records)} notebooks failed.**" if bad else summary,
        shared=_shared([record for record in records.values() if record]),
        rebuilt=_rebuilt(),
        parameters=_parameters(records),
        rows="\n".join(_row(name, record) for name, record in records.items()),
        failures="\n\n".join(f":::{{danger}} {r.notebook}\n{literal(r.failure)}\n:::" for r in bad),
        total=tqdm.format_interval(sum(r.seconds for r in records.values() if r)),
    )


def _shared(records: list[Record]) -> str:
    """When, at which commit and on which data the notebooks ran; mostly the same for all."""
    if not records:
        return ""
    started = sorted(time.strftime("%Y-%m-%d %H:%M", time.gmtime(r.started)) for r in records)
    commits = dict.fromkeys(f"`{r.commit}`" + (" with changes" if r.dirty else "") for r in records)
    data = dict.fromkeys(f"`{r.data[:12]}`" for r in records)
    return f"Started between {started[0]} and {started[-1]} UTC; commit {', '.join(commits)}; data {', '.join(data)}."


def _parameters(records: dict[str, Record | None]) -> str:
    """What each notebook was run with: a list, which a narrow screen can show."""
    given = {
        name: ", ".join(f"{k} = {v}" for k, v in record.parameters.items())
        for name, record in records.items()
        if record and record.parameters
    }
    lines = [f"- {name}: {literal(text)}" for name, text in given.items()]
    return "\n".join(["## Parameters", "", *lines]) if lines else ""


def _rebuilt() -> str:
    """How far runs of this machine's store on the real captions lie from the recorded ones."""
    nothing = "Nothing was trained here on the real captions: what pages show is the record."
    if not any(paths.runs().glob("*")):
        return nothing
    from relic.book.values import rebuilt

    return rebuilt() or nothing


def _row(name: str, record: Record | None) -> str:
    words = {None: "not run", OK: "✓ ok", FAILED: "✗ failed"}
    said = words.get(record and record.status, "interrupted")
    return f"| [{name}](notebooks/{name}.ipynb) | {said} | {f'{record.seconds:.1f}' if record else ''} |"


def literal(text: str) -> str:
    """Text that Markdown shows as it is: in a code span nothing but a backtick has a meaning."""
    return "`" + text.replace("`", "'").replace("\n", " ") + "`"
