"""Objects that a caption names: COCO's classes with synonyms, longest match first.

The word list is `objects.yml`. Captions are all we read: an object that nobody names does not exist here.
"""

from collections.abc import Collection, Iterable
from functools import cache, lru_cache

import numpy as np
import yaml

from relic import paths
from relic.measure.text import tokenize

NOTHING, PERSON = "nothing", "person"  # phrases that name no object; the attribute's own class
MASK = "objectword"
_WORDS = yaml.safe_load(paths.OBJECTS.read_text(encoding="utf-8"))  # of each class
_LISTED = [(p.strip(), name) for name, words in _WORDS.items() for p in str(words).split(",")]
# From phrase to class, plurals included; of two that are alike the first listed counts.
PHRASES = {f"{phrase}{end}": name for end in ("es", "s") for phrase, name in reversed(_LISTED)}
PHRASES |= dict(_LISTED)  # what is listed beats another word's plural


@cache
def object_names() -> tuple[str, ...]:
    """COCO's classes without `person`, in COCO's order."""
    return tuple(name for name in _WORDS if name not in (NOTHING, PERSON))


@cache
def _joined():
    """From tokens to tokens in which the words of a phrase are one; the longest phrase wins."""
    from nltk.tokenize import MWETokenizer  # seconds, which `relic --help` need not wait

    return MWETokenizer([phrase.split() for phrase in PHRASES], separator=" ").tokenize


@lru_cache(maxsize=200_000)
def objects_in(caption: str) -> frozenset[str]:
    """COCO classes that a caption names, without `person`.

    >>> sorted(objects_in("A man eats two hot dogs beside a dog on his surf board."))
    ['dog', 'hot dog', 'surfboard']
    """
    named = map(PHRASES.get, _joined()(tokenize(caption.lower())))
    return frozenset(named) - {NOTHING, PERSON, None}


def without_objects(caption: str, names: Collection[str]) -> str:
    """A caption in tokens with these classes' words masked, a phrase by one mask.

    >>> without_objects("a genderword on a surf board with a dog", {"surfboard"})
    'a genderword on a objectword with a dog'
    """
    phrases = _joined()(caption.split())
    return " ".join(MASK if PHRASES.get(phrase) in names else phrase for phrase in phrases)


def object_table(captions: Iterable[str]) -> np.ndarray:
    """One row a caption, one column each of `object_names`: 1 where it is named."""
    from sklearn.preprocessing import MultiLabelBinarizer  # as above

    table = MultiLabelBinarizer(classes=object_names())
    return table.fit_transform([objects_in(caption) for caption in captions]).astype(np.float32)
