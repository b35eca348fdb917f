"""The papers' LSTM.

Embedding 100 (not pre-trained; rows of <unk> and <pad> start at zero), dropout .5, two-layer
bidirectional LSTM of 256, dropout .5 between layers and on the concatenated last states, one logit:
2,310,657 + 100 V parameters. Adam, 5e-5, 20 epochs, batches of 64. The recipe `1e-3x4` (rate, epochs)
is ours, for small sets where the papers' would take minutes to learn little. `tuned` chooses rate and
epochs by the log-loss on a tenth of the training captions, then trains on all of them.

`packed` batches are drawn at random and packed, as upstream. `bucketed` batches hold about 64 captions
of one length, so that nothing is padded or packed: the same model, faster on a CPU.
"""

from collections import Counter
from functools import lru_cache
from itertools import islice

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

from relic.measure.classifiers.base import RECIPES
from relic.measure.classifiers.device import best_device, deterministic
from relic.measure.text import tokenizer

UNK, PAD = 0, 1
LARGEST_VOCABULARY = 25_000
EMBEDDING, HIDDEN, DROPOUT = 100, 256, 0.5
LEARNING_RATE, EPOCHS, BATCH = 5e-5, 20, 64
RATES, PATIENCE = (5e-5, 3e-4, 1e-3), 3  # `tuned`: rates tried; epochs without gain before it stops


@lru_cache(maxsize=200_000)
def spacy_tokens(caption: str) -> tuple[str, ...]:
    """spaCy's English tokens: `<unk>` becomes three, hyphenated words are split.

    >>> spacy_tokens("a <unk> dog")
    ('a', '<', 'unk', '>', 'dog')
    """
    return tokenizer("spacy:en")(caption)


class Network(nn.Module):
    """Embedding, bidirectional LSTM, linear."""

    def __init__(self, vocabulary: int):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, EMBEDDING, padding_idx=PAD)
        layers = {"num_layers": 2, "bidirectional": True, "dropout": DROPOUT, "batch_first": True}
        self.lstm = nn.LSTM(EMBEDDING, HIDDEN, **layers)
        self.output = nn.Linear(2 * HIDDEN, 1)
        self.dropout = nn.Dropout(DROPOUT)
        with torch.no_grad():
            self.embedding.weight[UNK] = 0
            self.embedding.weight[PAD] = 0

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor | None) -> torch.Tensor:
        """Logits; `lengths` (descending, on the CPU) for packed batches, None for equal lengths."""
        embedded = self.dropout(self.embedding(ids))
        if lengths is not None:
            embedded = pack_padded_sequence(embedded, lengths, batch_first=True)
        _, (hidden, _) = self.lstm(embedded)
        return self.output(self.dropout(torch.cat([hidden[-2], hidden[-1]], dim=1))).squeeze(1)


class LSTM:
    """Trains the network from scratch on the captions at hand."""

    def __init__(
        self, recipe: str = RECIPES["lstm"], batching: str = "bucketed", encoder: str = ""
    ):
        rate, _, epochs = recipe.partition("x")
        self.rate, self.epochs = (float(rate), int(epochs)) if epochs else (LEARNING_RATE, EPOCHS)
        self.tuned, self.batching, self.device = recipe == "tuned", batching, best_device()

    def fit(self, captions, classes, seed: int):
        if self.tuned:
            self.rate, self.epochs = self._chosen(captions, np.asarray(classes), seed)
        for _ in islice(self._training(captions, classes, seed), self.epochs):
            pass
        return self

    def _training(self, captions, classes, seed: int):
        """Train on and on, stopping to look after each epoch."""
        deterministic(seed)
        tokens = [spacy_tokens(caption) for caption in captions]
        counts = Counter(token for caption in tokens for token in caption)
        words = sorted(counts, key=lambda word: (-counts[word], word))[:LARGEST_VOCABULARY]
        self.ids = {word: number for number, word in enumerate(words, start=2)}
        self.network = Network(len(words) + 2).to(self.device)
        optimizer = torch.optim.Adam(self.network.parameters(), lr=self.rate, fused=True)
        loss = nn.BCEWithLogitsLoss()
        sequences = self._sequences(captions)
        targets = torch.tensor(list(classes), dtype=torch.float32, device=self.device)
        shuffle = np.random.default_rng(seed)
        while True:
            self.network.train()
            for batch in self._batches(sequences, shuffle):
                optimizer.zero_grad(set_to_none=True)
                ids, lengths, order = self._tensor(sequences, batch)
                loss(self.network(ids, lengths), targets[order]).backward()
                optimizer.step()
            yield

    def _chosen(self, captions, classes: np.ndarray, seed: int) -> tuple[float, int]:
        """Rate and epochs with the least log-loss on a tenth of the training captions."""
        order, losses = np.random.default_rng([seed, 13]).permutation(len(captions)), {}
        held, kept = np.split(order, [len(order) // 10])
        texts, signs = [[captions[i] for i in rows] for rows in (held, kept)], 2 * classes[held] - 1
        for rate in RATES:
            trial, best = LSTM(f"{rate}x{EPOCHS}", self.batching), 1
            training = islice(trial._training(texts[1], classes[kept], seed), EPOCHS)
            for epoch, _ in enumerate(training, start=1):
                losses[rate, epoch] = np.logaddexp(0, -signs * trial.logits(texts[0])).mean()
                best = epoch if losses[rate, epoch] < losses[rate, best] else best
                if epoch - best >= PATIENCE:
                    break
        return min(losses, key=lambda choice: losses[choice])

    def logits(self, captions) -> np.ndarray:
        sequences, logits = self._sequences(captions), np.zeros(len(captions))
        self.network.eval()
        with torch.no_grad():
            for batch in self._batches(sequences, None):
                ids, lengths, order = self._tensor(sequences, batch)
                logits[order] = self.network(ids, lengths).double().cpu().numpy()
        return logits

    def _sequences(self, captions) -> list[torch.Tensor]:
        """Token ids; a caption without tokens is one unknown word."""
        numbers = ([self.ids.get(token, UNK) for token in spacy_tokens(c)] for c in captions)
        return [torch.tensor(ids or [UNK]) for ids in numbers]

    def _batches(self, sequences: list[torch.Tensor], rng: np.random.Generator | None):
        """Index arrays of 64, or about 64 when bucketed; in random order when training."""
        order = np.arange(len(sequences)) if rng is None else rng.permutation(len(sequences))
        if self.batching == "packed":
            return np.split(order, range(BATCH, len(order), BATCH))
        lengths = np.array([len(sequences[i]) for i in order])
        alike = [order[lengths == length] for length in np.unique(lengths)]
        parts = [np.array_split(rows, max(1, round(len(rows) / BATCH))) for rows in alike]
        batches = [batch for part in parts for batch in part]
        return batches if rng is None else [batches[i] for i in rng.permutation(len(batches))]

    def _tensor(self, sequences, batch):
        """Ids, lengths for packing, and the order of rows in the batch."""
        if self.batching == "bucketed":
            return torch.stack([sequences[i] for i in batch]).to(self.device), None, batch
        lengths = np.array([len(sequences[i]) for i in batch])
        order = np.argsort(-lengths, kind="stable")
        longest_first = [sequences[i] for i in batch[order]]
        rows = pad_sequence(longest_first, batch_first=True, padding_value=PAD)
        return rows.to(self.device), torch.as_tensor(lengths[order]), batch[order]
