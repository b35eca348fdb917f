"""Parts of Markdown pages that are computed when the book is compiled.

A page says where: `<!-- relic:matrix -->`. The landing page is made of verdicts, the summary of
costs and counts.
"""

import html
import json
import re
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from relic import (
    background,
    claim_figures,
    claim_tables,
    claims,
    declared,
    evidence,
    findings,
    report,
    stand_in,
)
from relic.auditing.recorded import example
from relic.claims import SYMBOLS, Verdict
from relic.errors import RelicError
from relic.figures import PAPERS
from relic.page import figure_html, table_html
from relic.paths import RESULTS
from relic.published import published
from relic.published.report import Findings
from relic.results import RECORDED, load_runs, read_published

PAGES = {
    "1": "notebooks/10_claim1_encoders",
    "2": "notebooks/20_claim2_amplification",
    "3": "notebooks/30_claim3_race_vs_gender",
    "4": "notebooks/40_claim4_equalizer",
}
ROWS = {
    "1 Same order of captioners by every classifier": [("1", "gender"), ("1", "race")],
    "2 Every captioner amplifies": [("2", "gender"), ("2", "race")],
    "3 Race less than gender, every captioner": [("3 (LIC_M)", "race"), ("3 (LIC)", "race")],
    "4 The Equalizer amplifies more (gender), no more (race)": [("4", "gender"), ("4", "race")],
}
COLUMNS = {
    "our runs": (RECORDED, "standard"),
    "our runs, unseen captions": (RECORDED, "unseen"),
    "Hirota et al. 2022": ("hirota2022 table", "standard"),
    "RELIC 2023": ("relic2023 table", "standard"),
    "Türk et al. 2023": ("turk2023", "standard"),
    "this build": (evidence.THIS_BUILD, "standard"),
}
QUESTIONS = {
    "Do they amplify?": [("2", "gender"), ("2", "race")],
    "Race less than gender?": [("3 (LIC_M)", "race"), ("3 (LIC)", "race")],
    "Does the Equalizer add to it?": [("4", "gender"), ("4", "race")],
    "Does the classifier matter?": [("1", "gender"), ("1", "race")],
}

WORDS = {
    claims.SUPPORTED: "yes, every captioner",
    claims.UNDECIDED: "undecided",
    claims.NOT_SUPPORTED: "not every captioner",
}
STAND_IN = "*"  # in a narrow cell, for the encoder that stands in for BERT-base


def fill(stage: Path, executed: Path) -> None:
    """Replace the marks in all pages of a stage by what the evidence says."""
    found, runs = evidence.gather(), load_runs()
    verdicts = claims.judge_all(found) + built(executed)
    parts = {
        "answer": lambda: f"{lead(verdicts, found)}\n\n{answer(verdicts)}",
        "figure": lambda: figure(found),
        "matrix": lambda: matrix(verdicts),
        "counts": lambda: counts(verdicts),
        "cost": lambda: cost(runs),
        "machine": machine,
        "audit_example": example,
        "recorded": lambda: recorded(read_published()),
        "captioners": lambda: captioners(found),
        "papers_classifiers": papers_classifiers,
        "our_classifiers": lambda: our_classifiers(runs),
        "batching": background.batching,
        "hours": lambda: background.hours(runs),
        "papers_hours": background.papers_hours,
        "wrong": lambda: background.wrong(runs),
        "age_agreement": background.age_agreement,
        "age_words": lambda: background.masked_words("age"),
        "found_claims": lambda: findings.claims_found(verdicts, runs),
        "found_repetition": lambda: findings.repetition(verdicts, runs),
        "found_recipe": lambda: findings.recipe(runs),
        "found_linear": lambda: stand_in.linear_for_lstm(runs),
        "found_biased": findings.where_biased,
        "found_gender_score": findings.gender_score_adds,
        "found_untested": lambda: findings.untested(runs),
    }
    for page in stage.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        marks = re.findall(r"<!-- relic:(\w+) -->", text)
        unknown = sorted(set(marks) - set(parts))
        if unknown:
            raise RelicError(
                f"book/{page.name}: marks {', '.join(unknown)}", expected=", ".join(parts)
            )
        for name in marks:
            text = text.replace(f"<!-- relic:{name} -->", parts[name]())
        page.write_text(text, encoding="utf-8")


