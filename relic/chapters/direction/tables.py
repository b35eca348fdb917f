"""Tables and the figure of `57_direction`."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from relic.chapters.direction.measure import HUMAN, SILENT, gather
from relic.chapters.figures import STYLE, captioner_colours
from relic.data.corpus import Corpus


def wide(table: pd.DataFrame, column: str, rows: tuple[str, ...] = ("captioner",)) -> pd.DataFrame:
    """A row a captioner, three columns each value of `column`: NAME, NAME low, NAME high."""
    parts = []
    for name, part in table.groupby(column, sort=False):
        part = part.set_index(list(rows))[["value", "low", "high"]]
        parts.append(part.set_axis([name, f"{name} low", f"{name} high"], axis=1))
    return pd.concat(parts, axis=1).reset_index()


def most_tilted(objects: pd.DataFrame, classes: tuple[str, str], most: int = 5) -> pd.DataFrame:
    """The objects with the largest BiasAmp either way, mean over captioners, by direction.

    `clear`: captioners whose own interval leaves out zero.
    """
    objects = objects.assign(clear=(objects["low"] > 0) | (objects["high"] < 0))
    table = objects.groupby(["direction", "object"], as_index=False).agg(
        leaning=("leaning", "first"), mean=("value", "mean"), smallest=("value", "min"),
        largest=("value", "max"), clear=("clear", "sum"), captioners=("value", "count"), images=("images", "first"),
    )  # fmt: skip
    table.insert(2, "humans name it more with", np.where(table.pop("leaning") > 0, *classes[::-1]))
    table = table.sort_values("mean", key=abs, ascending=False).groupby("direction").head(most)
    return table.sort_values("direction", kind="stable", ignore_index=True)


def wrong_examples(corpus: Corpus) -> pd.DataFrame:
    """The first caption of each captioner that names the wrong class where all five humans name the label's."""
    captions, rows = gather(corpus), []
    sure = (captions.named(HUMAN) == captions.classes[:, None]).all(axis=1)
    for name in [name for name in captions.sets if name not in (HUMAN, SILENT)]:
        wrong = np.flatnonzero(sure & (captions.named(name)[:, 0] == 1 - captions.classes))[:1]
        for at in wrong:
            label, texts = corpus.attribute.classes[captions.classes[at]], captions.sets
            rows.append((name, label, texts[name][0].iloc[at], texts[HUMAN][0].iloc[at]))
    return pd.DataFrame(rows, columns=["captioner", "label", "caption", "a human wrote"])


def crossed(
    table: pd.DataFrame, x: str, y: str, *, xlabel: str, ylabel: str, arrow: tuple | None = None
) -> plt.Axes:
    """Two quantities of each captioner with their 95 % intervals: columns as `wide` names them.

    `arrow`: two captioners, from the first to the second.
    """
    colours = captioner_colours(table["captioner"])
    with plt.rc_context(STYLE):
        _, axes = plt.subplots(figsize=(5.4, 3.6))
        for row, marker in zip(table.to_dict("records"), "osD^vPX*h<>p", strict=False):
            bars = [[[row[q] - row[f"{q} low"]], [row[f"{q} high"] - row[q]]] for q in (x, y)]
            axes.errorbar(row[x], row[y], xerr=bars[0], yerr=bars[1], fmt=marker, ms=6, lw=1.2,
                          color=colours[row["captioner"]], label=row["captioner"])  # fmt: skip
        if arrow and set(arrow) <= set(table["captioner"]):
            start, end = table.set_index("captioner").loc[list(arrow), [x, y]].to_numpy()
            axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": "grey", "shrinkA": 8, "shrinkB": 8})  # fmt: skip
        axes.set(xlabel=xlabel, ylabel=ylabel, ylim=(0, None))
        axes.legend(frameon=False, fontsize=8.5, ncols=3, loc="upper center",
                    bbox_to_anchor=(0.45, -0.2), handletextpad=0.2)  # fmt: skip
    return axes
