"""Would the verdict stand? LIC again with wrong labels, with captions of equal length, without objects."""

import hashlib
import json
from collections.abc import Sequence
from functools import partial

import pandas as pd

from relic.auditing.inputs import Audited
from relic.chapters.learning import changed, cut, masked, telling_objects
from relic.chapters.objects import object_names
from relic.judge.stats import estimate, shared
from relic.measure.runs import Store
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
        changes = {AS_IS: "true", **NOISE, "cut to the same length": cut}
        changes["all objects hidden"] = partial(masked, names=object_names())
        for name in telling_objects(corpus, OBJECTS):
            changes[f"{name} hidden"] = partial(masked, names={name})
        how = {"seeds": seeds, "column": "change", "changes": changes, "skip_same": True}
        how |= {"vocabulary": audited.vocabulary, "indices": range(human)}
        tables = [changed(corpus, [n], **how).assign(captioner=n) for n in corpus.captioners]
        table = pd.concat(tables, ignore_index=True)[["captioner", "change", "seed", *MEANS, "lic"]]
        write_whole(file, table.to_json(orient="table", index=False, double_precision=12))
    splits = pd.read_json(file, orient="table").assign(human=human)
    before = splits.groupby(["captioner", "seed"])["lic"].transform("first")
    splits["moved"] = (splits["lic"] - before).where(splits["change"] != AS_IS)
    groups = splits.groupby(["captioner", "human", "change"], sort=False)
    rows, rho = groups[MEANS].mean(), shared(audited.ratio)
    for value, ends in (("lic", ["low", "high"]), ("moved", ["moved_low", "moved_high"])):
        rows[[value, *ends]] = [estimate(each, rho).interval() for _, each in groups[value]]
    return rows.assign(n_seeds=groups.size()).reset_index()
