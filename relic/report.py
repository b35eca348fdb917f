"""Sentences of the claim pages, and their table of verdicts."""

import re
from collections.abc import Iterable
from typing import NamedTuple

import pandas as pd

from relic.claims import Verdict
from relic.evidence import MAIN, TABLE, THIS_BUILD
from relic.figures import ORDER, PAPERS
from relic.planted.process import CAPTIONERS
from relic.results import RECORDED
from relic.stats import Estimate, Interval

INTERVALS = "95 % intervals over splits, and over test images."
NO_RECORD = "No runs on real captions are recorded for this yet."


def minus(text: str) -> str:
    """True minus signs before numbers; code and recipes such as 1e-5 stay."""
    return re.sub(r"(?<![\w`=])-(?=\d)", "−", text)


def span(found: Estimate | Interval, decimals: int = 1) -> str:
    """A number with its interval, in words.

    >>> span(Interval(4.5, 2.9, 6.0))
    '4.5 (95 % 2.9 to 6.0)'
    """
    mean, low, high = found.interval() if isinstance(found, Estimate) else found
    shown = f"{mean:.{decimals}f}"
    return shown if pd.isna(low) else f"{shown} (95 % {low:.{decimals}f} to {high:.{decimals}f})"


def select(
    verdicts: Iterable[Verdict], claim: str, attributes: Iterable[str] = ()
) -> list[Verdict]:
    """Verdicts on a claim; `3` takes both of its forms."""
    wanted = set(attributes)
    return [
        v for v in verdicts if v.claim.split()[0] == claim and (not wanted or v.attribute in wanted)
    ]


def source_name(source: str) -> str:
    """A source as a reader knows it."""
    name = source.removesuffix(TABLE)
    if name in PAPERS:
        return PAPERS[name] + (", table" if source.endswith(TABLE) else ", by split")
    return "our recorded runs" if source == RECORDED else source


def headline(verdicts: list[Verdict]) -> str:
    """The answer: a bullet an attribute (and score) with the verdicts on our recorded runs."""
    ours = [v for v in verdicts if v.source == RECORDED]
    keys = dict.fromkeys((v.claim, v.attribute) for v in ours if v.variant == "standard")
    if not keys:
        return NO_RECORD
    several = len({claim.split()[0] for claim, _ in keys}) > 1
    lines = [
        f"Claim {claim[0]}, " * several + told([v for v in ours if (v.claim, v.attribute) == (claim, name)])
        for claim, name in keys
    ]  # fmt: skip
    return "On our recorded runs (COCO captions):\n\n" + "\n".join(f"- {each}" for each in lines)


def told(verdicts: list[Verdict], brief: bool = False) -> str:
    """The main classifier's verdict, with its sentence if not `brief`; the others', and unseen captions."""
    plain = _main_first(v for v in verdicts if v.variant == "standard")
    if not plain:
        return ""
    first = plain[0]
    on = f", {first.claim[3:-1]}" if first.claim.startswith("3") else ""
    by = "" if first.claim == "1" else f"{first.classifier}, "
    text = f"{first.attribute.capitalize()}{on}: **{first.symbol} {first.verdict}** ({by}{first.n_seeds} splits)."
    text += "" if brief else f" {first.sentence}"
    text += f" Others: {tally(plain[1:])}." if plain[1:] else ""
    unseen = _main_first(v for v in verdicts if v.variant == "unseen")
    if unseen:
        one = (
            f"{unseen[0].symbol} {unseen[0].verdict}"  # claim 1 has one verdict for all classifiers
        )
        text += f" On unseen captions: {one if first.claim == '1' else tally(unseen)}."
    return text


def _main_first(verdicts: Iterable[Verdict]) -> list[Verdict]:
    return sorted(verdicts, key=lambda v: v.classifier != MAIN)


def tally(verdicts: list[Verdict]) -> str:
    """What each classifier says, in symbols, and which of them saw part of the captioners only."""
    told = []
    for v in verdicts:
        part = f" ({v.captioners} of {v.of} captioners)" if v.captioners < v.of else ""
        told.append(f"{v.classifier.replace(' (MiniLM)', '/MiniLM')}{part} {v.symbol}")
    return ", ".join(told)


def paper_line(verdicts: list[Verdict]) -> str:
    """How the same rule judges the papers' own numbers, in one sentence."""
    papers = [v for v in verdicts if v.source not in (RECORDED, THIS_BUILD)]
    counts = pd.Series([v.verdict for v in papers]).value_counts()
    times = {1: "once", 2: "twice"}
    told = ", ".join(f"{word} {times.get(n, f'{n} times')}" for word, n in counts.items())
    return f"The same rule on the papers' own numbers ({len(papers)} bodies of evidence): {told}."


def verdict_table(verdicts: list[Verdict]) -> pd.DataFrame:
    """Verdicts in a reader's words."""
    return pd.DataFrame(
        [
            {
                "source": source_name(v.source),
                "attribute": v.attribute,
                "classifier": v.by,
                "captions": v.variant,
                **({"on": v.claim[3:-1]} if v.claim.startswith("3") else {}),
                "verdict": f"{v.symbol} {v.verdict}",
                "estimate": v.estimate,
                "95 % low": v.low,
                "95 % high": v.high,
                "seeds": v.n_seeds,
                "test images": round(v.n_test),
            }
            for v in verdicts
        ]
    )


def in_order(captioners: Iterable[str]) -> list[str]:
    """Captioners in the papers' order, then those of the embedded corpus, then others."""
    names = list(dict.fromkeys(captioners))
    known = [n for n in (*ORDER, *(planted.name for planted in CAPTIONERS)) if n in names]
    return known + [n for n in names if n not in known]


class About(NamedTuple):
    """What a table or figure rests on, for its caption and its file name."""

    attribute: str
    title: str
    short: str


def about(group: pd.DataFrame) -> About:
    """Corpus, attribute, classifier and variant of one body of evidence."""
    row, seeds = group.iloc[0], int(group.groupby("captioner")["n_seeds"].sum().min())
    captions = "" if row["variant"] == "standard" else f", {row['variant']} captions"
    corpus = row["corpus"][0].upper() + row["corpus"][1:]
    title = f"{corpus}, {row['attribute']}, {row['classifier']}{captions}, {seeds} seeds"
    title += _human_captions(group["human"])
    short = re.sub(
        r"[^a-z0-9]+", "_", f"{row['attribute']} {row['classifier']} {row['variant']}".lower()
    )
    return About(row["attribute"], title, short.strip("_"))


def _human_captions(human: pd.Series) -> str:
    """Said where LIC_D rests on fewer than five human captions a seed."""
    lists = human.dropna().unique()
    counts = sorted({each.count(",") + 1 for each in lists})
    if not counts or counts[0] >= 5:
        return ""
    if counts == [1]:
        return ", LIC_D from one human caption a seed" + (", in turn" if len(lists) > 1 else "")
    return (
        f", LIC_D from {' to '.join(map(str, {counts[0]: 0, counts[-1]: 0}))} human captions a seed"
    )
