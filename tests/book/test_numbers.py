"""Numbers of the book's pages: each page names what there is, and all there is gets named."""

import html
import re
from functools import partial
from unittest import mock

import nbformat
import numpy as np
import pandas as pd
import pytest
import yaml

import relic.page
from relic import paths
from relic.book import book
from relic.numbers import GIVEN
from relic.records import evidence, runs
from relic.records.runs import UNCHANGED, read_recorded

KNOWN = {"claim2": {"gender": {"word": "supported", "number": "1.4"}}, "cost": {"hours": "7"}}


def numbers(executed) -> dict:
    """What the notebook of numbers gives."""
    shown = mock.Mock()
    with mock.patch.object(relic.page, "display", shown):
        executed(book.NUMBERS, "page.provenance")
    raw = [call.args[0] for call in shown.call_args_list if call.kwargs.get("raw")]
    return {group: values for each in raw for group, values in each[GIVEN].items()}


@pytest.fixture(scope="module")
def computed(executed):
    return numbers(executed)


def flat(tree: dict, before: str = "") -> dict[str, object]:
    numbers = {}
    for key, value in tree.items():
        numbers |= (
            flat(value, f"{before}{key}.") if isinstance(value, dict) else {before + key: value}
        )
    return numbers


def named(page: str) -> set[str]:
    """What a page's substitutions name; what is shown as code does not count."""
    plain = re.sub(r"^```.*?^```|`[^`\n]*`", "", page, flags=re.M | re.S)
    return {name.strip() for name in re.findall(r"{{(.*?)}}", plain)}


def test_every_page_of_the_book_names_what_there_is_and_all_of_it(computed):
    pages = [
        named(page.read_text(encoding="utf-8"))
        for page in paths.BOOK.glob("*.md")
        if page.name != "status.md"
    ]
    shown, there = set().union(*pages), set(flat(computed))
    assert shown - there == {f"about.{name}" for name in ("version", "date", "repository", "doi")}
    assert {".".join(name.split(".")[:2]) for name in there - shown} <= {
        ".".join(name.split(".")[:2]) for name in shown
    }, "values that no page names"


def test_every_value_is_text_without_a_hole(computed):
    for key, value in flat(computed).items():
        assert isinstance(value, str), key
        assert value.strip(), key
        assert "\n" not in value, key
        shown = re.sub(r"base64,[\w+/=]+|<svg.*?</svg>", "", value)
        assert not re.search(r"\bnan\b|\bNone\b|<NA>|(?<!\w)-\d", html.unescape(shown)), key


def test_numbers_reach_the_configuration(tmp_path):
    cell = nbformat.v4.new_code_cell(
        outputs=[
            nbformat.v4.new_output("display_data", {"text/html": "<p>seen</p>"}),
            nbformat.v4.new_output("display_data", {GIVEN: KNOWN}),
        ]
    )
    page = nbformat.v4.new_notebook(cells=[cell, nbformat.v4.new_markdown_cell("text")])
    assert book.given(page) == KNOWN
    assert [list(o["data"]) for o in page["cells"][0]["outputs"]] == [["text/html"]]
    config = tmp_path / "_config.yml"
    config.write_text("title: x\nparse: {myst_enable_extensions: [substitution]}")
    book.fill(tmp_path, KNOWN)
    parse = yaml.safe_load(config.read_text())["parse"]
    assert parse["myst_enable_extensions"] == ["substitution"]
    assert KNOWN.items() <= parse["myst_substitutions"].items()
    assert parse["myst_substitutions"]["about"]["version"] == relic.__version__


# -- a rebuild beside the record ------------------------------------------------------------------


def test_own_runs_beside_recorded_ones():
    known = read_recorded().query("classifier == 'linear' and side == 'model'").head(3)
    own = known.assign(score=known["score"] + [0.0, -0.5, 0.25])
    own.loc[own.index[0], "fingerprint"] = "other"
    other = own.assign(seed=-1)
    table = book.beside_record(pd.concat([own, other]), known)
    assert table["runs"].sum() == 3
    assert table["on the same captions"].sum() == 2
    assert table["largest difference"].max() == pytest.approx(0.5)
    assert {"fingerprint", "code"}.isdisjoint(UNCHANGED)


def test_no_own_runs(tmp_path, monkeypatch):
    monkeypatch.setenv(paths.RUNS_SETTING, str(tmp_path))
    assert book.rebuilt() == ""


# -- a changed record -----------------------------------------------------------------------------


def forget() -> None:
    """What is read of results/ is kept for the process."""
    evidence.ours.cache_clear()
    runs._read.cache_clear()


@pytest.mark.slow
def test_every_estimate_on_the_first_pages_follows_the_record(computed, executed, monkeypatch):
    """Numbers of index and found are computed: another record gives other ones."""
    shaken = np.random.default_rng(0)

    def reread(read, file, *options, **named) -> pd.DataFrame:
        frame = read(file, *options, **named)
        if str(paths.RESULTS) in str(file):
            for name in frame.select_dtypes("float").columns.difference(["gain"]):
                frame[name] += shaken.normal(5, 20, len(frame))
        return frame

    for name in ("read_csv", "read_parquet"):
        monkeypatch.setattr(pd, name, partial(reread, getattr(pd, name)))
    changed = []
    for _ in range(2):  # one digit may come out the same by chance, hardly twice
        forget()
        changed.append(flat(numbers(executed)))
    forget()
    before = flat(computed)
    pages = [(paths.BOOK / name).read_text(encoding="utf-8") for name in ("index.md", "found.md")]
    estimates = {
        key
        for page in pages
        for key in named(page) & set(before)
        if re.search(r"\d\.\d|\d %", before[key]) and not key.startswith(("papers.", "landing."))
    }
    assert len(estimates) > 30
    assert [k for k in sorted(estimates) if all(now[k] == before[k] for now in changed)] == []