def built(executed: Path) -> list[Verdict]:
    """This build's verdicts, read from the executed notebooks that show them."""
    found = []
    for file in sorted(executed.glob("[0-9]*.ipynb")):
        for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
            for output in cell.get("outputs", []):
                shown = "".join(output.get("data", {}).get("text/html", ""))
                told = re.findall(r'data-verdict="([^"]*)"', shown)
                found += [Verdict(**json.loads(html.unescape(each))) for each in told]
    return [verdict for verdict in found if verdict.source == evidence.THIS_BUILD]


def lead(verdicts: list[Verdict], found: pd.DataFrame) -> str:
    """The question of the title, answered in plain words from claim 2."""
    ours = {
        (v.attribute, v.variant): v.verdict
        for v in verdicts
        if (v.source, v.claim, v.classifier) == (RECORDED, "2", evidence.MAIN)
    }
    parts = []
    for name in ("gender", "race"):
        if (name, "standard") not in ours or (name, "unseen") not in ours:
            continue
        shown = claim_tables.recorded_estimates(found, name, evidence.MAIN)
        lic = shown[shown["series"] == "all test captions"]["mean"]
        parts.append(
            f"For {name}: **{WORDS[ours[name, 'standard']]}** over all captions (LIC {lic.min():.1f} to {lic.max():.1f} points, {len(lic)} captioners), "
            f"**{WORDS[ours[name, 'unseen']]}** over captions that the classifier did not meet in training."
        )
    told = " Judged by our linear classifier; the others are in the table." if parts else ""
    return report.minus(" ".join(parts) + told)


def answer(verdicts: list[Verdict]) -> str:
    """What our recorded runs say about each claim, and why the papers disagree."""
    ours = {
        (v.claim, v.attribute): v
        for v in verdicts
        if (v.source, v.variant) == (RECORDED, "standard")
        and (v.classifier == evidence.MAIN or v.claim == "1")
    }
    lines = []
    for title, keys in QUESTIONS.items():
        told = [ours[key] for key in keys if key in ours]
        parts = [f"{_what(v)} **{v.symbol} {v.verdict}**: {_short(v)}" for v in told]
        lines += [report.minus(f"- **{title}** " + " ".join(parts))] if parts else []
    lines = lines or [report.NO_RECORD, ""]
    why = Findings.of_papers().brief()
    return "\n".join([*lines, f"- **Why do the papers disagree?** {why}"])


def _short(verdict: Verdict) -> str:
    """The sentence of a verdict; for claim 1 no more than its number."""
    if verdict.claim != "1":
        return verdict.sentence
    return f"the least alike of its classifiers order the captioners with τ = {report.span(verdict.interval, 2)}."


def _what(verdict: Verdict) -> str:
    if verdict.claim.startswith("3"):
        return f"On {verdict.claim[3:-1]}"
    return verdict.attribute.capitalize()


def figure(found) -> str:
    """LIC of each captioner for gender with intervals, recorded runs."""
    shown = claim_tables.recorded_estimates(found, "gender", evidence.MAIN)
    if shown.empty:
        return ""
    axes = claim_figures.forest(
        shown, xlabel="LIC for gender, points", marks=claim_tables.marks(found, "gender")
    )
    alt = "Intervals: LIC of nine captioners for gender, on all and on unseen test captions, with the papers' values."
    seeds = int(shown["n"].min())
    caption = (
        f"LIC for gender with 95 % intervals: COCO captions, linear classifier, {seeds} paired splits. "
        "Above 0, the captioner amplifies. Grey ticks: the three papers, all classifiers."
    )
    content = figure_html(axes.figure, alt, caption)
    plt.close(axes.figure)
    return content


def matrix(verdicts: list[Verdict]) -> str:
    """Claims by attribute down, sources across; a link from each cell to its page."""
    columns = {
        name: key
        for name, key in COLUMNS.items()
        if any((v.source, v.variant) == key for v in verdicts)
    }
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    rows = "".join(
        _row(text if first else "", *key, columns, verdicts)
        for text, keys in ROWS.items()
        for first, key in zip((True, False), keys, strict=True)
    )
    legend = " · ".join(f"{symbol} {word}" for word, symbol in SYMBOLS.items())
    if f"{STAND_IN}<" in rows or f"{STAND_IN} " in rows:
        legend += f" · {STAND_IN} with MiniLM, not BERT-base"
    return (
        f'<div class="relic-table relic-matrix"><p class="caption">{legend}</p><div class="scroll" tabindex="0"><table>'
        f"<thead><tr><th>claim</th><th>about</th>{head}</tr></thead><tbody>{rows}</tbody></table></div></div>"
    )


