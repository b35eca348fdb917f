"""Computed parts of pages: they follow the evidence."""

import json
import re
import shutil
from dataclasses import replace

import pytest

from relic import claims, evidence, paths
from relic.build import computed
from relic.errors import RelicError
from relic.page import verdict_html
from relic.results import RECORDED


@pytest.fixture(scope="module")
def verdicts():
    return claims.judge_all(evidence.from_per_seed())


def test_matrix_links_each_verdict_to_its_page(verdicts):
    html = computed.matrix(verdicts)
    assert "Türk et al. 2023" in html
    assert "this build" not in html  # no such evidence, no such column
    assert 'href="notebooks/20_claim2_amplification.html"' in html


def test_matrix_follows_a_verdict(verdicts):
    changed = [replace(v, verdict=claims.NOT_SUPPORTED) for v in verdicts]
    assert computed.matrix(changed) != computed.matrix(verdicts)
    assert 'title="supported"' not in computed.matrix(changed)


def test_verdicts_of_a_build_are_read_from_executed_notebooks(tmp_path, verdicts):
    own = replace(verdicts[0], source=evidence.THIS_BUILD, sentence='5 < 6 & "quoted"')
    html = verdict_html(own) + verdict_html(verdicts[1])
    cells = [{"cell_type": "code", "outputs": [{"data": {"text/html": [html]}}]}]
    (tmp_path / "20_x.ipynb").write_text(json.dumps({"cells": cells}))
    assert computed.built(tmp_path) == [own]


def test_marks_are_filled_and_unknown_ones_refused(tmp_path):
    page = tmp_path / "index.md"
    page.write_text("# T\n\n<!-- relic:matrix -->\n")
    computed.fill(tmp_path, tmp_path)
    assert "relic-matrix" in page.read_text()
    page.write_text("<!-- relic:nonsense -->")
    with pytest.raises(RelicError, match="nonsense"):
        computed.fill(tmp_path, tmp_path)


def test_answer_needs_recorded_runs(verdicts):
    assert "No runs" in computed.answer(verdicts)
    ours = [
        replace(v, source=RECORDED, classifier="linear") for v in verdicts if v.classifier == "lstm"
    ]
    assert "Gender **✓ supported**" in computed.answer(ours)


def test_the_lead_follows_both_verdicts_on_amplification():
    found = evidence.gather()
    ours = claims.judge_all(found)
    text = computed.lead(ours, found)
    assert re.match(
        r"For gender: \*\*[\w, ]+\*\* over all captions \(LIC [\d.−]+ to [\d.]+ points, 9 captioners\)",
        text,
    )
    for verdict, words in computed.WORDS.items():
        changed = [replace(v, verdict=verdict) if v.variant == "unseen" else v for v in ours]
        assert f"**{words}** over captions that the classifier did not meet" in computed.lead(
            changed, found
        )
    assert computed.lead([], found) == ""
    answer = computed.answer(ours)
    assert "**Does the classifier matter?** Gender" in answer
    assert (
        "involve RELIC's BERT-pre, trained for 5 epochs at 1e-5 instead of 20 epochs at 5e-5."
        in answer
    )


def test_every_page_of_the_book_can_be_filled(tmp_path):
    for page in paths.BOOK.glob("*.md"):
        shutil.copy(page, tmp_path)
    computed.fill(tmp_path, tmp_path / "none")
    for page in tmp_path.glob("*.md"):
        text = re.sub(r"base64,[\w+/=]+", "", page.read_text(encoding="utf-8"))
        assert "<!-- relic:" not in text
        assert not re.search(r"\bnan\b", text), page.name
