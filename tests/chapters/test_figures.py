"""Figures: one colour a captioner, and pictures that follow their numbers."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from relic import paths
from relic.chapters import figures, papers
from relic.data.captioners import in_order
from relic.records import evidence
from relic.records.tables import published


def test_the_committed_picture_is_drawn_from_the_published_numbers(tmp_path, monkeypatch):
    papers.record(tmp_path / "now.svg")
    committed = paths.BOOK / "images" / "published_lic.svg"
    assert (tmp_path / "now.svg").read_bytes() == committed.read_bytes(), (
        "relic record picture draws it again"
    )
    other = evidence.papers().assign(lic=lambda table: table["lic"] + 1)
    monkeypatch.setattr(papers, "papers", lambda: other)
    papers.record(tmp_path / "other.svg")
    assert (tmp_path / "other.svg").read_bytes() != committed.read_bytes()


def test_a_captioner_keeps_its_colour_and_marker_in_whatever_company():
    names = in_order(published("captioners")["captioner"])
    few = figures.captioner_looks(["OSCAR", "Human"])
    many = figures.captioner_looks([*names, "mine", "Human"])
    assert few["OSCAR"] == many["OSCAR"]
    assert len({tuple(look.values()) for look in many.values()}) == 11
    assert many["Human"]["color"] == figures.HUMAN_COLOUR


@pytest.mark.parametrize("ground", ["#ffffff", "#121212", "#14181e"])
def test_marks_stand_out_on_a_light_and_on_a_dark_page(ground):
    def light(colour: str) -> float:
        parts = np.array(to_rgb(colour))
        linear = np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722]) + 0.05

    for colour in (*figures.PALETTE, "grey"):
        one, other = sorted([light(colour), light(ground)])
        assert other / one >= 3, colour


def test_the_scale_of_lic_m_starts_at_its_floor():
    table = pd.DataFrame({"captioner": ["NIC"], "lic_model": [40.0], "low": [39.0], "high": [41.0]})
    axes = figures.forest(table, value="lic_model", xlabel="LIC_M, percent", zero=None)
    assert axes.get_xlim()[0] == 25


def test_papers_are_told_apart_by_classifier_unless_ours_are_theirs():
    table = pd.DataFrame({"captioner": ["NIC"], "lic": [2.0], "low": [1.0], "high": [3.0]})
    table["classifier"] = "linear"
    printed = table.assign(lic=3.0, classifier="lstm")
    printed = pd.concat([printed, printed.assign(lic=0.0, classifier="bert-ft")])

    def legend(papers, **options):
        axes = figures.forest(table, papers=papers, **options)
        return [text.get_text() for text in axes.get_legend().get_texts()] if axes.legend_ else []

    apart = ["papers, lstm", "papers, bert-ft", "ours"]
    assert legend(printed) == apart
    assert legend(printed, series="classifier") == [*apart[:2], "linear"]
    assert legend(printed.query("classifier == 'lstm'")) == ["papers", "ours"]
    assert legend(printed.assign(classifier="linear"), series="classifier") == []
    table = pd.concat([table, table.assign(classifier="lstm")])  # nothing is printed of linear
    assert legend(printed, series="classifier") == ["linear", "lstm"]


@pytest.fixture(scope="module")
def card(executed):
    """The data card of a small corpus, up to its last figure."""
    small = {"attributes": ["gender"], "corpus": "embedded", "images": 200}
    return executed("00_data", until="sns.heatmap", **small)


def test_lengths_have_a_line_for_each_captioner_and_humans(card):
    assert list(card["looks"]) == [*card["first"].display_names.values(), "Human, first caption"]


def test_overlap_shows_every_pair_once(card):
    assert len([text for text in card["axes"].texts if text.get_text()]) == 6
