"""An audit: everything measured on somebody's captions, and its answer in words."""

import html
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from relic import provenance
from relic.auditing import details
from relic.auditing.cautions import cautions
from relic.auditing.inputs import Inputs, assemble, attribute_of, audited
from relic.auditing.measure import SYMBOLS, measure
from relic.auditing.readers import Rows
from relic.auditing.result import Result, sentence
from relic.auditing.write import write
from relic.data.attribute import Attribute
from relic.errors import RelicError
from relic.measure.splits import PAPER_SEEDS
from relic.measure.store import Store


class Audit(Result):
    """A result that can be written as a report."""

    def write(self, directory: str | Path, formats: Sequence[str] = ("html", "md", "json", "csv")):
        """The report's files in a directory; returns their paths."""
        return write(self, Path(directory), formats)


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
        measured = measure(told, **options)
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
            **provenance.stamp(),
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
        found = measure(held, store=Store(scratch), **options).lic
    row = found.iloc[0].to_dict()
    return LIC(**{k: row[k] for k in LIC.__dataclass_fields__ if k in row}, sentence=sentence(row))


def _rows(what: str, rows: list[tuple], columns: list[str]) -> Rows:
    if not rows:
        raise RelicError(f"no {what}", expected="a dict by image")
    return Rows(pd.DataFrame(rows, columns=columns), [], Path(what), "")
