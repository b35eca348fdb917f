"""Belief revision (Sabir & Padró 2023, equation 3; Blok et al. 2003) and the scores of captions.

A caption's prior probability is raised when it is close to an object seen in the image, the more so
the less sure the object is. All texts of a call go to the language model and to the encoder together.
Objects are rows `image_id, label, probability`; one read from the caption that is scored would make its
similarity circular.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from relic.chapters.gender_score.wording import PERSONS, gender_of, with_person, without_persons
from relic.errors import RelicError

TOP, THRESHOLD = 3, 0.2  # objects of an image, and their least probability: as in the paper
ROUNDING = 1e-5  # by how much a cosine in single precision may leave -1..1


def belief_revision(prior, similarity, confidence):
    """The revised probability `prior ** α`, α = ((1 - similarity) / (1 + similarity)) ** (1 - confidence).

    `prior`: the language model's mean token probability of the caption. `similarity`: cosine of caption
    and object. `confidence`: the object's probability. Limits: a similarity of 1 gives 1, of -1 gives 0;
    an object of confidence 1 leaves the prior as it is. NaN gives NaN; a value out of range is an error.

    >>> round(belief_revision(0.12759140133857727, 0.5452305674552917, 0.2183), 12)
    0.453207141502
    >>> belief_revision(0.5, np.array([-1.0, 0.0, 1.0]), 0.0).tolist()
    [0.0, 0.5, 1.0]
    """
    prior, confidence = _within("prior", prior, 0), _within("confidence", confidence, 0)
    similarity = np.clip(_within("similarity", similarity, -1, ROUNDING), -1, 1)
    with np.errstate(divide="ignore"):  # a similarity of -1: α is infinite, the score 0
        alpha = ((1 - similarity) / (1 + similarity)) ** (1 - confidence)
    missing = np.isnan(prior) | np.isnan(similarity) | np.isnan(confidence)
    score = np.where(missing, np.nan, prior**alpha)  # NumPy's nan ** 0 would be 1
    return score if score.ndim else float(score)


def _within(name: str, values, low: float, slack: float = 0.0) -> np.ndarray:
    """The values as an array, if they lie between `low` and 1."""
    values = np.asarray(values, dtype=float)
    bad = (values < low - slack) | (values > 1 + slack)
    if bad.any():
        raise RelicError(f"a {name} of {values[bad].flat[0]:g}", expected=f"{low} to 1")
    return values


def ratio_to_men(men, women):
    """Share of `men` in `men + women` (their equation 1): scores, similarities or counts.

    NaN where a value is negative or both are 0: a share of cosines below 0 means nothing.

    >>> ratio_to_men(792, 408), ratio_to_men(-0.1, 0.3), ratio_to_men(0, 0)
    (0.66, nan, nan)
    """
    men, women = np.asarray(men, dtype=float), np.asarray(women, dtype=float)
    good = (men >= 0) & (women >= 0) & (men + women > 0)
    share = np.divide(men, men + women, out=np.full(good.shape, np.nan), where=good)
    return share if share.ndim else float(share)


def contexts(objects: pd.DataFrame, *, threshold: float = THRESHOLD) -> pd.DataFrame:
    """One context an image: `context` (its surest labels) and `confidence` (their mean probability).

    Person and gender words are taken out of the labels: an object `man` would state what is asked.
    Objects below `threshold`, and labels of which nothing is left, do not count.
    """
    kept = objects[objects["probability"] >= threshold]
    kept = kept.assign(label=[without_persons(label) for label in kept["label"]])
    order = {"by": ["image_id", "probability", "label"], "ascending": [True, False, True]}
    kept = kept[kept["label"] != ""].sort_values(**order).drop_duplicates(["image_id", "label"])
    images = kept.groupby("image_id").head(TOP).groupby("image_id")
    return pd.DataFrame(
        {"context": images["label"].agg(" ".join), "confidence": images["probability"].mean()}
    )


def score_captions(captions: pd.Series, contexts: pd.DataFrame, prior, encoder) -> pd.DataFrame:
    """One row a caption whose image has a context, by image id, in the captions' order.

    Columns: gender, confidence; `prior`, `similarity`, `score` of the caption as it is; and
    `prior_person`, `score_person`, ... with its person set to person, man, woman. A caption that
    names no person, or both genders, has no such forms: NaN. An empty caption has no score: NaN.
    """
    if not isinstance(captions, pd.Series):
        raise RelicError(f"captions as {type(captions).__name__}", expected="a Series by image id")
    captions = captions[captions.index.isin(contexts.index)]
    seen = contexts.loc[captions.index]
    texts = [str(caption).lower().strip() for caption in captions]
    genders = [gender_of(text) for text in texts]
    forms = {"": texts}
    for person in PERSONS:
        pairs = zip(texts, genders, strict=True)
        forms[f"_{person}"] = [with_person(t, person) if g in PERSONS else "" for t, g in pairs]
    everything = [text for form in forms.values() for text in form]
    priors = prior.probabilities(everything).reshape(len(forms), -1)
    close = similarity(encoder, everything, list(seen["context"]) * len(forms))
    frame = pd.DataFrame(
        {"gender": genders, "confidence": seen["confidence"].to_numpy()},
        index=captions.index.rename("image_id"),
    )
    for suffix, p, s in zip(forms, priors, close.reshape(len(forms), -1), strict=True):
        frame[f"prior{suffix}"], frame[f"similarity{suffix}"] = p, s
        frame[f"score{suffix}"] = belief_revision(p, s, frame["confidence"])
    return frame


def similarity(encoder, texts: list[str], others: list[str]) -> np.ndarray:
    """Cosines of texts with others, pair by pair; NaN where a text is empty or unknown."""
    distinct = [text for text in dict.fromkeys([*texts, *others]) if text.strip()]
    place = {text: i for i, text in enumerate(distinct)}
    pairs = enumerate(zip(texts, others, strict=True))
    good = [(i, place[a], place[b]) for i, (a, b) in pairs if a in place and b in place]
    cosines = np.full(len(texts), np.nan)
    if good:
        vectors = np.asarray(encoder.encode(distinct), dtype=float)
        rows, left, right = map(list, zip(*good, strict=True))
        cosines[rows] = (vectors[left] * vectors[right]).sum(axis=1)
    return np.clip(cosines, -1, 1)


def estimated(scores: pd.DataFrame) -> pd.Series:
    """Gender Score Estimation: `man` or `woman`, whichever filled in scores higher; None if equal."""
    gap = scores["score_man"] - scores["score_woman"]
    guess = np.select([gap > 0, gap < 0], ["man", "woman"], default="")
    return pd.Series(guess, index=scores.index).replace("", None)


def cooccurrence(captions: Iterable[str]) -> dict[str, int]:
    """Captions with a male and with a female word; one with both counts for both.

    >>> cooccurrence(["a man on a bike", "a woman and a man", "a girl on a bike"])
    {'man': 2, 'woman': 2}
    """
    genders = [gender_of(caption) for caption in captions]
    return {person: sum(g in (person, "both") for g in genders) for person in PERSONS[1:]}
