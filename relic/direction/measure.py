"""Which way captions err, which LIC cannot say: wrong class named, no class named, objects pushed.

A caption *names* a class when it holds words of that class (`class_words.yml`) and none of the other.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from relic import records
from relic.attribute import Attribute, load_attribute
from relic.data.corpus import Corpus
from relic.direction.amplification import attribute_to_objects, human_leaning, objects_to_attribute
from relic.errors import RelicError
from relic.evidence import select
from relic.objects import object_names, object_table
from relic.resample import image_draws, interval
from relic.text import TREEBANK, tokenize, tokenizer

OUTCOMES = ("right", "wrong", "both", "neutral")
WRONG_OF_NAMED = "wrong of named"
HUMAN, SILENT = "Human", "Always neutral (constructed)"
DIRECTIONS = ("A→T", "A→T, equal rates", "T→A")
RECORD = "direction"
NEUTRAL_WORDS = {"he": "they", "she": "they", "his": "their", "her": "their", "hers": "theirs",
                 "him": "them", "himself": "themself", "herself": "themself", "pregnant": "",
                 "old": "", "young": "", "little": "", "elderly": ""}  # fmt: skip
BOTH, NONE = 2, -1  # beside 0 and 1: what a caption names


@cache
def class_words(attribute: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """Words that name class 0 and class 1; None for an attribute without such words (race)."""
    text = Path(__file__).with_name("class_words.yml").read_text(encoding="utf-8")
    words = yaml.safe_load(text).get(attribute)
    if words is None:
        return None
    first, second = (frozenset(str(line).split()) for line in words.values())
    return first, second


def words_of(about: Attribute) -> tuple[frozenset[str], frozenset[str]] | None:
    """The same for any attribute: its own masked words by class, where its file lists them so."""
    if class_words(about.name):
        shipped = load_attribute(about.name).classes
        words = dict(zip(shipped, class_words(about.name), strict=True))
    else:
        words = about.class_words
    return (
        tuple(words[name] for name in about.classes) if set(about.classes) <= set(words) else None
    )


def named_class(
    caption: str, words: tuple[frozenset[str], frozenset[str]], tokens_by: str = TREEBANK
) -> int:
    """0 or 1 for the class that a caption names, BOTH, or NONE.

    >>> words = class_words("gender")
    >>> [named_class(c, words) for c in ("a man", "her dog", "a man and a woman", "a person")]
    [0, 1, 2, -1]
    """
    tokens = set(tokenizer(tokens_by)(caption.lower()))
    first, second = (bool(tokens & own) for own in words)
    return BOTH if first and second else 0 if first else 1 if second else NONE


def neutralised(caption: str, words: tuple[frozenset[str], frozenset[str]]) -> str:
    """The caption with every word that names a class made neutral.

    >>> neutralised("a man and his dog", class_words("gender"))
    'a person and their dog'
    """
    tokens = tokenize(caption.lower())
    either = words[0] | words[1]
    return " ".join(
        filter(None, (NEUTRAL_WORDS.get(t, "person") if t in either else t for t in tokens))
    )


@dataclass(frozen=True, eq=False)
class Captions:
    """Captions of several sets for the same images; a set has one caption an image, humans five."""

    corpus: Corpus
    images: pd.Index
    classes: np.ndarray
    sets: dict[str, list[pd.Series]]

    @property
    def human(self) -> list[pd.Series]:
        """The five human captions, by number."""
        return self.sets[HUMAN]


def gather(corpus: Corpus, within: pd.Index | None = None) -> Captions:
    """Captions of the images that have human captions and every captioner's; of those `within`."""
    if corpus.human.empty:
        raise RelicError(
            f"{corpus.name}, {corpus.attribute.name}: no human captions to compare with",
            mend="relic data check DIR tells which file is missing",
        )
    images = corpus.deepest  # humans are compared with each other
    for captioner in corpus.captioners:
        images = images.intersection(corpus.captions(captioner).index)
    images = (images if within is None else images.intersection(within)).sort_values()
    sets = {
        corpus.display_names[key]: [corpus.captions(key).loc[images]] for key in corpus.captioners
    }
    numbers = sorted(corpus.human["caption_index"].unique())
    sets[HUMAN] = [corpus.human_captions(i).loc[images] for i in numbers]
    words = words_of(corpus.attribute)
    if words:
        sets[SILENT] = [sets[HUMAN][0].map(lambda caption: neutralised(caption, words))]
    return Captions(corpus, images, corpus.labels.loc[images].to_numpy(), sets)


