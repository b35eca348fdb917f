"""Which words carry the bias: attributed runs, what they add up to, and captions in colour.

A run's file in the store holds every test caption with its words and their attributions, so it stays on
the machine. `results/attribution/` gets numbers and single words: `scores.csv`, a row a run and output;
`words.csv`, a row a word of a run; and a few quoted captions, `examples.csv`.
"""

import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from jinja2 import Environment, StrictUndefined
from scipy.special import expit

from relic import paths, provenance
from relic.chapters.gradients import OUTPUTS, REFERENCE, STEPS, attribute
from relic.data.captioners import display_names
from relic.data.corpus import Corpus
from relic.errors import RelicError
from relic.measure.runs import Run, fit
from relic.measure.sweep import grid
from relic.numbers import number
from relic.records.runs import OWN, TEXT
from relic.records.serve import AnyCorpus, match
from relic.records.tables import RECORDED, home, read_table, write_record
from relic.whole import write_whole

RECORD = "attribution"
VERSION = 4  # raised when a change moves attributions
PAIR = {True: ["planted_none", "planted_lot"], False: ["nic", "nic_plus", "nic_equalizer"]}
BRIEF = {"lstm": "1e-3x4", "bert-ft": "1e-4x3"}  # recipes that learn a small set in seconds
SMALL = 1000  # images of the embedded corpus that a classifier is trained and attributed on
CHECKED = 1  # captions of a run computed for a page that are also attributed with 500 steps
FEWEST = 5  # different captions a word needs to be recorded: fewer give no interval
QUOTED = 12  # words of a quoted caption, at most
MARKED = {"faint": 0.15, "strong": 0.45}  # of a caption's norm: from where a word is marked, twice

Attributed = dict[Run, pd.DataFrame]  # the captions of each run, as `attributed` gives them


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
    if steps < 0:
        raise RelicError(f"{steps} steps", expected="a whole number, 0 for the classifier's own")
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
    images = material.images[["image_id", "y"]].reset_index(drop=True)
    images = images.assign(p=expit(model.logits(material.test)), steps=steps)
    for of in OUTPUTS:
        started = time.process_time()
        part = attribute(model, material.test, of, steps).join(images)
        part = part.assign(of=of, seconds=time.process_time() - started)
        first = texts.drop_duplicates().head(checked)
        exact = {text: attribute(model, [text], of, REFERENCE)["score"][0] for text in first}
        parts.append(part.assign(reference=texts.map(exact).astype(float)))
    captions = pd.concat(parts, ignore_index=True).assign(commit=provenance.stamp()["commit"])
    write_whole(file, lambda part: captions.to_parquet(part, index=False))
    return captions


def attributions(
    corpus: AnyCorpus, captioners: list[str], classifier: str, seeds: list[int]
) -> tuple[pd.DataFrame, ...]:
    """Scores (a row a run and output, with `source`), words (a row a word of a run) and quoted examples.

    Real captions: the papers' splits of all images; all computed now, in minutes, unless all are recorded.
    The embedded corpus: a small set of images and a brief recipe.
    """
    if len(captioners) < 2:
        raise RelicError(f"captioners {captioners}", expected="two or more, to be compared")
    how = {"split": "upstream"}
    if corpus.synthetic:  # so many images, or as many as balanced classes have
        most = 2 * min(corpus.label_counts(corpus.covered).values())
        how = {"size": min(SMALL, most), "recipe": BRIEF[classifier]}
    wanted = grid(corpus, captioner=captioners, classifier=classifier, seed=seeds, **how)
    table = recorded("scores")
    rows, missing = match(corpus, wanted, table[table["steps"] == STEPS[classifier]])
    if not missing:
        tables = (recorded(part) for part in ("scores", "words", "examples"))
        return tuple(t[t["key"].isin(rows["key"])].assign(source=RECORDED) for t in tables)
    done = {run: attributed(corpus, run, checked=CHECKED) for run in wanted}
    return tuple(table(done).assign(source=OWN) for table in (scores, words, examples))


