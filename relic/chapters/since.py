"""Captioners since 2020 and the papers' nine on the same images: tables and figures of `58_since`.

`python -m relic.chapters.since` records what is no run in `results/since/` (about ten CPU minutes, Java):
images and labels, what captions name, accuracy, LIC at equal length and with objects masked, the leaderboard.
"""

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns

from relic.chapters.accuracy.scores import (
    FALLBACK,
    PTB,
    java_problem,
    references_of,
    score_captions,
)
from relic.chapters.direction.measure import SILENT, gather, naming
from relic.chapters.extensions import wide
from relic.chapters.figures import MARKERS, STYLE
from relic.chapters.learning.scores import SCORES
from relic.chapters.learning.sensitivity import by_change, length_matched, objects_masked
from relic.chapters.resample import image_draws
from relic.data.captioners import captioners_of, image_sets, registry
from relic.data.corpus import Corpus
from relic.data.load import load_corpus
from relic.judge.lic import estimates, intervals, lic_table
from relic.judge.stats import Estimate, estimate
from relic.measure.splits import PAPER_SEEDS
from relic.numbers import number, span
from relic.records.serve import AnyCorpus, Runs, recorded, runs
from relic.records.serve import load_corpus as load_or_record
from relic.records.tables import home, read_table, write_record
from relic.whole import write_whole

RECORD = "since"
NINE, CONTROL = "papers' nine", "never sees the image"
PROMPTS = ("long", "short")
BOARD = """# Leaderboard: captioners by LIC, gender

Written by `python -m relic.chapters.since`; the same as `leaderboard.csv`. LIC in points (linear, ten paired splits, 95 % intervals):
above 0 the captioner amplifies the gender bias of people's captions of the same images. Rows of different images are not
comparable with each other: LIC falls as there are more images to learn from. *Detectable*: the smallest LIC that so many images
would show in 80 % of studies. Wrong and neutral: percent of captions of images labelled so.

"""


def group(captioner: str) -> str:
    """What a captioner, by name, is compared as: one of the nine, or by what it learned from."""
    about = next((a for a in registry().values() if a["name"] == captioner), {"images": ""})
    if about.get("control"):
        return CONTROL
    return about.get("trained_on", "not stated") if "images" in about else NINE


def ahead(lic: pd.DataFrame, first: str, second: str = NINE) -> Estimate:
    """Mean LIC of one group less that of another, split by split on the same test images."""
    means = lic.groupby(["seed", lic["captioner"].map(group)])["lic"].mean().unstack()
    return estimate(means[first] - means[second])


def compared(lic: pd.DataFrame) -> dict[str, Estimate]:
    """`ahead` of each kind of captioner since, but for the control."""
    kinds = dict.fromkeys(lic["captioner"].map(group))
    return {kind: ahead(lic, kind) for kind in kinds if kind not in (NINE, CONTROL)}


def prompts(lic: pd.DataFrame) -> pd.DataFrame:
    """LIC of each model with its long and its short prompt, and the difference split by split."""
    rows = []
    models = dict.fromkeys(a["model"] for a in registry().values() if "model" in a)
    for model in models:
        both = {a["prompt"]: a["name"] for a in registry().values() if a.get("model") == model}
        own = lic[lic["captioner"].isin(both.values())]
        by_seed = own.pivot(index="seed", columns="captioner", values="lic")
        if not set(both.values()) <= set(by_seed):
            continue
        each = {prompt: estimate(by_seed[both[prompt]]) for prompt in PROMPTS}
        each["long − short"] = estimate(by_seed[both["long"]] - by_seed[both["short"]])
        row: dict = {"model": model}
        for title, found in each.items():
            row |= dict(
                zip((title, f"{title} low", f"{title} high"), found.interval(), strict=True)
            )
        rows.append(row)
    return pd.DataFrame(rows)


def as_many(corpus: AnyCorpus, classifier: str, seeds) -> Runs:
    """Runs of the nine on as many images as the corpus has, drawn anew for each split from all."""
    labels = read_table(RECORD, "labels")
    here = labels[
        (labels["corpus"] == corpus.name) & (labels["attribute"] == corpus.attribute.name)
    ]
    size = 2 * int(here["with human captions"].min())
    everything = load_or_record(corpus.attribute.name, "real")
    return runs(everything, classifier=classifier, seeds=seeds, size=size)


