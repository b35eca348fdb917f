"""The embedded corpus: synthetic captions whose true LIC is known. Always called synthetic.

Each attribute has a channel. An image's hidden kind k depends on its class a; each caption draws a
phrase p given k and a:

    P(k | a) ∝ share_k · exp(± tilt_k · strength_kind / 2)
    P(p | k, a) ∝ weight_p · exp(± (1 + gain) · tilt_p · strength_phrase / 2)

with + for class 1. Humans have gain 0. Channels are independent of each other and all other words
are independent of the classes, so for one attribute only its own channel counts.

A classifier that knows P(y | a) and meets both classes equally often has posterior m(y) for the
likelier class, is right with probability m(y), and then scores m(y): LIC = E[m(y)²]. The sum runs
over all phrases of the channel, so it has no sampling error.

Only uniform numbers are drawn from the generator and turned into choices here, so that a new
release of NumPy cannot change the corpus: the same bytes for the same seed.
"""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
import yaml

from relic import paths
from relic.data.attribute import SHIPPED, load_attribute
from relic.data.corpus import HUMAN_CAPTIONS, PADDING, UNKNOWN, Corpus
from relic.errors import RelicError

NAME = "embedded corpus (synthetic)"
RATES = {"gender": 0.31, "race": 0.10, "age": 0.35}  # share of class 1, about as in the real data
FEWEST, MOST = 100, 2_000_000
AGE_WORD = 0.15  # share of captions that say young, old, ...
DETAILED = 0.4  # share of captions that may name surroundings (race) and clothes (age)
PAD = ""  # stands for a phrase that is not said


