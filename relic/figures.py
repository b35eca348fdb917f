"""Figures: one function each, a tidy frame in, axes out. Colour-blind-safe, readable at 400 px."""

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.ticker import MaxNLocator

from relic import paths

STYLE = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 10,
    "svg.hashsalt": "relic",
}
HUMAN_COLOUR = "#222222"
ORDER = ["NIC", "SAT", "FC", "Att2in", "UpDn", "Transformer", "OSCAR", "NIC+", "NIC+Equalizer"]


def captioner_colours(captioners) -> dict[str, str]:
    """The same colour for the same captioner in every figure; humans are black."""
    palette = sns.color_palette("colorblind", 10).as_hex()
    rest = [name for name in captioners if name not in ORDER and not name.startswith("Human")]
    colours = dict(zip([*ORDER, *rest], palette * 3, strict=False))
    return {
        name: HUMAN_COLOUR if name.startswith("Human") else colours[name] for name in captioners
    }


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


PAPERS = {
    "hirota2022": "Hirota et al. 2022",
    "relic2023": "RELIC 2023",
    "turk2023": "Türk et al. 2023",
}


def main() -> None:
    """Draw the picture of the README and the landing page again: python -m relic.figures."""
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
