"""How long an audit takes, and how that grows: `relic audit` on generated captions, in its own process."""

import math
import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from relic.errors import RelicError

AIM = 30  # wall seconds for 10,000 captions, ten seeds, five human captions, two quiet cores
CACHED, HELP = 5, 0.6  # CPU seconds of an audit that is kept already; of `relic --help`
WORDS = (
    3000  # of the generated captions; the n-th is drawn in proportion to 1/n, as in any language
)


def generated_files(captions: int, directory: str | Path, human: int = 5, seed: int = 0) -> dict:
    """Captions, labels and human captions of so many images; a tenth of the words lean to a class."""
    rng, place = np.random.default_rng(seed), Path(directory)
    classes = (rng.random(captions) < 0.4).astype(int)
    chance = 1 / np.arange(2, WORDS + 2)
    lean = np.where(np.arange(WORDS) % 10 == 7, 0.4, 0.0)
    kinds = [chance * (1 + lean * sign) for sign in (-1, 1)]
    drawn = [np.cumsum(kind / kind.sum()) for kind in kinds]
    words = np.array([f"w{i}" for i in range(WORDS)])

    def texts() -> list[str]:
        captioned, lengths = np.empty(captions, dtype=object), rng.integers(6, 13, captions)
        for value in (0, 1):
            rows = np.flatnonzero(classes == value)
            ids = np.searchsorted(drawn[value], rng.random((len(rows), 12)))
            said = words[np.minimum(ids, WORDS - 1)]
            captioned[rows] = ["a man " + " ".join(r[:n]) for r, n in zip(said, lengths[rows], strict=True)]  # fmt: skip
        return captioned.tolist()

    ids = np.arange(1, captions + 1)
    pd.DataFrame({"image_id": ids, "caption": texts()}).to_json(place / "captions.json", orient="records")  # fmt: skip
    labels = np.array(["Male", "Female"])[classes]
    pd.DataFrame({"image_id": ids, "label": labels}).to_csv(place / "labels.csv", index=False)
    said = [pd.DataFrame({"image_id": ids, "caption": texts()}) for _ in range(human)]
    pd.concat(said).to_csv(place / "human.csv", index=False)
    return {name: str(place / f"{name}.{end}") for name, end in (("captions", "json"), ("labels", "csv"), ("human", "csv"))}  # fmt: skip


def spent(command: list[str], **settings: str) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak memory (GB) of a process, one thread each."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    started = time.perf_counter()
    running = subprocess.Popen(
        command, env=os.environ | threads | settings, stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(running.pid, 0)
    running.returncode = os.waitstatus_to_exitcode(status)
    if running.returncode:
        raise RelicError(f"{' '.join(command[1:4])} failed: exit code {running.returncode}")
    taken = time.perf_counter() - started
    return taken, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6


def audited(files: dict, seeds: str, place: str, *more: str) -> tuple[float, float, float]:
    """A whole `relic audit` of these files."""
    options = [files["captions"], "--labels", files["labels"], "--human", files["human"], "--seeds", seeds]  # fmt: skip
    command = [sys.executable, "-m", "relic.cli", "audit", *options, "--out", f"{place}/out", "--force", *more]  # fmt: skip
    return spent(command, RELIC_RUNS=f"{place}/runs")


def timed(captions: int, seeds: str, human: int, *more: str) -> tuple[float, float]:
    """Wall seconds and peak memory (GB) of a whole `relic audit`, nothing computed before."""
    with tempfile.TemporaryDirectory() as scratch:
        files = generated_files(captions, scratch, human)
        taken, _, peak = audited(files, seeds, scratch, *more)
    return taken, peak


def audit_report():
    """10,000 captions, ten seeds, five human captions, everything; against the aim."""
    taken, peak = timed(10_000, "paper", 5)
    return [(taken, AIM, f"wall s for 10,000 captions, whole report, against the aim; {peak:.2f} GB, the larger of its own and Java's")]  # fmt: skip


def audit_cost(images: int = 7906):
    """Against a plain script that fits the same models; again, when all is kept; and `relic --help`."""
    with tempfile.TemporaryDirectory() as scratch:
        files = generated_files(images, scratch)
        script = [sys.executable, str(Path(__file__).with_name("plain_audit.py")), *files.values(), "10"]  # fmt: skip
        _, plain, _ = spent(script)
        _, first, peak = audited(files, "paper", scratch, "--no-accuracy", "--no-checks")
        _, again, _ = audited(files, "paper", scratch, "--no-accuracy", "--no-checks")
    _, shown, _ = spent([sys.executable, "-m", "relic.cli", "--help"])
    return [
        (first, 1.5 * plain, f"CPU s for {images:,} images, 70 fits, against 1.5 times a plain script's {plain:.1f}; {peak:.2f} GB (aim 0.5)"),
        (again, CACHED, "CPU s when every run is kept, against the aim"),
        (shown, HELP, "CPU s of relic --help, against the aim"),
    ]  # fmt: skip


def audit_growth(sizes: tuple[int, ...] = (10_000, 100_000, 1_000_000)):
    """One seed, one human caption: each size against n log n from the one before."""
    costs, rows = [timed(n, "0", 1, "--no-accuracy") for n in sizes], []
    for (small, a), (large, b) in pairwise(zip(sizes, costs, strict=True)):
        grown = a[0] * large * math.log(large) / (small * math.log(small))
        rows.append((b[0], grown, f"wall s for {large:,} captions against n log n from {small:,} ({a[0]:.0f} s); {b[1]:.1f} GB"))  # fmt: skip
    return rows
