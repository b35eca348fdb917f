"""Captions with their words marked by attribution, as figure 1 of Türk et al. (2023); also without colours.

Colour shows direction and strength; so do the signs behind a word and the line under it.
"""

import html

import pandas as pd

from relic.data.captioners import display_names
from relic.numbers import number

FAINT, STRONG = 0.15, 0.45  # of a caption's norm: from where a word is marked once, and twice


def show(captions: pd.DataFrame, classes: tuple[str, str], caption: str) -> str:
    """HTML: a legend, and captions (`runs.examples`) one below the other; all text is escaped."""
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
    guess, towards = int(row.p > 0.5), int(row.score > 0)
    sure = number(float(row.p if guess else 1 - row.p), 2) + ", wrong" * (guess != row.y)
    facts = f"true {classes[row.y]} · predicted {classes[guess]} ({sure})"
    facts += f" · attribution {classes[towards]} ({number(float(row.score), 2)})"
    values = [float(value) for value in row.attributions.split()]
    words = " ".join(map(word_html, row.caption.split(), values))
    whose = html.escape(display_names().get(row.captioner, row.captioner))
    return (
        f'<div class="said"><p class="facts"><strong>{whose}</strong> {html.escape(facts)}</p>'
        f'<p class="words">{words}</p></div>'
    )
