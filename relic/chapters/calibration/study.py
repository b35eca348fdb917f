"""Do the intervals hold what they promise? Synthetic corpora drawn anew, through the whole pipeline.

Each corpus has one captioner without gain, whose true LIC is 0, and one that differs from it in its
gain alone, so that both share their LIC_D. Ten paired splits, `linear`, five human captions. A row a
corpus, captioner and score in `results/calibration/study.csv`.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import NamedTuple

import pandas as pd
from scipy.stats import binomtest

from relic.chapters.calibration.record import extend
from relic.data.planted import CAPTIONERS, PlantedCorpus, planted_corpus
from relic.judge.claims import SUPPORTED, judge
from relic.judge.lic import UNSEEN, lic_table
from relic.judge.stats import Interval, estimate, ratio_bootstrap
from relic.measure.runs import Outcome, compute, describe
from relic.measure.score import caption_scores
from relic.measure.splits import PAPER_SEEDS

CORPORA, FIRST_SEED = 200, 1000
IMAGES = 2300  # 142 test images, as race had when the study was planned
FAITHFUL = CAPTIONERS[0]
GAINED = replace(FAITHFUL, key="planted_gain", name="As Faithful, but gain 0.5", gain=0.5)
METHODS = {
    "corrected": "corrected t over splits",
    "uncorrected": "plain t over splits",
    "independent": "corrected t, not paired",
    "images": "bootstrap over images",
}
TRUTH, MEAN, ABOVE = "holds the true LIC", "holds the mean LIC", "lies above 0"
BOOTSTRAPS = 1000
SCALED_EVERY = 4  # a temperature costs a second training, so every fourth corpus has one
PARTS = {"lic_model": "std_model", "lic_data": "std_data", "lic": "std_lic"}


class Measured(NamedTuple):
    """Runs of one captioner as `lic_table` takes them."""

    frame: pd.DataFrame
    outcomes: pd.DataFrame


def study(corpora: int = CORPORA, images: int = IMAGES, seeds=PAPER_SEEDS) -> pd.DataFrame:
    """Measure the corpora that the record lacks, one after the other; all its rows are returned."""
    wanted = [(images, FIRST_SEED + number) for number in range(corpora)]
    return extend("study", ["images", "corpus_seed"], wanted, partial(measure, seeds=seeds))


def measure(images: int, corpus_seed: int, seeds: Sequence[int] = PAPER_SEEDS) -> pd.DataFrame:
    """Estimate, intervals and truth of each captioner and score of one corpus, for gender."""
    both, rows = (FAITHFUL, GAINED), []
    corpus = planted_corpus("gender", images=images, seed=corpus_seed, captioners=both)
    known: dict[tuple, Outcome] = {}  # human captions aligned to one vocabulary are trained once
    for captioner, planted in corpus.planted.items():
        runs = _train(corpus, captioner, seeds, known, scaled=corpus_seed % SCALED_EVERY == 0)
        truth, model = corpus.true_lic(captioner), runs.frame[runs.frame["side"] == "model"]
        for score, lic in lic_tables(runs).items():
            rows.append(
                {
                    "images": images,
                    "corpus_seed": corpus_seed,
                    "captioner": captioner,
                    "gain": planted.gain,
                    "score": score,
                    "true_model": truth.lic_model,
                    "true_data": truth.lic_data,
                    "true_lic": truth.lic,
                    **lic[list(PARTS)].mean(),
                    **lic[list(PARTS)].std(ddof=1).rename(PARTS),
                    **ends(lic, runs if score == "plain" else None),
                    "n_seeds": len(seeds),
                    "n_train": model["n_train"].iloc[0],
                    "n_test": model["n_test"].iloc[0],
                    "n_unseen": model["n_unseen"].mean(),
                    "code": model["code"].iloc[0],
                }
            )
    return pd.DataFrame(rows)


def _train(corpus: PlantedCorpus, captioner: str, seeds, known: dict, scaled: bool) -> Measured:
    """A captioner's captions and the five human ones for it, on every split."""
    rows, images = [], []
    for seed in seeds:
        for side, index in [("model", 0), *(("human", index) for index in range(5))]:
            options = {"side": side, "caption_index": index, "seed": seed, "calibrated": scaled}
            run = describe(corpus, captioner, "linear", **options)
            key = (run.fingerprint, side, index, seed)
            if key not in known:
                known[key] = compute(corpus, run)
            rows.append(asdict(run) | known[key].scores | {"key": run.key})
            images.append(known[key].images.assign(key=run.key))
    outcomes = pd.concat(images, ignore_index=True)
    score = 100 * caption_scores(outcomes["p"], outcomes["y"])
    return Measured(pd.DataFrame(rows), outcomes.assign(score=score, unseen=~outcomes["seen_masked"]))  # fmt: skip


