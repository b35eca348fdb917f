"""The process behind the embedded corpus, and what a perfect classifier could learn from it.

Each attribute has a channel. An image's hidden kind k depends on its class a; each caption draws a
phrase p given k and a:

    P(k | a) ∝ share_k · exp(± tilt_k · strength_kind / 2)
    P(p | k, a) ∝ weight_p · exp(± (1 + gain) · tilt_p · strength_phrase / 2)

with + for class 1. Humans have gain 0. Channels are independent of each other and all other words
are independent of the classes, so for one attribute only its own channel counts.

A classifier that knows P(y | a) and meets both classes equally often has posterior m(y) for the
likelier class, is right with probability m(y), and then scores m(y): LIC = E[m(y)²]. The sum runs
over all phrases of the channel, so it has no sampling error.
"""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import yaml

PAD = ""  # stands for a phrase that is not said


@cache
def lexicon() -> dict:
    """The words and tilts of `lexicon.yml`."""
    return yaml.safe_load(Path(__file__).with_name("lexicon.yml").read_text(encoding="utf-8"))


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


CAPTIONERS = (
    PlantedCaptioner("planted_none", "Faithful (gain 0)", 0.0),
    PlantedCaptioner("planted_some", "Amplifier (gain 0.5)", 0.5, vocabulary=0.9, stock=0.6),
    PlantedCaptioner("planted_lot", "Strong amplifier (gain 1.5)", 1.5, vocabulary=0.6, stock=0.8),
    PlantedCaptioner("planted_less", "Reducer (gain −1)", -1.0, stock=0.5, neutral=0.2),
)


class Channel:
    """The kinds and phrases of one attribute as probability tables."""

    def __init__(self, attribute: str):
        about = lexicon()[attribute]
        self.attribute, self.presence = attribute, about["presence"]
        self.kind_strength, self.phrase_strength = about["strength"]
        kinds = list(about["kinds"].values())
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
        kept = [p for row in self.phrases for p in row[: round(share * len(row))]]
        return {word for phrase in [*kept, *filter(None, self.places)] for word in phrase.split()}

    def outcomes(self, gain: float):
        """Every (phrases said, P(said | class 0), P(said | class 1))."""
        kinds, phrases = self.kind_probabilities(), self.phrase_probabilities(gain)
        for k, row in enumerate(self.phrases):
            for p, phrase in enumerate(row):
                both = kinds[:, k] * phrases[:, k, p]
                if self.places[k]:  # the phrase is always said, the place sometimes
                    yield (phrase, self.places[k]), both * self.presence
                    yield (phrase, PAD), both * (1 - self.presence)
                else:
                    yield (phrase,), both * self.presence
        if not any(self.places):
            yield (PAD,), np.array([1.0, 1.0]) * (1 - self.presence)


channel = cache(Channel)  # of gender, race or age


def _tilted(weights: np.ndarray, tilts: np.ndarray) -> np.ndarray:
    """Weights leaning to class 0 and to class 1, each normalised over the last axis."""
    both = np.stack([weights * np.exp(sign * tilts / 2) for sign in (-1, 1)])
    return both / both.sum(axis=-1, keepdims=True)


def bayes_score(attribute: str, gain: float, vocabulary: Collection[str] | None = None) -> float:
    """LIC of the Bayes-optimal classifier in percent, by enumeration.

    `vocabulary`: words that stay; others of the channel become one unknown word. None keeps all.
    """
    said: defaultdict = defaultdict(lambda: np.zeros(2))
    for phrases, probabilities in channel(attribute).outcomes(gain):
        words = [phrase.split() for phrase in phrases]
        kept = [[w if vocabulary is None or w in vocabulary else "" for w in row] for row in words]
        said[tuple(map(tuple, kept))] += probabilities
    table = np.array(list(said.values()))
    posterior = table.max(axis=1) / table.sum(axis=1)
    return float(100 * (table.mean(axis=1) * posterior**2).sum())
