"""Figures of the Gender Score chapters: a tidy frame in, axes out. Readable at 400 px."""

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns

from relic.chapters.figures import MARKERS, STYLE, captioner_colours
from relic.chapters.gender_score.tables import COUNTED, ESTIMATED, SCORE


def count_figure(ratios: pd.DataFrame) -> plt.Axes:
    """Table 4: the ratio to men by score and by estimation, against plain counting; a mark an object."""
    keys = ["captioner", "object"]
    counted = ratios[ratios["method"] == COUNTED][[*keys, "to_m"]]
    others = ratios.merge(counted.rename(columns={"to_m": "counted"}), on=keys)
    colours = dict(zip((SCORE, ESTIMATED), sns.color_palette("colorblind", 2), strict=True))
    with plt.rc_context(STYLE):
        _, axes = plt.subplots(figsize=(5, 4))
        axes.axline((0.5, 0.5), slope=1, color="grey", lw=1)
        for method, colour in colours.items():
            for number, (word, part) in enumerate(
                others[others["method"] == method].groupby("object", sort=False)
            ):
                marker = MARKERS[number % len(MARKERS)]
                axes.vlines(
                    part["counted"], part["low"], part["high"], color=colour, lw=0.8, alpha=0.5
                )
                axes.plot(
                    part["counted"],
                    part["to_m"],
                    marker,
                    color=colour,
                    ms=5,
                    label=f"{word}, {method}",
                )
        axes.set(
            xlabel="ratio to men, captions counted", ylabel="ratio to men, by score or estimation"
        )
        axes.legend(
            frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.45, -0.15), ncols=2
        )
    return axes


def overview(levels: pd.DataFrame) -> plt.Axes:
    """Figure 1: what is compared at each level, from top to bottom: `level, compared, man, woman, to_m`."""
    box = {"boxstyle": "round,pad=0.4", "fc": "none", "ec": "grey"}
    with plt.rc_context(STYLE):
        _, axes = plt.subplots(figsize=(6.2, 1.35 * len(levels)))
        for place, row in zip(range(len(levels), 0, -1), levels.to_dict("records"), strict=True):
            axes.text(
                0, place, f"{row['level']}\n{row['compared']}", va="center", fontsize=9, bbox=box
            )
            told = f"man {row['man']:.3f}\nwoman {row['woman']:.3f}"
            axes.annotate(told, (0.62, place), xytext=(0.7, place), va="center", fontsize=9,
                          arrowprops={"arrowstyle": "<-", "color": "grey"})  # fmt: skip
            axes.annotate(f"to men\n{row['to_m']:.3f}", (0.88, place), xytext=(0.96, place), va="center",
                          ha="left", fontsize=9, weight="bold", arrowprops={"arrowstyle": "<-", "color": "grey"})  # fmt: skip
        axes.set(xlim=(-0.02, 1.12), ylim=(0.4, len(levels) + 0.6))
        axes.axis("off")
    return axes


def lic_figure(scores: pd.DataFrame, lic: pd.DataFrame) -> plt.Axes:
    """The Gender Score's ratio to men against LIC, both with their intervals, a point each captioner."""
    both = scores.merge(lic, on="captioner", suffixes=("", "_lic"))
    colours = captioner_colours(list(both["captioner"]))
    with plt.rc_context(STYLE):
        _, axes = plt.subplots(figsize=(5, 3.8))
        for each in both.to_dict("records"):
            colour = colours[each["captioner"]]
            axes.vlines(each["lic"], each["low"], each["high"], color=colour, lw=1.5)
            axes.hlines(each["to_m"], each["low_lic"], each["high_lic"], color=colour, lw=1.5)
            axes.plot(each["lic"], each["to_m"], "o", color=colour, ms=6)
            axes.annotate(each["captioner"], (each["lic"], each["to_m"]), xytext=(5, 4),
                          textcoords="offset points", fontsize=8)  # fmt: skip
        axes.set(xlabel="LIC, points", ylabel="Gender Score, ratio to men")
        axes.margins(x=0.15)
    return axes
