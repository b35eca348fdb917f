"""The files of a report: HTML, model card, JSON, CSV. Words are in `templates/`, numbers come from here."""

import base64
import json
import math
import os
import tempfile
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from relic.auditing.details import results
from relic.auditing.measure import MARKS
from relic.errors import RelicError
from relic.judge.stats import shared
from relic.numbers import number, span

SECTIONS = {
    "verdict": "Verdict",
    "cautions": "Before you use these numbers",
    "lic": "LIC",
    "checks": "Would the verdict stand?",
    "classifier": "Could chance do this?",
    "words": "Words that give the attribute away",
    "naming": "Which way it errs",
    "accuracy": "How well it describes",
    "data": "What was read",
    "method": "Method and limits",
}
SENTENCES = ("headline", "explained", "misnamed", "caution")
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet would compute


@cache
def _templates() -> Environment:
    look = Environment(
        autoescape=select_autoescape(["html"], default_for_string=False),
        loader=PackageLoader("relic.auditing"),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    look.policies["json.dumps_kwargs"] = {"ensure_ascii": False}
    look.filters |= {
        "n": number,
        "span": _span,
        "records": lambda frame: frame.to_dict("records"),
        "csv": lambda frame: address(csv_text(frame), "text/csv"),
        "md": _markdown,
    }
    look.globals |= {name: partial(sentence, name) for name in SENTENCES}
    look.globals |= {"MARKS": MARKS, "shared": shared, "isnan": pd.isna}
    return look


def _span(row, name: str = "lic", low: str = "low", high: str = "high", decimals: int = 1) -> str:
    return span(row[name], row[low], row[high], decimals)


def sentence(macro: str, *arguments) -> str:
    """What a macro of `sentences.txt` says, as plain text on one line: pages escape it like any other."""
    text = getattr(_templates().get_template("sentences.txt").module, macro)(*arguments)
    return " ".join(str(text).split())


def section(audit, name: str) -> str:
    """A section of every attribute as HTML that any page can hold; all text is escaped."""
    if name not in SECTIONS:
        raise RelicError(f"no section {name!r}", expected=", ".join(SECTIONS))
    return "".join(_rendered(audit, part, name) for part in audit.parts)


def _rendered(audit, part, name: str) -> str:
    """A section of one attribute: what its template may name."""
    template = _templates().get_template(f"{name}.html")
    return template.render(
        audit=audit,
        part=part,
        tables=part.tables,
        attribute=part.attribute,
        results=results(part),
        captioners=part.corpus.captioners,
        images=len(part.images),
        prefix=f"{part.attribute.name}_" if len(audit.parts) > 1 else "",
        forest=forest(part) if name == "lic" else {},
        first=part is audit.parts[0],
    )


def as_html(audit) -> str:
    """A page of its own: no script, nothing from outside."""
    parts = []
    for part in audit.parts:
        sections = [(n, title, _rendered(audit, part, n).strip()) for n, title in SECTIONS.items()]
        parts.append((part, [section for section in sections if section[2]]))
    page = _templates().get_template("report.html")
    return page.render(audit=audit, captioners=audit.parts[0].corpus.captioners, parts=parts)


def forest(part) -> dict:
    """Rows of the figure of LIC, each a mark and a line, and the ticks of its axis, 0 among them."""
    rows = []
    for row in results(part):
        rows.append({**row, "name": row["captioner"], "kind": "all"})
        if "unseen" in row and row["unseen"]["n_test"] < row["n_test"] - 0.5:
            rows.append({**row["unseen"], "name": "its unseen captions", "kind": "unseen"})
    for row in part.tables["recorded"].to_dict("records"):
        rows.append({**row, "name": row["captioner"], "kind": "recorded"})
    frame = pd.DataFrame(rows)[["name", "kind", "lic", "low", "high"]].dropna(subset="lic")
    if frame.empty or part.tables["runs"].empty:
        return {}
    frame = frame.assign(**{end: frame[end].fillna(frame["lic"]) for end in ("low", "high")})
    least, most = min(0.0, frame["low"].min()), max(1.0, frame["high"].max())
    wide = most - least  # two splits may give intervals of hundreds of points
    step = next((s for s in (1, 2, 5, 10, 20, 50, 100, 200) if wide / s <= 8), math.ceil(wide / 8))
    ticks = range(math.floor(least / step), math.ceil(most / step) + 1)
    return {"rows": frame.to_dict("records"), "ticks": [step * tick for tick in ticks]}


def as_json(audit) -> str:
    """Everything. With one captioner, attribute and classifier its result also stands at the top level."""
    results = audit.results
    content = {
        "results": results,
        "warnings": audit.cautions,
        "attributes": {part.attribute.name: _details(part) for part in audit.parts},
        "accuracy": audit.accuracy.to_dict("records"),
        "left_out": audit.left_out,
        "options": audit.options,
        "provenance": audit.provenance,
    }
    content = (results[0] if len(results) == 1 else {}) | content
    text = json.dumps(content, default=lambda value: None if value is pd.NA else value.item())
    plain = json.loads(text, parse_constant=lambda _: None)  # JSON has no NaN
    return json.dumps(plain, indent=1, ensure_ascii=False) + "\n"


def _details(part) -> dict:
    tables = {name: t.to_dict("records") for name, t in part.tables.items() if name != "lic"}
    return {
        "images": {"used": len(part.images), **part.classes},
        "human_captions_an_image": part.captions_an_image,
        "notes": part.notes,
        "masked_words": sorted(part.attribute.masked_words),
        **tables,
    }


def as_csv(audit) -> str:
    """A row each attribute, captioner and classifier; unseen captions in columns of their own."""
    rows = [
        row | {"misnamed": {each["label"]: each["wrong_of_named"] for each in row["misnamed"]}}
        for row in audit.results
    ]
    return csv_text(pd.json_normalize(rows, sep="_"))


def csv_text(frame: pd.DataFrame) -> str:
    """CSV that no spreadsheet takes for formulas: text that begins like one gets a quote before it."""
    return frame.rename(columns=_unformulated).map(_unformulated).to_csv(index=False)


def _unformulated(value):
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def address(text: str, kind: str) -> str:
    """A text as an address of its own: a page needs no file beside it."""
    return f"data:{kind};base64,{base64.b64encode(text.encode()).decode()}"


def _markdown(text: str) -> str:
    """Markdown shows a name as it is: no HTML, no emphasis, no table cell ended early."""
    for mark in "\\`*_[]<>|#":
        text = text.replace(mark, {"<": "&lt;", ">": "&gt;"}.get(mark, f"\\{mark}"))
    return " ".join(text.split())


def as_markdown(audit) -> str:
    """A block for a model card, with Hugging Face's `model-index` as metadata.

    A card has one model: of several captioners each gets its metadata as a YAML block to paste.
    """
    corpus, images = audit.parts[0].corpus, audit.parts[0].images
    data, card = f"{corpus.name}, {len(images):,} images", _templates().get_template("cards.md")
    return card.render(audit=audit, names=corpus.captioners, data=data)


WRITERS: dict[str, Callable] = {"html": as_html, "md": as_markdown, "json": as_json, "csv": as_csv}
OURS = tuple(f"report.{name}" for name in WRITERS)


def check_formats(formats: Sequence[str]) -> list[str]:
    """Known formats, each once."""
    wrong = [name for name in formats if name not in WRITERS]
    if wrong or not formats:
        raise RelicError(f"format {', '.join(wrong) or 'none'}", expected=", ".join(WRITERS))
    return list(dict.fromkeys(formats))


def write(audit, directory: Path, formats: Sequence[str]) -> list[Path]:
    """`report.html`, ... in the directory: all are there under other names before any is renamed.

    Files of an old report that are not written anew are taken away; others are left alone.
    """
    texts = {f"report.{name}": WRITERS[name](audit) for name in check_formats(formats)}
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".report.", dir=directory) as scratch:
            for name, text in texts.items():
                Path(scratch, name).write_text(text, encoding="utf-8", newline="\n")
            for name in texts:
                os.replace(Path(scratch, name), directory / name)
        for name in set(OURS) - set(texts):
            (directory / name).unlink(missing_ok=True)
    except OSError as error:
        raise RelicError(
            f"the report cannot be written to {directory}: {error.strerror}",
            expected="a directory with room for about a megabyte",
            mend="the same command with another --out: runs are kept, it takes seconds",
        ) from error
    return [directory / name for name in texts]
