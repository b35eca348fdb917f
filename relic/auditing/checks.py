"""Would the verdict stand? LIC again with wrong labels, with captions of equal length, without objects."""

import hashlib
import json
from collections.abc import Sequence
from functools import partial
from itertools import chain

import numpy as np
import pandas as pd

from relic.auditing.inputs import Audited
from relic.chapters.learning.fits import Texts, measure, texts
from relic.chapters.learning.sensitivity import cut, masked, telling_objects
from relic.chapters.objects import object_names
from relic.judge.lic import lic_table
from relic.judge.stats import estimate, shared
from relic.measure.runs import Store
from relic.records.serve import Runs
from relic.whole import write_whole

VERSION = 2  # raised when a change moves numbers
AS_IS = "as it is"
NOISE = {f"{share} % of labels flipped": f"noisy:{share / 100}" for share in (5, 10, 20)}
OBJECTS = 5  # hidden alone
MEANS = ["lic_model", "lic_data", "words_model", "words_data"]
LARGE = 3000  # images above which one human caption each is enough


def checks(audited: Audited, seeds: Sequence[int], store: Store) -> pd.DataFrame:
    """A row each captioner and change: both sides, LIC and how far it moved, with intervals.

    Linear classifier, paired splits. Splits, not intervals, are kept in the store.
    """
    corpus, human = audited.corpus, 1 if len(audited.images) > LARGE else audited.captions_an_image
    words = sorted(corpus.attribute.masked_words)
    key = [VERSION, corpus.fingerprint, words, human, audited.vocabulary, *map(int, seeds)]
    digest = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:32]
    file = store.directory / "checks" / f"{digest}.json"
    if not file.exists():
        each = [_by_split(audited, name, seeds, range(human)) for name in corpus.captioners]
        table = pd.concat(each, ignore_index=True)
        write_whole(file, table.to_json(orient="table", index=False, double_precision=12))
    splits, rows = pd.read_json(file, orient="table").set_index("seed"), []
    for name, own in splits.groupby("captioner", sort=False):
        as_is = own.loc[own["change"] == AS_IS, "lic"]
        for change, table in own.groupby("change", sort=False):
            about = {"captioner": name, "human": human, "change": change}
            before = np.nan if change == AS_IS else as_is
            rows.append(about | _row(table, before, shared(audited.ratio)))
    return pd.DataFrame(rows)


def _by_split(audited: Audited, name: str, seeds: Sequence[int], indices: range) -> pd.DataFrame:
    """A lic table of each change."""
    corpus, read = audited.corpus, texts(audited.corpus, name, audited.vocabulary, indices)
    runs = measure(corpus, name, read, seeds, labels=("true", *NOISE.values()))
    tables = [
        _lic(runs[runs["labels"] == how], read, change)
        for change, how in {AS_IS: "true", **NOISE}.items()
    ]
    changes = {"cut to the same length": cut}
    changes["all objects hidden"] = partial(masked, names=object_names())
    for each in telling_objects(corpus, OBJECTS):
        changes[f"{each} hidden"] = partial(masked, names={each})
    for change, made in changes.items():
        new = made(read)
        if not all(a.equals(b) for a, b in zip(chain(*read), chain(*new), strict=False)):
            tables.append(_lic(measure(corpus, name, new, seeds), new, change))
    return pd.concat(tables)


def _lic(runs: pd.DataFrame, read: Texts, change: str) -> pd.DataFrame:
    words = [np.mean([text.str.count(" ").mean() + 1 for text in side]) for side in read]
    table = lic_table(Runs(runs, names={})).assign(words_model=words[0], words_data=words[1])
    return table.assign(change=change)[["captioner", "change", "seed", *MEANS, "lic"]]


def _row(table: pd.DataFrame, before: pd.Series | float, rho: float) -> dict:
    lic, low, high = estimate(table["lic"], rho).interval()
    moved, moved_low, moved_high = estimate(table["lic"] - before, rho).interval()
    row = table[MEANS].mean().to_dict() | {"lic": lic, "low": low, "high": high}
    row |= {"moved": moved, "moved_low": moved_low, "moved_high": moved_high}
    return row | {"n_seeds": len(table)}
