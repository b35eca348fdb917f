"""The figure of the papers side by side."""

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns

from relic.errors import RelicError
from relic.figures import ORDER, PAPERS, STYLE
from relic.published.compare import CLASSIFIERS, METRICS

REFERENCE = "hirota2022"


def difference_figure(pairs: pd.DataFrame, metric: str) -> plt.Axes:
    """Reproductions minus Hirota et al., one panel an attribute and classifier.

    Bars are the two papers' spreads together; a filled mark lies beyond its bar.
    """
    if metric not in METRICS:
        raise RelicError(f"metric {metric!r}", expected=f"one of {', '.join(METRICS)}")
    kept = pairs[(pairs["source_first"] == REFERENCE) & (pairs["metric"] == metric)]
    with plt.rc_context(STYLE):
        figure, grid = plt.subplots(3, 2, figsize=(5.4, 7.8), sharex=True, sharey=True)
        for row, classifier in zip(grid, CLASSIFIERS, strict=True):
            for axes, attribute in zip(row, ["gender", "race"], strict=True):
                part = kept[(kept["attribute"] == attribute) & (kept["classifier"] == classifier)]
                _panel(axes, part)
                axes.set_title(f"{attribute}, {classifier}", fontsize=10)
        grid[0, 0].invert_yaxis()
        for axes in grid[-1]:
            axes.set_xlabel(f"{metric} minus Hirota's")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="upper center", ncols=2, frameon=False)
        figure.tight_layout(rect=(0, 0, 1, 0.97))
    return grid[0, 0]


def _panel(axes: plt.Axes, part: pd.DataFrame) -> None:
    """Differences of two papers over the nine captioners, with bars."""
    colours = dict(zip(PAPERS, sns.color_palette("colorblind", 3), strict=True))
    for source, marker, shift in (("relic2023", "s", -0.17), ("turk2023", "D", 0.17)):
        colour = colours[source]
        axes.plot([], [], marker, color=colour, ms=4, label=PAPERS[source])  # the legend's mark
        for row in part[part["source_second"] == source].to_dict("records"):
            axes.errorbar(
                row["difference"],
                ORDER.index(row["captioner"]) + shift,
                xerr=row["spread"],
                fmt=marker,
                color=colour,
                mfc=colour if row["beyond"] else "white",
                ms=4,
                lw=1,
            )
    axes.axvline(0, color="grey", lw=1)
    axes.set_yticks(range(len(ORDER)), ORDER, fontsize=9)
