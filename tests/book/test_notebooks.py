"""Notebook sources: thin, clean, parameterised, and in the book."""

import ast
import io
import re
import tokenize
from pathlib import Path
from statistics import median

import nbformat
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LONGEST, USUAL = 20, 5  # lines of a cell: at most, median


@pytest.fixture(params=NOTEBOOKS, ids=lambda file: file.stem)
def file(request):
    return request.param


@pytest.fixture
def notebook(file):
    return nbformat.read(file, as_version=4)


@pytest.fixture
def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.fixture
def parameters(code):
    tagged = [cell for cell in code if "parameters" in cell.metadata.get("tags", [])]
    assert len(tagged) == 1
    return tagged[0].source


def test_there_are_notebooks():
    assert NOTEBOOKS


def test_it_is_a_valid_notebook(notebook):
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"


def test_it_is_committed_without_outputs(code):
    assert [c.id for c in code if c.outputs or c.execution_count is not None] == []


def test_it_begins_with_a_title_and_has_only_one(notebook):
    first = notebook.cells[0]
    assert first.cell_type == "markdown"
    assert re.match(r"# \S", first.source)
    text = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    assert len(re.findall(r"^# ", text, re.M)) == 1


def test_it_says_something_before_the_first_code(notebook):
    _, *rest = notebook.cells[0].source.split("\n", 1)
    assert rest
    assert rest[0].strip()


def test_its_parameters_are_annotated_and_commented(parameters):
    comments = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(parameters).readline)
        if token.type == tokenize.COMMENT
    }
    statements = ast.parse(parameters).body
    assert statements
    for statement in statements:
        assert isinstance(statement, ast.AnnAssign), ast.unparse(statement)
        assert statement.value is not None, ast.unparse(statement)
        assert comments.get(statement.end_lineno), f"no comment: {ast.unparse(statement)}"


def test_every_parameter_is_read(code, parameters):
    names = {statement.target.id for statement in ast.parse(parameters).body}
    rest = [ast.parse(c.source) for c in code if c.source != parameters]
    read = {
        node.id
        for tree in rest
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    assert names - read == set()


def test_papermill_has_a_help_text_for_each_parameter(file, parameters):
    import papermill

    inspected = papermill.inspect_notebook(str(file))
    names = [statement.target.id for statement in ast.parse(parameters).body]
    assert list(inspected) == names
    assert [
        n for n in names if not inspected[n]["help"] or inspected[n]["inferred_type_name"] == "None"
    ] == []


def test_the_parameters_come_before_any_other_code(code):
    assert "parameters" in code[0].metadata.get("tags", [])


def test_it_defines_no_class_and_no_long_function(code):
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    nodes = [n for c in code for n in ast.walk(ast.parse(c.source)) if isinstance(n, kinds)]
    assert [n.name for n in nodes if isinstance(n, ast.ClassDef)] == []
    assert {n.name: size for n in nodes if (size := n.end_lineno - n.lineno + 1) > 15} == {}


def test_cells_are_short(code, parameters):
    sizes = {c.id: len(c.source.splitlines()) for c in code if c.source != parameters}
    assert {name: size for name, size in sizes.items() if size > LONGEST} == {}
    assert median(sizes.values()) <= USUAL


def test_it_names_no_absolute_path(code):
    texts = [
        node.value
        for cell in code
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert [text for text in texts if re.match(r"/\w|~|[A-Za-z]:[\\/]|file:", text)] == []


def test_it_installs_and_calls_nothing_of_the_shell(code):
    assert [c.id for c in code if re.search(r"^\s*[%!]", c.source, re.M)] == []


def test_it_makes_a_page_of_its_own_name(file, code):
    """CSV files are named after the page."""
    pages = re.findall(r"relic\.Page\(\"([^\"]*)\"", "\n".join(c.source for c in code))
    assert pages == [file.stem]


def test_it_ends_with_its_provenance(notebook):
    last = notebook.cells[-1]
    assert last.cell_type == "code"
    assert re.fullmatch(r"page\.provenance\(.*\)", last.source.strip())


def test_it_is_in_the_book(file):
    def pages(tree):
        if isinstance(tree, dict):
            own = [tree["file"]] if "file" in tree else []
            return own + [page for value in tree.values() for page in pages(value)]
        return [page for branch in tree for page in pages(branch)] if isinstance(tree, list) else []

    contents = yaml.safe_load((ROOT / "book" / "_toc.yml").read_text())
    assert pages(contents).count(f"notebooks/{file.stem}") == 1


def test_every_profile_names_parameters_that_exist():
    """The build checks it too, but only for the profile that is built."""
    from relic.book.profiles import load_profile, notebooks

    profiles = sorted(file.stem for file in (ROOT / "params").glob("*.yml"))
    assert {"record", "embedded", "smoke", "cpu", "paper"} <= set(profiles)
    for profile in profiles:
        assert list(load_profile(profile, notebooks())) == [file.stem for file in NOTEBOOKS]
