"""Scores and words of attributed runs, recorded or computed now, and what follows from them."""

from itertools import product

import numpy as np
import pandas as pd

from relic.chapters.attribution.gradients import STEPS
from relic.chapters.attribution.runs import attributed, read_recorded, scores, words
from relic.data.captioners import display_names
from relic.data.corpus import Corpus
from relic.data.planted.process import channel
from relic.errors import RelicError
from relic.judge.stats import Estimate, estimate, holm
from relic.measure.runs import Run, complete, describe
from relic.records.runs import OWN, RECORDED, UNCHANGED
from relic.records.serve import GET, AnyCorpus

PAIR = {True: ["planted_none", "planted_lot"], False: ["nic_plus", "nic_equalizer"]}
BRIEF = {"lstm": "1e-3x4", "bert-ft": "1e-4x3"}  # recipes that learn a small set in seconds
SMALL = 1000  # images of the embedded corpus that a classifier is trained and attributed on
CHECKED = 1  # captions of a run computed now that are also attributed with 500 steps


def brief(corpus: Corpus, classifier: str, images: int) -> dict:
    """Fields of a run that trains in seconds: so many images, or as many as balanced classes have."""
    most = 2 * min(corpus.label_counts(corpus.covered).values())
    return {"size": min(images, most), "recipe": BRIEF[classifier]}


