"""From a caption to what a classifier reads: tokens, masked words, vocabulary alignment.

Upstream's choices are the defaults; each is an argument.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable
from functools import cache, lru_cache

from nltk.tokenize import word_tokenize

UNKNOWN = "<unk>"  # a human word outside the captioner's vocabulary, for all but BERT
PADDING = "<pad>"


# Captions of plain words are split at spaces: 30 times faster, and the same tokens (tested).
# Not plain: a double dash, and the words that Treebank splits in two.
_PLAIN = re.compile(
    r"(?!.*(?:--|\b(?:cannot|gimme|gonna|gotta|lemme|wanna)\b))[a-z0-9 -]+",
    re.IGNORECASE | re.ASCII,
)


@lru_cache(maxsize=200_000)
def tokenize(caption: str) -> tuple[str, ...]:
    """NLTK's Treebank tokens; `preserve_line` needs no downloaded data.

    >>> tokenize("a man's hat.")
    ('a', 'man', "'s", 'hat', '.')
    """
    body, stop = (caption[:-1], ".") if caption.endswith(".") else (caption, "")
    if _PLAIN.fullmatch(body):
        return (*body.split(), stop) if stop else tuple(body.split())
    return tuple(word_tokenize(caption, language="english", preserve_line=True))


def mask(tokens: Iterable[str], words: Collection[str], mask_token: str) -> list[str]:
    """Replace every token that states the attribute.

    >>> mask(["a", "man", "and", "his", "dog"], {"man", "his"}, "genderword")
    ['a', 'genderword', 'and', 'genderword', 'dog']
    """
    return [mask_token if token in words else token for token in tokens]


def align(tokens: Iterable[str], vocabulary: Collection[str], unknown: str = UNKNOWN) -> list[str]:
    """Replace every token outside the captioner's vocabulary ("vocabulary alignment").

    >>> align(["a", "genderword", "waltzing"], {"a", "genderword"})
    ['a', 'genderword', '<unk>']
    """
    return [token if token in vocabulary else unknown for token in tokens]


def masked_captions(
    captions: Iterable[str],
    words: Collection[str],
    mask_token: str,
    *,
    lowercase: bool,
    vocabulary: Collection[str] | None = None,
    unknown: str = UNKNOWN,
) -> list[str]:
    """Captions as the classifier reads them: tokens masked, aligned and joined by spaces.

    `lowercase` is True for human captions. Upstream leaves generated captions as they are for the
    LSTM (quirk 3). `vocabulary` is given for human captions only. The mask token is never unknown.
    """
    kept = None if vocabulary is None else frozenset(vocabulary) | {mask_token}

    @cache
    def read(caption: str) -> str:
        tokens = mask(tokenize(caption.lower() if lowercase else caption), words, mask_token)
        return " ".join(tokens if kept is None else align(tokens, kept, unknown))

    return [read(caption) for caption in captions]


def frequent_vocabulary(masked: Iterable[str], size: int) -> list[str]:
    """The `size` most frequent words of human captions (RELIC, appendix C), ties in word order.

    >>> frequent_vocabulary(["a dog", "a cat", "a dog"], 2)
    ['a', 'dog']
    """
    counts = Counter(token for caption in masked for token in caption.split())
    return sorted(counts, key=lambda token: (-counts[token], token))[:size]
