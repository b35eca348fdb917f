"""An audit: everything measured on somebody's captions, and its answer in words."""

import html
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from relic import provenance
from relic.attribute import Attribute
from relic.auditing import details
from relic.auditing.cautions import cautions
from relic.auditing.inputs import Audited, Inputs, assemble, attribute_of, audited
from relic.auditing.measure import (
    AMPLIFIES,
    DOES_NOT,
    POWER,
    SYMBOLS,
    Held,
    Measured,
    measure,
    source_of,
)
from relic.auditing.readers import Rows
from relic.claims import MARGIN
from relic.errors import RelicError
from relic.report import minus
from relic.splits import PAPER_SEEDS
from relic.store import Store


@dataclass(frozen=True, eq=False)
class Audit:
    """What was read, measured and warned of. `write` makes the report."""

    audited: Audited
    measured: Measured
    options: dict
    cautions: list[str]
    words: pd.DataFrame = field(default_factory=pd.DataFrame)
    naming: pd.DataFrame = field(default_factory=pd.DataFrame)
    accuracy: pd.DataFrame = field(default_factory=pd.DataFrame)
    published: pd.DataFrame = field(default_factory=pd.DataFrame)
    published_share: float = 0.0
    gender_score: pd.DataFrame = field(default_factory=pd.DataFrame)
    provenance: dict = field(default_factory=dict)

    @property
    def results(self) -> list[dict]:
        """A plain dict each captioner and classifier, with its sentence."""
        rows = self.measured.lic.to_dict("records")
        return [row | {"sentence": sentence(row)} for row in rows]

    def write(self, directory: str | Path, formats: Sequence[str] = ("html", "md", "json", "csv")):
        """The report's files in a directory; returns their paths."""
        from relic.auditing.write import write

        return write(self, Path(directory), formats)

    def __repr__(self) -> str:
        return "\n".join(f"{SYMBOLS[r['verdict']]} {r['sentence']}" for r in self.results)

    def _repr_html_(self) -> str:
        return "".join(f"<p>{html.escape(line)}</p>" for line in repr(self).splitlines())


def sentence(row: Mapping) -> str:
    """The verdict on one captioner in words."""
    size = f"{_interval(row)}, {row['n_test']:.0f} test images, {row['n_seeds']} splits, {row['classifier']})"  # fmt: skip
    size = size.replace("1 splits", "1 split") if row["n_seeds"] == 1 else size
    who, what = row["captioner"], row["attribute"]
    if row["verdict"] == AMPLIFIES:
        return f"{who} amplifies {what}: LIC {_points(row['lic'])} ({size}."
    if row["verdict"] == DOES_NOT:
        less = " It gives less away than humans do." if row["high"] < 0 else ""
        return f"{who} does not amplify {what} by {MARGIN:g} point or more: LIC {_points(row['lic'])} ({size}.{less}"  # fmt: skip
    least = row["detectable"]
    so = "" if np.isnan(least) else f" With this spread a LIC of {least:.1f} would be found in {100 * POWER:.0f} % of audits."  # fmt: skip
    return f"Undecided whether {who} amplifies {what}: LIC {_points(row['lic'])} ({size}.{so}"


def _points(value: float) -> str:
    return minus(f"{value:.1f}")


def _interval(row: Mapping) -> str:
    if np.isnan(row["low"]):
        return "no interval"
    return f"95 % {_points(row['low'])} to {_points(row['high'])}"


