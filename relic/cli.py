"""The `relic` command."""

import gc
import sys
from typing import Annotated

import typer

import relic
from relic.commands import data, gender_score, results
from relic.commands.audit import audit
from relic.commands.doctor import doctor
from relic.commands.results import claims
from relic.commands.train import attribute, bench, calibrate, record, sweep
from relic.errors import RelicError

app = typer.Typer(
    name="relic",
    help="Do image captioners amplify the bias of their training captions?\n\n"
    "Your captions:  relic audit captions.json --labels labels.csv --human human.json\n\n"
    "What works here:  relic doctor\n\n"
    "The papers' claims:  relic claims\n\n"
    "Our runs:  relic results show\n\n"
    "The book:  ./run_all.sh\n\n"
    "Every command has --help; relic --install-completion teaches your shell.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
for command in (audit, doctor, claims, sweep, attribute, calibrate, record, bench):
    app.command()(command)
app.add_typer(data.app, name="data")
app.add_typer(results.app, name="results")
app.add_typer(gender_score.app, name="gender-score")


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


def main() -> None:
    """Run the command; an error a user can act on is printed without a traceback."""
    gc.set_threshold(100_000)  # captions are many small objects without cycles
    try:
        app()
    except RelicError as error:
        shown = f"relic: {error}\n".encode("utf-8", "backslashreplace").decode()  # odd file names
        print(shown, end="", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        gc.freeze()  # what is about to end need not be searched for cycles: 0.3 s of an audit


if __name__ == "__main__":
    main()
