"""Values of the book's pages, computed from the record when the book is compiled.

One nested dictionary, which pages name as `{{ group.name }}` or `{{ group.name.field }}`. Functions give
numbers, estimates or (mean, low, high); `text` writes them, tables and figures are HTML on one line.
"""

import json
import re
from datetime import date

import pandas as pd
import yaml

import relic
from relic import paths
from relic.chapters import since
from relic.chapters.calibration import intervals as candidates
from relic.chapters.layout import HEADS, change, mean_of_folds
from relic.chapters.learning import curves, scores
from relic.data.captioners import corpus_name
from relic.errors import RelicError
from relic.judge import stats
from relic.judge.claims import MARGIN, PAIRS, SUPPORTED, SYMBOLS
from relic.judge.lic import AS_WRITTEN, RECIPES, labelled
from relic.measure.store import Store
from relic.page import figure_html, table_html
from relic.records import grid
from relic.records.evidence import MAIN, OURS, PAPERS, SHEET
from relic.records.runs import UNCHANGED, own_frame, read_recorded
from relic.records.serve import Runs
from relic.records.tables import read_table

ATTRIBUTES = ("gender", "race", "age")
SOURCES = {OURS: "our runs", **PAPERS, SHEET: "Türk et al., by split"}
ABSENT = dict.fromkeys("number whose n_test surely captioners".split(), "–")
ABSENT |= {"word": "not judged yet", "seeds": 0}
GROUPED = "linear, repeats on one side"  # of every split
EXAMPLE = 449400  # the image whose captions the landing page quotes
EQUAL_SIZE = 2190  # gender images, as many as race has
EQUALIZER, NIC_PLUS = PAIRS[0]
NINE = list(relic.published("captioners")["captioner"])  # the papers' captioners
GRIDS = [f"lstm {part}" for part in ("upstream", "paired LIC_M", "paired LIC_D", "vocabulary")]
GRIDS += [f"bert-{part} LIC_{side}" for part in ("ft", "pre") for side in "MD"]


def values() -> dict:
    """Everything the pages may name, as text."""
    verdicts, runs = relic.judge_all(), read_recorded()
    progress = grid.progress(grid.read(), runs)
    lic = {name: _lic(name) for name in ATTRIBUTES}
    computed = {f"claim{n}": {a: _verdict(verdicts, n, a) for a in ATTRIBUTES} for n in "124"}
    computed |= {
        "claim3": claim_3(verdicts, lic),
        "lic": {name: levels(table) for name, table in lic.items()},
        "unseen": {name: unseen(name) for name in ("gender", "race")},
        "lstm": {f"claim{n}": _verdict(verdicts, n, "gender", "lstm") for n in "24"},
        "learned": {a: {c: learned(a, c) for c in (MAIN, "lstm")} for a in ("gender", "race")},
        "tuned": {name: tuned(name) for name in ("gender", "race")},
        "hangs": hangs(),
        "curve": {"gender": curve("gender")},
        "since": newer(),
        "verdicts": {"matrix": matrix(verdicts)} | former_rule(verdicts),
        "permuted": {"gender": levels(_lic("gender", labels="permuted"))},
        "papers": papers(verdicts),
        "calibration": calibration(verdicts, lic),
        "record": record(progress),
        "done": done(progress),
        "cost": cost(runs),
        "batching": {"lstm": batching(runs)},
        "wrong": {name: wrong(name) for name in ATTRIBUTES},
    }
    alone = (landing, example, direction, gender_score, age, audit)
    return text(computed | {part.__name__: part() for part in alone})


def text(value):
    """What a page shows: numbers as `relic.numbers` writes them, estimates with their intervals."""
    if isinstance(value, dict):
        return {key: text(each) for key, each in value.items()}
    value = value.interval() if isinstance(value, stats.Estimate) else value
    return relic.span(*value) if isinstance(value, tuple) else relic.number(value)


def _lic(attribute: str, seen: str = "all", **choices) -> pd.DataFrame:
    return relic.lic_table(
        relic.recorded(attribute=attribute, classifier=MAIN, **choices), seen=seen
    )


