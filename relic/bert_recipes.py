"""BERT-pre's two recipes: what training less does to LIC_M, in our runs and between the papers."""

import pandas as pd

from relic.evidence import display_names, select
from relic.published import published
from relic.report import in_order
from relic.stats import estimate


def by_recipe(runs: pd.DataFrame, attribute: str) -> pd.DataFrame:
    """LIC_M of BERT-pre by captioner and recipe, with what tells confidence from knowledge."""
    kept = runs[runs["classifier"] == "bert-pre"]  # by its name alone: all encoders and recipes
    kept = select(kept, attribute=attribute, side="model")
    rows = []
    for recipe in kept["recipe"].unique():
        part = kept[kept["recipe"] == recipe]
        part = part.assign(captioner=part["captioner"].map(display_names()))
        for name in in_order(part["captioner"]):
            one = part[part["captioner"] == name]
            row = {
                "captioner": name,
                "series": recipe,
                **estimate(one["score"]).interval()._asdict(),
            }
            row |= {"accuracy": one["accuracy"].mean(), "AUC": one["auc"].mean()}
            rows.append(row | {"seeds": len(one), "test images": round(one["n_test"].mean())})
    return pd.DataFrame(rows)


def in_words(table: pd.DataFrame) -> str:
    """What the recipe alone does to LIC_M and to AUC, in words."""
    if table.empty or not {"5e-5x20", "1e-5x5"} <= set(table["series"]):
        return "Both recipes are not recorded yet."
    wide = table.pivot(index="captioner", columns="series", values=["mean", "AUC"]).dropna(
        axis=1, how="all"
    )
    pairs = [("5e-5x20", "1e-5x5", "off"), ("5e-5x20-dropout", "1e-5x5-dropout", "on")]
    lines = []
    for long, short, dropout in pairs:
        if ("mean", short) in wide and ("mean", long) in wide:
            gap = (wide["mean", short] - wide["mean", long]).dropna()
            auc = (wide["AUC", short] - wide["AUC", long]).dropna()
            lines.append(
                f"- Encoder dropout {dropout}, {len(gap)} captioners: 5 epochs at 1e-5 score {gap.mean():+.1f} points against 20 at "
                f"5e-5 ({gap.min():+.1f} to {gap.max():+.1f}); AUC changes by {auc.mean():+.1f}."
            )
    theirs = papers()["difference"]
    lines.append(
        f"- In the papers (BERT-base) RELIC lies {theirs.mean():+.1f} points from the others "
        f"({theirs.min():+.1f} to {theirs.max():+.1f})."
    )
    return "The recipe alone, on the same captions (COCO, gender, MiniLM):\n\n" + "\n".join(lines)


def papers() -> pd.DataFrame:
    """Published BERT-pre LIC_M for gender: RELIC minus the mean of the other two papers."""
    lic = published("lic")
    lic = lic[lic["variant"].isna() & (lic["attribute"] == "gender") & (lic["metric"] == "LIC_M")]
    wide = lic[lic["classifier"] == "BERT-pre"].pivot(
        index="captioner", columns="source", values="mean"
    )
    others = wide.drop(columns="relic2023").mean(axis=1)
    table = pd.DataFrame({"RELIC": wide["relic2023"], "others, mean": others})
    table["difference"] = table["RELIC"] - table["others, mean"]
    return table.loc[in_order(table.index)].reset_index()
