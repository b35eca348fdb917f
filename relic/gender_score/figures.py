"""Figures of the Gender Score chapters: a tidy frame in, axes out. Readable at 400 px."""

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns

from relic.figures import STYLE, captioner_colours
from relic.gender_score.tables import COUNTED, ESTIMATED, SCORE

BLUE, ORANGE, GREEN = sns.color_palette("colorblind", 3).as_hex()
MARKS = {COUNTED: ("o", BLUE), SCORE: ("s", ORANGE), ESTIMATED: ("D", GREEN)}


def distance_figure(distances: pd.DataFrame) -> plt.Axes:
    """Ratio to men of each embedding: published as crosses, ours as dots with their intervals."""
    with plt.rc_context(STYLE):
        _, axes = plt.subplots(figsize=(5, 0.42 * len(distances) + 1.2))
        for row, each in enumerate(distances.to_dict("records")):
            theirs = each["source"] == "published"
            axes.plot(each["to_m"], row, "x" if theirs else "o", color="#555555" if theirs else BLUE, ms=7)  # fmt: skip
            if not theirs:
                axes.plot([each["low"], each["high"]], [row, row], color=BLUE, lw=2)
        labels = [f"{each['model']}\n({each['source']})" for each in distances.to_dict("records")]
        axes.set_yticks(range(len(labels)), [_wrapped(label) for label in labels], fontsize=8)
        axes.invert_yaxis()
        _half(axes, "ratio to men, objects of the images")
    return axes


def pairs_figure(table: pd.DataFrame, groups: list[str], xlabel: str) -> plt.Axes:
    """Ratios of several methods with intervals, side by side in each row of `groups`."""
    keys = table[groups].drop_duplicates().to_records(index=False).tolist()
    methods = [m for m in MARKS if m in set(table["method"])]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(5, 0.34 * len(keys) + 1.4))
        for number, method in enumerate(methods):
            part = table[table["method"] == method].set_index(groups)
            marker, colour = MARKS[method]
            shift = 0.24 * (number - (len(methods) - 1) / 2)
            for row, key in enumerate(keys):
                each = part.loc[key if len(groups) > 1 else key[0]]
                axes.plot([each["low"], each["high"]], [row + shift] * 2, color=colour, lw=1.5)
                axes.plot(each["to_m"], row + shift, marker, color=colour, ms=4.5, label=method if row == 0 else None)  # fmt: skip
        axes.set_yticks(range(len(keys)), [", ".join(key) for key in keys], fontsize=8)
        axes.invert_yaxis()
        _half(axes, xlabel)
        figure.legend(loc="upper center", ncols=1, frameon=False, fontsize=8)
        figure.tight_layout(rect=(0, 0, 1, 1 - 0.6 / figure.get_figheight()))
    return axes


def lic_figure(table: pd.DataFrame, lic: pd.DataFrame) -> plt.Axes:
    """The Gender Score's ratio to men with its interval against LIC, a point each captioner."""
    both = table.merge(lic, on="captioner")
    colours = captioner_colours(list(both["captioner"]))
    with plt.rc_context(STYLE):
        _, axes = plt.subplots(figsize=(5, 3.8))
        for each in both.to_dict("records"):
            colour = colours[each["captioner"]]
            axes.plot([each["LIC"]] * 2, [each["low"], each["high"]], color=colour, lw=1.5)
            axes.plot(each["LIC"], each["to_m"], "o", color=colour, ms=6)
            axes.annotate(each["captioner"], (each["LIC"], each["to_m"]), xytext=(5, 3),
                          textcoords="offset points", fontsize=8)  # fmt: skip
        axes.set(xlabel="LIC, percentage points", ylabel="Gender Score, ratio to men")
        axes.margins(x=0.18)
    return axes


def _half(axes: plt.Axes, xlabel: str) -> None:
    """A line at one half: no lean to either gender."""
    axes.axvline(0.5, color="grey", lw=1)
    axes.set_xlabel(f"{xlabel}\n(0.5: no lean)", fontsize=9)


def _wrapped(label: str) -> str:
    return label.replace(", gender direction", ",\ngender direction")
