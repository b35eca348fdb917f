"""Tables about captioners, classifiers and what they cost: the papers' and ours."""

import pandas as pd

from relic import datacard
from relic.attribute import load_attribute
from relic.claim_tables import recorded_estimates
from relic.evidence import MAIN, display_names, labelled, select
from relic.figures import PAPERS
from relic.published import published
from relic.records import read_record
from relic.report import minus
from relic.results import read_published

KAPPA = "Cohen's κ"
WHAT = {
    "linear": "logistic regression on words and pairs of words",
    "lstm": "as the papers'",
    "bert-ft": "as the papers', another encoder",
    "bert-pre": "as the papers', another encoder",
}


def captioners(evidence: pd.DataFrame) -> pd.DataFrame:
    """The nine captioners after Türk et al.'s table 6, with what we recorded of each."""
    table = published("captioners").drop(columns="key")
    accuracy = read_record("accuracy")
    if len(accuracy):
        kept = accuracy[(accuracy["metric"] == "CIDEr") & (accuracy["attribute"] == "gender")]
        kept = kept[kept["caption_set"] == "standard"].set_index("captioner")["value"]
        table["CIDEr"] = table["captioner"].map(kept.rename(index=display_names()))
    for attribute in ("gender", "race"):
        found = recorded_estimates(evidence, attribute, MAIN)
        if len(found):
            found = found[found["series"] == "all test captions"].set_index("captioner")["mean"]
            table[f"LIC, {attribute}"] = table["captioner"].map(found)
    return table


def papers_classifiers() -> pd.DataFrame:
    """Türk et al.'s table 7, with learning rate and epochs of each paper's public code."""
    table = published("classifiers").drop(columns="source")
    recipes = published("recipes")
    told = recipes["learning_rate"].map("{:.0e}".format).str.replace("e-0", "e-")
    recipes["recipe"] = told + " × " + recipes["epochs"].astype(str)
    wide = recipes.pivot(index="classifier", columns="source", values="recipe")
    for source, name in PAPERS.items():
        if source in wide:
            table[f"rate × epochs, {name}"] = table["classifier"].map(wide[source])
    return table.rename(columns={"fine_tuned": "fine-tuned"})


def our_classifiers(runs: pd.DataFrame) -> pd.DataFrame:
    """What our recorded runs trained: recipe, how many, CPU seconds a training."""
    named = runs.assign(shown=labelled(runs))
    rows = []
    for (shown, recipe), part in named.groupby(["shown", "recipe"], sort=True):
        first, seconds = part.iloc[0], part["seconds"]
        rows.append(
            {
                "classifier": shown.removesuffix(f" {recipe}"),
                "what": WHAT.get(first["classifier"], ""),
                "recipe": recipe,
                "trainings": len(part),
                "captions each, median": int(part["n_train"].median()),
                "CPU seconds each, median": float(seconds.median()),
                "CPU hours": float(seconds.sum() / 3600),
            }
        )
    return pd.DataFrame(rows)


def batching() -> str:
    """What batches of one length do to the LSTM's LIC_M, on the papers' splits, in words."""
    runs = read_published()
    runs = runs[(runs["classifier"] == "lstm") & (runs["split"] == "upstream") & (runs["caption_set"] == "standard")]  # fmt: skip
    wide = runs.pivot_table(index=["attribute", "captioner", "seed"], columns="batching", values="score")  # fmt: skip
    if "bucketed" not in wide:
        return (
            "*Bucketed against packed batches: not recorded; `relic sweep --grid 'lstm bucketed'`.*"
        )
    both = wide.dropna()
    moved = both["bucketed"] - both["packed"]
    spread = wide["packed"].groupby(["attribute", "captioner"]).std().mean()
    names = ", ".join(display_names()[key] for key in dict.fromkeys(both.index.get_level_values(1)))
    return minus(
        f"The LSTM's batches of one length (`bucketed`) need no padding and are faster on a CPU. They move LIC_M by "
        f"{moved.mean():+.1f} points on average (standard deviation {moved.std():.1f}, {len(moved)} runs on the papers' splits: "
        f"{names}); another seed alone moves it by a standard deviation of {spread:.1f}."
    )


def hours(runs: pd.DataFrame) -> str:
    """Recorded trainings and their CPU hours, in words."""
    return f"{len(runs):,} recorded trainings took {runs['seconds'].sum() / 3600:.1f} CPU hours"


def papers_hours() -> str:
    """GPU hours that the papers report, all their experiments together."""
    hours = published("cost").groupby("source")["hours"].sum()
    return f"{hours.min():.0f} to {hours.max():.0f} GPU hours"


def masked_words(attribute: str) -> str:
    """Words that are masked for an attribute, as a list with its length."""
    words = sorted(load_attribute(attribute).masked_words)
    return f"{', '.join(words)} ({len(words)} words)"


def wrong(runs: pd.DataFrame) -> str:
    """How often the main classifier is wrong about a single caption, by attribute."""
    kept = select(runs, classifier=MAIN, side="model")
    share = 100 - kept.groupby("attribute")["accuracy"].mean()
    told = [f"{share[name]:.0f} % ({name})" for name in ("gender", "race", "age") if name in share]
    return f"wrong in {', '.join(told)} of cases" if told else "not measured yet"


def age_agreement() -> str:
    """How well those who labelled age agree, as recorded."""
    row = datacard.recorded("agreement").iloc[0]
    return f"agree on {row['labels']} in {row['agreement (%)']:.0f} % of {row['pairs']:,} pairs (κ = {row[KAPPA]:.2f})"
