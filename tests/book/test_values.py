"""Values of the book's pages: each page names what there is, and all there is gets named."""

import html
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
import yaml

from relic import paths
from relic.book import book, values
from relic.errors import RelicError
from relic.judge.claims import REFUTED, SUPPORTED, UNDECIDED
from relic.records import evidence, runs
from relic.records.runs import UNCHANGED, read_recorded

KNOWN = {"claim2": {"gender": {"word": "supported", "number": "1.4"}}, "cost": {"hours": "7"}}


@pytest.fixture(scope="module")
def computed():
    return values.values()


def flat(tree: dict, before: str = "") -> dict[str, object]:
    found = {}
    for key, value in tree.items():
        found |= (
            flat(value, f"{before}{key}.") if isinstance(value, dict) else {before + key: value}
        )
    return found


def test_every_page_of_the_book_names_what_there_is_and_all_of_it(computed):
    values.check({p.name: p.read_text(encoding="utf-8") for p in paths.BOOK.glob("*.md")}, computed)


def test_every_value_is_text_without_a_hole(computed):
    for key, value in flat(computed).items():
        assert isinstance(value, str), key
        assert value.strip(), key
        assert "\n" not in value, key
        shown = re.sub(r"base64,[\w+/=]+|<svg.*?</svg>", "", value)
        assert not re.search(r"\bnan\b|\bNone\b|<NA>|(?<!\w)-\d", html.unescape(shown)), key


def test_an_unknown_key_is_named_with_its_page():
    pages = {
        "a.md": "{{ cost.hours }} {{ claim2.gender.word }}",
        "b.md": "x {{ claim2.gendr.word }}",
    }
    with pytest.raises(
        RelicError, match=r"book/b\.md: unknown value 'claim2\.gendr\.word'"
    ) as error:
        values.check(pages, KNOWN)
    assert "claim2.gender.number" in error.value.expected


@pytest.mark.parametrize("text", ["{{ hours }}", "{{ cost }}", "{{ cost.hour }}"])
def test_other_ways_to_name_nothing(text):
    with pytest.raises(RelicError, match="unknown value"):
        values.check({"a.md": text}, KNOWN)


def test_an_unused_value_is_named():
    with pytest.raises(RelicError, match=r"names the value cost\.hours"):
        values.check({"a.md": "{{ claim2.gender.word }}"}, KNOWN)
    values.check({"a.md": "{{ claim2.gender.word }}", "b.md": "{{ cost.hours }}"}, KNOWN)


def test_values_reach_the_configuration(tmp_path, monkeypatch):
    (tmp_path / "_config.yml").write_text(
        "title: x\nparse: {myst_enable_extensions: [substitution]}"
    )
    monkeypatch.setattr(values, "values", lambda: KNOWN)
    (tmp_path / "index.md").write_text("# Nothing named")
    book.fill(tmp_path)
    assert "myst_substitutions" not in (tmp_path / "_config.yml").read_text()
    (tmp_path / "index.md").write_text("{{ cost.hours }} {{ claim2.gender.number }}")
    book.fill(tmp_path)
    parse = yaml.safe_load((tmp_path / "_config.yml").read_text())["parse"]
    assert parse == {"myst_enable_extensions": ["substitution"], "myst_substitutions": KNOWN}
    (tmp_path / "index.md").write_text("{{ cost.ours }}")
    with pytest.raises(RelicError, match=r"index\.md.*cost\.ours"):
        book.fill(tmp_path)


# -- verdicts -------------------------------------------------------------------------------------


def cell(claim, attribute, word, estimate, low, high) -> dict:
    return {"source": "recorded", "claim": claim, "attribute": attribute, "classifier": "linear", "word": word,
            "estimate": estimate, "low": low, "high": high, "whose": "NIC", "n_test": 660.4, "seeds": 10,
            "surely": 1, "captioners": 1}  # fmt: skip


