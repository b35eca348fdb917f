"""Figures of the calibration: right shapes, right labels."""

import pandas as pd

from relic.calibration.figures import bias_figure, interval_figure, rate_figure, truth_figure


def test_rate_figure_has_a_row_a_method():
    rates = pd.DataFrame(
        [
            {"method": m, "above 0": 2.5, "above 0, low": 0.5, "above 0, high": 5.0, "size": "all"}
            for m in ("corrected", "uncorrected", "independent", "images")
        ]
    )
    axes = rate_figure(rates, "above 0", 2.5, "size", "share (%)")
    assert [t.get_text() for t in axes.get_yticklabels()] == [
        "corrected t, over splits",
        "plain t, over splits",
        "corrected t, not paired",
        "bootstrap over images",
    ]


def test_interval_figure_labels_each_row():
    table = pd.DataFrame(
        [
            {
                "attribute": "gender",
                "mean": 0.5,
                "low": -1,
                "high": 2,
                "label": "gender, caption 1",
            },
            {"attribute": "race", "mean": -0.5, "low": -2, "high": 1, "label": "race, caption 1"},
        ]
    )
    axes = interval_figure(table, "label", "attribute", "LIC")
    assert [t.get_text() for t in axes.get_yticklabels()] == [
        "gender, caption 1",
        "race, caption 1",
    ]


def test_truth_figure_has_a_line_and_marks_each_score():
    table = pd.DataFrame(
        [
            {"true LIC": 0.0, "LIC": -0.1, "bias": -0.1, "bias, low": -0.5, "bias, high": 0.3,
             "score": "plain"},
            {"true LIC": 5.0, "LIC": 3.0, "bias": -2.0, "bias, low": -2.5, "bias, high": -1.5,
             "score": "plain"},
        ]
    )  # fmt: skip
    axes = truth_figure(table)
    assert axes.get_legend().get_texts()[0].get_text() == "plain"


def test_bias_figure_one_panel_a_factor():
    table = pd.DataFrame(
        [
            {
                "images": 500,
                "gain": g,
                "score": s,
                "bias": -0.5,
                "bias, low": -1.0,
                "bias, high": 0.0,
            }
            for g in (0.0, 1.0)
            for s in ("plain", "scaled")
        ]
    )
    axes = bias_figure({"images in the corpus": table, "another": table})
    figure = axes.figure
    visible = [ax for ax in figure.axes if ax.get_visible()]
    assert len(visible) == 2
