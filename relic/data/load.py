"""Which corpus a notebook works on: the real captions or the embedded, synthetic one."""

from pathlib import Path

from relic import paths
from relic.data.captioners import corpus_name, image_sets
from relic.data.corpus import Corpus
from relic.data.planted import planted_corpus
from relic.data.upstream import load_real
from relic.errors import RelicError

GET = "relic data fetch DIR, then export RELIC_DATA=DIR (or ./run_all.sh --data DIR)"
CHOICES = ("auto", "embedded", "real")


def corpus_choice(corpus: str) -> str:
    """`embedded`, `real` or an image set (a corpus's own name will do); `auto`: real where RELIC_DATA is set."""
    by_name = {corpus_name(): "real", **{corpus_name(images): images for images in image_sets()}}
    chosen, choices = by_name.get(corpus, corpus), [*CHOICES, *image_sets()]
    if chosen not in choices:
        raise RelicError(f"corpus {corpus!r}", expected=f"one of {', '.join(choices)}")
    if chosen == "auto":
        return "real" if paths.real_data() else "embedded"
    return chosen


def load_corpus(
    attribute: str, corpus: str = "auto", *, images: int = 4000, seed: int = 0
) -> Corpus:
    """The corpus of an attribute: `embedded` (as `images` and `seed` say), `real` or an image set."""
    chosen = corpus_choice(corpus)
    if chosen == "embedded":
        return planted_corpus(attribute, images=images, seed=seed)
    return load_real(real_directory(), attribute, "" if chosen == "real" else chosen)


def real_directory() -> Path:
    """The directory that RELIC_DATA names."""
    directory = paths.real_data()
    if directory is None:
        found = "the real captions are asked for, but RELIC_DATA is not set"
        raise RelicError(found, expected="a directory of captions in upstream's layout", mend=GET)
    return directory
