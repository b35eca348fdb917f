"""What is scored, and the paper's tables 1 to 5 of it: a row a captioner or embedding.

Ratios to men have 95 % bootstrap intervals over images (tables 1 and 2: over distinct objects,
because images of one object are not independent).
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from relic.chapters.gender_score.score import (
    THRESHOLD,
    contexts,
    cooccurrence,
    estimated,
    ratio_to_men,
    score_captions,
)
from relic.chapters.gender_score.wording import PERSONS
from relic.data.corpus import Corpus
from relic.data.load import read_coco, real_directory
from relic.errors import RelicError
from relic.judge.stats import image_draws, interval
from relic.measure.text import tokenize

DISTANCE, SCORE = "Gender Object Distance", "Gender Score"  # the paper's names of the methods
COUNTED, ESTIMATED = "Object Gender Co-Occ", "Gender Score Estimation"
OBJECTS = ("skateboard", "kitchen", "motorcycle", "baseball")  # of table 4
VILBERT = "ViLBERT (authors' file)"  # its counts of man and woman are ViLBERT's, table 5
AUTHORS_FILE = "visual_context/karpathy_test.csv"  # of a data directory
TRAIN_FILE = "gender_score/visual_train_coco.txt"  # the same, labels without image ids


@dataclass(frozen=True, eq=False)
class Study:
    """Captions by captioner and image; contexts by image; five human captions an image."""

    name: str  # what it is, for captions of tables and figures
    captions: dict[str, pd.Series]
    contexts: pd.DataFrame
    human: pd.DataFrame

    @cache  # noqa: B019 - a study lives as long as its page
    def scores(self, prior, encoder) -> dict[str, pd.DataFrame]:
        """`score_captions` of each captioner."""
        return {
            name: score_captions(captions, self.contexts, prior, encoder)
            for name, captions in self.captions.items()
        }

    def words(self) -> Iterator[str]:
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
    objects = corpus.objects if corpus.synthetic else authors_objects()
    seen = contexts(objects, threshold=threshold)
    keys = list(captioners or corpus.captioners)
    captions = {corpus.display_names[key]: corpus.captions(key) for key in keys}
    known = [set(corpus.covered), *(set(each.index) for each in captions.values())]
    ids = sorted(set(seen.index).intersection(*known))
    if not ids:
        raise RelicError(f"{corpus.name}: no image with captions and objects")
    source = "" if corpus.synthetic else "images, objects of the authors' file by image id"
    name = f"{corpus.name}, {len(ids):,} {source or 'with objects'}"
    captions = {captioner: each.loc[ids] for captioner, each in captions.items()}
    return Study(name, captions, seen.loc[ids], corpus.human)


def karpathy_study(threshold: float = THRESHOLD) -> Study:
    """The Karpathy test split with the authors' captions and objects."""
    rows = authors_objects()
    seen = contexts(rows, threshold=threshold)
    captions = rows.set_index("image_id")["caption"].loc[seen.index]
    said = read_coco(data_file("coco/captions_karpathy_test.json"))
    human = pd.DataFrame(
        [(i, k, text) for i, texts in said.items() for k, text in enumerate(texts[:5])],
        columns=["image_id", "caption_index", "caption"],
    )
    name = f"COCO Karpathy test split, {len(seen):,} of {len(rows):,} images, objects of the authors' file"
    return Study(name, {VILBERT: captions}, seen, human)


def authors_objects() -> pd.DataFrame:
    """The authors' file. It holds up to three labels a row without delimiter: a row stays one object."""
    return pd.read_csv(data_file(AUTHORS_FILE)).rename(columns={"labels": "label"})


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


def ratio(men: Iterable[float], women: Iterable[float]) -> dict[str, float]:
    """Ratio to men of two sums over rows, with its interval over resampled rows."""
    rows = np.column_stack([np.asarray(men, dtype=float), np.asarray(women, dtype=float)])
    if not len(rows):
        return dict.fromkeys(("to_m", "low", "high"), np.nan)
    drawn = ratio_to_men(*(image_draws(len(rows)) @ rows).T)
    return dict(zip(("to_m", "low", "high"), interval(drawn), strict=True))


def similarities(labels: Iterable[str], encoder) -> pd.DataFrame:
    """Cosine of each distinct label with person, man and woman; how many images have it.

    Labels without a vector are kept, as NaN, so that they can be counted.
    """
    counts = pd.Series(Counter(labels), dtype=int).sort_index()
    if counts.empty:
        raise RelicError("no object labels", expected="at least one")
    cosines = np.asarray(encoder.encode(list(counts.index))) @ np.asarray(encoder.encode(PERSONS)).T
    frame = pd.DataFrame(cosines, columns=PERSONS, dtype=float)
    return frame.assign(object=counts.index, images=counts.to_numpy())


def distance_row(near: pd.DataFrame, embedding: str, dataset: str) -> pd.DataFrame:
    """Table 2, a row: mean cosines over the images, and the ratio to men."""
    known = near.dropna()
    sums = {person: known[person] * known["images"] for person in PERSONS}
    found = ratio(sums["man"], sums["woman"])
    images = int(known["images"].sum())
    means = {person: values.sum() / images for person, values in sums.items()}
    row = {"model": embedding, "dataset": dataset, **means, **found, "to_w": 1 - found["to_m"]}
    row |= {"images": images, "objects": len(known)}
    return pd.DataFrame([row | {"objects without a vector": len(near) - len(known)}])


