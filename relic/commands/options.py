"""Options that several subcommands share."""

from pathlib import Path
from typing import Annotated

from typer import Option

from relic.errors import RelicError

AttributeOption = Annotated[str, Option(help="gender, race or age.")]
CaptionerOption = Annotated[str, Option(help="Captioners with commas; all by default.")]
CaptionSetOption = Annotated[str, Option(help="Caption set: standard, th10, masked_person, ...")]
CorpusOption = Annotated[str, Option(help="real, embedded (synthetic) or auto.")]
EncoderOption = Annotated[str, Option(help="BERT-type encoder: hub name or directory.")]
ImagesOption = Annotated[int, Option(help="Images of the embedded corpus.")]
SeedsOption = Annotated[str, Option(help="Seeds with commas, or `paper`: the papers' ten.")]
SplitOption = Annotated[str, Option(help="paired, upstream, unpaired or grouped.")]
StoreOption = Annotated[
    Path | None, Option(metavar="DIR", help="Store of runs (default: RELIC_RUNS, or runs/).")
]


def store_at(directory: Path | None):
    """The store at a directory, or this machine's."""
    from relic import paths
    from relic.measure.runs import Store

    return Store(directory or paths.runs())


def numbers(option: str, text: str) -> list[int]:
    """Whole numbers with commas, each once."""
    if not all(number.strip().isdecimal() for number in text.split(",")):
        raise RelicError(f"{option} {text}", expected="whole numbers from 0, with commas")
    return list(dict.fromkeys(map(int, text.split(","))))


def seed_numbers(text: str) -> list[int]:
    """Seeds with commas, or `paper`: the papers' ten."""
    from relic.measure.splits import PAPER_SEEDS

    return list(PAPER_SEEDS) if text.strip() == "paper" else numbers("--seeds", text)
