"""Does a verdict hang on the length of captions, or on a few objects? LIC with other texts.

Both give a lic table (`relic.judge.lic`) with one more column, for the captioners of any corpus with
human captions.
"""

from collections.abc import Collection, Iterable
from functools import cache, partial

import numpy as np
import pandas as pd

from relic.chapters.learning.fits import Texts, measure, texts
from relic.chapters.objects import object_names, object_table, without_objects
from relic.data.corpus import Corpus
from relic.judge.lic import lic_table
from relic.measure.splits import PAPER_SEEDS

TELLING = 10  # objects masked alone
NOTHING, OBJECTS = "nothing", "all objects"
AS_WRITTEN, SAME = "as written", "same length"


def telling_objects(corpus: Corpus, n: int = TELLING) -> list[str]:
    """The objects whose naming by people tells most bits about the class, were classes even.

    An object counts where any human caption of the image names it.
    """
    images = corpus.human[corpus.human["image_id"].isin(corpus.labels.index)]
    named = pd.DataFrame(object_table(images["caption"]), columns=object_names())
    named = named.groupby(images["image_id"].to_numpy()).max().astype(float)
    by_class = named.groupby(corpus.labels.loc[named.index].to_numpy()).mean()
    bits = _entropy(by_class.mean()) - by_class.apply(_entropy, axis=1).mean()
    return list(bits.sort_values(ascending=False).index[:n])


def _entropy(share: pd.Series) -> pd.Series:
    p = share.clip(1e-12, 1 - 1e-12)
    return -(p * np.log2(p) + (1 - p) * np.log2(1 - p))


def objects_masked(
    corpus: Corpus,
    captioners: Iterable[str] | None = None,
    seeds: Iterable[int] = PAPER_SEEDS,
    objects: Iterable[str] | None = None,
) -> pd.DataFrame:
    """LIC (linear) with no object masked, with all of COCO's, and with each of `objects` alone.

    `objects`: the most telling ones by default. The column `masked` says which.
    """
    each = telling_objects(corpus) if objects is None else objects
    masks = {NOTHING: (), OBJECTS: object_names()} | {name: (name,) for name in each}
    changes = {name: partial(masked, names=names) for name, names in masks.items()}
    return _changed(corpus, captioners, seeds, "masked", changes)


def length_matched(
    corpus: Corpus, captioners: Iterable[str] | None = None, seeds: Iterable[int] = PAPER_SEEDS
) -> pd.DataFrame:
    """LIC (linear) of captions as written, and cut: of an image's two, both end where the shorter does.

    Each human caption meets the generated one cut to its length, so both sides are means over as many
    runs. Columns `length`, and `words_model`, `words_data`: mean tokens of what is read.
    """
    return _changed(corpus, captioners, seeds, "length", {AS_WRITTEN: lambda read: read, SAME: cut})


def _changed(corpus, captioners, seeds, column: str, changes: dict) -> pd.DataFrame:
    """Lic tables by what was done to the texts, which `column` names."""
    parts = []
    for captioner in captioners or corpus.captioners:
        read = texts(corpus, captioner)
        for name, change in changes.items():
            new = change(read)
            words = [np.mean([each.str.count(" ").mean() + 1 for each in side]) for side in new]
            table = lic_table(measure(corpus, captioner, new, seeds)).drop(columns="human")
            table = table.assign(words_model=words[0], words_data=words[1])
            parts.append(table.assign(**{column: name}))
    return pd.concat(parts, ignore_index=True)


def masked(read: Texts, names: Collection[str]) -> Texts:
    """Without the words of these objects."""
    hidden = cache(partial(without_objects, names=frozenset(names)))
    return Texts(*([each.map(hidden) for each in side] for side in read))


def cut(read: Texts) -> Texts:
    """Each human caption beside the generated one, both as long as the shorter."""
    model, human = [], []
    for theirs in read.human:
        both = pd.concat([read.model[0], theirs], axis=1, join="inner")
        words = [(ours.split(), other.split()) for ours, other in both.itertuples(index=False)]
        ends = [min(map(len, pair)) for pair in words]
        for number, side in enumerate((model, human)):
            short = [" ".join(pair[number][:end]) for pair, end in zip(words, ends, strict=True)]
            side.append(pd.Series(short, index=both.index, dtype=object))
    return Texts(model, human)
