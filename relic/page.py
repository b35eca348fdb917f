"""A notebook as a page of the book: tables with their CSV, figures, verdicts, provenance."""

import base64
import html
import io
import os
import re
import time

import matplotlib.pyplot as plt
import pandas as pd
from IPython.display import HTML, Markdown, display

from relic import provenance
from relic.errors import RelicError
from relic.judge.claims import Verdict
from relic.judge.stats import Estimate
from relic.numbers import GIVEN, count, number, span

PAPER = "var(--pst-color-background, #fff)"  # what is white in a figure: the page's ground
STARTED = time.time()  # when the kernel imported us: within a second of its start
NEEDED = ("attributes", "sources")  # lists that a page has nothing to show without
SHARED = "corpus attribute classifier seen seeds source".split()  # told once where rows share them


class Page:
    """What a notebook shows. Its parameters are the annotated names of the notebook.

    page = relic.Page("00_data", globals())
    """

    def __init__(self, name: str, notebook_globals: dict):
        self.name = name
        self.shown = {"Table": 0, "Figure": 0}
        annotated = notebook_globals.get("__annotations__", {})
        self.parameters = {key: notebook_globals[key] for key in annotated}
        for key, kind in annotated.items():
            value = self.parameters[key]
            fits = isinstance(value, (int, float) if kind is float else kind)
            if not fits or (key in NEEDED and not value):
                example = f"-y '{key}: [...]'" if kind is list else f"-p {key} ..."
                expected = f"a {kind.__name__}, not empty: papermill {example}"
                raise RelicError(f"{key} = {value!r}", expected=expected)

    def numbered(self, kind: str, caption: str) -> str:
        """A caption with its number: figures and tables are counted by page, "Table 20.3"."""
        self.shown[kind] += 1
        return f"{kind} {self.name.split('_')[0].lstrip('0') or 0}.{self.shown[kind]}. {caption}"

    def say(self, text: str) -> None:
        """Markdown with computed numbers; they get a true minus sign."""
        display(Markdown(re.sub(r"(?<![\w`])-(?=\d)", "−", text)))

    def table(
        self, frame: pd.DataFrame, name: str, caption: str, decimals: int = 1, folded: bool = False
    ) -> None:
        """A table with its caption, and the same as CSV behind a link; folded away if long.

        An estimate with `low` and `high` after it takes one cell; what all rows share goes into the caption.
        """
        caption = self.numbered("Table", caption)
        shown = table_html(frame, f"{self.name}_{name}.csv", caption, decimals)
        if folded:
            shown = f'<details class="relic-folded"><summary>{_text(caption)}</summary>{shown}</details>'
        self.html(shown)

    def figure(self, axes: plt.Axes, alt: str, caption: str) -> None:
        """A figure, a text for those who cannot see it, and a caption."""
        self.html(figure_html(axes.figure, alt, self.numbered("Figure", caption)))

    def html(self, text: str) -> None:
        """HTML made elsewhere, its text escaped there."""
        display(HTML(text))

    def verdict(self, verdict: Verdict, computed_on: str, decimals: int = 1) -> None:
        """A verdict as a box: the word, the claim, the number it rests on, on what data."""
        several = f" · surely {verdict.surely} of {verdict.captioners}" * (verdict.captioners > 1)
        n_test = "" if pd.isna(verdict.n_test) else f", {verdict.n_test:.0f} test captions a split"
        estimate = span(verdict.estimate, verdict.low, verdict.high, decimals)
        self.html(
            f'<div class="relic-verdict {verdict.word}"><p><strong>{verdict.symbol} {verdict.word}</strong> '
            f"{_text(verdict.claim)} <span>· {_text(computed_on)}</span></p><p>{_text(verdict.whose)}: "
            f"{estimate}{several} <span>· {count(verdict.seeds, 'split')}{n_test}</span></p></div>"
        )

    def give(self, group: str, values: dict, rests_on: str, decimals: int = 1) -> None:
        """Numbers for the book's Markdown pages, which name them `{{ group.name }}`; shown here as a table.

        An estimate is written with its interval. A figure or table is HTML, and stands here as it is.
        """
        given = written({group: values}, decimals)
        flat = pd.json_normalize(given, sep=".").iloc[0]
        blocks = flat[flat.str.startswith("<")]
        for block in blocks:
            self.html(block)
        flat = flat.drop(blocks.index)
        if len(flat):  # a column each group, a row each name
            flat.index = pd.MultiIndex.from_tuples(n.rsplit(".", 1)[::-1] for n in flat.index)
            table = flat.unstack(sort=False).rename_axis("name").reset_index()
            self.table(table, group, f"{rests_on}: numbers of the group {group}.")
        display({GIVEN: given}, raw=True)

    def provenance(self, *corpora) -> None:
        """What this page rests on: a line to read, the rest to open."""
        source, seconds = provenance.commit(), f"{time.time() - STARTED:.1f}"
        commit = source["commit"] + " with uncommitted changes" * bool(source["dirty"])
        rows = {
            "commit": commit,
            "profile": os.environ.get("RELIC_PROFILE", "none: run on its own"),
            "parameters": ", ".join(f"{k} = {v!r}" for k, v in self.parameters.items()),
            **{f"{c.attribute.name}, {c.name}": f"{c.coverage}; {c.fingerprint}" for c in corpora},
            "versions": ", ".join(f"{k} {v}" for k, v in provenance.versions().items()),
            "device": provenance.device(),
            "seconds": seconds,
        }
        row = '<tr><th scope="row">{}</th><td>{}</td></tr>'.format
        shown = "".join(row(_text(name), _text(value)) for name, value in rows.items())
        names = ", ".join(dict.fromkeys(c.name for c in corpora)) or "no corpus"
        line = f"Provenance: commit {commit}, {names}, {rows['device']}, {seconds} s"
        self.html(
            f'<details class="relic-provenance"><summary>{_text(line)}</summary>'
            f'<div class="scroll"><table><tbody>{shown}</tbody></table></div></details>'
        )


