"""The captioners we know: keys, names, their order, their files. Every other module asks here.

`captioners.yml` has the papers' nine, those found since, and says how to add one; rows of one's own may
also stand in `captioners/captioners.yml` of the data directory.
"""

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import yaml

from relic import paths
from relic.data.planted import CAPTIONERS as PLANTED
from relic.errors import RelicError

REAL = "COCO captions"  # the corpus of the papers' captioners, on all labelled images
OWN = "captioners/captioners.yml"  # in the data directory
FIELDS = "name year trained_on decoding file source licence images model prompt".split()
FIELDS += ["control", "note", "gender", "race", "age"]


def registry() -> dict[str, dict]:
    """Every captioner by key, in the order of tables."""
    data = paths.real_data()
    return _read(data / OWN if data else None)


@lru_cache(maxsize=4)
def _read(own: Path | None) -> dict[str, dict]:
    entries: dict[str, dict] = {}
    for file in filter(Path.is_file, filter(None, (paths.CAPTIONERS, own))):
        try:
            rows = yaml.safe_load(file.read_text(encoding="utf-8"))
            wrong = [key for key, entry in rows.items() if key in entries or not _sound(entry)]
        except (yaml.YAMLError, UnicodeDecodeError, AttributeError) as error:
            raise RelicError(f"{file}: {error}", expected="a row a captioner") from error
        if wrong:
            expected = f"a key of its own; name, images and file; of the fields {', '.join(FIELDS)}"
            raise RelicError(f"{file}: {', '.join(map(str, wrong))}", expected=expected)
        entries |= rows
    return entries


def _sound(entry) -> bool:
    named = isinstance(entry, dict) and set(entry) <= set(FIELDS) and bool(entry.get("name"))
    return named and bool(entry.get("images")) == bool(entry.get("file"))


def image_sets() -> list[str]:
    """Names of the images that further captioners have captions of."""
    return list(dict.fromkeys(e["images"] for e in registry().values() if "images" in e))


def captioners_of(images: str = "") -> dict[str, dict]:
    """The further captioners of these images, by key; by default the papers', which have them all."""
    return {key: entry for key, entry in registry().items() if entry.get("images", "") == images}


def corpus_name(images: str = "") -> str:
    """What runs on these images call their corpus: never that of all images.

    >>> corpus_name("Karpathy test")
    'COCO captions, Karpathy test images'
    """
    return f"{REAL}, {images} images" if images else REAL


def display_names() -> dict[str, str]:
    """Captioner by key, as tables show it; the embedded corpus's too."""
    real = {key: entry["name"] for key, entry in registry().items()}
    return real | {captioner.key: captioner.name for captioner in PLANTED}


def in_order(names: Iterable[str]) -> list[str]:
    """Captioners by name in the papers' order; others after them as they come.

    >>> in_order(["mine", "OSCAR", "NIC"])
    ['NIC', 'OSCAR', 'mine']
    """
    order = {name: number for number, name in enumerate(display_names().values())}
    return sorted(dict.fromkeys(names), key=lambda name: order.get(name, len(order)))
