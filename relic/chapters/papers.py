"""The papers' printed numbers cell by cell, and our re-run of their protocol."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from relic import paths
from relic.chapters.figures import STYLE, by_paper
from relic.data.captioners import in_order
from relic.records.evidence import PAPERS, papers
from relic.records.serve import AnyCorpus, Runs, recorded, runs
from relic.records.tables import CELL

SHORT = {source: name.split()[0] for source, name in PAPERS.items()}
ORDER = "gender race age lstm bert-ft bert-pre LIC_M LIC_D LIC".split()  # in which the papers print
SETTINGS = {"lstm": {"recipe": "upstream", "batching": "packed"}, "bert-ft": {"recipe": "1e-5x5"}}
TH10 = ("lstm", "linear")  # read NIC's gender captions from the file of the papers' LSTM script


def ordered(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows in the order in which the papers print them."""
    ranks = {value: n for n, value in enumerate([*ORDER, *in_order(frame["captioner"])])}
    columns = [name for name in CELL if name in frame]
    return frame.sort_values(columns, key=lambda values: values.map(ranks), ignore_index=True)


def record(file: Path = paths.BOOK / "images" / "published_lic.svg") -> None:
    """Draw the picture of the README, LIC of gender and race: the same bytes for the same numbers."""
    printed = ordered(papers().query("attribute != 'age'"))
    printed["spread"] = np.hypot(printed["std_model"], printed["std_data"])  # as if independent
    axes = by_paper(printed, "classifier", "attribute", value="lic", xlabel="LIC, points")
    with plt.rc_context({**STYLE, "svg.fonttype": "path"}):
        axes.figure.savefig(file, format="svg", metadata={"Date": None})
    plt.close(axes.figure)


def printed_in(attribute: str, classifier: str) -> str:
    """Where the reproductions print LIC of an attribute by a classifier."""
    turk = {"gender lstm": 2, "gender bert": 1, "race lstm": 3}.get(f"{attribute} {classifier[:4]}")
    first = f"table {ORDER.index(attribute) + 1} of Antequera et al. (2023)"
    return first + (f" and table {turk} of Türk et al. (2023)" if turk else "")


def protocol(corpus: AnyCorpus, classifier: str, seeds: list[int]) -> Runs:
    """LIC_M on the papers' splits, files and settings: of these seeds, or (none given) as recorded."""
    attribute, choices = corpus.attribute.name, {"classifier": classifier, "split": "upstream"}
    choices |= SETTINGS.get(classifier, {})

    def served(names: list[str], **choices) -> Runs:
        if seeds:
            return runs(corpus, names, seeds=seeds, sides=["model"], **choices)
        return recorded(attribute=attribute, captioner=names, side="model", **choices)

    if attribute != "gender" or classifier not in TH10:
        return served(corpus.captioners, **choices)
    others = [name for name in corpus.captioners if name != "nic"]
    return served(others, **choices) + served(["nic"], caption_set="th10", **choices)
