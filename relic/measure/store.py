"""A store of runs: a directory with one file a run, safe to share between processes and machines.

A file is a line of JSON (description, scores, size of the rest) and the per-image outcomes as a
NumPy array. It is written under another name and renamed, so it is there whole or not at all; there
are no locks. A file that is cut short, or is not ours, is ignored with a warning and computed again.
"""

import io
import json
import os
import warnings
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd

from relic.errors import RelicError
from relic.measure.runs import Outcome, Run
from relic.whole import write_whole

FORMAT = "relic run 1"
COLUMNS = {"image_id": "i8", "y": "u1", "p": "f8", "seen_raw": "?", "seen_masked": "?"}


class Store:
    """Finished runs in a directory."""

    def __init__(self, directory: str | Path):
        self.directory = Path(directory).expanduser()
        if self.directory.exists() and not self.directory.is_dir():
            raise RelicError(f"{self.directory} is a file", expected="a directory for runs")

    def file(self, run: Run) -> Path:
        """Where a run is kept: 256 folders, so that none grows too large."""
        return self.directory / run.key[:2] / f"{run.key}.run"

    def put(self, outcome: Outcome) -> None:
        """Keep a run. Two processes that write the same run write the same thing: the last stays."""
        columns, stream = [outcome.images[c].to_numpy() for c in COLUMNS], io.BytesIO()
        np.save(stream, np.asarray(np.rec.fromarrays(columns, dtype=list(COLUMNS.items()))))
        payload = stream.getvalue()
        head = {"format": FORMAT, "run": asdict(outcome.run), "scores": outcome.scores}
        line = json.dumps(head | {"bytes": len(payload)}).encode() + b"\n"
        write_whole(self.file(outcome.run), line + payload)

    def get(self, run: Run) -> Outcome | None:
        """A finished run with its per-image outcomes, or None."""
        file = self.file(run)
        head = self._head(file)
        if head is None:
            return None
        try:
            payload = io.BytesIO(file.read_bytes()[-head["bytes"] :])
            array = np.load(payload, allow_pickle=False)
            images = pd.DataFrame({column: array[column] for column in COLUMNS})
        except (OSError, ValueError, KeyError, IndexError) as error:
            warnings.warn(f"{file} is ignored, it will be computed again: {error}", stacklevel=2)
            return None
        return Outcome(run, head["scores"], images)

    def missing(self, runs: Iterable[Run]) -> list[Run]:
        """Runs that are not finished yet, each once."""
        return [run for run in dict.fromkeys(runs) if self._head(self.file(run)) is None]

    def frame(self, runs: Iterable[Run] | None = None) -> pd.DataFrame:
        """Descriptions and scores of finished runs, one row each; all of them by default."""
        files = self.directory.glob("??/*.run") if runs is None else map(self.file, runs)
        heads = filter(None, map(self._head, sorted(files)))
        return pd.DataFrame([head["run"] | head["scores"] for head in heads])

    @staticmethod
    def _head(file: Path) -> dict | None:
        """The first line of a whole file of ours; None, with a warning, for anything else."""
        try:
            with file.open("rb") as stream:
                line = stream.readline()
                size = os.fstat(stream.fileno()).st_size
            head = json.loads(line)
            if head["format"] != FORMAT or size != len(line) + head["bytes"]:
                raise ValueError("cut short or of another format")
            if Run(**head["run"]).key != file.stem:
                raise ValueError("its description does not fit its name")
            return head
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            warnings.warn(f"{file} is ignored, it will be computed again: {error}", stacklevel=3)
            return None
