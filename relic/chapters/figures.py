"""Figures: one function each, a tidy frame in, axes out. Colour-blind-safe, readable at 400 px."""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.ticker import MaxNLocator

from relic import paths
from relic.data.captioners import captioner_files
from relic.records.evidence import PAPERS

STYLE = {"axes.spines.top": False, "axes.spines.right": False, "font.size": 10}
STYLE |= {"legend.frameon": False, "legend.fontsize": 9, "svg.hashsalt": "relic"}
HUMAN_COLOUR = "#000000"  # drawn in the colour of the page's text
MARKERS = "osD^vPX*h<>p"
ORDER = [files["name"] for files in captioner_files().values()]


def captioner_colours(captioners) -> dict[str, str]:
    """The same colour for the same captioner in every figure; humans are black."""
    palette = sns.color_palette("colorblind", 10).as_hex()
    palette[8] = "#7a5c00"  # its yellow cannot be seen on white
    rest = [name for name in captioners if name not in ORDER and not name.startswith("Human")]
    colours = dict(zip([*ORDER, *rest], palette * 3, strict=False))
    return {n: HUMAN_COLOUR if n.startswith("Human") else colours[n] for n in captioners}


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
    frame with `captioner, lic`, drawn as grey ticks; with the column `series` too, as pale bars in its
    colours. `margin`: a dashed line, where less is no difference.
    """
    kinds = list(table[series].unique()) if series else [""]
    rows = list(dict.fromkeys(table[row]))
    sharing = len(kinds) if table[row].duplicated().any() else 1  # marks that share a row
    shifts = np.linspace(-0.22, 0.22, len(kinds)) if sharing > 1 else [0.0] * len(kinds)
    palette = sns.color_palette("colorblind", max(3, len(kinds)))
    height = max(1.8, 0.3 * len(rows) * max(1, 0.55 * sharing) + 1.0)
    _, axes = plt.subplots(figsize=(5.2, height))
    beside = papers is not None and series in papers  # papers beside each of the series
    if papers is not None and not beside:
        _printed(axes, papers, row, rows, value, "grey", 0, label="papers")
    for number, (kind, shift) in enumerate(zip(kinds, shifts, strict=True)):
        part, colour = table[table[series] == kind] if series else table, palette[number]
        if beside:
            own = papers[papers[series] == kind]
            _printed(axes, own, row, rows, value, (*colour, 0.45), shift)
        at = np.array([rows.index(name) + shift for name in part[row]])
        axes.hlines(at, part["low"], part["high"], color=colour, lw=1.6)
        look = {"color": colour, "ms": 5, "mfc": "white" if number else colour, "label": str(kind)}
        axes.plot(part[value], at, MARKERS[number % 7], **look)
    if zero is not None:
        axes.axvline(zero, color="black", lw=0.8)
    if margin is not None:
        axes.axvline(margin, color="grey", lw=0.8, ls="--")
    axes.set_yticks(range(len(rows)), rows, fontsize=9)
    axes.set(xlabel=xlabel, ylim=(len(rows) - 0.5, -0.5))
    shown = len(kinds) * (len(kinds) > 1) + (papers is not None and not beside)
    if shown:
        below = {"loc": "upper center", "bbox_to_anchor": (0.4, -0.5 / height)}
        axes.legend(**below, ncols=min(3, shown))
    return axes


def _printed(axes, papers: pd.DataFrame, row: str, rows: list, value: str, colour, shift, **named):
    """Printed values as upright bars on the rows of a forest."""
    known = papers[papers[row].isin(rows)]
    at = [rows.index(name) + shift for name in known[row]]
    axes.plot(known[value], at, "|", color=colour, ms=9, mew=1.6, zorder=1, **named)


@plt.rc_context(STYLE)
def crossed(
    table: pd.DataFrame, x: str, y: str, *, xlabel: str, ylabel: str, arrow: tuple | None = None
) -> plt.Axes:
    """Two quantities of each captioner with their 95 % intervals: columns NAME, NAME low, NAME high.

    `arrow`: two captioners, from the first to the second.
    """
    colours = captioner_colours(table["captioner"])
    _, axes = plt.subplots(figsize=(5.4, 3.6))
    for row, marker in zip(table.to_dict("records"), MARKERS, strict=False):
        across, up = ([[row[q] - row[f"{q} low"]], [row[f"{q} high"] - row[q]]] for q in (x, y))
        look = {"fmt": marker, "ms": 6, "lw": 1.2, "color": colours[row["captioner"]]}
        axes.errorbar(row[x], row[y], up, across, label=row["captioner"], **look)
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


@plt.rc_context(STYLE)
def slopes(frame: pd.DataFrame) -> plt.Axes:
    """Rank of each captioner (1 has the highest LIC) by classifier; lines that cross disagree.

    `frame`: captioner, classifier, LIC.
    """
    wide = frame.pivot(index="captioner", columns="classifier", values="LIC")
    wide = wide[list(frame["classifier"].unique())]
    ranks = wide.rank(ascending=False, method="first")
    colours, end = captioner_colours(list(ranks.index)), ranks.shape[1] - 1
    _, axes = plt.subplots(figsize=(5, 0.34 * len(ranks) + 1.2))
    aside = {"xytext": (8, 0), "textcoords": "offset points", "va": "center", "fontsize": 9}
    for number, (name, values) in enumerate(ranks.iterrows()):
        look = {"marker": MARKERS[number % 7], "color": colours[name], "lw": 1.5, "ms": 5}
        axes.plot(range(len(values)), values, **look)
        axes.annotate(name, (end, values.iloc[-1]), **aside)
    axes.set_xticks(range(end + 1), [c.replace(" (", "\n(") for c in ranks], fontsize=9)
    axes.set(ylabel="rank by LIC", ylim=(len(ranks) + 0.5, 0.5), xlim=(-0.2, end + 0.2))
    axes.set_yticks(range(1, len(ranks) + 1))
    return axes


@plt.rc_context(STYLE)
def length_figure(lengths: pd.DataFrame) -> plt.Axes:
    """Distribution of caption lengths, a line each captioner, humans dashed and black."""
    names = list(lengths["captioner"].unique())
    dashes = {name: (3, 2) if name.startswith("Human") else "" for name in names}
    look = {"palette": captioner_colours(names), "dashes": dashes}
    axes = plt.subplots(figsize=(6, 3.4))[1]
    by = {"x": "tokens", "y": "share (%)", "hue": "captioner", "style": "captioner"}
    sns.lineplot(lengths, **by, **look, ax=axes)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlabel="tokens in a caption", ylabel="captions (%)", xlim=(3, 25), ylim=(0, None))
    axes.legend(title="", fontsize=8, ncols=1 + (len(names) > 6))
    return axes


@plt.rc_context(STYLE)
def overlap_figure(square: pd.DataFrame) -> plt.Axes:
    """How often two captioners say the same, as a lower triangle with its numbers."""
    lower = square.where([[i > j for j in range(len(square))] for i in range(len(square))])
    size = 0.55 * len(square) + 1.2
    axes = plt.subplots(figsize=(max(4.2, size), max(2.6, size * 0.75)))[1]
    look = {"fmt": ".1f", "cmap": "cividis", "cbar": False, "linewidths": 1}
    sns.heatmap(lower.iloc[1:, :-1], annot=True, annot_kws={"fontsize": 8}, **look, ax=axes)
    axes.tick_params(axis="x", rotation=45)
    axes.set_xticks(axes.get_xticks(), axes.get_xticklabels(), ha="right")
    return axes


@plt.rc_context(STYLE | {"legend.fontsize": 10})
def published_figure(lic: pd.DataFrame) -> plt.Axes:
    """Published LIC of the nine captioners by paper, one panel an attribute and classifier."""
    kept = lic[(lic["metric"] == "LIC") & lic["captioner"].isin(ORDER) & lic["variant"].isna()]
    figure, grid = plt.subplots(3, 2, figsize=(5.4, 7.8), sharex=True, sharey=True)
    panels = product(["LSTM", "BERT-ft", "BERT-pre"], ["gender", "race"])
    for axes, (classifier, attribute) in zip(grid.flat, panels, strict=True):
        part = kept[(kept["attribute"] == attribute) & (kept["classifier"] == classifier)]
        _published_panel(axes, part)
        axes.set_title(f"{attribute}, {classifier}", fontsize=10)
    grid[0, 0].invert_yaxis()
    for axes in grid[-1]:
        axes.set_xlabel("LIC, percentage points")
    known = grid[0, 0].get_legend_handles_labels()
    figure.legend(*known, loc="upper center", ncols=3, columnspacing=1, handletextpad=0.1)
    figure.tight_layout(rect=(0, 0, 1, 0.97))
    return grid[0, 0]


def _published_panel(axes: plt.Axes, part: pd.DataFrame) -> None:
    """Dots of three papers over the nine captioners, side by side, so that none hides another."""
    looks = zip(sns.color_palette("colorblind", 3), "osD", (-0.22, 0, 0.22), strict=True)
    for (source, label), (colour, marker, shift) in zip(PAPERS.items(), looks, strict=True):
        means = part[part["source"] == source].set_index("captioner")["mean"].reindex(ORDER)
        axes.plot(means, np.arange(len(ORDER)) + shift, marker, color=colour, label=label, ms=4)
    axes.axvline(0, color="grey", lw=1)
    axes.set_yticks(range(len(ORDER)), ORDER, fontsize=9)


def main() -> None:
    """Draw the picture of the README and the landing page again: python -m relic.chapters.figures."""
    lic = pd.read_csv(paths.PUBLISHED / "lic.csv")
    draw_published(lic, paths.BOOK / "images" / "published_lic.svg")


def draw_published(lic: pd.DataFrame, file) -> None:
    """The same bytes for the same numbers."""
    figure = published_figure(lic).figure
    with plt.rc_context({**STYLE, "svg.fonttype": "path"}):
        figure.savefig(file, format="svg", metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    main()
