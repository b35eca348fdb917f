"""Which way captions err, which LIC cannot say: wrong class named, no class named, objects pushed.

A caption *names* a class when it holds words of that class (`class_words` of its attribute) and none of the other.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from relic.chapters.direction.amplification import (
    at_human_rate,
    attribute_to_objects,
    human_leaning,
    objects_to_attribute,
)
from relic.chapters.objects import object_names, object_table
from relic.chapters.resample import image_draws, interval
from relic.data.attribute import Attribute, known_attributes, load_attribute
from relic.data.corpus import Corpus
from relic.data.load import load_corpus
from relic.errors import RelicError
from relic.measure.text import TREEBANK, tokenize, tokenizer
from relic.records.tables import read_table, write_record

RECORD = "direction"
DRAWS, FEWEST = 1000, 50  # of the record: resamples; images in which an object is named
HUMAN, SILENT = "Human", "Always neutral (constructed)"
OUTCOMES = ("right", "wrong", "both", "neutral")
WRONG_OF_NAMED = "wrong of named"
DIRECTIONS = ("A→T", "A→T, equal rates", "T→A")
BOTH, NONE = 2, -1  # beside 0 and 1: what a caption names
NEUTRAL_WORDS = dict.fromkeys(("pregnant", "old", "young", "little", "elderly"), "")
NEUTRAL_WORDS |= dict.fromkeys(("he", "she"), "they") | dict.fromkeys(("his", "her"), "their")
NEUTRAL_WORDS |= dict.fromkeys(("himself", "herself"), "themself")
NEUTRAL_WORDS |= {"hers": "theirs", "him": "them"}
Words = tuple[frozenset[str], frozenset[str]]  # that name class 0, that name class 1


def words_of(about: Attribute) -> Words | None:
    """Words that name class 0 and class 1; None for an attribute without such words (race)."""
    shipped = about.name in known_attributes()  # whatever an audit masks, these words name a class
    words = load_attribute(about.name).class_words if shipped else about.class_words
    known = set(about.classes) <= set(words)
    return tuple(words[name] for name in about.classes) if known else None


def _needed_words(about: Attribute) -> Words:
    if words_of(about) is None:
        raise RelicError(f"no words name a class of {about.name}", expected="gender or age")
    return words_of(about)


def named_class(caption: str, words: Words, tokens_by: str = TREEBANK) -> int:
    """0 or 1 for the class that a caption names, BOTH, or NONE.

    >>> words = words_of(load_attribute("gender"))
    >>> [named_class(c, words) for c in ("a man", "her dog", "a man and a woman", "a person")]
    [0, 1, 2, -1]
    """
    tokens = tokenizer(tokens_by)(caption.lower())
    first, second = (not own.isdisjoint(tokens) for own in words)
    return BOTH if first and second else 0 if first else 1 if second else NONE


def neutralised(caption: str, words: Words) -> str:
    """The caption with every word that names a class made neutral.

    >>> neutralised("a man and his dog", words_of(load_attribute("gender")))
    'a person and their dog'
    """
    either = words[0] | words[1]
    tokens = tokenize(caption.lower())
    neutral = (NEUTRAL_WORDS.get(t, "person") if t in either else t for t in tokens)
    return " ".join(filter(None, neutral))


@dataclass(frozen=True, eq=False)
class Captions:
    """Captions of several sets for the same images; a set has one caption an image, humans five."""

    corpus: Corpus
    images: pd.Index
    classes: np.ndarray
    sets: dict[str, list[pd.Series]]

    def named(self, name: str) -> np.ndarray:
        """What the captions of a set name: a row an image, a column a caption."""
        about = self.corpus.attribute
        words = _needed_words(about)
        each = [
            texts.map(lambda c: named_class(c, words, about.tokenizer)) for texts in self.sets[name]
        ]
        return np.column_stack(each)


def gather(corpus: Corpus) -> Captions:
    """Captions of the images that have all five human captions and every captioner's."""
    if corpus.human.empty:
        raise RelicError(
            f"{corpus.name}, {corpus.attribute.name}: no human captions to compare with",
            mend="relic data check DIR tells which file is missing",
        )
    images = corpus.deepest  # humans are compared with each other
    for captioner in corpus.captioners:
        images = images.intersection(corpus.captions(captioner).index)
    images = images.sort_values()
    sets = {corpus.display_names[k]: [corpus.captions(k).loc[images]] for k in corpus.captioners}
    numbers = sorted(corpus.human["caption_index"].unique())
    sets[HUMAN] = [corpus.human_captions(i).loc[images] for i in numbers]
    if words := words_of(corpus.attribute):
        sets[SILENT] = [sets[HUMAN][0].map(lambda caption: neutralised(caption, words))]
    return Captions(corpus, images, corpus.labels.loc[images].to_numpy(), sets)


def naming(captions: Captions, draws: np.ndarray) -> pd.DataFrame:
    """Share of captions that name the right class, the wrong one, both or none, by label.

    Label `gap` is class 1 less class 0. `wrong of named` counts captions that name one class only.
    """
    classes, rows = captions.corpus.attribute.classes, []
    weights = np.vstack([np.ones(len(captions.images)), draws])  # first the images as they are
    of_label = {"all": captions.classes >= 0}
    of_label |= {name: captions.classes == i for i, name in enumerate(classes)}
    for name, texts in captions.sets.items():
        named = captions.named(name)
        right = named == captions.classes[:, None]
        outcomes = (right, np.isin(named, (0, 1)) & ~right, named == BOTH, named == NONE)
        table = np.stack([each.mean(axis=1) for each in outcomes], axis=1)  # a row an image
        shares = {k: _shares(table[kept], weights[:, kept]) for k, kept in of_label.items()}
        shares["gap"] = shares[classes[1]] - shares[classes[0]]
        for label, drawn in shares.items():
            n = int(of_label.get(label, of_label["all"]).sum())
            for outcome, each in zip((*OUTCOMES, WRONG_OF_NAMED), drawn.T, strict=True):
                rows.append((name, label, outcome, each[0], *interval(each[1:]), n, len(texts)))
    columns = ["captioner", "label", "outcome", "value", "low", "high", "n", "captions an image"]
    return _described(pd.DataFrame(rows, columns=columns), captions, draws)


