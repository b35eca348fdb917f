"""Tables and the figure of `54_accuracy`: a tidy frame in, a frame or axes out."""

import matplotlib.pyplot as plt
import pandas as pd

from relic.chapters.accuracy.scores import METRICS
from relic.chapters.accuracy.turk import CHARACTER_BLEU, RAW_CIDER
from relic.chapters.figures import STYLE, captioner_colours
from relic.judge.stats import rank_correlation
from relic.records.published import published

THEIR_WAY = {CHARACTER_BLEU: "BLEU-4", RAW_CIDER: "CIDEr"}
MARKERS = "osD^vPX*h"


def wide(scores: pd.DataFrame) -> pd.DataFrame:
    """A row a captioner; each metric with its interval."""
    rows = {}
    for row in scores[scores["metric"].isin(METRICS)].itertuples():
        about = rows.setdefault(row.captioner, {"captioner": row.captioner})
        about |= {
            row.metric: row.value,
            f"{row.metric} low": row.low,
            f"{row.metric} high": row.high,
        }
    return pd.DataFrame(rows.values())


def correlations(scores: pd.DataFrame, lic: pd.DataFrame) -> pd.DataFrame:
    """Spearman's ρ between each metric and LIC over captioners, with its interval.

    `lic`: as `relic.intervals` gives it.
    """
    rows = []
    for metric, part in scores[scores["metric"].isin(METRICS)].groupby("metric", sort=False):
        both = part.merge(lic, on="captioner")
        found = rank_correlation(both["value"], both["lic"])
        rows.append((metric, found["rho"], found["low"], found["high"], found["n"]))
    return pd.DataFrame(rows, columns=["metric", "rho", "low", "high", "captioners"])


def beside_turk(scores: pd.DataFrame) -> pd.DataFrame:
    """Türk et al.'s table 2, their way of computing on our images, and the COCO tools' scores.

    They read NIC's `th10` captions: the other set's scores lie further from theirs.
    """
    theirs = published("accuracy").rename(columns={"value": "Türk"})
    theirs["captioner"] = theirs["captioner"].replace("NIC", "NIC (th10)")
    keys = ["captioner", "metric"]
    again = scores.assign(metric=scores["metric"].map(THEIR_WAY)).dropna(subset="metric")
    again = again[[*keys, "value"]].rename(columns={"value": "their way"})
    tools = scores[[*keys, "value", "low", "high"]].rename(columns={"value": "COCO tools"})
    table = theirs[[*keys, "Türk"]].merge(again, on=keys, how="left")
    return table.merge(tools, on=keys, how="left")


def trade_off(both: pd.DataFrame, metric: str) -> plt.Axes:
    """LIC against accuracy, a point a captioner: value, low, high; lic, lic_low, lic_high."""
    colours = captioner_colours(both["captioner"])
    with plt.rc_context(STYLE):
        _, axes = plt.subplots(figsize=(5.2, 4))
        for row, marker in zip(both.itertuples(), MARKERS, strict=False):
            across = [[row.value - row.low], [row.high - row.value]]
            up = [[row.lic - row.lic_low], [row.lic_high - row.lic]]
            look = {"fmt": marker, "color": colours[row.captioner], "ms": 7, "lw": 1.2}
            axes.errorbar(row.value, row.lic, up, across, label=row.captioner, **look)
        axes.axhline(0, color="black", lw=0.8)
        axes.set(xlabel=f"{metric}, higher is more accurate", ylabel="LIC, points")
        axes.legend(
            frameon=False, fontsize=9, loc="upper center", bbox_to_anchor=(0.45, -0.15), ncols=3
        )
    return axes
