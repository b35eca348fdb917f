"""From a caption to what a classifier reads: tokens, masked words, vocabulary alignment.

Upstream's choices are the defaults; each is an argument.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from functools import cache, lru_cache
from sys import intern

from relic.data.attribute import SPACES, SPACY, TREEBANK, WORDS, Attribute
from relic.data.corpus import UNKNOWN
from relic.errors import RelicError, needed

# Captions of plain words are split at spaces: 30 times faster, and the same tokens (tested).
# Not plain: a double dash, and the words that Treebank splits in two.
_SPLIT_IN_TWO = r"--|\b(?:cannot|gimme|gonna|gotta|lemme|wanna)\b"
_PLAIN = re.compile(rf"(?!.*(?:{_SPLIT_IN_TWO}))[a-z0-9 -]+", re.IGNORECASE | re.ASCII)


@lru_cache(maxsize=200_000)
def tokenize(caption: str) -> tuple[str, ...]:
    """NLTK's Treebank tokens; `preserve_line` needs no downloaded data.

    >>> tokenize("a man's hat.")
    ('a', 'man', "'s", 'hat', '.')
    """
    body, stop = (caption[:-1], ".") if caption.endswith(".") else (caption, "")
    if _PLAIN.fullmatch(body):
        tokens = map(intern, body.split())  # one string a word: captions repeat their words
        return (*tokens, stop) if stop else tuple(tokens)
    from nltk.tokenize import word_tokenize  # two seconds, which `relic --help` need not wait

    return tuple(word_tokenize(caption, language="english", preserve_line=True))


@cache
def tokenizer(name: str = TREEBANK) -> Callable[[str], tuple[str, ...]]:
    """The tokenizer of a name: `treebank` (English), `words`, `spaces`, or `spacy:CODE` of a language.

    >>> tokenizer("spacy:de")("Ein Mann, der z.B. lacht.")
    ('Ein', 'Mann', ',', 'der', 'z.B.', 'lacht', '.')
    >>> tokenizer("words")("Ein Mann, der Ski-Schuhe trägt.")
    ('Ein', 'Mann', ',', 'der', 'Ski-Schuhe', 'trägt', '.')
    """
    if name == TREEBANK:
        return tokenize
    if name == WORDS:
        return lambda caption: tuple(re.findall(r"\w+(?:[-'’]\w+)*|[^\w\s]", caption))
    if name == SPACES:
        return lambda caption: tuple(caption.split())
    if name.startswith(SPACY):
        with needed("torch"):
            import spacy

        try:
            blank = spacy.blank(name.removeprefix(SPACY)).tokenizer
        except (ImportError, ValueError) as error:
            code = "spacy: and the code of a language that needs no further package, as spacy:de"
            raise RelicError(f"tokenizer {name!r}: {error}", expected=code) from error
        return lambda caption: tuple(str(token) for token in blank(caption) if not token.is_space)
    expected = f"{TREEBANK}, {WORDS}, {SPACES} or {SPACY}CODE"
    raise RelicError(f"tokenizer {name!r}", expected=expected)


def masked_captions(
    captions: Iterable[str],
    attribute: Attribute,
    *,
    lowercase: bool = True,
    mask_token: str = "",
    vocabulary: Collection[str] | None = None,
    unknown: str = UNKNOWN,
) -> list[str]:
    """Captions as the classifier reads them: tokens masked, aligned and joined by spaces.

    Upstream leaves generated captions as they are for the LSTM (quirk 3). `vocabulary` is given for
    human captions only: words outside of it become unknown ("vocabulary alignment"), the mask token never.

    >>> from relic import load_attribute
    >>> masked_captions(["A man waltzing"], load_attribute("gender"), vocabulary={"a"})
    ['a genderword <unk>']
    """
    mask, hidden = mask_token or attribute.mask_token, attribute.masked_words
    split = tokenizer(attribute.tokenizer)
    words = None if vocabulary is None else frozenset(vocabulary) | {mask}

    @cache
    def read(caption: str) -> str:
        tokens = split(caption.lower() if lowercase else caption)
        masked = [mask if token in hidden else token for token in tokens]
        return " ".join(masked if words is None else [t if t in words else unknown for t in masked])

    return [read(caption) for caption in captions]


def frequent_vocabulary(masked: Iterable[str], size: int) -> list[str]:
    """The `size` most frequent words of human captions, ties in word order (Antequera et al., appendix C).

    >>> frequent_vocabulary(["a dog", "a cat", "a dog"], 2)
    ['a', 'dog']
    """
    counts = Counter(token for caption in masked for token in caption.split())
    return sorted(counts, key=lambda token: (-counts[token], token))[:size]
