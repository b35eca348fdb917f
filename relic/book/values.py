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
from relic.chapters import learning, scores, since
from relic.chapters.calibration import intervals as candidates
from relic.chapters.layout import HEADS, change, mean_of_folds
from relic.data.captioners import corpus_name
from relic.judge import stats
from relic.judge.claims import PAIRS, SUPPORTED, SYMBOLS
from relic.judge.lic import AS_WRITTEN, RECIPES
from relic.measure.runs import Store
from relic.page import figure_html, table_html
from relic.records import grid
from relic.records.evidence import MAIN, OURS, PAPERS
from relic.records.runs import UNCHANGED, own_frame, read_recorded
from relic.records.serve import Runs
from relic.records.tables import read_table

ATTRIBUTES = ("gender", "race", "age")
EXAMPLE = 449400  # the image whose captions the landing page quotes
EQUAL_SIZE = 2190  # gender images, as many as race has
EQUALIZER, NIC_PLUS = PAIRS[0]
BOTH = (MAIN, "lstm")  # our primary classifier and the papers'
NINE = list(relic.published("captioners")["captioner"])  # the papers' captioners


def values() -> dict:
    """Everything the pages may name, as text."""
    verdicts = relic.judge_all()
    lic = {name: _lic(name) for name in ATTRIBUTES}
    computed = {f"claim{n}": {a: _verdict(verdicts, n, a) for a in ATTRIBUTES} for n in "124"}
    computed |= {
        "claim3": claim_3(verdicts, lic),
        "lic": {name: levels(table) for name, table in lic.items()},
        "unseen": {name: unseen(name) for name in ("gender", "race")},
        "lstm": {f"claim{n}": _verdict(verdicts, n, "gender", "lstm") for n in "24"},
        "learned": {a: {c: learned(a, c) for c in BOTH} for a in ("gender", "race")},
        "tuned": {name: tuned(name) for name in ("gender", "race")},
        "curve": {"gender": curve("gender")},
        "since": newer(),
        "permuted": {"gender": levels(_lic("gender", labels="permuted"))},
        "papers": papers(verdicts),
        "wrong": {name: wrong(name) for name in ATTRIBUTES},
    }
    alone = (landing, example, calibration, direction, gender_score, record, age, audit)
    return text(computed | {part.__name__: part() for part in alone})


def text(value):
    """What a page shows: numbers as `relic.numbers` writes them, estimates with their intervals."""
    if isinstance(value, dict):
        return {key: text(each) for key, each in value.items()}
    value = value.interval() if isinstance(value, stats.Estimate) else value
    return relic.span(*value) if isinstance(value, tuple) else relic.number(value)


def _runs(attribute: str, classifier: str = MAIN, **choices) -> Runs:
    recipe = RECIPES[classifier]
    return relic.recorded(attribute=attribute, classifier=classifier, recipe=recipe, **choices)


def _lic(attribute: str, seen: str = "all", **choices) -> pd.DataFrame:
    return relic.lic_table(_runs(attribute, **choices), seen=seen)


def _verdict(verdicts: pd.DataFrame, claim: str, attribute: str, classifier: str = MAIN) -> dict:
    """One of our verdicts; claim 1 is about all classifiers."""
    kept = verdicts.query("claim == @claim and attribute == @attribute")
    kept = kept[kept["source"] == OURS]
    kept = kept if claim == "1" else kept[kept["classifier"] == classifier]
    row = kept.iloc[0].to_dict()
    number = (row["estimate"], row["low"], row["high"], 2 if claim == "1" else 1)
    word = f"{SYMBOLS[row['word']]} {row['word']}"
    return row | {"number": number, "word": word, "n_test": round(row["n_test"])}


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
    """Least and largest LIC of the captioners, and their mean."""
    table = relic.intervals(lic).set_index("captioner")
    return {
        "least": table["lic"].min(),
        "least_captioner": table["lic"].idxmin(),
        "most": table["lic"].max(),
        "most_captioner": table["lic"].idxmax(),
        "mean": relic.mean_over_captioners(lic),
    }


