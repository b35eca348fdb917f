"""Attributed runs: trained, attributed and kept in the store of runs; condensed into `results/`.

A run's file holds every test caption with its words and their attributions, so it stays on the machine.
`results/attribution/` gets numbers and single words: `scores.csv`, a row a run and output; `words.csv`,
a row a word of a run; and a few quoted captions, `examples.csv`.
"""

import time
import warnings
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit

from relic import paths, provenance
from relic.chapters.attribution.gradients import OUTPUTS, REFERENCE, STEPS, attribute
from relic.data.corpus import Corpus
from relic.errors import RelicError
from relic.measure.runs import Run, fit
from relic.records.runs import DESCRIPTION, TEXT
from relic.records.tables import home, write_record
from relic.whole import write_whole

RECORD = "attribution"
VERSION = 3  # raised when a change moves attributions
FEWEST = 5  # different captions a word needs to be recorded: fewer give no interval
QUOTED = 12  # words of a quoted caption, at most

Done = dict[Run, pd.DataFrame]  # captions of attributed runs


def attributed(
    corpus: Corpus, run: Run, *, steps: int = 0, checked: int = 20, directory: Path | None = None
) -> pd.DataFrame:
    """A run's test captions attributed to their words, a row a caption and output (`of`).

    From the store or computed now. Beside what `attribute` gives: image_id, y, p, steps, seconds, commit,
    and `reference`, the score with 500 steps of the first `checked` different captions, else NaN.
    `steps`: 0 for the classifier's own.
    """
    if run.classifier not in STEPS:
        raise RelicError(f"no integrated gradients of {run.classifier}", expected=", ".join(STEPS))
    steps, folder = steps or STEPS[run.classifier], Path(directory or paths.runs()) / RECORD
    file = folder / run.key[:2] / f"{run.key}-{steps}-{checked}-v{VERSION}.parquet"
    try:
        return pd.read_parquet(file)
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        warnings.warn(f"{file} is ignored, it will be computed again: {error}", stacklevel=2)
    model, material = fit(corpus, run)
    texts, parts = pd.Series(material.test), []
    first = texts.drop_duplicates().head(checked)
    for of in OUTPUTS:
        started = time.process_time()
        part = attribute(model, material.test, of, steps)
        part = part.assign(of=of, steps=steps, seconds=time.process_time() - started)
        exact = [attribute(model, [text], of, REFERENCE, plain=True)["score"][0] for text in first]
        exact = texts.map(dict(zip(first, exact, strict=True))).astype(float)
        parts.append(part.assign(reference=exact))
    about = {"p": expit(model.logits(material.test)), "commit": provenance.stamp()["commit"]}
    about |= {name: material.images[name].to_numpy() for name in ("image_id", "y")}
    captions = pd.concat([part.assign(**about) for part in parts], ignore_index=True)
    write_whole(file, lambda part: captions.to_parquet(part, index=False))
    return captions


def scores(done: Done) -> pd.DataFrame:
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


def words(done: Done, fewest: int = FEWEST) -> pd.DataFrame:
    """Mean attribution (log-odds) of each word over the captions that have it, with a standard error, by run.

    A caption counts once a word, with the mean over its occurrences. Equal captions have equal
    attributions, so the standard error takes them as one cluster. `share` is the word's part of the sum of
    absolute attributions over all captions.
    """
    rows = [
        _words(run, captions[captions["of"] == "logit"], fewest) for run, captions in done.items()
    ]
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()


def _words(run: Run, captions: pd.DataFrame, fewest: int) -> pd.DataFrame:
    said = captions.assign(text=captions["words"].map(" ".join))
    long = said[["image_id", "text", "words", "attributions"]].explode(["words", "attributions"])
    long["attributions"] = long["attributions"].astype(float)
    weight = long["attributions"].abs().groupby(long["words"]).sum()
    once = long.groupby(["words", "image_id", "text"], sort=True)["attributions"].mean()
    rows = []
    for word, values in once.groupby(level="words"):
        mean = values.mean()
        sums = (values - mean).groupby(level="text").sum()
        if len(sums) >= fewest:
            error = np.sqrt((sums**2).sum() * len(sums) / (len(sums) - 1)) / len(values)
            rows.append((word, len(values), len(sums), mean, error, weight[word] / weight.sum()))
    frame = pd.DataFrame(rows, columns="word captions_with different mean se share".split())
    about = {"captioner": run.captioner, "seed": run.seed, "key": run.key}
    return frame.assign(**about, steps=captions["steps"].iloc[0])


def examples(done: Done) -> pd.DataFrame:
    """Two test images in the words of each captioner, of the first split: a row a short caption.

    The image of class 1 that is guessed best on average, and the one on which guesses are furthest apart.
    `attributions`: of the probability, over their norm, a number a word. No image ids: they would give labels away.
    """
    first = [run for run in done if run.seed == next(iter(done)).seed]
    said = [done[run].assign(key=run.key, captioner=run.captioner) for run in first]
    keys = [run.key for run in first]
    said = pd.concat(said).query("of == 'probability'")
    said = said[said["words"].map(len) <= QUOTED]
    right = said["p"].where(said["y"] == 1, 1 - said["p"])
    right = said.assign(right=right).pivot(index="image_id", columns="key", values="right").dropna()
    ones = said.loc[said["y"] == 1, "image_id"]
    best = right[right.index.isin(ones)].mean(axis=1).nlargest(1).index
    apart = (right.max(axis=1) - right.min(axis=1)).drop(best).nlargest(1).index
    rows = said.set_index(["image_id", "key"]).loc[[(i, k) for i in [*best, *apart] for k in keys]]
    norm = rows["norm"].where(rows["norm"] > 0, 1.0)
    parts = [a / n for a, n in zip(rows["attributions"].map(np.array), norm, strict=True)]
    rows["attributions"] = [" ".join(f"{value:.3f}" for value in part) for part in parts]
    rows["caption"] = rows["words"].map(" ".join)
    return rows.reset_index()[["key", "captioner", "y", "p", "score", "caption", "attributions"]]


def publish(done: Done, quote: bool = False) -> pd.DataFrame:
    """Add real runs to `results/attribution/`, `quote`: and their examples; returns all scores recorded now."""
    done = {run: captions for run, captions in done.items() if "synthetic" not in run.corpus}
    if not done:
        raise RelicError("no attributions of real captions", mend="relic attribute --corpus real")
    for part, frame in {"scores": scores(done), "words": words(done)}.items():
        known, same = read_recorded(part), ["key", "steps"]  # computed again: replaces the old
        old = known.set_index(same).index.isin(frame.set_index(same).index)
        frame = pd.concat([known[~old], frame], ignore_index=True)
        order = "classifier captioner seed key steps of word".split()
        frame = frame.sort_values([name for name in order if name in frame])
        write_record(RECORD, part, frame)
    if quote:
        write_record(RECORD, "examples", examples(done))
    return read_recorded("scores")


def read_recorded(part: str) -> pd.DataFrame:
    """Recorded `scores`, `words` or `examples`. Text stays text: `null` is a word, and `true` a kind of labels."""
    file = home(RECORD) / f"{part}.csv"
    if not file.exists():
        described = [*DESCRIPTION, "of"] if part == "scores" else []
        return pd.DataFrame(columns=[*described, "key", "steps"])
    kinds = dict.fromkeys([*TEXT, "key", "of", "word", "commit"], "str")
    return pd.read_csv(file, dtype=kinds, keep_default_na=False, na_values={"apart": [""]})
