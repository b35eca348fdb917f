"""Figures of the calibration: a tidy frame in, axes out."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from relic.chapters.figures import MARKERS, PALETTE, STYLE


def truth_figure(table: pd.DataFrame) -> plt.Axes:
    """LIC found against the true LIC, a mark a gain; on the dashed line it is right."""
    ends = [table["true LIC"].min() - 1, table["true LIC"].max() + 1]
    with plt.rc_context(STYLE):
        _, axes = plt.subplots(figsize=(5.2, 3.6))
        axes.plot(ends, ends, color="grey", ls="--", lw=1)
        axes.axhline(0, color="grey", lw=0.5)
        axes.errorbar(table["true LIC"], table["LIC"], yerr=_reach(table), fmt="o-", ms=5, lw=1.2,
                      color=PALETTE[0])  # fmt: skip
        for row in table.itertuples():
            axes.annotate(f"gain {row.gain:g}".replace("-", "−"), (row[table.columns.get_loc("true LIC") + 1], row.LIC),
                          xytext=(6, -10), textcoords="offset points", fontsize=8)  # fmt: skip
        axes.set(xlabel="true LIC, points", ylabel="LIC found, points")
    return axes


def bias_figure(tables: dict[str, pd.DataFrame]) -> plt.Axes:
    """Bias of LIC by the levels of a factor, a panel each: without gain and with gain 1.

    A table's first column holds the levels; `gain, bias, low, high` are read.
    """
    with plt.rc_context(STYLE):
        rows = -(-len(tables) // 2)
        size = (5.6, 2.3 * rows + 0.4)
        figure, panels = plt.subplots(rows, 2, figsize=size, sharey=True, squeeze=False)
        for axes, (title, table) in zip(panels.flat, tables.items(), strict=False):
            _bias_panel(axes, table, title)
        for axes in panels.flat[len(tables) :]:
            axes.set_visible(False)
        for axes in panels[:, 0]:
            axes.set_ylabel("bias of LIC, points")
        handles, labels = panels[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="upper center", ncols=2, frameon=False, fontsize=9)
        figure.tight_layout(rect=(0, 0, 1, 0.94))
    return panels[0, 0]


def _bias_panel(axes: plt.Axes, table: pd.DataFrame, title: str) -> None:
    levels = list(dict.fromkeys(table.iloc[:, 0]))
    for number, (gain, part) in enumerate(table.groupby("gain")):
        places = [levels.index(level) + 0.16 * number for level in part.iloc[:, 0]]
        colour = PALETTE[number]
        axes.errorbar(places, part["bias"], yerr=_reach(part), color=colour, ms=4, lw=1,
                      marker=MARKERS[number], label=f"gain {gain:g}")  # fmt: skip
    axes.axhline(0, color="grey", lw=1)
    axes.set_title(title, fontsize=10)
    shown = [f"{v:,}".replace(",000", "k") if isinstance(v, int) else f"{v}" for v in levels]
    axes.set_xticks(range(len(levels)), shown, fontsize=7 if len(levels) > 5 else 8)


def _reach(table: pd.DataFrame) -> np.ndarray:
    """How far each interval reaches below and above; nothing where there is none."""
    return np.nan_to_num([table["bias"] - table["low"], table["high"] - table["bias"]])
