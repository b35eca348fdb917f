"""The score of a caption: its gender, its forms about other persons, belief revision.

What a gender word is, `relic/data/attributes/gender.yml` says, for LIC and for this score alike. Belief
revision is equation 3 of Sabir & Padró (2023), after Blok et al. (2003): a caption's prior probability is
raised when it is close to an object seen in the image, the more so the less sure the object is. Objects
are rows `image_id, label, probability`; one read from the caption that is scored would make its
similarity circular.
"""

import re
from collections.abc import Iterable
from functools import cache, lru_cache, partial

import numpy as np
import pandas as pd
import yaml

from relic import paths
from relic.chapters.direction import BOTH, NONE, named_class, words_of
from relic.data.attribute import load_attribute
from relic.errors import RelicError
from relic.measure.text import tokenize

TOP, THRESHOLD = 3, 0.2  # objects of an image, and their least probability: as in the paper
PERSONS, MASK = ("person", "man", "woman"), "[MASK]"
NEUTRAL = {"person", "people", "persons"}
PERSON_LABELS = NEUTRAL | {"human", "humans"}  # of objects in images
WORDS = words_of(load_attribute("gender"))  # for men, for women
FORMS = dict.fromkeys(WORDS[0] | WORDS[1] | NEUTRAL, PERSONS)  # of a person, a man, a woman
for _words, _forms in yaml.safe_load(paths.FORMS.read_text(encoding="utf-8")).items():
    FORMS |= dict.fromkeys(_words.split(), tuple(_forms))
del FORMS["pregnant"]  # states a gender but has no counterpart
_WORD = re.compile(r"(\ban )?([\w-]+)")  # the article goes with its word: an actress, a man
_NOTHING_OWNED = re.compile(  # after `her`
    r"\s*($|[^\w\s-]|(and|at|as|by|for|from|in|into|near|next|of|on|onto|or|to|while|with)(?!\S))"
)


@lru_cache(maxsize=200_000)
def gender_of(caption: str) -> str:
    """`man`, `woman`, `both`, `person` (a person word but no gender word) or `none`.

    >>> [gender_of(c) for c in ("a boy runs", "a man and a woman", "a person", "two dogs", "")]
    ['man', 'both', 'person', 'none', 'none']
    """
    named = named_class(caption, WORDS)
    if named == NONE:
        return "none" if NEUTRAL.isdisjoint(tokenize(caption.lower())) else "person"
    return {0: "man", 1: "woman", BOTH: "both"}[named]


@lru_cache(maxsize=200_000)
def with_person(caption: str, person: str) -> str:
    """The caption about a `person`, a `man` or a `woman`, or with them masked: `[MASK]`; lower case.

    Nouns and pronouns follow, plurals stay plural. `her` is `his` or, at the end or before a
    preposition, `him`.

    >>> with_person("an actress and her dogs", "man"), with_person("two boys", "woman")
    ('a man and his dogs', 'two women')
    """
    if person not in (*PERSONS, MASK):
        raise RelicError(f"person {person!r}", expected=f"one of {', '.join(PERSONS)}")

    def formed(match: re.Match) -> str:
        article, word = match.groups()
        if word not in FORMS:
            return match.group()
        alone = word == "her" and _NOTHING_OWNED.match(match.string, match.end())
        forms = dict(zip(PERSONS, FORMS["him" if alone else word], strict=True))
        return ("a " if article else "") + forms.get(person, MASK)

    return _WORD.sub(formed, caption.lower().strip())


@cache
def without_persons(label: str) -> str:
    """An object's label without the words that name persons.

    >>> without_persons("cowboy hat"), without_persons("person")
    ('hat', '')
    """
    persons = PERSON_LABELS.union(*WORDS)
    return " ".join(token for token in str(label).lower().split() if token not in persons)


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
    similarity = _within("similarity", similarity, -1)
    with np.errstate(divide="ignore"):  # a similarity of -1: α is infinite, the score 0
        alpha = ((1 - similarity) / (1 + similarity)) ** (1 - confidence)
    missing = np.isnan(prior) | np.isnan(similarity) | np.isnan(confidence)
    score = np.where(missing, np.nan, prior**alpha)  # NumPy's nan ** 0 would be 1
    return score if score.ndim else float(score)


