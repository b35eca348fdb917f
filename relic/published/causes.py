"""Why the papers disagree, and what their numbers say about claims 3 and 4: tables, no words."""

import numpy as np
import pandas as pd

from relic.figures import PAPERS
from relic.published import CELL
from relic.published.compare import CLASSIFIERS, METRICS, differences, main_cells
from relic.published.sheet import exact_mean, printed_against_sheet, truncated

EQUALIZER, BASELINE = "NIC+Equalizer", "NIC+"
WIDE = 1.5  # how many times the widest spread of a column makes another one stand out


def recipe_gap(lic: pd.DataFrame) -> pd.DataFrame:
    """RELIC minus the other papers, LIC_M and LIC_D together: range by captioner and classifier."""
    pairs = differences(lic)
    pairs = pairs[pairs["papers"].str.contains("RELIC") & (pairs["metric"] != "LIC")]
    sign = np.where(pairs["source_second"] == "relic2023", 1, -1)
    pairs = pairs.assign(gap=sign * pairs["difference"] + 0.0)  # no −0.0
    ranges = pairs.groupby(["captioner", "classifier"], sort=False)["gap"].agg(
        ["min", "max", "size"]
    )
    parts = [
        ranges.xs(name, level="classifier")[["min", "max"]].set_axis(
            [f"{name}, lowest", f"{name}, highest"], axis=1
        )
        for name in CLASSIFIERS
    ]
    table = pd.concat(parts, axis=1)
    sizes = ranges["size"].unstack()[CLASSIFIERS].astype(str)
    table["n of each"] = sizes.agg(", ".join, axis=1)
    return table.reset_index()


def corrected(lic: pd.DataFrame, per_seed: pd.DataFrame) -> pd.DataFrame:
    """The papers' cells, with Türk et al.'s from the sheet where printing does not explain them.

    Replaced values are truncated as theirs are, so that nothing but the slip changes.
    """
    against = printed_against_sheet(lic, per_seed)
    off = against[~against["truncation"] & ~against["rounding"]]
    fixed = lic.set_index(["source", *CELL]).sort_index()
    plain = fixed["variant"].isna()
    for row in off.to_dict("records"):
        key = ("turk2023", *(row[name] for name in CELL))
        values = per_seed.set_index(CELL).sort_index().loc[key[1:], "value"]
        chosen = (fixed.index == key) & plain
        fixed.loc[chosen, "mean"] = truncated(exact_mean(values))
        fixed.loc[chosen, "std"] = float(values.std())
        same = [fixed.index == (*key[:-1], metric) for metric in METRICS]
        model, data = (fixed.loc[which & plain, "mean"].item() for which in same[:2])
        fixed.loc[same[2] & plain, "mean"] = round(model - data, 1)
    return fixed.reset_index()[lic.columns]


def rerun_noise(lic: pd.DataFrame) -> pd.DataFrame:
    """RELIC's LIC_M for age, which tables 3 and 4 both give: one experiment, run twice."""
    age = lic[(lic["attribute"] == "age") & (lic["metric"] == "LIC_M")]
    first, second = (age[age["table"] == table] for table in ("table3", "table4"))
    key = ["classifier", "captioner"]
    both = first.merge(second, on=key, suffixes=("_3", "_4"))
    return pd.DataFrame(
        {
            **{name: both[name] for name in key},
            "table 3": both["mean_3"],
            "± (3)": both["std_3"],
            "table 4": both["mean_4"],
            "± (4)": both["std_4"],
            "difference": (both["mean_4"] - both["mean_3"]).round(1),
            "same in all digits": (both["mean_3"] == both["mean_4"])
            & (both["std_3"] == both["std_4"]),
        }
    )


def race_against_gender(lic: pd.DataFrame) -> pd.DataFrame:
    """Claim 3 by paper, classifier and metric: in how many captioners is race the lower?"""
    cells = main_cells(lic)
    wide = cells.pivot(
        index=["source", "classifier", "metric", "captioner"], columns="attribute", values="mean"
    ).dropna()
    rows = []
    for source, label in PAPERS.items():
        for classifier in CLASSIFIERS:
            for metric in ("LIC_M", "LIC"):
                if (source, classifier, metric) not in wide.index:
                    continue
                part = wide.loc[(source, classifier, metric)]
                above = part.index[part["race"] > part["gender"]]
                rows.append(
                    {
                        "paper": label,
                        "classifier": classifier,
                        "metric": metric,
                        "captioners": len(part),
                        "race lower": int((part["race"] < part["gender"]).sum()),
                        "equal": int((part["race"] == part["gender"]).sum()),
                        "race higher": len(above),
                        "which": ", ".join(above) or "none",
                    }
                )
    return pd.DataFrame(rows)


def equalizer_race(lic: pd.DataFrame, per_seed: pd.DataFrame) -> pd.DataFrame:
    """Claim 4, race: LIC of NIC+ and of NIC+Equalizer as printed, and by Türk et al.'s sheet."""
    tables = [(label, lic[lic["source"] == source]) for source, label in PAPERS.items()]
    fixed = corrected(lic, per_seed)
    tables.append((f"{PAPERS['turk2023']}, sheet", fixed[fixed["source"] == "turk2023"]))
    rows = []
    for label, table in tables:
        cells = main_cells(table)
        cells = cells[(cells["attribute"] == "race") & (cells["metric"] == "LIC")]
        for classifier, part in cells.groupby("classifier", sort=False):
            part = part.set_index("captioner")
            before, after = part.loc[BASELINE], part.loc[EQUALIZER]
            rows.append(
                {
                    "paper": label,
                    "classifier": classifier,
                    "NIC+": before["mean"],
                    "NIC+Equalizer": after["mean"],
                    "change": round(after["mean"] - before["mean"], 1),
                    "spread": float(np.hypot(before["spread"], after["spread"])),
                }
            )
    return pd.DataFrame(rows)


def wide_spreads(lic: pd.DataFrame) -> pd.DataFrame:
    """RELIC's cells whose printed spread is over 1.5 times the widest of Hirota et al.'s column.

    A wide spread hides a difference from our rule, so these cells are looked at on their own.
    """
    cells = main_cells(lic)
    cells = cells[cells["metric"] != "LIC"]
    relic, hirota = (cells[cells["source"] == name] for name in ("relic2023", "hirota2022"))
    both = relic.merge(hirota, on=CELL, suffixes=("", "_hirota"))
    widest = both.groupby(["attribute", "classifier", "metric"])["spread_hirota"].transform("max")
    kept = both[both["spread"] > WIDE * widest].assign(
        difference=lambda frame: (frame["mean"] - frame["mean_hirota"]).round(1)
    )
    wanted = [*CELL, "mean_hirota", "spread_hirota", "mean", "spread", "difference"]
    return kept[wanted].rename(
        columns={
            "mean_hirota": "Hirota",
            "spread_hirota": "± (Hirota)",
            "mean": "RELIC",
            "spread": "± (RELIC)",
        }
    )
