"""Attributed runs: trained, attributed and kept in the store of runs; condensed into `results/`.

A run's file holds every test caption with its words and their attributions, so it stays on the machine.
`results/attribution/` gets numbers and single words only: `scores.csv`, a row a run and output, with its
provenance; `words.csv`, a row a word of it.
"""

import json
import os
import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from relic import paths, provenance
from relic.attribution.gradients import OUTPUTS, REFERENCE, STEPS, attribute
from relic.data.corpus import Corpus
from relic.errors import RelicError
from relic.results import TEXT
from relic.runs import Run, describe, fit
from relic.score import sigmoid
from relic.whole import write_whole

RECORDED = paths.RESULTS / "attribution"
VERSION = 2  # raised when a change moves attributions
DIGITS = 6  # recorded
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
    about: dict  # seconds, commit, versions, device


def attributed(
    corpus: Corpus,
    run: Run,
    *,
    outputs: Sequence[str] = OUTPUTS,
    steps: int = 0,
    checked: int = 0,
    directory: Path | None = None,
    fitted=None,
) -> list[Attributed]:
    """Attributions of a run, from the store or computed now; trained once for all outputs.

    `steps`: 0 for the classifier's own. `checked`: captions that are also attributed with 500. `fitted`: a trained classifier and its
    material, where they are at hand.
    """
    _check(run, outputs, checked)
    directory, steps = directory or paths.runs(), steps or STEPS[run.classifier]
    found = {of: _read(_file(directory, run, of, steps, checked)) for of in outputs}
    for of in [of for of, known in found.items() if known is None]:
        fitted = fitted or fit(corpus, run)
        found[of] = _compute(run, *fitted, of, steps, checked)
        _write(_file(directory, run, of, steps, checked), found[of])
    return [found[of] for of in outputs]


def _check(run: Run, outputs: Sequence[str], checked: int) -> None:
    if run.classifier not in STEPS:
        raise RelicError(f"no integrated gradients of {run.classifier}", expected=", ".join(STEPS))
    unknown = [of for of in outputs if of not in OUTPUTS]
    if unknown or not outputs:
        raise RelicError(f"outputs {list(outputs)}", expected=", ".join(OUTPUTS))
    if not isinstance(checked, int) or checked < 0:
        raise RelicError(f"{checked} checked captions", expected="a whole number from 0")


def _compute(run: Run, model, material, of: str, steps: int, checked: int) -> Attributed:
    started = time.process_time()
    found = attribute(model, material.test, of, steps)
    seconds = time.process_time() - started
    found = found.assign(
        image_id=material.images["image_id"].to_numpy(),
        y=material.images["y"].to_numpy(),
        p=sigmoid(model.logits(material.test)),
        reference=np.nan,
        gap=np.nan,
    )
    texts = pd.Series(material.test)
    for text in texts.drop_duplicates().iloc[:checked]:
        exact = attribute(model, [text], of, REFERENCE, plain=True).iloc[0]
        rows = texts.index[texts == text]
        ours, norm = np.array(found.loc[rows[0], "attributions"]), exact["norm"] or 1.0
        found.loc[rows, "reference"] = exact["score"]
        found.loc[rows, "gap"] = np.abs(ours - exact["attributions"]).max() / norm
    about = {"seconds": seconds, **provenance.commit(), "versions": provenance.versions()}
    return Attributed(run, of, steps, found, about | {"device": provenance.device()})


def _file(directory: Path, run: Run, of: str, steps: int, checked: int) -> Path:
    name = f"{run.key}-{of}-{steps}-{checked}-v{VERSION}.parquet"
    return Path(directory) / "attribution" / run.key[:2] / name


def _write(file: Path, done: Attributed) -> None:
    """Under another name, then renamed: there whole or not at all."""
    frame = done.captions.copy()
    frame.attrs = {"run": asdict(done.run), "of": done.of, "steps": done.steps, "about": done.about}
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.{uuid.uuid4().hex}")
    frame.to_parquet(part, index=False)
    os.replace(part, file)


def _read(file: Path) -> Attributed | None:
    if not file.exists():
        return None
    try:
        frame = pd.read_parquet(file)
        told, frame.attrs = frame.attrs, {}
        return Attributed(Run(**told["run"]), told["of"], told["steps"], frame, told["about"])
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
    human: Sequence[str] = (),
    recipes: dict[str, str] | None = None,
    progress: bool = False,
    described: dict | None = None,
    **options,
) -> list[Attributed]:
    """Every captioner, classifier and seed; `human`: classifiers that read human captions as well.

    What is in the store is not computed again, so that a broken-off call goes on where it was.
    """
    runs = [
        describe(
            corpus, captioner, name, side=side, seed=seed,
            **{"recipe": (recipes or {}).get(name, ""), **(described or {})},
        )
        for name in classifiers
        for seed in seeds
        for captioner in captioners
        for side in (("model", "human") if name in human else ("model",))
    ]  # fmt: skip
    bar = tqdm(runs, unit="run", disable=not progress)
    return [each for run in bar for each in attributed(corpus, run, **options)]


