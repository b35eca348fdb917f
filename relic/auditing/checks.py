"""Would the verdict stand? LIC again with wrong labels, with captions of equal length, without objects."""

import hashlib
import json
import os
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
from relic.judge.stats import estimate
from relic.measure.store import Store
from relic.records.serve import Runs

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
    corpus, few = audited.corpus, 1 if len(audited.images) > LARGE else audited.captions_an_image
    words = sorted(corpus.attribute.masked_words)
    about = [VERSION, corpus.fingerprint, words, few, audited.vocabulary, *map(int, seeds)]
    key = hashlib.sha256(json.dumps(about).encode()).hexdigest()[:32]
    file = store.directory / "checks" / f"{key}.json"
    if file.exists():
        splits = pd.read_json(file, orient="table")
    else:
        each = [_by_split(audited, name, seeds, range(few)) for name in corpus.captioners]
        splits = pd.concat(each, ignore_index=True)
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(f".{os.getpid()}.part")
        splits.to_json(part, orient="table", index=False, double_precision=12)
        part.replace(file)
    rows = []
    for name, own in splits.groupby("captioner", sort=False):
        by_change = {c: t.set_index("seed") for c, t in own.groupby("change", sort=False)}
        about = {"captioner": name, "human": few}
        as_is = by_change[AS_IS]["lic"]
        rows += [about | {"change": c} | _row(t, as_is) for c, t in by_change.items()]
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


def _row(table: pd.DataFrame, as_is: pd.Series) -> dict:
    lic, low, high = estimate(table["lic"]).interval()
    moved, moved_low, moved_high = estimate(table["lic"] - as_is).interval()
    row = table[MEANS].mean().to_dict() | {"lic": lic, "low": low, "high": high}
    row |= {"moved": moved, "moved_low": moved_low, "moved_high": moved_high}
    return row | {"n_seeds": len(table)}