def publish(done: Attributed, quote: bool = False) -> pd.DataFrame:
    """Add real runs to `results/attribution/`, `quote`: and their examples; returns all scores recorded now."""
    done = {run: captions for run, captions in done.items() if "synthetic" not in run.corpus}
    if not done:
        raise RelicError("no attributions of real captions", mend="relic attribute --corpus real")
    for part, frame in {"scores": scores(done), "words": words(done)}.items():
        if (home(RECORD) / f"{part}.csv").exists():
            before, run = recorded(part), ["key", "steps"]  # computed again: replaces the old
            old = before.set_index(run).index.isin(frame.set_index(run).index)
            frame = pd.concat([before[~old], frame], ignore_index=True)
        order = "classifier captioner seed key steps of word".split()
        write_record(RECORD, part, frame.sort_values([name for name in order if name in frame]))
    if quote:
        write_record(RECORD, "examples", examples(done))
    return recorded("scores")


def recorded(part: str) -> pd.DataFrame:
    """Recorded `scores`, `words` or `examples`. Text stays text: `null` is a word, and `true` a kind of labels."""
    kinds = dict.fromkeys([*TEXT, "key", "of", "word", "commit"], "str")
    gaps = {"keep_default_na": False, "na_values": {"apart": [""]}}
    return read_table(RECORD, part, dtype=kinds, **gaps)


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
            row = vars(run) | {"key": run.key, "of": of, "steps": part["steps"].iloc[0]}
            row |= {"n_class1": len(one), "class1": one.mean()}
            row |= {"n_class0": len(zero), "class0": -zero.mean()}
            row |= {"sum": one.mean() - zero.mean(), "n_test": len(part)}
            row |= {"max_delta": part["delta"].abs().max(), "n_checked": len(checked)}
            row["apart"] = 100 * gap / checked["reference"].abs().mean()
            rows.append(row | part[["seconds", "commit"]].iloc[0].to_dict())
    return pd.DataFrame(rows)


def words(done: Attributed) -> pd.DataFrame:
    """Mean attribution (log-odds) of each word over the captions that have it, with a standard error, by run.

    A caption counts once a word, with the mean over its occurrences. Equal captions have equal
    attributions, so the standard error takes them as one cluster. `share` is the word's part of the sum of
    absolute attributions over all captions.
    """
    frames = []
    for run, captions in done.items():
        said = captions[captions["of"] == "logit"]
        long = said.assign(text=said["words"].map(" ".join)).rename(columns={"words": "word"})
        long = long.explode(["word", "attributions"]).astype({"attributions": float})
        once = long.groupby(["word", "image_id", "text"])["attributions"].mean()
        table = once.groupby("word").agg(captions_with="size", mean="mean")
        off = (once - table["mean"]).groupby(["word", "text"]).sum().groupby("word")
        n = table["different"] = off.size()
        table["se"] = np.sqrt(off.agg(lambda sums: (sums**2).sum()) * n / (n - 1))
        table["se"] /= table["captions_with"]
        weight = long["attributions"].abs().groupby(long["word"]).sum()
        table["share"] = weight / weight.sum()
        which = {"captioner": run.captioner, "seed": run.seed, "key": run.key}
        table = table[n >= FEWEST].reset_index()
        frames.append(table.assign(**which, steps=captions["steps"].iloc[0]))
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


def coloured(captions: pd.DataFrame, classes: tuple[str, str], caption: str) -> str:
    """HTML of captions (`examples`) as in figure 1 of Türk et al. (2023); all text is escaped."""
    environment = Environment(autoescape=True, trim_blocks=True, undefined=StrictUndefined)
    template = environment.from_string(paths.COLOURED.read_text(encoding="utf-8"))
    shown = {"captions": captions.to_dict("records"), "classes": classes, "caption": caption}
    return template.render(shown | MARKED, names=display_names(), number=number)
