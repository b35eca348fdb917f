"""What is scored, and the paper's tables 1 to 5 of it: a row a captioner or embedding.

Ratios to men have 95 % bootstrap intervals over images (tables 1 and 2: over distinct objects,
because images of one object are not independent).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from relic.chapters.gender_score.score import (
    PERSONS,
    THRESHOLD,
    contexts,
    cooccurrence,
    estimated,
    ratio_to_men,
    score_captions,
)
from relic.data.corpus import Corpus
from relic.data.load import data_directory, read_coco
from relic.errors import RelicError
from relic.judge.stats import image_draws, interval
from relic.measure.text import tokenize

DISTANCE, SCORE = "Gender Object Distance", "Gender Score"  # the paper's names of the methods
COUNTED, ESTIMATED = "Object Gender Co-Occ", "Gender Score Estimation"
OBJECTS = ("skateboard", "kitchen", "motorcycle", "baseball")  # of table 4
VILBERT = "ViLBERT (authors' file)"  # its counts of man and woman are ViLBERT's, table 5
AUTHORS_FILE = "visual_context/karpathy_test.csv"  # of a data directory


@dataclass(frozen=True, eq=False)
class Study:
    """Captions by captioner and image; contexts by image; five human captions an image."""

    name: str  # what it is, for captions of tables and figures
    captions: dict[str, pd.Series]
    contexts: pd.DataFrame
    human: pd.DataFrame

    @cache  # noqa: B019 - a study lives as long as its page
    def scores(self, prior, encoder) -> dict[str, pd.DataFrame]:
        """Each captioner's captions, scored."""
        return {
            name: score_captions(captions, self.contexts, prior, encoder).assign(caption=captions)
            for name, captions in self.captions.items()
        }

    def table(self, name: str, prior, encoder, **options) -> pd.DataFrame:
        """A table by its name in `TABLES`: the rows of each captioner, and what they rest on."""
        rows = [
            {"method": method, "captioner": captioner, **row}
            for captioner, scores in self.scores(prior, encoder).items()
            for method, row in TABLES[name](self, scores, **options)
        ]
        names = {"corpus": self.name, "prior": prior.name, "encoder": encoder.name}
        return pd.DataFrame(rows).assign(**names)


def lic_study(
    corpus: Corpus, threshold: float = THRESHOLD, captioners: Iterable[str] = ()
) -> Study:
    """The captioners of a gender corpus (all, or some keys) on the images whose objects are known by image id."""
    seen = contexts(corpus.objects if corpus.synthetic else authors_objects(), threshold=threshold)
    keys = captioners or corpus.captioners
    captions = {corpus.display_names[key]: corpus.captions(key) for key in keys}
    indices = (texts.index for texts in captions.values())
    ids = sorted(set(corpus.covered).intersection(seen.index, *indices))
    if not ids:
        raise RelicError(f"{corpus.name}: no image with captions and objects")
    captions = {captioner: texts.loc[ids] for captioner, texts in captions.items()}
    source = "images, objects of the authors' file by image id"
    source = "with objects" if corpus.synthetic else source
    name = f"{corpus.name}, {len(ids):,} {source}"
    return Study(name, captions, seen.loc[ids], corpus.human)


def karpathy_study(threshold: float = THRESHOLD) -> Study:
    """The Karpathy test split with the authors' captions and objects."""
    rows = authors_objects()
    seen = contexts(rows, threshold=threshold)
    captions = rows.set_index("image_id")["caption"].loc[seen.index]
    human = pd.Series(read_coco(data_file("coco/captions_karpathy_test.json"))).str[:5].explode()
    human = human.rename_axis("image_id").reset_index(name="caption")
    human["caption_index"] = human.groupby("image_id").cumcount()
    name = f"COCO Karpathy test split, {len(seen):,} of {len(rows):,} images, objects of the authors' file"
    return Study(name, {VILBERT: captions}, seen, human)


def authors_objects() -> pd.DataFrame:
    """The authors' file. It holds up to three labels a row without delimiter: a row stays one object."""
    return pd.read_csv(data_file(AUTHORS_FILE)).rename(columns={"labels": "label"})


def data_file(name: str) -> Path:
    """A file of the data directory."""
    file = data_directory() / name
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