def naming(captions: Captions, draws: np.ndarray) -> pd.DataFrame:
    """Share of captions that name the right class, the wrong one, both or none, by label.

    Label `gap` is class 1 less class 0. `wrong of named` counts captions that name one class only.
    """
    about = captions.corpus.attribute
    words = words_of(about)
    if words is None:
        raise RelicError(f"no words name a class of {about.name}", expected="gender or age")
    labels = {"all": np.ones(len(captions.classes), dtype=bool)}
    labels |= {name: captions.classes == i for i, name in enumerate(about.classes)}
    rows = []
    for name, texts in captions.sets.items():
        table = outcome_table(_named(texts, words, about.tokenizer), captions.classes)
        values = {label: _shares(table, draws, kept) for label, kept in labels.items()}
        first, second = (values[label] for label in about.classes)
        values["gap"] = (second[0] - first[0], second[1] - first[1])
        for label, (whole, drawn) in values.items():
            n = int(labels.get(label, labels["all"]).sum())
            for i, outcome in enumerate((*OUTCOMES, WRONG_OF_NAMED)):
                low, high = interval(drawn[:, i])
                rows.append((about.name, name, label, outcome, whole[i], low, high, n, len(texts)))
    columns = ["attribute", "captioner", "label", "outcome", "value", "low", "high", "n", "captions an image"]  # fmt: skip
    return _told(pd.DataFrame(rows, columns=columns), captions, draws)


