"""relic.book.steps: which modules and records a notebook rests on."""

import json

import pytest

import relic
from relic import paths
from relic.book.steps import files, notebook_files

PACKAGE = {
    "__init__.py": "",
    "page.py": "from relic.data import load",
    "data/__init__.py": "",
    "data/load.py": "def late():\n    import relic.data.deep.er",
    "data/words.yml": "",
    "data/lists/more.csv": "",
    "data/deep/__init__.py": "",
    "data/deep/er.py": 'TABLE = {"linear": "relic.fit.linear:Linear"}',
    "data/deep/own.yml": "",
    "fit/__init__.py": "",
    "fit/linear.py": "",
    "audit/__init__.py": "",
    "audit/main.py": "import relic\nrelic.Page",
    "chapters/__init__.py": "",
    "chapters/named.py": 'RECORD, PART = "first", "x"\nimport relic.records.runs',
    "chapters/read.py": 'def f():\n    return tables.read_table("second", "part")',
    "records/__init__.py": "",
    "records/runs.py": "",
}
RESULTS = ("runs.csv", "outcomes.parquet", "first/a.csv", "second/part.csv", "third/b.csv")


@pytest.fixture
def found(tmp_path, monkeypatch):
    """What code rests on in a small package, by path."""
    monkeypatch.setattr(relic, "_PLACE", {"Page": "relic.page", "audit": "relic.audit.main"})
    package, results = tmp_path / "relic", tmp_path / "results"
    for name, text in PACKAGE.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    for name in RESULTS:
        (results / name).parent.mkdir(parents=True, exist_ok=True)
        (results / name).touch()
    return lambda code: (
        {f.relative_to(tmp_path).as_posix() for f in files(code, package, results)}
        - {f"relic/{name}" for name in PACKAGE if name.endswith("__init__.py")}
    )


LOAD = {"relic/data/load.py", "relic/data/words.yml", "relic/data/lists/more.csv"}
DEEP = {"relic/data/deep/er.py", "relic/data/deep/own.yml", "relic/fit/linear.py"}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x = 1", set()),
        ("import pandas", set()),
        ("import relic", set()),
        ("import relic.data.deep.er", DEEP | (LOAD - {"relic/data/load.py"})),
        ("from relic.data import load", LOAD | DEEP),
        ("from relic import Page", {"relic/page.py"} | LOAD | DEEP),
        ("import relic\npage = relic.Page()", {"relic/page.py"} | LOAD | DEEP),
        ("import relic\nrelic.audit()", {"relic/audit/main.py", "relic/page.py"} | LOAD | DEEP),
        ("from relic.chapters import read", {"relic/chapters/read.py", "results/second/part.csv"}),
        (
            "from relic.chapters import named",
            {"relic/chapters/named.py", "relic/records/runs.py", "results/first/a.csv"}
            | {"results/runs.csv", "results/outcomes.parquet"},
        ),
        ('read_table("third", "b")', {"results/third/b.csv"}),
    ],
)
def test_modules_and_records(found, code, expected):
    assert found(code) == expected


def test_a_notebook_rests_on_its_code_cells(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": "import relic.whole"},
        {"cell_type": "code", "source": ["import relic.errors\n", "x = 1"]},
    ]
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": cells}))
    names = [f.name for f in notebook_files(tmp_path / "n.ipynb")]
    assert names == ["__init__.py", "errors.py"]


def test_a_page_that_trains_rests_on_every_classifier():
    """Their modules are named in a table and imported when one is made."""
    names = {f.name for f in notebook_files(paths.NOTEBOOKS / "20_claim2_amplification.ipynb")}
    assert {"linear.py", "lstm.py", "bert.py"} <= names


@pytest.mark.parametrize("file", sorted(paths.NOTEBOOKS.glob("*.ipynb")), ids=lambda f: f.stem)
def test_only_the_audit_rests_on_the_audits_code(file):
    audits = [f for f in notebook_files(file) if paths.PACKAGE / "auditing" in f.parents]
    assert bool(audits) == (file.stem == "80_your_captions")
    assert not [f for f in notebook_files(file) if paths.PACKAGE / "book" in f.parents]


def test_every_data_file_of_the_package_has_a_notebook_or_the_book_that_rests_on_it():
    """A template or list that changed must not leave a stale page."""
    known = {f for notebook in paths.NOTEBOOKS.glob("*.ipynb") for f in notebook_files(notebook)}
    known |= set(files("import relic.book.book"))
    data = {f for f in paths.PACKAGE.rglob("*") if f.is_file() and f.suffix not in (".py", ".pyc")}
    data -= set((paths.PACKAGE / "commands").iterdir())  # what a command prints is on no page
    assert data - known == set()