def audit(
    captions: str | Sequence[str],
    labels: str,
    human: str,
    attribute: str = "gender",
    *,
    classes: Sequence[str] = (),
    masked_words: str = "",
    vocabulary: str = "captioner",
    objects: str = "",
    synthetic: bool = False,
    with_accuracy: bool = True,
    **options,
) -> Audit:
    """Audit captioners by their files; options as `measure`: classifiers, seeds, split, workers, ...

    >>> relic.audit("captions.json", "labels.csv", "captions_val2014.json")  # doctest: +SKIP
    ▲ captions amplifies gender: LIC 4.5 (95 % 2.9 to 6.0, 488 test images, 10 splits, linear).
    """
    files = (captions,) if isinstance(captions, str | Path) else tuple(captions)
    inputs = Inputs(
        captions=tuple(map(str, files)), labels=str(labels), human=str(human), attribute=str(attribute),
        classes=tuple(classes), masked_words=str(masked_words or ""), vocabulary=str(vocabulary),
        objects=str(objects or ""), synthetic=synthetic,
    )  # fmt: skip
    started, told = time.time(), audited(inputs.told())
    with ThreadPoolExecutor(1) as pool:  # Java tokenizes and aligns while classifiers train
        described = pool.submit(details.caption_accuracy, told) if with_accuracy else None
        measured = measure(told, source_of(inputs), **options)
    classifiers = list(options.get("classifiers", ("linear",)))
    seeds = list(options.get("seeds", PAPER_SEEDS))
    published, share = details.published_beside(told, classifiers)
    return Audit(
        audited=told,
        measured=measured,
        options={"classifiers": classifiers, "seeds": seeds, "split": options.get("split", "paired")},
        cautions=cautions(told, measured),
        words=details.telling_words(told, seeds),
        naming=details.naming(told),
        accuracy=described.result() if described else pd.DataFrame(),
        published=published,
        published_share=share,
        gender_score=details.gender_score(told) if inputs.objects else pd.DataFrame(),
        provenance={
            **provenance.commit(), "versions": provenance.versions(), "device": provenance.device(),
            "seconds": round(time.time() - started, 1), "files": told.files,
            "fingerprint": told.corpus.fingerprint,
        },
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class LIC:
    """LIC of one captioner."""

    captioner: str
    attribute: str
    classifier: str
    n_images: int
    n_test: int
    n_seeds: int
    lic_model: float
    lic_data: float
    lic: float
    low: float
    high: float
    verdict: str
    unseen: dict
    sentence: str

    def __repr__(self) -> str:
        return f"{SYMBOLS[self.verdict]} {self.sentence}"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}</p>"


def lic(
    captions: Mapping, labels: Mapping, human: Mapping, attribute: str | Attribute = "gender", *,
    name: str = "captioner", **options,
) -> LIC:  # fmt: skip
    """LIC of captions in memory: `{image: caption}`, `{image: class}`, `{image: [human captions]}`.

    Options as `measure`: classifiers (one), seeds, split. Nothing is kept on disk.
    """
    about = attribute if isinstance(attribute, Attribute) else attribute_of(Inputs((), "", "", str(attribute)))  # fmt: skip
    said = [(image, index, text) for image, texts in dict(human).items()
            for index, text in enumerate([texts] if isinstance(texts, str) else texts)]  # fmt: skip
    classes = {image: about.class_index(label) for image, label in dict(labels).items()}
    wrong = sorted({str(labels[image]) for image, value in classes.items() if value is None})
    if wrong:
        raise RelicError(f"labels {', '.join(wrong[:5])}", expected=" or ".join(about.classes))
    held = assemble(
        Inputs((), "", "", about.name), about,
        [(name, _rows("captions", list(dict(captions).items()), ["image_id", "caption"]))],
        _rows("labels", list(classes.items()), ["image_id", "label"]),
        _rows("human", said, ["image_id", "caption_index", "caption"]),
    )  # fmt: skip
    options = {"progress": False, "chance": False} | options
    with tempfile.TemporaryDirectory() as scratch:
        found = measure(held, Held(held.corpus), store=Store(scratch), **options).lic
    row = found.iloc[0].to_dict()
    return LIC(**{k: row[k] for k in LIC.__dataclass_fields__ if k in row}, sentence=sentence(row))


def _rows(what: str, rows: list[tuple], columns: list[str]) -> Rows:
    if not rows:
        raise RelicError(f"no {what}", expected="a dict by image")
    return Rows(pd.DataFrame(rows, columns=columns), [], Path(what), "")
