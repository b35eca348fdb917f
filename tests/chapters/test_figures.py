"""Figures: one colour a captioner, and pictures that follow their numbers."""

import pandas as pd

from relic import paths
from relic.chapters import datacard, figures
from relic.data.planted import planted_corpus


def test_the_committed_picture_is_drawn_from_the_published_numbers(tmp_path):
    lic = pd.read_csv(paths.PUBLISHED / "lic.csv")
    figures.draw_published(lic, tmp_path / "now.svg")
    committed = paths.BOOK / "images" / "published_lic.svg"
    assert (tmp_path / "now.svg").read_bytes() == committed.read_bytes(), (
        "python -m relic.chapters.figures draws it again"
    )
    changed = lic.assign(mean=lic["mean"] + 1)
    figures.draw_published(changed, tmp_path / "other.svg")
    assert (tmp_path / "other.svg").read_bytes() != committed.read_bytes()


def test_a_captioner_keeps_its_colour_in_whatever_company():
    few, many = (
        figures.captioner_colours(["OSCAR", "Human"]),
        figures.captioner_colours([*figures.ORDER, "Human"]),
    )
    assert few["OSCAR"] == many["OSCAR"]
    assert len(set(many.values())) == 10
    assert many["Human"] == figures.HUMAN_COLOUR


def test_lengths_have_a_line_for_each_captioner_and_humans():
    corpus = planted_corpus("gender", images=200)
    axes = figures.length_figure(datacard.caption_lengths(corpus))
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == [*corpus.display_names.values(), "Human, first caption"]


def test_overlap_shows_every_pair_once():
    pairs = datacard.same_captions(planted_corpus("gender", images=200))
    square = pairs.pivot(index="captioner", columns="other", values="same (%)")
    axes = figures.overlap_figure(square)
    assert len([text for text in axes.texts if text.get_text()]) == 6