def nearest_objects(near: pd.DataFrame, embedding: str, top: int = 5) -> pd.DataFrame:
    """Table 1: objects whose nearest of the three is person, man or woman; the first `top`.

    Two orders, because the paper's words fit neither alone: by number of images, and by cosine.
    """
    known, parts = near.dropna(), []
    nearest = known[list(PERSONS)].idxmax(axis=1)
    for person in PERSONS:
        own = known[nearest == person].rename(columns={person: "cosine"})
        for order, second in (("images", "cosine"), ("cosine", "images")):
            best = own.sort_values([order, second, "object"], ascending=[False, False, True])
            best = best.head(top)[["object", "images", "cosine"]]
            about = {"gender": person, "order": order, "objects nearest": len(own)}
            parts.append(best.assign(**about, rank=range(1, len(best) + 1)))
    columns = ["embedding", "gender", "order", "rank", "object", "images", "cosine"]
    found = pd.concat(parts, ignore_index=True).assign(embedding=embedding)
    return found[[*columns, "objects nearest"]]


def score_table(study: Study, prior, encoder) -> pd.DataFrame:
    """Table 3: means with the person set to person, man, woman; ratios; leakage; by captioner.

    Over captions that name a person of one gender or none; others are counted as left out.
    `GS_man`, `GS_woman`: the mean score of the captions, as they are, that state that gender.
    """
    human, rows = study.human_counts(), []
    for name, scores in study.scores(prior, encoder).items():
        leakage = pd.Series(cooccurrence(study.captions[name])) / human
        for method, column in ((DISTANCE, "similarity"), (SCORE, "score")):
            forms = scores[[f"{column}_{person}" for person in PERSONS]].dropna()
            means = dict(zip(PERSONS, forms.mean(), strict=True))
            stated = scores.groupby("gender")[column].mean().reindex(PERSONS)
            row = {"method": method, "captioner": name, **means}
            row |= {"m": means["man"] / means["person"], "w": means["woman"] / means["person"]}
            row |= ratio(forms[f"{column}_man"], forms[f"{column}_woman"])
            row |= {"GS_man": stated["man"], "GS_woman": stated["woman"]}
            row |= {"leakage_m": leakage["man"], "leakage_w": leakage["woman"]}
            rows.append(row | {"captions": len(forms), "left out": len(scores) - len(forms)})
    return _named(rows, study, prior, encoder)


def object_table(study: Study, prior, encoder, objects: Iterable[str] = OBJECTS) -> pd.DataFrame:
    """Table 4: the ratio to men among captions that name an object, three ways.

    Co-occurrence counts captions; the Gender Score's ratio weights each caption by its score; the
    estimation counts what it fills in. NaN where no caption names the object with one gender.
    """
    rows = []
    for name, scores in study.scores(prior, encoder).items():
        tokens = study.captions[name].loc[scores.index].map(lambda text: tokenize(text.lower()))
        for word in objects:
            named = tokens.map(lambda each, word=word: word in each)
            part = scores[named & scores["gender"].isin(PERSONS[1:])]
            weights = {COUNTED: 1.0, SCORE: part["score"], ESTIMATED: 1.0}
            for method, weight in weights.items():
                gender = estimated(part) if method == ESTIMATED else part["gender"]
                found = ratio(*((gender == person) * weight for person in PERSONS[1:]))
                row = {"method": method, "captioner": name, "object": word, **found}
                rows.append(row | {"captions": len(part)})
    return _named(rows, study, prior, encoder)


def estimation_table(study: Study, prior, encoder) -> pd.DataFrame:
    """Table 5: captions that state man or woman, and what the estimation fills in for the same.

    `agreement`: share of these captions whose own gender scores higher than the other.
    `prior alone`, `similarity alone`: share to which the language model, or the encoder, gives man.
    """
    rows = []
    for name, scores in study.scores(prior, encoder).items():
        part = scores[scores["gender"].isin(PERSONS[1:])].dropna(subset=["score_man"])
        guess = estimated(part)
        shares = {
            "agreement": (guess == part["gender"]).mean(),
            "prior alone": (part["prior_man"] > part["prior_woman"]).mean(),
            "similarity alone": (part["similarity_man"] > part["similarity_woman"]).mean(),
        }
        for method, gender in ((COUNTED, part["gender"]), (ESTIMATED, guess)):
            man, woman = (gender == person for person in PERSONS[1:])
            row = {"method": method, "captioner": name, "man": man.sum(), "woman": woman.sum()}
            row |= ratio(man, woman)
            row |= shares if method == ESTIMATED else dict.fromkeys(shares, np.nan)
            rows.append(row | {"captions": len(part)})
    return _named(rows, study, prior, encoder)


def _named(rows: list[dict], study: Study, prior, encoder) -> pd.DataFrame:
    about = {"corpus": study.name, "prior": prior.name, "encoder": encoder.name}
    return pd.DataFrame(rows).assign(**about)
