"""relic.page: what a notebook shows is escaped, complete and can be read without seeing it."""

import base64
import html
import io
import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from relic import page as module
from relic.data.planted import planted_corpus
from relic.errors import RelicError
from relic.judge.claims import Verdict
from relic.page import Page, figure_html, table_html

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
    monkeypatch.setattr(
        module, "display", lambda item, **_: items.append(getattr(item, "data", item))
    )
    return items


@pytest.fixture(autouse=True)
def known_commit(monkeypatch):
    monkeypatch.setattr(module.provenance, "commit", lambda: {"commit": "abc123", "dirty": False})


def cells(text: str) -> list[str]:
    return re.findall(r"<td[^>]*>(.*?)</td>", text)


# --- numbers for other pages ------------------------------------------------------------------


def test_numbers_are_given_as_they_are_shown(shown):
    page = Page("90_numbers", {})
    page.give(
        "lic", {"race": {"mean": (-0.04, -1.0, 2.5), "splits": 1200}, "box": "<p>x</p>"}, "Invented"
    )
    block, table, given = shown
    assert cells(table) == ["mean", "0.0 [−1.0, 2.5]", "splits", "1,200"]
    assert "lic.race</th>" in table
    assert "Table 90.1. Invented: numbers of the group lic." in table
    assert block == "<p>x</p>"
    numbers = {"race": {"mean": "0.0 [−1.0, 2.5]", "splits": "1,200"}, "box": "<p>x</p>"}
    assert given == {module.GIVEN: {"lic": numbers}}


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
    kinds = re.findall(r'<th scope="col" class="(\w+)">(\w+)</th>', text)
    assert kinds == [("text", "captioner"), ("num", "LIC"), ("num", "images")]


LIC = pd.DataFrame(
    {
        "captioner": ["NIC", "SAT"],
        "attribute": "gender",
        "seen": "all",
        "lic": [1.84, -0.04],
        "low": [0.9, np.nan],
        "high": [2.8, np.nan],
        "seeds": 10,
    }
)


def test_an_interval_shares_the_cell_of_its_estimate():
    text = table_html(LIC, "x.csv", "caption")
    assert re.findall(r"<th [^>]*>(.*?)</th>", text) == ["captioner", "lic"]
    assert cells(text) == ["NIC", "1.8 [0.9, 2.8]", "SAT", "0.0"]


def test_what_all_rows_share_goes_into_the_caption():
    said = re.search(r"<caption><span>(.*?) <a", table_html(LIC, "x.csv", "LIC, COCO")).group(1)
    assert said == "LIC, COCO (gender, 10 splits)"
    assert "(10 splits)" in table_html(LIC, "x.csv", "LIC for gender")  # not said twice
    one = table_html(LIC.head(1), "x.csv", "LIC")
    assert "gender" in cells(one)


def test_an_interval_of_its_own_name():
    frame = pd.DataFrame({"a": [1.0], "a low": [0.5], "a high": [1.5], "low": [3.0]})
    assert cells(table_html(frame, "x.csv", "caption")) == ["1.0 [0.5, 1.5]", "3.0"]


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


def test_figure_is_drawn_with_alt_and_caption():
    figure, axes = plt.subplots(figsize=(4, 3))
    axes.plot([0, 1], color="black")
    text = figure_html(figure, EVIL, EVIL)
    plt.close(figure)
    assert "<script" not in text
    assert "<figcaption>&lt;script&gt;" in text
    assert re.search(r'<svg role="img" [^>]*aria-label="&lt;script&gt;[^"]*&quot;&amp;"', text)
    width, height = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text).groups())
    assert 1.1 < width / height < 1.5


def test_a_figure_follows_the_theme():
    """Black is the colour of the page's text; white, of markers, that of its ground."""
    figure, axes = plt.subplots()
    axes.plot([0, 1], "o-", color="black", mfc="white")
    axes.set_title("read me")
    text = figure_html(figure, "a line", "A line")
    plt.close(figure)
    assert "currentColor" in text
    assert 'fill="currentColor"' in text[: text.index(">", text.index("<svg"))]
    (style,) = re.findall(r"<text([^>]*)>read me</text>", text)
    assert "fill" not in style, "it takes the drawing's colour"
    assert "var(--pst-color-background" in text
    assert not re.search("#000000|#ffffff", text)


