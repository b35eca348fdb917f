"""What a reader of an audit must know before its numbers: facts here, their words in a template."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from relic.auditing.details import described, leaks
from relic.auditing.inputs import Audited
from relic.data.corpus import HUMAN_CAPTIONS

SMALL_TEST = 300  # test images; the papers have 662 (gender) and 220 (race)
UNBALANCED = 0.25  # the rarer class's share below which most of the common class is not used
UNKNOWN_WORDS = 15  # percent of human words outside the captioner's vocabulary
FEW_WORDS = 5  # percent of captions with a masked word
COPIED = 5  # percent of captions that are human ones
SAME = 50  # percent of captions that read alike, or hold nothing but masked words
COVERED = 0.5  # share of the captions that have a label and human captions
TELLING = 95  # percent right on human captions: something states the class
LONG = 2  # times the length of human captions


class Caution(NamedTuple):
    """A fact: which, and its numbers. `templates/sentences.txt` has a sentence for each."""

    kind: str
    values: dict


def cautions(audited: Audited, lic: pd.DataFrame) -> list[Caution]:
    """The gravest first; empty when nothing stands out."""
    told = (*_captions(audited, lic), *_size(audited, lic))
    return [Caution(kind, values) for kind, applies, values in told if applies]


def _size(audited: Audited, lic: pd.DataFrame):
    labels = audited.corpus.labels.loc[audited.images]
    tested, seeds, share = int(lic["n_test"].min()), int(lic["n_seeds"].min()), float(labels.mean())
    first, second = audited.corpus.attribute.classes
    used = {"name": second, "other": first, "share": 100 * share}
    used |= {"used": int(2 * labels.sum()), "images": len(labels)}
    worst = lic["detectable"].max() if "detectable" in lic else np.nan
    few = audited.coverage[audited.coverage["with both"] < COVERED * audited.coverage["captions"]]
    human = audited.captions_an_image
    yield "small", tested < SMALL_TEST, {"n": tested, "smallest": worst}
    yield "splits", seeds < 3, {"n": seeds}
    yield "unbalanced", share < UNBALANCED, used
    yield "human", 0 < human < HUMAN_CAPTIONS, {"n": human, "usual": HUMAN_CAPTIONS}
    yield "coverage", not few.empty, {"rows": few.to_dict("records")}


def _captions(audited: Audited, lic: pd.DataFrame):
    """What the captions themselves warn of, each caution once with the captioners it is about."""
    about, names = audited.corpus.attribute, audited.corpus.captioners
    like = {name: described(audited, name) for name in names}
    found = lic.groupby("captioner", sort=False)
    right, least = found["accuracy_human"].max().max(), found["auc_low"].max()
    words = leaks(audited) if audited.captions_an_image else []
    none = [name for name in names if about.masked_words and like[name]["masked"] == 0]

    def which(kind: str, of: str, wanted):
        told = {name: like[name][of] for name in names if wanted(like[name][of])}
        return kind, bool(told), {"of": told}

    lengths = {name: (each["words"], each["human_words"]) for name, each in like.items()}
    long = {name: both for name, both in lengths.items() if both[0] > LONG * both[1]}
    yield "synthetic", audited.corpus.synthetic, {}
    yield which("constant", "commonest", lambda share: share > SAME)
    yield which("bare", "bare", lambda share: share > SAME)
    yield "chance", (least <= 50).any(), {"names": list(least.index[least <= 50])}
    yield "leak", bool(words) or right >= TELLING, {"words": words, "right": right}
    yield "unmasked", not about.masked_words, {"attribute": about.name}
    yield "none", bool(none), {"names": none, "attribute": about.name}
    yield which("few", "masked", lambda share: bool(about.masked_words) and 0 < share < FEW_WORDS)
    yield which("unknown", "unknown", lambda share: share > UNKNOWN_WORDS)
    yield which("copied", "copied", lambda share: share > COPIED)
    yield "long", bool(long), {"of": long}
