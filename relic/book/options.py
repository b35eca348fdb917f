"""Options of ./run_all.sh. Standard library only: read before anything is installed."""

import argparse
import os
import sys

DESCRIPTION = """\
Set up the environment, execute the notebooks of a profile and compile the book.

The first call makes .venv from requirements.lock (about 3 minutes, 2.6 GB). Later calls do only
what changed: a notebook runs again when its source, its parameters, the modules and records that it
rests on, the lock or the data changed."""

EXAMPLES = """\
profiles (params/*.yml):
  record    the real captions' recorded numbers, no download (the default)
  embedded  the embedded, synthetic corpus: everything is trained here, no download
  smoke     the same, as small as still means something; what the tests run
  cpu       the real captions, as much as two CPU cores can do
  paper     the papers' whole grid with ten seeds; wants a GPU

examples:
  ./run_all.sh                                      the book, from the record
  ./run_all.sh --only 20 --set attributes=[race]    one notebook with another parameter
  ./run_all.sh --profile cpu --data ~/relic-data    real captions (get them: relic data fetch DIR)
  ./run_all.sh --why                                say why each step ran or was skipped
  ./run_all.sh --test --quick                       lint, then the tests that take a minute
  ./run_all.sh --test -k splits                     lint, then the tests that match

settings: RELIC_DATA  directory of the real captions, as --data
          RELIC_WORKERS  processes that train runs which are not recorded (1)
          RELIC_PYTHON  a Python with the lock installed, in place of .venv"""


def parse(arguments: list[str]) -> argparse.Namespace:
    """Checked options; a mistake ends the program with status 2 and a hint."""
    if "--test" in arguments:  # everything else is pytest's
        return argparse.Namespace(test=True)
    look = {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}
    about = {"description": DESCRIPTION, "epilog": EXAMPLES}
    options = argparse.ArgumentParser(prog="./run_all.sh", **about, **look)
    add = options.add_argument
    add("--profile", default="record", metavar="NAME", help="params/NAME.yml (default: record)")
    several = {"action": "extend", "default": [], "nargs": "+"}
    add("--only", **several, metavar="NAME", help="only these notebooks, e.g. 00_data")
    add("--data", metavar="DIR", help="real captions in upstream's layout; implies corpus=real")
    one = "a notebook parameter; NOTEBOOK.KEY=VALUE for one notebook; may be repeated"
    add("--set", action="append", default=[], metavar="KEY=VALUE", dest="sets", help=one)
    several = {"type": int, "default": min(4, os.cpu_count() or 1), "metavar": "N"}
    add("--workers", **several, help="notebooks at a time (default: one a core, at most 4)")
    add("--timeout", type=int, default=0, metavar="SECONDS", help="longest a cell may take")
    add("--keep-going", action="store_true", help="go on after a failed notebook, and publish")
    add("--fresh", action="store_true", help="execute everything again")
    add("--why", action="store_true", help="say why each step ran or was skipped")
    add("--pdf", action="store_true", help="also print the book: one PDF; needs Chromium")
    add("--test", action="store_true", help="lint and test instead; the rest goes to pytest")
    add("--quick", action="store_true", help="with --test: no builds, browsers, real captions")
    found = options.parse_args(arguments)
    if found.quick:
        options.error("--quick: only with --test")
    if found.workers < 1:
        options.error(f"--workers {found.workers}: at least 1")
    if found.timeout < 0:
        options.error(f"--timeout {found.timeout}: 0 (no limit) or more")
    for text in found.sets:
        if "=" not in text:
            options.error(f"--set {text}: write KEY=VALUE")
    if found.data is not None and not os.path.isdir(found.data):
        get = "(get the captions: relic data fetch DIR)"
        options.error(f"--data {found.data}: no such directory {get}")
    return found


if __name__ == "__main__":  # run_all.sh checks the options before it installs anything
    parse(sys.argv[1:])
