"""What fewer human captions an image do to LIC_D: images that have five, thinned to the depth of others.

Part of the human captions comes from a file with one to five captions an image. Here the images
of the complete files keep as many as an image of that file has, drawn at random, and LIC_D is
measured again: the same images, the same splits, the same classifier.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
from tqdm import tqdm

from relic.data.corpus import HUMAN_CAPTIONS, Corpus
from relic.runs import compute, describe
from relic.splits import PAPER_SEEDS
from relic.stats import estimate


def complete_only(corpus: Corpus) -> tuple[Corpus, pd.Series]:
    """The corpus on images of complete sources, and the depths of all others."""
    by_source = corpus.human.groupby("source")["image_id"].agg(lambda ids: ids.value_counts().min())
    complete = by_source.index[by_source == HUMAN_CAPTIONS]
    kept = corpus.human["source"].isin(complete)
    others = corpus.depth.drop(corpus.human.loc[kept, "image_id"].unique(), errors="ignore")
    return replace(corpus, human=corpus.human[kept].reset_index(drop=True)), others


def thinned(corpus: Corpus, depths: pd.Series, seed: int = 0) -> Corpus:
    """Each image keeps its first captions, as many as a depth drawn from `depths`."""
    drawn = np.random.default_rng(seed).choice(depths.to_numpy(), size=len(corpus.covered))
    depth = pd.Series(drawn, index=corpus.covered)
    kept = corpus.human["caption_index"] < corpus.human["image_id"].map(depth)
    return replace(corpus, human=corpus.human[kept].reset_index(drop=True))


def thinning(
    corpus: Corpus, classifier: str = "linear", seeds: tuple[int, ...] = PAPER_SEEDS
) -> pd.DataFrame:
    """LIC_D by captioner with all five captions, and thinned; their difference with its interval."""
    full, depths = complete_only(corpus)
    thin, rows = thinned(full, depths), []
    for captioner in tqdm(full.captioners, desc=f"{corpus.attribute.name}, LIC_D", leave=False):
        five, fewer = (_lic_data(each, captioner, classifier, seeds) for each in (full, thin))
        difference = estimate(fewer - five).interval()
        rows.append(
            {
                "attribute": corpus.attribute.name,
                "captioner": captioner,
                "classifier": classifier,
                "five": five.mean(),
                "thinned": fewer.mean(),
                "difference": difference.mean,
                "low": difference.low,
                "high": difference.high,
                "seeds": len(seeds),
                "images": len(full.covered),
                "captions an image": float(thin.depth.mean()),
            }
        )
    return pd.DataFrame(rows)


def _lic_data(corpus: Corpus, captioner: str, classifier: str, seeds) -> np.ndarray:
    """LIC_D by seed: the mean over the five caption numbers."""
    runs = [
        [
            describe(corpus, captioner, classifier, side="human", caption_index=k, seed=seed)
            for k in range(HUMAN_CAPTIONS)
        ]
        for seed in seeds
    ]
    return np.array(
        [np.mean([compute(corpus, run).scores["score"] for run in each]) for each in runs]
    )