def _shares(table: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Percent of each outcome, and wrong of named; a row each row of weights."""
    with np.errstate(invalid="ignore", divide="ignore"):  # a draw may hold no such image
        shares = 100 * (weights @ table) / weights.sum(axis=1, keepdims=True)
        named = shares[:, 0] + shares[:, 1]
        return np.column_stack([shares, 100 * shares[:, 1] / named])


def amplification(captions: Captions, draws: np.ndarray, fewest: int = FEWEST):
    """BiasAmp A→T and T→A of each set of captions: a frame of means, and one of single objects.

    `A→T, equal rates`: with each object scaled to the rate at which humans name it (`at_human_rate`).
    Objects that humans name in fewer than `fewest` images are left out. Humans are compared with each other:
    each of the five captions with the other four, averaged. `objects a caption`: how many of them it names.
    """
    human = np.array([object_table(texts) for texts in captions.sets[HUMAN]])
    images = human.max(axis=0).sum(axis=0).astype(int)
    kept = images >= fewest
    if not kept.any():
        raise RelicError(f"no object in {fewest} images", expected="a smaller `fewest`")
    human = np.ascontiguousarray(human[..., kept])  # sums of float32 depend on the layout
    names, images = np.array(object_names())[kept], images[kept]
    everyone = human.mean(axis=0)
    others = [np.delete(human, own, axis=0).mean(axis=0) for own in range(len(human))]
    leaning = human_leaning(captions.classes, everyone)
    weights = np.vstack([np.ones(len(captions.images)), draws])  # first the images as they are
    words, means, singles = words_of(captions.corpus.attribute), [], []
    for name, texts in captions.sets.items():
        said = [object_table(column)[:, kept] for column in texts]
        rate = float(np.mean([table.sum(axis=1).mean() for table in said]))
        named = captions.named(name).T if words else [None] * len(said)
        human_made = name in (HUMAN, SILENT)  # not compared with itself
        truths = others[: len(said)] if human_made else [everyone]
        for direction in DIRECTIONS if words else DIRECTIONS[:2]:
            pushes = [
                100 * _by_object(direction, captions.classes, truth, objects, classes, weights)
                for truth, objects, classes in zip(truths, said, named, strict=True)
            ]
            values = np.mean(pushes, axis=0)
            mean = pd.DataFrame(values).mean(axis=1)  # over the objects that have a value
            counted = int(np.isfinite(values[0]).sum())
            means.append((name, direction, mean[0], *interval(mean[1:]), counted, rate))
            if not human_made and direction != DIRECTIONS[1]:
                singles += [
                    (name, direction, thing, lean, one[0], *interval(one[1:]), n)
                    for thing, lean, one, n in zip(names, leaning, values.T, images, strict=True)
                ]
    columns = ["captioner", "direction", "value", "low", "high", "objects", "objects a caption"]
    single = ["captioner", "direction", "object", "leaning", "value", "low", "high", "images"]
    table = pd.DataFrame(means, columns=columns).assign(n=len(captions.images))
    objects = pd.DataFrame(singles, columns=single)
    return _described(table, captions, draws), _described(objects, captions, draws)


def _by_object(direction: str, classes, truth, objects, named, weights) -> np.ndarray:
    if direction == "T→A":
        return objects_to_attribute(classes, truth, named, weights)
    objects = objects if direction == "A→T" else at_human_rate(objects, truth)
    return attribute_to_objects(classes, truth, objects, weights)


def _described(frame: pd.DataFrame, captions: Captions, draws: np.ndarray) -> pd.DataFrame:
    """What every row rests on."""
    corpus = captions.corpus
    return frame.assign(attribute=corpus.attribute.name, corpus=corpus.name, draws=len(draws))


@lru_cache(maxsize=4)
def measure(corpus: Corpus, draws: int = DRAWS, fewest: int = FEWEST) -> dict[str, pd.DataFrame]:
    """All tables of an attribute: `amplification`, `objects`, `naming` where words name its classes."""
    captions = gather(corpus)
    drawn = image_draws(len(captions.images), draws)
    means, singles = amplification(captions, drawn, fewest)
    tables = {"amplification": means, "objects": singles}
    return tables | ({"naming": naming(captions, drawn)} if words_of(corpus.attribute) else {})


def table(corpus, part: str, draws: int = DRAWS, fewest: int = FEWEST) -> pd.DataFrame:
    """One of these tables: of the real captions as recorded; otherwise, or with other options, measured."""
    if part == "naming":
        _needed_words(corpus.attribute)
    if corpus.synthetic or (draws, fewest) != (DRAWS, FEWEST):
        return measure(corpus, draws, fewest)[part]
    return read_table(RECORD, f"{corpus.attribute.name}_{part}")


if __name__ == "__main__":  # records the real captions' numbers, all attributes
    for attribute in known_attributes():
        for part, frame in measure(load_corpus(attribute, "real")).items():
            write_record(RECORD, f"{attribute}_{part}", frame)
