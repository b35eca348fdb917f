"""What an audit computes, as a plain script would: read, vectorise each set of captions once, fit, score.

python plain_audit.py captions.json labels.csv human.csv SEEDS
"""

import json
import sys

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression


def fitted(matrix, y, seed: int) -> float:
    """LIC of one balanced split, a tenth of it tested."""
    rng = np.random.default_rng(seed)
    least = min(np.bincount(y))
    rows = [rng.permutation(np.flatnonzero(y == value))[:least] for value in (0, 1)]
    cut = round(0.1 * least)
    test, train = (np.concatenate([r[part] for r in rows]) for part in (slice(cut), slice(cut, None)))  # fmt: skip
    model = LogisticRegression(C=0.1, max_iter=1000).fit(matrix[train], y[train])
    p = model.predict_proba(matrix[test])[:, 1]
    right = (p > 0.5) == (y[test] == 1)
    return 100 * float(np.where(right, np.maximum(p, 1 - p), 0).mean())


def main(captions: str, labels: str, human: str, seeds: int) -> None:
    """Print LIC with true and with permuted labels."""
    with open(captions) as stream:
        own = pd.DataFrame(json.load(stream)).set_index("image_id")["caption"]
    y = (pd.read_csv(labels, index_col="image_id")["label"] == "Female").astype(int)
    y = y.loc[own.index].to_numpy()
    said = pd.read_csv(human)
    numbers = said.groupby("image_id").cumcount()
    sets = [own, *(part.set_index("image_id")["caption"].loc[own.index] for _, part in said.groupby(numbers))]  # fmt: skip
    vectorizer = CountVectorizer(ngram_range=(1, 2), min_df=2, binary=True, token_pattern=r"\S+")
    tables = [vectorizer.fit_transform(texts.str.lower()) for texts in sets]
    scores = [[fitted(table, y, seed) for seed in range(seeds)] for table in tables]
    drawn = [np.random.default_rng(seed).permutation(y) for seed in range(seeds)]
    chance = [fitted(tables[0], drawn[seed], seed) for seed in range(seeds)]
    fits = sum(map(len, scores)) + len(chance)
    print(np.mean(scores[0]) - np.mean(scores[1:]), np.mean(chance), fits)


if __name__ == "__main__":
    main(*sys.argv[1:4], int(sys.argv[4]))
