"""What attributed captions add up to: scores by class, words, quoted examples, and what follows from them."""

from collections import defaultdict
from dataclasses import asdict

import numpy as np
import pandas as pd

from relic.data.captioners import display_names
from relic.data.corpus import Corpus
from relic.data.planted import channel
from relic.judge.stats import Estimate, estimate, holm
from relic.measure.runs import Run

FEWEST = 5  # different captions a word needs to be recorded: fewer give no interval
QUOTED = 12  # words of a quoted caption, at most

Attributed = dict[Run, pd.DataFrame]  # the captions of each run, as `runs.attributed` gives them


def scores(done: Attributed) -> pd.DataFrame:
    """A row a run and output: scores by class over correct captions, how near 500 steps, cost.

    Class 0 points the other way; its score is a magnitude, as in Türk et al. `apart`: mean difference from
    the scores with 500 steps, in percent of their mean. `max_delta`: the most that a caption misses of completeness.
    """
    rows = []
    for run, captions in done.items():
        for of, part in captions.groupby("of", sort=False):
            right = part[(part["p"] > 0.5) == (part["y"] == 1)]
            one, zero = (right.loc[right["y"] == y, "score"] for y in (1, 0))
            checked = part[part["reference"].notna()]
            checked = checked.loc[checked["words"].map(" ".join).drop_duplicates().index]
            gap = (checked["score"] - checked["reference"]).abs().mean()
            row = {**asdict(run), "key": run.key, "of": of, "steps": part["steps"].iloc[0]}
            row |= {"n_class1": len(one), "class1": one.mean()}
            row |= {"n_class0": len(zero), "class0": -zero.mean()}
            row |= {"sum": one.mean() - zero.mean(), "n_test": len(part)}
            row |= {"max_delta": part["delta"].abs().max(), "n_checked": len(checked)}
            row["apart"] = 100 * gap / checked["reference"].abs().mean()
            rows.append(row | part[["seconds", "commit"]].iloc[0].to_dict())
    return pd.DataFrame(rows)


def words(done: Attributed, fewest: int = FEWEST) -> pd.DataFrame:
    """Mean attribution (log-odds) of each word over the captions that have it, with a standard error, by run.

    A caption counts once a word, with the mean over its occurrences. Equal captions have equal
    attributions, so the standard error takes them as one cluster. `share` is the word's part of the sum of
    absolute attributions over all captions.
    """
    frames = []
    for run, captions in done.items():
        said = captions[captions["of"] == "logit"]
        said = said.assign(text=said["words"].map(" ".join))
        long = said[["image_id", "text", "words", "attributions"]]
        long = long.explode(["words", "attributions"]).astype({"attributions": float})
        weight = long["attributions"].abs().groupby(long["words"]).sum()
        once = long.groupby(["words", "image_id", "text"])["attributions"].mean()
        rows = []
        for word, values in once.groupby(level="words"):
            mean, share = values.mean(), weight[word] / weight.sum()
            sums = (values - mean).groupby(level="text").sum()
            if len(sums) >= fewest:
                error = np.sqrt((sums**2).sum() * len(sums) / (len(sums) - 1)) / len(values)
                rows.append((word, len(values), len(sums), mean, error, share))
        frame = pd.DataFrame(rows, columns="word captions_with different mean se share".split())
        frame = frame.assign(captioner=run.captioner, seed=run.seed, key=run.key)
        frames.append(frame.assign(steps=captions["steps"].iloc[0]))
    return pd.concat(frames, ignore_index=True)


def examples(done: Attributed) -> pd.DataFrame:
    """Two test images in the words of each captioner, of the first split: a row a short caption.

    The image of class 1 that is guessed best on average, and the one on which guesses are furthest apart.
    `attributions`: of the probability, over their norm, a number a word. No image ids: they would give labels away.
    """
    first = [run for run in done if run.seed == next(iter(done)).seed]
    said = pd.concat([done[run].assign(key=run.key, captioner=run.captioner) for run in first])
    said = said[(said["of"] == "probability") & (said["words"].map(len) <= QUOTED)]
    right = said.assign(right=said["p"].where(said["y"] == 1, 1 - said["p"]))
    right = right.pivot(index="image_id", columns="key", values="right").dropna()
    ones = said.loc[said["y"] == 1, "image_id"]
    best = right[right.index.isin(ones)].mean(axis=1).nlargest(1).index
    apart = (right.max(axis=1) - right.min(axis=1)).drop(best).nlargest(1).index
    shown = [(image, run.key) for image in [*best, *apart] for run in first]
    rows = said.set_index(["image_id", "key"]).loc[shown].reset_index()
    rows["caption"] = rows["words"].map(" ".join)
    rows["attributions"] = [
        " ".join(f"{value / (norm or 1):.3f}" for value in values)
        for values, norm in zip(rows["attributions"], rows["norm"], strict=True)
    ]
    return rows[["key", "captioner", "y", "p", "score", "caption", "attributions"]]


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


def differences(rows: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """Words that two captioners share: second less first, split by split, the largest first.

    `p` is Holm's over all words compared. One split gives neither an interval nor a p.
    """
    wide = _in_every_split(rows).pivot(index=["word", "seed"], columns="captioner", values="mean")
    table = []
    for word, part in wide[[first, second]].dropna().groupby("word"):
        apart = estimate(part[second] - part[first])
        row = {"word": word, first: part[first].mean(), second: part[second].mean()}
        row |= dict(zip(("difference", "low", "high"), apart.interval(), strict=True))
        table.append(row | {"p": 2 * min(apart.p_above(), apart.p_below())})
    table = pd.DataFrame(table).sort_values("difference", key=abs, ascending=False)
    if table["p"].notna().all():
        table["p"] = holm(table["p"])
    return table.rename(columns=display_names()).reset_index(drop=True)


def planted_log_odds(corpus: Corpus, captioner: str) -> pd.Series:
    """log P(word | class 1) / P(word | class 0) of the words of the planted channel; exact.

    Of the embedded corpus only: nobody knows it for real captions.
    """
    said: defaultdict = defaultdict(lambda: np.zeros(2))
    known, gain = set(corpus.vocabularies[captioner]), corpus.planted[captioner].gain
    for phrases, probabilities in channel(corpus.attribute.name).outcomes(gain):
        for word in set(" ".join(phrases).split()) & known:
            said[word] += probabilities
    return pd.Series({word: np.log(one / zero) for word, (zero, one) in said.items()}, dtype=float)
