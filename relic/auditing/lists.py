"""Lists of words: those to mask, and the vocabulary of a captioner."""

import json
from pathlib import Path

from relic.auditing.files import Content, read_content, shortened
from relic.auditing.formats import unpickled
from relic.data.corpus import PADDING, UNKNOWN
from relic.data.rows import is_text
from relic.errors import RelicError


def read_words(file: str | Path) -> frozenset[str]:
    """Words to mask, in lower case: one or several a line; what follows a `#` does not count."""
    content = read_content(file)
    if content.is_pickle:
        raise RelicError(f"{content.file} is a pickle", expected="a text of words", mend="write one word a line")  # fmt: skip
    lines = content.data.decode().splitlines()
    words = frozenset(word for line in lines for word in line.partition("#")[0].lower().split())
    return frozenset(_checked(sorted(words), content))


def read_vocabulary(file: str | Path) -> tuple[str, ...]:
    """The words a captioner can say: a text of words, a JSON list, or upstream's pickled list."""
    content = read_content(file)
    if content.is_pickle:
        words = unpickled(content)
        if isinstance(words, list) and words[:2] != [UNKNOWN, PADDING]:
            raise _no_words(content, shortened(words[:3]), f"a list that begins with {UNKNOWN}, {PADDING}")  # fmt: skip
    elif content.data.lstrip()[:1] == b"[":
        try:
            words = json.loads(content.data)
        except (ValueError, RecursionError) as error:
            raise _no_words(content, f"no JSON, or it is cut short: {error}") from error
    else:
        words = content.data.decode().split()
    return tuple(_checked(words, content))


def _checked(words, content: Content) -> list[str]:
    """Distinct words in order."""
    if not isinstance(words, list) or not words:
        raise _no_words(content, "no words")
    wrong = [w for w in words if not is_text(w) or len(w.split()) != 1 or w.strip() != w or "\0" in w]  # fmt: skip
    if wrong:
        raise _no_words(content, f"{len(wrong)} that are no words: {', '.join(map(shortened, wrong[:5]))}")  # fmt: skip
    return list(dict.fromkeys(words))


def _no_words(content: Content, found: str, expected: str = "a text or a JSON list of words") -> RelicError:  # fmt: skip
    return RelicError(f"{content.file} holds {found}", expected=expected, mend="write one word a line")  # fmt: skip
