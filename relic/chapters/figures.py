"""Figures: one function each, a tidy frame in, axes out. Colour-blind-safe, readable at 400 px."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.ticker import MaxNLocator

from relic import paths
from relic.data.captioners import captioner_files
from relic.records.evidence import PAPERS

STYLE = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 10,
    "svg.hashsalt": "relic",
}
HUMAN_COLOUR = "#000000"  # drawn in the colour of the page's text
MARKERS = "osD^vPX"
ORDER = [files["name"] for files in captioner_files().values()]


def captioner_colours(captioners) -> dict[str, str]:
    """The same colour for the same captioner in every figure; humans are black."""
    palette = sns.color_palette("colorblind", 10).as_hex()
    palette[8] = "#7a5c00"  # its yellow cannot be seen on white
    rest = [name for name in captioners if name not in ORDER and not name.startswith("Human")]
    colours = dict(zip([*ORDER, *rest], palette * 3, strict=False))
    return {
        name: HUMAN_COLOUR if name.startswith("Human") else colours[name] for name in captioners
    }


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
    shifts = np.linspace(-0.22, 0.22, len(kinds)) if len(kinds) > 1 else [0.0]
    palette = sns.color_palette("colorblind", max(3, len(kinds)))
    with plt.rc_context(STYLE):
        height = max(1.8, 0.3 * len(rows) * max(1, 0.55 * len(kinds)) + 1.0)
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
            axes.plot(part[value], at, MARKERS[number % len(MARKERS)], color=colour, ms=5, label=str(kind),
                      mfc=colour if number == 0 else "white")  # fmt: skip
        if zero is not None:
            axes.axvline(zero, color="black", lw=0.8)
        if margin is not None:
            axes.axvline(margin, color="grey", lw=0.8, ls="--")
        axes.set_yticks(range(len(rows)), rows, fontsize=9)
        axes.set(xlabel=xlabel, ylim=(len(rows) - 0.5, -0.5))
        shown = len(kinds) * (len(kinds) > 1) + (papers is not None and not beside)
        if shown:
            axes.legend(frameon=False, fontsize=9, loc="upper center", bbox_to_anchor=(0.4, -0.5 / height),
                        ncols=min(3, shown))  # fmt: skip
    return axes


def _printed(axes, papers: pd.DataFrame, row: str, rows: list, value: str, colour, shift, **named):
    """Printed values as upright bars on the rows of a forest."""
    known = papers[papers[row].isin(rows)]
    at = [rows.index(name) + shift for name in known[row]]
    axes.plot(known[value], at, "|", color=colour, ms=9, mew=1.6, zorder=1, **named)


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


def length_figure(lengths: pd.DataFrame) -> plt.Axes:
    """Distribution of caption lengths, a line each captioner, humans dashed and black."""
    names = list(lengths["captioner"].unique())
    dashes = {name: (3, 2) if name.startswith("Human") else "" for name in names}
    with plt.rc_context(STYLE):
        _, axes = plt.subplots(figsize=(6, 3.4))
        sns.lineplot(lengths, x="tokens", y="share (%)", hue="captioner", style="captioner",
                     palette=captioner_colours(names), dashes=dashes, ax=axes)  # fmt: skip
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set(xlabel="tokens in a caption", ylabel="captions (%)", xlim=(3, 25), ylim=(0, None))
        axes.legend(title="", frameon=False, fontsize=8, ncols=1 + (len(names) > 6))
    return axes


def overlap_figure(square: pd.DataFrame) -> plt.Axes:
    """How often two captioners say the same, as a lower triangle with its numbers."""
    lower = square.where([[i > j for j in range(len(square))] for i in range(len(square))])
    lower = lower.iloc[1:, :-1]
    with plt.rc_context(STYLE):
        size = 0.55 * len(square) + 1.2
        _, axes = plt.subplots(figsize=(max(4.2, size), max(2.6, size * 0.75)))
        sns.heatmap(lower, annot=True, fmt=".1f", cmap="cividis", cbar=False, linewidths=1, ax=axes,
                    annot_kws={"fontsize": 8})  # fmt: skip
        axes.tick_params(axis="x", rotation=45)
        axes.set_xticks(axes.get_xticks(), axes.get_xticklabels(), ha="right")
    return axes


def published_figure(lic: pd.DataFrame) -> plt.Axes:
    """Published LIC of the nine captioners by paper, one panel an attribute and classifier."""
    kept = lic[
        (lic["metric"] == "LIC")
        & lic["attribute"].isin(["gender", "race"])
        & lic["captioner"].isin(ORDER)
    ]
    kept = kept[kept["source"].isin(PAPERS) & kept["variant"].isna()]
    with plt.rc_context(STYLE):
        figure, grid = plt.subplots(3, 2, figsize=(5.4, 7.8), sharex=True, sharey=True)
        for row, classifier in zip(grid, ["LSTM", "BERT-ft", "BERT-pre"], strict=True):
            for axes, attribute in zip(row, ["gender", "race"], strict=True):
                part = kept[(kept["attribute"] == attribute) & (kept["classifier"] == classifier)]
                _published_panel(axes, part)
                axes.set_title(f"{attribute}, {classifier}", fontsize=10)
        grid[0, 0].invert_yaxis()
        for axes in grid[-1]:
            axes.set_xlabel("LIC, percentage points")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(
            handles,
            labels,
            loc="upper center",
            ncols=3,
            frameon=False,
            columnspacing=1,
            handletextpad=0.1,
        )
        figure.tight_layout(rect=(0, 0, 1, 0.97))
    return grid[0, 0]


def _published_panel(axes: plt.Axes, part: pd.DataFrame) -> None:
    """Dots of three papers over the nine captioners."""
    looks = zip(sns.color_palette("colorblind", 3), "osD", (-0.22, 0, 0.22), strict=True)
    for (source, label), (colour, marker, shift) in zip(PAPERS.items(), looks, strict=True):
        means = part[part["source"] == source].set_index("captioner")["mean"].reindex(ORDER)
        rows = [
            row + shift for row in range(len(ORDER))
        ]  # side by side, so that none hides another
        axes.plot(means, rows, marker, color=colour, label=label, ms=4)
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