def _row(text: str, claim: str, attribute: str, columns: dict, verdicts: list[Verdict]) -> str:
    cells = ""
    for source, variant in columns.values():
        told = [
            v
            for v in verdicts
            if (v.claim, v.attribute, v.source, v.variant) == (claim, attribute, source, variant)
        ]
        cells += f"<td>{_cell(claim, told)}</td>"
    about = claim[3:-1] if claim.startswith("3") else attribute
    head = f'<th rowspan="2">{html.escape(text)}</th>' if text else ""
    return f"<tr>{head}<td>{about}</td>{cells}</tr>"


def _cell(claim: str, told: list[Verdict]) -> str:
    """Symbol and classifiers; the word too where all classifiers agree, else in the legend."""
    by = {word: [v.by for v in told if v.verdict == word] for word in SYMBOLS}
    by = {word: names for word, names in by.items() if names}
    lines = []
    for word, names in by.items():
        shown = word if len(by) == 1 else f'<span class="sr-only">{word}: </span>'
        short = [n.replace(" (MiniLM)", STAND_IN).removesuffix(" captioners") for n in names]
        listed = ", ".join(f"<span>{html.escape(name)}</span>" for name in short)
        names = "" if claim == "1" else f"<small>{listed}</small>"
        lines.append(
            f'<span title="{word}"><strong>{SYMBOLS[word]}</strong> {shown} {names}</span>'
        )
    link = f"{PAGES[claim[0]]}.html"
    return f'<a href="{link}">{"<br>".join(lines)}</a>' if lines else "–"


def counts(verdicts: list[Verdict]) -> str:
    """The verdicts on our recorded runs by claim and attribute, as a list."""
    lines = []
    for claim, text in claims.CLAIMS.items():
        ours = [v for v in verdicts if (v.source, v.claim) == (RECORDED, claim)]
        names = [
            name for name in ("gender", "race", "age") if any(v.attribute == name for v in ours)
        ]
        told = [report.told([v for v in ours if v.attribute == n], brief=True) for n in names]
        lines.append(f"- **{claim}** {text}")
        lines += [f"  - {each}" for each in told or ["Not judged on our runs yet."]]
    return "\n".join(lines)


def cost(runs: pd.DataFrame) -> str:
    """Hours of computing: what the papers report, and what our recorded runs took."""
    theirs = published("cost").assign(runs=None)
    theirs["source"] = theirs["source"].map(PAPERS).fillna(theirs["source"])
    ours = runs.assign(classifier=evidence.labelled(runs))
    ours = ours.groupby(["classifier", "attribute"])["seconds"].agg(["sum", "count"]).reset_index()
    ours = ours.rename(columns={"count": "runs"}).assign(hours=ours["sum"] / 3600)
    ours = ours.assign(source="our recorded runs", hardware="one CPU core")
    table = pd.concat([theirs, ours])[
        ["source", "classifier", "attribute", "runs", "hours", "hardware"]
    ]
    return table_html(
        table, "cost.csv", "Cost in hours of computing; ours in CPU hours.", decimals=2
    )


def captioners(found: pd.DataFrame) -> str:
    """Table 6 of Türk et al. with what we recorded."""
    caption = "Captioners after Türk et al. 2023, table 6 (CC BY 4.0), in our words. CIDEr and LIC: our records, COCO captions, linear classifier."
    return table_html(background.captioners(found), "captioners.csv", caption)


def papers_classifiers() -> str:
    """Table 7 of Türk et al. with the recipes of all papers."""
    caption = "Parameters after Türk et al. 2023, table 7 (CC BY 4.0); learning rate and epochs from each paper's public code."
    return table_html(background.papers_classifiers(), "papers_classifiers.csv", caption)


def our_classifiers(runs: pd.DataFrame) -> str:
    """What our recorded runs trained."""
    caption = (
        "Trainings recorded in results/, all captioners and attributes together; one CPU core."
    )
    return table_html(background.our_classifiers(runs), "our_classifiers.csv", caption, decimals=2)


def recorded(runs: pd.DataFrame) -> str:
    """What is recorded of the declared grid, and what is not run."""
    table = declared.progress(declared.read(), runs)
    shown = table_html(declared.by_grid(table), "recorded.csv", "Runs recorded, of those declared.")
    return f"{declared.summary(table)}\n\n{shown}"


def machine() -> str:
    """Where the recorded runs were published from."""
    file = RESULTS / "provenance.json"
    return json.loads(file.read_text(encoding="utf-8"))["device"] if file.exists() else "unknown"
