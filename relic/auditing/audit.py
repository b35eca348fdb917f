"""An audit: everything measured on somebody's captions. Its report is made by `report.py`."""

import html
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path

import pandas as pd

from relic import provenance
from relic.auditing import details, report
from relic.auditing.cautions import Caution, cautions
from relic.auditing.inputs import Audited, Inputs, assemble, attribute_of, audited, checked_name
from relic.auditing.measure import MARKS, Measured, measure
from relic.auditing.readers import read_captions, read_human, read_labels
from relic.auditing.tables import Table
from relic.data.attribute import Attribute, known_attributes
from relic.data.corpus import is_text
from relic.errors import RelicError
from relic.measure.runs import describe
from relic.measure.splits import PAPER_SEEDS
from relic.measure.store import Store

Files = str | Path | Sequence[str | Path]
FORMATS = ("html", "md", "json", "csv")


@dataclass(frozen=True, eq=False)
class Part:
    """One attribute: what was read, measured and warned of."""

    audited: Audited
    measured: Measured
    cautions: list[Caution]
    words: pd.DataFrame = field(default_factory=pd.DataFrame)
    naming: pd.DataFrame = field(default_factory=pd.DataFrame)
    scale: pd.DataFrame = field(default_factory=pd.DataFrame)
    gender_score: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def attribute(self) -> Attribute:
        """Gender, race, age, or one's own."""
        return self.audited.corpus.attribute

    @cached_property
    def results(self) -> list[dict]:
        """A plain dict each captioner and classifier; who names the wrong class among them."""
        rows = self.measured.lic.to_dict("records")
        return [row | {"misnamed": self._misnamed(row["captioner"])} for row in rows]

    def _misnamed(self, captioner: str) -> list[dict]:
        if self.naming.empty:
            return []
        own = self.naming[self.naming["captioner"] == captioner].to_dict("records")
        human = self.naming[self.naming["captioner"] == details.direction.HUMAN]
        of_human = dict(zip(human["label"], human["wrong_of_named"], strict=True))
        kept = ("label", "wrong_of_named", "low", "high", "neutral", "images")
        return [
            {k: row[k] for k in kept}
            | {"named": row["right"] + row["wrong"], "human": of_human.get(row["label"])}
            for row in own
        ]


@dataclass(frozen=True, eq=False)
class Audit:
    """What an audit found, a part each attribute. It shows its verdicts; `write` makes the report."""

    parts: list[Part]
    options: dict
    provenance: dict
    accuracy: pd.DataFrame = field(default_factory=pd.DataFrame)
    accuracy_note: str = ""
    left_out: dict[str, str] = field(default_factory=dict)  # attributes that could not be audited

    @property
    def results(self) -> list[dict]:
        """A plain dict each attribute, captioner and classifier, with its sentence."""
        rows = [row for part in self.parts for row in part.results]
        return [row | {"sentence": report.headline(row)} for row in rows]

    @property
    def cautions(self) -> list[str]:
        """What to know before using the numbers."""
        said = (report.caution(each) for part in self.parts for each in part.cautions)
        return list(dict.fromkeys(said))

    def section(self, name: str) -> str:
        """A section of the report as HTML: verdict, cautions, lic, classifier, words, naming, ..."""
        return report.section(self, name)

    @property
    def link(self) -> str:
        """An address that holds the whole HTML report: for a page to offer."""
        return report.address(report.as_html(self), "text/html")

    def write(self, directory: str | Path, formats: Sequence[str] = FORMATS) -> list[Path]:
        """The report's files in a directory; returns their paths."""
        return report.write(self, Path(directory), formats)

    def __getattr__(self, name: str):
        """Of one captioner, attribute and classifier its numbers, too: `found.lic`, `found.verdict`."""
        rows = [] if name.startswith("_") else self.results
        if len(rows) != 1 or name not in rows[0]:
            raise AttributeError(f"no {name!r} in an audit of {len(rows)} results")
        return rows[0][name]

    def __repr__(self) -> str:
        return "\n".join(f"{MARKS[r['verdict']]} {r['sentence']}" for r in self.results)

    def _repr_html_(self) -> str:
        return "".join(f"<p>{html.escape(line)}</p>" for line in repr(self).splitlines())


