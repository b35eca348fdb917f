"""relic.page: what a notebook shows is escaped, complete and can be read without seeing it."""

import base64
import io
import re
import struct

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from relic import page as module
from relic.page import Page, figure_html, provenance_html, table_html
from relic.planted import planted_corpus

EVIL = "<script>alert('x')</script>\"&"
FRAME = pd.DataFrame(
    {
        "captioner": [EVIL, 'SAT, the "second"', "κ"],
        "LIC": [-1.25, 1234.5, float("nan")],
        "images": [10780, -3, 0],
    }
)


@pytest.fixture
def shown(monkeypatch):
    """What a page displays, in order."""
    items = []
    monkeypatch.setattr(module, "display", lambda item: items.append(item.data))
    return items


@pytest.fixture(autouse=True)
def known_commit(monkeypatch):
    monkeypatch.setattr(module.provenance, "commit", lambda: {"commit": "abc123", "dirty": False})


def cells(text: str) -> list[str]:
    return re.findall(r"<td[^>]*>(.*?)</td>", text)


# --- tables -----------------------------------------------------------------------------------


def test_text_of_tables_is_escaped():
    frame = FRAME.rename(columns={"captioner": EVIL})
    text = table_html(frame, f"{EVIL}.csv", EVIL)
    assert "<script" not in text
    assert text.count("&lt;script&gt;") == 4  # caption, file name, heading, cell
    assert f'download="{EVIL}' not in text


def test_numbers_of_tables():
    shown = cells(table_html(FRAME, "x.csv", "caption", decimals=1))
    assert shown[1:3] == ["−1.2", "10,780"]
    assert shown[4:6] == ["1,234.5", "−3"]
    assert shown[7:9] == ["–", "0"]
    assert cells(table_html(FRAME, "x.csv", "caption", decimals=3))[1] == "−1.250"


def test_columns_of_other_kinds():
    frame = pd.DataFrame(
        {
            "vocabulary": pd.array([1491, None], dtype="Int64"),
            "better": [True, False],
            "left out": [None, "x-y"],
        }
    )
    shown = cells(table_html(frame, "x.csv", "caption"))
    assert shown == ["1,491", "yes", "–", "–", "no", "x-y"]


def test_numpy_numbers_in_a_mixed_column():
    values = [np.int64(-1234), np.float64(0.5), np.bool_(True), "text"]
    frame = pd.DataFrame({"mixed": pd.Series(values, dtype=object)})
    assert cells(table_html(frame, "x.csv", "caption")) == ["−1,234", "0.5", "yes", "text"]


def test_numeric_columns_are_marked():
    text = table_html(FRAME, "x.csv", "caption")
    assert '<th class="text">captioner</th><th class="num">LIC</th><th class="num">images' in text


def test_csv_behind_the_link_is_the_frame():
    text = table_html(FRAME, "x.csv", "caption")
    data = re.search(r'href="data:text/csv;base64,([^"]+)"', text).group(1)
    read = pd.read_csv(io.BytesIO(base64.b64decode(data)))
    pd.testing.assert_frame_equal(read, FRAME, check_dtype=False)
    assert 'download="x.csv"' in text


def test_empty_table():
    assert cells(table_html(FRAME.iloc[:0], "x.csv", "nothing")) == []


def test_table_of_a_page(shown):
    page = Page("00_data", {})
    page.table(FRAME, "labels", "Labels")
    page.table(FRAME, "labels", "Labels", folded=True)
    assert 'download="00_data_labels.csv"' in shown[0]
    assert "<details" not in shown[0]
    assert shown[1].startswith("<details")
    assert shown[1].count("<details") == shown[1].count("</details>") == 1


# --- figures ----------------------------------------------------------------------------------


def test_figure_has_size_alt_and_caption():
    figure, _ = plt.subplots(figsize=(4, 3))
    text = figure_html(figure, EVIL, EVIL)
    plt.close(figure)
    assert "<script" not in text
    assert "<figcaption>&lt;script&gt;" in text
    assert re.search(r'alt="&lt;script&gt;alert\(&#x27;x&#x27;\)&lt;/script&gt;&quot;&amp;"', text)
    content = base64.b64decode(re.search(r"base64,([^\"]+)", text).group(1))
    assert content.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", content[16:24])
    assert f'width="{width // 2}" height="{height // 2}"' in text
    assert 300 < width // 2 < 450  # about four inches at 96 dots an inch


def test_figure_of_a_page_is_closed(shown):
    before = plt.get_fignums()
    _, axes = plt.subplots()
    Page("00_data", {}).figure(axes, "a line", "A line")
    assert "<figure" in shown[0]
    assert plt.get_fignums() == before


# --- provenance -------------------------------------------------------------------------------


def test_parameters_are_the_annotated_names(shown):
    notebook = {}
    exec('seeds: list = [0, 12]\nname: str = "<script>"\nrate: float = 0.5\nother = 3', notebook)
    page = Page("00_data", notebook)
    assert page.parameters == {"seeds": [0, 12], "name": "<script>", "rate": 0.5}
    page.provenance()
    [text] = shown
    assert "seeds = [0, 12], name = &#x27;&lt;script&gt;&#x27;, rate = 0.5" in text
    assert "other" not in text
    assert "no corpus" in text


def test_provenance_tells_all_a_result_rests_on(shown, monkeypatch):
    monkeypatch.setenv("RELIC_PROFILE", "smoke")
    corpora = [planted_corpus(name, images=100) for name in ("gender", "age")]
    Page("00_data", {}).provenance(corpora)
    Page("00_data", {}).provenance(corpora[0])
    text, single = shown
    for corpus in corpora:
        assert corpus.fingerprint in text
        assert f"data, {corpus.attribute.name}" in text
    assert corpora[1].fingerprint not in single
    for word in ("abc123", "smoke", "synthetic", "human captions for all 100 images", "numpy"):
        assert word in text
    assert re.search(r"<th>seconds</th><td>\d+\.\d</td>", text)


def test_provenance_says_when_the_source_was_changed(monkeypatch):
    monkeypatch.setattr(module.provenance, "commit", lambda: {"commit": "abc123", "dirty": True})
    assert "abc123 with uncommitted changes" in provenance_html({}, [])


def test_sentences_are_markdown(shown):
    Page("00_data", {}).say("**bold**")
    assert shown == ["**bold**"]
