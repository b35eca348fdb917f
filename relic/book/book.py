"""Compile the book: stage sources and executed notebooks, run Jupyter Book, publish, print."""

import ast
import inspect
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import date
from html import escape
from pathlib import Path

import jinja2
import pandas as pd
import yaml
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from tqdm import tqdm

import relic
from relic import paths
from relic.book.steps import FAILED, NOT_RUN, OK, Record, Step, files, read_record, resting_on
from relic.errors import RelicError
from relic.numbers import GIVEN

NUMBERS = "90_numbers"  # the notebook that computes what the Markdown pages name
STATUS = "status.md"  # a template, filled with what became of the notebooks
WORDS = {NOT_RUN: "not run", OK: "✓ ok", FAILED: "✗ failed"}
ABSENT = """{title}

:::{{warning}}
This page {state} in this build. `./run_all.sh --only {name}` runs it.
:::"""
FAILURE = """:::{{danger}} This page failed
{error}

What it shows ends there.
:::"""
ADDED = {"injected-parameters", "papermill-error-cell-tag"}  # cells of papermill's, by tag
SOURCES = "_static/source"  # highlighted copies of the modules that pages link to
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync".split()
QUIET += ["--disable-background-networking", "--disable-component-update"]
READY = 20_000  # milliseconds that a page may take to draw its formulas


