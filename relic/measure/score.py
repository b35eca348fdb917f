"""LIC and what belongs beside it, from per-image outcomes.

An outcome is the classifier's probability `p` of class 1 for a test caption, and the true class `y`.
"""

import numpy as np
import pandas as pd
from scipy.optimize import minimize_scalar


def caption_scores(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """s_a(y) · 1[f(y) = a] for each caption (Hirota et al. 2022, equation 2).

    Class 1 is predicted above one half, as upstream rounds.

    >>> caption_scores(np.array([0.9, 0.9, 0.2]), np.array([1, 0, 0])).tolist()
    [0.9, 0.0, 0.8]
    """
    p, y = np.asarray(p, dtype=float), np.asarray(y)
    confidence = np.where(y == 1, p, 1 - p)
    return np.where((p > 0.5) == (y == 1), confidence, 0.0)


def lic_score(p: np.ndarray, y: np.ndarray) -> float:
    """LIC of a set of captions, in percent; NaN for an empty set.

    >>> round(lic_score(np.array([0.9, 0.9, 0.2]), np.array([1, 0, 0])), 2)
    56.67
    """
    return float(100 * caption_scores(p, y).mean()) if len(p) else float("nan")


def summary(p, y, seen_raw, seen_masked) -> dict[str, float]:
    """All scores of a run, in percent but for log-loss and counts."""
    p, y = np.asarray(p, dtype=float), np.asarray(y)
    raw, masked = ~np.asarray(seen_raw, dtype=bool), ~np.asarray(seen_masked, dtype=bool)
    return {
        "score": lic_score(p, y),
        "accuracy": float(100 * ((p > 0.5) == (y == 1)).mean()),
        "auc": auc(p, y),
        "log_loss": log_loss(p, y),
        "score_class0": lic_score(p[y == 0], y[y == 0]),
        "score_class1": lic_score(p[y == 1], y[y == 1]),
        "unseen_raw_score": lic_score(p[raw], y[raw]),
        "n_unseen_raw": int(raw.sum()),
        "unseen_score": lic_score(p[masked], y[masked]),
        "n_unseen": int(masked.sum()),
    }


def auc(p: np.ndarray, y: np.ndarray) -> float:
    """Area under the ROC curve, in percent: how often a caption of class 1 gets the higher p.

    >>> auc(np.array([0.9, 0.2, 0.2, 0.1]), np.array([1, 1, 0, 0]))
    87.5
    """
    ones = int(y.sum())
    ranks = pd.Series(p).rank().to_numpy()[y == 1].sum() - ones * (ones + 1) / 2
    return float(100 * ranks / (ones * (len(y) - ones)))


def log_loss(p: np.ndarray, y: np.ndarray) -> float:
    """Mean cross-entropy, in nats."""
    sure = np.clip(np.where(y == 1, p, 1 - p), 1e-12, 1 - 1e-12)
    return float(-np.log(sure).mean())


def fit_temperature(logits: np.ndarray, y: np.ndarray) -> float:
    """The temperature that makes held-out captions likeliest (Guo et al. 2017).

    >>> bool(fit_temperature(np.array([9.0, -9, 9, -9]), np.array([1, 0, 0, 0])) > 2)
    True
    """
    signed = np.where(np.asarray(y) == 1, logits, -np.asarray(logits, dtype=float))

    def loss(log_temperature: float) -> float:
        return float(np.logaddexp(0, -signed / np.exp(log_temperature)).mean())

    return float(np.exp(minimize_scalar(loss, bounds=(-3, 5), method="bounded").x))
