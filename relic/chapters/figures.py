"""Figures: one function each, a tidy frame in, axes out. Colour-blind-safe, readable at 400 px."""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from relic.chapters.scores import FLOOR
from relic.data.captioners import display_names, in_order
from relic.records.evidence import PAPERS

STYLE = {"axes.spines.top": False, "axes.spines.right": False, "font.size": 10}
STYLE |= {"legend.frameon": False, "legend.fontsize": 9, "svg.hashsalt": "relic"}
HUMAN_COLOUR = "#000000"  # drawn in the colour of the page's text
MARKERS = "osD^vPX*h<>p"
CLASSIFIERS = ("linear", "lstm", "bert-ft", "bert-pre")
# seaborn's colour-blind palette, its light colours darkened: 3 : 1 on a white page and on a dark one
PALETTE = "#0173b2 #c87f00 #029e73 #c46fb4 #d55e00 #a9713f #c2477f #808080 #7f7400 #2a8fcb".split()


def captioner_looks(captioners) -> dict[str, dict]:
    """The same colour and marker for the same captioner in every figure; humans are black."""
    names = dict.fromkeys([*display_names().values(), *captioners])
    looks = zip(names, PALETTE * 9, MARKERS * 9, strict=False)
    looks = {name: {"color": colour, "marker": marker} for name, colour, marker in looks}
    people = {"color": HUMAN_COLOUR, "marker": "o"}
    return {name: people if name.startswith("Human") else looks[name] for name in captioners}


@plt.rc_context(STYLE)
def forest(
    table: pd.DataFrame,
    *,
    value: str = "lic",
    xlabel: str = "LIC, points",
    row: str = "captioner",
    series: str | None = None,
    papers: pd.DataFrame | None = None,
    zero: float | None = 0.0,
    margin: float | None = None,
) -> plt.Axes:
    """Means with 95 % intervals, a row each captioner: `table` as `relic.intervals` gives it.

    `series`: a column whose values are told apart by colour and marker, the first filled. `papers`: a
    frame with `captioner, lic`, drawn as ticks: pale, in the colours of `series`, where they share its
    values; else grey, or by `classifier` where there are several. `margin`: a dashed line, where less
    is no difference.
    """
    kinds = list(table[series].unique()) if series else [""]
    rows = {name: at for at, name in enumerate(dict.fromkeys(table[row]))}
    sharing = len(kinds) if table[row].duplicated().any() else 1  # marks that share a row
    shifts = np.linspace(-0.22, 0.22, len(kinds)) if sharing > 1 else [0.0] * len(kinds)
    looks = [_look(name if series == "classifier" else at) for at, name in enumerate(kinds)]
    looks = captioner_looks(kinds).values() if series == "captioner" else looks
    height = max(1.8, 0.3 * len(rows) * max(1, 0.55 * sharing) + 1.0)
    _, axes = plt.subplots(figsize=(5.2, height))
    beside = papers is not None and series in papers and papers[series].isin(kinds).any()
    by = [] if papers is None or beside else list(papers.groupby("classifier", sort=False))
    for at, (name, part) in enumerate(by):
        look = {"color": _look(name)["color"], "label": f"papers, {name}"}
        look = look if len(by) > 1 else {"color": "grey", "label": "papers"}
        _printed(axes, part[row].map(rows), part[value], marker="|x+"[at % 3], **look)
    for kind, shift, look in zip(kinds, shifts, looks, strict=True):
        part = table[table[series] == kind] if series else table
        if beside:
            printed = papers[papers[series] == kind]
            at = printed[row].map(rows).astype(float) + shift
            _printed(axes, at, printed[value], color=look["color"], alpha=0.5)
        at = part[row].map(rows).astype(float) + shift  # text, were there no rows
        axes.hlines(at, part["low"], part["high"], color=look["color"], lw=1.6)
        mark = {"mfc": look["color"] if kind == kinds[0] else "white", "label": str(kind) or "ours"}
        axes.plot(part[value], at, ls="", ms=5, **look, **mark)
    if zero is not None:
        axes.axvline(zero, color="black", lw=0.8)
    elif xlabel.startswith("LIC_M"):
        axes.set_xlim(left=min(FLOOR, axes.get_xlim()[0]))  # where the scale starts
    if margin is not None:
        axes.axvline(margin, color="grey", lw=0.8, ls="--")
    axes.set_yticks(range(len(rows)), list(rows), fontsize=9)
    axes.set(xlabel=xlabel, ylim=(len(rows) - 0.5, -0.5))
    shown = len(kinds) * (len(kinds) > 1) + len(by)
    if shown:
        below = {"loc": "upper center", "bbox_to_anchor": (0.4, -0.5 / height)}
        axes.legend(**below, ncols=min(3, shown))
    return axes