def check_contents(notebooks: list[str]) -> None:
    """Every notebook is in the table of contents, and every page there exists or will be made."""
    contents = (paths.BOOK / "_toc.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r"^[^#\n]*\b(?:file|root): (\S+)", contents, re.M))
    made = {f"notebooks/{name}" for name in notebooks}
    absent = {f for f in listed - made if not (paths.BOOK / f"{f}.md").exists()}
    if wrong := sorted((made - listed) | absent):
        expected = "every notebook listed, and every page listed to exist"
        raise RelicError(f"book/_toc.yml: {', '.join(wrong)}", expected=expected)


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
        problem = compile_book(profile, directory, notebooks)
        if not problem:
            Record("book", OK, rests_on).write(record)
        return problem

    return Step("book", make, rests_on, record, paths.HTML / "index.html")


def compile_book(profile: str, directory: Path, notebooks: list[str]) -> str:
    """Build the book from a clean stage and swap it in; returns what Jupyter Book complained about."""
    stage, output = paths.STAGE, paths.BUILD / "made"
    for old in (stage, output):
        shutil.rmtree(old, ignore_errors=True)
    shutil.copytree(paths.BOOK, stage, ignore=shutil.ignore_patterns("_build"))
    records = [read_record(directory / f"{name}.json") for name in notebooks]
    (stage / "notebooks").mkdir()
    numbers: dict = {}
    for name, record in zip(notebooks, records, strict=True):
        page = notebook_page(name, directory, record)
        numbers |= given(page)
        code = [c for c in page["cells"] if c["cell_type"] == "code"]
        linked = link(stage, "\n".join("".join(cell["source"]) for cell in code))
        page["cells"][-1:-1] = [_markdown(linked, "relic-sources")] if linked else []
        (stage / "notebooks" / f"{name}.ipynb").write_text(json.dumps(page), encoding="utf-8")
    if NUMBERS in notebooks and not numbers:
        return f"{NUMBERS} gave no numbers, which the Markdown pages name"
    fill(stage, numbers)
    (stage / STATUS).write_text(status_page(profile, records), encoding="utf-8")
    log = paths.BUILD / "book.log"
    with log.open("w", encoding="utf-8") as stream:
        options = ("-W", "-n", "--keep-going")  # warnings are errors
        done = jupyter_book(stage, output, *options, stdout=stream, stderr=subprocess.STDOUT)
    if done.returncode == 0 and (output / "_build" / "html" / "index.html").exists():
        publish(output / "_build" / "html")
        shutil.rmtree(output, ignore_errors=True)
        return ""
    text = re.sub(r"\x1b\[[0-9;]*m", "", log.read_text(encoding="utf-8", errors="replace"))
    lines = [line for line in text.splitlines() if re.search("WARNING|ERROR|Error|error:", line)]
    lines = (lines or text.splitlines()[-5:])[:20]
    problem = ["the book did not compile without warnings:", *lines, f"all: {os.path.relpath(log)}"]
    return "\n  ".join(problem)


def given(page: dict) -> dict:
    """Numbers that an executed notebook gives to the Markdown pages; its outputs of them are taken out."""
    numbers: dict = {}
    for cell in page["cells"]:
        for output in [o for o in cell.get("outputs", []) if GIVEN in o.get("data", {})]:
            numbers |= output["data"][GIVEN]
            cell["outputs"].remove(output)
    return numbers


def fill(stage: Path, numbers: dict) -> None:
    """Put the numbers, and what we are called, into the stage's configuration, for MyST to substitute."""
    file = stage / "_config.yml"
    config = yaml.safe_load(file.read_text(encoding="utf-8"))
    cited = yaml.safe_load((paths.ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    names = {"version": relic.__version__, "date": f"{date.today():%d %B %Y}"}
    names |= {"repository": cited.get("repository-code", "not public yet")}
    names |= {"doi": cited.get("doi", "none yet")}
    config["parse"]["myst_substitutions"] = {"about": names} | numbers
    file.write_text(yaml.safe_dump(config, allow_unicode=True, width=10**9), encoding="utf-8")


def jupyter_book(stage: Path, output: Path, *options: str, **how) -> subprocess.CompletedProcess:
    """Run Jupyter Book in a process that ends with ours."""
    script = (
        "from relic.book.steps import die_with_parent; "
        f"die_with_parent({os.getpid()}); from jupyter_book.cli.main import main; main()"
    )
    command = [sys.executable, "-c", script, "build", str(stage), "--path-output", str(output)]
    return subprocess.run([*command, *options], cwd=paths.BUILD, **how)


def publish(made: Path) -> None:
    """Put the new book in the old one's place: two renames, no half-copied book."""
    old = paths.BUILD / "old"
    shutil.rmtree(old, ignore_errors=True)
    if paths.HTML.exists():
        os.replace(paths.HTML, old)
    os.replace(made, paths.HTML)
    shutil.rmtree(old, ignore_errors=True)


# -- pages ----------------------------------------------------------------------------------------


def notebook_page(name: str, directory: Path, record: Record) -> dict:
    """The executed notebook as a page: injected cell and progress bars out, failure under the title."""
    failed = record.status == FAILED
    file = directory / f"{name}{'.failed' if failed else ''}.ipynb"
    done = record.status in (OK, FAILED) and file.exists()
    source = file if done else paths.NOTEBOOKS / f"{name}.ipynb"
    page = json.loads(source.read_text(encoding="utf-8"))
    cells = [c for c in page["cells"] if not ADDED & set(c["metadata"].get("tags", []))]
    for cell in cells:
        if cell["cell_type"] == "code":
            cell["outputs"] = [o for o in cell["outputs"] if o.get("name") != "stderr"]
    if not done:
        title = "".join(cells[0]["source"]).partition("\n")[0]
        state = "failed before its first cell" if failed else "was not run"
        cells = [_markdown(ABSENT.format(title=title, state=state, name=name))]
    elif failed:
        cells.insert(1, _markdown(FAILURE.format(error=literal(record.failure))))
    return page | {"cells": cells}


def _markdown(text: str, name: str = "relic-added") -> dict:
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": text}


def status_page(profile: str, records: list[Record]) -> str:
    """The status page, from our records, with own runs beside the recorded ones."""
    look = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    look.filters["literal"], look.filters["interval"] = literal, tqdm.format_interval
    look.filters["utc"] = lambda at: time.strftime("%Y-%m-%d %H:%M", time.gmtime(at))
    look.filters["given"] = lambda values: ", ".join(f"{k} = {v}" for k, v in values.items())
    template = look.from_string((paths.BOOK / STATUS).read_text(encoding="utf-8"))
    own = rebuilt() if any(paths.runs().glob("*")) else ""
    shown = {"profile": profile, "records": records, "rebuilt": own}
    return template.render(now=time.time(), words=WORDS, **shown)


def rebuilt() -> str:
    """A table of this machine's runs beside recorded ones of the same description; empty: none."""
    from relic.measure.runs import Store  # seconds, which a build without own runs need not wait
    from relic.page import table_html
    from relic.records.runs import own_frame, read_recorded

    own = own_frame(Store(paths.runs()))
    table = beside_record(own, read_recorded()) if len(own) else own
    caption = "Runs on COCO captions that this machine's store and the record both have: largest difference of their scores, points."
    return table_html(table, "rebuilt.csv", caption, 3) if len(table) else ""


def beside_record(own: pd.DataFrame, recorded: pd.DataFrame) -> pd.DataFrame:
    """How far scores of runs that were described alike lie apart, by kind of run."""
    from relic.records.runs import UNCHANGED

    both = own.merge(recorded, on=UNCHANGED, suffixes=("", " recorded"))
    both["difference"] = (both["score"] - both["score recorded"]).abs()
    both["same"] = both["fingerprint"] == both["fingerprint recorded"]
    kinds = both.groupby(["attribute", "classifier", "split", "side"], as_index=False)
    table = kinds.agg(runs=("difference", "size"), same=("same", "sum"), most=("difference", "max"))
    return table.rename(columns={"same": "on the same captions", "most": "largest difference"})


def literal(text: str) -> str:
    """Text that Markdown shows as it is: in a code span nothing but a backtick has a meaning."""
    return "`" + text.replace("`", "'").replace("\n", " ") + "`"


# -- links to source ------------------------------------------------------------------------------


def link(stage: Path, code: str) -> str:
    """HTML with the source of each function of relic that code names; empty: none.

    Their modules are put into the book.
    """
    anchor = '<a href="../{}/{}"><code>{}</code></a>'.format
    sources = places(code)
    for file in {where.split("#")[0] for where in sources.values()}:
        target, title = stage / SOURCES / file, file.removesuffix(".html")
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            text = (paths.ROOT / title).read_text(encoding="utf-8")
            form = HtmlFormatter(full=True, title=title, linenos="inline", lineanchors="L")
            target.write_text(highlight(text, PythonLexer(), form), encoding="utf-8")
    shown = ", ".join(anchor(SOURCES, where, escape(name)) for name, where in sources.items())
    summary = f"Source of the {len(sources)} functions that this page uses"
    listed = f'<details class="relic-code"><summary>{summary}</summary><p>{shown}</p></details>'
    return listed if sources else ""


def places(code: str) -> dict[str, str]:
    """Where in the book each function of relic that code names can be read."""
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except SyntaxError:  # a notebook that failed need not even parse
        return {}
    imported = {"relic": "relic"}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "relic":
            imported |= {n.asname or n.name: f"{node.module}.{n.name}" for n in node.names}
    defined = {}
    for shown in {ast.unparse(n) for n in nodes if isinstance(n, ast.Name | ast.Attribute)}:
        head, dot, path = shown.partition(".")
        if where := head in imported and place(imported[head] + dot + path):
            defined[shown] = where
    return dict(sorted(defined.items()))


def place(name: str) -> str:
    """Page and line where a function or class is defined; empty for anything else.

    >>> place("relic.lic_score").split("#")[0]
    'relic/measure/score.py.html'
    """
    try:
        named = inspect.unwrap(pkgutil.resolve_name(name))
        file = Path(inspect.getsourcefile(named)).relative_to(paths.ROOT)
        line = inspect.getsourcelines(named)[1]
    except (ImportError, AttributeError, TypeError, ValueError):  # none of ours, or a value
        return ""
    return "" if inspect.ismodule(named) else f"{file.as_posix()}.html#L-{line}"


# -- the book as one PDF --------------------------------------------------------------------------


def browser() -> str:
    """Where Chromium is."""
    installed = list(filter(None, map(shutil.which, BROWSERS)))
    if not installed:
        expected = f"one of {', '.join(BROWSERS)}"
        raise RelicError("--pdf: no Chromium here", expected=expected, mend="apt install chromium")
    return installed[0]


def print_book() -> Path:
    """Sphinx's single page of what was staged, printed by Chromium; neither needs a network."""
    how = {"capture_output": True, "text": True, "errors": "replace"}
    with tempfile.TemporaryDirectory(dir=paths.BUILD) as scratch:
        made, printed = Path(scratch), Path(scratch) / paths.PDF.name
        page = made / "_build" / "singlehtml" / "index.html"
        done = jupyter_book(paths.STAGE, made, "--builder", "singlehtml", **how)
        if page.exists():
            out = [f"--user-data-dir={made / 'browser'}", "--no-pdf-header-footer"]
            out += [f"--virtual-time-budget={READY}", f"--print-to-pdf={printed}", page.as_uri()]
            done = subprocess.run([browser(), *QUIET, *out], **how)
        if not printed.exists():
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise RelicError(f"--pdf: nothing was printed: {last}")
        os.replace(printed, paths.PDF)  # the old one stays until the new one is whole
    return paths.PDF
