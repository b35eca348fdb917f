"""How much of LIC is learning? Other texts, labels or training sets: length, objects, size.

The linear classifier on paired splits, on texts that were read once (`texts`) and then changed: by side, a
list of captions by image id. Scores of several captions of a side are averaged. Learning curves (`curve`)
have LIC_M, LIC_D and LIC, or another score (`of`, as in `lic_table`), by training images.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from functools import cache, partial
from itertools import chain, product

import numpy as np
import pandas as pd
from scipy.special import entr, expit

from relic.chapters.layout import in_cells
from relic.chapters.objects import object_names, object_table, without_objects
from relic.data.corpus import HUMAN_CAPTIONS, Corpus
from relic.judge.lic import lic_table, mean_over_captioners
from relic.measure.classifiers.base import TextForm
from relic.measure.classifiers.linear import Linear
from relic.measure.inputs import Reading, learned_classes, read_captions, usable_labels
from relic.measure.score import auc, lic_score, log_loss
from relic.measure.splits import PAPER_SEEDS, split

LINEAR = {"classifier": "linear", "recipe": "C=0.1", "split": "paired"}
LINEAR |= {"encoder": "", "batching": ""}  # it has none
TELLING = 10  # objects masked alone
NOTHING, OBJECTS = "nothing", "all objects"
AS_WRITTEN, SAME = "as written", "same length"
Texts = dict[str, list[pd.Series]]  # of the sides `model` and `human`
EVERY, OLDER = "all", "older"  # images; `older`: those of the complete sources, five captions each
SHARES = (0.125, 0.25, 0.5, 1)  # of the largest training set, where no sizes are given
SHOWN = {"generated": "lic_model", "human": "lic_data", "difference": "lic"}


def texts(
    corpus: Corpus,
    captioner: str,
    vocabulary: str = "captioner",
    indices: Iterable[int] = range(HUMAN_CAPTIONS),
) -> Texts:
    """A captioner's captions, and the human ones of these numbers aligned to its vocabulary."""
    human = [Reading("human", captioner, "standard", k, vocabulary) for k in indices]
    sides = {"model": [Reading("model", captioner)], "human": human}
    return {name: [read_captions(corpus, r, TextForm()) for r in s] for name, s in sides.items()}


def measure(
    corpus: Corpus,
    captioner: str,
    read: Texts,
    seeds: Iterable[int] = PAPER_SEEDS,
    *,
    sizes: Iterable[float] = (1,),
    labels: str = "true",
    together: bool = False,
) -> pd.DataFrame:
    """A row a split, training size and side, for `lic_table`.

    `sizes`: training images, up to 1 a share of all. The test side of a split stays; of its training side
    the first images of each class are used, so that larger sets hold the smaller ones. `labels`: as in
    `learned_classes`. `together`: one classifier learns all captions of a side, not one each.
    """
    true, rows = usable_labels(corpus, Reading("model", captioner), "paired", 0, 0), []
    names = {"corpus": corpus.name, "attribute": corpus.attribute.name, "captioner": captioner}
    for seed, size in product(seeds, sizes):
        classes = learned_classes(true, labels, seed)
        train, test = (classes.loc[side] for side in split(classes, "paired", seed))
        half = size // 2 if size > 1 else round(len(train) * size / 2)
        train = train[train.groupby(train).cumcount() < half]
        counts = {"seed": seed, "n_train": len(train), "n_test": len(test)}
        for side, captions in read.items():
            learners = [captions] if together else [[series] for series in captions]
            means = pd.DataFrame([_scores(sets, train, test) for sets in learners]).mean()
            rows.append(names | counts | {"side": side, **means})
    return pd.DataFrame(rows).assign(caption_index=0, **LINEAR)


def _scores(captions: list[pd.Series], train: pd.Series, test: pd.Series) -> pd.Series:
    """LIC of a set, AUC (percent) and log-loss of a classifier that learned all these captions.

    `train`, `test`: classes by image id. Each of a test image's captions is scored.
    """
    learned, rows = pd.concat([series.loc[train.index] for series in captions]), []
    model = Linear().fit(learned, np.tile(train, len(captions)), seed=0)
    for series in captions:
        p, y = expit(model.logits(series.loc[test.index])), test.to_numpy()
        rows.append({"score": lic_score(p, y), "auc": auc(p, y), "log_loss": log_loss(p, y)})
    return pd.DataFrame(rows).mean()


def lic_of(
    corpus: Corpus, captioner: str, read: Texts, seeds: Iterable[int], labels: str = "true"
) -> pd.DataFrame:
    """The lic table of these texts, with `words_model`, `words_data`: mean tokens of what is read."""
    table = lic_table(measure(corpus, captioner, read, seeds, labels=labels)).drop(columns="human")
    for side, column in (("model", "words_model"), ("human", "words_data")):
        table[column] = np.mean([series.str.count(" ").mean() + 1 for series in read[side]])
    return table


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
    masks = {OBJECTS: object_names()} | {name: (name,) for name in each}
    changes = {name: partial(masked, names=names) for name, names in masks.items()}
    return changed(corpus, captioners, seeds, "masked", {NOTHING: "true"} | changes)


