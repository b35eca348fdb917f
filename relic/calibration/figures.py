"""Figures of the null checks and of the calibration: a tidy frame in, axes out."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns

from relic.figures import HUMAN_COLOUR, STYLE

MARKERS = "osD^v"
SHOWN = {
    "corrected": "corrected t, over splits",
    "uncorrected": "plain t, over splits",
    "independent": "corrected t, not paired",
    "images": "bootstrap over images",
}


def rate_figure(rates: pd.DataFrame, column: str, nominal: float, by: str, xlabel: str) -> plt.Axes:
    """A share with its exact interval for each method, one mark a value of `by`; nominal dashed."""
    groups = list(dict.fromkeys(rates[by]))
    with plt.rc_context(STYLE):
        _, axes = plt.subplots(figsize=(5.4, 2.8))
        places = {name: row for row, name in enumerate(SHOWN)}
        for number, (group, colour) in enumerate(zip(groups, _colours(len(groups)), strict=True)):
            part = rates[rates[by] == group]
            rows = part["method"].map(places) + _shift(number, len(groups))
            _marks(axes, part, column, rows, colour, MARKERS[number], group)
        axes.axvline(nominal, color="grey", ls="--", lw=1)
        axes.text(nominal, -0.62, f" nominal {nominal:g} %", color="grey", fontsize=8, va="center")
        axes.set_yticks(range(len(SHOWN)), SHOWN.values())
        axes.set(xlabel=xlabel, ylim=(len(SHOWN) - 0.4, -0.8))
        _legend(axes, len(groups))
    return axes


def interval_figure(table: pd.DataFrame, label: str, by: str, xlabel: str) -> plt.Axes:
    """Means with intervals, a row each, one colour and marker a value of `by`; a line at 0."""
    groups = list(dict.fromkeys(table[by]))
    table = table.reset_index(drop=True)
    with plt.rc_context(STYLE):
        _, axes = plt.subplots(figsize=(5.4, 1.0 + 0.22 * len(table)))
        for number, (group, colour) in enumerate(zip(groups, _colours(len(groups)), strict=True)):
            part = table[table[by] == group]
            renamed = part.rename(columns={"low": "mean, low", "high": "mean, high"})
            rows = pd.Series(part.index, index=part.index)
            _marks(axes, renamed, "mean", rows, colour, MARKERS[number], group)
        axes.axvline(0, color="grey", lw=1)
        axes.set_yticks(range(len(table)), table[label], fontsize=8)
        axes.set(xlabel=xlabel, ylim=(len(table) - 0.4, -0.6))
        _legend(axes, len(groups))
    return axes


def truth_figure(table: pd.DataFrame) -> plt.Axes:
    """LIC against the true LIC over gains, one mark a score; on the dashed line it is right."""
    groups = list(dict.fromkeys(table["score"]))
    with plt.rc_context(STYLE):
        _, axes = plt.subplots(figsize=(5.4, 3.6))
        ends = [table["true LIC"].min() - 1, table["true LIC"].max() + 1]
        axes.plot(ends, ends, color="grey", ls="--", lw=1)
        axes.axhline(0, color="grey", lw=0.5)
        for number, (group, colour) in enumerate(zip(groups, _colours(len(groups)), strict=True)):
            part = table[table["score"] == group]
            errors = (part["bias"] - part["bias, low"], part["bias, high"] - part["bias"])
            axes.errorbar(part["true LIC"], part["LIC"], yerr=np.nan_to_num(errors), color=colour,
                          fmt=f"{MARKERS[number]}-", ms=5, lw=1.2, label=group)  # fmt: skip
        axes.set(xlabel="true LIC, points", ylabel="LIC found, points")
        axes.legend(frameon=False, fontsize=9)
    return axes


def bias_figure(tables: dict[str, pd.DataFrame]) -> plt.Axes:
    """Bias of LIC by the levels of each factor, a panel each: without gain and with gain 1."""
    with plt.rc_context(STYLE):
        columns = 2
        rows = -(-len(tables) // columns)
        size = (5.6, 2.3 * rows + 0.4)
        figure, grid = plt.subplots(rows, columns, figsize=size, sharey=True, squeeze=False)
        for axes, (title, table) in zip(grid.flat, tables.items(), strict=False):
            _bias_panel(axes, table, title)
        for axes in grid.flat[len(tables) :]:
            axes.set_visible(False)
        for axes in grid[:, 0]:
            axes.set_ylabel("bias of LIC, points")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="upper center", ncols=2, frameon=False, fontsize=9)
        figure.tight_layout(rect=(0, 0, 1, 0.94))
    return grid[0, 0]


def _bias_panel(axes: plt.Axes, table: pd.DataFrame, title: str) -> None:
    factor = table.columns[0]
    levels = list(dict.fromkeys(table[factor]))
    series = [(gain, score) for gain in (0.0, 1.0) for score in dict.fromkeys(table["score"])]
    colours = dict(zip((0.0, 1.0), _colours(2), strict=True))
    for number, (gain, score) in enumerate(series):
        part = table[(table["gain"] == gain) & (table["score"] == score)]
        places = [levels.index(level) + _shift(number, len(series), 0.3) for level in part[factor]]
        errors = np.nan_to_num(
            (part["bias"] - part["bias, low"], part["bias, high"] - part["bias"])
        )
        filled = {} if score == "plain" else {"mfc": "white", "ls": ":"}
        axes.errorbar(places, part["bias"], yerr=errors, color=colours[gain], ms=4, lw=1,
                      marker=MARKERS[int(gain)], label=f"gain {gain:g}, {score}", **filled)  # fmt: skip
    axes.axhline(0, color="grey", lw=1)
    axes.set_title(title, fontsize=10)
    told = [f"{v:,}".replace(",000", "k") if isinstance(v, int) else f"{v}" for v in levels]
    axes.set_xticks(range(len(levels)), told, fontsize=7 if len(levels) > 5 else 8)


def _marks(axes, part, column: str, rows, colour, marker: str, label) -> None:
    errors = (part[column] - part[f"{column}, low"], part[f"{column}, high"] - part[column])
    axes.errorbar(part[column], rows, xerr=np.nan_to_num(errors).clip(min=0), fmt=marker,
                  color=colour, ms=5, lw=1.5, label=label)  # fmt: skip


def _colours(count: int) -> list:
    return [*sns.color_palette("colorblind", 10).as_hex(), HUMAN_COLOUR][:count]


def _shift(number: int, count: int, reach: float = 0.4) -> float:
    """Side by side, so that no mark hides another."""
    return 0.0 if count == 1 else reach * (number / (count - 1) - 0.5)


def _legend(axes: plt.Axes, count: int) -> None:
    if count > 1:
        axes.legend(frameon=False, fontsize=8, ncols=count, loc="lower center",
                    bbox_to_anchor=(0.4, 1.0), columnspacing=1, handletextpad=0.2)  # fmt: skip
