"""What a model said of a text, kept on disk: a second call computes nothing again.

A memory is a directory of NumPy files, each written whole or not at all, so that several processes
may share it and a killed one loses only its last batch. Texts are kept as hashes.
"""

import hashlib
import io
import re
import uuid
import warnings
import zipfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import numpy as np
from tqdm import tqdm

from relic import paths
from relic.whole import write_whole

FORMAT = "1"  # raised when the meaning of a kept value changes
PART = 512  # texts computed between two writes
WEIGHTS = (".json", ".safetensors", ".txt", ".gguf", ".model", ".bin", ".vec")


class Memory:
    """Values of one model by text; `key` names the model and all that its values depend on."""

    def __init__(self, key: str, directory: str | Path | None = None):
        readable = re.sub(r"[^\w.-]+", "-", key)[-60:].strip("-.")
        name = f"{readable}-{hashlib.sha256(f'{FORMAT} {key}'.encode()).hexdigest()[:12]}"
        self.key, self.directory = key, Path(directory or paths.runs() / "texts") / name
        self.computed = 0  # texts that this object had to compute
        self._values: dict[bytes, np.ndarray] = {}
        self._read: set[Path] = set()

    def values(
        self, texts: Iterable[str], compute: Callable[[list[str]], np.ndarray]
    ) -> np.ndarray:
        """A row for each text; `compute` is called for texts not known yet, in parts."""
        texts = list(texts)
        hashes = {t: hashlib.sha256(t.encode()).digest()[:16] for t in dict.fromkeys(texts)}
        if any(h not in self._values for h in hashes.values()):
            self._load()
        new = [text for text, h in hashes.items() if h not in self._values]
        new.sort(key=lambda text: (len(text), text))  # of one length together: less padding
        parts = [new[i : i + PART] for i in range(0, len(new), PART)]
        for part in tqdm(parts, desc=self.key[:40], disable=len(parts) < 2, leave=False):
            self._save([hashes[text] for text in part], np.asarray(compute(part)))
            self.computed += len(part)
        return np.array([self._values[hashes[text]] for text in texts])

    def _save(self, hashes: list[bytes], rows: np.ndarray) -> None:
        file = self.directory / f"{uuid.uuid4().hex}.npz"
        keys = np.frombuffer(b"".join(hashes), dtype="S16")
        with io.BytesIO() as kept:
            np.savez(kept, hashes=keys, rows=rows)
            write_whole(file, lambda part: part.write_bytes(kept.getvalue()))
        self._values.update(zip(hashes, rows, strict=True))
        self._read.add(file)

    def _load(self) -> None:
        """Read what was kept since the last look; a broken file is ignored, with a warning."""
        for file in sorted(set(self.directory.glob("*.npz")) - self._read):
            self._read.add(file)
            try:
                with np.load(file, allow_pickle=False) as kept:
                    hashes, rows = kept["hashes"].tobytes(), kept["rows"]
            except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
                message = f"{file} is ignored, it will be computed again: {error}"
                warnings.warn(message, stacklevel=3)
                continue
            keys = [hashes[i : i + 16] for i in range(0, len(hashes), 16)]
            self._values.update(zip(keys, rows, strict=True))


@cache
def fingerprint(place: str) -> str:
    """SHA-256 over the bytes of a model's file or directory; a hub name stands for itself."""
    path = Path(place).expanduser()
    if not path.exists():
        return place
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    digest = hashlib.sha256()
    for file in files:
        if file.suffix in WEIGHTS:
            with file.open("rb") as stream:
                digest.update(file.name.encode() + hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()[:16]
