"""The files of a report: HTML, model card, JSON, CSV."""

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import yaml
from jinja2 import Environment, PackageLoader

from relic.auditing.measure import SYMBOLS
from relic.auditing.result import Result
from relic.auditing.sections import CITATION, about, sections
from relic.errors import RelicError
from relic.numbers import number


def as_html(audit: Result) -> str:
    """A page of its own: no script, nothing from outside."""
    template = Environment(autoescape=True, loader=PackageLoader("relic", "auditing")).get_template(
        "report.html"
    )
    names = ", ".join(audit.audited.corpus.captioners)
    return template.render(
        title=f"Does {names} amplify {audit.audited.corpus.attribute.name} bias?"
        if len(audit.audited.corpus.captioners) == 1
        else f"Do these captioners amplify {audit.audited.corpus.attribute.name} bias?",
        lead=f"{about(audit)}; an audit with LIC (leakage of the attribute in captions) by relic.",
        sections=sections(audit),
    )


def as_json(audit: Result) -> str:
    """Everything. With one captioner and one classifier its result also stands at the top level."""
    results = audit.results
    told = {
        "results": results,
        "warnings": audit.cautions,
        "coverage": audit.audited.coverage.to_dict("records"),
        "images": {"used": len(audit.audited.images), **audit.audited.corpus.label_counts(audit.audited.images)},
        "human_captions_an_image": audit.audited.captions_an_image,
        "notes": audit.audited.notes,
        "differences": audit.measured.differences.to_dict("records"),
        "chance": audit.measured.chance.to_dict("records"),
        "words": audit.words.to_dict("records"),
        "naming": audit.naming.to_dict("records"),
        "accuracy": audit.accuracy.to_dict("records"),
        "gender_score": audit.gender_score.to_dict("records"),
        "recorded": audit.published.to_dict("records"),
        "runs": audit.measured.by_seed.to_dict("records"),
        "options": audit.options,
        "provenance": audit.provenance,
        "citation": CITATION,
    }  # fmt: skip
    first = results[0] if len(results) == 1 else {}
    return json.dumps(_plain(first | told), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value):
    """JSON has no NaN: an absent number is null."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    value = value.item() if hasattr(value, "item") else value
    if value is pd.NA or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value


def as_csv(audit: Result) -> str:
    """A row a captioner and classifier; unseen captions in columns of its own."""
    rows = []
    for row in audit.results:
        unseen = {f"unseen_{k}": v for k, v in row["unseen"].items()}
        rows.append({k: v for k, v in row.items() if k != "unseen"} | unseen)
    return pd.DataFrame(rows).to_csv(index=False)


def as_markdown(audit: Result) -> str:
    """A block for a model card, with Hugging Face's `model-index` as metadata.

    A card has one model: of several captioners each gets its metadata as a YAML block to paste.
    """
    from huggingface_hub.repocard_data import eval_results_to_model_index

    cards, names = [], audit.audited.corpus.captioners
    for name in names:
        rows = [row for row in audit.results if row["captioner"] == name]
        index = eval_results_to_model_index(name, _scores(audit, rows))
        head = yaml.safe_dump({"model-index": index}, sort_keys=False, allow_unicode=True)
        card = _card(audit, name, rows)
        cards.append(
            f"---\n{head}---\n\n{card}" if len(names) == 1 else f"{card}\n```yaml\n{head}```\n"
        )
    return "\n".join(cards)


def _scores(audit: Result, rows: list[dict]) -> list:
    from huggingface_hub import EvalResult

    images = f"{audit.audited.corpus.name}, {len(audit.audited.images):,} images"
    return [
        EvalResult(
            task_type="image-to-text", task_name="Image captioning",
            dataset_type="captions", dataset_name=images,
            metric_type=kind, metric_name=f"{title} ({row['attribute']}, {row['classifier']})",
            metric_value=round(float(value), 2),
        )
        for row in rows
        for kind, title, value in (
            ("lic", "LIC", row["lic"]),
            ("lic_unseen", "LIC, unseen captions", row["unseen"]["lic"]),
        )
        if math.isfinite(value)
    ]  # fmt: skip


def _card(audit: Result, name: str, rows: list[dict]) -> str:
    about_attribute = rows[0]["attribute"]
    lines = [f"## Bias amplification: {_escaped(name)}, {about_attribute}", ""]
    lines += [f"{SYMBOLS[row['verdict']]} **{row['verdict']}.** {_escaped(row['sentence'])}\n" for row in rows]  # fmt: skip
    lines += ["| classifier | captions | LIC_M | LIC_D | LIC | 95 % interval | test images | verdict |",
              "|---|---|---:|---:|---:|---|---:|---|"]  # fmt: skip
    for row in rows:
        for captions, found in (("all", row), ("unseen", row["unseen"])):
            numbers = " | ".join(number(found[k]) for k in ("lic_model", "lic_data", "lic"))
            interval = f"{number(found['low'])} to {number(found['high'])}"
            lines.append(f"| {row['classifier']} | {captions} | {numbers} | {interval} | {found['n_test']:.0f} | {found['verdict']} |")  # fmt: skip
    lines += ["", f"{about(audit)}, {rows[0]['n_seeds']} splits ({audit.options['split']})."]
    lines += ["", "Before you use these numbers:", *(f"- {_escaped(c)}" for c in audit.cautions)] * bool(audit.cautions)  # fmt: skip
    return "\n".join([*lines, "", f"{CITATION}", ""])


def _escaped(text: str) -> str:
    """Markdown shows a name as it is: no HTML, no table cell ended early."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|").replace("\n", " ")


WRITERS: dict[str, Callable[[Result], str]] = {
    "html": as_html,
    "md": as_markdown,
    "json": as_json,
    "csv": as_csv,
}


def check_formats(formats: Sequence[str]) -> list[str]:
    """Known formats, each once."""
    wrong = [name for name in formats if name not in WRITERS]
    if wrong or not formats:
        raise RelicError(f"format {', '.join(wrong) or 'none'}", expected=", ".join(WRITERS))
    return list(dict.fromkeys(formats))


def write(audit: Result, directory: Path, formats: Sequence[str]) -> list[Path]:
    """`report.html`, ... in the directory. All are made before any is written."""
    made = {name: WRITERS[name](audit) for name in check_formats(formats)}
    directory.mkdir(parents=True, exist_ok=True)
    files = []
    for name, text in made.items():
        file = directory / f"report.{name}"
        file.write_text(text, encoding="utf-8", newline="\n")
        files.append(file)
    return files
