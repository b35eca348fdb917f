"""Attributed runs: trained, attributed and kept in the store of runs; condensed into `results/`.

A run's file holds every test caption with its words and their attributions, so it stays on the machine.
`results/attribution/` gets numbers and single words only: `scores.csv`, a row a run and output, with its
provenance; `words.csv`, a row a word of it.
"""

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit
from tqdm import tqdm

from relic import paths, provenance
from relic.chapters.attribution.gradients import OUTPUTS, REFERENCE, STEPS, attribute
from relic.data.corpus import Corpus
from relic.errors import RelicError
from relic.measure.runs import Run, describe, fit
from relic.records.runs import TEXT
from relic.records.tables import home, write_record
from relic.whole import write_whole

RECORD = "attribution"
VERSION = 2  # raised when a change moves attributions
FEWEST = 5  # different captions a word needs to be recorded: fewer give no interval


@dataclass(frozen=True, eq=False)
class Attributed:
    """One output of one run, attributed to the words of its test captions.

    `captions`: image_id, y, p; words, attributions, norm, score, output, baseline, delta; reference (the
    score with 500 steps, for some captions, else NaN) and gap (largest difference of a token then, over the norm).
    """

    run: Run
    of: str
    steps: int
    captions: pd.DataFrame
    made: dict  # seconds, commit, versions, device


def attributed(
    corpus: Corpus,
    run: Run,
    *,
    outputs: Sequence[str] = OUTPUTS,
    steps: int = 0,
    checked: int = 0,
    directory: Path | None = None,
) -> list[Attributed]:
    """Attributions of a run, from the store or computed now; trained once for all outputs.

    `steps`: 0 for the classifier's own. `checked`: captions that are also attributed with 500.
    """
    if run.classifier not in STEPS:
        raise RelicError(f"no integrated gradients of {run.classifier}", expected=", ".join(STEPS))
    if not outputs or set(outputs) - set(OUTPUTS):
        raise RelicError(f"outputs {list(outputs)}", expected=", ".join(OUTPUTS))
    if not isinstance(checked, int) or checked < 0:
        raise RelicError(f"{checked} checked captions", expected="a whole number from 0")
    steps, folder = steps or STEPS[run.classifier], Path(directory or paths.runs()) / RECORD
    names = {of: f"{run.key}-{of}-{steps}-{checked}-v{VERSION}.parquet" for of in outputs}
    files = {of: folder / run.key[:2] / name for of, name in names.items()}
    kept = {of: _read(file) for of, file in files.items() if file.exists()}
    trained = fit(corpus, run) if len(kept) < len(files) else ()
    for of in [of for of in outputs if of not in kept]:
        kept[of] = _compute(run, *trained, of, steps, checked)
        _write(files[of], kept[of])
    return [kept[of] for of in outputs]


def _compute(run: Run, model, material, of: str, steps: int, checked: int) -> Attributed:
    started = time.process_time()
    captions = attribute(model, material.test, of, steps)
    seconds = time.process_time() - started
    captions = captions.assign(
        image_id=material.images["image_id"].to_numpy(),
        y=material.images["y"].to_numpy(),
        p=expit(model.logits(material.test)),
        reference=np.nan,
        gap=np.nan,
    )
    texts = pd.Series(material.test)
    for text in texts.drop_duplicates().iloc[:checked]:
        exact = attribute(model, [text], of, REFERENCE, plain=True).iloc[0]
        rows = texts.index[texts == text]
        ours, norm = np.array(captions.loc[rows[0], "attributions"]), exact["norm"] or 1.0
        captions.loc[rows, "reference"] = exact["score"]
        captions.loc[rows, "gap"] = np.abs(ours - exact["attributions"]).max() / norm
    return Attributed(run, of, steps, captions, {"seconds": seconds, **provenance.stamp()})


def _write(file: Path, done: Attributed) -> None:
    frame = done.captions.copy()
    frame.attrs = {"run": asdict(done.run), "of": done.of, "steps": done.steps, "about": done.made}
    write_whole(file, lambda part: frame.to_parquet(part, index=False))