def table_html(frame: pd.DataFrame, file: str, caption: str, decimals: int = 1) -> str:
    """HTML of a table; text is escaped, numbers have thousands separators, CSV has every column."""
    several = [c for c in SHARED if c in frame and len(frame) > 1]
    shared = [c for c in several if frame[c].nunique(dropna=False) == 1]
    values = {c: frame[c].iloc[0] for c in shared if (c, frame[c].iloc[0]) != ("seen", "all")}
    each = [count(value, "split") if c == "seeds" else str(value) for c, value in values.items()]
    said = ", ".join(text for text in each if text not in caption)
    data = base64.b64encode(frame.to_csv(index=False).encode()).decode()
    shown, kinds = cells(frame.drop(columns=shared), decimals)
    shown = shown.replace(r"^([✓✗?]) ", "\\1\u00a0", regex=True)  # a mark stays with its word
    head = "".join(f'<th scope="col" class="{k}">{_text(c)}</th>' for c, k in kinds.items())
    cell = '<td class="{}">{}</td>'.format
    lines = [map(cell, kinds.values(), map(_text, row)) for row in shown.itertuples(index=False)]
    rows = "".join(f"<tr>{''.join(line)}</tr>" for line in lines)
    caption = f"{caption} ({said})" if said else caption
    named = f'class="relic-csv" download="{_text(file)}"'
    link = f'<a {named} href="data:text/csv;base64,{data}">CSV</a>'
    return (
        f'<div class="relic-table"><div class="scroll" tabindex="0"><table><caption><span>{_text(caption)} {link}</span></caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></div>"
    )


def cells(frame: pd.DataFrame, decimals: int = 1) -> tuple[pd.DataFrame, dict[str, str]]:
    """Every cell as text, and whether a column holds numbers; `lic, low, high` become one column."""
    columns, texts, kinds = list(frame), {}, {}
    for at, name in enumerate(columns):
        if name.endswith("high") and f"{name[:-4]}low" in columns:
            continue  # stands with its estimate
        if name.endswith("low") and f"{name[:-3]}high" in columns:
            ends = frame[columns[at - 1]], frame[name], frame[f"{name[:-3]}high"]
            texts[columns[at - 1]] = [span(*each, decimals) for each in zip(*ends, strict=True)]
            continue
        texts[name] = [number(value, decimals) for value in frame[name]]
        kinds[name] = "num" if pd.api.types.is_numeric_dtype(frame[name]) else "text"
    return pd.DataFrame(texts, index=frame.index), kinds


def written(value, decimals: int = 1):
    """Numbers, estimates and (mean, low, high) as text, in any nest of dicts.

    >>> written({"lic": {"mean": (4.46, 2.91, 6.0), "splits": 10}})
    {'lic': {'mean': '4.5 [2.9, 6.0]', 'splits': '10'}}
    """
    if isinstance(value, dict):
        return {key: written(each, decimals) for key, each in value.items()}
    value = value.interval() if isinstance(value, Estimate) else value
    return span(*value, decimals) if isinstance(value, tuple) else number(value, decimals)


def figure_html(figure: plt.Figure, alt: str, caption: str) -> str:
    """HTML of a figure as SVG, and closes it; what is black takes the colour of the page's text.

    On one line, because Markdown ends a block of HTML at an empty one.
    """
    stream = io.StringIO()
    how = {"bbox_inches": "tight", "transparent": True, "metadata": {"Date": None}}
    with plt.rc_context({"svg.fonttype": "none", "svg.hashsalt": "relic"}):
        figure.savefig(stream, format="svg", **how)
    plt.close(figure)
    drawing = stream.getvalue()
    drawing = " ".join(drawing[drawing.index("<svg") :].replace("xlink:href", "href").split())
    drawing = re.sub(r"(?s)<metadata>.*?</metadata>|\sxmlns(:\w+)?=\"[^\"]*\"", "", drawing)
    for colour, page in {"#000000": "currentColor", "#ffffff": PAPER}.items():
        drawing = drawing.replace(colour, page)
    named = f'<svg role="img" fill="currentColor" aria-label="{_text(alt)}"'  # text has no fill of its own
    drawing, caption = drawing.replace("<svg", named, 1), _text(caption)
    return f'<figure class="relic-figure">{drawing}<figcaption>{caption}</figcaption></figure>'


def _text(value) -> str:
    return html.escape(str(value))
