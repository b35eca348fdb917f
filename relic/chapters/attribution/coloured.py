"""Captions with their words marked by attribution, as figure 1 of Türk et al. (2023); also without colours.

Colour shows direction and strength; so do the signs behind a word and the line under it.
"""

import html

import pandas as pd
from scipy.special import expit

from relic.chapters.attribution.gradients import attribute
from relic.chapters.attribution.tables import brief
from relic.data.corpus import Corpus
from relic.measure.runs import describe, fit
from relic.numbers import number

FAINT, STRONG = 0.15, 0.45  # of a caption's norm: from where a word is marked once, and twice
IMAGES = {True: 200, False: 2000}  # of the balanced set: synthetic, real


def examples(corpus: Corpus, captioners: list[str], classifier: str, seed: int = 0) -> pd.DataFrame:
    """Two test images in the words of a human and of each captioner, a row a caption.

    A small classifier is trained on each set of captions, with one split for all. Of the test images:
    the one it guesses best on average over captioners, and the one on which captioners differ most.
    """
    how, trained = brief(corpus, classifier, IMAGES[corpus.synthetic]), {}
    for side, name in [("human", captioners[0]), *(("model", name) for name in captioners)]:
        run = describe(corpus, name, classifier, side=side, seed=seed, **how)
        trained["Human" if side == "human" else corpus.display_names[name]] = fit(corpus, run)
    p = pd.DataFrame(
        {
            whose: pd.Series(expit(model.logits(read.test)), read.images["image_id"])
            for whose, (model, read) in trained.items()
        }
    )
    generated, y = p.drop(columns="Human"), corpus.labels.loc[p.index]
    best = generated.where(y == 1, 1 - generated, axis=0).mean(axis=1).idxmax()
    apart = (generated.max(axis=1) - generated.min(axis=1)).drop(best).idxmax()
    rows = []
    for image in (best, apart):
        for whose, (model, read) in trained.items():
            text = read.test[read.images["image_id"].tolist().index(image)]
            row = attribute(model, [text]).iloc[0]
            values = [value / (row["norm"] or 1.0) for value in row["attributions"]]
            about = (whose, image, y[image], p.at[image, whose])
            rows.append((*about, row["score"], row["words"], values))
    return pd.DataFrame(rows, columns="whose image y p score words values".split())


def show(captions: pd.DataFrame, classes: tuple[str, str], caption: str) -> str:
    """HTML: a legend, and captions one below the other; all text is escaped."""
    signs = [(1, STRONG), (1, FAINT), (0, -FAINT), (0, -STRONG)]
    legend = " ".join(word_html(f"towards {classes[i]}", value) for i, value in signs)
    cards = "".join(_card(row, classes) for row in captions.itertuples())
    return (
        f'<div class="relic-coloured"><p class="caption">{html.escape(caption)}</p>'
        f'<p class="legend">{legend}</p>{cards}</div>'
    )


def word_html(word: str, value: float) -> str:
    """A word with its mark: `word++` strongly towards class 1, `word−` somewhat towards class 0.

    >>> word_html("a", 0.02)
    '<span class="plain">a</span>'
    """
    if abs(value) < FAINT:
        return f'<span class="plain">{html.escape(word)}</span>'
    sign, towards = ("+", "one") if value > 0 else ("−", "zero")
    sign, level = (2 * sign, "strong") if abs(value) >= STRONG else (sign, "faint")
    title = f'title="{number(float(value), 2)}"'
    return f'<span class="{towards} {level}" {title}>{html.escape(word)}<sup>{sign}</sup></span>'


def _card(row, classes: tuple[str, str]) -> str:
    guess = int(row.p > 0.5)
    confidence = number(float(row.p if guess else 1 - row.p), 2) + ", wrong" * (guess != row.y)
    facts = (
        f"image {row.image} · true {classes[row.y]} · predicted {classes[guess]} ({confidence}) · "
        f"attribution score {number(float(row.score), 2)}"
    )
    words = " ".join(map(word_html, row.words, row.values))
    return (
        f'<div class="said"><p class="facts"><strong>{html.escape(row.whose)}</strong> '
        f'{html.escape(facts)}</p><p class="words">{words}</p></div>'
    )