def length_matched(
    corpus: Corpus, captioners: Iterable[str] | None = None, seeds: Iterable[int] = PAPER_SEEDS
) -> pd.DataFrame:
    """LIC (linear) of captions as written, and cut: of an image's two, both end where the shorter does.

    Each human caption meets the generated one cut to its length, so both sides are means over as many
    runs. The column `length` says which.
    """
    return changed(corpus, captioners, seeds, "length", {AS_WRITTEN: "true", SAME: cut})


def changed(
    corpus: Corpus, captioners, seeds, column: str, changes: dict, skip_same=False, **reading
) -> pd.DataFrame:
    """Lic tables by what was changed, which `column` names; `reading` as in `texts`.

    A change is a function of the texts, or labels as in `learned_classes`. `skip_same`: one that leaves
    all captions alone has no table.
    """
    parts = []
    for captioner in captioners or corpus.captioners:
        read = texts(corpus, captioner, **reading)
        for name, change in changes.items():
            new, labels = (read, change) if isinstance(change, str) else (change(read), "true")
            pairs = zip(chain(*read.values()), chain(*new.values()), strict=False)
            if skip_same and new is not read and all(a.equals(b) for a, b in pairs):
                continue
            table = lic_of(corpus, captioner, new, seeds, labels)
            parts.append(table.assign(**{column: name}))
    return pd.concat(parts, ignore_index=True)


def telling_objects(corpus: Corpus, n: int = TELLING) -> list[str]:
    """The objects whose naming by people tells most bits about the class, were classes even.

    An object counts where any human caption of the image names it.
    """
    images = corpus.human[corpus.human["image_id"].isin(corpus.labels.index)]
    named = pd.DataFrame(object_table(images["caption"]), columns=object_names())
    named = named.groupby(images["image_id"].to_numpy()).max().astype(float)
    by_class = named.groupby(corpus.labels.loc[named.index].to_numpy()).mean()
    even, apart = (entr(share) + entr(1 - share) for share in (by_class.mean(), by_class))
    return list((even - apart.mean()).nlargest(n).index)


def masked(read: Texts, names: Collection[str]) -> Texts:
    """Without the words of these objects."""
    hidden = cache(partial(without_objects, names=frozenset(names)))
    return {side: [_each(hidden, one) for one in captions] for side, captions in read.items()}


def cut(read: Texts) -> Texts:
    """Each human caption beside the generated one, both as long as the shorter."""
    pairs = [read["model"][0].align(theirs, join="inner") for theirs in read["human"]]
    model = [_each(shortened, ours, theirs) for ours, theirs in pairs]
    return {"model": model, "human": [_each(shortened, theirs, ours) for ours, theirs in pairs]}


def _each(change: Callable[..., str], captions: pd.Series, *others: pd.Series) -> pd.Series:
    """As plain Python strings: Arrow's are converted one by one at every fit."""
    return pd.Series(list(map(change, captions, *others)), captions.index, dtype=object)


def shortened(caption: str, other: str) -> str:
    """A caption that ends where the other does, if that is shorter.

    >>> shortened("a dog on a beach", "two dogs"), shortened("a dog", "two dogs on a beach")
    ('a dog', 'a dog')
    """
    return " ".join(caption.split()[: len(other.split())])


def complete_only(corpus: Corpus) -> tuple[Corpus, pd.Series]:
    """The corpus on images of complete sources, and the depths of all others."""
    by_source = corpus.human.groupby("source")["image_id"].agg(lambda ids: ids.value_counts().min())
    complete = by_source.index[by_source == HUMAN_CAPTIONS]
    human = corpus.human[corpus.human["source"].isin(complete)].reset_index(drop=True)
    others = corpus.depth.drop(human["image_id"].unique(), errors="ignore")
    return replace(corpus, human=human, reload=None), others


def curve(
    corpus: Corpus,
    captioners: Iterable[str] | None = None,
    seeds: Iterable[int] = PAPER_SEEDS,
    sizes: Iterable[float] = SHARES,
) -> pd.DataFrame:
    """A row a captioner, split, training size and side; `captions`: human ones an image in training, 1 or 5."""
    parts = []
    for captioner in captioners or corpus.captioners:
        read = texts(corpus, captioner)
        parts.append(measure(corpus, captioner, read, seeds, sizes=sizes).assign(captions=1))
        parts.append(measure(corpus, captioner, read, seeds, together=True).assign(captions=5))
    return pd.concat(parts, ignore_index=True).assign(images=EVERY)


def by_size(curves: pd.DataFrame, of: str = "score") -> pd.DataFrame:
    """Lic tables of every training size (`n_train`) and number of human captions (`captions`)."""
    by = ["images", "captions", "n_train"]
    groups = curves.assign(**LINEAR).groupby(by, sort=True)  # a CSV has nothing for ""
    tables = {values: lic_table(part, of=of) for values, part in groups}
    return pd.concat(tables, names=by).reset_index(by).reset_index(drop=True).drop(columns="human")


def mean_curve(lic: pd.DataFrame) -> pd.DataFrame:
    """Means over captioners by training size, with intervals over splits."""
    rows = []
    for (attribute, size), part in lic.groupby(["attribute", "n_train"]):
        means = {name: mean_over_captioners(part, column) for name, column in SHOWN.items()}
        rows.append({"attribute": attribute, "training images": size} | in_cells(means))
    return pd.DataFrame(rows)
