"""The linear classifier in place of the LSTM: does it order captioners alike, and at what cost?"""

import pandas as pd

from relic import extensions
from relic.evidence import MAIN, display_names, from_runs, select
from relic.report import minus, span
from relic.results import RECORDED
from relic.stats import pearson_interval, tau_interval

CLOSE = 2.0  # points within which our LSTM is meant to lie of the papers'
LSTM = "relic sweep --grid 'lstm upstream'"


def linear_for_lstm(runs: pd.DataFrame) -> str:
    """Does the linear classifier order captioners as the LSTM does, and at what cost?"""
    both = side_by_side(runs)
    if len(both) < 5:
        return f"Not recorded yet: `{LSTM}`."
    r, order = (each(both["lstm"], both[MAIN]) for each in (pearson_interval, tau_interval))
    sure = "It orders captioners as the LSTM does." if order.low > 0.5 else "It orders captioners much as the LSTM does."  # fmt: skip
    sure = sure if order.low > 0 else "Whether it orders captioners as the LSTM does is open."
    table = extensions.upstream_table(runs, "gender")
    off = table["difference"].abs()
    papers = table.set_index("captioner")["theirs, mean"].reindex(both.index)
    r_papers, order_papers = (each(papers, both["linear, all"]) for each in (pearson_interval, tau_interval))  # fmt: skip
    slow, fast = both["lstm, seconds"].mean(), both["linear, seconds"].mean()
    return minus(
        f"**{sure}** LIC_M for gender on the papers' splits, {len(both)} captioners, the same {both['seeds'].min()} seeds: "
        f"r = {span(r, 2)}, Kendall's τ = {span(order, 2)}. Against the papers' LSTM (mean of three), with all seeds: "
        f"r = {span(r_papers, 2)}, τ = {span(order_papers, 2)}. A training takes {fast:.2f} instead of {slow:,.0f} CPU "
        f"seconds, {slow / fast:,.0f} times less. "
        f"Our LSTM lies within {CLOSE:g} points of the papers' mean for {(off <= CLOSE).sum()} of {len(off)} captioners (largest gap {off.max():.1f})."
        + lic_gap(runs)
    )


def lic_gap(runs: pd.DataFrame) -> str:
    """How far LIC and its parts by the LSTM lie from those by the linear classifier, same splits."""
    found = from_runs(runs, attribute="gender", source=RECORDED, classifier=["lstm", MAIN])
    found = found[found["variant"] == "standard"].set_index(["captioner", "seed"])
    parts = ["lic", "lic_model", "lic_data"]
    lstm, linear = (found.loc[found["classifier"] == name, parts] for name in ("lstm", MAIN))
    gap = (lstm - linear).dropna()
    if gap.empty:
        return ""
    captioners, seeds = (gap.index.get_level_values(level).nunique() for level in (0, 1))
    lic, model, data = gap.mean()
    why = " Most of it is LIC_D: the LSTM learns less from human captions, so its LIC is larger." if lic > 0 and -data > abs(model) else ""  # fmt: skip
    return (
        f" On paired splits its LIC lies {lic:+.1f} points from the linear classifier's ({captioners} captioners, {seeds} splits): LIC_M "
        f"{model:+.1f}, LIC_D {data:+.1f}.{why}"
    )


def side_by_side(runs: pd.DataFrame) -> pd.DataFrame:
    """Gender LIC_M by captioner on the papers' splits: LSTM and linear on the same seeds and captions."""
    where = {"source": RECORDED, "attribute": "gender", "side": "model"}
    kept = select(runs, split="upstream", caption_set=["standard", "th10"], **where)
    keys, by = ["captioner", "caption_set", "seed"], {}
    for name in ("lstm", MAIN):
        by[name] = kept[kept["classifier"] == name][[*keys, "score", "seconds"]]
    both = by["lstm"].merge(by[MAIN], on=keys, suffixes=("_lstm", ""))
    table = both.groupby("captioner").agg(
        **{
            "lstm": ("score_lstm", "mean"),
            MAIN: ("score", "mean"),
            "seeds": ("seed", "nunique"),
            "lstm, seconds": ("seconds_lstm", "mean"),
            f"{MAIN}, seconds": ("seconds", "mean"),
        }
    )
    rest = by[MAIN].merge(both[["captioner", "caption_set"]].drop_duplicates())
    table[f"{MAIN}, all"] = rest.groupby("captioner")["score"].mean()
    return table.rename(index=display_names())
