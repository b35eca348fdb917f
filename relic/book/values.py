"""Values of the book's pages, computed from the record when the book is compiled.

One nested dictionary of text, which pages name as `{{ group.name }}` or `{{ group.name.field }}`.
Numbers are written by `relic.numbers`; tables and figures are HTML that stands alone on its line.
"""

import json
import re
from datetime import date

import matplotlib.pyplot as plt
import pandas as pd
import yaml

from relic import __version__, paths
from relic.chapters import since
from relic.chapters.calibration import intervals as candidates
from relic.chapters.claims import HEADS
from relic.chapters.extensions import mean_of_folds
from relic.chapters.figures import forest
from relic.chapters.learning import curves, scores
from relic.chapters.learning.record import read as read_learning
from relic.data.captioners import corpus_name, display_names, in_order
from relic.errors import RelicError
from relic.judge import claims
from relic.judge.claims import SYMBOLS
from relic.judge.lic import RECIPES, intervals, labelled, lic_table, mean_over_captioners
from relic.measure.store import Store
from relic.numbers import count, number, span
from relic.page import figure_html, table_html
from relic.records import grid
from relic.records.evidence import MAIN, OURS, PAPERS, SHEET, judge_all
from relic.records.evidence import papers as papers_tables
from relic.records.published import published
from relic.records.runs import UNCHANGED, own_frame, read_recorded
from relic.records.serve import recorded
from relic.records.tables import read_record, read_table

ATTRIBUTES = ("gender", "race", "age")
SOURCES = {OURS: "our runs", **PAPERS, SHEET: "Türk et al., by split"}
COUNTS = ("seeds", "surely", "captioners")  # of a verdict
ABSENT = {"word": "not judged yet", "number": "–", "whose": "–", "n_test": "–"}
ABSENT |= {"seeds": "0", "surely": "–", "captioners": "–"}
EXAMPLE = 449400  # the image whose captions the landing page quotes
EQUAL_SIZE = 2190  # gender images, as many as race has
EQUALIZER, NIC_PLUS = claims.PAIRS[0]
NINE = list(published("captioners")["captioner"])  # the papers' captioners


def values() -> dict:
    """Everything the pages may name."""
    verdicts, runs = judge_all(), read_recorded()
    lic = {name: _lic(name) for name in ATTRIBUTES}
    return {
        "claim1": {name: _verdict(verdicts, "1", name) for name in ATTRIBUTES},
        "claim2": {name: _verdict(verdicts, "2", name) for name in ATTRIBUTES},
        "claim3": claim_3(verdicts, lic),
        "claim4": {name: _verdict(verdicts, "4", name) for name in ATTRIBUTES},
        "lic": {name: levels(table) for name, table in lic.items()},
        "unseen": {name: unseen(name) for name in ("gender", "race")},
        "lstm": {f"claim{n}": _verdict(verdicts, n, "gender", "lstm") for n in "24"},
        "landing": landing(),
        "example": example(),
        "learned": {name: learned(name) for name in (MAIN, "lstm")},
        "curve": {name: curve(name) for name in ("gender", "race")},
        "since": newer(),
        "verdicts": {"matrix": matrix(verdicts)} | former_rule(verdicts),
        "permuted": {"gender": levels(_lic("gender", labels="permuted"))},
        "papers": papers(verdicts),
        "calibration": calibration(),
        "direction": direction(),
        "gender_score": gender_score(),
        "record": record(runs),
        "done": done(runs),
        "cost": cost(runs),
        "captioners": {"table": captioners(lic)},
        "classifiers": {"papers": papers_classifiers()},
        "batching": {"lstm": batching(runs)},
        "wrong": {name: wrong(name) for name in ATTRIBUTES},
        "age": age(),
        "audit": {"table": audit_example(), **audit_sizes()},
    }


def _lic(attribute: str, seen: str = "all", **choices) -> pd.DataFrame:
    return lic_table(recorded(attribute=attribute, classifier=MAIN, **choices), seen=seen)