def beside_drawn(here: pd.DataFrame, drawn: pd.DataFrame) -> pd.DataFrame:
    """The nine's LIC on these images and on as many drawn from all, and their difference."""
    ours, theirs = estimates(here), estimates(drawn)
    rows = []
    for name in [n for n in ours if n in theirs]:
        row: dict = {"captioner": name}
        parts = {"these": ours[name], "drawn": theirs[name]}
        parts["these − drawn"] = ours[name].minus(theirs[name])
        for title, found in parts.items():
            row |= dict(
                zip((title, f"{title} low", f"{title} high"), found.interval(), strict=True)
            )
        rows.append(row)
    return pd.DataFrame(rows)


def board(lic: dict[str, pd.DataFrame], served: dict[str, Runs]) -> pd.DataFrame:
    """A row a captioner and image set, highest LIC first: what it could show, proper scores, naming, accuracy.

    `lic`, `served`: by image set, of one attribute; names and accuracy are of the gender images.
    """
    parts = []
    for images, table in lic.items():
        found, spread = intervals(table), estimates(table)
        found["detectable"] = [spread[name].detectable() for name in found["captioner"]]
        for title, (of, factor) in list(SCORES.items())[1:]:  # beside LIC
            proper = lic_table(served[images], of=of).assign(lic=lambda t, f=factor: f * t["lic"])
            columns = [title, f"{title} low", f"{title} high"]
            found[columns] = intervals(proper)[["lic", "low", "high"]].to_numpy()
        parts.append(found.assign(images=images))
    table = pd.concat(parts, ignore_index=True)
    rows = {about["name"]: about for about in registry().values()}
    table["year"] = [str(rows.get(name, {}).get("year", "")) for name in table["captioner"]]
    table["group"] = table["captioner"].map(group)
    more = pd.concat([_named(), _cider()], axis=1)
    table = table.join(more, on=["corpus", "captioner"])
    first = ["images", "captioner", "year", "group", "lic", "low", "high", "detectable"]
    rest = [c for c in table if c not in [*first, "corpus", "attribute", "classifier", "seen"]]
    table = table.assign(at=table["images"].map(list(lic).index))
    table = table.sort_values(["at", "lic"], ascending=[True, False], ignore_index=True)
    return table[[*first, *rest]]


def _named() -> pd.DataFrame:
    """Wrong and neutral captions, percent, by class."""
    table = read_table(RECORD, "naming")
    kept = _told(table)
    found = kept.pivot_table(index=["corpus", "captioner"], columns="what", values="value")
    return found[list(kept["what"].unique())]


def _told(naming: pd.DataFrame) -> pd.DataFrame:
    """Of what captions name: `wrong` and `neutral` by class, as `what`."""
    kept = naming["outcome"].isin(["wrong", "neutral"]) & naming["label"].isin(["Female", "Male"])
    return naming[kept].assign(what=naming["outcome"] + ", " + naming["label"])


def _cider() -> pd.DataFrame:
    table = read_table(RECORD, "accuracy").query("metric == 'CIDEr'")
    table = table.set_index(["corpus", "captioner"])[["value", "low", "high"]]
    return table.set_axis(["CIDEr", "CIDEr low", "CIDEr high"], axis=1)


def markdown(table: pd.DataFrame) -> str:
    """A frame as a Markdown table; an estimate with `low` and `high` after it takes one cell."""
    columns = [c for c in table if not c.endswith(("low", "high"))]
    lines = [columns, ["---"] * len(columns)]
    for row in table.to_dict("records"):
        ends = {c: ("low", "high") if c == "lic" else (f"{c} low", f"{c} high") for c in columns}
        shown = {c: (row[c], row.get(a), row.get(b)) for c, (a, b) in ends.items()}
        lines.append(
            [number(v) if low is None else span(v, low, high) for v, low, high in shown.values()]
        )
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


@plt.rc_context(STYLE)
def against(table: pd.DataFrame, x: str, y: str, xlabel: str, ylabel: str) -> plt.Axes:
    """Two quantities of each captioner with their intervals, named at the point, coloured by group."""
    groups = sorted(table["group"].unique(), key=lambda name: (name != NINE, name))
    colours = sns.color_palette("colorblind", max(3, len(groups)))
    _, axes = plt.subplots(figsize=(6.2, 4.6))
    for i, name in enumerate(groups):
        part = table[table["group"] == name]
        up, across = (
            [part[v] - part[low], part[high] - part[v]] for v, low, high in map(_ends, (y, x))
        )
        look = {"color": colours[i], "fmt": MARKERS[i % 7], "ms": 5, "lw": 0.7}
        axes.errorbar(part[x], part[y], up, across, label=name, **look)
    for i, row in enumerate(table.sort_values(x).to_dict("records")):
        place = {"xytext": (4, (4, -9)[i % 2]), "textcoords": "offset points"}  # in turn
        axes.annotate(row["captioner"], (row[x], row[y]), fontsize=7.5, **place)
    axes.axhline(0, color="black", lw=0.8)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.legend(ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.13))
    return axes