def lic_tables(runs: Measured) -> dict[str, pd.DataFrame]:
    """LIC by split as the papers score, temperature-scaled, and matched on unseen captions.

    Rows named `unseen` in the record were not matched (LIC_D on other images than LIC_M): not shown.
    """
    found = {"plain": lic_table(runs.frame), "matched": lic_table(runs, seen=UNSEEN)}
    if "scaled_score" in runs.frame:
        found["scaled"] = lic_table(runs.frame.assign(score=runs.frame["scaled_score"]))
    return found


def ends(lic: pd.DataFrame, runs: Measured | None = None) -> dict[str, float]:
    """Low and high end of a 95 % interval of LIC by each method; over images where runs are given."""
    none = Interval(float("nan"), float("nan"), float("nan"))
    found = {
        "corrected": estimate(lic["lic"]).interval(),
        "uncorrected": estimate(lic["lic"], test_to_train=0.0).interval(),
        "independent": estimate(lic["lic_model"]).minus(estimate(lic["lic_data"])).interval(),
        "images": none if runs is None else _over_images(runs),
    }
    return {f"{name}_{end}": getattr(found[name], end) for name in METHODS for end in ("low", "high")}  # fmt: skip


def _over_images(runs: Measured) -> Interval:
    """Bootstrap over the images that were ever tested: an image keeps its scores of all splits."""
    told = runs.outcomes.merge(runs.frame[["key", "side"]], on="key")
    sums, counts = (
        told.pivot_table(index="image_id", columns="side", values="score", aggfunc=how)
        .reindex(columns=["model", "human"])
        .fillna(0)
        .to_numpy("float32")
        for how in ("sum", "count")
    )
    return ratio_bootstrap(sums, counts, (1, -1), draws=BOOTSTRAPS)[0]


def exact(hits: int, n: int) -> Interval:
    """A share in percent with its exact 95 % interval (Clopper & Pearson 1934).

    >>> [round(value, 1) for value in exact(0, 10)]  # high: 1 - 0.025 ** (1 / 10)
    [0.0, 0.0, 30.8]
    """
    low, high = binomtest(hits, n).proportion_ci(0.95, method="exact")
    return Interval(100 * hits / n, 100 * float(low), 100 * float(high))


def rates(frame: pd.DataFrame) -> pd.DataFrame:
    """How often each kind of interval does what: a row a gain, score, interval and question.

    `holds the true LIC`: of a perfect classifier. `holds the mean LIC`: the mean estimate over all
    corpora, which is what this classifier finds on average. `lies above 0`: what the rule calls
    supported; without gain a false positive, with gain the power, which has no nominal share.
    """
    rows = []
    for (gain, score), part in frame.groupby(["gain", "score"], sort=False):
        nominal = {TRUTH: 95.0, MEAN: 95.0, ABOVE: 2.5 if gain == 0 else None}
        for method, shown in METHODS.items():
            low, high = part[f"{method}_low"], part[f"{method}_high"]
            if low.isna().any():  # images are drawn for the plain score only
                continue
            each = [Interval(*three) for three in zip(part["lic"], low, high, strict=True)]
            hits = {
                TRUTH: part["true_lic"].between(low, high).sum(),
                MEAN: ((low <= part["lic"].mean()) & (part["lic"].mean() <= high)).sum(),
                ABOVE: sum(judge(interval, above=0) == SUPPORTED for interval in each),
            }
            for question, count in hits.items():
                share = exact(int(count), len(part))
                row = {"gain": gain, "score": score, "interval": shown, "question": question}
                row |= {"share": share.mean, "low": share.low, "high": share.high}
                row |= {"nominal": nominal[question], "corpora": len(part)}
                rows.append(row | {"width": (high - low).mean()})
    return pd.DataFrame(rows)