def unseen(attribute: str) -> dict:
    """The same on captions that training did not hold, LIC_D on the same test images."""
    lic = _lic(attribute, seen="unseen")
    lead, grouped = relic.equalizer(lic), _lic(attribute, split="grouped")
    return {
        "mean": relic.mean_over_captioners(lic),
        "written": relic.mean_over_captioners(_lic(attribute, seen=AS_WRITTEN)),
        "grouped": mean_of_folds(grouped),
        "surely": relic.amplification(lic).surely,
        "surely_grouped": relic.amplification(grouped).surely,
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


def curve(attribute: str) -> dict:
    """Mean LIC at the smallest and at the largest training set of the learning curves."""
    kept = read_table("learning", "curves").query("attribute == @attribute and captions == 1")
    means = learning.mean_curve(learning.by_size(kept[kept["images"] == learning.EVERY]))
    lic = means.set_index("training images")[["difference", "difference low", "difference high"]]
    ends = {"few": 0, "all": -1}
    return {n: {"images": lic.index[at], "lic": tuple(lic.iloc[at])} for n, at in ends.items()}


def newer() -> dict:
    """Captioners since the papers: those trained on COCO less the nine, and the control."""
    lic = _lic("gender", corpus=corpus_name("Karpathy test"))
    group = lic["captioner"].map(since.group)
    judged = relic.amplification(lic[group == "COCO"])
    lengths = read_table("since", "length").query("attribute == 'gender'")
    llava = lengths[lengths["captioner"] == "LLaVA, long prompt"].groupby("length")
    return {
        "less": since.ahead(lic, "COCO"),
        "surely": f"{judged.surely} of {judged.captioners}",
        "control": relic.mean_over_captioners(lic[group == since.CONTROL]),
        "n_test": round(lic["n_test"].mean()),
        "llava": {n.replace(" ", "_"): relic.mean_over_captioners(part) for n, part in llava},
    }


def example() -> dict:
    """How sure the linear classifier is of the landing page's example: one image, one split."""
    runs = relic.recorded(attribute="gender", classifier=MAIN, seed=0, captioner="nic_equalizer")
    kept = runs.frame.query("caption_index == 0").set_index("side")["key"]
    scores = runs.outcomes.query(f"image_id == {EXAMPLE}").set_index("key")["score"]
    return {side: f"{scores[key]:.0f} %" for side, key in kept.items()}


def papers(verdicts: pd.DataFrame) -> dict:
    """What the papers report beside LIC: hours, Antequera et al.'s other recipe, the Equalizer's lead."""
    hours = relic.published("cost").groupby("source")["hours"].sum()
    lic = relic.published("lic").query(
        "classifier == 'BERT-pre' and variant.isna() and metric != 'LIC'"
    )
    wide = lic.pivot_table("mean", ["attribute", "captioner", "metric"], "source")
    gap = wide[["hirota2022", "turk2023"]].sub(wide["relic2023"], axis=0).stack()
    unseen_captions = relic.published("unseen_captions").set_index("captioner")
    lead = unseen_captions.loc[EQUALIZER] - unseen_captions.loc[NIC_PLUS]
    theirs = {"split": "upstream", "batching": ["", "packed"]}
    theirs["captioner"] = ["nic_plus", "nic_equalizer"]
    again = {c: relic.model_table(_runs("gender", c, **theirs), seen=AS_WRITTEN) for c in BOTH}
    race = verdicts.query("claim == '2' and attribute == 'race'")
    race = race[race["source"].isin(PAPERS)]
    held = race.loc[race["word"] == SUPPORTED, "classifier"]
    return {
        "race_supported": f"{len(held)} of {len(race)} columns",
        "race_by": ", ".join(sorted(set(held))) or "none",
        "hours": f"{hours.min():.0f} and {hours.max():.0f}",
        "bert_pre_gap": _to(gap.min(), gap.max(), 1),
        "lead": lead["lic_m"] - lead["difference"],
        "lead_unseen": lead["lic_m"],
        "lead_again": {
            c: relic.difference(t, EQUALIZER, NIC_PLUS, "lic_model") for c, t in again.items()
        },
    }


def calibration() -> dict:
    """How often our interval holds what it should on synthetic corpora, and finds what is there."""
    corpora = read_table("calibration", "intervals")
    held = candidates.held(corpora)
    ours = held[held["interval"] == candidates.OURS]
    found = ours.query("size == 'race' and `class ratio` == '1 : 9' and gain == 0.5")["above 0"]
    true = corpora.query("ratio == 'race' and gain == 0.5")["true_lic"].mean()
    table = candidates.summary(held).set_index("interval")
    return {
        "corpora": len(corpora) // len(candidates.GAINS),
        "ours": _to(*table.loc[candidates.OURS, ["least", "greatest"]]),
        "former": _to(*table.loc[candidates.FORMER, ["least", "greatest"]]),
        "falsely": ours.loc[ours["gain"] == 0, "above 0"].mean(),
        "power": {"true": true, "found": f"{found.mean():.0f} %"},
    }


def direction() -> dict:
    """Women named as men, and BiasAmp at equal object rates."""
    naming = read_table("direction", "gender_naming")
    naming = naming.set_index(["label", "outcome", "captioner"]).sort_index()
    wrong = naming.loc["Female", "wrong"]
    silent, men = (naming.loc[key]["value"] for key in (("Female", "neutral"), ("Male", "right")))
    rates = read_table("direction", "gender_amplification").query("captioner in @NINE")
    above = {name: each["low"] > 0 for name, each in rates.groupby("direction")}
    above = {name: f"{each.sum()} of {len(each)}" for name, each in above.items()}
    return {
        "nic_plus": tuple(wrong.loc[NIC_PLUS, ["value", "low", "high"]]),
        "equalizer": tuple(wrong.loc[EQUALIZER, ["value", "low", "high"]]),
        "women": int(wrong.loc[EQUALIZER, "n"]),
        "silent": f"{_to(silent[NIC_PLUS], silent[EQUALIZER])} %",
        "men": f"{_to(men[NIC_PLUS], men[EQUALIZER])} %",
        "above_0": above["A→T, equal rates"],
        "plain_above_0": above["A→T"],
    }


def gender_score() -> dict:
    """How often the language model alone prefers *man*; agreement with LIC."""
    estimated, ratios = (
        read_table("gender_score", part).query("prior.str.startswith('3-gram')")
        for part in ("estimation", "scores")
    )
    kept = estimated.query("method == 'Gender Score Estimation' and captioner in @NINE")
    alone = 100 * kept["prior alone"]
    ratios = ratios.query("method == 'Gender Score' and encoder == 'all-MiniLM-L6-v2'")
    both = ratios.merge(relic.intervals(_lic("gender")), on="captioner")
    rho, low, high, _ = stats.rank_correlation(both["to_m"], both["lic"]).values()
    return {
        "prior": f"{_to(alone.min(), alone.max())} %",
        "rho": (rho, low, high, 2),
        "ratios": _to(both["to_m"].min(), both["to_m"].max(), 3),
    }


def record() -> dict:
    """What `results/` holds of the declared grid, and what it took."""
    runs = read_recorded()
    progress = grid.progress(grid.read(), runs)
    published = json.loads((paths.RESULTS / "provenance.json").read_text(encoding="utf-8"))
    return {
        "runs": progress["recorded"].sum(),
        "declared": progress["of"].sum(),
        "hours": runs["seconds"].sum() / 3600,
        "device": published["device"],
    }


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
    own = own_frame(Store(paths.runs()))
    table = beside_record(own, read_recorded()) if len(own) else own
    caption = "Runs on COCO captions that this machine's store and the record both have: largest difference of their scores, points."
    return _table(table, "rebuilt.csv", caption, 3) if len(table) else ""


def beside_record(own: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    """How far scores of runs that were described alike lie apart, by kind of run."""
    both = own.merge(known, on=UNCHANGED, suffixes=("", " recorded"))
    both["difference"] = (both["score"] - both["score recorded"]).abs()
    both["same"] = both["fingerprint"] == both["fingerprint recorded"]
    kinds = both.groupby(["attribute", "classifier", "split", "side"], as_index=False)
    table = kinds.agg(runs=("difference", "size"), same=("same", "sum"), most=("difference", "max"))
    return table.rename(columns={"same": "on the same captions", "most": "largest difference"})


def _to(first: float, last: float, decimals: int = 0) -> str:
    return f"{relic.number(float(first), decimals)} to {relic.number(float(last), decimals)}"


def _table(frame: pd.DataFrame, file: str, caption: str, decimals: int = 1) -> str:
    return _block(table_html(frame, file, caption, decimals))


def _block(html: str) -> str:
    """HTML as one line: Markdown ends a block of HTML at an empty one."""
    return re.sub(r"\s*\n\s*", " ", html)
