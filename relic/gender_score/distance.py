"""Gender-object distance: cosines of object words with person, man and woman (tables 1 and 2)."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from relic import paths
from relic.errors import RelicError
from relic.gender_score.formula import ratio_to_men
from relic.gender_score.visual import TRAIN_FILE
from relic.gender_score.wording import PERSONS

RESAMPLES = 1000  # of every bootstrap of this package
SEED = 0


def train_labels(directory: Path) -> list[str]:
    """The authors' object label of each COCO train image, in their order."""
    file = Path(directory) / TRAIN_FILE
    if not file.is_file():
        raise RelicError(
            f"{directory} has no {TRAIN_FILE}",
            expected="one object label a line",
            mend="take visual_train_coco.txt from the Gender Score's public repository",
        )
    return file.read_text(encoding="utf-8").split()


def similarities(labels: Iterable[str], encoder) -> pd.DataFrame:
    """Cosine of each distinct label with person, man and woman; how many images have it.

    Labels without a vector are kept, as NaN, so that they can be counted.
    """
    counts = Counter(labels)
    objects = sorted(counts)
    if not objects:
        raise RelicError("no object labels", expected="at least one")
    cosines = np.asarray(encoder.encode(objects)) @ np.asarray(encoder.encode(PERSONS)).T
    frame = pd.DataFrame(cosines, columns=PERSONS, dtype=float)
    return frame.assign(object=objects, images=[counts[o] for o in objects])


def distance_table(labels: Iterable[str], encoders: Iterable, dataset: str) -> pd.DataFrame:
    """Table 2: mean cosines over the images, and the ratio to men with its 95 % interval.

    The interval is a bootstrap over distinct objects: images of one object are not independent.
    """
    labels, rows = list(labels), []
    for encoder in encoders:
        near = similarities(labels, encoder)
        known = near.dropna()
        means = {p: float(np.average(known[p], weights=known["images"])) for p in PERSONS}
        drawn = _resampled(known)
        low, high = np.nanpercentile(drawn, [2.5, 97.5])
        to_m = ratio_to_men(means["man"], means["woman"])
        rows.append(
            {
                "model": encoder.name, "dataset": dataset, **means, "to_m": to_m, "low": low, "high": high,
                "to_w": 1 - to_m, "images": int(known["images"].sum()), "objects": len(known),
                "objects without a vector": len(near) - len(known),
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def _resampled(known: pd.DataFrame) -> np.ndarray:
    """Ratio to men over resamples of the distinct objects."""
    rng = np.random.default_rng(SEED)
    picks = rng.integers(0, len(known), (RESAMPLES, len(known)))
    weights = known["images"].to_numpy()[picks]
    means = [(known[p].to_numpy()[picks] * weights).sum(1) / weights.sum(1) for p in PERSONS[1:]]
    return ratio_to_men(*means)


def nearest_objects(near: pd.DataFrame, embedding: str, top: int = 5) -> pd.DataFrame:
    """Table 1: objects whose nearest of the three is person, man or woman; the first `top`.

    Two orders, because the paper's words fit neither alone: by number of images, and by cosine.
    """
    known, rows = near.dropna(subset=list(PERSONS)), []
    nearest = known[list(PERSONS)].to_numpy().argmax(axis=1)
    for number, person in enumerate(PERSONS):
        own = known[nearest == number]
        orders = {"images": ["images", person], "cosine": [person, "images"]}
        for order, columns in orders.items():
            best = own.sort_values([*columns, "object"], ascending=[False, False, True]).head(top)
            for rank, row in enumerate(best.to_dict("records"), 1):
                rows.append((embedding, person, order, rank, row["object"], row["images"], row[person], len(own)))  # fmt: skip
    names = ["embedding", "gender", "order", "rank", "object", "images", "cosine", "objects nearest"]  # fmt: skip
    return pd.DataFrame(rows, columns=names)


def published_distances() -> pd.DataFrame:
    """The paper's table 2."""
    frame = pd.read_csv(paths.PUBLISHED / "gender_object_distance.csv")
    return frame.assign(source="published")


def published_nearest() -> pd.DataFrame:
    """The paper's table 1."""
    return pd.read_csv(paths.PUBLISHED / "frequent_objects.csv")
