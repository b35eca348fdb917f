"""What the models of this chapter share: one error where they cannot be loaded, and a memory on disk.

A second call computes nothing again. A memory is an SQLite file, so that several processes may share
it and a killed one loses only its last batch. Texts are kept as hashes.
"""

import hashlib
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

import numpy as np
from tqdm import tqdm

from relic import paths
from relic.errors import RelicError
from relic.measure.classifiers.bert import _quiet

FORMAT = "2"  # raised when the meaning of a kept value changes
PART = 512  # texts computed between two writes
WEIGHTS = (".json", ".safetensors", ".txt", ".gguf", ".model", ".bin", ".vec")


class Memory:
    """Values of one model by text; `key` names the model and all that its values depend on."""

    def __init__(self, key: str, dtype: str = "float64"):
        readable = re.sub(r"[^\w.-]+", "-", key)[-60:].strip("-.")
        name = f"{readable}-{hashlib.sha256(f'{FORMAT} {key}'.encode()).hexdigest()[:12]}.sqlite"
        self.key, self.dtype, self.file = key, dtype, paths.runs() / "texts" / name
        self.computed = 0  # texts that this object had to compute

    def values(
        self, texts: Iterable[str], compute: Callable[[list[str]], np.ndarray]
    ) -> np.ndarray:
        """A row for each text; `compute` is called for texts not known yet, in parts."""
        texts = list(texts)
        hashes = {text: hashlib.sha256(text.encode()).digest()[:16] for text in texts}
        with self._open() as database:
            known = {}
            for text, key in hashes.items():
                for (row,) in database.execute("SELECT row FROM texts WHERE key = ?", (key,)):
                    known[text] = row
            new = sorted(hashes.keys() - known, key=lambda text: (len(text), text))  # less padding
            parts = [new[i : i + PART] for i in range(0, len(new), PART)]
            for part in tqdm(parts, desc=self.key[:40], disable=len(parts) < 2, leave=False):
                rows = np.asarray(compute(part), dtype=self.dtype)
                known |= {text: row.tobytes() for text, row in zip(part, rows, strict=True)}
                kept = [(hashes[text], known[text]) for text in part]
                with database:  # all of them or none
                    database.executemany("INSERT OR REPLACE INTO texts VALUES (?, ?)", kept)
                self.computed += len(part)
        rows = np.frombuffer(b"".join(known[text] for text in texts), dtype=self.dtype)
        return rows.reshape(len(texts), -1 if texts else 1)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with closing(sqlite3.connect(self.file, timeout=60)) as database:
                database.execute(
                    "CREATE TABLE IF NOT EXISTS texts (key BLOB PRIMARY KEY, row BLOB)"
                )
                yield database
        except sqlite3.DatabaseError as error:
            mend = "remove it: what it held is computed again"
            raise RelicError(f"{self.file} cannot be read: {error}", mend=mend) from error


@cache
def fingerprint(place: str) -> str:
    """SHA-256 over the bytes of a model's file or directory; a hub name stands for itself."""
    path = Path(place).expanduser()
    if not path.exists():
        return place
    digest = hashlib.sha256()
    for file in [path] if path.is_file() else sorted(path.rglob("*")):
        if file.suffix in WEIGHTS:
            with file.open("rb") as stream:
                digest.update(file.name.encode() + hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()[:16]


@contextmanager
def loading(kind: str, name: str, mend: str) -> Iterator[None]:
    """Quietly; what transformers says of a model that it cannot load, in one sentence."""
    try:
        with _quiet():
            yield
    except (OSError, ValueError, ImportError) as error:  # the hub's own errors are OSErrors
        raise RelicError(
            f"the {kind} {name} cannot be loaded: {str(error).strip().splitlines()[0]}",
            expected="a hub name that this machine can reach, or its files; weights as safetensors",
            mend=mend,
        ) from error
