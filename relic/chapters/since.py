"""Captioners since 2020 and the papers' nine on the same images: tables and figures of `58_since`.

`python -m relic.chapters.since` records what is no run in `results/since/` (about ten CPU minutes, Java):
images and labels, what captions name, accuracy, LIC at equal length and with objects masked, the leaderboard.
"""

import matplotlib.pyplot as plt
import pandas as pd

from relic.chapters.accuracy.scores import (
    FALLBACK,
    PTB,
    java_problem,
    references_of,
    score_captions,
)
from relic.chapters.datacard import label_counts
from relic.chapters.direction.measure import SILENT, gather, naming
from relic.chapters.extensions import in_cells, wide
from relic.chapters.figures import MARKERS, PALETTE, STYLE
from relic.chapters.learning.scores import SCORES
from relic.chapters.learning.sensitivity import by_change, length_matched, objects_masked
from relic.chapters.resample import image_draws
from relic.data.captioners import captioners_of, image_sets, registry
from relic.data.corpus import Corpus
from relic.data.load import load_corpus
from relic.judge.lic import estimates, intervals, lic_table
from relic.judge.stats import Estimate, estimate
from relic.measure.splits import PAPER_SEEDS
from relic.page import cells
from relic.records.serve import AnyCorpus, Runs, recorded, runs
from relic.records.serve import load_corpus as load_or_record
from relic.records.tables import home, read_table, write_record
from relic.whole import write_whole

RECORD = "since"
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
    return estimate(means[first] - means[second])


def compared(lic: pd.DataFrame) -> dict[str, Estimate]:
    """`ahead` of each kind of captioner since, but for the control."""
    kinds = dict.fromkeys(lic["captioner"].map(group))
    return {kind: ahead(lic, kind) for kind in kinds if kind not in (NINE, CONTROL)}


def prompts(lic: pd.DataFrame) -> pd.DataFrame:
    """LIC of each model with its long and its short prompt, and the difference split by split."""
    by_seed, rows = lic.pivot(index="seed", columns="captioner", values="lic"), []
    models: dict[str, dict] = {}
    for about in registry().values():
        if "model" in about and about["name"] in by_seed:
            models.setdefault(about["model"], {})[about["prompt"]] = by_seed[about["name"]]
    for model, both in models.items():
        if len(both) == 2:
            long, short = both["long"], both["short"]
            told = {"long": long, "short": short, "long − short": long - short}
            rows.append({"model": model} | in_cells({k: estimate(v) for k, v in told.items()}))
    return pd.DataFrame(rows)


def as_many(corpus: AnyCorpus, classifier: str, seeds) -> Runs:
    """Runs of the nine on as many images as the corpus has, drawn anew for each split from all."""
    labels = _of(read_table(RECORD, "labels"), corpus)
    size = 2 * int(labels["with human captions"].min())
    everything = load_or_record(corpus.attribute.name, "real")
    return runs(everything, classifier=classifier, seeds=seeds, size=size)


def _of(table: pd.DataFrame, corpus: AnyCorpus) -> pd.DataFrame:
    """A record's rows of one corpus and attribute."""
    own = table["corpus"] == corpus.name
    return table[own & (table["attribute"] == corpus.attribute.name)]


def beside_drawn(here: pd.DataFrame, drawn: pd.DataFrame) -> pd.DataFrame:
    """The nine's LIC on these images and on as many drawn from all, and their difference."""
    ours, theirs, rows = estimates(here), estimates(drawn), []
    for name in [n for n in ours if n in theirs]:
        a, b = ours[name], theirs[name]
        told = in_cells({"these": a, "drawn": b, "these − drawn": a.minus(b)})
        rows.append({"captioner": name} | told)
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
    kept = _told(read_table(RECORD, "naming"))
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
    shown, _ = cells(table)
    lines = [list(shown), ["---"] * shown.shape[1], *shown.to_numpy().tolist()]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


@plt.rc_context(STYLE)
def against(table: pd.DataFrame, x: str, y: str, xlabel: str, ylabel: str) -> plt.Axes:
    """Two quantities of each captioner with their intervals, named at the point, coloured by group."""
    groups = sorted(table["group"].unique(), key=lambda name: (name != NINE, name))
    _, axes = plt.subplots(figsize=(6.2, 4.6))
    for i, name in enumerate(groups):
        part = table[table["group"] == name]
        up, across = (
            [part[v] - part[low], part[high] - part[v]] for v, low, high in map(_ends, (y, x))
        )
        look = {"color": PALETTE[i], "fmt": MARKERS[i % 7], "ms": 5, "lw": 0.7}
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
    own = _of(read_table(RECORD, part), corpus)
    own = own[own["seed"].isin(seeds)].assign(classifier="linear", seen="all")
    if own.empty:
        return own
    column = "length" if part == "length" else "masked"
    words = own.groupby("captioner")["words_model"].max().rename("words a caption")
    return wide(by_change(own, column), column, value="lic").join(words, on="captioner")


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
    first = ["corpus", "attribute", "label", "images", "with human captions"]
    labels = [
        label_counts(corpus).assign(corpus=corpus.name, attribute=name)[first]
        for (_, name), corpus in corpora.items()
    ]
    people = {images: corpus for (images, name), corpus in corpora.items() if name == "gender"}
    named = [naming(c, image_draws(len(c.images), 1000)) for c in map(gather, people.values())]
    scored = map(accuracy, people.values())
    for part, tables in {"labels": labels, "naming": named, "accuracy": scored}.items():
        write_record(RECORD, part, pd.concat(tables, ignore_index=True))
    kept = "corpus attribute captioner seed lic_model lic_data lic n_test".split()
    kept += ["length", "masked", "words_model", "words_data"]  # where a part has them
    for part, measured in (("length", length_matched), ("objects", objects_masked)):
        found = []
        for (images, name), corpus in corpora.items():
            asked = corpus.captioners if name == "gender" else list(captioners_of(images))
            found.append(measured(corpus, asked, **({"objects": []} if part == "objects" else {})))
        table = pd.concat(found, ignore_index=True)
        write_record(RECORD, part, table[[name for name in kept if name in table]])
    asked = {"attribute": "gender", "classifier": "linear", "seed": list(PAPER_SEEDS)}
    served = {images: recorded(corpus=corpus.name, **asked) for images, corpus in people.items()}
    write_board(board({images: lic_table(each) for images, each in served.items()}, served))


def write_board(table: pd.DataFrame) -> None:
    """The leaderboard as CSV and, under the words that stand there, as Markdown."""
    write_record(RECORD, "leaderboard", table)
    file = home(RECORD) / "leaderboard.md"
    words, _, _ = file.read_text(encoding="utf-8").partition("\n|")
    write_whole(file, f"{words}\n{markdown(table)}")


if __name__ == "__main__":
    main()
