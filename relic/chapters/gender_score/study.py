"""What is scored: captions of several captioners on the same images, with the objects seen there.

Objects come as rows `image_id, label, probability, source`: from image classifiers
(`relic.chapters.gender_score.images`) or from the authors' file. An object read from the caption that is
scored would make its similarity circular.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pandas as pd

from relic.chapters.gender_score.score import cooccurrence, score_captions
from relic.data.attribute import load_attribute
from relic.data.corpus import Corpus, is_image_id
from relic.data.human import read_coco
from relic.data.load import real_directory
from relic.errors import RelicError

VILBERT = "ViLBERT (authors' file)"  # its counts of man and woman are ViLBERT's, table 5
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


@dataclass(eq=False)
class Study:
    """Captions by captioner and image; contexts by image; five human captions an image."""

    name: str  # what it is, for captions of tables and figures
    synthetic: bool
    captions: dict[str, pd.Series]
    contexts: pd.DataFrame
    human: pd.DataFrame
    _scores: dict = field(default_factory=dict, repr=False)

    def scores(self, prior, encoder) -> dict[str, pd.DataFrame]:
        """`score_captions` of each captioner, computed once for a language model and an encoder."""
        key = (prior.name, encoder.name)
        if key not in self._scores:
            self._scores[key] = {
                name: score_captions(captions, self.contexts, prior, encoder)
                for name, captions in self.captions.items()
            }
        return self._scores[key]

    def words(self) -> Iterable[str]:
        """All texts, for word vectors."""
        for captions in self.captions.values():
            yield from captions
        yield from self.contexts["context"]

    def human_counts(self) -> pd.Series:
        """Human captions that name a man, a woman: the mean over the captions an image has."""
        rows = self.human[self.human["image_id"].isin(self.contexts.index)]
        counts = [cooccurrence(part["caption"]) for _, part in rows.groupby("caption_index")]
        return pd.DataFrame(counts, columns=["man", "woman"]).mean()


def lic_study(
    corpus: Corpus, threshold: float = THRESHOLD, captioners: Iterable[str] = ()
) -> Study:
    """The captioners of a gender corpus (all, or some keys) on the images whose objects are known by image id."""
    objects = corpus.objects if corpus.synthetic else read_objects(data_file(AUTHORS_FILE))
    seen = contexts(objects, threshold=threshold)
    ids = set(seen.index) & set(corpus.covered)
    keys = list(captioners or corpus.captioners)
    captions = {corpus.display_names[key]: corpus.captions(key) for key in keys}
    ids = sorted(ids.intersection(*(each.index for each in captions.values())))
    if not ids:
        raise RelicError(f"{corpus.name}: no image with captions and objects")
    told = (
        "with objects" if corpus.synthetic else "images, objects of the authors' file by image id"
    )
    name = f"{corpus.name}, {len(ids):,} {told}"
    captions = {captioner: each.loc[ids] for captioner, each in captions.items()}
    human = corpus.human[corpus.human["image_id"].isin(ids)]
    return Study(name, corpus.synthetic, captions, seen.loc[ids], human)


def karpathy_study(threshold: float = THRESHOLD) -> Study:
    """The Karpathy test split with the authors' captions and objects."""
    file = data_file(AUTHORS_FILE)
    seen, rows = contexts(read_objects(file), threshold=threshold), pd.read_csv(file)
    captions = rows.set_index("image_id")["caption"].loc[seen.index]
    said = read_coco(data_file("coco/captions_karpathy_test.json"))
    human = pd.DataFrame(
        [(i, k, text) for i, texts in said.items() for k, text in enumerate(texts[:5])],
        columns=["image_id", "caption_index", "caption"],
    )
    name = f"COCO Karpathy test split, {len(seen):,} of {len(rows):,} images, objects of the authors' file"
    return Study(name, False, {VILBERT: captions}, seen, human[human["image_id"].isin(seen.index)])


def studies(corpus: Corpus, threshold: float = THRESHOLD) -> list[Study]:
    """The embedded corpus, or the nine captioners and the Karpathy test split."""
    first = lic_study(corpus, threshold)
    return [first] if corpus.synthetic else [first, karpathy_study(threshold)]


def data_file(name: str) -> Path:
    """A file of the data directory."""
    file = real_directory() / name
    if not file.is_file():
        raise RelicError(
            f"no {name} in the data directory",
            expected="a file of the Gender Score's public repository",
            mend="put it there, or bring objects of your own: relic gender-score objects",
        )
    return file
