"""Evidence for a claim: LIC_M, LIC_D and LIC of captioners, from every source in one tidy form.

One row a source, attribute, classifier, variant, captioner and seed. The papers' tables have no
seeds: one row a cell, with printed standard deviations over ten. `variant`: `standard`, or `unseen`
for test captions that the training side does not hold (masked, as the classifier reads them).
`human`: which human captions of an image LIC_D is the mean over, each by a run of its own.
"""

from functools import cache

import numpy as np
import pandas as pd
import yaml

from relic import paths
from relic.errors import RelicError
from relic.planted.process import CAPTIONERS
from relic.published import published
from relic.results import RECORDED, load_runs, outcomes_of
from relic.stats import Estimate, Interval, estimate, from_spread, ratio_bootstrap
from relic.store import Store

COLUMNS = [
    "source", "corpus", "attribute", "classifier", "variant", "captioner", "seed",
    "lic_model", "lic_data", "lic", "std_model", "std_data", "n_seeds", "n_test", "human",
]  # fmt: skip
GROUP = ["source", "corpus", "attribute", "classifier", "variant"]
BOTH = ("model", "human")
PAPER_SEEDS, PAPER_TEST = 10, {"gender": 662, "race": 220, "age": 488}
TABLE = " table"  # suffix of a source of which only means and spreads are printed
THIS_BUILD = "this build"
RECIPES = {"linear": "C=0.1", "lstm": "upstream", "bert-ft": "1e-5x5", "bert-pre": "5e-5x20"}
MAIN = "linear"  # the classifier that everything is recorded for
TOLD = [  # what tells a run from others of the same source
    "source", "corpus", "attribute", "classifier", "captioner", "side", "caption_set", "labels", "size",
    "caption_index", "vocabulary", "split", "seed",
]  # fmt: skip
VARIANTS = {
    "standard": ("score", "n_test"),
    "unseen": ("unseen_score", "n_unseen"),
}


@cache
def display_names() -> dict[str, str]:
    """Captioner by key, as the papers write it."""
    text = (paths.PACKAGE / "data" / "captioners.yml").read_text(encoding="utf-8")
    real = {key: about["name"] for key, about in yaml.safe_load(text).items()}
    return real | {captioner.key: captioner.name for captioner in CAPTIONERS}


def from_tables(lic: pd.DataFrame | None = None) -> pd.DataFrame:
    """The papers' tables: means and spreads only."""
    lic = published("lic") if lic is None else lic
    keys = ["source", "attribute", "classifier", "captioner"]
    plain = lic[lic["variant"].isna()]
    wide = plain.pivot_table(index=keys, columns="metric", values=["mean", "std"]).reset_index()
    frame = pd.DataFrame(
        {
            **{name: wide[name] for name in keys},
            "lic_model": wide["mean", "LIC_M"],
            "lic_data": wide["mean", "LIC_D"],
            "lic": wide["mean", "LIC"],
            "std_model": wide["std", "LIC_M"],
            "std_data": wide["std", "LIC_D"],
        }
    )
    return _published(frame.assign(source=frame["source"] + TABLE, seed=pd.NA, n_seeds=PAPER_SEEDS))


def from_per_seed(values: pd.DataFrame | None = None) -> pd.DataFrame:
    """Türk et al.'s spreadsheet. Its rows are taken as splits; that they are seeds is not proven."""
    values = published("lic_per_seed") if values is None else values
    keys = ["source", "attribute", "classifier", "captioner", "row"]
    wide = values.pivot(index=keys, columns="metric", values="value").reset_index()
    wide = wide.rename(columns={"row": "seed", "LIC_M": "lic_model", "LIC_D": "lic_data"})
    return _published(wide.assign(lic=wide["lic_model"] - wide["lic_data"], n_seeds=1))


def _published(frame: pd.DataFrame) -> pd.DataFrame:
    frame = frame.assign(
        corpus="published",
        classifier=frame["classifier"].str.lower(),
        variant="standard",
        n_test=frame["attribute"].map(PAPER_TEST),
    )
    return frame.reindex(columns=COLUMNS)


