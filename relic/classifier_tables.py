"""Tables and figures' frames of the claim pages that set classifiers side by side."""

from collections.abc import Iterable
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from relic.claim_tables import beside_papers, captioner_table, estimates, recorded_groups
from relic.claims import complete, rankings
from relic.evidence import MAIN, means
from relic.report import in_order, source_name
from relic.results import RECORDED
from relic.stats import kendall_w, kendall_w_p, rank_sets, tau, tau_p

FEWEST = 3  # splits for an interval worth drawing: from two it spans the figure


def agreement_table(evidence: pd.DataFrame, attributes: Iterable[str]) -> pd.DataFrame:
    """How alike classifiers order captioners, by source: Kendall's W and τ with permutation p."""
    rows = []
    kept = evidence[evidence["attribute"].isin(list(attributes))]
    for keys, group in kept.groupby(["attribute", "source", "variant"], sort=False):
        parts = complete(group)
        if len(parts) < 2:
            continue
        points, names = rankings(parts)[0], list(parts)
        found = {"W": kendall_w(points), "p of W": kendall_w_p(points)}
        for i, j in combinations(range(len(names)), 2):
            row = {
                "attribute": keys[0],
                "source": source_name(keys[1]),
                "captions": keys[2],
                "classifiers": f"{names[i]} – {names[j]}",
                "captioners": points.shape[1],
                "τ": tau(points[i], points[j]),
                "p of τ": tau_p(points[i], points[j]),
            }
            rows.append(row | found)
    return pd.DataFrame(rows)


def lic_by_classifier(evidence: pd.DataFrame, source: str, attribute: str) -> pd.DataFrame:
    """Mean LIC by captioner and classifier of a source, standard captions, for a figure."""
    kept = evidence[(evidence["source"] == source) & (evidence["attribute"] == attribute)]
    kept = kept[kept["variant"] == "standard"]
    rows = [
        {"captioner": name, "classifier": classifier, "LIC": each.mean}
        for classifier, part in complete(kept).items()
        for name, each in means(part).items()
    ]
    return pd.DataFrame(rows, columns=["captioner", "classifier", "LIC"])


def every_classifier(evidence: pd.DataFrame, runs: pd.DataFrame, attribute: str) -> pd.DataFrame:
    """The captioner table of every recorded classifier and variant, one under the other."""
    parts = []
    for group, own in recorded_groups(evidence, runs, attribute):
        about, table = group.iloc[0], captioner_table(group, own)
        table.insert(0, "classifier", about["classifier"])
        table.insert(1, "captions", about["variant"])
        per_seed = group.groupby("captioner")["human"].agg(lambda h: h.iloc[0].count(",") + 1)
        parts.append(table.assign(**{"human captions a seed": table["captioner"].map(per_seed)}))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def main_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Of that table the main classifier on all test captions."""
    kept = table[(table["classifier"] == MAIN) & (table["captions"] == "standard")]
    return kept.drop(columns=["classifier", "captions", "human captions a seed"])


def intervals_by_classifier(evidence: pd.DataFrame, attribute: str) -> pd.DataFrame:
    """Recorded LIC by captioner and classifier, all test captions, for a figure; the main one first."""
    parts = [estimates(part, name) for name, part in _standard(evidence, attribute).items()]
    shown = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    return shown[shown["n"] >= FEWEST] if len(shown) else shown


def papers_by_classifier(
    evidence: pd.DataFrame, runs: pd.DataFrame, attribute: str
) -> pd.DataFrame:
    """Theirs and ours where the classifier is the same, and for the main one beside all of theirs."""
    parts = []
    for group, _ in recorded_groups(evidence, runs, attribute, variant="standard"):
        name = group["classifier"].iloc[0]
        table = beside_papers(evidence, attribute, group)
        if name != MAIN:
            table = table[table["their classifier"] == name.split(" ")[0]]
        table.insert(0, "our classifier", name)
        parts.append(table)
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def rank_table(evidence: pd.DataFrame, attribute: str) -> pd.DataFrame:
    """Ranks by recorded LIC: a row a captioner, a column a classifier; in brackets 95 % of the draws."""
    parts = _standard(evidence, attribute)
    names, wide = {name for part in parts.values() for name in part["captioner"]}, {}
    for classifier, part in parts.items():
        ranks = _ranks(part)
        of = "" if len(ranks) == len(names) else f" (of {len(ranks)})"
        wide[classifier + of] = ranks
    return pd.DataFrame(wide).reindex(in_order(names)).rename_axis("captioner").reset_index()


def _standard(evidence: pd.DataFrame, attribute: str) -> dict[str, pd.DataFrame]:
    """Recorded evidence on all test captions by classifier, the main one first."""
    kept = evidence[(evidence["source"] == RECORDED) & (evidence["attribute"] == attribute)]
    by = dict(iter(kept[kept["variant"] == "standard"].groupby("classifier")))
    return {name: by[name] for name in sorted(by, key=lambda name: (name != MAIN, name))}


def _ranks(group: pd.DataFrame) -> dict[str, str]:
    """Rank of each captioner by LIC, 1 the largest, with the ranks that other splits might give."""
    names = sorted(group["captioner"].unique())
    points, drawn = rankings({"": group})
    ranks = rankdata(-points[0], method="min").astype(int)
    others = ["one split"] * len(names)
    if not np.isnan(drawn).any():
        others = [f"{low} to {high}" for low, high in rank_sets(drawn[0])]
    return {name: f"{rank} ({each})" for name, rank, each in zip(names, ranks, others, strict=True)}
