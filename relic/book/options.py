"""Options of ./run_all.sh. Standard library only: read before anything is installed."""

import argparse
import os
import sys
from pathlib import Path

HELP = Path(__file__).with_name("help.txt")  # what stands before the options, ---, what after


def parse(arguments: list[str]) -> argparse.Namespace:
    """Checked options; a mistake ends the program with status 2 and a hint."""
    if "--test" in arguments:  # everything else is pytest's
        return argparse.Namespace(test=True)
    look = {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}
    before, _, after = HELP.read_text(encoding="utf-8").partition("\n---\n")
    options = argparse.ArgumentParser("./run_all.sh", None, before, after, **look)
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
    chosen = options.parse_args(arguments)
    if chosen.quick:
        options.error("--quick: only with --test")
    if chosen.workers < 1:
        options.error(f"--workers {chosen.workers}: at least 1")
    if chosen.timeout < 0:
        options.error(f"--timeout {chosen.timeout}: 0 (no limit) or more")
    for text in chosen.sets:
        if "=" not in text:
            options.error(f"--set {text}: write KEY=VALUE")
    if chosen.data is not None and not os.path.isdir(chosen.data):
        get = "(get the captions: relic data fetch DIR)"
        options.error(f"--data {chosen.data}: no such directory {get}")
    return chosen


if __name__ == "__main__":  # run_all.sh checks the options before it installs anything
    parse(sys.argv[1:])
