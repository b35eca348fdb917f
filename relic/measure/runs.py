"""A run: one classifier trained on one set of captions and scored. Same description, same result.

A description is plain values; its key leaves out what has its default, so that a field added later
does not change the keys of runs already stored. The fingerprint covers exactly what the run reads.
"""

import hashlib
import io
import json
import os
import time
import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import NamedTuple, get_args

import numpy as np
import pandas as pd
from scipy.special import expit

from relic.data.corpus import Corpus
from relic.errors import RelicError
from relic.measure import inputs
from relic.measure.classifiers.base import Classifier, Name, TextForm, classifier, kind_of
from relic.measure.inputs import Reading, Side, Vocabulary
from relic.measure.score import fit_temperature, lic_score, summary
from relic.measure.splits import Policy, split
from relic.whole import write_whole

PIPELINE = 1  # raised when a change in material, text, splits or score moves numbers
FORMAT = "relic run 1"  # of a file in a store
COLUMNS = {"image_id": "i8", "y": "u1", "p": "f8", "seen_raw": "?", "seen_masked": "?"}
HELD_OUT = 0.1  # share of the training captions that the temperature is fitted on


@dataclass(frozen=True)
class Run:
    """What is trained on what."""

    corpus: str
    attribute: str
    captioner: str
    classifier: Name
    side: Side = "model"
    caption_set: str = "standard"  # of a captioner: standard, th10, masked_person, ...
    labels: str = "true"  # true, permuted, or noisy:RATE
    size: int = 0  # images of the balanced set; 0 is all there are
    caption_index: int = 0  # which human caption
    vocabulary: Vocabulary = ""  # human captions only; none keeps every word
    split: Policy = "paired"
    seed: int = 0
    recipe: str = ""
    batching: str = ""
    encoder: str = ""
    calibrated: bool = False  # also fit a temperature on held-out training captions
    fingerprint: str = ""  # of labels, captions and vocabulary that the run reads
    code: str = ""  # versions of pipeline and classifier

    @property
    def key(self) -> str:
        """Name of the run in a store."""
        stated = {name: value for name, value in vars(self).items() if value != _DEFAULTS[name]}
        return hashlib.sha256(json.dumps(stated, sort_keys=True).encode()).hexdigest()[:32]

    @property
    def reading(self) -> Reading:
        """Which captions it reads."""
        return Reading(*(getattr(self, name) for name in Reading._fields))

    @property
    def options(self) -> dict[str, str]:
        """How its classifier is made."""
        return {"recipe": self.recipe, "batching": self.batching, "encoder": self.encoder}


_DEFAULTS = {field.name: field.default for field in fields(Run)}


class Material(NamedTuple):
    """Captions of a run as its classifier reads them, split."""

    train: list[str]
    train_classes: np.ndarray
    test: list[str]
    images: pd.DataFrame  # image_id, y, seen_raw, seen_masked of the test side


@dataclass(frozen=True, eq=False)
class Outcome:
    """A finished run: its scores, and what became of each test image."""

    run: Run
    scores: dict
    images: pd.DataFrame  # image_id, y, p, seen_raw, seen_masked


def describe(corpus, captioner: str, classifier: Name, **options) -> Run:
    """A complete description for a corpus, checked before anything is computed.

    Of a corpus that is no `Corpus`, because its captions are not here, without a fingerprint.
    """
    unknown = sorted(set(options) - set(_DEFAULTS))
    if unknown:
        raise RelicError(f"unknown {', '.join(unknown)}", expected=", ".join(_DEFAULTS))
    run = Run(corpus.name, corpus.attribute.name, captioner, classifier, **options)
    kind, human = kind_of(run.classifier), run.side == "human"
    run = replace(
        run,
        vocabulary=(run.vocabulary or "captioner") if human else "",
        caption_index=run.caption_index if human else 0,
        caption_set="standard" if human else run.caption_set,
        recipe=run.recipe or kind.recipes[0],
        batching=run.batching or kind.batchings[0],
        encoder=run.encoder or kind.encoder,
        code=f"{PIPELINE}.{kind.version}",
    )
    if not isinstance(corpus, Corpus):
        return run
    _check(run, corpus)
    return replace(run, fingerprint=inputs.fingerprint(corpus, run.reading, run.split))


def _check(run: Run, corpus: Corpus) -> None:
    where = f"{corpus.name}, {corpus.attribute.name}"
    if run.captioner not in corpus.captioners:
        expected = ", ".join(corpus.captioners)
        raise RelicError(f"{where}: unknown captioner {run.captioner!r}", expected=expected)
    classifier(run.classifier, **run.options)  # refuses wrong options
    for field in fields(Run):
        allowed, value = get_args(field.type), getattr(run, field.name)  # of a Literal
        if allowed and value not in allowed:
            raise RelicError(f"{field.name} {value!r}", expected=", ".join(filter(None, allowed)))
    if run.side == "human" and run.split == "upstream" and not corpus.human_row_order:
        raise RelicError(
            f"{where}: `upstream` splits of human captions need the row order of upstream's file",
            expected="bias_data/Human_Ann/, or split paired or unpaired",
            mend="relic data fetch DIR",
        )
    _classes(corpus, run)


def _classes(corpus: Corpus, run: Run) -> pd.Series:
    """Classes to learn of the images that a run may use, in row order."""
    seed = run.seed if run.size else 0  # only a sample hangs on it
    usable = inputs.usable_labels(corpus, run.reading, run.split, run.size, seed)
    return inputs.learned_classes(usable, run.labels, run.seed)