def select(
    runs: pd.DataFrame,
    *,
    split: str | None = "paired",
    labels: str | None = "true",
    size: int | None = 0,
    caption_set: str | list[str] = "standard",
    vocabulary: str = "captioner",
    **where,
) -> pd.DataFrame:
    """Runs of one kind, `classifier` under its full label; None takes every kind.

    `where`: further columns with the value, or list of values, they must have; a classifier by its label,
    or by its name: then with the papers' recipe. A run that is there twice with different scores
    (captions or code have changed since) is an error: no mean would be right.
    """
    where |= {"split": split, "labels": labels, "size": size, "caption_set": caption_set}
    runs = runs[runs["vocabulary"].isin(["", vocabulary])]
    plain, runs = runs["classifier"], runs.assign(classifier=labelled(runs))
    asked = where.get("classifier")
    if isinstance(asked, str) and asked not in set(runs["classifier"]) and asked in set(plain):
        where["classifier"] = min(runs.loc[plain == asked, "classifier"], key=len)
    for column, value in where.items():
        if value is not None:
            runs = runs[runs[column].isin(value if isinstance(value, list) else [value])]
    runs = runs.drop_duplicates([*TOLD, "score"])  # a temperature does not change the score
    twice = runs[runs.duplicated(TOLD)]
    if len(twice):
        told = ", ".join(f"{value}" for value in twice.iloc[0][TOLD] if value != "")
        raise RelicError(
            f"{len(twice)} runs are there twice with different scores, the first: {told}",
            expected="one corpus and one version of the code",
            mend="name a store that holds one corpus (--store DIR, or RELIC_RUNS)",
        )
    return runs


def from_runs(
    runs: pd.DataFrame,
    named: str | None = None,
    *,
    names: dict[str, str] | None = None,
    **choice,
) -> pd.DataFrame:
    """Paired runs: the score on generated captions beside the mean over human captions, by seed.

    `named`: what to call their source; `choice`: as in `select`.
    """
    runs = select(runs, **choice) if len(runs) else runs
    if runs.empty:
        return pd.DataFrame(columns=COLUMNS)
    if named:
        runs = runs.assign(source=named)
    keys = ["source", "corpus", "attribute", "classifier", "captioner", "seed"]
    parts = []
    for variant, (score, n_test) in VARIANTS.items():
        model = runs[runs["side"] == "model"].groupby(keys)[[score, n_test]].mean()
        human = (
            runs[runs["side"] == "human"]
            .groupby(keys)
            .agg(lic_data=(score, "mean"), human=("caption_index", _listed))
        )
        model.columns = ["lic_model", "n_test"]
        both = model.join(human, how="inner").reset_index()
        parts.append(both.assign(variant=variant))
    frame = pd.concat(parts, ignore_index=True)
    frame["lic"], frame["n_seeds"] = frame["lic_model"] - frame["lic_data"], 1
    names = display_names() if names is None else names
    frame["captioner"] = frame["captioner"].map(lambda key: names.get(key, key))
    return frame.reindex(columns=COLUMNS)


def _listed(indices: pd.Series) -> str:
    return ", ".join(str(index) for index in sorted(set(indices)))


def equal_size(runs: pd.DataFrame, source: str) -> pd.DataFrame:
    """Gender on as many images as race has, beside race: sample size alone moves LIC."""
    race = runs[(runs["attribute"] == "race") & (runs["size"] == 0)]
    sizes = sorted(set(runs.loc[(runs["attribute"] == "gender") & (runs["size"] > 0), "size"]))
    if race.empty or not sizes:
        return pd.DataFrame(columns=COLUMNS)
    gender = from_runs(runs[runs["attribute"] == "gender"], source, size=sizes[-1])
    both = pd.concat([gender, from_runs(race, source)], ignore_index=True)
    return both.assign(variant=both["variant"] + ", equal size")