def _verdict(verdicts: pd.DataFrame, claim: str, attribute: str, classifier: str = MAIN) -> dict:
    """One of our verdicts; claim 1 is about all classifiers."""
    kept = verdicts.query("source == @OURS and claim == @claim and attribute == @attribute")
    kept = kept if claim == "1" else kept[kept["classifier"] == classifier]
    if kept.empty:
        return ABSENT
    row = kept.iloc[0].to_dict()
    number = (row["estimate"], row["low"], row["high"], 2 if claim == "1" else 1)
    shown = {"number": number, "word": f"{SYMBOLS[row['word']]} {row['word']}"}
    return {name: row.get(name) for name in ABSENT} | shown | {"n_test": round(row["n_test"])}


def claim_3(verdicts: pd.DataFrame, lic: dict[str, pd.DataFrame]) -> dict:
    """Race against gender: every captioner, the mean over them, and on as many images."""
    equal = _lic("gender", size=EQUAL_SIZE)
    shares = [scores.normalised(lic[name]) for name in ("gender", "race")]
    return {
        "normalised": relic.mean_less_than_gender(*shares, scores.NORMALISED),
        "lic_model": _verdict(verdicts, "3 (LIC_M)", "race"),
        "lic": _verdict(verdicts, "3 (LIC)", "race"),
        "mean": relic.mean_less_than_gender(lic["gender"], lic["race"]),
        "equal_size": relic.mean_less_than_gender(equal, lic["race"]),
    }


def levels(lic: pd.DataFrame) -> dict:
    """Least and largest LIC of the captioners, their mean, and how many intervals leave out 0."""
    table = relic.intervals(lic).set_index("captioner")
    return {
        "least": table["lic"].min(),
        "least_captioner": table["lic"].idxmin(),
        "most": table["lic"].max(),
        "most_captioner": table["lic"].idxmax(),
        "mean": relic.mean_over_captioners(lic),
        "apart_from_0": ((table["low"] > 0) | (table["high"] < 0)).sum(),
        "captioners": len(table),
    }


def unseen(attribute: str) -> dict:
    """The same on captions that training did not hold, LIC_D on the same test images."""
    lic = _lic(attribute, seen="unseen")
    judged, lead = relic.amplification(lic), relic.equalizer(lic)
    written = _lic(attribute, seen=AS_WRITTEN)
    return levels(lic) | {
        "written": relic.mean_over_captioners(written),
        "grouped": mean_of_folds(_lic(attribute, split="grouped")),
        "surely": judged.surely,
        "lead": (lead.estimate, lead.low, lead.high),
        "lead_word": f"{lead.symbol} {lead.word}",
    }


