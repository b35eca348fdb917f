"""`relic calibrate` and `relic bench`: how right and how fast."""

from typing import Annotated

import typer

from relic.errors import RelicError


def calibrate(
    what: Annotated[
        str,
        typer.Argument(
            metavar="intervals|fifths|grid|curves|length|objects",
            help="Intervals, bias, training size, caption length, objects masked.",
        ),
    ] = "intervals",
    corpora: Annotated[int, typer.Option(help="Synthetic corpora; 0: as recorded.")] = 0,
    images: Annotated[int, typer.Option(help="Images of a corpus; 0: as recorded.")] = 0,
    classifier: Annotated[str, typer.Option(help="Grid: only this classifier.")] = "",
) -> None:
    """What LIC depends on, into results/calibration/ (synthetic corpora) and results/learning/ (real).

    `intervals`: coverage of the candidates for an interval; `fifths`: their error on real captions.
    `grid`: bias over gain, size, duplicates, vocabulary, length, confidence and classifier. `fifths`,
    `curves`, `length` and `objects` need the real captions. What is recorded is not computed again.
    """
    from relic.chapters.studies import calibrate as run

    print(f"{len(run(what, corpora, images, classifier)):,} rows recorded of {what}")


def bench(
    only: Annotated[str, typer.Option(metavar="NAME", help="One measurement.")] = "",
    csv: Annotated[bool, typer.Option("--csv", help="name, ours, plain, ratio, unit.")] = False,
) -> None:
    """Measure our way against the plain way of doing the same work, in one run."""
    import sys

    from relic import paths

    if not paths.BENCHMARKS.is_dir():
        raise RelicError("benchmarks/ is not here", expected="a clone of the repository")
    sys.path.insert(0, str(paths.BENCHMARKS.parent))
    from benchmarks.bench import measure

    table = measure(only)
    print(table.to_csv(index=False) if csv else table.to_string(index=False))
