"""Scores and words of attributed runs, recorded or computed now, and what follows from them."""

from dataclasses import asdict
from itertools import product

import numpy as np
import pandas as pd

from relic.chapters.attribution.gradients import STEPS
from relic.chapters.attribution.runs import attributed, examples, read_recorded, scores, words
from relic.data.captioners import display_names
from relic.data.corpus import Corpus
from relic.data.planted.process import channel
from relic.errors import RelicError
from relic.judge.stats import Estimate, estimate, holm
from relic.measure.runs import Run, complete, describe
from relic.records.runs import OWN, RECORDED, UNCHANGED
from relic.records.serve import GET, AnyCorpus

PAIR = {True: ["planted_none", "planted_lot"], False: ["nic", "nic_plus", "nic_equalizer"]}
BRIEF = {"lstm": "1e-3x4", "bert-ft": "1e-4x3"}  # recipes that learn a small set in seconds
SMALL = 1000  # images of the embedded corpus that a classifier is trained and attributed on
CHECKED = 1  # captions of a run computed now that are also attributed with 500 steps


def attributions(
    corpus: AnyCorpus, captioners: list[str], classifier: str, seeds: list[int]
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Scores (a row a run and output, with `source`), words (a row a word of a run) and quoted examples.

    Real captions: the papers' splits of all images; what is not recorded is computed now, in minutes.
    The embedded corpus: a small set of images and a brief recipe.
    """
    if len(captioners) < 2:
        raise RelicError(f"captioners {captioners}", expected="two or more, to be compared")
    known = [read_recorded(part) for part in ("scores", "words", "examples")]
    at_steps = known[0][known[0]["steps"] == STEPS[classifier]]
    wanted = [_run(corpus, classifier, *each) for each in product(captioners, seeds)]
    asked = pd.DataFrame([asdict(run) for run in wanted]).drop(columns="code")
    found = asked.merge(at_steps.drop_duplicates("key"), "left", UNCHANGED, suffixes=("", "_known"))
    same = (found["fingerprint"] == "") | (found["fingerprint"] == found["fingerprint_known"])
    keys = found["key"].where(same)
    missing = [run for run, key in zip(wanted, keys, strict=True) if pd.isna(key)]
    if missing and not isinstance(corpus, Corpus):
        first, there = missing[0], at_steps[at_steps["of"] == "logit"].itertuples()
        listed = [f"{row.attribute} {row.captioner} seed {row.seed}" for row in there]
        raise RelicError(
            f"{first.attribute}, {first.captioner}, {classifier}, seed {first.seed}: no attributions "
            "are recorded, and the real captions are not here to compute them",
            expected=f"recorded ones of {classifier} ({'; '.join(listed)}), or corpus embedded",
            mend=GET,
        )
    done = {run: attributed(corpus, run, checked=CHECKED) for run in missing}
    own = [scores(done), words(done), examples(done)] if done else [pd.DataFrame()] * 3
    tables = []
    for old, new in zip(known, own, strict=True):
        both = [old[old["key"].isin(keys)].assign(source=RECORDED), new.assign(source=OWN)]
        tables.append(pd.concat([f for f in both if len(f)] or both[:1], ignore_index=True))
    return tuple(tables)


def _run(corpus: AnyCorpus, classifier: str, captioner: str, seed: int) -> Run:
    """Its fingerprint is empty where the captions are not here."""
    if not isinstance(corpus, Corpus):
        about = (corpus.name, corpus.attribute.name, captioner, classifier)
        return complete(*about, seed=seed, split="upstream")
    how = {"split": "upstream"}
    if corpus.synthetic:  # so many images, or as many as balanced classes have
        most = 2 * min(corpus.label_counts(corpus.covered).values())
        how = {"size": min(SMALL, most), "recipe": BRIEF[classifier]}
    return describe(corpus, captioner, classifier, seed=seed, **how)


def by_class(rows: pd.DataFrame, classes: tuple[str, str]) -> pd.DataFrame:
    """A row a captioner: mean score of each class over splits, their sum with its interval, captions behind."""
    zero, one = (name.lower() for name in classes)
    names = {"class1": one, "class0": zero, "n_class1": f"n, {one}", "n_class0": f"n, {zero}"}
    groups = rows.groupby("captioner", sort=False)
    table = groups[["class1", "class0", "sum", "n_class1", "n_class0"]].mean()
    table, whole = table.assign(splits=groups.size()), ["n_class1", "n_class0", "splits"]
    table[whole] = table[whole].round().astype("Int64")
    ends = [estimate(sums).interval() for _, sums in groups["sum"]]
    for at, end in enumerate(("low", "high")):
        table.insert(3 + at, end, [interval[1 + at] for interval in ends])
    table = table if (table["splits"] > 1).any() else table.drop(columns=["low", "high"])
    return table.rename(columns=names).reset_index()


def pooled(rows: pd.DataFrame) -> pd.DataFrame:
    """Words of each captioner's captions, over splits, with a 95 % interval; the surest first.

    Of one split the interval is over different captions: what another training would give is not in it.
    Of several it is over the splits' means, as every interval over splits. `sure`: the end of the
    interval nearer to zero, 0 where it holds zero.
    """
    rows, table = _in_every_split(rows), []
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


def differences(rows: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """Words that two captioners share: second less first, split by split, the largest first.

    `p` is Holm's over all words compared. One split gives neither an interval nor a p.
    """
    wide = _in_every_split(rows).pivot(index=["word", "seed"], columns="captioner", values="mean")
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