def audit(
    captions: Files,
    labels: str | Path = "",
    human: str | Path = "",
    attribute: str | Sequence[str] = "",
    *,
    classes: Sequence[str] = (),
    masked_words: str | Path = "",
    also_mask: Sequence[str] = (),
    vocabulary: str | Path = "captioner",
    objects: str | Path = "",
    data: str | Path = "",
    first_sentence: bool = False,
    synthetic: bool = False,
    with_accuracy: bool = True,
    **options,
) -> Audit:
    """Audit captioners by their files: does a classifier guess the attribute more surely than from people's?

    `captions`: a file or several, `NAME=FILE` names a captioner. `labels`, `human`: files. Without labels,
    COCO's for gender, race and age are taken from `data` (RELIC_DATA by default), human captions too. With
    labels of your own and no human captions only LIC_M is measured: that cannot show amplification.
    `options`: classifiers, seeds, split, chance, checks, workers, scheduler, progress, store (`measure`).
    What cannot be audited raises `RelicError`. Runs are kept on disk: a second audit is quick.

    >>> relic.audit("captions.json", "labels.csv", "captions_val2014.json")  # doctest: +SKIP
    ▲ captions amplifies gender bias: LIC 4.5 [2.9, 6.0] (488 test images, 10 splits, linear)
    """
    files = (captions,) if isinstance(captions, str | Path) else tuple(captions)
    inputs = Inputs(
        captions=tuple(map(str, files)),
        labels=str(labels or ""),
        human=str(human or ""),
        classes=tuple(classes),
        masked_words=str(masked_words or ""),
        also_mask=tuple(also_mask),
        vocabulary=str(vocabulary),
        objects=str(objects or ""),
        data=str(data or ""),
        first_sentence=first_sentence,
        synthetic=synthetic,
    )
    reads, left_out = read(inputs, attribute)
    check(reads, options)
    return compute(reads, left_out, with_accuracy=with_accuracy, **options)


def read(
    inputs: Inputs, attribute: str | Sequence[str] = ""
) -> tuple[list[Audited], dict[str, str]]:
    """The files, joined for each attribute; of all that COCO is labelled with, those that can be."""
    wanted = [attribute] if isinstance(attribute, str) and attribute else list(attribute)
    every = not wanted and not inputs.labels
    wanted = wanted or (known_attributes() if every else ["gender"])
    reads, left_out = [], {}
    for name in map(str, wanted):
        try:
            reads.append(audited(Inputs(**vars(inputs) | {"attribute": name}).told()))
        except RelicError as error:
            if not every:
                raise
            left_out[name] = str(error)
    if not reads:
        raise RelicError(next(iter(left_out.values())))
    return reads, left_out


def _listed(classifiers: str | Sequence[str] = "linear") -> list[str]:
    return [classifiers] if isinstance(classifiers, str) else list(classifiers)


def check(reads: list[Audited], options: Mapping) -> None:
    """Describe the first runs: wrong options are told before anything is computed."""
    split = options.get("split", "paired")
    for told in reads:
        sides = ("model", "human") if told.captions_an_image else ("model",)
        for name, side in product(_listed(options.get("classifiers", "linear")), sides):
            about = {"side": side, "split": split, "vocabulary": told.vocabulary}
            describe(told.corpus, told.corpus.captioners[0], name, **about)


