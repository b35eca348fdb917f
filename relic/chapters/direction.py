"""Which way captions err, which LIC cannot say: wrong class named, no class named, objects pushed.

A caption *names* a class when it holds words of that class (`class_words` of its attribute) and none of the other.
Objects: directional bias amplification (Wang & Russakovsky, ICML 2021, equation 2), over object words.

    BiasAmp = mean over classes a and objects t of  y_at · Δ_at

y_at is +1 where humans name the object more often with the class than chance has it, -1 where less.

- A→T: Δ_at = P(caption names t | a) - P(human caption names t | a): does the class change the objects named?
- T→A: Δ_at = P(caption names a | t) - P(label a | t): do the objects change the class named?

With two classes both Δ of an object differ in sign only (T→A) or give the difference of two gaps (A→T), so
one number an object is enough. P(t) is that of a human caption drawn at random from an image's five: the
union of five names more objects than one caption can. T→A reads the captions that name one class,
and compares them with the labels of the same images: a captioner cannot win by staying silent.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from relic.chapters.objects import object_names, object_table
from relic.data.attribute import SHIPPED, Attribute, load_attribute
from relic.data.corpus import Corpus
from relic.data.load import load_corpus
from relic.errors import RelicError
from relic.judge.stats import image_draws, interval
from relic.measure.text import TREEBANK, tokenize, tokenizer
from relic.records.tables import read_table, write_record

RECORD = "direction"
DRAWS, FEWEST = 1000, 50  # of the record: resamples; images in which an object is named
HUMAN, SILENT = "Human", "Always neutral (constructed)"
WRONG_OF_NAMED = "wrong of named"
OUTCOMES = ("right", "wrong", "both", "neutral", WRONG_OF_NAMED)
EQUAL_RATES = "A→T, equal rates"
BOTH, NONE = 2, -1  # beside 0 and 1: what a caption names
NEUTRAL_WORDS = dict.fromkeys(("pregnant", "old", "young", "little", "elderly"), "")
NEUTRAL_WORDS |= dict.fromkeys(("he", "she"), "they") | dict.fromkeys(("his", "her"), "their")
NEUTRAL_WORDS |= dict.fromkeys(("himself", "herself"), "themself")
NEUTRAL_WORDS |= {"hers": "theirs", "him": "them"}
Words = tuple[frozenset[str], frozenset[str]]  # that name class 0, that name class 1


def words_of(attribute: Attribute) -> Words | None:
    """Words that name class 0 and class 1; None for an attribute without such words (race)."""
    shipped = attribute.name in SHIPPED  # their words name a class, whatever is masked
    words = (load_attribute(attribute.name) if shipped else attribute).class_words
    complete = set(attribute.classes) <= set(words)
    return tuple(words[name] for name in attribute.classes) if complete else None


def _needed_words(attribute: Attribute) -> Words:
    if words_of(attribute) is None:
        raise RelicError(f"no words name a class of {attribute.name}", expected="gender or age")
    return words_of(attribute)


def named_class(caption: str, words: Words, tokens_by: str = TREEBANK) -> int:
    """0 or 1 for the class that a caption names, BOTH, or NONE.

    >>> words = words_of(load_attribute("gender"))
    >>> [named_class(c, words) for c in ("a man", "her dog", "a man and a woman", "a person")]
    [0, 1, 2, -1]
    """
    tokens = tokenizer(tokens_by)(caption.lower())
    first, second = (not of_class.isdisjoint(tokens) for of_class in words)
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
    classes: np.ndarray  # of the images
    sets: dict[str, list[pd.Series]]

    def named(self, name: str) -> np.ndarray:
        """What the captions of a set name: a row an image, a column a caption."""
        words, kind = _needed_words(self.corpus.attribute), self.corpus.attribute.tokenizer
        columns = [[named_class(c, words, kind) for c in texts] for texts in self.sets[name]]
        return np.column_stack(columns)

    def described(self, rows: list[tuple], columns: list[str], draws: int) -> pd.DataFrame:
        """A table, with what every row rests on."""
        source = {"attribute": self.corpus.attribute.name, "corpus": self.corpus.name}
        return pd.DataFrame(rows, columns=columns).assign(**source, draws=draws)


def gather(corpus: Corpus) -> Captions:
    """Captions of the images that have all five human captions and every captioner's."""
    images = corpus.deepest  # humans are compared with each other
    for captioner in corpus.captioners:
        images = images.intersection(corpus.captions(captioner).index)
    images = images.sort_values()
    sets = {corpus.display_names[k]: [corpus.captions(k).loc[images]] for k in corpus.captioners}
    numbers = sorted(corpus.human["caption_index"].unique())
    sets[HUMAN] = [corpus.human_captions(i).loc[images] for i in numbers]
    if words := words_of(corpus.attribute):
        sets[SILENT] = [sets[HUMAN][0].map(lambda caption: neutralised(caption, words))]
    return Captions(corpus, corpus.labels.loc[images].to_numpy(), sets)


