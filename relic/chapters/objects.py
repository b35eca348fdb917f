"""Objects that a caption names: COCO's classes with synonyms, longest match first.

The word list is `objects.yml`. Captions are all we read: an object that nobody names does not exist here.
"""

from collections.abc import Collection, Iterable, Iterator
from functools import cache, lru_cache

import numpy as np
import yaml

from relic import paths
from relic.measure.text import tokenize

NOTHING, PERSON = "nothing", "person"  # phrases that name no object; the attribute's own class
MASK = "objectword"


@cache
def _listed() -> dict[str, str]:
    return yaml.safe_load(paths.OBJECTS.read_text(encoding="utf-8"))


@cache
def _phrases() -> dict[tuple[str, ...], str]:
    """From tokens to class, plurals included."""
    found: dict[tuple[str, ...], str] = {}
    for name, words in _listed().items():
        for phrase in str(words).split(","):
            *first, last = phrase.split()
            plurals = (last, f"{last}s", f"{last}es")
            for form in plurals:
                found.setdefault((*first, form), name)
            found[*first, last] = name  # what is listed beats another word's plural
    return found


@cache
def object_names() -> tuple[str, ...]:
    """COCO's classes without `person`, in COCO's order."""
    return tuple(name for name in _listed() if name not in (NOTHING, PERSON))


def _matches(tokens: tuple[str, ...]) -> Iterator[tuple[int, int, str]]:
    """Where tokens name a class: first token, how many, which; the longest phrase wins."""
    phrases, at = _phrases(), 0
    longest = max(map(len, phrases))
    while at < len(tokens):
        for length in range(min(longest, len(tokens) - at), 0, -1):
            name = phrases.get(tokens[at : at + length])
            if name:
                yield at, length, name
                at += length - 1
                break
        at += 1


@lru_cache(maxsize=200_000)
def objects_in(caption: str) -> frozenset[str]:
    """COCO classes that a caption names, without `person`.

    >>> sorted(objects_in("A man eats two hot dogs beside a dog on his surf board."))
    ['dog', 'hot dog', 'surfboard']
    """
    found = {name for _, _, name in _matches(tokenize(caption.lower()))}
    return frozenset(found - {NOTHING, PERSON})


def without_objects(caption: str, names: Collection[str]) -> str:
    """A caption in tokens with these classes' words masked, a phrase by one mask.

    >>> without_objects("a genderword on a surf board with a dog", {"surfboard"})
    'a genderword on a objectword with a dog'
    """
    tokens = caption.split()
    for at, length, name in reversed(list(_matches(tuple(tokens)))):
        if name in names:
            tokens[at : at + length] = [MASK]
    return " ".join(tokens)


def object_table(captions: Iterable[str]) -> np.ndarray:
    """One row a caption, one column each of `object_names`: 1 where it is named."""
    captions, column = list(captions), {name: i for i, name in enumerate(object_names())}
    table = np.zeros((len(captions), len(column)), dtype=np.float32)
    for row, caption in zip(table, captions, strict=True):
        for name in objects_in(caption):
            row[column[name]] = 1
    return table
