"""What fewer human captions an image do to LIC_D: images that have five, thinned to the depth of others.

Part of the human captions comes from a file with one to five captions an image. Here the images
of the complete files keep as many as an image of that file has, drawn at random, and LIC_D is
measured again: the same images, the same splits, the same classifier.
"""

from collections.abc import Sequence
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


def thinning(corpus: Corpus, seeds: Sequence[int] = PAPER_SEEDS) -> pd.DataFrame:
    """LIC_D (linear) by captioner with all five captions, and thinned; their difference with its interval."""
    full, depths = complete_only(corpus)
    thin = thinned(full, depths)
    human = [runs(each, seeds=seeds, sides=["human"]).frame for each in (full, thin)]
    five, fewer = (each.pivot_table("score", "seed", "captioner") for each in human)
    table = pd.DataFrame({"classifier": "linear", "five": five.mean(), "thinned": fewer.mean()})
    apart, rho = fewer - five, shared(corpus.attribute.ratio)
    ends = [estimate(apart[name], rho).interval() for name in table.index]
    table[["difference", "low", "high"]] = ends
    table = table.assign(seeds=len(seeds), images=len(full.covered))
    table["captions an image"] = float(thin.depth.mean())
    return table.loc[full.captioners].reset_index()