def _verdict(verdicts: pd.DataFrame, claim: str, attribute: str, classifier: str = MAIN) -> dict:
    """One of our verdicts as text; claim 1 is about all classifiers."""
    kept = verdicts.query("source == @OURS and claim == @claim and attribute == @attribute")
    kept = kept if claim == "1" else kept[kept["classifier"] == classifier]
    if kept.empty:
        return dict(ABSENT)
    row, decimals = kept.iloc[0], 2 if claim == "1" else 1
    return {
        "word": f"{SYMBOLS[row['word']]} {row['word']}",
        "number": span(row["estimate"], row["low"], row["high"], decimals),
        "whose": row["whose"],
        "n_test": number(round(row["n_test"])),
        **{name: number(int(row[name])) for name in COUNTS},
    }


def claim_3(verdicts: pd.DataFrame, lic: dict[str, pd.DataFrame]) -> dict:
    """Race against gender: every captioner, the mean over them, and on as many images."""
    equal = _lic("gender", size=EQUAL_SIZE)
    shares = [scores.normalised(lic[name]) for name in ("gender", "race")]
    return {
        "normalised": _span(claims.mean_less_than_gender(*shares, scores.NORMALISED)),
        "lic_model": _verdict(verdicts, "3 (LIC_M)", "race"),
        "lic": _verdict(verdicts, "3 (LIC)", "race"),
        "mean": _span(claims.mean_less_than_gender(lic["gender"], lic["race"])),
        "equal_size": _span(claims.mean_less_than_gender(equal, lic["race"])),
    }


def levels(lic: pd.DataFrame) -> dict:
    """Least and largest LIC of the captioners, their mean, and how many intervals leave out 0."""
    table = intervals(lic)
    least, most = table.loc[table["lic"].idxmin()], table.loc[table["lic"].idxmax()]
    return {
        "least": number(least["lic"]),
        "least_captioner": least["captioner"],
        "most": number(most["lic"]),
        "most_captioner": most["captioner"],
        "mean": _span(mean_over_captioners(lic)),
        "apart_from_0": str(int(((table["low"] > 0) | (table["high"] < 0)).sum())),
        "captioners": str(len(table)),
    }


def unseen(attribute: str) -> dict:
    """The same on captions that training did not hold, LIC_D on the same test images."""
    lic = _lic(attribute, seen="unseen")
    judged, lead = claims.amplification(lic), claims.equalizer(lic)
    grouped = lic_table(recorded(attribute=attribute, classifier=MAIN, split="grouped"))
    return levels(lic) | {
        "grouped": _span(mean_of_folds(grouped)),
        "surely": str(judged.surely),
        "word": f"{judged.symbol} {judged.word}",
        "lead": span(lead.estimate, lead.low, lead.high),
        "lead_word": f"{lead.symbol} {lead.word}",
    }


