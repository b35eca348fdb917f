"""The `relic` command."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

import relic
from relic.errors import RelicError

app = typer.Typer(
    name="relic",
    help="Do image captioners amplify the bias of their training captions? "
    "This command handles data; [bold]./run_all.sh[/bold] builds the book.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
data = typer.Typer(help="The real captions: get them, check them.", no_args_is_help=True)
app.add_typer(data, name="data")


def _version(asked: bool) -> None:
    if asked:
        print(f"relic {relic.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of the command itself."""


@data.command()
def fetch(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where the files go (65 MB).")],
    mirror: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Base address in place of upstream's repository.")
    ] = "",
    replace: Annotated[
        bool, typer.Option("--replace", help="Overwrite files whose bytes are not upstream's.")
    ] = False,
) -> None:
    """Download upstream's captions and labels at the pinned commit.

    Files that are there and right are kept; a broken download is resumed; each file is verified
    before it gets its name.
    """
    from relic.data.fetch import UPSTREAM
    from relic.data.fetch import fetch as fetch_files

    report = fetch_files(directory, mirror or UPSTREAM, replace=replace)
    print(f"{len(report.downloaded)} files downloaded, {len(report.kept)} already there")
    print(f"next: relic data check {directory}")


@data.command()
def check(
    directory: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="A data directory (default: RELIC_DATA).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False,
) -> None:
    """Say what is there, what is missing and what that disables.

    Exit status 1 when nothing is usable or a file is broken.
    """
    from relic import paths
    from relic.data.check import as_text
    from relic.data.check import check as check_files

    directory = directory or paths.real_data()
    if directory is None:
        raise RelicError(
            "no directory given and RELIC_DATA is not set", mend="relic data check DIR"
        )
    report = check_files(directory)
    print(json.dumps(report.as_dict(), indent=1) if as_json else as_text(report))
    raise typer.Exit(0 if report.usable else 1)


def main() -> None:
    """Run the command; an error a user can act on is printed without a traceback."""
    try:
        app()
    except RelicError as error:
        print(f"relic: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