@pytest.mark.parametrize(
    ("claim", "attribute", "numbers", "word"),
    [
        ("2", "gender", (2, 0.5, 3.5), "supported"),
        ("2", "gender", (2, -1, 5), "undecided"),
        ("2", "gender", (-0.1, -1, 1), "not supported"),
        ("2", "race", (3, float("nan"), float("nan")), "undecided"),
        ("4", "gender", (0.5, -1, 2), "undecided"),
        ("4", "race", (0.2, -0.4, 0.8), "supported"),
        ("4", "race", (0.2, -2, 3), "undecided"),
        ("4", "age", (2.1, -9.5, 13.7), "not supported"),
    ],
)
def test_the_former_rule(claim, attribute, numbers, word):
    assert values.former_word(pd.Series(cell(claim, attribute, UNDECIDED, *numbers))) == word


def test_what_the_present_rule_changed():
    frame = pd.DataFrame([
        cell("1", "gender", UNDECIDED, 0.1, -1, 1),  # another number then
        cell("2", "gender", SUPPORTED, 2, 1, 3),
        cell("2", "race", UNDECIDED, -0.1, -1, 1),
        cell("4", "gender", REFUTED, -2, -3, -1),
    ])  # fmt: skip
    found = values.former_rule(frame)
    assert {k: found[k] for k in ("cells", "moved", "to_undecided", "to_refuted")} == {
        "cells": 3, "moved": 2, "to_undecided": 1, "to_refuted": 1}  # fmt: skip
    assert found["changed"].count("<tr>") == 1 + 2


def test_the_matrix_has_a_row_a_claim_and_its_classifiers():
    frame = pd.DataFrame(
        [cell("2", "gender", SUPPORTED, 2, 1, 3), cell("2", "gender", UNDECIDED, 2, -1, 3)]
    )
    frame["classifier"] = ["linear", "lstm"]
    assert "✓ linear; ? lstm" in values.matrix(frame)


def test_what_was_not_judged_says_so(computed):
    assert computed["claim2"]["gender"].keys() == values.ABSENT.keys()
    assert (
        values._verdict(pd.DataFrame([cell("2", "race", SUPPORTED, 2, 1, 3)]), "2", "age")
        == values.ABSENT
    )


# -- a rebuild beside the record ------------------------------------------------------------------


def test_own_runs_beside_recorded_ones():
    known = read_recorded().query("classifier == 'linear' and side == 'model'").head(3)
    own = known.assign(score=known["score"] + [0.0, -0.5, 0.25])
    own.loc[own.index[0], "fingerprint"] = "other"
    other = own.assign(seed=-1)
    table = values.beside_record(pd.concat([own, other]), known)
    assert table["runs"].sum() == 3
    assert table["on the same captions"].sum() == 2
    assert table["largest difference"].max() == pytest.approx(0.5)
    assert {"fingerprint", "code"}.isdisjoint(UNCHANGED)


def test_no_own_runs():
    assert values.beside_record(pd.DataFrame(), read_recorded()).empty


# -- a changed record -----------------------------------------------------------------------------


def forget() -> None:
    """What is read of results/ is kept for the process."""
    evidence.ours.cache_clear()
    runs._read.cache_clear()


@pytest.mark.slow
def test_every_estimate_on_the_first_pages_follows_the_record(computed, monkeypatch):
    """Numbers of index and found are computed: another record gives other ones."""
    shaken = np.random.default_rng(0)

    def reread(read, file, *options, **named) -> pd.DataFrame:
        frame = read(file, *options, **named)
        if str(paths.RESULTS) in str(file):
            for name in frame.select_dtypes("float").columns.difference(["gain"]):
                frame[name] += shaken.normal(5, 5, len(frame))
        return frame

    for name in ("read_csv", "read_parquet"):
        monkeypatch.setattr(pd, name, partial(reread, getattr(pd, name)))
    changed = []
    for _ in range(2):  # one digit may come out the same by chance, hardly twice
        forget()
        changed.append(flat(values.values()))
    forget()
    before = flat(computed)
    pages = [(paths.BOOK / name).read_text(encoding="utf-8") for name in ("index.md", "found.md")]
    estimates = {
        key
        for page in pages
        for key in values.named(page)
        if re.search(r"\d\.\d|\d %", before[key]) and not key.startswith(("papers.", "landing."))
    }
    assert len(estimates) > 30
    assert [k for k in sorted(estimates) if all(now[k] == before[k] for now in changed)] == []
