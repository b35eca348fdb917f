"""Figures of the calibration: a tidy frame in, axes out."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from relic.chapters.figures import MARKERS, PALETTE, STYLE


@plt.rc_context(STYLE)
def truth_figure(table: pd.DataFrame) -> plt.Axes:
    """LIC found against the true LIC, a mark a gain; on the dashed line it is right."""
    true, found = table["true LIC"], table["LIC"]
    ends = [true.min() - 1, true.max() + 1]
    axes = plt.subplots(figsize=(5.2, 3.6))[1]
    axes.plot(ends, ends, color="grey", ls="--", lw=1)
    axes.axhline(0, color="grey", lw=0.5)
    axes.errorbar(true, found, yerr=_reach(table), fmt="o-", ms=5, lw=1.2, color=PALETTE[0])
    for gain, *at in zip(table["gain"], true, found, strict=True):
        beside = {"xytext": (6, -10), "textcoords": "offset points", "fontsize": 8}
        axes.annotate(f"gain {gain:g}".replace("-", "−"), at, **beside)
    axes.set(xlabel="true LIC, points", ylabel="LIC found, points")
    return axes


@plt.rc_context(STYLE)
def bias_figure(tables: dict[str, pd.DataFrame]) -> plt.Axes:
    """Bias of LIC by the levels of a factor, a panel each: without gain and with gain 1.

    A table's first column holds the levels; `gain, bias, low, high` are read.
    """
    rows = -(-len(tables) // 2)
    size = (5.6, 2.3 * rows + 0.4)
    figure, panels = plt.subplots(rows, 2, figsize=size, sharey=True, squeeze=False)
    for axes in panels.flat[len(tables) :]:
        axes.set_visible(False)
    for axes, (title, table) in zip(panels.flat, tables.items(), strict=False):
        levels = list(dict.fromkeys(table.iloc[:, 0]))
        for number, (gain, part) in enumerate(table.groupby("gain")):
            places = [levels.index(level) + 0.16 * number for level in part.iloc[:, 0]]
            look = {"color": PALETTE[number], "marker": MARKERS[number], "ms": 4, "lw": 1}
            axes.errorbar(places, part["bias"], _reach(part), label=f"gain {gain:g}", **look)
        axes.axhline(0, color="grey", lw=1)
        axes.set_title(title, fontsize=10)
        shown = [f"{v:,}".replace(",000", "k") if isinstance(v, int) else f"{v}" for v in levels]
        axes.set_xticks(range(len(levels)), shown, fontsize=7 if len(levels) > 5 else 8)
    for axes in panels[:, 0]:
        axes.set_ylabel("bias of LIC, points")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="upper center", ncols=2)
    figure.tight_layout(rect=(0, 0, 1, 0.94))
    return panels[0, 0]


def _reach(table: pd.DataFrame) -> np.ndarray:
    """How far each interval reaches below and above; nothing where there is none."""
    return np.nan_to_num([table["bias"] - table["low"], table["high"] - table["bias"]])
