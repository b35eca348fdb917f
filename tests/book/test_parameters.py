"""Every parameter of every notebook changes its page: each is set to another value, and the page is made again.

Pages are made in this process, cell by cell. The provenance block, which lists the parameters, does not
count. A page is made until it differs, so that most of these take a part of a second.
"""

import ast
import json
import os
from itertools import zip_longest
from pathlib import Path
from unittest import mock

import nbformat
import pytest
import yaml

import relic.page
from relic import paths
from relic.book.profiles import notebook_parameters
from relic.errors import RelicError

VARIED = yaml.safe_load(Path(__file__).with_name("parameters.yml").read_text(encoding="utf-8"))
PAIRS = [(name, parameter) for name, given in VARIED.items() for parameter in given["to"]]


@pytest.fixture(scope="module", autouse=True)
def made_pages(tmp_path_factory):
    """The record, the embedded corpus, and a store of runs that these tests share."""
    settings = {paths.DATA_SETTING: "", "RELIC_RUNS": str(tmp_path_factory.mktemp("runs"))}
    with mock.patch.dict(os.environ, settings), mock.patch("tqdm.std.tqdm.display"):
        del os.environ[paths.DATA_SETTING]
        yield


def outputs(name: str, parameters: dict):
    """What a page shows, one after the other, as its cells run; an error of ours is its last."""
    cells = nbformat.read(paths.NOTEBOOKS / f"{name}.ipynb", as_version=4).cells
    code, shown = [ast.parse(cell.source) for cell in cells if cell.cell_type == "code"], []
    space = {"__name__": "__main__"}
    with mock.patch.object(
        relic.page, "display", lambda each, **_: shown.append(str(getattr(each, "data", each)))
    ):
        exec(compile(code[0], name, "exec"), space)
        space |= parameters
        for tree in code[1:-1]:  # between the parameters and the provenance
            last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
            try:
                exec(compile(tree, name, "exec"), space)
                value = last and eval(compile(ast.Expression(last.value), name, "eval"), space)
            except RelicError as error:
                shown.append(str(error))
                yield from shown
                return
            shown += [repr(value)] if value is not None else []
            yield from shown
            shown.clear()


def given(name: str, parameter: str) -> tuple[dict, dict]:
    """Parameters of the page before and after; `with` is what both have besides."""
    to = VARIED[name]["to"][parameter]
    on = VARIED[name].get("all", {}) | (to.get("with", {}) if isinstance(to, dict) else {})
    return on, on | {parameter: to["is"] if isinstance(to, dict) else to}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """A directory of the test's own, with two captions and their labels for 80_your_captions."""
    said = [{"image_id": n, "caption": "a person on a bench"} for n in (1, 2)]
    (tmp_path / "two.json").write_text(json.dumps(said))
    (tmp_path / "two.csv").write_text("image_id,label\n1,Male\n2,Female\n")
    monkeypatch.chdir(tmp_path)


made: dict[str, list[str]] = {}  # pages that several parameters are compared with


@pytest.mark.parametrize(("name", "parameter"), PAIRS)
def test_it_changes_the_page(name, parameter):
    before, after = given(name, parameter)
    key = f"{name} {before}"
    if key not in made:
        made[key] = list(outputs(name, before))
    pairs = zip_longest(made[key], outputs(name, after))
    assert any(old != new for old, new in pairs), f"{name}: {parameter} changes nothing"


@pytest.mark.parametrize(
    "file", sorted(paths.NOTEBOOKS.glob("*.ipynb")), ids=lambda file: file.stem
)
def test_none_is_left_out(file):
    assert set(VARIED.get(file.stem, {"to": {}})["to"]) == set(notebook_parameters(file))


def test_a_page_rests_on_the_splits_that_it_is_given():
    """No figure, table or verdict of claim 2 falls back on all recorded splits."""
    shown = " ".join(outputs("20_claim2_amplification", {"seeds": [0, 12, 100]}))
    assert "3 splits" in shown
    assert "10 splits" not in shown