def _ends(name: str) -> tuple[str, str, str]:
    return (name, "low", "high") if name == "lic" else (name, f"{name} low", f"{name} high")


def names(corpus: AnyCorpus) -> pd.DataFrame:
    """Captions that name the wrong class or none, percent by label, with intervals; people last."""
    table = read_table(RECORD, "naming")
    table = table[(table["corpus"] == corpus.name) & (table["captioner"] != SILENT)]
    return wide(_told(table), "what")


def changed(part: str, corpus: AnyCorpus, seeds) -> pd.DataFrame:
    """LIC as written and with changed texts (`length` cut, `objects` masked), side by side."""
    table = read_table(RECORD, part)
    kept = (table["corpus"] == corpus.name) & (table["attribute"] == corpus.attribute.name)
    column = "length" if part == "length" else "masked"
    own = table[kept & table["seed"].isin(seeds)].assign(classifier="linear", seen="all")
    rows = by_change(own, column).rename(columns={"lic": "value"}) if len(own) else own
    words = own.groupby("captioner")["words_model"].max().rename("words a caption")
    return wide(rows, column).join(words, on="captioner") if len(own) else own


def registered() -> pd.DataFrame:
    """The rows of the registry that are not the papers'."""
    rows = [{"key": key} | about for key, about in registry().items() if "images" in about]
    first = ["key", "name", "year", "trained_on", "decoding", "images", "source", "licence", "note"]
    return pd.DataFrame(rows)[first].fillna("")


def accuracy(corpus: Corpus, draws: int = 1000) -> pd.DataFrame:
    """COCO metrics of every captioner on the same images, those with as many human captions as any."""
    references = references_of(corpus)
    images, table = references.index.sort_values(), image_draws(len(references), draws)
    tokenizer = FALLBACK if java_problem() else PTB
    parts = []
    for key in corpus.captioners:
        captions = corpus.captions(key).loc[images]
        scores = score_captions(captions, references, table, tokenizer, their_way=False)
        parts.append(scores.assign(captioner=corpus.display_names[key]))
    return pd.concat(parts, ignore_index=True).assign(corpus=corpus.name)


def main() -> None:
    """Record all parts on the real captions."""
    pairs = [(images, name) for images in image_sets() for name in ("gender", "race")]
    corpora = {pair: load_corpus(pair[1], pair[0]) for pair in pairs}
    labels = [
        {
            "corpus": c.name,
            "attribute": name,
            "label": label,
            "images": n,
            "with human captions": c.label_counts(c.covered)[label],
        }
        for (_, name), c in corpora.items()
        for label, n in c.label_counts().items()
    ]
    write_record(RECORD, "labels", pd.DataFrame(labels))
    people = [corpus for (_, name), corpus in corpora.items() if name == "gender"]
    named = [naming(c, image_draws(len(c.images), 1000)) for c in map(gather, people)]
    write_record(RECORD, "naming", pd.concat(named, ignore_index=True))
    write_record(RECORD, "accuracy", pd.concat(map(accuracy, people), ignore_index=True))
    for part, measured in (("length", length_matched), ("objects", objects_masked)):
        found = []
        for (images, name), corpus in corpora.items():
            asked = corpus.captioners if name == "gender" else list(captioners_of(images))
            found.append(measured(corpus, asked, **({"objects": []} if part == "objects" else {})))
        kept = [
            "corpus",
            "attribute",
            "captioner",
            "seed",
            "lic_model",
            "lic_data",
            "lic",
            "n_test",
        ]
        table = pd.concat(found, ignore_index=True)
        extra = [c for c in table if c in ("length", "masked", "words_model", "words_data")]
        write_record(RECORD, part, table[[*kept, *extra]])
    record_board(corpora)


def record_board(corpora: dict[tuple[str, str], AnyCorpus]) -> None:
    """The leaderboard of the recorded gender runs."""
    served = {
        images: recorded(
            attribute="gender", classifier="linear", corpus=corpus.name, seed=list(PAPER_SEEDS)
        )
        for (images, name), corpus in corpora.items()
        if name == "gender"
    }
    table = board({images: lic_table(each) for images, each in served.items()}, served)
    write_record(RECORD, "leaderboard", table)
    write_whole(home(RECORD) / "leaderboard.md", BOARD + markdown(table))


if __name__ == "__main__":
    main()
