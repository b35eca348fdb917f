"""BERT-ft and BERT-pre, as in the papers' code.

Last-layer [CLS], then BatchNorm, linear 256, BatchNorm, LeakyReLU, linear 2 (199,426 parameters on
768 dimensions). AdamW with β .9/.98, ε 1e-6, weight decay .1 except biases and LayerNorm weights.

A recipe is `RATExEPOCHS`; for BERT-pre `-dropout` keeps the frozen encoder's dropout on while the
head trains, as upstream's code does. hirota2022 and turk2023: 5e-5x20; relic2023: 1e-5x5.
"""

import numpy as np
import torch
from torch import nn

from relic.measure.classifiers.base import RECIPES, TextForm
from relic.measure.classifiers.device import best_device, deterministic
from relic.measure.classifiers.encoder import (
    MINILM,
    check_encoder,
    cls_states,
    features,
    frozen_features,
    load_encoder,
    padded,
    word_pieces,
)

HEAD, BATCH = 256, 64
POOL = 16  # batches whose captions are sorted by length together, so that little is padded


def head(width: int) -> nn.Sequential:
    """The classification head on a [CLS] state."""
    first = nn.BatchNorm1d(width), nn.Linear(width, HEAD)
    return nn.Sequential(*first, nn.BatchNorm1d(HEAD), nn.LeakyReLU(), nn.Linear(HEAD, 2))


def optimizer(modules: list[nn.Module], rate: float) -> torch.optim.AdamW:
    """AdamW as in the papers; the encoder's pooler is left out."""
    decayed: list[nn.Parameter] = []
    plain: list[nn.Parameter] = []
    for name, parameter in (pair for module in modules for pair in module.named_parameters()):
        if not name.startswith("pooler."):
            undecayed = name.endswith("bias") or "LayerNorm.weight" in name
            (plain if undecayed else decayed).append(parameter)
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), eps=1e-6, fused=True)


def batches(lengths: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Batches of 64 in random order; captions of similar length together within a pool.

    A last batch of one is joined to the one before: BatchNorm cannot do with one caption.
    """
    order = rng.permutation(len(lengths))
    found = []
    for part in np.split(order, range(BATCH * POOL, len(order), BATCH * POOL)):
        part = part[np.argsort(lengths[part], kind="stable")]
        found += np.split(part, range(BATCH, len(part), BATCH))
    if len(found) > 1 and len(found[-1]) == 1:
        last = found.pop()
        found[-1] = np.concatenate([found[-1], last])
    return [found[i] for i in rng.permutation(len(found))]


class _Bert:
    """What the two have in common."""

    version = 1
    text_form = TextForm(mask_token="[MASK]", unknown="[UNK]")
    batchings = ("bucketed",)
    default_encoder = MINILM
    check_encoder = staticmethod(check_encoder)
    head: nn.Sequential

    def __init__(self, recipe: str, batching: str = "bucketed", encoder: str = ""):
        rate, _, epochs = recipe.removesuffix("-dropout").partition("x")
        self.rate, self.epochs, self.dropout = float(rate), int(epochs), recipe.endswith("-dropout")
        self.encoder_name, self.device = encoder or MINILM, best_device()

    def _train(self, modules: list[nn.Module], classes, lengths, seed: int, states_of) -> None:
        """The training loop; `states_of(epoch)` gives a function from a batch to its [CLS] states."""
        steps, rng = optimizer(modules, self.rate), np.random.default_rng(seed)
        loss, targets = nn.CrossEntropyLoss(), torch.tensor(list(classes), device=self.device)
        for module in modules:
            module.train()
        for epoch in range(self.epochs):
            states = states_of(epoch)
            for batch in batches(lengths, rng):
                steps.zero_grad(set_to_none=True)
                loss(self.head(states(batch)), targets[batch]).backward()
                steps.step()

    def _log_odds(self, states: torch.Tensor) -> np.ndarray:
        self.head.eval()
        with torch.inference_mode():
            both = self.head(states.to(self.device)).double().cpu().numpy()
        return both[:, 1] - both[:, 0]


class FineTuned(_Bert):
    """BERT-ft: encoder and head are trained; its steps in bfloat16 where that is faster."""

    version = 2
    recipes = (RECIPES["bert-ft"], "1e-4x3")  # the papers', and ours for small sets

    def fit(self, captions, classes, seed: int):
        deterministic(seed)
        self.encoder = load_encoder(self.encoder_name)
        self.head = head(self.encoder.config.hidden_size).to(self.device)
        rows = word_pieces(self.encoder_name, captions)
        lengths = np.array([len(row) for row in rows])

        def states(batch):
            return cls_states(self.encoder, *padded([rows[i] for i in batch]), training=True)

        self._train([self.encoder, self.head], classes, lengths, seed, lambda epoch: states)
        return self

    def logits(self, captions) -> np.ndarray:
        self.encoder.eval()
        return self._log_odds(features(self.encoder, word_pieces(self.encoder_name, captions)))


class Pretrained(_Bert):
    """BERT-pre: the encoder is frozen, only the head is trained."""

    recipes = (RECIPES["bert-pre"], "1e-5x5", "5e-5x20-dropout", "1e-5x5-dropout")

    def fit(self, captions, classes, seed: int):
        """Train the head; the encoder's dropout is on only for `-dropout` recipes."""
        deterministic(seed)
        rows = word_pieces(self.encoder_name, captions)
        encoder = load_encoder(self.encoder_name).train() if self.dropout else None
        frozen = frozen_features(self.encoder_name, rows).to(self.device)
        deterministic(seed)  # loading may have drawn numbers
        self.head = head(frozen.shape[1]).to(self.device)

        def states_of(epoch):  # with dropout, all captions pass the encoder once an epoch
            states = features(encoder, rows).to(self.device) if encoder else frozen
            return states.__getitem__

        self._train([self.head], classes, np.zeros(len(rows)), seed, states_of)
        return self

    def logits(self, captions) -> np.ndarray:
        rows = word_pieces(self.encoder_name, captions)
        return self._log_odds(frozen_features(self.encoder_name, rows))
