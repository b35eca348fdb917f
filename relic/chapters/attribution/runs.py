"""Attributed runs: recorded, else in the store of runs, else trained and attributed now.

A run's file holds every test caption with its words and their attributions, so it stays on the machine.
`results/attribution/` gets numbers and single words: `scores.csv`, a row a run and output; `words.csv`,
a row a word of a run; and a few quoted captions, `examples.csv`.
"""

import time
import warnings
from itertools import product
from pathlib import Path

import pandas as pd
from scipy.special import expit

from relic import paths, provenance
from relic.chapters.attribution.gradients import OUTPUTS, REFERENCE, STEPS, attribute
from relic.chapters.attribution.tables import Attributed, examples, scores, words
from relic.data.corpus import Corpus
from relic.errors import RelicError
from relic.measure.runs import Run, complete, describe, fit
from relic.records.runs import DESCRIPTION, OWN, RECORDED, TEXT, UNCHANGED
from relic.records.serve import GET, AnyCorpus
from relic.records.tables import home, write_record
from relic.whole import write_whole

RECORD = "attribution"
VERSION = 4  # raised when a change moves attributions
PAIR = {True: ["planted_none", "planted_lot"], False: ["nic", "nic_plus", "nic_equalizer"]}
BRIEF = {"lstm": "1e-3x4", "bert-ft": "1e-4x3"}  # recipes that learn a small set in seconds
SMALL = 1000  # images of the embedded corpus that a classifier is trained and attributed on
CHECKED = 1  # captions of a run computed for a page that are also attributed with 500 steps


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
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Scores (a row a run and output, with `source`), words (a row a word of a run) and quoted examples.

    Real captions: the papers' splits of all images; all computed now, in minutes, unless all are recorded.
    The embedded corpus: a small set of images and a brief recipe.
    """
    if len(captioners) < 2:
        raise RelicError(f"captioners {captioners}", expected="two or more, to be compared")
    wanted = [_described(corpus, classifier, *each) for each in product(captioners, seeds)]
    known = read_recorded("scores")
    known = known[known["steps"] == STEPS[classifier]].drop_duplicates("key")
    asked = pd.DataFrame([vars(run) for run in wanted])[[*UNCHANGED, "fingerprint"]]
    rows = asked.merge(known, "left", UNCHANGED, suffixes=("", "_known"))
    same = (rows["fingerprint"] == "") | (rows["fingerprint"] == rows["fingerprint_known"])
    keys = rows["key"].where(same)
    if keys.notna().all():
        tables = (read_recorded(part) for part in ("scores", "words", "examples"))
        return tuple(t[t["key"].isin(keys)].assign(source=RECORDED) for t in tables)
    if not isinstance(corpus, Corpus):
        first = wanted[keys.isna().argmax()]
        listed = (
            known["attribute"] + " " + known["captioner"] + " seed " + known["seed"].astype(str)
        )
        raise RelicError(
            f"{first.attribute}, {first.captioner}, {classifier}, seed {first.seed}: no attributions "
            "are recorded, and the real captions are not here to compute them",
            expected=f"recorded ones of {classifier} ({'; '.join(listed)}), or corpus embedded",
            mend=GET,
        )
    done = {run: attributed(corpus, run, checked=CHECKED) for run in wanted}
    return tuple(table(done).assign(source=OWN) for table in (scores, words, examples))


def _described(corpus: AnyCorpus, classifier: str, captioner: str, seed: int) -> Run:
    """A run as a page asks for it; its fingerprint is empty where the captions are not here."""
    if not isinstance(corpus, Corpus):
        place = corpus.name, corpus.attribute.name
        return complete(*place, captioner, classifier, seed=seed, split="upstream")
    how = {"split": "upstream"}
    if corpus.synthetic:  # so many images, or as many as balanced classes have
        most = 2 * min(corpus.label_counts(corpus.covered).values())
        how = {"size": min(SMALL, most), "recipe": BRIEF[classifier]}
    return describe(corpus, captioner, classifier, seed=seed, **how)


def publish(done: Attributed, quote: bool = False) -> pd.DataFrame:
    """Add real runs to `results/attribution/`, `quote`: and their examples; returns all scores recorded now."""
    done = {run: captions for run, captions in done.items() if "synthetic" not in run.corpus}
    if not done:
        raise RelicError("no attributions of real captions", mend="relic attribute --corpus real")
    for part, frame in {"scores": scores(done), "words": words(done)}.items():
        known, same = read_recorded(part), ["key", "steps"]  # computed again: replaces the old
        old = known.set_index(same).index.isin(frame.set_index(same).index)
        frame = pd.concat([known[~old], frame], ignore_index=True)
        order = "classifier captioner seed key steps of word".split()
        write_record(RECORD, part, frame.sort_values([name for name in order if name in frame]))
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
