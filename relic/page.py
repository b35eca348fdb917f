"""A notebook as a page of the book: sentences, tables with their CSV, figures, provenance."""

import base64
import html
import io
import json
import os
import re
import time
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import HTML, Markdown, display

from relic import provenance
from relic.data.corpus import Corpus

if TYPE_CHECKING:
    from relic.claims import Verdict

STARTED = time.time()  # when the kernel imported us: within a second of its start


class Page:
    """What a notebook shows. Its parameters are the annotated names of the notebook.

    page = relic.Page("00_data", globals())
    """

    def __init__(self, name: str, notebook_globals: dict):
        self.name = name
        annotated = notebook_globals.get("__annotations__", {})
        self.parameters = {key: notebook_globals[key] for key in annotated}

    def say(self, text: str) -> None:
        """Markdown whose numbers were computed; they get a true minus sign. Nothing where it is empty."""
        if text:
            display(Markdown(re.sub(r"(?<![\w`])-(?=\d)", "−", text)))

    def table(
        self, frame: pd.DataFrame, name: str, caption: str, decimals: int = 1, folded: bool = False
    ) -> None:
        """A table with its caption, and the same as CSV behind a link; folded away if long."""
        shown = table_html(frame, f"{self.name}_{name}.csv", "" if folded else caption, decimals)
        if folded:
            shown = f'<details class="relic-folded"><summary>As a table: {_text(caption)}</summary>{shown}</details>'
        display(HTML(shown))

    def figure(self, axes: plt.Axes, alt: str, caption: str) -> None:
        """A figure with its size, a text for those who cannot see it, and a caption."""
        display(HTML(figure_html(axes.figure, alt, caption)))
        plt.close(axes.figure)

    def html(self, text: str) -> None:
        """HTML made elsewhere, its text escaped there; nothing where it is empty."""
        if text:
            display(HTML(text))

    def verdicts(self, verdicts: Iterable["Verdict"]) -> None:
        """Verdicts as a box: the word, what was judged, the sentence it rests on."""
        for each in verdicts:
            display(HTML(verdict_html(each)))

    def provenance(self, corpora: Corpus | Iterable[Corpus] = ()) -> None:
        """What this page rests on."""
        corpora = [corpora] if isinstance(corpora, Corpus) else list(corpora)
        display(HTML(provenance_html(self.parameters, corpora)))


def table_html(frame: pd.DataFrame, file: str, caption: str, decimals: int = 1) -> str:
    """HTML of a table; text is escaped, numbers have thousands separators."""
    shown = frame.map(lambda value: _shown(value, decimals))
    kinds = ["num" if pd.api.types.is_numeric_dtype(frame[column]) else "text" for column in frame]
    head = "".join(f'<th class="{k}">{_text(c)}</th>' for c, k in zip(frame, kinds, strict=True))
    rows = "".join(
        "<tr>"
        + "".join(f'<td class="{k}">{_text(v)}</td>' for v, k in zip(row, kinds, strict=True))
        + "</tr>"
        for row in shown.itertuples(index=False)
    )
    data = base64.b64encode(frame.to_csv(index=False).encode()).decode()
    link = (
        f'<a class="relic-csv" download="{_text(file)}" href="data:text/csv;base64,{data}">CSV</a>'
    )
    return (
        f'<div class="relic-table"><p class="caption">{_text(caption)} {link}</p><div class="scroll" tabindex="0">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></div>"
    )


def figure_html(figure: plt.Figure, alt: str, caption: str) -> str:
    """HTML of a figure as PNG at twice the size it is shown at."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=192, bbox_inches="tight", facecolor="white")
    content = stream.getvalue()
    width, height = (
        int.from_bytes(content[at : at + 4], "big") // 2 for at in (16, 20)
    )  # PNG header
    data = base64.b64encode(content).decode()
    return (
        f'<figure class="relic-figure"><img src="data:image/png;base64,{data}" alt="{_text(alt)}" '
        f'width="{width}" height="{height}"><figcaption>{_text(caption)}</figcaption></figure>'
    )


def verdict_html(verdict: "Verdict") -> str:
    """HTML of a verdict; the data attribute lets the landing page collect this build's verdicts."""
    told = html.escape(json.dumps(asdict(verdict), ensure_ascii=False), quote=True)
    where = ", ".join(
        [
            verdict.attribute,
            verdict.classifier,
            *([verdict.variant] if verdict.variant != "standard" else []),
        ]
    )
    kind = verdict.verdict.replace(" ", "-")
    return (
        f'<div class="relic-verdict {kind}" data-verdict="{told}"><p><strong>{verdict.symbol} '
        f"{_text(verdict.verdict)}</strong> <span>claim {_text(verdict.claim)} · {_text(where)} · "
        f"{_text(verdict.source)}, {_text(verdict.corpus)}, {verdict.n_seeds} seeds, "
        f"{verdict.n_test:.0f} test images</span></p><p>{_text(verdict.sentence)}</p></div>"
    )


def provenance_html(parameters: dict, corpora: list[Corpus]) -> str:
    """HTML of the provenance block: a line to read, the rest to open."""
    source, seconds = provenance.commit(), time.time() - STARTED
    commit = source["commit"] + (" with uncommitted changes" if source["dirty"] else "")
    rows = {
        "commit": commit,
        "profile": os.environ.get("RELIC_PROFILE", "none: run on its own"),
        "parameters": ", ".join(f"{k} = {v!r}" for k, v in parameters.items()),
        **{
            f"data, {c.attribute.name}": f"{c.name}; {c.coverage}; {c.fingerprint}" for c in corpora
        },
        "versions": ", ".join(f"{k} {v}" for k, v in provenance.versions().items()),
        "device": provenance.device(),
        "seconds": f"{seconds:.1f}",
    }
    cells = "".join(f"<tr><th>{_text(k)}</th><td>{_text(v)}</td></tr>" for k, v in rows.items())
    names = ", ".join(dict.fromkeys(c.name for c in corpora)) or "no corpus"
    line = f"Provenance: commit {commit}, {names}, {rows['device']}, {seconds:.1f} s"
    return (
        f'<details class="relic-provenance"><summary>{_text(line)}</summary>'
        f'<div class="scroll"><table><tbody>{cells}</tbody></table></div></details>'
    )


def _text(value) -> str:
    return html.escape(str(value))


def _shown(value, decimals: int) -> str:
    if pd.isna(value):
        return "–"
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.{decimals}f}".replace("-", "−")
    return f"{value:,}".replace("-", "−") if isinstance(value, int) else str(value)
