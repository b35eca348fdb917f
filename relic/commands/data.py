"""`relic data`: get the real captions, check them, write a corpus as files."""

import json
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from relic import paths
from relic.commands.options import AttributeOption, CaptionerOption, CorpusOption, ImagesOption

app = typer.Typer(help="The real captions: get them, check them.", no_args_is_help=True)


@app.command()
def fetch(
    directory: Annotated[Path, Argument(metavar="DIR", help="Where the files go (65 MB).")],
    mirror: Annotated[str, Option(metavar="ADDRESS", help="In place of upstream's address.")] = "",
    replace: Annotated[bool, Option("--replace", help="Overwrite files that differ.")] = False,
) -> None:
    """Download upstream's captions and labels at the pinned commit.

    Files that are there and right are kept, so a broken fetch goes on; each file is verified
    before it gets its name.
    """
    from relic.data.fetch import UPSTREAM
    from relic.data.fetch import fetch as fetch_files

    report = fetch_files(directory, mirror or UPSTREAM, replace=replace)
    print(f"{len(report.downloaded)} files downloaded, {len(report.kept)} already there")
    print(f"next: relic data check {directory}")


@app.command()
def export(
    directory: Annotated[Path, Argument(metavar="DIR", help="A new directory.")],
    attribute: AttributeOption = "gender",
    corpus: CorpusOption = "auto",
    captioner: CaptionerOption = "",
    images: ImagesOption = 4000,
) -> None:
    """Write a corpus as files that `relic audit` reads: COCO results, labels, human captions."""
    from relic.auditing.examples import export as write
    from relic.data.load import load_corpus

    loaded = load_corpus(attribute, corpus, images=images)
    names = captioner.split(",") if captioner else None
    print("\n".join(map(str, write(loaded, directory, names))))


@app.command()
def check(
    directory: Annotated[
        Path | None, Argument(metavar="[DIR]", help="Default: RELIC_DATA.")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="For scripts.")] = False,
) -> None:
    """Say what is there, what is missing and what that disables.

    Exit status 1 when nothing is usable or a file is broken.
    """
    from relic.data.check import check as check_files

    report = check_files(directory)
    print(json.dumps(report, default=vars, indent=1) if as_json else as_text(report))
    raise typer.Exit(0 if report.usable else 1)


def as_text(report) -> str:
    """The report as a person reads it: `check.txt`, filled in."""
    from jinja2 import Template

    from relic.data.corpus import HUMAN_CAPTIONS
    from relic.numbers import number

    missing = [each for each in report.missing if each["disables"]]
    lists = {
        "COCO annotations": [f"{name} ({n:,} images)" for name, n in report.coco.items()],
        "missing": [f"{m['path']}: disables {m['disables']}" for m in missing],
        "other bytes than upstream's (relic data fetch DIR --replace)": report.modified,
        "broken": report.errors,
    }
    values = {"report": report, "lists": lists, "number": number, "five": HUMAN_CAPTIONS}
    values["found"] = any(a.images for a in report.attributes) or report.coco
    values["counts"] = lambda labels: ", ".join(f"{name} {n:,}" for name, n in labels.items())
    text = paths.DATA_CHECK.read_text(encoding="utf-8")
    return Template(text, trim_blocks=True).render(values).rstrip("\n")
