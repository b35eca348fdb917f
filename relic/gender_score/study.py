"""What is scored: captions of several captioners on the same images, with the objects seen there."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from relic.auditing.readers import read_captions
from relic.data.corpus import Corpus
from relic.data.human import read_coco
from relic.data.load import real_directory
from relic.errors import RelicError
from relic.gender_score.score import score_captions
from relic.gender_score.visual import AUTHORS_FILE, THRESHOLD, contexts, read_objects

AUTHORS_CAPTIONER = "ViLBERT (authors' file)"  # its counts of man and woman are ViLBERT's, table 5


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

    def human_counts(self) -> dict[str, float]:
        """Human captions that name a man, a woman: the mean over the five an image has."""
        from relic.gender_score.score import cooccurrence

        rows = self.human[self.human["image_id"].isin(self.contexts.index)]
        found = [cooccurrence(part["caption"]) for _, part in rows.groupby("caption_index")]
        if not found:
            return {"man": float("nan"), "woman": float("nan")}
        return {person: float(np.mean([f[person] for f in found])) for person in ("man", "woman")}


def lic_study(corpus: Corpus, *, threshold: float = THRESHOLD, images: int = 0) -> Study:
    """The captioners of a gender corpus on the images whose objects are known by image id.

    `images`: only so many of them, drawn with a fixed seed; 0 takes all.
    """
    if corpus.synthetic:
        objects, note = corpus.objects, ""
    else:
        objects, note = read_objects(_file(AUTHORS_FILE)), ", objects of the authors' file by image id"  # fmt: skip
    found = contexts(objects, threshold=threshold)
    ids = sorted(set(found.index) & set(corpus.covered))
    for captioner in corpus.captioners:
        ids = sorted(set(ids) & set(corpus.captions(captioner).index))
    if images:
        ids = sorted(np.random.default_rng(0).permutation(ids)[:images].tolist())
    if not ids:
        raise RelicError(f"{corpus.name}: no image with captions and objects")
    captions = {corpus.display_names[key]: corpus.captions(key).loc[ids] for key in corpus.captioners}  # fmt: skip
    counted = "with objects" if corpus.synthetic else "images"
    name = f"{corpus.name}, {len(ids):,} {counted}{note}"
    human = corpus.human[corpus.human["image_id"].isin(ids)]
    return Study(name, corpus.synthetic, captions, found.loc[ids], human)


def karpathy_study(*, threshold: float = THRESHOLD, images: int = 0) -> Study:
    """The Karpathy test split with the authors' captions and objects."""
    file = _file(AUTHORS_FILE)
    found = contexts(read_objects(file), threshold=threshold)
    if images:
        found = found.sample(min(images, len(found)), random_state=0).sort_index()
    rows = pd.read_csv(file)
    captions = {AUTHORS_CAPTIONER: rows.set_index("image_id")["caption"]}
    captions = {name: s[s.index.isin(found.index)].sort_index() for name, s in captions.items()}
    human = []
    for image_id, texts in read_coco(_file("coco/captions_karpathy_test.json")).items():
        human += [(image_id, index, text) for index, text in enumerate(texts[:5])]
    human = pd.DataFrame(human, columns=["image_id", "caption_index", "caption"])
    name = f"COCO Karpathy test split, {len(found):,} of {len(rows):,} images, objects of the authors' file"  # fmt: skip
    return Study(name, False, captions, found, human[human["image_id"].isin(found.index)])


def studies(corpus: Corpus, images: int = 0) -> list[Study]:
    """The embedded corpus, or the nine captioners and the Karpathy test split; so many images."""
    nine = lic_study(corpus, images=images)
    return [nine] if corpus.synthetic else [nine, karpathy_study(images=images)]


def read_results(file: str | Path) -> pd.Series:
    """Captions by image id from COCO's results format, or another that an audit reads."""
    return read_captions(file).frame.set_index("image_id")["caption"]


def _file(name: str) -> Path:
    file = real_directory() / name
    if not file.is_file():
        raise RelicError(
            f"no {name} in the data directory",
            expected="the authors' visual context of the Karpathy test split",
            mend="put it there, or bring objects of your own: relic gender-score objects",
        )
    return file