def _read(file: Path) -> Attributed:
    try:
        frame = pd.read_parquet(file)
        kept, frame.attrs = frame.attrs, {}
        return Attributed(Run(**kept["run"]), kept["of"], kept["steps"], frame, kept["about"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RelicError(
            f"{file} cannot be read: {error}",
            expected="attributions of a run",
            mend=f"delete {file.name}; it will be computed again",
        ) from error


def attribute_all(
    corpus: Corpus,
    captioners: Sequence[str],
    classifiers: Sequence[str],
    *,
    seeds: Sequence[int] = (0,),
    sides: Sequence[str] = ("model",),
    described: dict | None = None,
    progress: bool = False,
    **options,
) -> list[Attributed]:
    """Every captioner, classifier, seed and side. `described`: further fields of a run.

    What is in the store is not computed again, so that a broken-off call goes on where it was.
    """
    runs = [
        describe(corpus, captioner, name, side=side, seed=seed, **described or {})
        for name in classifiers
        for seed in seeds
        for captioner in captioners
        for side in sides
    ]
    bar = tqdm(runs, unit="run", disable=not progress)
    return [each for run in bar for each in attributed(corpus, run, **options)]


def scores(done: Iterable[Attributed]) -> pd.DataFrame:
    """What is recorded of runs: scores by class over correct captions, deltas, agreement, cost.

    Class 0 points the other way; its score is a magnitude, as in Türk et al.
    """
    return pd.DataFrame([_score_row(each) for each in done])


def _score_row(done: Attributed) -> dict:
    captions, made = done.captions, done.made
    right = captions[(captions["p"] > 0.5) == (captions["y"] == 1)]
    row = {**asdict(done.run), "key": done.run.key, "of": done.of, "steps": done.steps}
    for value, sign in ((1, 1), (0, -1)):
        of_class = sign * right.loc[right["y"] == value, "score"]
        row |= {f"n_class{value}": len(of_class), f"class{value}": of_class.mean()}
        row[f"sd_class{value}"] = of_class.std()
    checked = captions[captions["reference"].notna()]
    checked = checked.loc[checked["words"].map(" ".join).drop_duplicates().index]
    apart = checked["score"] - checked["reference"]
    return row | {
        "sum": row["class1"] + row["class0"],
        "n_test": len(captions),
        "words": captions["words"].map(len).mean(),
        "mean_output": captions["output"].mean(),
        "mean_baseline": captions["baseline"].mean(),
        "mean_delta": captions["delta"].abs().mean(),
        "max_delta": captions["delta"].abs().max(),
        "n_checked": len(checked),
        "mean_reference": checked["reference"].abs().mean(),
        "mean_apart": apart.abs().mean(),
        "max_apart": apart.abs().max(),
        "bias_apart": abs(apart.mean()),
        "mean_gap": checked["gap"].mean(),
        "max_gap": checked["gap"].max(),
        **{name: made[name] for name in ("seconds", "commit", "dirty", "device")},
        "versions": json.dumps(made["versions"]),
    }


def words(done: Iterable[Attributed], fewest: int = FEWEST) -> pd.DataFrame:
    """Mean attribution of each word over the captions that have it, with a standard error, by run.

    A caption counts once a word, with the mean over its occurrences. Equal captions have equal
    attributions, so the standard error takes them as one cluster. `share` is the word's part of the sum of
    absolute attributions over all captions.
    """
    rows = [_word_rows(each, fewest) for each in done]
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()


def _word_rows(done: Attributed, fewest: int) -> pd.DataFrame:
    said = done.captions.assign(text=done.captions["words"].map(" ".join))
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
    run = {name: getattr(done.run, name) for name in ("captioner", "side", "classifier", "seed")}
    return frame.assign(key=done.run.key, of=done.of, steps=done.steps, **run)


def publish(done: Iterable[Attributed]) -> pd.DataFrame:
    """Add real runs to `results/attribution/`; returns all scores recorded now."""
    done = [each for each in done if "synthetic" not in each.run.corpus]
    if not done:
        raise RelicError("no attributions of real captions", mend="relic attribute --corpus real")
    for part, frame in {"scores": scores(done), "words": words(done)}.items():
        known, same = read_recorded(part), ["key", "of", "steps"]
        if len(known):  # what was computed again replaces the old
            again = known.set_index(same).index.isin(frame.set_index(same).index)
            frame = pd.concat([known[~again], frame], ignore_index=True)
        order = ["classifier", "captioner", "side", "seed", "of", "steps", *{"word"} & set(frame)]
        write_record(RECORD, part, frame.sort_values(order))
    return read_recorded("scores")


def read_recorded(part: str) -> pd.DataFrame:
    """Recorded `scores` or `words`; an empty frame where there are none.

    Text stays text: `null` is a word, and `true` a kind of labels.
    """
    file = home(RECORD) / f"{part}.csv"
    if not file.exists():
        return pd.DataFrame()
    texts = [*TEXT, "key", "of", "word", "commit", "device", "versions"]
    kinds = {c: "str" for c in pd.read_csv(file, nrows=0).columns if c in texts}
    frame = pd.read_csv(file, dtype=kinds, keep_default_na=False, na_values=[""])
    return frame.fillna(dict.fromkeys(kinds, ""))
