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
from relic.judge.stats import estimate
from relic.measure.store import Store
from relic.records.serve import Runs

VERSION = 1  # raised when a change moves numbers
AS_IS = "as it is"
NOISE = {f"{share} % of labels flipped": f"noisy:{share / 100}" for share in (5, 10, 20)}
OBJECTS = 5  # hidden alone
LARGE = 3000  # images above which one human caption each is enough


def checks(audited: Audited, seeds: Sequence[int], store: Store) -> pd.DataFrame:
    """A row each captioner and change: both sides, LIC and how far it moved, with intervals.

    Linear classifier, paired splits; kept in the store by what they are computed from.
    """
    corpus, few = audited.corpus, 1 if len(audited.images) > LARGE else audited.captions_an_image
    words = sorted(corpus.attribute.masked_words)
    about = [VERSION, corpus.fingerprint, words, few, audited.vocabulary, *map(int, seeds)]
    key = hashlib.sha256(json.dumps(about).encode()).hexdigest()[:32]
    file = store.directory / "checks" / f"{key}.json"
    if file.exists():
        return pd.read_json(file, orient="table")
    parts = [_checked(audited, name, seeds, range(few)) for name in corpus.captioners]
    found = pd.concat(parts, ignore_index=True).assign(human=few)
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(f".{id(found)}.part")
    found.to_json(part, orient="table", index=False, double_precision=12)
    part.replace(file)
    return found


def _checked(audited: Audited, name: str, seeds: Sequence[int], indices: range) -> pd.DataFrame:
    corpus, read = audited.corpus, texts(audited.corpus, name, audited.vocabulary, indices)
    runs = measure(corpus, name, read, seeds, labels=("true", *NOISE.values()))
    tables = {
        change: _lic(runs[runs["labels"] == how], read)
        for change, how in {AS_IS: "true", **NOISE}.items()
    }
    changes = {
        "cut to the same length": cut,
        "all objects hidden": partial(masked, names=object_names()),
    }
    for each in telling_objects(corpus, OBJECTS):
        changes[f"{each} hidden"] = partial(masked, names={each})
    for change, made in changes.items():
        new = made(read)
        if not all(a.equals(b) for a, b in zip(chain(*read), chain(*new), strict=False)):
            tables[change] = _lic(measure(corpus, name, new, seeds), new)
    return pd.DataFrame(
        {"captioner": name, "change": change} | _row(table, tables[AS_IS])
        for change, table in tables.items()
    )


def _lic(runs: pd.DataFrame, read: Texts) -> pd.DataFrame:
    words = [np.mean([text.str.count(" ").mean() + 1 for text in side]) for side in read]
    table = lic_table(Runs(runs, names={}))
    return table.assign(words_model=words[0], words_data=words[1]).set_index("seed")


def _row(table: pd.DataFrame, as_is: pd.DataFrame) -> dict:
    means = table[["lic_model", "lic_data", "words_model", "words_data"]].mean().to_dict()
    _, low, high = estimate(table["lic"]).interval()
    moved = estimate(table["lic"] - as_is["lic"]).interval()
    row = means | {"lic": table["lic"].mean(), "low": low, "high": high, "n_seeds": len(table)}
    return row | dict(zip(("moved", "moved_low", "moved_high"), moved, strict=True))
