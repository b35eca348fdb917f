"""Which gender a caption states, and the same caption about a person, a man or a woman.

What a gender word is, `relic/data/attributes/gender.yml` says, for LIC and for this score alike.
"""

import re
from functools import cache, lru_cache

from relic.data.attribute import load_attribute
from relic.errors import RelicError
from relic.measure.text import tokenize

PERSONS = ("person", "man", "woman")
NEUTRAL = {"person": "one", "people": "several", "persons": "several"}
PERSON_LABELS = {"person", "persons", "people", "human", "humans"}  # of objects in images

# What stands for a person, a man and a woman, by the part that the word plays. Any other gender word
# is a noun for one. `pregnant` states a gender but has no counterpart: it stays.
_FORMS = {
    "one": PERSONS,
    "several": ("people", "men", "women"),
    "kind": ("person", "male", "female"),
    "subject": ("they", "he", "she"),
    "object": ("them", "him", "her"),
    "owner": ("their", "his", "her"),
    "owned": ("theirs", "his", "hers"),
    "self": ("themselves", "himself", "herself"),
}
_PARTS = {
    "several": "men gentlemen boys brothers guys emperors dudes women ladies girls sisters queens",
    "kind": "male female",
    "subject": "he she",
    "object": "him",
    "owner": "his her",
    "owned": "hers",
    "self": "himself herself",
    "stays": "pregnant",
}
_AFTER_OBJECT = set("and at as by for from in into near next of on onto or to while with".split())
_WORD = re.compile(r"[\w-]+")


@cache
def _genders() -> dict[str, str]:
    """Gender word -> man or woman."""
    about = load_attribute("gender")
    pairs = zip(about.classes, PERSONS[1:], strict=True)
    return {word: person for name, person in pairs for word in about.class_words[name]}


@cache
def _parts() -> dict[str, str]:
    """Gender or person word -> the part it plays."""
    special = {word: part for part, words in _PARTS.items() for word in words.split()}
    return {word: special.get(word, "one") for word in _genders()} | NEUTRAL


@lru_cache(maxsize=200_000)
def gender_of(caption: str) -> str:
    """`man`, `woman`, `both`, `person` (a person word but no gender word) or `none`.

    >>> [gender_of(c) for c in ("a boy runs", "a man and a woman", "a person", "two dogs", "")]
    ['man', 'both', 'person', 'none', 'none']
    """
    tokens = tokenize(caption.lower())
    stated = {_genders()[token] for token in tokens if token in _genders()}
    if len(stated) == 2:
        return "both"
    if stated:
        return stated.pop()
    return "person" if any(token in NEUTRAL for token in tokens) else "none"


@lru_cache(maxsize=200_000)
def with_person(caption: str, person: str) -> str:
    """The caption about a `person`, a `man` or a `woman`: nouns and pronouns follow, lower case.

    Plurals stay plural. `her` is `his` or, at the end or before a preposition, `him`.

    >>> with_person("an actress and her dogs", "man"), with_person("two boys", "woman")
    ('a man and his dogs', 'two women')
    """
    if person not in PERSONS:
        raise RelicError(f"person {person!r}", expected=f"one of {', '.join(PERSONS)}")
    return _replaced(caption, lambda part: _FORMS[part][PERSONS.index(person)])


def masked(caption: str, token: str = "[MASK]") -> str:
    """The caption with its gender and person words masked, to show it.

    >>> masked("a man holding his hat")
    'a [MASK] holding [MASK] hat'
    """
    return _replaced(caption, lambda part: token)


@cache
def without_persons(label: str) -> str:
    """An object's label without the words that name persons.

    >>> without_persons("cowboy hat"), without_persons("person")
    ('hat', '')
    """
    persons = load_attribute("gender").masked_words | PERSON_LABELS
    return " ".join(token for token in str(label).lower().split() if token not in persons)


def _replaced(caption: str, form) -> str:
    text = caption.lower().strip()
    pieces, last = [], 0
    for match in _WORD.finditer(text):
        part = _parts().get(match.group())
        if part in (None, "stays"):
            continue
        if match.group() == "her" and _stands_alone(text[match.end() :]):
            part = "object"
        before = re.sub(r"\ban( )$", r"a\1", text[last : match.start()])  # an actress, a man
        pieces += [before, form(part)]
        last = match.end()
    return "".join([*pieces, text[last:]])


def _stands_alone(rest: str) -> bool:
    """Is nothing owned after `her`?"""
    following = rest.split()
    return not following or following[0] in _AFTER_OBJECT or not _WORD.match(following[0])