def prepare(corpus: Corpus, run: Run) -> Material:
    """Split, and mark what of the test side the training side holds already."""
    raw, groups = inputs.raw_captions(corpus, run.reading), None
    form = kind_of(run.classifier).text_form
    masked = inputs.read_captions(corpus, run.reading, form)
    if run.split == "grouped":
        groups = inputs.read_captions(corpus, inputs.grouped_by(run.reading), TextForm())
    classes = _classes(corpus, run)  # before the split, which balances them
    sides = split(classes, run.split, run.seed, groups=groups)
    at = [raw.index.get_indexer(side) for side in (sides.train, sides.test)]
    said, read = ([texts.to_numpy()[rows].tolist() for rows in at] for texts in (raw, masked))
    images = {"image_id": sides.test, "y": classes.loc[sides.test].to_numpy()}
    for column, (train, test) in {"seen_raw": said, "seen_masked": read}.items():
        known = set(train)
        images[column] = [caption in known for caption in test]
    return Material(read[0], classes.loc[sides.train].to_numpy(), read[1], pd.DataFrame(images))


def fit(corpus: Corpus, run: Run) -> tuple[Classifier, Material]:
    """The trained classifier of a run, and what it read."""
    material, model = prepare(corpus, run), classifier(run.classifier, **run.options)
    return model.fit(material.train, material.train_classes, run.seed), material


def compute(corpus: Corpus, run: Run) -> Outcome:
    """Train and score."""
    started = time.process_time()
    model, material = fit(corpus, run)
    logits = model.logits(material.test)
    images = material.images.assign(p=expit(logits))
    scores = summary(images["p"], images["y"], images["seen_raw"], images["seen_masked"])
    if run.calibrated:
        temperature = held_out_temperature(run, material)
        scaled = lic_score(expit(logits / temperature), images["y"].to_numpy())
        scores |= {"temperature": temperature, "scaled_score": scaled}
    scores |= {"n_train": len(material.train), "n_test": len(material.test)}
    return Outcome(run, scores | {"seconds": time.process_time() - started}, images)


def held_out_temperature(run: Run, material: Material) -> float:
    """Fit on nine tenths of the training captions, then the temperature on the last tenth."""
    order = np.random.default_rng([run.seed, 11]).permutation(len(material.train))
    cut = round(len(order) * (1 - HELD_OUT))
    texts, classes = [material.train[i] for i in order], material.train_classes[order]
    model = classifier(run.classifier, **run.options).fit(texts[:cut], classes[:cut], run.seed)
    return fit_temperature(model.logits(texts[cut:]), classes[cut:])


def train(
    corpus: Corpus, captioner: str, classifier: Name = "linear", seed: int = 0, **options
) -> Outcome:
    """One classifier on one split: its scores, and its guess for each test image."""
    return compute(corpus, describe(corpus, captioner, classifier, seed=seed, **options))


class Store:
    """Finished runs in a directory, one file each, safe to share between processes and machines.

    A file is a line of JSON (description, scores, size of the rest) and the per-image outcomes as a
    NumPy array. It is written under another name and renamed, so it is there whole or not at all; there
    are no locks. A file that is cut short, or is not ours, is ignored with a warning and computed again.
    """

    def __init__(self, directory: str | Path):
        self.directory = Path(directory).expanduser()
        if self.directory.exists() and not self.directory.is_dir():
            raise RelicError(f"{self.directory} is a file", expected="a directory for runs")

    def file(self, run: Run) -> Path:
        """Where a run is kept: 256 folders, so that none grows too large."""
        return self.directory / run.key[:2] / f"{run.key}.run"

    def put(self, outcome: Outcome) -> None:
        """Keep a run. Two processes that write the same run write the same thing: the last stays."""
        columns, stream = [outcome.images[c].to_numpy() for c in COLUMNS], io.BytesIO()
        np.save(stream, np.asarray(np.rec.fromarrays(columns, dtype=list(COLUMNS.items()))))
        payload = stream.getvalue()
        head = {"format": FORMAT, "run": asdict(outcome.run), "scores": outcome.scores}
        line = json.dumps(head | {"bytes": len(payload)}).encode() + b"\n"
        write_whole(self.file(outcome.run), line + payload)

    def get(self, run: Run) -> Outcome | None:
        """A finished run with its per-image outcomes, or None."""
        stored = self._read(self.file(run), images=True)
        return Outcome(run, stored["scores"], stored["images"]) if stored else None

    def missing(self, runs: Iterable[Run]) -> list[Run]:
        """Runs that are not finished yet, each once."""
        return [run for run in dict.fromkeys(runs) if self._read(self.file(run)) is None]

    def frame(self, runs: Iterable[Run] | None = None) -> pd.DataFrame:
        """Descriptions, scores and keys of finished runs, one row each; all of them by default."""
        files = self.directory.glob("??/*.run") if runs is None else map(self.file, runs)
        heads = {file.stem: self._read(file) for file in sorted(files)}
        rows = [head["run"] | head["scores"] | {"key": key} for key, head in heads.items() if head]
        return pd.DataFrame(rows)

    @staticmethod
    def _read(file: Path, images: bool = False) -> dict | None:
        """The first line of a whole file of ours, and `images` if asked for.

        None for a file that is not there and, with a warning, for anything else.
        """
        try:
            with file.open("rb") as stream:
                line, size = stream.readline(), os.fstat(stream.fileno()).st_size
                head = json.loads(line)
                if head["format"] != FORMAT or size != len(line) + head["bytes"]:
                    raise ValueError("cut short or of another format")
                if Run(**head["run"]).key != file.stem:
                    raise ValueError("its description does not fit its name")
                if images:
                    array = np.load(stream, allow_pickle=False)
                    head["images"] = pd.DataFrame({column: array[column] for column in COLUMNS})
            return head
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
            warnings.warn(f"{file} is ignored, it will be computed again: {error}", stacklevel=3)
            return None
