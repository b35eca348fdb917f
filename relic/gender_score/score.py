"""Scores of captions: the Gender Score, its estimation and its cloze form; co-occurrence counts.

All texts of a call go to the language model and to the encoder together, each distinct one once.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from relic.errors import RelicError
from relic.gender_score.formula import belief_revision
from relic.gender_score.wording import PERSONS, gender_of, several, with_person
from relic.text import tokenize

SCORED = (*PERSONS,)  # captions of these genders are scored; `both` and `none` are counted only
CLOZE = "this is a {}"


def score_captions(captions: pd.Series, contexts: pd.DataFrame, prior, encoder) -> pd.DataFrame:
    """One row a caption whose image has a context, by image id, in the captions' order.

    Columns: gender, several, confidence; `prior`, `similarity`, `score` of the caption as it is; and
    `similarity_person`, `score_person`, ... with its person set to person, man, woman. A caption that
    names no person, or both genders, has no such forms: NaN. An empty caption has no score: NaN.
    """
    if not isinstance(captions, pd.Series):
        raise RelicError(f"captions as {type(captions).__name__}", expected="a Series by image id")
    captions = captions[captions.index.isin(contexts.index)]
    texts = [str(caption).lower().strip() for caption in captions]
    about = contexts.loc[captions.index]
    frame = pd.DataFrame(
        {
            "gender": [gender_of(text) for text in texts],
            "several": [several(text) for text in texts],
            "confidence": about["confidence"].to_numpy(),
        },
        index=captions.index.rename("image_id"),
    )
    forms = {"": texts}
    stated = frame["gender"].isin(SCORED).to_numpy()
    for person in PERSONS:
        filled = [with_person(t, person) if ok else "" for t, ok in zip(texts, stated, strict=True)]
        forms[f"_{person}"] = filled
    everything = [text for form in forms.values() for text in form]
    priors = prior.probabilities(everything)
    similarities = similarity(encoder, everything, list(about["context"]) * len(forms))
    for i, suffix in enumerate(forms):
        rows = slice(i * len(texts), (i + 1) * len(texts))
        frame[f"prior{suffix}"] = priors[rows]
        frame[f"similarity{suffix}"] = similarities[rows]
        frame[f"score{suffix}"] = belief_revision(
            priors[rows], similarities[rows], frame["confidence"]
        )
    frame.attrs = {"prior": prior.name, "encoder": encoder.name}
    return frame


def similarity(encoder, texts: list[str], others: list[str]) -> np.ndarray:
    """Cosines of texts with others, pair by pair; NaN where a text is empty or unknown."""
    distinct = [text for text in dict.fromkeys([*texts, *others]) if text.strip()]
    found = np.full(len(texts), np.nan)
    if not distinct:
        return found
    vectors = np.asarray(encoder.encode(distinct), dtype=float)
    place = {text: i for i, text in enumerate(distinct)}
    good = [i for i, (a, b) in enumerate(zip(texts, others, strict=True)) if a in place and b in place]  # fmt: skip
    left, right = ([place[side[i]] for i in good] for side in (texts, others))
    found[good] = (vectors[left] * vectors[right]).sum(axis=1)
    return np.clip(found, -1, 1)


def estimated(scores: pd.DataFrame) -> pd.Series:
    """Gender Score Estimation: `man` or `woman`, whichever filled in scores higher; None if equal."""
    gap = scores["score_man"] - scores["score_woman"]
    guess = np.select([gap > 0, gap < 0], ["man", "woman"], default="")
    return pd.Series(guess, index=scores.index).replace("", None)


def cloze(captions: pd.Series, contexts: pd.DataFrame, prior, encoder) -> pd.DataFrame:
    """Cloze form: belief in "this is a man / woman / person", revised by the caption as it is.

    The hypothesis has the prior, the caption is the evidence, with the confidence of its object.
    """
    captions = captions[captions.index.isin(contexts.index)]
    texts = [str(caption).lower().strip() for caption in captions]
    confidence = contexts.loc[captions.index, "confidence"].to_numpy()
    frame = pd.DataFrame({"gender": [gender_of(text) for text in texts]}, index=captions.index)
    for person in PERSONS:
        hypothesis = CLOZE.format(person)
        close = similarity(encoder, texts, [hypothesis] * len(texts))
        belief = prior.probabilities([hypothesis])[0]
        frame[f"score_{person}"] = belief_revision(belief, close, confidence)
    return frame


def cooccurrence(captions: Iterable[str], word: str = "") -> dict[str, int]:
    """Captions that name `word` (any, by default) with a male and with a female word.

    Zhao et al. (2017): the ratio to men of the two counts. A caption with both counts for both.

    >>> cooccurrence(["a man on a bike", "a woman and a man", "a girl on a bike"], "bike")
    {'man': 1, 'woman': 1}
    """
    kept = [c for c in captions if not word or word in tokenize(c.lower())]
    genders = pd.Series([gender_of(caption) for caption in kept], dtype=object)
    return {p: int(genders.isin([p, "both"]).sum()) for p in PERSONS[1:]}


def word_counts(captions: Iterable[str]) -> dict[str, int]:
    """Captions that hold the very word `man` or `woman`: what the authors seem to have counted."""
    tokens = [set(tokenize(caption.lower())) for caption in captions]
    return {person: sum(person in words for words in tokens) for person in PERSONS[1:]}
