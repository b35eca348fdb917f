"""The classifiers by name: what is known of each before its code is loaded, and how to get one."""

from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Literal, Protocol

import numpy as np

from relic.errors import RelicError, needed

Name = Literal["linear", "lstm", "bert-ft", "bert-pre"]
MINILM = "all-MiniLM-L6-v2"


@dataclass(frozen=True)
class TextForm:
    """How a classifier reads captions."""

    lowercase_generated: bool = True  # upstream's LSTM reads generated captions as they are
    mask_token: str = ""  # empty: the attribute's own
    unknown: str = "<unk>"


@dataclass(frozen=True)
class Kind:
    """What describes a run of a classifier; its code, and torch, are loaded when it is made."""

    version: int  # part of a run's key: raised when a change moves numbers
    recipes: tuple[str, ...]  # the first is what it is trained with unless another is named
    batchings: tuple[str, ...] = ("",)
    encoder: str = ""  # by default
    text_form: TextForm = TextForm()


class Classifier(Protocol):
    """Fit on captions and classes (0 or 1), then give logits of class 1 for other captions."""

    def fit(self, captions: list[str], classes: np.ndarray, seed: int) -> "Classifier":
        """Train; the same seed on the same machine gives the same logits to the last bit."""

    def logits(self, captions: list[str]) -> np.ndarray:
        """Log-odds of class 1."""


CASED = TextForm(lowercase_generated=False)
PIECES = TextForm(mask_token="[MASK]", unknown="[UNK]")  # one word piece each
HEADS = ("5e-5x20", "1e-5x5", "5e-5x20-dropout", "1e-5x5-dropout")  # recipes of a frozen encoder's
CLASSIFIERS: dict[Name, Kind] = {
    # of the recipes, those of `linear` after the first show what confidence does
    "linear": Kind(1, ("C=0.1", "C=0.01", "C=1", "C=10")),
    "lstm": Kind(1, ("upstream", "1e-3x4", "tuned"), ("bucketed", "packed"), "", CASED),
    # the papers' recipe, and ours for small sets
    "bert-ft": Kind(2, ("1e-5x5", "1e-4x3"), ("bucketed",), MINILM, PIECES),
    "bert-pre": Kind(1, HEADS, ("bucketed",), MINILM, PIECES),
}
HOMES = {  # imported when one is made; a build reads here what a page rests on
    "linear": "relic.measure.classifiers.linear:Linear",
    "lstm": "relic.measure.classifiers.lstm:LSTM",
    "bert-ft": "relic.measure.classifiers.bert:FineTuned",
    "bert-pre": "relic.measure.classifiers.bert:Pretrained",
}
RECIPES = {name: kind.recipes[0] for name, kind in CLASSIFIERS.items()}


def kind_of(name: str) -> Kind:
    """What is known of a classifier."""
    if name not in CLASSIFIERS:
        raise RelicError(f"unknown classifier {name!r}", expected=", ".join(CLASSIFIERS))
    return CLASSIFIERS[name]


def classifier(name: str, recipe: str = "", batching: str = "", encoder: str = "") -> Classifier:
    """A fresh classifier. Wrong options are refused, and an encoder that cannot be loaded."""
    kind = kind_of(name)
    recipe, batching = recipe or kind.recipes[0], batching or kind.batchings[0]
    chosen = {"recipe": (recipe, kind.recipes), "batching": (batching, kind.batchings)}
    for option, (value, allowed) in chosen.items():
        if value not in allowed:
            expected = ", ".join(map(repr, allowed))
            raise RelicError(f"{name} has no {option} {value!r}", expected=expected)
    with needed("torch"):
        its_class = resolve_name(HOMES[name])
    return its_class(recipe=recipe, batching=batching, encoder=encoder or kind.encoder)
