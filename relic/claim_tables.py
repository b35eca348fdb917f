"""Tables of the claim pages, computed from evidence, recorded runs and their outcomes."""

from collections.abc import Iterable

import pandas as pd

from relic.claims import MARGIN, PAIRS, gender_minus, groups
from relic.evidence import (
    MAIN,
    PAPER_SEEDS,
    TABLE,
    THIS_BUILD,
    VARIANTS,
    difference,
    display_names,
    image_intervals,
    means,
    select,
)
from relic.published import published
from relic.report import in_order, source_name
from relic.results import RECORDED
from relic.stats import (
    at_least,
    equivalence,
    estimate,
    every_one,
    from_spread,
    holm,
)
from relic.store import Store


def estimates(group: pd.DataFrame, series: str, quantity: str = "lic") -> pd.DataFrame:
    """Mean and 95 % interval for each captioner of one body of evidence, for a figure or table."""
    found = means(group, quantity)
    rows = [
        {
            "captioner": name,
            "series": series,
            **found[name].interval()._asdict(),
            "n": found[name].n,
        }
        for name in in_order(found)
    ]
    return pd.DataFrame(rows)


def captioner_table(
    group: pd.DataFrame, runs: pd.DataFrame | None = None, store: Store | None = None
) -> pd.DataFrame:
    """LIC_M, LIC_D and LIC by captioner, with the interval over splits and over test images."""
    table, found = [], means(group)
    keys = {name: key for key, name in display_names().items()}
    images = {}
    if runs is not None:
        wanted = {name: {keys[name]: 1.0} for name in found if name in keys}
        unseen = group["variant"].iloc[0].startswith("unseen")
        images = image_intervals(runs, wanted, unseen=unseen, store=store)
    for name in in_order(found):
        rows, (mean, low, high) = group[group["captioner"] == name], found[name].interval()
        row = {
            "captioner": name,
            "LIC_M": rows["lic_model"].mean(),
            "LIC_D": rows["lic_data"].mean(),
            "LIC": mean,
            "low": low,
            "high": high,
        }
        if images:
            row |= {"images low": images[name].low, "images high": images[name].high}
        table.append(row | {"seeds": found[name].n, "test images": round(rows["n_test"].mean())})
    return pd.DataFrame(table)


def beside_papers(
    evidence: pd.DataFrame, attribute: str, ours: pd.DataFrame, quantity: str = "lic"
) -> pd.DataFrame:
    """Theirs, ours, the difference, and whether it lies within their spread.

    Their spread is the printed standard deviation over seeds (for LIC, of LIC_M and LIC_D together).
    """
    theirs = evidence[evidence["source"].str.endswith(TABLE) & (evidence["attribute"] == attribute)]
    found, rows = means(ours, quantity), []
    for (source, classifier), group in theirs.groupby(["source", "classifier"], sort=False):
        for name in in_order(group["captioner"]):
            row = group[group["captioner"] == name].iloc[0]
            if name not in found:
                continue
            squares = row["std_model"] ** 2 + (row["std_data"] ** 2 if quantity == "lic" else 0)
            gap, spread = found[name].mean - row[quantity], squares**0.5
            rows.append(
                {
                    "captioner": name,
                    "paper": source_name(source).removesuffix(", table"),
                    "their classifier": classifier,
                    "theirs": row[quantity],
                    "spread": spread,
                    "ours": found[name].mean,
                    "difference": gap,
                    "within their spread": abs(gap) <= spread,
                }
            )
    return pd.DataFrame(rows)


def recorded_groups(
    evidence: pd.DataFrame, runs: pd.DataFrame, attribute: str, variant: str = ""
) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
    """Recorded evidence of an attribute by classifier and variant, each with its runs."""
    kept = evidence[(evidence["source"] == RECORDED) & (evidence["attribute"] == attribute)]
    kept = kept[kept["variant"].isin([variant] if variant else VARIANTS)]
    alike = select(runs, source=RECORDED, attribute=attribute)
    return [
        (group, alike[alike["classifier"] == name])
        for (name, _), group in kept.groupby(["classifier", "variant"], sort=False)
    ]


def own_groups(evidence: pd.DataFrame) -> list[pd.DataFrame]:
    """This build's evidence by attribute, classifier and variant."""
    kept = evidence[evidence["source"] == THIS_BUILD]
    return [group for _, group in kept.groupby(["attribute", "classifier", "variant"], sort=False)]


