"""Rooms and layers: imports go one way, without cycles (DESIGN)."""

import ast
from pathlib import Path

from relic import paths

LAYERS = ["base", "data", "measure", "judge", "records", "chapters", "auditing", "book", "commands"]
BASE = {"relic.errors", "relic.paths", "relic.numbers", "relic.provenance", "relic.whole"}
SHOWN = {"relic.page"}  # what a page shows: above judge, below chapters
TOP = {"relic", "relic.cli"}  # the list of public names, and the command line


def modules() -> dict[str, Path]:
    found = {}
    for file in paths.PACKAGE.rglob("*.py"):
        parts = list(file.relative_to(paths.PACKAGE.parent).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imports(name: str, file: Path, known: set[str]) -> set[str]:
    """Modules of ours that a module imports, in functions too."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {each for each in inside if each in known} or {node.module}
            if {a for a in inside if a not in known}:
                found.add(node.module)
    return {each for each in found if each in known and each != name}


def layer(name: str) -> float:
    if name in BASE:
        return 0
    if name in SHOWN:
        return LAYERS.index("records") + 0.5
    room = name.split(".")[1]
    return LAYERS.index(room) if room != "auditing" else LAYERS.index("chapters") + 0.5


def test_imports_go_one_way():
    known = modules()
    wrong = [
        f"{name} imports {other}"
        for name, file in known.items()
        if name not in TOP
        for other in imports(name, file, set(known)) - TOP
        if layer(other) > layer(name)
    ]
    assert wrong == []


def test_no_cycles():
    known = modules()
    graph = {n: imports(n, f, set(known)) - TOP for n, f in known.items() if n not in TOP}
    done, path = set(), []

    def visit(name: str) -> None:
        assert name not in path, " → ".join([*path[path.index(name) :], name])
        if name in done:
            return
        path.append(name)
        for other in sorted(graph[name]):
            visit(other)
        path.pop()
        done.add(name)

    for name in graph:
        visit(name)


def test_the_package_stays_thin():
    lines = {n: len(f.read_text(encoding="utf-8").splitlines()) for n, f in modules().items()}
    core = sum(n for name, n in lines.items() if name.split(".")[1:2] in (["data"], ["measure"], ["judge"]))  # fmt: skip
    assert core <= 3550  # a ratchet: 3,700 before
    assert sum(lines.values()) <= 11_500  # a ratchet: 12,600 before
    assert len(list(paths.PACKAGE.glob("*.py"))) <= 12


def lines_of_code(file: Path) -> list[tuple[int, str]]:
    """Lines that say something: no blanks, comments, imports or lone brackets."""
    text = file.read_text(encoding="utf-8")
    imports = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Import | ast.ImportFrom)]
    left_out = {at for node in imports for at in range(node.lineno, node.end_lineno + 1)}
    lines = [(at, line.strip()) for at, line in enumerate(text.splitlines(), 1)]
    return [
        (at, s) for at, s in lines if at not in left_out and s[:1] != "#" and s.strip("()[]{}, ")
    ]


def test_no_block_stands_twice():
    longest = 8
    places, twice = {}, []
    for name, file in modules().items():
        lines = lines_of_code(file)
        for start in range(len(lines) - longest):
            block = tuple(text for _, text in lines[start : start + longest + 1])
            place = f"{name}:{lines[start][0]}"
            twice += [f"{place} and {places[block]}"] if block in places else []
            places.setdefault(block, place)
    assert twice == []
