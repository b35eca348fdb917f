"""Figures of learning: a tidy frame in, axes out."""

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns

from relic.chapters.figures import MARKERS, PALETTE, STYLE, captioner_looks

SIDES = ("generated", "human")
APART = 1.4  # sizes closer than this share no tick


def curve_figure(lic: pd.DataFrame, means: pd.DataFrame, unit: str = "LIC") -> plt.Axes:
    """Above: both sides' mean score by training size, with intervals; below: each captioner's difference."""
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(2, 1, figsize=(5.6, 6.6))
        for number, part in enumerate(SIDES):
            reach = [means[part] - means[f"{part} low"], means[f"{part} high"] - means[part]]
            left.errorbar(means["training images"], means[part], yerr=reach, label=f"{part} captions", lw=1.2, ms=4,
                          marker=MARKERS[number], color=PALETTE[number])  # fmt: skip
        each = lic.groupby(["captioner", "n_train"], sort=False)["lic"].mean().unstack(0)
        for name, look in captioner_looks(each).items():
            right.plot(each.index, each[name], ms=4, lw=1.2, label=name, **look)
        right.axhline(0, color="grey", lw=1)
        ticks = [each.index[-1]]
        for size in each.index[::-1]:
            ticks += [size] if ticks[-1] / size > APART else []
        left.set(ylabel=f"{unit} of a side")
        right.set(ylabel=f"{unit}: generated − human")
        for axes in (left, right):
            axes.set(xscale="log", xlabel="training images")
            axes.set_xticks(ticks, [f"{n:,}" for n in ticks])
            axes.minorticks_off()
        left.legend(frameon=False, fontsize=8)
        right.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
        figure.tight_layout()
    return left


def level_figure(table: pd.DataFrame) -> plt.Axes:
    """Mean LIC against mean LIC_D, a mark a classifier, a colour a paper."""
    with plt.rc_context(STYLE):
        _, axes = plt.subplots(figsize=(5.2, 3.6))
        sns.scatterplot(table, x="LIC_D", y="LIC", hue="source", style="classifier", palette=PALETTE[: table["source"].nunique()], s=70, ax=axes)  # fmt: skip
        axes.axhline(0, color="grey", lw=1)
        axes.set(xlabel="mean LIC_D, percent", ylabel="mean LIC, points")
        axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    return axes
