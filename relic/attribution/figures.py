"""Figures on attributions: a tidy frame in, axes out."""

import matplotlib.pyplot as plt
import pandas as pd

from relic.figures import HUMAN_COLOUR, STYLE, captioner_colours


def word_figure(words: pd.DataFrame, names: dict[str, str], classes: tuple[str, str], unit: str) -> plt.Axes:  # fmt: skip
    """Mean attribution of words with 95 % intervals, a mark each set of captions.

    `words`: word, side (model or human), captioner, mean, low, high; in the order of the rows.
    """
    order = list(dict.fromkeys(words["word"]))
    sets = list(dict.fromkeys(zip(words["side"], words["captioner"], strict=True)))
    colours = captioner_colours(list(names.values()))  # of all, so that figures agree
    with plt.rc_context(STYLE):
        _, axes = plt.subplots(figsize=(5, 0.34 * len(order) + 1.3))
        for number, (side, captioner) in enumerate(sets):
            part = words[(words["side"] == side) & (words["captioner"] == captioner)]
            shift = 0.24 * (number - (len(sets) - 1) / 2)
            human = side == "human"
            axes.errorbar(
                part["mean"],
                [order.index(word) + shift for word in part["word"]],
                xerr=[part["mean"] - part["low"], part["high"] - part["mean"]],
                fmt="s" if human else "o",
                mfc="white" if human else None,
                color=HUMAN_COLOUR if human else colours[names[captioner]],
                label="Human captions" if human else names[captioner],
                ms=5, lw=1.3, capsize=2,
            )  # fmt: skip
        axes.axvline(0, color="grey", lw=1)
        axes.set_yticks(range(len(order)), order)
        axes.invert_yaxis()
        axes.set_xlabel(f"← {classes[0]}   {unit}   {classes[1]} →")
        axes.legend(
            loc="lower center", bbox_to_anchor=(0.45, 1), ncols=2, frameon=False, fontsize=9
        )
    return axes
