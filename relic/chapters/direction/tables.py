"""Tables of `57_direction`."""

import numpy as np
import pandas as pd

from relic.chapters.direction.measure import HUMAN, SILENT, gather
from relic.data.corpus import Corpus


def most_tilted(objects: pd.DataFrame, classes: tuple[str, str], most: int = 5) -> pd.DataFrame:
    """The objects with the largest BiasAmp either way, mean over captioners, by direction.

    `clear`: captioners whose own interval leaves out zero.
    """
    objects = objects.assign(clear=(objects["low"] > 0) | (objects["high"] < 0))
    names = {"min": "smallest", "max": "largest", "count": "captioners"}
    groups = objects.groupby(["direction", "object"])
    table = groups["value"].agg(["mean", *names]).rename(columns=names)
    table.insert(3, "clear", groups["clear"].sum())
    table = table.join(groups[["images", "leaning"]].first()).reset_index()
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