@cache
def lexicon() -> dict:
    """The words and tilts of `lexicon.yml`."""
    return yaml.safe_load(paths.LEXICON.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class PlantedCaptioner:
    """A captioner whose bias amplification is known."""

    key: str
    name: str
    gain: float  # multiplies the human word tilts by 1 + gain; 0 amplifies nothing
    stock: float = 0.7  # share of captions without fillers: these recur word for word
    vocabulary: float = 0.75  # share of each kind's phrases it has words for, commonest first
    neutral: float = 0.1  # share of captions that name no gender
    misgender: float = 0.05  # share of captions that name the wrong one
    sentences: int = 1  # captions of the image that it says one after the other
    fillers: int = 0  # phrases that it adds to each, which tell nothing


HUMAN = PlantedCaptioner("human", "Human", 0.0, stock=0.3, vocabulary=1.0, misgender=0.0)
CAPTIONERS = (
    PlantedCaptioner("planted_none", "Faithful (gain 0)", 0.0),
    PlantedCaptioner("planted_some", "Amplifier (gain 0.5)", 0.5, vocabulary=0.9, stock=0.6),
    PlantedCaptioner("planted_lot", "Strong amplifier (gain 1.5)", 1.5, vocabulary=0.6, stock=0.8),
    PlantedCaptioner("planted_less", "Reducer (gain −1)", -1.0, stock=0.5, neutral=0.2),
)


class Channel:
    """The kinds and phrases of one attribute as probability tables."""

    def __init__(self, attribute: str):
        entry = lexicon()[attribute]
        self.attribute, self.presence = attribute, entry["presence"]
        self.kind_strength, self.phrase_strength = entry["strength"]
        kinds = list(entry["kinds"].values())
        self.places = [kind.get("place") for kind in kinds]
        self.phrases = [list(kind["phrases"]) for kind in kinds]
        self._kind = np.array([kind["kind"] for kind in kinds], dtype=float)
        widest = max(map(len, self.phrases))
        self._phrase = np.zeros((len(kinds), widest, 2))
        for i, kind in enumerate(kinds):
            self._phrase[i, : len(kind["phrases"])] = list(kind["phrases"].values())

    def kind_probabilities(self) -> np.ndarray:
        """P(kind | class), shape (2, kinds)."""
        return _tilted(self._kind[:, 0], self._kind[:, 1] * self.kind_strength)

    def phrase_probabilities(self, gain: float) -> np.ndarray:
        """P(phrase | kind, class), shape (2, kinds, phrases)."""
        tilts = self._phrase[..., 1] * self.phrase_strength * (1 + gain)
        return _tilted(self._phrase[..., 0], tilts)

    def words(self, share: float = 1.0) -> set[str]:
        """Words of the commonest `share` of each kind's phrases, and of its place."""
        common = [p for row in self.phrases for p in row[: round(share * len(row))]]
        return {word for phrase in [*common, *filter(None, self.places)] for word in phrase.split()}

    def outcomes(self, gain: float):
        """Every kind with what is said of it, and P(kind and said | class) of both classes."""
        kinds, phrases = self.kind_probabilities(), self.phrase_probabilities(gain)
        for k, row in enumerate(self.phrases):
            for p, phrase in enumerate(row):
                both = kinds[:, k] * phrases[:, k, p]
                if self.places[k]:  # the phrase is always said, the place sometimes
                    yield k, (phrase, self.places[k]), both * self.presence
                    yield k, (phrase, PAD), both * (1 - self.presence)
                else:
                    yield k, (phrase,), both * self.presence
        if not any(self.places):  # of whatever kind
            yield None, (PAD,), np.array([1.0, 1.0]) * (1 - self.presence)


channel = cache(Channel)  # of gender, race or age


def _tilted(weights: np.ndarray, tilts: np.ndarray) -> np.ndarray:
    """Weights leaning to class 0 and to class 1, each normalised over the last axis."""
    both = np.stack([weights * np.exp(sign * tilts / 2) for sign in (-1, 1)])
    return both / both.sum(axis=-1, keepdims=True)


def bayes_score(
    attribute: str, gain: float, vocabulary: Collection[str] | None = None, sentences: int = 1
) -> float:
    """LIC of the Bayes-optimal classifier in percent, by enumeration.

    `vocabulary`: words that stay; others of the channel become one unknown word. None keeps all.
    `sentences` of a gender caption: given the image's kind they are independent, their order tells nothing.
    """
    by_kind: defaultdict = defaultdict(list)
    for kind, phrases, probabilities in channel(attribute).outcomes(gain):
        words = [phrase.split() for phrase in phrases]
        read = [[w if vocabulary is None or w in vocabulary else "" for w in row] for row in words]
        by_kind[kind].append((tuple(map(tuple, read)), probabilities))
    said: defaultdict = defaultdict(lambda: np.zeros(2))
    for kind, outcomes in by_kind.items():
        of_kind = channel(attribute).kind_probabilities()[:, kind] if sentences > 1 else 1.0
        for caption in product(outcomes, repeat=sentences):
            texts, chances = zip(*caption, strict=True)
            said[tuple(sorted(texts))] += np.prod(chances, axis=0) / of_kind ** (sentences - 1)
    table = np.array(list(said.values()))
    posterior = table.max(axis=1) / table.sum(axis=1)
    return float(100 * (table.mean(axis=1) * posterior**2).sum())


class TrueLIC(NamedTuple):
    """LIC of the Bayes-optimal classifier, in percent, by enumeration."""

    lic_model: float
    lic_data: float
    lic: float


@dataclass(frozen=True, eq=False, repr=False)
class PlantedCorpus(Corpus):
    """A synthetic corpus that knows its true LIC."""

    planted: dict[str, PlantedCaptioner] = field(default_factory=dict)

    def true_lic(self, captioner: str) -> TrueLIC:
        """True LIC of a sentence after masking and alignment; 0 for a captioner without gain."""
        if captioner not in self.planted:
            found = f"no planted captioner {captioner!r}"
            raise RelicError(found, expected=", ".join(self.planted))
        words = frozenset(self.vocabularies[captioner])
        model = bayes_score(self.attribute.name, self.planted[captioner].gain, words)
        data = bayes_score(self.attribute.name, 0.0, words)
        return TrueLIC(model, data, model - data)


def planted_corpus(
    attribute: str,
    *,
    images: int = 4000,
    seed: int = 0,
    captioners: tuple[PlantedCaptioner, ...] = CAPTIONERS,
) -> PlantedCorpus:
    """The embedded corpus for gender, race or age: same images and captions, other labels."""
    described = load_attribute(attribute)
    if attribute not in SHIPPED:
        raise RelicError(f"{NAME} has no {attribute}", expected=", ".join(SHIPPED))
    if not isinstance(images, int) or not FEWEST <= images <= MOST:
        raise RelicError(f"{images} images", expected=f"a whole number, {FEWEST:,} to {MOST:,}")
    if not isinstance(seed, int) or seed < 0:
        raise RelicError(f"seed {seed}", expected="a whole number from 0")
    classes, generated, human, objects = _draw(images, seed, tuple(captioners))
    ids = pd.RangeIndex(1, images + 1, name="image_id")
    return PlantedCorpus(
        name=f"{NAME}, {images:,} images" + (f", seed {seed}" if seed else ""),
        synthetic=True,
        attribute=described,
        labels=pd.Series(classes[attribute], index=ids, name=attribute).astype("int64"),
        generated=generated,
        human=human,
        vocabularies={c.key: _vocabulary(c) for c in captioners},
        display_names={c.key: c.name for c in captioners},
        objects=objects,
        human_row_order=True,
        reload=partial(planted_corpus, attribute, images=images, seed=seed, captioners=captioners),
        planted={c.key: c for c in captioners},
    )


@lru_cache(maxsize=4)
def _draw(images: int, seed: int, captioners: tuple[PlantedCaptioner, ...]) -> tuple:
    """Classes by attribute, generated captions, human captions, objects."""
    rng = np.random.Generator(np.random.PCG64([seed, 0]))
    classes = {name: (rng.random(images) < rate).astype(int) for name, rate in RATES.items()}
    tables = {name: channel(name).kind_probabilities() for name in classes}
    kinds = {name: _choose(tables[name][labels], rng) for name, labels in classes.items()}
    ids, human, frames = pd.DataFrame({"image_id": np.arange(1, images + 1)}), [], []
    for index in range(HUMAN_CAPTIONS):
        stream = np.random.Generator(np.random.PCG64([seed, 1, index]))
        texts = _captions(HUMAN, classes, kinds, stream)
        human.append(ids.assign(caption_index=index, caption=texts))
    for number, captioner in enumerate(captioners):
        stream = np.random.Generator(np.random.PCG64([seed, 2, number]))
        said = [_captions(captioner, classes, kinds, stream) for _ in range(captioner.sentences)]
        rows = ids.assign(captioner=captioner.key, caption_set="standard")
        rows["caption"] = [" ".join(sentences) for sentences in zip(*said, strict=True)]
        rows = rows.iloc[np.argsort(stream.random(images), kind="stable")]  # own row order
        frames.append(rows[["captioner", "caption_set", "image_id", "caption"]])
    people = pd.concat(human, ignore_index=True).assign(source="planted")
    objects = _objects(ids, kinds["gender"], rng)
    return classes, pd.concat(frames, ignore_index=True), people, objects


def _choose(probabilities: np.ndarray, rng) -> np.ndarray:
    """An index for each row of a table of probabilities, by inverting its distribution."""
    totals = probabilities.cumsum(axis=1)
    draws = rng.random(len(totals))[:, None] * totals[:, -1:]
    return (draws >= totals).sum(axis=1)


def _captions(captioner: PlantedCaptioner, classes, kinds, rng) -> list[str]:
    size, human = len(kinds["gender"]), captioner is HUMAN
    words = frozenset(_vocabulary(captioner))
    pieces = [*_subject(captioner, classes, rng)]
    detailed = rng.random(size) < DETAILED  # plain captions name neither surroundings nor clothes
    for attribute in ("gender", "race", "age"):
        source, kind = channel(attribute), kinds[attribute]
        said = source.phrase_probabilities(captioner.gain)[classes[attribute], kind]
        texts = [[_known(phrase, words) for phrase in row] for row in source.phrases]
        pairs = zip(kind.tolist(), _choose(said, rng).tolist(), strict=True)
        chosen, draws = [texts[k][p] for k, p in pairs], rng.random(size)
        if any(source.places):
            places = [source.places[k] for k in kind.tolist()]
            pieces += [chosen, _sometimes(places, draws < source.presence)]
        else:
            pieces.append(_sometimes(chosen, detailed & (draws < source.presence / DETAILED)))
    rich = rng.random(size) >= captioner.stock
    tails = _signs() if human else lexicon()["fillers"]["tails"]
    pieces.append(_sometimes(_frequent(tails, size, rng), rich))
    pieces += [_frequent(tails, size, rng) for _ in range(captioner.fillers)]
    lines = [" ".join(filter(None, words)) for words in zip(*pieces, strict=True)]
    if human:  # people write capitals and, mostly, full stops
        ends = np.where(rng.random(size) < 0.6, ".", "").tolist()
        lines = [s[0].upper() + s[1:] + end for s, end in zip(lines, ends, strict=True)]
    return lines


def _subject(captioner: PlantedCaptioner, classes, rng) -> list[list[str]]:
    """Article, age word, manner and person: no piece depends on a class once it is masked."""
    size, words = len(classes["gender"]), lexicon()
    aged, rich = rng.random(size) < AGE_WORD, rng.random(size) >= captioner.stock
    swapped = rng.random(size) < captioner.misgender
    neutral = rng.random(size) < captioner.neutral
    genders, ages = load_attribute("gender").classes, load_attribute("age").classes
    pick, which = rng.random(size), rng.random(size)
    manner = words["fillers"]["manner"]
    manners = _frequent(manner if captioner is HUMAN else manner[:8], size, rng)
    persons, adjectives = [], []
    labels = zip(classes["gender"].tolist(), classes["age"].tolist(), strict=True)
    for i, (g, a) in enumerate(labels):
        group = "neutral" if neutral[i] else genders[g ^ int(swapped[i])]
        choices = words["persons"][group][ages[a]]
        persons.append(choices[int(pick[i] ** 2 * len(choices))])  # the first the commonest
        choices = words["age_words"][ages[a]]
        adjectives.append(choices[int(which[i] * len(choices))] if aged[i] else "")
    articles = ["the" if adjective else "a" for adjective in adjectives]
    linked = _sometimes(["is"] * size, rng.random(size) < (0.5 if captioner is HUMAN else 0.1))
    return [articles, adjectives, _sometimes(manners, rich), persons, linked]


def _known(phrase: str, words: Collection[str]) -> str:
    """The phrase, generic where the captioner lacks its first or last word."""
    tokens, (first, last) = phrase.split(), lexicon()["generic"]
    tokens = [t if t in words else (first if i == 0 else last) for i, t in enumerate(tokens)]
    return " ".join(tokens)


def _sometimes(texts: list[str], present: np.ndarray) -> list[str]:
    return [text if said else "" for text, said in zip(texts, present.tolist(), strict=True)]


def _frequent(texts: list[str], size: int, rng) -> list[str]:
    """Draws with Zipf's frequencies, the first text the commonest."""
    totals = np.cumsum(1 / np.arange(1, len(texts) + 1))
    return [texts[i] for i in np.searchsorted(totals, rng.random(size) * totals[-1], side="right")]


@lru_cache(maxsize=1)
def _signs() -> list[str]:
    """Tails with rare made-up words, as only humans write: "by a dark-teal-striped sign"."""
    fillers = lexicon()["fillers"]
    parts = product(fillers["makings"], fillers["colours"], fillers["shades"])
    return [*fillers["tails"], *(f"by a {s}{c}-{m} sign" for m, c, s in parts)]


@lru_cache(maxsize=64)
def _vocabulary(captioner: PlantedCaptioner) -> tuple[str, ...]:
    """All words a captioner may say, in a fixed order, after upstream's two special entries."""
    words = lexicon()
    spoken = {"a", "the", "is", ".", *words["generic"], *words["fillers"]["manner"][:8]}
    for attribute in map(load_attribute, SHIPPED):
        spoken |= {attribute.mask_token, *channel(attribute.name).words(captioner.vocabulary)}
    by_age = [words["age_words"], *words["persons"].values()]
    said = [text for group in by_age for texts in group.values() for text in texts]
    spoken.update(word for text in [*said, *words["fillers"]["tails"]] for word in text.split())
    return (UNKNOWN, PADDING, *sorted(spoken))


def _objects(ids: pd.DataFrame, kinds: np.ndarray, rng) -> pd.DataFrame:
    """Two objects an image: a thing of its scene, whatever the class, and the place."""
    source = channel("gender")
    plain = source.phrase_probabilities(-1.0)[0, kinds]  # gain -1 removes the tilt
    pairs = zip(kinds, _choose(plain, rng), strict=True)
    things = [source.phrases[k][p].split()[-1] for k, p in pairs]
    places = [source.places[k].split()[-1] for k in kinds]
    frames = [
        ids.assign(label=labels, probability=0.2 + span * rng.random(len(ids)))
        for labels, span in ((things, 0.75), (places, 0.5))
    ]
    return pd.concat(frames, ignore_index=True).assign(source="planted")
