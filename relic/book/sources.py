"""Links from a page to the source of the functions that its cells use."""

import ast
import inspect
import pkgutil
from html import escape
from pathlib import Path

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from relic import paths

FOLDER = "_static/source"  # of the book: highlighted copies of the modules that pages link to


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


def links(code: str) -> dict[str, str]:
    """Where in the book each function of relic that code names can be read."""
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except SyntaxError:  # a notebook that failed need not even parse
        return {}
    imported = {"relic": "relic"}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "relic":
            imported |= {n.asname or n.name: f"{node.module}.{n.name}" for n in node.names}
    found = {}
    for shown in {ast.unparse(n) for n in nodes if isinstance(n, ast.Name | ast.Attribute)}:
        head, dot, rest = shown.partition(".")
        if where := head in imported and place(imported[head] + dot + rest):
            found[shown] = where
    return dict(sorted(found.items()))


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
