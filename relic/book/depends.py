"""What a notebook rests on: the modules that it imports, directly or not, and the records they read.

Found by reading the source, not by running it. `relic.name` counts as an import of the module that
`relic/__init__.py` takes the name from, and a text such as "relic.measure.classifiers.linear:Linear"
as one of the module it names, because that is how classifiers are loaded.
"""

import ast
import json
import re
from functools import cache
from itertools import accumulate
from pathlib import Path

import relic
from relic import paths

CODE = (".py", ".pyc")  # all else in a module's directory is data that it may read
RUNS = ("runs.csv", "outcomes.parquet", "grid.yml", "provenance.json")
READS_RUNS = "relic.records.runs"
READERS = ("read_table", "read_record", "write_record")


def notebook_files(notebook: Path, *places: Path) -> list[Path]:
    """Files under `package` and `results` that a notebook rests on."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
    return files(code, *places)


def files(code: str, package: Path = paths.PACKAGE, results: Path = paths.RESULTS) -> list[Path]:
    """The same for any code."""
    names, records = _read(code, package)
    known: set[str] = set()
    while names:
        name = names.pop()
        known.add(name)
        imported, read = module_reads(_file(name, package), package)
        names |= imported - known
        records |= read
    found = {_file(name, package) for name in known}
    found |= {f for module in list(found) for f in _data_beside(module, package)}
    found |= {results / f for f in RUNS if READS_RUNS in known and (results / f).exists()}
    found |= {f for name in records for f in (results / name).glob("*.csv")}
    return sorted(found)


@cache
def module_reads(file: Path, package: Path) -> tuple[frozenset[str], frozenset[str]]:
    """Modules that a file imports, and records it names."""
    if file == package / "__init__.py":  # its table of names is followed name by name
        return frozenset(), frozenset()
    return tuple(map(frozenset, _read(file.read_text(encoding="utf-8"), package)))


def _read(code: str, package: Path) -> tuple[set[str], set[str]]:
    """Modules of the package that code imports, anywhere in it, and records that it names."""
    asked, records = [], set()
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Import():
                asked += [alias.name for alias in node.names]
            case ast.ImportFrom(module=str() as module):
                asked += [f"{module}.{alias.name}" for alias in node.names]
            case ast.Attribute(value=ast.Name(id="relic"), attr=name):
                asked.append(f"relic.{name}")
            case ast.Constant(value=str() as text) if re.match(r"relic(\.\w+)+:\w+$", text):
                asked.append(text.split(":")[0])
            case ast.Assign(targets=[target], value=value):
                pairs = zip(getattr(target, "elts", [target]), getattr(value, "elts", [value]))  # noqa: B905
                records |= {v.value for t, v in pairs if getattr(t, "id", "") == "RECORD"}
            case ast.Call(func=function, args=[ast.Constant(value=str() as text), *_]):
                called = getattr(function, "attr", getattr(function, "id", ""))
                records |= {text} if called in READERS else set()
    ours = [name for name in asked if name.split(".")[0] == "relic"]
    return {module for name in ours for module in _modules(name, package)}, records


def _modules(name: str, package: Path) -> set[str]:
    """The module that a dotted name lies in, and the packages around it."""
    home = getattr(relic, "_PLACE", {}).get(name.removeprefix("relic."), name)
    found = accumulate(home.split("."), "{}.{}".format)
    return {module for module in found if _file(module, package).exists()}


def _file(module: str, package: Path) -> Path:
    place = package.joinpath(*module.split(".")[1:])
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


def _data_beside(module: Path, package: Path) -> list[Path]:
    """Data files in a module's directory and in directories below that are no packages."""
    if module.parent == package:
        return []
    below = [d for d in module.parent.iterdir() if d.is_dir() and not (d / "__init__.py").exists()]
    return [
        f
        for d in (module.parent, *below)
        for f in d.glob("*")
        if f.is_file() and f.suffix not in CODE
    ]