def landing() -> dict:
    """What the landing page shows besides verdicts."""
    cited = yaml.safe_load((paths.ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    where = cited.get("repository-code", "not public yet")
    shown = {"repository": where, "doi": cited.get("doi", "none yet"), "version": __version__}
    return shown | {"figure": landing_figure(), "date": f"{date.today():%d %B %Y}"}


def landing_figure() -> str:
    """Gender LIC of the nine captioners, a colour a classifier, the papers' values in pale."""
    table = intervals(lic_table(recorded(attribute="gender", recipe=list(RECIPES.values()))))
    ours = dict(zip(table["classifier"].str.split(" ").str[0], table["classifier"], strict=True))
    printed = papers_tables("gender")
    printed = printed.assign(classifier=printed["classifier"].map(ours))
    axes = forest(table, series="classifier", papers=printed)
    splits = table.groupby("classifier", sort=False)["seeds"].max()
    told = ", ".join(f"{name} {count(n, 'split')}" for name, n in splits.items())
    caption = (
        f"Gender LIC, COCO captions: mean and 95 % interval over splits ({told}; no interval from one split). "
        "Pale bars: the papers' printed values for the same classifier. Right of 0, the captioner amplifies."
    )
    alt = "LIC of nine captioners for gender by classifier, with intervals, beside the papers' values."
    drawn = figure_html(axes.figure, alt, caption)
    plt.close(axes.figure)
    return _block(drawn)


def learned(classifier: str) -> dict:
    """How well a classifier orders captions by gender on either side (AUC), and its mean LIC."""
    runs = recorded(attribute="gender", classifier=classifier, recipe=RECIPES[classifier])
    auc = runs.frame.groupby("side")["auc"].mean()
    return {
        "human": number(auc["human"]),
        "model": number(auc["model"]),
        "lic": _span(mean_over_captioners(lic_table(runs))),
    }


def curve(attribute: str) -> dict:
    """Mean LIC at the smallest and at the largest training set of the learning curves."""
    kept = read_learning("curves").query("attribute == @attribute and captions == 1")
    means = curves.mean_curve(curves.by_size(kept[kept["images"] == curves.EVERY]))
    ends = {"few": means.iloc[0], "all": means.iloc[-1]}
    return {
        name: {
            "images": number(int(row["training images"])),
            "lic": span(row["difference"], row["difference low"], row["difference high"]),
        }
        for name, row in ends.items()
    }


def newer() -> dict:
    """Captioners since the papers: those trained on COCO less the nine, and the control."""
    asked = {"corpus": corpus_name("Karpathy test"), "attribute": "gender", "classifier": MAIN}
    lic = lic_table(recorded(**asked))
    own = lic[lic["captioner"].map(since.group) == "COCO"]
    control = lic[lic["captioner"].map(since.group) == since.CONTROL]
    judged = claims.amplification(own)
    return {
        "less": _span(since.ahead(lic, "COCO")),
        "surely": f"{judged.surely} of {judged.captioners}",
        "control": _span(mean_over_captioners(control)),
        "n_test": number(round(lic["n_test"].mean())),
    }


def example() -> dict:
    """How sure the linear classifier is of the landing page's example: one image, one split."""
    runs = recorded(attribute="gender", classifier=MAIN, seed=0, captioner="nic_equalizer")
    kept = runs.frame.query("caption_index == 0").set_index("side")["key"]
    scores = runs.outcomes.query(f"image_id == {EXAMPLE}").set_index("key")["score"]
    return {side: f"{scores[kept[side]]:.0f} %" for side in ("human", "model")}


def matrix(verdicts: pd.DataFrame) -> str:
    """Every verdict: claims down, sources across, classifiers in the cells."""
    rows = []
    for (claim, attribute), part in verdicts.groupby(["claim", "attribute"]):
        row = {"claim": claim, "attribute": attribute}
        for source, name in SOURCES.items():
            own = part[part["source"] == source]
            by_word = {w: ", ".join(own.loc[own["word"] == w, "classifier"]) for w in SYMBOLS}
            row[name] = "; ".join(f"{SYMBOLS[w]} {n}" for w, n in by_word.items() if n) or None
        rows.append(row)
    legend = ", ".join(f"{symbol} {word}" for word, symbol in SYMBOLS.items())
    caption = f"Verdicts on COCO captions (ours) and published numbers, by classifier: {legend}."
    table = _table(pd.DataFrame(rows), "verdicts.csv", caption)
    return table.replace("relic-table", "relic-table relic-matrix", 1)


def former_word(row: pd.Series) -> str:
    """The verdict as our former rule gave it: by the estimate where the interval leaves it open."""
    below = row["claim"] == "4" and row["attribute"] != "gender"
    sign, bound = (-1, -claims.MARGIN) if below else (1, 0)
    if min(sign * row["low"], sign * row["high"]) > bound:
        return "supported"
    return "undecided" if sign * row["estimate"] > bound else "not supported"


def former_rule(verdicts: pd.DataFrame) -> dict:
    """What the present rule says otherwise than the former; claim 1 had another number then."""
    cells = verdicts[verdicts["claim"] != "1"]
    cells = cells.assign(former=cells.apply(former_word, axis=1), now=cells["word"])
    changed = cells[cells["former"] != cells["now"]]
    columns = "claim attribute source classifier whose estimate low high former now".split()
    shown = changed.assign(source=changed["source"].map(SOURCES))[columns]
    caption = "Verdicts that the present rule changed, COCO captions and published numbers."
    return {
        "changed": _table(shown, "former_rule.csv", caption),
        "cells": str(len(cells)),
        "moved": str(len(changed)),
        "to_undecided": str((changed["now"] == "undecided").sum()),
        "to_refuted": str((changed["now"] == "refuted").sum()),
    }


def papers(verdicts: pd.DataFrame) -> dict:
    """What the papers report beside LIC: hours, Antequera et al.'s other recipe, the Equalizer's lead."""
    hours = published("cost").groupby("source")["hours"].sum()
    lic = published("lic").query("classifier == 'BERT-pre' and variant.isna() and metric != 'LIC'")
    wide = lic.pivot_table("mean", ["attribute", "captioner", "metric"], "source")
    gap = wide[["hirota2022", "turk2023"]].rsub(wide["relic2023"], axis=0).mul(-1).stack()
    unseen_captions = published("unseen_captions").set_index("captioner")
    first, second = unseen_captions.loc[EQUALIZER], unseen_captions.loc[NIC_PLUS]
    after = first["lic_m"] - second["lic_m"]
    race = verdicts.query("claim == '2' and attribute == 'race' and source in @PAPERS")
    held = race.loc[race["word"] == claims.SUPPORTED, "classifier"]
    return {
        "race_supported": f"{len(held)} of {len(race)} columns",
        "race_by": ", ".join(sorted(set(held))) or "none",
        "hours": f"{hours.min():.0f} and {hours.max():.0f}",
        "bert_pre_gap": f"{number(gap.min())} to {number(gap.max())}",
        "lead": number(after - first["difference"] + second["difference"]),
        "lead_unseen": number(after),
    }


CANDIDATE = 0.2  # what splits share, in the candidate beside 1/9


def calibration() -> dict:
    """How often our interval holds the truth, on synthetic corpora with and without amplification."""
    study = read_table("calibration", "study").query("score == 'plain'")
    found = {}
    for name, part in study.groupby("gain"):
        inside = part["true_lic"].between(part["corrected_low"], part["corrected_high"])
        found["with_gain" if name else "no_gain"] = {
            "true_lic": number(part["true_lic"].mean()),
            "covers": f"{100 * inside.mean():.0f} %",
            "above_0": f"{100 * (part['corrected_low'] > 0).mean():.1f} %",
            "corpora": str(len(part)),
            "n_test": f"{part['n_test'].mean():.0f}",
        }
    corpora = candidates.recorded()
    kept = candidates.summary(candidates.coverage(corpora, CANDIDATE))
    caption = f"Candidates for an interval on {len(corpora):,} estimates of synthetic corpora, linear: percent that hold the mean LIC (nominal 95), width in points."
    rho = candidates.calibrated(corpora).query("corpora >= 20")["rho"]
    found["shared"] = f"{rho.min():.2f} to {rho.max():.2f}"
    return found | {"candidates": _table(kept, "intervals.csv", caption)}


def direction() -> dict:
    """Women named as men, and BiasAmp at equal object rates."""
    named = read_table("direction", "gender_naming").set_index("captioner")
    named = named.query("label == 'Female' and outcome == 'wrong'")
    rates = read_table("direction", "gender_amplification").query("direction == 'A→T, equal rates'")
    rates = rates[rates["captioner"].isin(NINE)]
    return {
        "nic_plus": span(*named.loc[NIC_PLUS, ["value", "low", "high"]]),
        "equalizer": span(*named.loc[EQUALIZER, ["value", "low", "high"]]),
        "women": number(int(named.loc[EQUALIZER, "n"])),
        "above_0": f"{(rates['low'] > 0).sum()} of {len(rates)}",
    }


def gender_score() -> dict:
    """How often the language model alone prefers *man*; agreement with LIC."""
    kept = read_table("gender_score", "estimation").query("method == 'Gender Score Estimation'")
    kept = kept[kept["captioner"].isin(NINE) & kept["prior"].str.startswith("3-gram")]
    alone = 100 * kept["prior alone"]
    lic = read_table("gender_score", "lic").query("quantity == 'ratio to men'").iloc[0]
    return {
        "prior": f"{alone.min():.0f} to {alone.max():.0f} %",
        "rho": span(lic["rho"], lic["low"], lic["high"], 2),
    }


def record(runs: pd.DataFrame) -> dict:
    """What `results/` holds of the declared grid, when and where it was recorded."""
    progress = grid.progress(grid.read(), runs)
    by_grid = grid.by_grid(progress)
    about = json.loads((paths.RESULTS / "provenance.json").read_text(encoding="utf-8"))
    caption = "Runs on COCO captions: recorded, of those declared."
    return {
        "runs": number(int(progress["recorded"].sum())),
        "declared": number(int(progress["of"].sum())),
        "complete": str(by_grid["state"].str.contains("complete").sum()),
        "grids": str(len(by_grid)),
        "table": _table(by_grid, "recorded.csv", caption),
        "device": about["device"],
        "date": about["published"],
    }


GRIDS = "lstm upstream|lstm paired LIC_M|lstm paired LIC_D|lstm vocabulary|bert-ft LIC_M|bert-ft LIC_D|bert-pre LIC_M|bert-pre LIC_D"


def done(runs: pd.DataFrame) -> dict:
    """How many declared runs of a grid are recorded, and whose attributions are."""
    progress, found = grid.progress(grid.read(), runs), {}
    for name in GRIDS.split("|"):
        own = progress[progress["grid"].str.startswith(name)].groupby("attribute")
        sums = own[["recorded", "of"]].sum().itertuples()
        found[re.sub(r"\W", "_", name)] = {r[0]: f"{r[1]:,} of {r[2]:,}" for r in sums}
    for name, part in read_table("attribution", "scores").groupby("classifier"):
        whose = ", ".join(in_order(part["captioner"].map(display_names()).unique()))
        found[f"words_{name[:4]}"] = f"{whose}, {count(part['seed'].nunique(), 'split')}"
    return found


def cost(runs: pd.DataFrame) -> dict:
    """Hours of computing: what the papers report, and what our recorded runs took."""
    theirs = published("cost")
    theirs = theirs.assign(source=theirs["source"].map(PAPERS))
    ours = runs.assign(classifier=labelled(runs)).groupby(["classifier", "attribute"])["seconds"]
    ours = ours.agg(hours=lambda s: s.sum() / 3600, runs="size").reset_index()
    table = pd.concat([theirs, ours.assign(source="our runs", hardware="one CPU core")])
    table = table[["source", "classifier", "attribute", "runs", "hours", "hardware"]]
    caption = "Hours of computing, published and recorded; ours are CPU hours."
    return {
        "table": _table(table.astype({"runs": "Int64"}), "cost.csv", caption, 2),
        "trainings": number(len(runs)),
        "hours": number(runs["seconds"].sum() / 3600),
    }


def captioners(lic: dict[str, pd.DataFrame]) -> str:
    """Türk et al.'s table 6 with CIDEr and LIC as recorded."""
    table = published("captioners")
    kept = "metric == 'CIDEr' and attribute == 'gender' and caption_set == 'standard'"
    cider = read_record("accuracy").query(kept)
    table["CIDEr"] = table["key"].map(cider.set_index("captioner")["value"])
    for name in ("gender", "race"):
        means = intervals(lic[name]).set_index("captioner")["lic"]
        table[f"LIC, {name}"] = table["captioner"].map(means)
    caption = "Captioners after Türk et al. 2023, table 6 (CC BY 4.0), in our words. CIDEr and LIC: our records, COCO captions, linear classifier."
    return _table(table.drop(columns="key"), "captioners.csv", caption)


def papers_classifiers() -> str:
    """Türk et al.'s table 7, with learning rate and epochs of each paper's public code."""
    recipes = published("recipes")
    rates = recipes["learning_rate"].map(lambda rate: f"{rate:.0e}".replace("e-0", "e-"))
    recipes["recipe"] = rates + " × " + recipes["epochs"].astype(str)
    wide = recipes.pivot(index="classifier", columns="source", values="recipe")
    wide = wide.rename(columns=lambda source: f"rate × epochs, {PAPERS[source]}")
    table = published("classifiers").rename(columns={"fine_tuned": "fine-tuned"})
    table = table.drop(columns="source").merge(wide, on="classifier")
    caption = "Parameters after Türk et al. 2023, table 7 (CC BY 4.0); learning rate and epochs from each paper's public code."
    return _table(table, "papers_classifiers.csv", caption)


def batching(runs: pd.DataFrame) -> dict:
    """How far batches of one length move the LSTM's LIC_M, on the papers' splits."""
    kept = runs.query("classifier == 'lstm' and split == 'upstream' and caption_set == 'standard'")
    wide = kept.pivot_table("score", ["attribute", "captioner", "seed"], "batching")
    moved = (wide["bucketed"] - wide["packed"]).dropna()
    return {
        "moved": number(moved.mean()),
        "std": number(moved.std()),
        "runs": str(len(moved)),
        "seed_std": number(wide["packed"].groupby(["attribute", "captioner"]).std().mean()),
    }


def wrong(attribute: str) -> str:
    """How often the linear classifier is wrong about a single generated caption."""
    runs = recorded(attribute=attribute, classifier=MAIN, side="model")
    return f"{100 - runs.frame['accuracy'].mean():.0f} %"


def age() -> dict:
    """How well those who labelled age agree."""
    row = read_table("data", "agreement").iloc[0]
    return {
        "agreement": f"{row['agreement (%)']:.0f} %",
        "pairs": number(int(row["pairs"])),
        "kappa": number(row["Cohen's κ"], 2),
    }


def audit_sizes() -> dict[str, str]:
    """The smallest LIC that 80 % of audits would find, by images of the rarer class."""
    kept = read_table("audit", "karpathy_test").query("seen == 'all'")
    rarer = 5 * kept["n_test"].mean()  # a tenth of both classes tests
    found = {n: kept["detectable"].mean() * (rarer / n) ** 0.5 for n in (100, 500, 2500)}
    return {f"find_{n}": number(least) for n, least in found.items()}


def audit_example() -> str:
    """The tutorial's audit of three captioners."""
    kept = read_table("audit", "karpathy_test")
    columns = "captioner seen lic_model lic_data lic low high n_test verdict".split()
    heads = HEADS | {"seen": "captions", "n_test": "test images"}
    caption = f"COCO captions, gender, {kept['n_images'].iloc[0]:,} images of the Karpathy test split, linear, ten splits; recorded."
    return _table(kept[columns].rename(columns=heads), "audit_example.csv", caption)


def rebuilt() -> str:
    """Runs of this machine's store beside the recorded ones, for the status page; empty: none."""
    table = beside_record(own_frame(Store(paths.runs())), read_recorded())
    caption = "Runs on COCO captions that this machine's store and the record both have: largest difference of their scores, points."
    return _table(table, "rebuilt.csv", caption, 3) if len(table) else ""


def beside_record(own: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    """How far scores of runs that were described alike lie apart, by kind of run."""
    if own.empty:
        return own
    both = own.merge(known, on=UNCHANGED, suffixes=("", " recorded"))
    both["difference"] = (both["score"] - both["score recorded"]).abs()
    both["same"] = both["fingerprint"] == both["fingerprint recorded"]
    found = both.groupby(["attribute", "classifier", "split", "side"], as_index=False).agg(
        runs=("difference", "size"), same=("same", "sum"), most=("difference", "max")
    )
    return found.rename(columns={"same": "on the same captions", "most": "largest difference"})


def _span(estimate) -> str:
    return span(*estimate.interval())


def _table(frame: pd.DataFrame, file: str, caption: str, decimals: int = 1) -> str:
    return _block(table_html(frame, file, caption, decimals))


def _block(text: str) -> str:
    """HTML as one line: Markdown ends a block of HTML at an empty one."""
    return re.sub(r"\s*\n\s*", " ", text)


KEYWORDS = {"if", "else", "and", "or", "not", "in", "is", "env"}


def named(page: str) -> set[str]:
    """Keys that a page's substitutions name; what is shown as code does not count.

    >>> sorted(named("{{ a.b }} {{ 'x' if c.d.e == 'y' else a.f }} `{{ not.this }}`"))
    ['a.b', 'a.f', 'c.d.e']
    """
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page, flags=re.M | re.S)
    inside = [re.sub(r"'[^']*'|\"[^\"]*\"", "", e) for e in re.findall(r"{{(.*?)}}", text)]
    return {n for e in inside for n in re.findall(r"[A-Za-z_][\w.]*", e)} - KEYWORDS


def check(pages: dict[str, str], known: dict) -> None:
    """Every key that a page names is there, and every value `group.name` is on some page."""
    flat = pd.json_normalize(known, sep=".").columns
    for page, text in sorted(pages.items()):
        for key in sorted(named(text) - set(flat)):
            alike = [k for k in flat if k.split(".")[0] == key.split(".")[0]] or sorted(known)
            found = f"book/{page}: unknown value {key!r}"
            raise RelicError(found, expected=f"one of {', '.join(alike)}")
    used = {".".join(k.split(".")[:2]) for text in pages.values() for k in named(text)}
    unused = sorted({".".join(k.split(".")[:2]) for k in flat} - used)
    if unused:
        found = f"no page of book/ names the value {', '.join(unused)}"
        raise RelicError(found, expected="every value of relic/book/values.py on a page")