def naming(captions: Captions, draws: int) -> pd.DataFrame:
    """Share of captions that name the right class, the wrong one, both or none, by label.

    Label `gap` is class 1 less class 0. `wrong of named` counts captions that name one class only.
    """
    labels, weights, rows = captions.classes, image_draws(len(captions.classes), draws), []
    zero, one = captions.corpus.attribute.classes
    of_label = {"all": labels >= 0, zero: labels == 0, one: labels == 1}
    for name, texts in captions.sets.items():
        named = captions.named(name)
        right = named == labels[:, None]
        outcomes = (right, np.isin(named, (0, 1)) & ~right, named == BOTH, named == NONE)
        table = np.stack([outcome.mean(axis=1) for outcome in outcomes], axis=1)  # a row an image
        shares = {k: _shares(table[at], weights[:, at]) for k, at in of_label.items()}
        shares["gap"] = shares[one] - shares[zero]
        for label, drawn in shares.items():
            n = int(of_label.get(label, of_label["all"]).sum())
            for outcome, share in zip(OUTCOMES, drawn.T, strict=True):
                rows.append((name, label, outcome, *interval(share), n, len(texts)))
    columns = ["captioner", "label", "outcome", "value", "low", "high", "n", "captions an image"]
    return captions.described(rows, columns, draws)


