"""Options that several subcommands share."""

from pathlib import Path
from typing import Annotated

import typer

from relic.errors import RelicError

CaptionerOption = Annotated[str, typer.Option(help="Captioners with commas; all by default.")]
CorpusOption = Annotated[str, typer.Option(help="real, embedded (synthetic) or auto.")]
EncoderOption = Annotated[str, typer.Option(help="BERT-type encoder: hub name or directory.")]
CaptionSetOption = Annotated[
    str, typer.Option(help="Caption set: standard, th10, masked_person, ...")
]
SeedsOption = Annotated[str, typer.Option(help="Seeds with commas, or `paper`: the papers' ten.")]
SplitOption = Annotated[str, typer.Option(help="paired, upstream, unpaired or grouped.")]
StoreOption = Annotated[
    Path | None,
    typer.Option("--store", metavar="DIR", help="Store of runs (default: RELIC_RUNS, or runs/)."),
]
WorkersOption = Annotated[int, typer.Option(help="Processes on this machine, one thread each.")]
SchedulerOption = Annotated[str, typer.Option(metavar="tcp://...", help="A Dask scheduler.")]


def store_at(directory: Path | None):
    """The store at a directory, or this machine's."""
    from relic import paths
    from relic.measure.store import Store

    return Store(directory or paths.runs())


def numbers(option: str, text: str) -> list[int]:
    """Whole numbers with commas, each once."""
    try:
        found = list(dict.fromkeys(int(number) for number in text.split(",")))
    except ValueError:
        found = [-1]
    if min(found) < 0:
        raise RelicError(f"{option} {text}", expected="whole numbers from 0, with commas")
    return found


def seed_numbers(text: str) -> list[int]:
    """Seeds with commas, or `paper`: the papers' ten."""
    from relic.measure.splits import PAPER_SEEDS

    return list(PAPER_SEEDS) if text.strip() == "paper" else numbers("--seeds", text)