def attributions(
    corpus: AnyCorpus, captioners: list[str], classifier: str, seeds: list[int]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Scores (a row a run and output, with `source`) and words (a row a word of it), as recorded.

    Real captions: the papers' splits of all images; what is not recorded is computed now, in minutes.
    The embedded corpus: a small set of images and a brief recipe.
    """
    if len(captioners) < 2:
        raise RelicError(f"captioners {captioners}", expected="two or more, to be compared")
    known, known_words = (
        frame[frame["steps"] == STEPS[classifier]] if len(frame) else frame
        for frame in (read_recorded("scores"), read_recorded("words"))
    )
    wanted = [_run(corpus, classifier, *each) for each in product(captioners, seeds)]
    keys = [_recorded_key(run, known) for run in wanted]
    missing = [run for run, key in zip(wanted, keys, strict=True) if not key]
    if missing and not isinstance(corpus, Corpus):
        first, there = missing[0], known[known["of"] == "logit"].itertuples()
        listed = [f"{row.attribute} {row.captioner} seed {row.seed}" for row in there]
        raise RelicError(
            f"{first.attribute}, {first.captioner}, {classifier}, seed {first.seed}: no attributions "
            "are recorded, and the real captions are not here to compute them",
            expected=f"recorded ones of {classifier} ({'; '.join(listed)}), or corpus embedded",
            mend=GET,
        )
    done = [each for run in missing for each in attributed(corpus, run, checked=CHECKED)]
    recorded = [frame[frame["key"].isin(keys)] for frame in (known, known_words)]
    both = [
        (recorded[0].assign(source=RECORDED), scores(done).assign(source=OWN)),
        (recorded[1], words(done)),
    ]
    return tuple(pd.concat([p for p in parts if len(p)], ignore_index=True) for parts in both)


def _run(corpus: AnyCorpus, classifier: str, captioner: str, seed: int) -> Run:
    """Its fingerprint is empty where the captions are not here."""
    if not isinstance(corpus, Corpus):
        about = (corpus.name, corpus.attribute.name, captioner, classifier)
        return complete(*about, seed=seed, split="upstream")
    how = brief(corpus, classifier, SMALL) if corpus.synthetic else {"split": "upstream"}
    return describe(corpus, captioner, classifier, seed=seed, **how)


def _recorded_key(run: Run, known: pd.DataFrame) -> str:
    """Key of the recorded run that is the same in all fields, and in its captions if they are here."""
    asked = [getattr(run, name) for name in UNCHANGED]
    same = known[(known[UNCHANGED] == asked).all(axis=1)] if len(known) else known
    same = same[same["fingerprint"] == run.fingerprint] if run.fingerprint and len(same) else same
    return same["key"].iloc[0] if len(same) else ""


def by_class(rows: pd.DataFrame, classes: tuple[str, str]) -> pd.DataFrame:
    """A row a captioner: mean score of each class over splits, their sum, and the captions behind."""
    zero, one = (name.lower() for name in classes)
    names = {"class1": one, "class0": zero, "n_class1": f"n, {one}", "n_class0": f"n, {zero}"}
    groups = rows.groupby("captioner", sort=False)
    table = groups[["class1", "class0", "sum", "n_class1", "n_class0"]].mean()
    table, whole = table.assign(splits=groups.size()), ["n_class1", "n_class0", "splits"]
    table[whole] = table[whole].round().astype("Int64")
    return table.rename(columns=names).reset_index()


def pooled(rows: pd.DataFrame, of: str = "logit") -> pd.DataFrame:
    """Words of each captioner's captions, over splits, with a 95 % interval; the surest first.

    Of one split the interval is over different captions: what another training would give is not in it.
    Of several it is over the splits' means, as every interval over splits. `sure`: the end of the
    interval nearer to zero, 0 where it holds zero.
    """
    rows, table = _in_every_split(rows[rows["of"] == of]), []
    for (captioner, word), part in rows.groupby(["captioner", "word"], sort=False):
        one = Estimate(part["mean"].iloc[0], part["se"].iloc[0], part["different"].iloc[0] - 1, 1)
        mean, low, high = (one if len(part) == 1 else estimate(part["mean"])).interval()
        row = {"captioner": display_names()[captioner], "word": word, "mean": mean, "low": low}
        row |= {"high": high, "n": part["captions_with"].sum(), "splits": len(part)}
        row |= {"share (%)": 100 * part["share"].mean(), "sure": max(low, -high, 0.0)}
        table.append(row)
    order = ["sure", "share (%)"]
    return pd.DataFrame(table).sort_values(order, ascending=False, ignore_index=True)


def _in_every_split(rows: pd.DataFrame) -> pd.DataFrame:
    """Without words that some of a captioner's splits lack: they would rest on fewer."""
    splits = rows.groupby("captioner")["seed"].transform("nunique")
    return rows[rows.groupby(["captioner", "word"])["seed"].transform("nunique") == splits]


def strongest(table: pd.DataFrame, classes: tuple[str, str], top: int = 6) -> pd.DataFrame:
    """For each captioner and class: the words whose interval excludes zero, with their n."""
    rows = []
    for captioner, part in table.groupby("captioner", sort=False):
        for sign, towards in ((1, classes[1]), (-1, classes[0])):
            kept = part[(sign * part["mean"] > 0) & (part["sure"] > 0)].head(top)
            listed = ", ".join(f"{row.word} ({row.n})" for row in kept.itertuples())
            rows.append((captioner, towards, listed or "–"))
    return pd.DataFrame(rows, columns=["captioner", "towards", "word (captions with it)"])


def differences(rows: pd.DataFrame, first: str, second: str, of: str = "logit") -> pd.DataFrame:
    """Words that two captioners share: second less first, split by split, the largest first.

    `p` is Holm's over all words compared. One split gives neither an interval nor a p.
    """
    rows = _in_every_split(rows[rows["of"] == of])
    wide = rows.pivot(index=["word", "seed"], columns="captioner", values="mean")
    table = []
    for word, part in wide[[first, second]].dropna().groupby("word"):
        found = estimate(part[second] - part[first])
        row = {"word": word, first: part[first].mean(), second: part[second].mean()}
        row |= dict(zip(("difference", "low", "high"), found.interval(), strict=True))
        table.append(row | {"p": 2 * min(found.p_above(), found.p_below())})
    table = pd.DataFrame(table).sort_values("difference", key=abs, ascending=False)
    if table["p"].notna().all():
        table["p"] = holm(table["p"])
    return table.rename(columns=display_names()).reset_index(drop=True)


def planted_log_odds(corpus: Corpus, captioner: str) -> pd.Series:
    """log P(word | class 1) / P(word | class 0) of the words of the planted channel; exact.

    Of the embedded corpus only: nobody knows it for real captions.
    """
    said: dict[str, np.ndarray] = {}
    known, gain = set(corpus.vocabularies[captioner]), corpus.planted[captioner].gain
    for phrases, probabilities in channel(corpus.attribute.name).outcomes(gain):
        for word in {w for phrase in phrases for w in phrase.split()} & known:
            said[word] = said.get(word, np.zeros(2)) + probabilities
    return pd.Series({word: np.log(both[1] / both[0]) for word, both in said.items()}, dtype=float)
