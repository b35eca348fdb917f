"""The visual context of an image: the objects seen in it, without persons, as one text.

Objects come as rows `image_id, label, probability, source`: from image classifiers
(`relic.chapters.gender_score.images`) or from the authors' file. An object read from the caption that is
scored would make its similarity circular.
"""

from functools import cache
from pathlib import Path

import pandas as pd

from relic.data.attribute import load_attribute
from relic.data.rows import is_image_id
from relic.errors import RelicError

COLUMNS = ["image_id", "label", "probability", "source"]
AUTHORS_FILE = "visual_context/karpathy_test.csv"  # of a data directory
TRAIN_FILE = "gender_score/visual_train_coco.txt"  # the same, labels without image ids
TOP, THRESHOLD = 3, 0.2  # as in the paper
PERSON_LABELS = {"person", "persons", "people", "human", "humans"}


def read_objects(file: str | Path) -> pd.DataFrame:
    """Objects as `image_id, label, probability, source`, from our CSV or from the authors' file.

    The authors' file holds up to three labels a row without delimiter: such a row stays one object.
    """
    file = Path(file).expanduser()
    mend = "relic gender-score objects IMAGES --out FILE makes one"
    try:
        frame = pd.read_csv(file)
    except (OSError, ValueError) as error:  # pandas' own errors are ValueErrors
        raise RelicError(f"{file} cannot be read: {error}", expected="a CSV", mend=mend) from error
    if "labels" in frame and "label" not in frame:
        frame = frame.rename(columns={"labels": "label"}).assign(source=file.name)
    missing = ", ".join(column for column in COLUMNS if column not in frame)
    if missing:
        raise RelicError(f"{file} lacks {missing}", expected=", ".join(COLUMNS), mend=mend)
    frame = frame.loc[frame["label"].notna(), COLUMNS]  # no label: nothing was seen
    numbers = pd.to_numeric(frame["probability"], errors="coerce")
    bad = ~(numbers.between(0, 1) & frame["image_id"].map(is_image_id))
    if bad.any():
        raise RelicError(
            f"{file}, row {frame.index[bad][0] + 2}: {frame[bad].iloc[0].to_dict()}",
            expected="an image id, a label and a probability from 0 to 1",
        )
    return frame.assign(probability=numbers).reset_index(drop=True)


def contexts(
    objects: pd.DataFrame, *, top: int = TOP, threshold: float = THRESHOLD
) -> pd.DataFrame:
    """One context an image: `context` (its surest labels) and `confidence` (their mean probability).

    Person and gender words are taken out of the labels: an object `man` would state what is asked.
    Objects below `threshold`, and labels of which nothing is left, do not count.
    """
    kept = objects[objects["probability"] >= threshold]
    kept = kept.assign(label=[without_persons(label) for label in kept["label"]])
    order = {"by": ["image_id", "probability", "label"], "ascending": [True, False, True]}
    kept = kept[kept["label"] != ""].sort_values(**order).drop_duplicates(["image_id", "label"])
    images = kept.groupby("image_id").head(top).groupby("image_id")
    return pd.DataFrame(
        {"context": images["label"].agg(" ".join), "confidence": images["probability"].mean()}
    )


@cache
def without_persons(label: str) -> str:
    """The label without the words that name persons.

    >>> without_persons("cowboy hat"), without_persons("person")
    ('hat', '')
    """
    persons = load_attribute("gender").masked_words | PERSON_LABELS
    return " ".join(token for token in str(label).lower().split() if token not in persons)