def _look(which: int | str) -> dict:
    """Colour and marker of a series by its place, of a classifier the same in every figure."""
    if isinstance(which, str):
        places = [at for at, name in enumerate(CLASSIFIERS) if which.startswith(name)]
        second = " " in which.removesuffix(" (MiniLM)")  # not as it is run by default
        which = places[0] + len(CLASSIFIERS) * second if places else 9
    return {"color": PALETTE[which % 10], "marker": MARKERS[which % 7]}


def _printed(axes, at: pd.Series, values: pd.Series, marker="|", **look):
    """Printed values on the rows of a forest (those of no row are left out), upright bars by default."""
    ticks = {"ls": "", "ms": 9 if marker == "|" else 6, "mew": 1.6, "zorder": 1}
    axes.plot(values[at.notna()], at.dropna(), marker=marker, **ticks, **look)


@plt.rc_context(STYLE)
def crossed(
    table: pd.DataFrame, x: str, y: str, *, xlabel: str, ylabel: str, arrow: tuple | None = None
) -> plt.Axes:
    """Two quantities of each captioner with their 95 % intervals: columns NAME, NAME low, NAME high.

    `arrow`: two captioners, from the first to the second.
    """
    _, axes = plt.subplots(figsize=(5.4, 3.6))
    for row in table.to_dict("records"):
        across, up = ([[row[q] - row[f"{q} low"]], [row[f"{q} high"] - row[q]]] for q in (x, y))
        name = row["captioner"]
        look = {"ls": "", "ms": 6, "elinewidth": 1.2, "label": name}
        axes.errorbar(row[x], row[y], up, across, **look, **captioner_looks([name])[name])
    if arrow and set(arrow) <= set(table["captioner"]):
        start, end = table.set_index("captioner").loc[list(arrow), [x, y]].to_numpy()
        look = {"arrowstyle": "->", "color": "grey", "shrinkA": 8, "shrinkB": 8}
        axes.annotate("", end, start, arrowprops=look)
    if (table[f"{y} low"] < 0).any():
        axes.axhline(0, color="black", lw=0.8)
    else:
        axes.set_ylim(bottom=0)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.45, -0.2), handletextpad=0.2)
    return axes


@plt.rc_context(STYLE | {"legend.fontsize": 10})
def by_paper(
    frame: pd.DataFrame, down: str, across: str, *, value: str, xlabel: str, hollow: str = ""
) -> plt.Axes:
    """A mark and `spread` a paper (`source`), a row a captioner, a panel each value of two columns.

    `hollow`: a column; marks are filled where it is false.
    """
    rows, columns = (list(frame[name].unique()) for name in (down, across))
    names, sources = in_order(frame["captioner"]), [s for s in PAPERS if s in set(frame["source"])]
    looks = dict(zip(PAPERS, zip(PALETTE, "osD", strict=False), strict=True))
    shifts = np.linspace(-0.11, 0.11, len(sources)) * len(sources)
    size, shared = (2.3 * len(columns) + 1, 2.5 * len(rows) + 0.8), {"sharex": True, "sharey": True}
    figure, panels = plt.subplots(len(rows), len(columns), figsize=size, squeeze=False, **shared)
    for axes, (row, column) in zip(panels.flat, product(rows, columns), strict=True):
        panel = frame[(frame[down] == row) & (frame[across] == column)]
        for source, shift in zip(sources, shifts, strict=True):
            part, (colour, marker) = panel[panel["source"] == source], looks[source]
            at = part["captioner"].map(names.index).astype(float) + shift
            bars = {"fmt": "none", "ecolor": colour, "elinewidth": 1}
            axes.errorbar(part[value], at, xerr=part["spread"], **bars)
            full = ~part[hollow] if hollow else part[value].notna()
            for marks, fill in ((full, colour), (~full, "white")):
                look = {"color": colour, "mfc": fill, "ms": 4}
                axes.plot(part[value][marks], at[marks], marker, **look, label=PAPERS[source])
        axes.axvline(0, color="grey", lw=1)
        axes.set_yticks(range(len(names)), names, fontsize=9)
        axes.set_title(f"{column}, {row}", fontsize=10)
    panels[0, 0].invert_yaxis()
    handles, labels = panels[0, 0].get_legend_handles_labels()
    once = (handles[::2], labels[::2])  # each mark has two
    figure.legend(*once, loc="upper center", ncols=3, columnspacing=1, handletextpad=0.1)
    figure.supxlabel(xlabel, fontsize=10)
    figure.tight_layout(rect=(0, 0, 1, 0.96))
    return panels[0, 0]
