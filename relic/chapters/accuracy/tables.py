"""Tables of `54_accuracy`: a tidy frame in, a frame out."""

import pandas as pd

from relic.chapters.accuracy.scores import METRICS
from relic.chapters.accuracy.turk import CHARACTER_BLEU, RAW_CIDER
from relic.judge.stats import rank_correlation
from relic.records.published import published

THEIR_WAY = {CHARACTER_BLEU: "BLEU-4", RAW_CIDER: "CIDEr"}


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
