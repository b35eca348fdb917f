"""Captioners since 2020 and the papers' nine on the same images: what `58_since` and the record share."""

from collections import defaultdict
from itertools import product

import pandas as pd

from relic.chapters.accuracy import METRICS, accuracy
from relic.chapters.datacard import label_counts
from relic.chapters.direction import SILENT, gather, naming
from relic.chapters.layout import headed, wide
from relic.chapters.learning import length_matched, objects_masked
from relic.chapters.scores import all_scores
from relic.data.captioners import captioners_of, image_sets, registry
from relic.data.load import load_corpus
from relic.judge.lic import KIND, estimates, intervals, lic_table, shared_by
from relic.judge.stats import Estimate, estimate
from relic.measure.splits import PAPER_SEEDS
from relic.page import cells
from relic.records.serve import Runs, recorded
from relic.records.tables import home, read_table, write_record
from relic.whole import write_whole

RECORD = "since"
ACCURACY = "corpus captioner metric tokenizer value low high n draws".split()  # columns recorded
NINE, CONTROL = "papers' nine", "never sees the image"


def group(captioner: str) -> str:
    """What a captioner, by name, is compared as: one of the nine, or by what it learned from."""
    entry = next((e for e in registry().values() if e["name"] == captioner), {"images": ""})
    if entry.get("control"):
        return CONTROL
    return entry.get("trained_on", "not stated") if "images" in entry else NINE


def ahead(lic: pd.DataFrame, first: str, second: str = NINE) -> Estimate:
    """Mean LIC of one group less that of another, split by split on the same test images."""
    means = lic.groupby(["seed", lic["captioner"].map(group)])["lic"].mean().unstack()
    return estimate(means[first] - means[second], shared_by(lic))


def misnamed() -> pd.DataFrame:
    """Captions that name the wrong class or none, percent by label (`what`), with intervals; people last."""
    table = read_table(RECORD, "naming")
    table = table[(table["captioner"] != SILENT) & table["label"].isin(["Female", "Male"])]
    table = table[table["outcome"].isin(["wrong", "neutral"])]
    return table.assign(what=table["outcome"] + ", " + table["label"])


def board(served: dict[str, Runs]) -> pd.DataFrame:
    """A row a captioner and image set, highest LIC first: what it could show, proper scores, naming, accuracy.

    `served`: runs by image set, of one attribute; names and accuracy are of the gender images.
    """
    parts = []
    for images, runs in served.items():
        lic = lic_table(runs)
        table, spread, scores = intervals(lic), estimates(lic), all_scores(runs)
        table["detectable"] = [spread[name].detectable() for name in table["captioner"]]
        table = table.join(scores.filter(regex="ΔAUC|Δbits"))
        parts.append(table.assign(images=images).sort_values("lic", ascending=False))
    table = pd.concat(parts, ignore_index=True)
    years = {entry["name"]: str(entry.get("year", "")) for entry in registry().values()}
    table["year"] = table["captioner"].map(years).fillna("")
    table["group"] = table["captioner"].map(group)
    by, named = ["corpus", "captioner"], misnamed()
    named = named.pivot_table(index=by, columns="what", values="value")[named["what"].unique()]
    cider = wide(read_table(RECORD, "accuracy").query("metric == 'CIDEr'"), "metric", by)
    table = table.join(named, on=by).merge(cider, how="left", on=by)
    first = ["images", "captioner", "year", "group", "lic", "low", "high", "detectable"]
    return table[first + [name for name in table if name not in [*first, *KIND]]]


def markdown(table: pd.DataFrame) -> str:
    """A frame as a Markdown table; an estimate with `low` and `high` after it takes one cell."""
    shown, _ = cells(table)
    lines = [list(shown), ["---"] * shown.shape[1], *shown.to_numpy().tolist()]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def record() -> None:
    """Record what is no run on the real captions, and the leaderboard: ten CPU minutes, Java."""
    parts, served = defaultdict(list), {}
    for images, attribute in product(image_sets(), ("gender", "race")):
        corpus = load_corpus(attribute, images)
        where = {"corpus": corpus.name, "attribute": attribute}
        counts = label_counts(corpus)[["label", "images", "with human captions"]]
        parts["labels"].append(counts.assign(**where)[[*where, *counts]])
        if attribute == "gender":
            parts["naming"].append(naming(gather(corpus), 1000))
            scores = accuracy(corpus, sets=[(key, "standard") for key in corpus.captioners])
            parts["accuracy"].append(scores.loc[scores["metric"].isin(METRICS), ACCURACY])
            served[images] = recorded(**where, classifier="linear", seed=list(PAPER_SEEDS))
        keys = corpus.captioners if attribute == "gender" else list(captioners_of(images))
        same = ["classifier", "seen"]  # in every row
        parts["length"].append(length_matched(corpus, keys).drop(columns=same))
        parts["objects"].append(objects_masked(corpus, keys, objects=[]).drop(columns=same))
    for part, tables in parts.items():
        write_record(RECORD, part, pd.concat(tables, ignore_index=True))
    table, file = board(served), home(RECORD) / "leaderboard.md"
    write_record(RECORD, "leaderboard", table)
    words, _, _ = file.read_text(encoding="utf-8").partition("\n|")  # these stay
    write_whole(file, f"{words}\n{markdown(headed(table))}")