def test_the_same_figure_is_the_same_text():
    drawn = []
    for _ in range(2):
        figure, axes = plt.subplots()
        axes.plot([0, 1])
        drawn.append(figure_html(figure, "a line", "A line"))
        plt.close(figure)
    assert drawn[0] == drawn[1]


def test_figure_of_a_page_is_closed(shown):
    before = plt.get_fignums()
    _, axes = plt.subplots()
    Page("00_data", {}).figure(axes, "a line", "A line")
    assert "<figure" in shown[0]
    assert plt.get_fignums() == before


# --- verdicts ---------------------------------------------------------------------------------


def test_a_verdict_says_word_claim_number_and_what_it_rests_on(shown):
    verdict = Verdict("LIC > 0 <b>", "refuted", -2.04, -3.0, -1.0, EVIL, 10, 660.0, 0, 9)
    Page("20_x", {}).verdict(verdict, "COCO captions, linear")
    [text] = shown
    assert 'class="relic-verdict refuted"' in text
    assert "<script" not in text
    plain = html.unescape(re.sub("<[^>]*>", "", text))
    for part in (
        "✗ refuted",
        "LIC > 0 <b>",
        "−2.0 [−3.0, −1.0]",
        "surely 0 of 9",
        "COCO captions, linear",
    ):
        assert part in html.unescape(text), part
    assert "10 splits" in plain
    assert "660 test captions" in plain


def test_a_verdict_on_one_split_has_no_interval(shown):
    nothing = float("nan")
    Page("20_x", {}).verdict(Verdict("c", "undecided", 4.2, nothing, nothing, "NIC", 1), "x")
    assert "NIC: 4.2 " in shown[0]
    assert "nan" not in shown[0]


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
    Page("00_data", {}).provenance(*corpora)
    Page("00_data", {}).provenance(corpora[0])
    text, single = shown
    for corpus in corpora:
        assert corpus.fingerprint in text
        assert f">{corpus.attribute.name}, {corpus.name}</th>" in text
    assert corpora[1].fingerprint not in single
    for word in ("abc123", "smoke", "synthetic", "human captions for all 100 images", "numpy"):
        assert word in text
    assert re.search(r">seconds</th><td>\d+\.\d</td>", text)


def test_provenance_says_when_the_source_was_changed(shown, monkeypatch):
    monkeypatch.setattr(module.provenance, "commit", lambda: {"commit": "abc123", "dirty": True})
    Page("00_data", {}).provenance()
    assert "abc123 with uncommitted changes" in shown[0]


def test_sentences_are_markdown(shown):
    Page("00_data", {}).say("**bold** -0.5, `-1`, 1e-5, x-2")
    assert shown == ["**bold** −0.5, `-1`, 1e-5, x-2"]


# --- parameters -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "kind", "fine"),
    [
        ([0], list, True),
        (0, list, False),
        ("gender", list, False),
        (3, float, True),
        ("3", int, False),
    ],
)
def test_a_parameter_of_another_type_is_refused_by_name(value, kind, fine):
    notebook = {"__annotations__": {"seeds": kind}, "seeds": value}
    if fine:
        assert Page("20_x", notebook).parameters == {"seeds": value}
        return
    with pytest.raises(RelicError, match=f"seeds = {value!r}") as error:
        Page("20_x", notebook)
    assert kind.__name__ in error.value.expected


def test_an_empty_list_of_attributes_is_refused_by_name():
    with pytest.raises(RelicError, match=r"attributes = \[\]"):
        Page("20_claim2", {"__annotations__": {"attributes": list}, "attributes": []})
    Page("20_claim2", {"__annotations__": {"seeds": list}, "seeds": []})  # empty: all recorded
