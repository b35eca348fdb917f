"""Figures of the accuracy and direction pages show what is in their frames."""

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from relic.direction import report as direction_report
from relic.direction.measure import HUMAN, SILENT
from relic.extension_figures import (
    amplification_figure,
    class_lic_figure,
    naming_figure,
    trade_off_figure,
)
from relic.figures import captioner_colours
from relic.results import load_runs


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def bars(axes):
    """Points of the error bars drawn, by their order."""
    return [tuple(float(v[0]) for v in bar[0].get_data()) for bar in axes.containers]


def test_the_trade_off_has_a_point_and_bars_a_captioner():
    pairs = pd.DataFrame(
        {
            "name": ["SAT", "OSCAR"], "metric": "CIDEr", "value": [90.0, 130.0], "low": [88.0, 128.0],
            "high": [93.0, 133.0], "LIC": [2.0, 6.0], "std over seeds": [1.0, 2.0],
        }
    )  # fmt: skip
    axes = trade_off_figure(pairs, "CIDEr")
    assert bars(axes) == [(90, 2), (130, 6)]
    assert all(bar.has_xerr and bar.has_yerr for bar in axes.containers)
    assert "CIDEr" in axes.get_xlabel()
    assert axes.containers[0][0].get_color() == captioner_colours(["SAT"])["SAT"]


def test_error_and_silence_are_two_axes_and_silence_is_on_the_far_right():
    naming = direction_report.recorded("gender")["naming"]
    axes = naming_figure(naming, ("Male", "Female"))
    assert len(axes.figure.axes) == 2
    names = list(naming["captioner"].unique())
    assert bars(axes)[names.index(SILENT)] == (100, 0)
    at = naming.set_index(["captioner", "label", "outcome"])["value"]
    told = (at["NIC+", "Female", "neutral"], at["NIC+", "Female", "wrong"])
    assert bars(axes)[names.index("NIC+")] == pytest.approx(told)


def test_amplification_shows_both_rates_and_no_silent_captioner():
    means = direction_report.recorded("gender")["amplification"]
    axes = amplification_figure(means)
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert SILENT not in names
    assert names[-1] == HUMAN
    assert len(axes.containers) == 2 * len(names)
    assert len(axes.figure.axes) == 2
    assert len(amplification_figure(direction_report.recorded("race")["amplification"]).figure.axes) == 1  # fmt: skip


def test_lic_by_class_has_a_mark_each_class():
    table = direction_report.class_lic_table(load_runs(), "gender", "linear")
    axes = class_lic_figure(table, ("Male", "Female"))
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["Male", "Female"]
    assert len(axes.get_yticklabels()) == 9
