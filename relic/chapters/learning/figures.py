"""Figures of learning: a tidy frame in, axes out."""

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns

from relic.chapters.figures import MARKERS, PALETTE, STYLE, captioner_looks

SIDES = ("generated", "human")
APART = 1.4  # sizes closer than this share no tick


@plt.rc_context(STYLE)
def curve_figure(lic: pd.DataFrame, means: pd.DataFrame, unit: str = "LIC") -> plt.Axes:
    """Above: both sides' mean score by training size, with intervals; below: each captioner's difference."""
    figure, (above, below) = plt.subplots(2, 1, figsize=(5.6, 6.6))
    for side, marker, colour in zip(SIDES, MARKERS, PALETTE, strict=False):
        reach = [means[side] - means[f"{side} low"], means[f"{side} high"] - means[side]]
        look = {"label": f"{side} captions", "marker": marker, "color": colour, "lw": 1.2, "ms": 4}
        above.errorbar(means["training images"], means[side], yerr=reach, **look)
    each = lic.groupby(["captioner", "n_train"], sort=False)["lic"].mean().unstack(0)
    for name, look in captioner_looks(each).items():
        below.plot(each.index, each[name], ms=4, lw=1.2, label=name, **look)
    below.axhline(0, color="grey", lw=1)
    ticks = [each.index[-1]]
    for size in each.index[::-1]:
        ticks += [size] if ticks[-1] / size > APART else []
    above.set(ylabel=f"{unit} of a side")
    below.set(ylabel=f"{unit}: generated − human")
    for axes in (above, below):
        axes.set(xscale="log", xlabel="training images")
        axes.set_xticks(ticks, [f"{n:,}" for n in ticks])
        axes.minorticks_off()
    above.legend(fontsize=8)
    below.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.tight_layout()
    return above


@plt.rc_context(STYLE)
def level_figure(table: pd.DataFrame) -> plt.Axes:
    """Mean LIC against mean LIC_D, a mark a classifier, a colour a paper."""
    axes = plt.subplots(figsize=(5.2, 3.6))[1]
    colours = {"hue": "source", "palette": PALETTE[: table["source"].nunique()]}
    sns.scatterplot(table, x="LIC_D", y="LIC", style="classifier", **colours, s=70, ax=axes)
    axes.axhline(0, color="grey", lw=1)
    axes.set(xlabel="mean LIC_D, percent", ylabel="mean LIC, points")
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    return axes
