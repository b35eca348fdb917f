"""Figures of the claim pages: intervals, and the order of captioners by classifier."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.ticker import MaxNLocator

from relic.figures import STYLE, captioner_colours

MARKERS = "osD^vPX"


def forest(
    frame: pd.DataFrame, *, xlabel: str, marks: pd.DataFrame | None = None, row: str = "captioner"
) -> plt.Axes:
    """Means with 95 % intervals, a row each `row`; the first series filled, the others open.

    `frame`: row, series, mean, low, high. `marks`: row, value: small ticks, such as papers' values.
    """
    rows, series = list(frame[row].unique()), list(frame["series"].unique())
    shifts = np.linspace(-0.2, 0.2, len(series)) if len(series) > 1 else [0.0]
    alone = set(
        frame[row].value_counts().loc[lambda n: n == 1].index
    )  # such rows sit in the middle
    palette = sns.color_palette("colorblind", max(3, len(series)))
    with plt.rc_context(STYLE):
        height = max(1.8, 0.3 * len(rows) * max(1, 0.6 * len(series)) + 1.0)
        _, axes = plt.subplots(figsize=(5, height))
        if marks is not None and len(marks):
            at = [rows.index(name) for name in marks[row]]
            axes.plot(
                marks["value"], at, "|", color="grey", ms=9, mew=1.2, label="papers", zorder=1
            )
        for number, (name, shift) in enumerate(zip(series, shifts, strict=True)):
            part, colour = frame[frame["series"] == name], palette[number]
            at = np.array([rows.index(each) + shift * (each not in alone) for each in part[row]])
            axes.hlines(at, part["low"], part["high"], color=colour, lw=1.6)
            fill = colour if number == 0 else "white"
            axes.plot(
                part["mean"], at, MARKERS[number % 7], color=colour, mfc=fill, ms=5, label=name
            )
        axes.axvline(0, color="black", lw=0.8)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_yticks(range(len(rows)), rows, fontsize=9)
        axes.set(xlabel=xlabel, ylim=(len(rows) - 0.5, -0.5))
        if len(series) > 1 or marks is not None:
            axes.legend(frameon=False, fontsize=9, loc="upper center", bbox_to_anchor=(0.35, -0.5 / height),
                        ncols=min(3, len(series) + (marks is not None)))  # fmt: skip
    return axes


def slopes(frame: pd.DataFrame) -> plt.Axes:
    """Rank of each captioner (1 has the highest LIC) by classifier; lines that cross disagree.

    `frame`: captioner, classifier, LIC.
    """
    wide = frame.pivot(index="captioner", columns="classifier", values="LIC")
    wide = wide[list(frame["classifier"].unique())]
    ranks = wide.rank(ascending=False, method="first")
    colours = captioner_colours(list(ranks.index))
    with plt.rc_context(STYLE):
        _, axes = plt.subplots(figsize=(5, 0.34 * len(ranks) + 1.2))
        for number, (name, values) in enumerate(ranks.iterrows()):
            axes.plot(range(len(values)), values, "-", color=colours[name], lw=1.5)
            axes.plot(range(len(values)), values, MARKERS[number % 7], color=colours[name], ms=5)
            axes.annotate(name, (len(values) - 1, values.iloc[-1]), xytext=(8, 0),
                          textcoords="offset points", va="center", fontsize=9)  # fmt: skip
        axes.set_xticks(range(ranks.shape[1]), [c.replace(" (", "\n(") for c in ranks], fontsize=9)
        axes.set(
            ylabel="rank by LIC",
            ylim=(len(ranks) + 0.5, 0.5),
            xlim=(-0.2, ranks.shape[1] - 1 + 0.2),
        )
        axes.set_yticks(range(1, len(ranks) + 1))
    return axes