def recorded_estimates(evidence: pd.DataFrame, attribute: str, classifier: str) -> pd.DataFrame:
    """Recorded LIC, standard and unseen, for a figure."""
    kept = evidence[
        (evidence["source"] == RECORDED)
        & (evidence["attribute"] == attribute)
        & (evidence["classifier"] == classifier)
    ]
    names = {"standard": "all test captions", "unseen": "unseen captions only"}
    parts = [estimates(kept[kept["variant"] == v], label) for v, label in names.items()]
    return pd.concat(parts, ignore_index=True) if len(kept) else pd.DataFrame()


def marks(evidence: pd.DataFrame, attribute: str) -> pd.DataFrame:
    """The papers' LIC values, for small marks in a figure."""
    kept = evidence[evidence["source"].str.endswith(TABLE) & (evidence["attribute"] == attribute)]
    return kept[["captioner", "lic"]].rename(columns={"lic": "value"})


def subset_table(runs: pd.DataFrame, attributes: Iterable[str]) -> pd.DataFrame:
    """Recorded LIC_M of `linear` on the images with human captions and on all labelled ones."""
    where = {"source": RECORDED, "side": "model", "classifier": MAIN}
    kept = select(runs, split=["paired", "upstream"], attribute=list(attributes), **where)
    names = kept["captioner"].map(display_names())
    kept = kept.assign(captioner=pd.Categorical(names, in_order(names)))
    wide = kept.pivot_table(
        index=["attribute", "captioner"], columns="split", values=["score", "n_test"], observed=True
    )
    table = pd.DataFrame(
        {"attribute": wide.index.get_level_values(0), "captioner": wide.index.get_level_values(1)}
    )
    for split, name in (("paired", "with human captions"), ("upstream", "all images")):
        if ("score", split) in wide:
            table[f"LIC_M, {name}"] = wide["score", split].to_numpy()
            table[f"test images, {name}"] = wide["n_test", split].to_numpy().round().astype(int)
    if len(table.columns) == 6:
        table["difference"] = table.iloc[:, 2] - table.iloc[:, 4]
    return table.astype({"captioner": str})


def how_many(evidence: pd.DataFrame, attributes: Iterable[str]) -> pd.DataFrame:
    """How many captioners amplify, by source: each on its own, at least so many, all of them."""
    rows = []
    for about_, group in groups(evidence[evidence["attribute"].isin(list(attributes))]):
        p = [found.p_above(0) for found in means(group).values() if found.n > 1]
        if not p:
            continue
        row = {
            "source": source_name(about_["source"]), "attribute": about_["attribute"],
            "classifier": about_["classifier"], "captions": about_["variant"], "captioners": len(p),
            "LIC > 0 after Holm": int((holm(p) < 0.05).sum()), "at least, 95 % sure": at_least(p),
            "p of all": every_one(p),
        }  # fmt: skip
        rows.append(row)
    return pd.DataFrame(rows)


