"""Captioners since 2020 and the papers' nine on the same images: tables and figures of `58_since`.

`python -m relic.chapters.since` records what is no run in `results/since/` (about ten CPU minutes, Java):
images and labels, what captions name, accuracy, LIC at equal length and with objects masked, the leaderboard.
"""

from collections import defaultdict
from itertools import product

import matplotlib.pyplot as plt
import pandas as pd

from relic.chapters.accuracy import METRICS, accuracy
from relic.chapters.claims import headed
from relic.chapters.datacard import label_counts
from relic.chapters.direction import SILENT, gather, naming
from relic.chapters.extensions import in_cells, side_by_side, wide
from relic.chapters.figures import MARKERS, PALETTE, STYLE
from relic.chapters.learning.scores import all_scores
from relic.chapters.learning.sensitivity import length_matched, objects_masked
from relic.data.captioners import captioners_of, image_sets, registry
from relic.data.load import load_corpus
from relic.judge.lic import KIND, estimates, intervals, lic_table, shared_by
from relic.judge.stats import Estimate, estimate, image_draws
from relic.measure.splits import PAPER_SEEDS
from relic.page import cells
from relic.records.serve import AnyCorpus, Runs, recorded, runs
from relic.records.serve import load_corpus as load_or_record
from relic.records.tables import home, read_table, write_record
from relic.whole import write_whole

RECORD = "since"
ACCURACY = "corpus captioner metric tokenizer value low high n draws".split()  # columns recorded
NINE, CONTROL = "papers' nine", "never sees the image"


def group(captioner: str) -> str:
    """What a captioner, by name, is compared as: one of the nine, or by what it learned from."""
    about = next((a for a in registry().values() if a["name"] == captioner), {"images": ""})
    if about.get("control"):
        return CONTROL
    return about.get("trained_on", "not stated") if "images" in about else NINE


def ahead(lic: pd.DataFrame, first: str, second: str = NINE) -> Estimate:
    """Mean LIC of one group less that of another, split by split on the same test images."""
    means = lic.groupby(["seed", lic["captioner"].map(group)])["lic"].mean().unstack()
    return estimate(means[first] - means[second], shared_by(lic))


def compared(lic: pd.DataFrame) -> dict[str, Estimate]:
    """`ahead` of each kind of captioner since, but for the control."""
    kinds = dict.fromkeys(lic["captioner"].map(group))
    return {kind: ahead(lic, kind) for kind in kinds if kind not in (NINE, CONTROL)}


def prompts(lic: pd.DataFrame) -> pd.DataFrame:
    """LIC of each model with its long and its short prompt, and the difference split by split."""
    by_seed, rows = lic.pivot(index="seed", columns="captioner", values="lic"), []
    models: dict[str, dict] = defaultdict(dict)
    for about in registry().values():
        if "model" in about and about["name"] in by_seed:
            models[about["model"]][about["prompt"]] = by_seed[about["name"]]
    for model, both in models.items():
        if len(both) == 2:
            both["long − short"] = both["long"] - both["short"]
            each = {name: estimate(values, shared_by(lic)) for name, values in both.items()}
            rows.append({"model": model} | in_cells(each))
    return pd.DataFrame(rows)


def as_many(corpus: AnyCorpus, classifier: str, seeds) -> Runs:
    """Runs of the nine on as many images as the corpus has, drawn anew for each split from all."""
    size = 2 * int(_recorded("labels", corpus)["with human captions"].min())
    everything = load_or_record(corpus.attribute.name, "real")
    return runs(everything, classifier=classifier, seeds=seeds, size=size)


def _recorded(part: str, corpus: AnyCorpus) -> pd.DataFrame:
    """What is recorded of one corpus and attribute."""
    table = read_table(RECORD, part)
    own = table["corpus"] == corpus.name
    return table[own & (table["attribute"] == corpus.attribute.name)]


def beside_drawn(here: pd.DataFrame, drawn: pd.DataFrame) -> pd.DataFrame:
    """The nine's LIC on these images and on as many drawn from all, and their difference."""
    ours, theirs, rows = estimates(here), estimates(drawn), []
    for name in [name for name in ours if name in theirs]:
        a, b = ours[name], theirs[name]
        cells = in_cells({"these": a, "drawn": b, "these − drawn": a.minus(b)})
        rows.append({"captioner": name} | cells)
    return pd.DataFrame(rows)


