"""LIC = LIC_M − LIC_D by captioner and split: the one place that subtracts.

A *lic table* has a row a captioner and seed: `corpus, attribute, classifier, seen, captioner, seed,
lic_model, lic_data, lic, n_test, human`. The papers' printed tables have the same columns, no seeds,
and standard deviations over ten. `seen`: `all` test captions, or those that training did not hold:
`unseen` as the classifier reads them, `unseen as written` word for word. LIC_D is then the mean on
*the same test images*, because images whose generated captions are rare are harder on both sides.
`human`: which human captions of an image LIC_D is the mean over, each by a run of its own.
"""

import numpy as np
import pandas as pd

from relic.data.attribute import load_attribute
from relic.data.captioners import display_names, in_order
from relic.errors import RelicError
from relic.judge.stats import Estimate, Interval, estimate, from_spread, interval, resampled, shared
from relic.measure.classifiers.base import RECIPES

ALL, UNSEEN, AS_WRITTEN = "all", "unseen", "unseen as written"
SEEN = {ALL: "", UNSEEN: "unseen", AS_WRITTEN: "unseen_raw"}  # the column of outcomes
KIND = ["corpus", "attribute", "classifier", "seen"]  # what the rows of one comparison share
COLUMNS = [*KIND, "captioner", "seed", "lic_model", "lic_data", "lic", "n_test", "human"]
SCORES = ("score", "auc", "bits")  # LIC; area under the ROC curve, percent; V-information, bits


def lic_table(runs, *, of: str = "score", seen: str = ALL) -> pd.DataFrame:
    """LIC_M, LIC_D and their difference for each captioner and seed that has both.

    `runs`: what `relic.runs` gives, or a frame of runs (then all test captions only). `of`: which
    score is subtracted. A seed that has only one side is left out of the difference.
    """
    if of not in SCORES or seen not in SEEN or (of != "score" and seen != ALL):
        expected = f"{SCORES}, {tuple(SEEN)}; of unseen captions only the score"
        raise RelicError(f"of {of!r}, seen {seen!r}", expected=expected)
    frame = getattr(runs, "frame", runs)
    frame = frame.assign(classifier=labelled(frame), seen=seen)
    keys = [*KIND, "captioner", "seed"]
    if seen == ALL:
        if of == "bits":  # balanced classes: one bit less the cross-entropy
            frame = frame.assign(bits=1 - frame["log_loss"] / np.log(2))
        sides = (frame[frame["side"] == side] for side in ("model", "human"))
        model, data = (side.groupby(keys, sort=False)[[of, "n_test"]].mean() for side in sides)
        model, data = model.rename(columns={of: "lic_model"}), data[of].rename("lic_data")
    else:
        model, data = _matched(frame, runs.outcomes, keys, SEEN[seen])
    human = frame[frame["side"] == "human"]
    listed = human.groupby(keys)["caption_index"].agg(lambda k: ", ".join(map(str, sorted(set(k)))))
    both = model.join(data, how="inner").join(listed.rename("human")).reset_index()
    both["captioner"] = both["captioner"].replace(getattr(runs, "names", display_names()))
    return both.assign(lic=both["lic_model"] - both["lic_data"])[COLUMNS]


def _matched(frame: pd.DataFrame, outcomes: pd.DataFrame, keys: list[str], column: str):
    """Both sides' mean score on the test images whose generated caption is unseen in training."""
    tested = outcomes.merge(frame[["key", "side", *keys]], on="key")
    model = tested[(tested["side"] == "model") & tested[column]]
    images = model[[*keys, "image_id"]].drop_duplicates()
    human = tested[tested["side"] == "human"].merge(images, on=[*keys, "image_id"])
    human = human.groupby([*keys, "key"])["score"].mean()  # each human caption counts alike
    model = model.groupby(keys, sort=False)["score"].agg(lic_model="mean", n_test="size")
    return model, human.groupby(keys).mean().rename("lic_data")


def image_intervals(runs) -> dict[str, Interval]:
    """Bootstrap over test images of each captioner's LIC, from per-image outcomes of runs of one kind.

    The same images test every captioner of a seed. A seed counts where both sides are there, as in
    the interval over splits.
    """
    sides = runs.frame.groupby(["captioner", "seed"])["side"].transform("nunique")
    paired = runs.frame.loc[sides == 2, ["key", "captioner", "side"]]
    if paired.empty:
        return {}
    keys = ["image_id", "captioner", "side"]
    scores = runs.outcomes.merge(paired, on="key").groupby(keys)["score"]
    wide = scores.agg(["sum", "count"]).unstack(keys[1:], fill_value=0)
    sums, counts = (wide[name].to_numpy("float32") for name in ("sum", "count"))
    means = pd.DataFrame(resampled(sums, counts), columns=wide["sum"].columns)
    model, human = (means.xs(side, axis=1, level="side") for side in ("model", "human"))
    return {name: interval(model[name] - human[name]) for name in paired["captioner"].unique()}