def _shares(table: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Percent of each outcome, and wrong of named; a row each row of weights."""
    with np.errstate(invalid="ignore", divide="ignore"):  # a draw may hold no such image
        shares = 100 * (weights @ table) / weights.sum(axis=1, keepdims=True)
        named = shares[:, 0] + shares[:, 1]
        return np.column_stack([shares, 100 * shares[:, 1] / named])


def amplification(captions: Captions, draws: int, fewest: int = FEWEST) -> dict[str, pd.DataFrame]:
    """BiasAmp A→T and T→A of each set of captions: means (`amplification`) and single `objects`.

    Objects that humans name in fewer than `fewest` images are left out. Humans are compared with each other:
    each of the five captions with the other four, averaged. `objects a caption`: how many of them it names.
    """
    human = np.array([object_table(texts) for texts in captions.sets[HUMAN]])
    images = human.max(axis=0).sum(axis=0).astype(int)
    enough = images >= fewest
    if not enough.any():
        raise RelicError(f"no object in {fewest} images", expected="a smaller `fewest`")
    human = np.ascontiguousarray(human[..., enough])  # sums of float32 depend on the layout
    everyone, weights = human.mean(axis=0), image_draws(len(captions.classes), draws).astype(float)
    others = [np.delete(human, one, axis=0).mean(axis=0) for one in range(len(human))]
    leaning = human_leaning(captions.classes, everyone)
    objects = list(zip(np.array(object_names())[enough], leaning, images[enough], strict=True))
    words, means, singles = words_of(captions.corpus.attribute), [], []
    for name, texts in captions.sets.items():
        said = [object_table(column)[:, enough] for column in texts]
        rate = float(np.mean([table.sum(axis=1).mean() for table in said]))
        human_made = name in (HUMAN, SILENT)  # not compared with itself
        truths = others[: len(said)] if human_made else [everyone]
        compared = {"A→T": said, EQUAL_RATES: list(map(_at_rate, said, truths))}
        compared |= {"T→A": captions.named(name).T} if words else {}
        for direction, named in compared.items():
            amplified = objects_to_attribute if direction == "T→A" else attribute_to_objects
            pairs = zip(truths, named, strict=True)
            pushed = [amplified(captions.classes, *pair, weights) for pair in pairs]
            values = 100 * np.mean(pushed, axis=0)
            mean = pd.DataFrame(values).mean(axis=1)  # over the objects that have a value
            counted = int(np.isfinite(values[0]).sum())
            means.append((name, direction, *interval(mean), counted, rate))
            if not human_made and direction != EQUAL_RATES:
                pairs = zip(objects, values.T, strict=True)
                singles += [(name, direction, *item, *interval(push)) for item, push in pairs]
    columns = ["captioner", "direction", "value", "low", "high", "objects", "objects a caption"]
    single = ["captioner", "direction", "object", "leaning", "images", "value", "low", "high"]
    table = captions.described(means, columns, draws).assign(n=len(captions.classes))
    return {"amplification": table, "objects": captions.described(singles, single, draws)}


def _at_rate(said: np.ndarray, human: np.ndarray) -> np.ndarray:
    """Objects as named, each scaled to the rate at which humans name it.

    A captioner that names every object twice as often doubles A→T without any tilt of its own:
    what is left is the tilt.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return said * (human.mean(axis=0) / said.mean(axis=0))


def human_leaning(classes: np.ndarray, human: np.ndarray) -> np.ndarray:
    """+1 for objects that humans name more often with class 1, -1 with class 0, NaN with neither."""
    leaning = np.sign(_gap(np.ones((1, len(classes))), classes, human)[0])
    return np.where(leaning == 0, np.nan, leaning)


def attribute_to_objects(
    classes: np.ndarray, human: np.ndarray, generated: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """A→T of each object, a row each row of weights; NaN for an object without leaning.

    `human`, `generated`: images × objects, how often captions name them (0 to 1). `weights`: how often
    each image is drawn; which class an object leans to stays that of all images.

    Two men, two women; humans name the object for both men and one woman, the captioner for the men only:
    P(t | man) stays 1, P(t | woman) falls from 0.5 to 0, so BiasAmp = (0 + 0.5) / 2.

    >>> human, said = np.array([[1.0], [1], [1], [0]]), np.array([[1.0], [1], [0], [0]])
    >>> attribute_to_objects(np.array([0, 0, 1, 1]), human, said, np.ones((1, 4))).tolist()
    [[0.25]]
    """
    wider = _gap(weights, classes, generated) - _gap(weights, classes, human)
    return wider * human_leaning(classes, human) / 2


def objects_to_attribute(
    classes: np.ndarray, human: np.ndarray, named: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """T→A of each object, a row each row of weights; NaN where no caption names one class.

    `named`: the class that the caption names, 0 or 1; anything else is none or both.

    Four images with the object, three men and one woman; the captioner calls all four men:
    P(man | t) rises from 0.75 to 1.

    >>> human, classes = np.array([[1.0]] * 4 + [[0.0]] * 2), np.array([0, 0, 0, 1, 1, 1])
    >>> objects_to_attribute(classes, human, np.array([0, 0, 0, 0, 1, 1]), np.ones((1, 6))).tolist()
    [[0.25]]
    """
    one = np.isin(named, (0, 1))
    drawn, has, change = weights[:, one], human[one], (named - classes)[one].astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (drawn * change) @ has / (drawn @ has) * human_leaning(classes, human)


def _gap(weights: np.ndarray, classes: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """P(t | class 1) - P(t | class 0)."""
    shares = []
    for value in (1, 0):
        of_class = classes == value
        if not of_class.any():
            raise RelicError(f"no image of class {value}", expected="images of both classes")
        part = weights[:, of_class]
        shares.append(part @ rates[of_class] / part.sum(axis=1, keepdims=True))
    return shares[0] - shares[1]


@lru_cache(maxsize=4)
def measure(corpus: Corpus, draws: int = DRAWS, fewest: int = FEWEST) -> dict[str, pd.DataFrame]:
    """All tables of an attribute: `amplification`, `objects`, `naming` where words name its classes."""
    captions = gather(corpus)
    named = {"naming": naming(captions, draws)} if words_of(corpus.attribute) else {}
    return amplification(captions, draws, fewest) | named


def table(corpus, part: str, draws: int = DRAWS, fewest: int = FEWEST) -> pd.DataFrame:
    """One of these tables: of the real captions as recorded; otherwise, or with other options, measured."""
    if part == "naming":
        _needed_words(corpus.attribute)
    if corpus.synthetic or (draws, fewest) != (DRAWS, FEWEST):
        return measure(corpus, draws, fewest)[part]
    return read_table(RECORD, f"{corpus.attribute.name}_{part}")


def record() -> None:
    """Record the real captions' numbers, all attributes."""
    for attribute in SHIPPED:
        for part, frame in measure(load_corpus(attribute, "real")).items():
            write_record(RECORD, f"{attribute}_{part}", frame)