def distances(labels: Iterable[str], encoders: list, dataset: str) -> list[pd.DataFrame]:
    """Tables 2 and 1: cosines of the images' object labels with person, man and woman, by encoder.

    Labels without a vector are counted, no more.
    """
    counts = pd.Series(list(labels), dtype=object).value_counts().sort_index()
    if counts.empty:
        raise RelicError("no object labels", expected="at least one")
    rows, nearest = [], []
    for encoder in encoders:
        cosines = encoder.encode(list(counts.index)) @ encoder.encode(PERSONS).T
        near = pd.DataFrame(cosines, columns=PERSONS, dtype=float)
        near = near.assign(object=counts.index, images=counts.to_numpy()).dropna()
        sums, images = near[list(PERSONS)].mul(near["images"], axis=0), near["images"].sum()
        row = {"model": encoder.name, "dataset": dataset, **sums.sum() / images}
        row |= ratio(sums["man"], sums["woman"])
        row |= {"to_w": 1 - row["to_m"], "images": images, "objects": len(near)}
        rows.append(row | {"objects without a vector": len(counts) - len(near)})
        nearest.append(_nearest_objects(near).assign(embedding=encoder.name))
    columns = "embedding gender order rank object images cosine".split()
    nearest = pd.concat(nearest, ignore_index=True)[[*columns, "objects nearest"]]
    return [pd.DataFrame(rows), nearest]


def _nearest_objects(near: pd.DataFrame) -> pd.DataFrame:
    """Objects whose nearest of the three is person, man or woman; the first five.

    Two orders, because the paper's words fit neither alone: by number of images, and by cosine.
    """
    nearest, parts = near[list(PERSONS)].idxmax(axis=1), []
    for person in PERSONS:
        nearer = near[nearest == person].rename(columns={person: "cosine"})
        for order, second in (("images", "cosine"), ("cosine", "images")):
            best = nearer.sort_values([order, second, "object"], ascending=[False, False, True])
            which = {"gender": person, "order": order, "objects nearest": len(nearer)}
            parts.append(best.assign(**which, rank=range(1, len(nearer) + 1)).head(5))
    return pd.concat(parts)


def score_rows(study: Study, scores: pd.DataFrame) -> Iterator[tuple[str, dict]]:
    """Table 3: means with the person set to person, man, woman; ratios; leakage.

    Over captions that name a person of one gender or none; others are counted as left out.
    `GS_man`, `GS_woman`: the mean score of the captions, as they are, that state that gender.
    Leakage: captions that name the gender, over the mean of the human captions of the same images.
    """
    human = study.human[study.human["image_id"].isin(study.contexts.index)]
    human = pd.Series(cooccurrence(human["caption"])) / human["caption_index"].nunique()
    leakage = pd.Series(cooccurrence(scores["caption"])) / human
    for method, column in ((DISTANCE, "similarity"), (SCORE, "score")):
        forms = scores[[f"{column}_{person}" for person in PERSONS]].dropna()
        forms = forms.set_axis(PERSONS, axis=1)
        means, stated = forms.mean(), scores.groupby("gender")[column].mean().reindex(PERSONS)
        row = {**means, "m": means["man"] / means["person"], "w": means["woman"] / means["person"]}
        row |= ratio(forms["man"], forms["woman"])
        row |= {"GS_man": stated["man"], "GS_woman": stated["woman"]}
        row |= {"leakage_m": leakage["man"], "leakage_w": leakage["woman"]}
        yield method, row | {"captions": len(forms), "left out": len(scores) - len(forms)}


def object_rows(
    study: Study, scores: pd.DataFrame, objects: Iterable[str] = OBJECTS
) -> Iterator[tuple[str, dict]]:
    """Table 4: the ratio to men among captions that name an object, three ways.

    Co-occurrence counts captions; the Gender Score's ratio weights each caption by its score; the
    estimation counts what it fills in. NaN where no caption names the object with one gender.
    """
    scores = scores[scores["gender"].isin(PERSONS[1:])]
    for word in objects:
        part = scores[[word in tokenize(text.lower()) for text in scores["caption"]]]
        stated, guess = part["gender"], estimated(part)
        ways = ((COUNTED, stated, 1.0), (SCORE, stated, part["score"]), (ESTIMATED, guess, 1.0))
        for method, gender, weight in ways:
            share = ratio((gender == "man") * weight, (gender == "woman") * weight)
            yield method, {"object": word, **share, "captions": len(part)}


def estimation_rows(study: Study, scores: pd.DataFrame) -> Iterator[tuple[str, dict]]:
    """Table 5: captions that state man or woman, and what the estimation fills in for the same.

    `agreement`: share of these captions whose own gender scores higher than the other.
    `prior alone`, `similarity alone`: share to which the language model, or the encoder, gives man.
    """
    part = scores[scores["gender"].isin(PERSONS[1:])].dropna(subset=["score_man"])
    guess = estimated(part)
    shares = {
        "agreement": (guess == part["gender"]).mean(),
        "prior alone": (part["prior_man"] > part["prior_woman"]).mean(),
        "similarity alone": (part["similarity_man"] > part["similarity_woman"]).mean(),
    }
    none = dict.fromkeys(shares, np.nan)
    for method, gender, extra in ((COUNTED, part["gender"], none), (ESTIMATED, guess, shares)):
        man, woman = gender == "man", gender == "woman"
        row = {"man": man.sum(), "woman": woman.sum(), **ratio(man, woman), **extra}
        yield method, row | {"captions": len(part)}


TABLES = {"scores": score_rows, "estimation": estimation_rows, "objects": object_rows}
