"""An audit: everything measured on somebody's captions. Its report is made by `report.py`."""

import html
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from pathlib import Path

import pandas as pd

from relic import provenance
from relic.auditing import details, report
from relic.auditing.inputs import Audited, Inputs, audited
from relic.auditing.measure import MARKS, Choices, measure, plan
from relic.data.attribute import SHIPPED, Attribute
from relic.data.corpus import is_text
from relic.errors import RelicError
from relic.measure.runs import Store


@dataclass(frozen=True, eq=False)
class Audit:
    """What an audit found, a part each attribute. It shows its verdicts; `write` makes the report."""

    parts: list[Audited]
    options: dict
    provenance: dict
    accuracy: pd.DataFrame
    accuracy_note: str
    left_out: dict[str, str]  # attributes that could not be audited

    @property
    def results(self) -> list[dict]:
        """A plain dict each attribute, captioner and classifier, with its sentence."""
        rows = [row for part in self.parts for row in details.results(part)]
        return [row | {"sentence": report.sentence("headline", row)} for row in rows]

    @property
    def cautions(self) -> list[str]:
        """What to know before using the numbers."""
        facts = [fact for part in self.parts for fact in part.cautions.items()]
        return list(dict.fromkeys(report.sentence("caution", *fact) for fact in facts))

    def section(self, name: str) -> str:
        """A section of the report as HTML: verdict, cautions, lic, classifier, words, naming, ..."""
        return report.section(self, name)

    @property
    def link(self) -> str:
        """An address that holds the whole HTML report: for a page to offer."""
        return report.address(report.as_html(self), "text/html")

    def write(self, directory: str | Path, formats: Sequence[str] = tuple(report.WRITERS)):
        """The report's files in a directory; returns their paths."""
        return report.write(self, Path(directory), formats)

    def __getattr__(self, name: str):
        """Of one captioner, attribute and classifier its numbers, too: `audit.lic`, `audit.verdict`."""
        rows = [] if name.startswith("_") else self.results
        if len(rows) != 1 or name not in rows[0]:
            raise AttributeError(f"no {name!r} in an audit of {len(rows)} results")
        return rows[0][name]

    def __repr__(self) -> str:
        return "\n".join(f"{MARKS[r['verdict']]} {r['sentence']}" for r in self.results)

    def _repr_html_(self) -> str:
        return "".join(f"<p>{html.escape(line)}</p>" for line in repr(self).splitlines())


def audit(
    captions: str | Path | Sequence[str | Path],
    labels: str | Path = "",
    human: str | Path = "",
    attribute: str | Sequence[str] = "",
    **options,
) -> Audit:
    """Audit captioners by their files: does a classifier guess the attribute more surely than from people's?

    `captions`: a file or several, `NAME=FILE` names a captioner. `labels`, `human`: files. Without labels,
    COCO's for gender, race and age are taken from `data` (RELIC_DATA by default), human captions too. With
    labels of your own and no human captions only LIC_M is measured: that cannot show amplification.
    `options`: classes, masked_words, also_mask, vocabulary, objects, data, first_sentence (`Inputs`);
    classifiers, seeds, split, chance, checks, with_accuracy, workers, scheduler, progress, store (`Choices`).
    What cannot be audited raises `RelicError`. Runs are kept on disk: a second audit is quick.

    >>> relic.audit("captions.json", "labels.csv", "captions_val2014.json")  # doctest: +SKIP
    ▲ captions amplifies gender bias: LIC 4.5 [2.9, 6.0] (488 test images, 10 splits, linear)
    """
    of_files = {each.name for each in fields(Inputs)} & set(options)
    inputs = Inputs(captions, labels, human, **{name: options.pop(name) for name in of_files})
    how = Choices(**options)  # an unknown option is told before anything is read
    return compute(*read(inputs, attribute), how)


def read(
    inputs: Inputs, attribute: str | Sequence[str] = ""
) -> tuple[list[Audited], dict[str, str]]:
    """The files, joined for each attribute; of all that COCO is labelled with, those that can be."""
    wanted = [attribute] if isinstance(attribute, str) and attribute else list(attribute)
    every = not wanted and not inputs.labels
    wanted = wanted or (SHIPPED if every else ["gender"])
    reads, left_out = [], {}
    for name in map(str, wanted):
        try:
            reads.append(audited(replace(inputs, attribute=name)))
        except RelicError as error:
            if not every:
                raise
            left_out[name] = str(error)
    if not reads:
        raise RelicError(next(iter(left_out.values())))
    return reads, left_out