def outcome_table(named: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Share of an image's captions with each of OUTCOMES; a row an image."""
    classes = classes[:, None]
    named_one = (named == 0) | (named == 1)
    parts = (named == classes, named_one & (named != classes), named == BOTH, named == NONE)
    return np.stack([part.mean(axis=1) for part in parts], axis=1)


def _named(texts: list[pd.Series], words, tokens_by: str = TREEBANK) -> np.ndarray:
    """What each caption names: a row an image, a column a caption."""
    return np.array([[named_class(c, words, tokens_by) for c in column] for column in texts]).T


def _shares(table: np.ndarray, draws: np.ndarray, kept: np.ndarray):
    """Percent of each outcome, and wrong of named: of the images as they are, and of each draw."""
    found = []
    for weights in (np.ones((1, int(kept.sum()))), draws[:, kept]):
        with np.errstate(invalid="ignore", divide="ignore"):  # a draw may hold no such image
            shares = 100 * (weights @ table[kept]) / weights.sum(axis=1, keepdims=True)
            named = shares[:, 0] + shares[:, 1]
            found.append(np.column_stack([shares, 100 * shares[:, 1] / named]))
    return found[0][0], found[1]


def amplification(captions: Captions, draws: np.ndarray, fewest: int = 50):
    """BiasAmp A→T and T→A of each set of captions: a frame of means, and one of single objects.

    `A→T, equal rates`: with each object scaled to the rate at which humans name it (`at_human_rate`).
    Objects that humans name in fewer than `fewest` images are left out. Humans are compared with each other:
    each of the five captions with the other four, averaged. `objects a caption`: how many of them it names.
    """
    words = class_words(captions.corpus.attribute.name)
    human = [object_table(texts) for texts in captions.human]
    kept = np.max(human, axis=0).sum(axis=0) >= fewest
    if not kept.any():
        raise RelicError(f"no object in {fewest} images", expected="a smaller `fewest`")
    names = np.array(object_names())[kept]
    human = [table[:, kept] for table in human]
    means, singles = [], []
    for name, texts in captions.sets.items():
        tables = human if name == HUMAN else [object_table(column)[:, kept] for column in texts]
        held_out = {HUMAN: [0, 1, 2, 3, 4], SILENT: [0]}.get(name, [None] * len(texts))
        named = _named(texts, words).astype(float) if words else None
        for direction in DIRECTIONS if words else DIRECTIONS[:2]:
            found = []
            for column, own in enumerate(held_out):
                truth = np.mean([t for i, t in enumerate(human) if i != own], axis=0)
                leaning, y = human_leaning(captions.classes, truth), captions.classes
                if direction != "T→A":
                    said, measure = tables[column], attribute_to_objects
                    said = said if direction == "A→T" else at_human_rate(said, truth)
                else:
                    said = np.where(named[:, column] >= BOTH, np.nan, named[:, column])
                    said, measure = np.where(said < 0, np.nan, said), objects_to_attribute
                found.append([100 * measure(y, truth, said, w, leaning) for w in (None, draws)])
            whole = np.mean([values[0] for values in found], axis=0)[0]
            drawn = np.mean([values[1] for values in found], axis=0)
            value, spread = _mean(whole[None])[0], interval(_mean(drawn))
            rate = float(np.mean([table.sum(axis=1).mean() for table in tables]))
            means.append((name, direction, value, *spread, int(np.isfinite(whole).sum()), rate))
            if name in (HUMAN, SILENT) or direction == DIRECTIONS[1]:
                continue
            singles += [
                (name, direction, names[i], float(leaning[i]), whole[i], *interval(drawn[:, i]),
                 int((np.max(human, axis=0)[:, i] > 0).sum()))
                for i in range(len(names))
            ]  # fmt: skip
    columns = ["captioner", "direction", "value", "low", "high", "objects", "objects a caption"]
    single = ["captioner", "direction", "object", "leaning", "value", "low", "high", "images"]
    first = pd.DataFrame(means, columns=columns).assign(n=len(captions.images))
    return tuple(
        _told(frame.assign(attribute=captions.corpus.attribute.name), captions, draws)
        for frame in (first, pd.DataFrame(singles, columns=single))
    )


def at_human_rate(said: np.ndarray, human: np.ndarray) -> np.ndarray:
    """Objects scaled so that each is named as often as by humans: what is left is the tilt.

    A captioner that names every object twice as often doubles A→T without any tilt of its own.

    >>> at_human_rate(np.array([[1.0], [1.0]]), np.array([[0.5], [0.0]])).tolist()
    [[0.25], [0.25]]
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = human.mean(axis=0) / said.mean(axis=0)
    return said * np.where(np.isfinite(scale), scale, np.nan)


def _mean(values: np.ndarray) -> np.ndarray:
    """Mean over objects, without those that have no value; NaN where none has."""
    present = np.isfinite(values)
    total = np.where(present, values, 0).sum(axis=1)
    with np.errstate(invalid="ignore"):
        return total / np.where(present.any(axis=1), present.sum(axis=1), np.nan)


def _told(frame: pd.DataFrame, captions: Captions, draws: np.ndarray) -> pd.DataFrame:
    """What every row rests on."""
    return frame.assign(corpus=captions.corpus.name, draws=len(draws), source=records.BUILT)


def measure(corpus: Corpus, *, draws: int = 1000, seed: int = 0, fewest: int = 50) -> dict:
    """All tables of an attribute: `naming` (where words name its classes), `amplification`, `objects`."""
    captions = gather(corpus)
    table = image_draws(len(captions.images), draws, seed)
    means, singles = amplification(captions, table, fewest)
    found = {"amplification": means, "objects": singles}
    if class_words(corpus.attribute.name):
        found["naming"] = naming(captions, table)
    return found


def class_lic(runs: pd.DataFrame, attribute: str, classifier: str, classes: Iterable[str]):
    """LIC of each class by captioner, paired runs: mean and spread over seeds, by seed LIC_M - LIC_D."""
    kept = select(runs, attribute=attribute, classifier=classifier)
    columns = ["score", "score_class0", "score_class1"]
    keys = ["source", "corpus", "captioner", "seed"]
    parts = {side: kept[kept["side"] == side] for side in ("model", "human")}
    sides = {side: part.groupby(keys)[columns].mean() for side, part in parts.items()}
    lic = (sides["model"] - sides["human"]).dropna()
    lic.columns = ["both", *classes]
    long = lic.reset_index().melt(id_vars=keys, var_name="label", value_name="LIC")
    groups = ["source", "corpus", "captioner", "label"]
    table = long.groupby(groups, sort=False)["LIC"].agg(["mean", "std", "count"]).reset_index()
    return table.rename(columns={"mean": "LIC", "std": "std over seeds", "count": "seeds"})


def main() -> None:
    """Record the real captions' numbers, all attributes: python -m relic.direction.measure."""
    from relic.attribute import known_attributes
    from relic.data.load import load_corpus

    for attribute in known_attributes():
        for table, frame in measure(load_corpus(attribute, "real")).items():
            frame = frame.drop(columns="source")
            records.write_record(RECORD, f"{attribute}_{table}", frame)


if __name__ == "__main__":
    main()
