"""Links from a page to the source of the functions that its cells use; nothing is imported for it."""

import ast
import re
from html import escape
from pathlib import Path

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

import relic
from relic import paths

FOLDER = "_static/source"  # of the book: highlighted copies of the modules that pages link to


def _file(module: str) -> Path | None:
    base = paths.ROOT / Path(*module.split("."))
    return next((f for f in (base.with_suffix(".py"), base / "__init__.py") if f.exists()), None)


def _imported(tree: ast.AST) -> dict[str, str]:
    """Names that code imports of relic, and what they stand for."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "relic":
            found |= {n.asname or n.name: f"{node.module}.{n.name}" for n in node.names}
        elif isinstance(node, ast.Import):
            found |= {n.name: n.name for n in node.names if n.name == "relic"}
    return found


def place(name: str) -> str | None:
    """File and line where a function or class is defined, re-exports followed.

    >>> place("relic.lic_score").split("#")[0]
    'relic/measure/score.py.html'
    """
    module, _, own = name.rpartition(".")
    if module == "relic" and own in relic._PLACE:
        module = relic._PLACE[own]
    file = _file(module) if module else None
    if file is None:
        return None
    text = file.read_text(encoding="utf-8")
    if match := re.search(rf"^(?:def|class) {own}\b", text, re.M):
        line = text.count("\n", 0, match.start()) + 1
        return f"{file.relative_to(paths.ROOT).as_posix()}.html#L-{line}"
    onward = _imported(ast.parse(text)).get(own)
    return place(onward) if onward and onward != name else None


def links(code: str) -> dict[str, str]:
    """Where in the book each function of relic that code names can be read."""
    try:
        tree = ast.parse(code)
    except SyntaxError:  # a notebook that failed need not even parse
        return {}
    known, named = _imported(tree), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in known:
            named[node.id] = known[node.id]
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) in known:
            named[ast.unparse(node)] = f"{known[ast.unparse(node.value)]}.{node.attr}"
    return {shown: where for shown in sorted(named) if (where := place(named[shown]))}


def link(stage: Path, code: str) -> str:
    """HTML that lists them, for the end of a page (empty: none); their modules are put into the book."""
    anchor = '<a href="../{}/{}"><code>{}</code></a>'.format
    found = links(code)
    for file in {where.split("#")[0] for where in found.values()}:
        target, title = stage / FOLDER / file, file.removesuffix(".html")
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            text = (paths.ROOT / title).read_text(encoding="utf-8")
            form = HtmlFormatter(full=True, title=title, linenos="inline", lineanchors="L")
            target.write_text(highlight(text, PythonLexer(), form), encoding="utf-8")
    shown = ", ".join(anchor(FOLDER, where, escape(name)) for name, where in found.items())
    told = f"Source of the {len(found)} functions that this page uses"
    listed = f'<details class="relic-code"><summary>{told}</summary><p>{shown}</p></details>'
    return listed if found else ""