def compute(reads: list[Audited], left_out: dict[str, str], how: Choices) -> Audit:
    """Measure what was read."""
    started, first = time.time(), reads[0]
    for part in reads:
        plan(part, how)  # wrong choices are told before anything is computed
    with ThreadPoolExecutor(1) as pool:  # Java tokenizes and aligns while classifiers train
        asked = how.with_accuracy and first.captions_an_image
        described = pool.submit(details.caption_accuracy, first) if asked else None
        parts = [_part(part, how) for part in reads]
    inputs, options = first.inputs, {"classifiers": how.listed, "seeds": list(how.seeds)}
    options |= {"split": how.split, "vocabulary": inputs.vocabulary}
    options |= {"first_sentence": inputs.first_sentence, "also_mask": list(inputs.also_mask)}
    options |= {"accuracy": how.with_accuracy, "checks": how.checks}
    files = {file["role"] + file["sha256"]: file for part in reads for file in part.files}
    rests_on = {"seconds": round(time.time() - started, 1), "files": list(files.values())}
    rests_on |= {"fingerprints": {part.attribute.name: part.corpus.fingerprint for part in reads}}
    accuracy, note = described.result() if described else (pd.DataFrame(), "")
    return Audit(parts, options, provenance.stamp() | rests_on, accuracy, note, left_out)


def _part(read: Audited, how: Choices) -> Audited:
    named = details.naming(read)  # first: its draws are large, and gone before anything is kept
    tables = measure(read, how) | {
        "words": details.telling_words(read),
        "naming": named,
        "recorded": details.recorded(read),
        "gender_score": details.gender_score(read) if read.inputs.objects else pd.DataFrame(),
    }
    return replace(read, tables=tables, cautions=details.cautions(read, tables["lic"]))


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
    words of these captions), human-top-n or none. Options as `Choices`; one classifier, `linear` by
    default. Without `human` only LIC_M is measured. Nothing is kept on disk. Captions that are no
    text (None, NaN, numbers) and classes that are not the attribute's raise `RelicError`.

    >>> audit = relic.lic(captions, labels, human)  # doctest: +SKIP
    >>> audit.lic, audit.low, audit.high, audit.verdict, audit.cautions  # doctest: +SKIP
    """
    _check_texts("captions", captions)
    for image, texts in (human or {}).items():
        several = texts if isinstance(texts, list | tuple) else [texts]
        _check_texts(f"human captions of {image!r}", dict(enumerate(several)))
    with tempfile.TemporaryDirectory() as scratch:
        if isinstance(attribute, Attribute):  # JSON is YAML, too
            content, attribute = attribute.model_dump_json(), str(Path(scratch, "attribute.yml"))
            Path(attribute).write_text(content, encoding="utf-8")
        files = {"captions": captions, "labels": labels} | ({"human": human} if human else {})
        for what, values in files.items():
            files[what] = str(Path(scratch, f"{what}.json"))
            plain = {str(i): None if value != value else value for i, value in values.items()}
            Path(files[what]).write_text(json.dumps(plain, default=str))
        quiet = {"progress": False, "checks": False, "with_accuracy": False}
        options = quiet | {"store": Store(Path(scratch, "runs"))} | options
        files["captions"] = {name: files["captions"]}
        try:
            return audit(**files, attribute=attribute, vocabulary=vocabulary, **options)
        except RelicError as error:  # our files are no concern of the caller
            found = error.found.replace(f"{scratch}/", "")
            raise RelicError(found, expected=error.expected, mend=error.mend) from error


def _check_texts(what: str, values: Mapping) -> None:
    wrong = [f"{image!r}: {value!r:.40}" for image, value in values.items() if not is_text(value)]
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        found = f"{what} that are no text: {', '.join(wrong[:3])}{more}"
        raise RelicError(found, expected="captions as str; leave an image out that has none")
