"""Which gender a caption states, and the same caption about a person, a man or a woman.

What a gender word is, `relic/data/attributes/gender.yml` says, for LIC and for this score alike.
"""

import re
from functools import cache, lru_cache

from relic.data.attribute import load_attribute
from relic.errors import RelicError
from relic.measure.text import tokenize

PERSONS = ("person", "man", "woman")
NEUTRAL = {"person", "people", "persons"}
PERSON_LABELS = NEUTRAL | {"human", "humans"}  # of objects in images

_OBJECT = ("them", "him", "her")
_FORMS = {  # words -> what stands for a person, a man, a woman in their place; any other: PERSONS
    "people persons": ("people", "men", "women"),
    "men gentlemen boys brothers guys emperors dudes": ("people", "men", "women"),
    "women ladies girls sisters queens": ("people", "men", "women"),
    "male female": ("person", "male", "female"),
    "he she": ("they", "he", "she"),
    "him": _OBJECT,
    "his her": ("their", "his", "her"),
    "hers": ("theirs", "his", "hers"),
    "himself herself": ("themselves", "himself", "herself"),
}
_STAYS = "pregnant"  # states a gender but has no counterpart
_AFTER_OBJECT = set("and at as by for from in into near next of on onto or to while with".split())
_WORD = re.compile(r"[\w-]+")


@cache
def _genders() -> dict[str, str]:
    """Gender word -> man or woman."""
    attribute = load_attribute("gender")
    pairs = zip(attribute.classes, PERSONS[1:], strict=True)
    return {word: person for name, person in pairs for word in attribute.class_words[name]}


@cache
def _forms() -> dict[str, tuple[str, ...]]:
    """Gender or person word -> what stands for a person, a man, a woman in its place."""
    special = {word: forms for words, forms in _FORMS.items() for word in words.split()}
    words = (_genders().keys() | NEUTRAL) - {_STAYS}
    return {word: special.get(word, PERSONS) for word in words}


@lru_cache(maxsize=200_000)
def gender_of(caption: str) -> str:
    """`man`, `woman`, `both`, `person` (a person word but no gender word) or `none`.

    >>> [gender_of(c) for c in ("a boy runs", "a man and a woman", "a person", "two dogs", "")]
    ['man', 'both', 'person', 'none', 'none']
    """
    tokens = set(tokenize(caption.lower()))
    stated = {_genders()[token] for token in tokens & _genders().keys()}
    if len(stated) == 2:
        return "both"
    if stated:
        return stated.pop()
    return "person" if tokens & NEUTRAL else "none"


@lru_cache(maxsize=200_000)
def with_person(caption: str, person: str) -> str:
    """The caption about a `person`, a `man` or a `woman`: nouns and pronouns follow, lower case.

    Plurals stay plural. `her` is `his` or, at the end or before a preposition, `him`.

    >>> with_person("an actress and her dogs", "man"), with_person("two boys", "woman")
    ('a man and his dogs', 'two women')
    """
    if person not in PERSONS:
        raise RelicError(f"person {person!r}", expected=f"one of {', '.join(PERSONS)}")
    return _replaced(caption, lambda forms: forms[PERSONS.index(person)])


def masked(caption: str, token: str = "[MASK]") -> str:
    """The caption with its gender and person words masked, to show it.

    >>> masked("a man holding his hat")
    'a [MASK] holding [MASK] hat'
    """
    return _replaced(caption, lambda forms: token)


def _replaced(caption: str, choose) -> str:
    text, pieces, last = caption.lower().strip(), [], 0
    for match in _WORD.finditer(text):
        forms = _forms().get(match.group())
        if forms is None:
            continue
        if match.group() == "her" and _stands_alone(text[match.end() :]):
            forms = _OBJECT
        before = re.sub(r"\ban( )$", r"a\1", text[last : match.start()])  # an actress, a man
        pieces += [before, choose(forms)]
        last = match.end()
    return "".join([*pieces, text[last:]])


def _stands_alone(rest: str) -> bool:
    """Is nothing owned after `her`?"""
    following = rest.split()
    return not following or following[0] in _AFTER_OBJECT or not _WORD.match(following[0])


@cache
def without_persons(label: str) -> str:
    """An object's label without the words that name persons.

    >>> without_persons("cowboy hat"), without_persons("person")
    ('hat', '')
    """
    persons = load_attribute("gender").masked_words | PERSON_LABELS
    return " ".join(token for token in str(label).lower().split() if token not in persons)
