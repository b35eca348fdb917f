"""Figures of the accuracy and direction pages: a tidy frame in, axes out."""

import matplotlib.pyplot as plt
import pandas as pd

from relic.direction.measure import HUMAN, SILENT
from relic.figures import STYLE, captioner_colours

MARKERS = "osD^vPX*h<>p"


def trade_off_figure(pairs: pd.DataFrame, metric: str) -> plt.Axes:
    """LIC against accuracy, a point each captioner; bars: interval over images, spread over seeds."""
    part = pairs[pairs["metric"] == metric].rename(columns={"std over seeds": "spread"})
    colours = captioner_colours(part["name"])
    with plt.rc_context(STYLE):
        _, axes = plt.subplots(figsize=(5.4, 4.2))
        for row, marker in zip(part.itertuples(), MARKERS, strict=False):
            across = [[row.value - row.low], [row.high - row.value]]
            axes.errorbar(row.value, row.LIC, xerr=across, yerr=row.spread,
                          fmt=marker, color=colours[row.name], label=row.name, ms=7, lw=1.2)  # fmt: skip
        axes.axhline(0, color="grey", lw=1)
        axes.set(xlabel=f"{metric} (higher: more accurate)", ylabel="LIC, percentage points")
        _legend_below(axes, 3)
    return axes


def naming_figure(naming: pd.DataFrame, classes: tuple[str, str]) -> plt.Axes:
    """Wrong class named against no class named, a panel each label; bars are 95 % intervals."""
    names, about = list(naming["captioner"].unique()), naming["attribute"].iloc[0]
    colours = {**captioner_colours([n for n in names if n != SILENT]), SILENT: "#cc3311"}
    with plt.rc_context(STYLE):
        figure, panels = plt.subplots(2, 1, figsize=(5.4, 6.4), sharex=True, sharey=True)
        for axes, label in zip(panels, reversed(classes), strict=True):
            wide = naming[naming["label"] == label].set_index(["captioner", "outcome"])
            for name, marker in zip(names, MARKERS, strict=False):
                x, y = (wide.loc[(name, outcome)] for outcome in ("neutral", "wrong"))
                axes.errorbar(x["value"], y["value"], xerr=_bars(x), yerr=_bars(y), fmt=marker,
                              color=colours[name], label=name, ms=6, lw=1.2, clip_on=False)  # fmt: skip
            axes.set_title(f"images labelled {label}", fontsize=10)
            axes.set(ylabel=f"names the wrong {about} (%)", xlim=(0, 102), ylim=(0, None))
        panels[1].set_xlabel(f"names no {about} (%)")
        figure.tight_layout()
        _legend_below(panels[1], 2)
    return panels[0]


def amplification_figure(means: pd.DataFrame) -> plt.Axes:
    """BiasAmp with its interval, a panel each direction; open marks: objects at the human rate."""
    means = means[means["captioner"] != SILENT].set_index(["direction", "captioner"])
    names = list(means.index.get_level_values("captioner").unique())
    known = set(means.index.get_level_values("direction"))
    panels, colours = [d for d in ("A→T", "T→A") if d in known], captioner_colours(names)
    with plt.rc_context(STYLE):
        figure, grid = plt.subplots(1, len(panels), figsize=(5.4, 0.36 * len(names) + 1.2),
                                    sharey=True, squeeze=False)  # fmt: skip
        for axes, direction in zip(grid[0], panels, strict=True):
            looks = [(direction, None, 0)]
            if direction == "A→T":
                looks = [(direction, None, -0.16), (f"{direction}, equal rates", "white", 0.16)]
            for which, inside, shift in looks:
                for row, name in enumerate(names):
                    found, marker = means.loc[(which, name)], "s" if name == HUMAN else "o"
                    axes.errorbar(found["value"], row + shift, xerr=_bars(found), fmt=marker,
                                  color=colours[name], mfc=inside, ms=5, lw=1.3)  # fmt: skip
            axes.axvline(0, color="grey", lw=1, zorder=0)
            axes.set_title(direction, fontsize=10)
            axes.set_xlabel("BiasAmp, points")
        grid[0][0].set_yticks(range(len(names)), names)
        grid[0][0].invert_yaxis()
        figure.tight_layout()
    return grid[0][0]


def class_lic_figure(table: pd.DataFrame, classes: tuple[str, str]) -> plt.Axes:
    """LIC of each class by captioner; bars are the standard deviation over seeds."""
    names = list(table["name"].unique())
    looks = zip(classes, ("o", "D"), ("#0173b2", "#de8f05"), (-0.15, 0.15), strict=True)
    with plt.rc_context(STYLE):
        _, axes = plt.subplots(figsize=(5.4, 0.36 * len(names) + 1.3))
        for label, marker, colour, shift in looks:
            part = table[table["label"] == label].set_index("name").loc[names]
            rows = [row + shift for row in range(len(names))]
            axes.errorbar(part["LIC"], rows, xerr=part["std over seeds"], fmt=marker, color=colour,
                          label=label, ms=5, lw=1.2)  # fmt: skip
        axes.axvline(0, color="grey", lw=1)
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.set_xlabel("LIC of the class, percentage points")
        axes.legend(frameon=False, fontsize=9, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1))
    return axes


def _bars(found: pd.Series) -> list[list[float]]:
    """Error bars around a value; none below nothing where rounding would ask for it."""
    low, high = found["value"] - found["low"], found["high"] - found["value"]
    return [[max(0.0, low)], [max(0.0, high)]]


def _legend_below(axes: plt.Axes, columns: int) -> None:
    axes.legend(frameon=False, fontsize=8.5, ncols=columns, loc="upper center",
                bbox_to_anchor=(0.45, -0.2), columnspacing=1, handletextpad=0.2)  # fmt: skip
