"""The captioners we know: keys, names, their order, their files. Every other module asks here."""

from collections.abc import Iterable
from functools import cache

import yaml

from relic import paths
from relic.data.planted.process import CAPTIONERS as PLANTED


@cache
def captioner_files() -> dict[str, dict]:
    """The captioners of `captioners.yml`: name, files by attribute and caption set, age column."""
    return yaml.safe_load(paths.CAPTIONERS.read_text(encoding="utf-8"))


@cache
def display_names() -> dict[str, str]:
    """Captioner by key, as the papers write it; the embedded corpus's too."""
    real = {key: about["name"] for key, about in captioner_files().items()}
    return real | {captioner.key: captioner.name for captioner in PLANTED}


def in_order(names: Iterable[str]) -> list[str]:
    """Captioners by name in the papers' order; others after them as they come.

    >>> in_order(["mine", "OSCAR", "NIC"])
    ['NIC', 'OSCAR', 'mine']
    """
    order = {name: number for number, name in enumerate(display_names().values())}
    return sorted(dict.fromkeys(names), key=lambda name: order.get(name, len(order)))