def classifier_label(run: dict) -> str:
    """Classifier with what must not be hidden: another encoder than BERT-base, recipe or batching.

    >>> run = {"classifier": "bert-pre", "encoder": "all-MiniLM-L6-v2", "recipe": "1e-5x5"}
    >>> classifier_label(run | {"batching": "bucketed", "split": "paired"})
    'bert-pre (MiniLM) 1e-5x5'
    """
    label = run["classifier"]
    if run["encoder"] and "bert-base" not in run["encoder"]:
        label += f" ({'MiniLM' if 'minilm' in run['encoder'].lower() else run['encoder']})"
    if run["recipe"] not in ("", RECIPES.get(run["classifier"])):
        label += f" {run['recipe']}"
    if run["classifier"] == "lstm" and run["split"] == "upstream" and run["batching"] == "bucketed":
        label += " bucketed"  # the papers' splits come with the papers' packed batches
    return label


def labelled(runs: pd.DataFrame) -> list[str]:
    """The label of each run."""
    parts = ["classifier", "encoder", "recipe", "batching", "split"]
    each = list(runs[parts].itertuples(index=False, name=None))
    known = {one: classifier_label(dict(zip(parts, one, strict=True))) for one in set(each)}
    return [known[one] for one in each]


def gather(local: pd.DataFrame | None = None) -> pd.DataFrame:
    """All evidence: tables, per-seed values, recorded runs and, if given, this build's runs."""
    parts = [from_tables(), from_per_seed(), from_runs(load_runs(), RECORDED)]
    if local is not None:
        parts.append(from_runs(local, THIS_BUILD))
    parts = [part.astype({"seed": "Int64"}) for part in parts if not part.empty]
    return pd.concat(parts, ignore_index=True)


def means(group: pd.DataFrame, quantity: str = "lic") -> dict[str, Estimate]:
    """An estimate for each captioner of one group of evidence, in the order of its rows."""
    return {
        captioner: _estimate(rows, quantity)
        for captioner, rows in group.groupby("captioner", sort=False)
    }


def _estimate(rows: pd.DataFrame, quantity: str) -> Estimate:
    if rows["seed"].notna().all():
        return estimate(rows[quantity])
    row = rows.iloc[0]
    spreads = {"lic_model": [row["std_model"]], "lic": [row["std_model"], row["std_data"]]}[
        quantity
    ]
    return from_spread(float(row[quantity]), float(np.linalg.norm(spreads)), int(row["n_seeds"]))


def difference(group: pd.DataFrame, first: str, second: str, quantity: str = "lic") -> Estimate:
    """First minus second captioner: by seed where there are seeds, else as independent."""
    a, b = (group[group["captioner"] == name] for name in (first, second))
    if a["seed"].notna().all():
        paired = a.set_index("seed")[quantity] - b.set_index("seed")[quantity]
        return estimate(paired.dropna())
    return _estimate(a, quantity).minus(_estimate(b, quantity))


def image_intervals(
    runs: pd.DataFrame,
    wanted: dict[str, dict[str, float]],
    *,
    unseen: bool = False,
    store: Store | None = None,
) -> dict[str, Interval]:
    """Bootstrap over test images of signed sums of captioners' LIC, from per-image outcomes.

    `wanted`: a name for each sum, such as `{"lead": {"nic_equalizer": 1, "nic_plus": -1}}`. `runs`:
    paired runs of one attribute and classifier; the same images test every captioner for a seed. A
    seed counts where both sides are there, as in the interval over seeds.
    """
    sides = runs.groupby(["captioner", "seed"])["side"].transform("nunique")
    outcomes = outcomes_of(runs[sides == len(BOTH)], store)
    if unseen:
        outcomes = outcomes[outcomes["unseen"]]
    keys = ["image_id", "captioner", "side"]
    wide = outcomes.groupby(keys)["score"].agg(["sum", "count"]).unstack(keys[1:], fill_value=0)
    columns = list(wide["sum"].columns)
    known = {k: v for k, v in wanted.items() if all((c, s) in columns for c in v for s in BOTH)}
    if not known:
        return {}
    signs = [
        [parts.get(captioner, 0) * (1 if side == "model" else -1) for captioner, side in columns]
        for parts in known.values()
    ]
    found = ratio_bootstrap(
        wide["sum"].to_numpy("float32"), wide["count"].to_numpy("float32"), np.array(signs)
    )
    return dict(zip(known, found, strict=True))