def model_table(runs, *, seen: str = ALL) -> pd.DataFrame:
    """LIC_M alone, a row a captioner and seed: what needs no human captions."""
    frame = getattr(runs, "frame", runs)
    frame = frame[frame["side"] == "model"]
    subset = SEEN[seen]
    score, counted = (f"{subset}_score", f"n_{subset}") if subset else ("score", "n_test")
    scores = {"lic_model": frame[score], "n_test": frame[counted]}
    frame = frame.assign(classifier=labelled(frame), seen=seen, **scores)
    frame["captioner"] = frame["captioner"].replace(getattr(runs, "names", display_names()))
    return frame[[*KIND, "captioner", "seed", "lic_model", "n_test"]]


def intervals(lic: pd.DataFrame, quantity: str = "lic") -> pd.DataFrame:
    """A row a captioner: means over its splits, and the 95 % interval of `quantity`.

    Captioners come in the papers' order; `seeds` counts splits, `n_test` test captions of one.
    """
    rows = []
    for kind, part in lic.groupby(KIND, sort=False, dropna=False):
        by_captioner = estimates(part, quantity)
        for name in in_order(by_captioner):
            its, (mean, low, high) = part[part["captioner"] == name], by_captioner[name].interval()
            means = {c: its[c].mean() for c in ("lic_model", "lic_data", "lic") if c in its}
            row = dict(zip(KIND, kind, strict=True)) | {"captioner": name} | means
            row |= {quantity: mean, "low": low, "high": high, "seeds": by_captioner[name].n}
            rows.append(row | {"n_test": round(its["n_test"].mean())})
    return pd.DataFrame(rows)


def estimates(lic: pd.DataFrame, quantity: str = "lic") -> dict[str, Estimate]:
    """Mean with its corrected error for each captioner of one kind."""
    return {name: _estimate(rows, quantity) for name, rows in lic.groupby("captioner", sort=False)}


def shared_by(lic: pd.DataFrame) -> float:
    """What the splits of a table of one attribute share: by its column `ratio`, else the papers' labels."""
    first = lic.iloc[0]
    return shared(first["ratio"] if "ratio" in lic else load_attribute(first["attribute"]).ratio)


def _estimate(rows: pd.DataFrame, quantity: str) -> Estimate:
    if rows["seed"].notna().all():
        return estimate(rows[quantity], shared_by(rows))
    row = rows.iloc[0]  # a printed table: mean and standard deviations over its splits
    parts = {"lic_model": ["std_model"], "lic_data": ["std_data"], "lic": ["std_model", "std_data"]}
    spread = float(np.linalg.norm([row[name] for name in parts[quantity]]))
    return from_spread(float(row[quantity]), spread, int(row["n_seeds"]), shared_by(rows))


def difference(lic: pd.DataFrame, first: str, second: str, quantity: str = "lic") -> Estimate:
    """First minus second captioner: split by split where there are splits, else as independent."""
    a, b = (lic[lic["captioner"] == name] for name in (first, second))
    if a.empty or b.empty:
        found = f"{first if a.empty else second} is not among the captioners"
        raise RelicError(found, expected=", ".join(in_order(lic["captioner"].unique())))
    if a["seed"].notna().all():
        ours, theirs = (rows.set_index("seed")[quantity] for rows in (a, b))
        return estimate(ours - theirs, shared_by(lic))
    return _estimate(a, quantity).minus(_estimate(b, quantity))


def mean_over_captioners(lic: pd.DataFrame, quantity: str = "lic") -> Estimate:
    """The mean of the captioners, split by split."""
    if lic["seed"].notna().all():
        return estimate(lic.groupby("seed")[quantity].mean(), shared_by(lic))
    every = list(estimates(lic, quantity).values())
    error = float(np.sqrt(sum(e.error**2 for e in every))) / len(every)
    return Estimate(float(np.mean([e.mean for e in every])), error, every[0].df, every[0].n)


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
    return [classifier_label(run) for run in runs[parts].to_dict("records")]
