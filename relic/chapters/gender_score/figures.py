"""Figures of the Gender Score chapters: a tidy frame in, axes out. Readable at 400 px."""

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns

from relic.chapters.figures import PALETTE, STYLE
from relic.chapters.gender_score.tables import COUNTED, ESTIMATED, SCORE


@plt.rc_context(STYLE)
def count_figure(ratios: pd.DataFrame) -> plt.Axes:
    """Table 4: the ratio to men by score and by estimation, against plain counting; a mark an object."""
    keys, methods = ["captioner", "object"], {SCORE: PALETTE[0], ESTIMATED: PALETTE[1]}
    counted = ratios[ratios["method"] == COUNTED].set_index(keys)["to_m"].rename("counted")
    others = ratios[ratios["method"].isin(methods)].join(counted, on=keys)
    _, axes = plt.subplots(figsize=(5, 4))
    axes.axline((0.5, 0.5), slope=1, color="grey", lw=1)
    axes.vlines(others["counted"], others["low"], others["high"], color="grey", lw=0.8, alpha=0.5)
    look = {"hue": "method", "palette": methods, "style": "object"}
    sns.scatterplot(others, x="counted", y="to_m", **look, ax=axes)
    axes.set(xlabel="ratio to men, captions counted", ylabel="ratio to men, by score or estimation")
    axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.45, -0.15), ncols=2)
    return axes


@plt.rc_context(STYLE)
def overview(levels: pd.DataFrame) -> plt.Axes:
    """Figure 1: what is compared at each level, from top to bottom: `level, compared, man, woman, to_m`."""
    arrow = {"arrowstyle": "->", "color": "grey"}
    box = {"boxstyle": "round,pad=0.4", "fc": "none", "ec": "grey"}
    _, axes = plt.subplots(figsize=(5.6, 1.2 * len(levels)))
    for at, row in enumerate(levels[::-1].to_dict("records")):
        both = f"man {row['man']:.3f}\nwoman {row['woman']:.3f}"
        axes.text(0, at, f"{row['level']}: {row['compared']}", va="center", fontsize=9, bbox=box)
        axes.text(0.55, at, both, va="center", fontsize=9)
        axes.text(0.9, at, f"to men\n{row['to_m']:.3f}", va="center", fontsize=9, weight="bold")
        for start, end in ((0.45, 0.53), (0.79, 0.87)):
            axes.annotate("", (end, at), (start, at), arrowprops=arrow)
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.6, len(levels) - 0.4))
    axes.axis("off")
    return axes