def both_attributes(rows: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """Gender beside race by captioner, for a figure."""
    by = [estimates(rows[rows["attribute"] == a], a, quantity) for a in ("gender", "race")]
    return pd.concat(by, ignore_index=True)


def gender_race_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Gender minus race by captioner, on LIC_M and on LIC."""
    table = {}
    for quantity, name in (("lic_model", "LIC_M"), ("lic", "LIC")):
        for captioner, found in gender_minus(rows, quantity).items():
            mean, low, high = found.interval()
            row = table.setdefault(captioner, {"captioner": captioner})
            row |= {f"{name}: gender − race": mean, f"{name} low": low, f"{name} high": high}
    return pd.DataFrame([table[name] for name in in_order(table)])


def differences(evidence: pd.DataFrame, attribute: str) -> pd.DataFrame:
    """The second captioner of claim 4 over the first, by source, classifier and variant."""
    rows = []
    for about_, group in groups(evidence[evidence["attribute"] == attribute]):
        for pair in PAIRS:
            if not set(pair) <= set(group["captioner"]):
                continue
            found = difference(group, *pair)
            seen = (
                "all test captions" if about_["variant"] == "standard" else "unseen captions only"
            )
            rows.append(
                {
                    "evidence": f"{source_name(about_['source'])}: {about_['classifier']}",
                    "source": about_["source"],
                    "series": seen,
                    **found.interval()._asdict(),
                    "p, equal within margin": equivalence(found, MARGIN),
                    "seeds": found.n,
                }
            )
    return pd.DataFrame(rows)


def lead_intervals(
    evidence: pd.DataFrame, runs: pd.DataFrame, attributes: Iterable[str]
) -> pd.DataFrame:
    """Claim 4 on recorded runs: the interval over splits and the one over test images."""
    keys, rows = {name: key for key, name in display_names().items()}, []
    first, second = PAIRS[0]
    for attribute in attributes:
        for group, own in recorded_groups(evidence, runs, attribute):
            if not {first, second} <= set(group["captioner"]):
                continue
            wanted = {"lead": {keys[first]: 1.0, keys[second]: -1.0}}
            variant, (mean, low, high) = (
                group["variant"].iloc[0],
                difference(group, first, second).interval(),
            )
            seeds = set.intersection(*(set(group.loc[group["captioner"] == name, "seed"]) for name in (first, second)))  # fmt: skip
            own = own[own["seed"].isin(seeds)]
            images = image_intervals(own, wanted, unseen=variant == "unseen").get("lead")
            row = {
                "attribute": attribute, "classifier": group["classifier"].iloc[0], "captions": variant,
                "difference": mean, "low": low, "high": high,
            }  # fmt: skip
            rows.append(
                row | ({"images low": images.low, "images high": images.high} if images else {})
            )
    return pd.DataFrame(rows)


SEEN = {
    "score": ("all", "n_test"),
    "unseen_raw_score": ("unseen, as written", "n_unseen_raw"),
    "unseen_score": ("unseen, masked", "n_unseen"),
}


def seen_share(runs: pd.DataFrame) -> str:
    """How much of what the two captioners of claim 4 say to test images was seen in training."""
    where = {"source": RECORDED, "attribute": "gender", "side": "model"}
    kept = select(runs, classifier=MAIN, **where)
    share = 100 * (1 - kept["n_unseen"] / kept["n_test"]).groupby(kept["captioner"]).mean()
    if not {"nic_plus", "nic_equalizer"} <= set(share.index):
        return "No runs on real captions are recorded."
    return (
        f"Both captioners repeat themselves: {share['nic_plus']:.0f} % of NIC+'s and "
        f"{share['nic_equalizer']:.0f} % of NIC+Equalizer's test captions were seen in training, word "
        "for word once masked. Türk et al. found the lead nearly gone on the rest (their table 5, "
        "LIC_M, by LSTM). Beside it, ours by both definitions of *seen*."
    )


def unseen_lead(runs: pd.DataFrame) -> pd.DataFrame:
    """LIC_M of NIC+Equalizer minus NIC+ for gender, on all and on unseen test captions."""
    tables = published("lic")
    theirs = tables[(tables["source"] == "turk2023") & (tables["metric"] == "LIC_M")]
    theirs = theirs[(theirs["attribute"] == "gender") & (theirs["classifier"] == "LSTM")]
    rows = []
    for variant, label in ((None, "all"), ("test=unseen-captions", "unseen, as written")):
        part = theirs[theirs["variant"].isna() if variant is None else theirs["variant"] == variant]
        cells = part.set_index("captioner").loc[list(PAIRS[0])]
        found = [
            from_spread(cell["mean"], cell["std"], PAPER_SEEDS) for _, cell in cells.iterrows()
        ]
        rows.append(("Türk et al. 2023, lstm", label, found[0].minus(found[1]), None))
    kept = select(runs, source=RECORDED, attribute="gender", side="model")
    for classifier, part in kept.groupby("classifier", sort=False):
        for column, (label, count) in SEEN.items():
            wide = part.pivot_table(index="seed", columns="captioner", values=column)
            if {"nic_equalizer", "nic_plus"} <= set(wide):
                lead = estimate((wide["nic_equalizer"] - wide["nic_plus"]).dropna())
                n = part.loc[part["captioner"].isin(["nic_equalizer", "nic_plus"]), count].mean()
                rows.append((f"ours, {classifier}", label, lead, n))
    return pd.DataFrame(
        [
            {"source": source, "test captions": label, "difference": found.mean,
             "low": found.interval().low, "high": found.interval().high, "test captions, mean n": n}
            for source, label, found, n in rows
        ]
    )  # fmt: skip