def _within(name: str, values, low: float) -> np.ndarray:
    """The values as an array, if they lie between `low` and 1."""
    values = np.asarray(values, dtype=float)
    bad = (values < low) | (values > 1)
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


def surest(objects: pd.DataFrame, threshold: float, *, by: str) -> pd.DataFrame:
    """The `TOP` surest labels of each image, or by whom they were seen.

    Person and gender words are taken out of the labels: an object `man` would state what is asked.
    Objects below `threshold`, and labels of which nothing is left, do not count.
    """
    labels = objects[objects["probability"] >= threshold]
    labels = labels.assign(label=labels["label"].map(without_persons))
    order = {"by": [by, "probability", "label"], "ascending": [True, False, True]}
    labels = labels[labels["label"] != ""].sort_values(**order).drop_duplicates([by, "label"])
    return labels.groupby(by).head(TOP)


def contexts(objects: pd.DataFrame, *, threshold: float = THRESHOLD) -> pd.DataFrame:
    """One context an image: `context` (its surest labels) and `confidence` (their mean probability)."""
    images = surest(objects, threshold, by="image_id").groupby("image_id")
    return images.agg(context=("label", " ".join), confidence=("probability", "mean"))


def score_captions(captions: pd.Series, contexts: pd.DataFrame, prior, encoder) -> pd.DataFrame:
    """One row a caption whose image has a context, by image id, in the captions' order.

    Columns: gender, confidence; `prior`, `similarity`, `score` of the caption as it is; and
    `prior_person`, `score_person`, ... with its person set to person, man, woman. A caption that
    names no person, or both genders, has no such forms: NaN. An empty caption has no score: NaN.
    All texts of a call go to the language model and to the encoder together.
    """
    if not isinstance(captions, pd.Series):
        raise RelicError(f"captions as {type(captions).__name__}", expected="a Series by image id")
    captions = captions[captions.index.isin(contexts.index)].rename_axis("image_id")
    texts = captions.astype(str).str.lower().str.strip()
    seen, genders = contexts.loc[captions.index], texts.map(gender_of)
    forms = {"": texts}
    for person in PERSONS:
        form = texts.map(partial(with_person, person=person))
        forms[f"_{person}"] = form.where(genders.isin(PERSONS), "")
    every = np.array(list(forms.values()), dtype=object)  # a row a form
    some, seen_in = every != "", np.tile(seen["context"], (len(forms), 1))
    distinct, at = np.unique(every[some], return_inverse=True)
    priors, close = np.full((2, *every.shape), np.nan)
    priors[some] = prior.probabilities(distinct)[at]
    close[some] = similarity(encoder, every[some], seen_in[some])
    frame = pd.DataFrame({"gender": genders, "confidence": seen["confidence"].to_numpy()})
    for suffix, p, s in zip(forms, priors, close, strict=True):
        frame[f"prior{suffix}"], frame[f"similarity{suffix}"] = p, s
        frame[f"score{suffix}"] = belief_revision(p, s, frame["confidence"])
    return frame


def similarity(encoder, texts: Iterable[str], others: Iterable[str]) -> np.ndarray:
    """Cosines of texts with others, pair by pair; NaN where the encoder knows no word of a text."""
    pairs = list(zip(texts, others, strict=True))
    distinct = list(dict.fromkeys(text for pair in pairs for text in pair))
    vectors = dict(zip(distinct, np.asarray(encoder.encode(distinct), dtype=float), strict=True))
    return np.clip([vectors[a] @ vectors[b] for a, b in pairs], -1, 1)  # single precision rounds


def estimated(scores: pd.DataFrame) -> pd.Series:
    """Gender Score Estimation: `man` or `woman`, whichever filled in scores higher; NaN if equal."""
    return np.sign(scores["score_man"] - scores["score_woman"]).map({1: "man", -1: "woman"})


def cooccurrence(captions: Iterable[str]) -> dict[str, int]:
    """Captions with a male and with a female word; one with both counts for both.

    >>> cooccurrence(["a man on a bike", "a woman and a man", "a girl on a bike"])
    {'man': 2, 'woman': 2}
    """
    genders = [gender_of(caption) for caption in captions]
    return {person: sum(g in (person, "both") for g in genders) for person in PERSONS[1:]}
