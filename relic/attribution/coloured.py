"""Captions with their words marked by attribution, as HTML: to be read with colours or without.

Colour tells the direction and the strength; so do signs behind a word and the line under it.
"""

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd
from IPython.display import HTML

from relic.attribution.runs import Attributed
from relic.data.corpus import Corpus

FAINT, STRONG = 0.15, 0.45  # of a caption's norm: from where a word is marked once, and twice


@dataclass(frozen=True)
class Coloured:
    """A caption to show. `values` are attributions over their norm, positive towards class 1."""

    whose: str
    image: str
    true: str
    predicted: str
    confidence: float
    score: float
    words: Sequence[str]
    values: Sequence[float]


def show(captions: Iterable[Coloured], classes: tuple[str, str], caption: str) -> HTML:
    """Captions as cards, one below the other, with a legend; all text is escaped."""
    cards = "".join(map(_card, captions))
    return HTML(
        f'<div class="relic-coloured"><p class="caption">{_text(caption)}</p>{_legend(classes)}{cards}</div>'
    )


def word_html(word: str, value: float) -> str:
    """A word with its mark: `word++` strongly towards class 1, `word−` somewhat towards class 0.

    >>> word_html("a", 0.02)
    '<span class="plain">a</span>'
    """
    strength = abs(value)
    if strength < FAINT:
        return f'<span class="plain">{_text(word)}</span>'
    sign, towards = ("+", "one") if value > 0 else ("−", "zero")
    sign *= 2 if strength >= STRONG else 1
    level = "strong" if strength >= STRONG else "faint"
    told = f"{value:+.2f}".replace("-", "−")
    return f'<span class="{towards} {level}" title="{told}">{_text(word)}<sup>{sign}</sup></span>'


def _card(each: Coloured) -> str:
    right = "" if each.predicted == each.true else ", wrong"
    score = f"{each.score:+.2f}".replace("-", "−")
    facts = (
        f"image {each.image} · true {each.true} · predicted {each.predicted} "
        f"({each.confidence:.2f}{right}) · attribution score {score}"
    )
    words = " ".join(word_html(w, v) for w, v in zip(each.words, each.values, strict=True))
    return (
        f'<div class="said"><p class="facts"><strong>{_text(each.whose)}</strong> {_text(facts)}</p>'
        f'<p class="words">{words}</p></div>'
    )


def _legend(classes: tuple[str, str]) -> str:
    zero, one = classes
    marks = [word_html(f"towards {one}", value) for value in (STRONG, FAINT)]
    marks += [word_html(f"towards {zero}", -value) for value in (FAINT, STRONG)]
    return f'<p class="legend">{" ".join(marks)}</p>'


def examples(done: list[Attributed], corpus: Corpus, of: str, classifier: str) -> list[Coloured]:
    """The same two images in the words of all: the surest, and the one captioners differ on most.

    One seed's runs are used, the first's; with `paired` splits they share their test images.
    """
    runs = [d for d in done if d.of == of and d.run.classifier == classifier]
    runs = [d for d in runs if d.run.seed == runs[0].run.seed]
    human = [d for d in runs if d.run.side == "human"][:1]
    model = [d for d in runs if d.run.side == "model"]
    sides = pd.concat(
        [d.captions.set_index("image_id")["p"] for d in model], axis=1, join="inner"
    ).dropna()
    if sides.empty:
        return []
    truth = model[0].captions.set_index("image_id")["y"].loc[sides.index]
    sure = sides.where(truth == 1, 1 - sides, axis=0).mean(axis=1).idxmax()
    apart = (sides.max(axis=1) - sides.min(axis=1)).drop(sure).idxmax()
    return [_coloured(d, image, corpus) for image in (sure, apart) for d in [*human, *model]]


def _coloured(done: Attributed, image: int, corpus: Corpus) -> Coloured:
    row, classes = done.captions.set_index("image_id").loc[image], corpus.attribute.classes
    guess = int(row["p"] > 0.5)
    name = corpus.display_names[done.run.captioner]
    return Coloured(
        whose=name if done.run.side == "model" else "Human",
        image=str(image),
        true=classes[int(row["y"])],
        predicted=classes[guess],
        confidence=float(row["p"] if guess else 1 - row["p"]),
        score=float(row["score"]),
        words=list(row["words"]),
        values=[value / (row["norm"] or 1.0) for value in row["attributions"]],
    )


def _text(value) -> str:
    return html.escape(str(value))