def landing() -> dict:
    """What the landing page shows besides verdicts: gender LIC by classifier, the papers' in pale."""
    kept = [relic.recorded(attribute="gender", classifier=c, recipe=r) for c, r in RECIPES.items()]
    table = relic.intervals(pd.concat(map(relic.lic_table, kept)))
    table = table[table.groupby("classifier")["captioner"].transform("size") == len(NINE)]
    ours = dict(zip(table["classifier"].str.split(" ").str[0], table["classifier"], strict=True))
    printed = relic.papers("gender")
    axes = relic.forest(
        table,
        series="classifier",
        papers=printed.assign(classifier=printed["classifier"].map(ours)),
    )
    splits = table.groupby("classifier", sort=False)["seeds"].max()
    by = ", ".join(f"{name} {relic.count(n, 'split')}" for name, n in splits.items())
    caption = (
        f"Gender LIC, COCO captions: mean and 95 % interval over splits ({by}; no interval from one split). "
        "Upright bars: the papers' printed values for the same classifier. Right of 0, the captioner amplifies."
    )
    alt = "LIC of nine captioners for gender by classifier, with intervals, beside the papers' values."
    cited = yaml.safe_load((paths.ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    return {
        "figure": _block(figure_html(axes.figure, alt, caption)),
        "repository": cited.get("repository-code", "not public yet"),
        "doi": cited.get("doi", "none yet"),
        "version": relic.__version__,
        "date": f"{date.today():%d %B %Y}",
    }


def learned(attribute: str, classifier: str) -> dict:
    """How well a classifier orders captions by class on either side (AUC), and its mean LIC."""
    runs = _runs(attribute, classifier)
    auc = runs.frame.groupby("side")["auc"].mean()
    return {**auc, "lic": relic.mean_over_captioners(relic.lic_table(runs))}


def tuned(attribute: str) -> stats.Estimate:
    """How far the LSTM's LIC moves where rate and epochs are tuned on either side; two captioners."""
    chosen = {"attribute": attribute, "classifier": "lstm", "captioner": ["nic_plus", "oscar"]}
    plain, best = (
        relic.lic_table(relic.recorded(**chosen, recipe=r)) for r in (RECIPES["lstm"], "tuned")
    )
    return relic.mean_over_captioners(change(best, plain), "change")


def _runs(attribute: str, classifier: str = MAIN, **choices) -> Runs:
    recipe = RECIPES[classifier]
    return relic.recorded(attribute=attribute, classifier=classifier, recipe=recipe, **choices)


def hangs() -> dict:
    """Claim 2 by other scores, captions, vocabularies and classifiers: how many surely amplify."""
    rows = []
    for name in ("gender", "race"):
        runs, words = _runs(name), {"frequent human words": "human-top-n", "all words": "none"}
        tables = {f"linear, {of}": lic for of, lic in scores.score_tables(runs).items()}
        tables["linear, unseen captions"] = relic.lic_table(runs, seen="unseen")
        for label, vocabulary in words.items():
            tables[f"linear, {label}"] = _lic(name, vocabulary=["", vocabulary])
        for classifier in ("lstm", "bert-pre"):
            lic = relic.lic_table(_runs(name, classifier))
            tables[lic["classifier"].iloc[0]] = lic
        means = {label: relic.mean_over_captioners(lic) for label, lic in tables.items()}
        tables[GROUPED] = grouped = _lic(name, split="grouped")
        means[GROUPED] = mean_of_folds(grouped)  # each captioner has folds of its own
        for label, lic in tables.items():
            judged = relic.amplification(lic)
            row = {"attribute": name, "by": label, "surely": judged.surely, "splits": judged.seeds}
            mean = dict(zip(("mean", "low", "high"), means[label].interval(), strict=True))
            rows.append(row | mean | {"captioners": judged.captioners})
    table = pd.DataFrame(rows)
    fewest = table.loc[table.groupby("attribute")["surely"].idxmin()].set_index("attribute")
    table["surely"] = table["surely"].astype(str) + " of " + table.pop("captioners").astype(str)
    caption = "COCO captions: captioners that surely amplify (Holm), and the mean over captioners in points (Δbits × 100: in hundredths of a bit), by how it is measured."
    least = {
        attribute: {"surely": f"{row['surely']} of {row['captioners']}", "by": row["by"]}
        for attribute, row in fewest.iterrows()
    }
    return {"table": _table(table, "hangs.csv", caption)} | least


def curve(attribute: str) -> dict:
    """Mean LIC at the smallest and at the largest training set of the learning curves."""
    kept = read_table("learning", "curves").query("attribute == @attribute and captions == 1")
    means = curves.mean_curve(curves.by_size(kept[kept["images"] == curves.EVERY]))
    lic = means.set_index("training images")[["difference", "difference low", "difference high"]]
    ends = {"few": 0, "all": -1}
    return {n: {"images": lic.index[at], "lic": tuple(lic.iloc[at])} for n, at in ends.items()}


def newer() -> dict:
    """Captioners since the papers: those trained on COCO less the nine, and the control."""
    lic = _lic("gender", corpus=corpus_name("Karpathy test"))
    group = lic["captioner"].map(since.group)
    judged = relic.amplification(lic[group == "COCO"])
    llava = read_table("since", "length").query(
        "captioner == 'LLaVA, long prompt' and attribute == 'gender'"
    )
    llava["ends"] = llava["length"].map({"as written": "long", "same length": "cut"})
    return {
        "less": since.ahead(lic, "COCO"),
        "surely": f"{judged.surely} of {judged.captioners}",
        "control": relic.mean_over_captioners(lic[group == since.CONTROL]),
        "n_test": round(lic["n_test"].mean()),
        "llava": {name: relic.mean_over_captioners(part) for name, part in llava.groupby("ends")},
    }


def example() -> dict:
    """How sure the linear classifier is of the landing page's example: one image, one split."""
    runs = relic.recorded(attribute="gender", classifier=MAIN, seed=0, captioner="nic_equalizer")
    kept = runs.frame.query("caption_index == 0").set_index("side")["key"]
    scores = runs.outcomes.query(f"image_id == {EXAMPLE}").set_index("key")["score"]
    return {side: f"{scores[key]:.0f} %" for side, key in kept.items()}


def matrix(verdicts: pd.DataFrame) -> str:
    """Every verdict: claims down, sources across, classifiers in the cells."""
    keys = ["claim", "attribute", "source"]
    words = verdicts.assign(word=pd.Categorical(verdicts["word"], SYMBOLS))
    cells = words.groupby([*keys, "word"], observed=True)["classifier"].agg(", ".join).reset_index()
    cells["classifier"] = cells["word"].astype(str).map(SYMBOLS) + " " + cells["classifier"]
    wide = cells.groupby(keys)["classifier"].agg("; ".join).unstack()
    wide = wide.reindex(columns=SOURCES).rename(columns=SOURCES).reset_index()
    legend = ", ".join(f"{symbol} {word}" for word, symbol in SYMBOLS.items())
    caption = f"Verdicts on COCO captions (ours) and published numbers, by classifier: {legend}."
    table = _table(wide, "verdicts.csv", caption)
    return table.replace("relic-table", "relic-table relic-matrix", 1)


def former_word(row: pd.Series) -> str:
    """The verdict as our former rule gave it: by the estimate where the interval leaves it open."""
    below = row["claim"] == "4" and row["attribute"] != "gender"
    sign, bound = (-1, -MARGIN) if below else (1, 0)
    if min(sign * row["low"], sign * row["high"]) > bound:
        return "supported"
    return "undecided" if sign * row["estimate"] > bound else "not supported"


def former_rule(verdicts: pd.DataFrame) -> dict:
    """What the present rule says otherwise than the former; claim 1 had another number then."""
    cells = verdicts[verdicts["claim"] != "1"]
    cells = cells.assign(former=cells.apply(former_word, axis=1))
    return _changed(cells, "former_rule.csv", "Verdicts that the present rule changed")


def _changed(cells: pd.DataFrame, file: str, caption: str) -> dict:
    """Verdicts that were others before (`former`), counted and listed."""
    changed = cells[cells["former"] != cells["word"]].replace({"source": SOURCES})
    changed = changed.rename(columns={"word": "now"})
    columns = "claim attribute source classifier whose estimate low high former now".split()
    caption = f"{caption}, COCO captions and published numbers."
    return {
        "changed": _table(changed[columns], file, caption),
        "cells": len(cells),
        "moved": len(changed),
        **{f"to_{word}": (changed["now"] == word).sum() for word in ("undecided", "refuted")},
    }


def papers(verdicts: pd.DataFrame) -> dict:
    """What the papers report beside LIC: hours, Antequera et al.'s other recipe, the Equalizer's lead."""
    hours = relic.published("cost").groupby("source")["hours"].sum()
    lic = relic.published("lic").query(
        "classifier == 'BERT-pre' and variant.isna() and metric != 'LIC'"
    )
    wide = lic.pivot_table("mean", ["attribute", "captioner", "metric"], "source")
    gap = wide[["hirota2022", "turk2023"]].rsub(wide["relic2023"], axis=0).mul(-1).stack()
    unseen_captions = relic.published("unseen_captions").set_index("captioner")
    lead = unseen_captions.loc[EQUALIZER] - unseen_captions.loc[NIC_PLUS]
    theirs = {
        "split": "upstream",
        "batching": ["", "packed"],
        "captioner": ["nic_plus", "nic_equalizer"],
    }
    again = {
        c: relic.model_table(_runs("gender", c, **theirs), seen=AS_WRITTEN) for c in (MAIN, "lstm")
    }
    again = {c: relic.difference(t, EQUALIZER, NIC_PLUS, "lic_model") for c, t in again.items()}
    race = verdicts.query("claim == '2' and attribute == 'race' and source in @PAPERS")
    held = race.loc[race["word"] == SUPPORTED, "classifier"]
    return {
        "race_supported": f"{len(held)} of {len(race)} columns",
        "race_by": ", ".join(sorted(set(held))) or "none",
        "hours": f"{hours.min():.0f} and {hours.max():.0f}",
        "bert_pre_gap": f"{relic.number(gap.min())} to {relic.number(gap.max())}",
        "lead": lead["lic_m"] - lead["difference"],
        "lead_unseen": lead["lic_m"],
        "lead_again": again,
    }


def _surely(lic: dict[str, pd.DataFrame]) -> dict[str, int]:
    return {name: relic.amplification(table).surely for name, table in lic.items()}


def calibration(verdicts: pd.DataFrame, lic: dict[str, pd.DataFrame]) -> dict:
    """How often our interval holds what it should, on synthetic corpora; what it changed."""
    corpora = read_table("calibration", "intervals")
    held = candidates.held(corpora)
    table = candidates.summary(held).set_index("interval")
    ours, former = (table.loc[name] for name in (candidates.OURS, candidates.FORMER))
    none = candidates.coverage(held[held["gain"] == 0], []).set_index("interval")
    gains = candidates.coverage(held[held["interval"] == candidates.OURS], ["gain"])
    setting = held.query("size == 'race' and `class ratio` == '1 : 9' and gain == 0.5")
    power = candidates.coverage(setting, []).set_index("interval").loc[candidates.OURS]
    true = corpora.query("ratio == 'race' and gain == 0.5")["true_lic"].mean()
    rho = candidates.calibrated(corpora)
    rho.columns = ["class ratio", "ρ measured", "ρ of the rule", "corpora"]
    fifths = candidates.in_fifths(read_table("calibration", "fifths")).set_index("attribute")["rho"]
    counts = {"ρ = 1/9 + ratio/3": _surely(lic)}
    for name, value in {"ρ = 1/9": stats.NADEAU_BENGIO, "ρ = 1/4": 0.25}.items():
        with stats.sharing(value):
            counts[name] = _surely(lic)
    with stats.sharing(stats.NADEAU_BENGIO):
        before = verdicts.assign(former=relic.judge_all()["word"])
    counts = pd.DataFrame(counts).T.rename_axis("interval").reset_index()
    by_rule = "Captioners that surely amplify (Holm), COCO captions, linear, by what splits are taken to share."
    return {
        "corpora": len(corpora) // len(candidates.GAINS),
        "covers": tuple(ours[["holds the mean", "low", "high"]]),
        "by_gain": f"{gains['holds the mean'].min():.1f} to {gains['holds the mean'].max():.1f}",
        "least": f"{ours['least']:.0f}",
        "most": f"{ours['greatest']:.0f}",
        "former": f"{former['least']:.0f} to {former['greatest']:.0f}",
        "falsely": none.loc[candidates.OURS, "above 0"],
        "power": {"true": true, "found": f"{power['above 0']:.0f} %"},
        "rho": _table(
            rho, "shared.csv", "What splits share (ρ) on synthetic corpora, ten splits, linear.", 2
        ),
        "real": {name: f"{value:.2f}" for name, value in fifths.items()},
        "rule": {name: f"{_rho(name):.2f}" for name in fifths.index},
        "surely": _table(counts, "surely.csv", by_rule),
        **_changed(before, "interval_changes.csv", "Verdicts that the interval changed"),
    }


def _rho(attribute: str) -> float:
    return stats.shared(relic.load_attribute(attribute).ratio)


def direction() -> dict:
    """Women named as men, and BiasAmp at equal object rates."""
    naming = read_table("direction", "gender_naming").set_index("captioner")
    named = naming.query("label == 'Female' and outcome == 'wrong'")
    silent = naming.query("label == 'Female' and outcome == 'neutral'")["value"]
    men = naming.query("label == 'Male' and outcome == 'right'")["value"]
    rates = read_table("direction", "gender_amplification")
    rates = rates[rates["captioner"].isin(NINE)]
    above = {name: each["low"] > 0 for name, each in rates.groupby("direction")}
    above = {name: f"{each.sum()} of {len(each)}" for name, each in above.items()}
    return {
        "nic_plus": tuple(named.loc[NIC_PLUS, ["value", "low", "high"]]),
        "equalizer": tuple(named.loc[EQUALIZER, ["value", "low", "high"]]),
        "women": int(named.loc[EQUALIZER, "n"]),
        "silent": f"{silent[NIC_PLUS]:.0f} to {silent[EQUALIZER]:.0f} %",
        "men": f"{men[NIC_PLUS]:.0f} to {men[EQUALIZER]:.0f} %",
        "above_0": above["A→T, equal rates"],
        "plain_above_0": above["A→T"],
    }


def gender_score() -> dict:
    """How often the language model alone prefers *man*; agreement with LIC."""
    kept = read_table("gender_score", "estimation").query("method == 'Gender Score Estimation'")
    kept = kept[kept["captioner"].isin(NINE) & kept["prior"].str.startswith("3-gram")]
    alone = 100 * kept["prior alone"]
    main = "method == 'Gender Score' and encoder == 'all-MiniLM-L6-v2'"
    ratios = read_table("gender_score", "scores").query(main)
    ratios = ratios[ratios["prior"].str.startswith("3-gram")]
    both = ratios.merge(relic.intervals(_lic("gender")), on="captioner")
    rho, low, high, _ = stats.rank_correlation(both["to_m"], both["lic"]).values()
    return {
        "prior": f"{alone.min():.0f} to {alone.max():.0f} %",
        "rho": (rho, low, high, 2),
        "ratios": f"{both['to_m'].min():.3f} to {both['to_m'].max():.3f}",
    }


def record(progress: pd.DataFrame) -> dict:
    """What `results/` holds of the declared grid, when and where it was recorded."""
    by_grid = grid.by_grid(progress)
    published = json.loads((paths.RESULTS / "provenance.json").read_text(encoding="utf-8"))
    caption = "Runs on COCO captions: recorded, of those declared."
    return {
        "runs": progress["recorded"].sum(),
        "declared": progress["of"].sum(),
        "complete": by_grid["state"].str.contains("complete").sum(),
        "grids": len(by_grid),
        "table": _table(by_grid, "recorded.csv", caption),
        "device": published["device"],
        "date": published["published"],
    }


def done(progress: pd.DataFrame) -> dict:
    """How many declared runs of a grid are recorded, and whose attributions are."""
    shown = {}
    for name in GRIDS:
        own = progress[progress["grid"].str.startswith(name)].groupby("attribute")
        sums = own[["recorded", "of"]].sum().itertuples()
        shown[re.sub(r"\W", "_", name)] = {r[0]: f"{r[1]:,} of {r[2]:,}" for r in sums}
    for name, part in read_table("attribution", "scores").groupby("classifier"):
        whose = ", ".join(relic.in_order(part["captioner"].map(relic.display_names()).unique()))
        shown[f"words_{name[:4]}"] = f"{whose}, {relic.count(part['seed'].nunique(), 'split')}"
    return shown


def cost(runs: pd.DataFrame) -> dict:
    """Hours of computing: what the papers report, and what our recorded runs took."""
    ours = runs.assign(classifier=labelled(runs), source="our runs", hardware="one CPU core")
    by = ["source", "classifier", "attribute", "hardware"]
    ours = ours.groupby(by)["seconds"].agg(hours=lambda s: s.sum() / 3600, runs="size")
    table = pd.concat([relic.published("cost").replace({"source": PAPERS}), ours.reset_index()])
    columns = ["source", "classifier", "attribute", "runs", "hours", "hardware"]
    caption = "Hours of computing, published and recorded; ours are CPU hours."
    return {
        "table": _table(table[columns].astype({"runs": "Int64"}), "cost.csv", caption, 2),
        "trainings": len(runs),
        "hours": runs["seconds"].sum() / 3600,
    }


def batching(runs: pd.DataFrame) -> dict:
    """How far batches of one length move the LSTM's LIC_M, on the papers' splits."""
    kept = runs.query("classifier == 'lstm' and split == 'upstream' and caption_set == 'standard'")
    wide = kept.pivot_table("score", ["attribute", "captioner", "seed"], "batching")
    moved = (wide["bucketed"] - wide["packed"]).dropna()
    seeds = wide["packed"].groupby(["attribute", "captioner"]).std().mean()
    return {"moved": moved.mean(), "std": moved.std(), "runs": len(moved), "seed_std": seeds}


def wrong(attribute: str) -> str:
    """How often the linear classifier is wrong about a single generated caption."""
    kept = relic.recorded(attribute=attribute, classifier=MAIN, side="model").frame
    return f"{100 - kept['accuracy'].mean():.0f} %"


def age() -> dict:
    """How well those who labelled age agree."""
    row = read_table("data", "agreement").iloc[0]
    return {
        "agreement": f"{row['agreement (%)']:.0f} %",
        "pairs": row["pairs"],
        "kappa": relic.number(row["Cohen's κ"], 2),
    }


def audit() -> dict:
    """The tutorial's audit of three captioners, and the smallest LIC that 80 % of audits would find."""
    table = read_table("audit", "karpathy_test")
    columns = "captioner seen lic_model lic_data lic low high n_test verdict".split()
    heads = HEADS | {"seen": "captions", "n_test": "test images"}
    caption = f"COCO captions, gender, {table['n_images'].iloc[0]:,} images of the Karpathy test split, linear, ten splits; recorded."
    means = table.query("seen == 'all'")[["detectable", "n_test"]].mean()
    rarer = 5 * means["n_test"]  # images of the rarer class: a tenth of both classes tests
    table = _table(table[columns].rename(columns=heads), "audit_example.csv", caption)
    detectable = {n: means["detectable"] * (rarer / n) ** 0.5 for n in (100, 500, 2500)}
    return {"table": table} | {f"find_{n}": lic for n, lic in detectable.items()}


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
    kinds = both.groupby(["attribute", "classifier", "split", "side"], as_index=False)
    table = kinds.agg(runs=("difference", "size"), same=("same", "sum"), most=("difference", "max"))
    return table.rename(columns={"same": "on the same captions", "most": "largest difference"})


def _table(frame: pd.DataFrame, file: str, caption: str, decimals: int = 1) -> str:
    return _block(table_html(frame, file, caption, decimals))


def _block(html: str) -> str:
    """HTML as one line: Markdown ends a block of HTML at an empty one."""
    return re.sub(r"\s*\n\s*", " ", html)


def named(page: str) -> set[str]:
    """What a page's substitutions name; what is shown as code does not count.

    >>> sorted(named("{{ a.b }} {{ c.d.e }} `{{ not.this }}`"))
    ['a.b', 'c.d.e']
    """
    plain = re.sub(r"^```.*?^```|`[^`\n]*`", "", page, flags=re.M | re.S)
    return {name.strip() for name in re.findall(r"{{(.*?)}}", plain)}


def check(pages: dict[str, str], known: dict) -> None:
    """Every name on a page is that of a value, and every value `group.name` is on some page."""
    flat = pd.json_normalize(known, sep=".").columns
    for page, text in sorted(pages.items()):
        for key in sorted(named(text) - set(flat)):
            alike = [k for k in flat if k.split(".")[0] == key.split(".")[0]] or sorted(known)
            expected = f"one of {', '.join(alike)}"
            raise RelicError(f"book/{page}: unknown value {key!r}", expected=expected)
    names = set().union(*map(named, pages.values()))
    shown, there = ({".".join(k.split(".")[:2]) for k in keys} for keys in (names, flat))
    if unused := sorted(there - shown):
        found = f"no page of book/ names the value {', '.join(unused)}"
        raise RelicError(found, expected="every value of relic/book/values.py on a page")