def score_row(done: Attributed) -> dict:
    """What is recorded of a run: scores by class over correct captions, deltas, agreement, cost.

    Class 0 points the other way; its score is told as a magnitude, as in Türk et al.
    """
    captions = done.captions
    right = captions[(captions["p"] > 0.5) == (captions["y"] == 1)]
    row = {**asdict(done.run), "key": done.run.key, "of": done.of, "steps": done.steps}
    for value, sign in ((1, 1), (0, -1)):
        scores = sign * right.loc[right["y"] == value, "score"]
        row |= {
            f"n_class{value}": len(scores),
            f"class{value}": scores.mean(),
            f"sd_class{value}": scores.std(),
        }
    checked = captions[captions["reference"].notna()]
    checked = checked.loc[checked["words"].map(" ".join).drop_duplicates().index]
    apart = (checked["score"] - checked["reference"]).abs()
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
        "mean_apart": apart.mean(),
        "max_apart": apart.max(),
        "bias_apart": abs((checked["score"] - checked["reference"]).mean()),
        "mean_gap": checked["gap"].mean(),
        "max_gap": checked["gap"].max(),
        "seconds": done.about["seconds"],
        "commit": done.about["commit"],
        "dirty": done.about["dirty"],
        "device": done.about["device"],
        "versions": json.dumps(done.about["versions"]),
    }


def word_rows(done: Attributed, fewest: int = FEWEST) -> pd.DataFrame:
    """Mean attribution of each word over the captions that have it, with a standard error.

    A caption counts once a word, with the mean over its occurrences. Equal captions have equal
    attributions, so the standard error takes them as one cluster. `share` is the word's part of the sum of
    absolute attributions over all captions.
    """
    told = done.captions.assign(text=done.captions["words"].map(" ".join))
    long = told[["image_id", "text", "words", "attributions"]].explode(["words", "attributions"])
    long["attributions"] = long["attributions"].astype(float)
    weight = long["attributions"].abs().groupby(long["words"]).sum()
    once = long.groupby(["words", "image_id", "text"], sort=True)["attributions"].mean()
    rows = []
    for word, values in once.groupby(level="words"):
        mean = values.mean()
        sums = (values - mean).groupby(level="text").sum()
        if len(sums) >= fewest:
            spread = np.sqrt((sums**2).sum() * len(sums) / (len(sums) - 1)) / len(values)
            rows.append((word, len(values), len(sums), mean, spread, weight[word] / weight.sum()))
    columns = ["word", "captions_with", "different", "mean", "se", "share"]
    about = {name: getattr(done.run, name) for name in ("captioner", "side", "classifier", "seed")}
    frame = pd.DataFrame(rows, columns=columns)
    return frame.assign(key=done.run.key, of=done.of, steps=done.steps, **about)


def publish(done: Iterable[Attributed], directory: Path = RECORDED) -> pd.DataFrame:
    """Add real runs to `results/attribution/`; returns all scores recorded now."""
    done = [each for each in done if "synthetic" not in each.run.corpus]
    if not done:
        raise RelicError("no attributions of real captions", mend="relic attribute --corpus real")
    new = {
        "scores": pd.DataFrame([score_row(each) for each in done]),
        "words": pd.concat([word_rows(each) for each in done], ignore_index=True),
    }
    for name, frame in new.items():
        known = read_recorded(name, directory)
        same = ["key", "of", "steps"]
        again = known.set_index(same).index.isin(frame.set_index(same).index) if len(known) else []
        whole = pd.concat([known[~again], frame], ignore_index=True) if len(known) else frame
        order = ["classifier", "captioner", "side", "seed", "of", "steps"]
        whole = whole.sort_values([*order, *(["word"] if name == "words" else [])])
        told = whole.to_csv(index=False, float_format=f"%.{DIGITS}g")
        write_whole(directory / f"{name}.csv", told)
    return read_recorded("scores", directory)


def read_recorded(name: str, directory: Path = RECORDED) -> pd.DataFrame:
    """Recorded `scores` or `words`; an empty frame where there are none.

    Text stays text: `null` is a word, and `true` a kind of labels.
    """
    file = directory / f"{name}.csv"
    if not file.exists():
        return pd.DataFrame()
    texts = [*TEXT, "key", "of", "word", "commit", "device", "versions"]
    there = pd.read_csv(file, nrows=0).columns
    kinds = {column: "str" for column in texts if column in there}
    frame = pd.read_csv(file, dtype=kinds, keep_default_na=False, na_values=[""])
    return frame.fillna(dict.fromkeys(kinds, ""))
