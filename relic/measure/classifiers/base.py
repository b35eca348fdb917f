"""What every classifier offers, and how to get one by name."""

from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

import numpy as np

from relic.errors import RelicError, needed


@dataclass(frozen=True)
class TextForm:
    """How a classifier reads captions."""

    lowercase_generated: bool = True  # upstream's LSTM reads generated captions as they are
    mask_token: str = ""  # empty: the attribute's own
    unknown: str = "<unk>"


class Classifier(Protocol):
    """Fit on captions and classes (0 or 1), then give logits of class 1 for other captions."""

    version: int  # part of a run's key: raised when a change moves numbers
    text_form: TextForm
    recipes: tuple[str, ...]
    batchings: tuple[str, ...]
    default_encoder: str = ""

    def __init__(self, recipe: str, batching: str = "", encoder: str = ""): ...

    def fit(self, captions: list[str], classes: np.ndarray, seed: int) -> "Classifier":
        """Train; the same seed on the same machine gives the same logits to the last bit."""

    def logits(self, captions: list[str]) -> np.ndarray:
        """Log-odds of class 1."""


# what each is trained with unless another recipe is named
RECIPES = {"linear": "C=0.1", "lstm": "upstream", "bert-ft": "1e-5x5", "bert-pre": "5e-5x20"}
CLASSIFIERS = {
    "linear": "relic.measure.classifiers.linear:Linear",
    "lstm": "relic.measure.classifiers.lstm:LSTM",
    "bert-ft": "relic.measure.classifiers.bert:FineTuned",
    "bert-pre": "relic.measure.classifiers.bert:Pretrained",
}


def classifier_type(name: str) -> type[Classifier]:
    """The class behind a name; its module is imported only now."""
    if name not in CLASSIFIERS:
        raise RelicError(f"unknown classifier {name!r}", expected=", ".join(CLASSIFIERS))
    module, _, attribute = CLASSIFIERS[name].partition(":")
    with needed("torch"):
        return getattr(import_module(module), attribute)


def check_options(name: str, recipe: str, batching: str, encoder: str) -> None:
    """Refuse wrong options before any training."""
    kind = classifier_type(name)
    chosen = {"recipe": (recipe, kind.recipes), "batching": (batching, kind.batchings)}
    for option, (value, allowed) in chosen.items():
        if value not in allowed:
            known = ", ".join(map(repr, allowed))
            raise RelicError(f"{name} has no {option} {value!r}", expected=known)
    if hasattr(kind, "check_encoder"):
        kind.check_encoder(encoder or kind.default_encoder)


def classifier(name: str, recipe: str = "", batching: str = "", encoder: str = "") -> Classifier:
    """A fresh classifier."""
    kind = classifier_type(name)
    recipe, batching = recipe or kind.recipes[0], batching or kind.batchings[0]
    check_options(name, recipe, batching, encoder)
    return kind(recipe=recipe, batching=batching, encoder=encoder)