def board(served: dict[str, Runs]) -> pd.DataFrame:
    """A row a captioner and image set, highest LIC first: what it could show, proper scores, naming, accuracy.

    `served`: runs by image set, of one attribute; names and accuracy are of the gender images.
    """
    parts = []
    for images, each in served.items():
        lic = lic_table(each)
        table, spread, scores = intervals(lic), estimates(lic), all_scores(each)
        table["detectable"] = [spread[name].detectable() for name in table["captioner"]]
        table = table.join(scores.filter(regex="ΔAUC|Δbits"))
        parts.append(table.assign(images=images).sort_values("lic", ascending=False))
    table = pd.concat(parts, ignore_index=True)
    years = {about["name"]: str(about.get("year", "")) for about in registry().values()}
    table["year"] = table["captioner"].map(years).fillna("")
    table["group"] = table["captioner"].map(group)
    by = ["corpus", "captioner"]
    named = _misnamed(read_table(RECORD, "naming"))
    named = named.pivot_table(index=by, columns="what", values="value")[named["what"].unique()]
    cider = read_table(RECORD, "accuracy").query("metric == 'CIDEr'").set_index(by)
    cider = cider[["value", "low", "high"]].set_axis(["CIDEr", "CIDEr low", "CIDEr high"], axis=1)
    first = ["images", "captioner", "year", "group", "lic", "low", "high", "detectable"]
    rest = [name for name in table if name not in [*first, *KIND]]
    return table.join(named, on=by).join(cider, on=by)[[*first, *rest, *named, *cider]]


def _misnamed(naming: pd.DataFrame) -> pd.DataFrame:
    """Of what captions name: `wrong` and `neutral` by class, as `what`."""
    kept = naming["outcome"].isin(["wrong", "neutral"]) & naming["label"].isin(["Female", "Male"])
    return naming[kept].assign(what=naming["outcome"] + ", " + naming["label"])


def markdown(table: pd.DataFrame) -> str:
    """A frame as a Markdown table; an estimate with `low` and `high` after it takes one cell."""
    shown, _ = cells(table)
    lines = [list(shown), ["---"] * shown.shape[1], *shown.to_numpy().tolist()]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


@plt.rc_context(STYLE)
def against(board: pd.DataFrame) -> plt.Axes:
    """LIC of each captioner against its CIDEr, with their intervals, named at the point, coloured by group."""
    groups = sorted(board["group"].unique(), key=lambda name: (name != NINE, name))
    _, axes = plt.subplots(figsize=(6.2, 4.6))
    for i, name in enumerate(groups):
        part = board[board["group"] == name]
        up = part["lic"] - part["low"], part["high"] - part["lic"]
        across = part["CIDEr"] - part["CIDEr low"], part["CIDEr high"] - part["CIDEr"]
        look = {"color": PALETTE[i], "fmt": MARKERS[i % 7], "ms": 5, "lw": 0.7}
        axes.errorbar(part["CIDEr"], part["lic"], up, across, label=name, **look)
    for i, row in enumerate(board.sort_values("CIDEr").itertuples()):
        place = {"xytext": (4, (4, -9)[i % 2]), "textcoords": "offset points"}  # in turn
        axes.annotate(row.captioner, (row.CIDEr, row.lic), fontsize=7.5, **place)
    axes.axhline(0, color="black", lw=0.8)
    axes.set(xlabel="CIDEr, higher is more accurate", ylabel="LIC, points")
    axes.legend(ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.13))
    return axes


def names(corpus: AnyCorpus) -> pd.DataFrame:
    """Captions that name the wrong class or none, percent by label, with intervals; people last."""
    table = read_table(RECORD, "naming")
    table = table[(table["corpus"] == corpus.name) & (table["captioner"] != SILENT)]
    return wide(_misnamed(table), "what")


def changed(part: str, corpus: AnyCorpus, seeds) -> pd.DataFrame:
    """LIC as written and with changed texts (`length` cut, `objects` masked), side by side."""
    own = _recorded(part, corpus)
    own = own[own["seed"].isin(seeds)].assign(classifier="linear", seen="all")
    if own.empty:
        return own
    groups = own.groupby("length" if part == "length" else "masked", sort=False)
    words = own.groupby("captioner")["words_model"].max().rename("words a caption")
    return side_by_side(dict(list(groups))).join(words, on="captioner")


def main() -> None:
    """Record all parts on the real captions."""
    parts, served = defaultdict(list), {}
    for images, attribute in product(image_sets(), ("gender", "race")):
        corpus = load_corpus(attribute, images)
        where = {"corpus": corpus.name, "attribute": attribute}
        counts = label_counts(corpus)[["label", "images", "with human captions"]]
        parts["labels"].append(counts.assign(**where)[[*where, *counts]])
        if attribute == "gender":
            people = gather(corpus)
            parts["naming"].append(naming(people, image_draws(len(people.images), 1000)))
            scores = accuracy(corpus, [(key, "standard") for key in corpus.captioners])
            parts["accuracy"].append(scores.loc[scores["metric"].isin(METRICS), ACCURACY])
            served[images] = recorded(**where, classifier="linear", seed=list(PAPER_SEEDS))
        keys = corpus.captioners if attribute == "gender" else list(captioners_of(images))
        about = ["classifier", "seen"]  # the same in every row
        parts["length"].append(length_matched(corpus, keys).drop(columns=about))
        parts["objects"].append(objects_masked(corpus, keys, objects=[]).drop(columns=about))
    for part, tables in parts.items():
        write_record(RECORD, part, pd.concat(tables, ignore_index=True))
    table, file = board(served), home(RECORD) / "leaderboard.md"
    write_record(RECORD, "leaderboard", table)
    words, _, _ = file.read_text(encoding="utf-8").partition("\n|")  # these stay
    write_whole(file, f"{words}\n{markdown(headed(table))}")


if __name__ == "__main__":
    main()
