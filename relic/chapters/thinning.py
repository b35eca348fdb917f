"""What fewer human captions an image do to LIC_D: images that have five, thinned to the depth of others.

Part of the human captions comes from a file with one to five captions an image. Here the images
of the complete files keep as many as an image of that file has, drawn at random, and LIC_D is
measured again: the same images, the same splits, the same classifier.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from relic.data.corpus import HUMAN_CAPTIONS, Corpus
from relic.judge.stats import estimate, shared
from relic.measure.splits import PAPER_SEEDS
from relic.records.serve import runs


def complete_only(corpus: Corpus) -> tuple[Corpus, pd.Series]:
    """The corpus on images of complete sources, and the depths of all others."""
    by_source = corpus.human.groupby("source")["image_id"].agg(lambda ids: ids.value_counts().min())
    complete = by_source.index[by_source == HUMAN_CAPTIONS]
    kept = corpus.human["source"].isin(complete)
    others = corpus.depth.drop(corpus.human.loc[kept, "image_id"].unique(), errors="ignore")
    return replace(corpus, human=corpus.human[kept].reset_index(drop=True), reload=None), others


def thinned(corpus: Corpus, depths: pd.Series, seed: int = 0) -> Corpus:
    """Each image keeps its first captions, as many as a depth drawn from `depths`."""
    drawn = np.random.default_rng(seed).choice(depths.to_numpy(), size=len(corpus.covered))
    depth = pd.Series(drawn, index=corpus.covered)
    kept = corpus.human["caption_index"] < corpus.human["image_id"].map(depth)
    return replace(corpus, human=corpus.human[kept].reset_index(drop=True), reload=None)


def thinning(
    corpus: Corpus, classifier: str = "linear", seeds: tuple[int, ...] = PAPER_SEEDS
) -> pd.DataFrame:
    """LIC_D by captioner with all five captions, and thinned; their difference with its interval."""
    full, depths = complete_only(corpus)
    thin, rows = thinned(full, depths), []
    five, fewer = (_lic_data(each, classifier, seeds) for each in (full, thin))
    for captioner in full.captioners:
        rho = shared(corpus.attribute.ratio)
        apart = estimate(fewer[captioner] - five[captioner], rho).interval()
        means = five[captioner].mean(), fewer[captioner].mean()
        rows.append((captioner, classifier, *means, *apart, len(seeds), len(full.covered)))
    columns = "captioner classifier five thinned difference low high seeds images".split()
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(**{"captions an image": float(thin.depth.mean())})


def _lic_data(corpus: Corpus, classifier: str, seeds) -> pd.Series:
    """LIC_D by captioner and seed: the mean over the five caption numbers."""
    human = runs(corpus, classifier=classifier, seeds=seeds, sides=["human"]).frame
    return human.groupby(["captioner", "seed"])["score"].mean()
