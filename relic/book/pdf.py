"""The book as one PDF: Sphinx's single page, printed by Chromium. Neither needs a network."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from relic import paths
from relic.errors import RelicError

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync".split()
QUIET += ["--disable-background-networking", "--disable-component-update"]
READY = 20_000  # milliseconds that a page may take to draw its formulas


def browser() -> str:
    """Where Chromium is."""
    known = [found for name in BROWSERS if (found := shutil.which(name))]
    if not known:
        expected = f"one of {', '.join(BROWSERS)}"
        raise RelicError("--pdf: no Chromium here", expected=expected, mend="apt install chromium")
    return known[0]


def print_book() -> Path:
    """Print what the last build staged; the old PDF stays until the new one is whole."""
    with tempfile.TemporaryDirectory(dir=paths.BUILD) as scratch:
        made, printed = Path(scratch), Path(scratch) / paths.PDF.name
        single = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build"]
        single += [str(paths.STAGE), "--path-output", scratch, "--builder", "singlehtml"]
        page = made / "_build" / "singlehtml" / "index.html"
        out = [f"--user-data-dir={made / 'browser'}", "--no-pdf-header-footer"]
        out += [f"--virtual-time-budget={READY}", f"--print-to-pdf={printed}", page.as_uri()]
        for command, result in ((single, page), ([browser(), *QUIET, *out], printed)):
            done = subprocess.run(command, capture_output=True, text=True, errors="replace")
            if not result.exists():
                last = (done.stderr.strip().splitlines() or ["no message"])[-1]
                raise RelicError(f"--pdf: no {result.name} was made: {last}")
        os.replace(printed, paths.PDF)
    return paths.PDF