def compute(
    reads: list[Audited],
    left_out: dict[str, str] | None = None,
    *,
    with_accuracy: bool = True,
    **options,
) -> Audit:
    """Measure what was read."""
    started, first = time.time(), reads[0]
    with ThreadPoolExecutor(1) as pool:  # Java tokenizes and aligns while classifiers train
        asked = with_accuracy and first.captions_an_image
        described = pool.submit(details.caption_accuracy, first) if asked else None
        parts = [_part(each, measure(each, **options)) for each in reads]
    accuracy, note = described.result() if described else (pd.DataFrame(), "not asked for")
    shown = {
        "classifiers": _listed(options.get("classifiers", "linear")),
        "seeds": list(options.get("seeds", PAPER_SEEDS)),
        "split": options.get("split", "paired"),
        "vocabulary": first.inputs.vocabulary,
        "first_sentence": first.inputs.first_sentence,
        "also_mask": list(first.inputs.also_mask),
        "accuracy": with_accuracy,
        "checks": options.get("checks", True),
    }
    files = {each["role"] + each["sha256"]: each for told in reads for each in told.files}
    made = {"seconds": round(time.time() - started, 1), "files": list(files.values())}
    made |= {"fingerprints": {e.corpus.attribute.name: e.corpus.fingerprint for e in reads}}
    return Audit(parts, shown, provenance.stamp() | made, accuracy, note, left_out or {})


def _part(told: Audited, measured: Measured) -> Part:
    return Part(
        audited=told,
        measured=measured,
        cautions=cautions(told, measured),
        words=details.telling_words(told),
        naming=details.naming(told),
        scale=details.scale(told),
        gender_score=details.gender_score(told) if told.inputs.objects else pd.DataFrame(),
    )


def lic(
    captions: Mapping,
    labels: Mapping,
    human: Mapping | None = None,
    attribute: str | Attribute = "gender",
    *,
    name: str = "captioner",
    vocabulary: str = "captioner",
    **options,
) -> Audit:
    """LIC of captions in memory: `{image: caption}`, `{image: class}`, `{image: [human captions]}`.

    Images may be numbers or names, the same in all three; `"7"` is image 7. `vocabulary`: captioner (the
    words of these captions), human-top-n or none. Options as `measure`; one classifier, `linear` by
    default. Without `human` only LIC_M is measured. Nothing is kept on disk. Captions that are no
    text (None, NaN, numbers) and classes that are not the attribute's raise `RelicError`.

    >>> found = relic.lic(captions, labels, human)  # doctest: +SKIP
    >>> found.lic, found.low, found.high, found.verdict, found.cautions  # doctest: +SKIP
    """
    inputs = Inputs((), attribute=getattr(attribute, "name", str(attribute)), vocabulary=vocabulary)
    about = attribute if isinstance(attribute, Attribute) else attribute_of(inputs)
    _check_texts("captions", captions)
    said = {}
    for image, texts in dict(human or {}).items():
        said[image] = list(texts) if isinstance(texts, list | tuple) else [texts]
        _check_texts(f"human captions of {image!r}", dict(enumerate(said[image])))
    told = assemble(
        inputs,
        about,
        [(checked_name(name), read_captions(_table("captions", captions, "caption")))],
        read_labels(_table("labels", labels, "label"), about),
        read_human(_table("human", said, "captions")) if said else None,
    )
    given = {"progress": False, "checks": False} | options
    check([told], given)
    with tempfile.TemporaryDirectory() as scratch:
        return compute([told], with_accuracy=False, **{"store": Store(scratch)} | given)


def _table(what: str, values: Mapping, column: str) -> Table:
    if not values:
        raise RelicError(f"no {what}", expected="a dict by image")
    plain = (getattr(image, "item", lambda image=image: image)() for image in values)  # of NumPy
    rows = [{"image_id": i, column: v} for i, v in zip(plain, values.values(), strict=True)]
    return Table(Path(what), "", ["image_id", column], rows, kind="mapping")


def _check_texts(what: str, values: Mapping) -> None:
    wrong = [f"{image!r}: {value!r:.40}" for image, value in values.items() if not is_text(value)]
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        found = f"{what} that are no text: {', '.join(wrong[:3])}{more}"
        raise RelicError(found, expected="captions as str; leave an image out that has none")
