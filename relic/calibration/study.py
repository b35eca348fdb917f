"""Do the intervals hold what they promise? Synthetic corpora drawn anew, through the whole pipeline.

Each corpus has one captioner without gain, whose true LIC is 0, and one that differs from it in its
gain alone, so that both share their LIC_D. Ten paired splits, `linear`, five human captions. A
row a corpus, captioner and score; `results/calibration/study.csv` keeps them, and a study that
was stopped goes on where it was.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import config_context
from statsmodels.stats.proportion import proportion_confint
from tqdm import tqdm

from relic import material, paths, provenance
from relic.claims import SUPPORTED, judge
from relic.errors import RelicError
from relic.local import BOTH
from relic.planted import CAPTIONERS, PlantedCorpus, planted_corpus
from relic.runs import Outcome, compute, describe
from relic.score import caption_scores, sigmoid
from relic.splits import PAPER_SEEDS
from relic.stats import Interval, estimate, ratio_bootstrap
from relic.whole import write_whole

DIRECTORY = paths.RESULTS / "calibration"
STUDY = DIRECTORY / "study.csv"
CORPORA, FIRST_SEED = 200, 1000
IMAGES = 2300  # as many of the rarer class as the smallest real set has: race, 711, 142 test images
FAITHFUL = CAPTIONERS[0]
GAINED = replace(FAITHFUL, key="planted_gain", name="As Faithful, but gain 0.5", gain=0.5)
METHODS = {
    "corrected": "corrected resampled t over splits",
    "uncorrected": "plain t over splits",
    "independent": "corrected, LIC_M and LIC_D as if independent",
    "images": "bootstrap over test images",
}
SCORES = {
    "plain": "as the papers score",
    "scaled": "temperature-scaled",
    "unseen": "on test captions unseen in training",
}
BOOTSTRAPS = 1000
SCALED_EVERY = 4  # a temperature costs a second training, so every fourth corpus has one


def study(
    corpora: int = CORPORA,
    images: int = IMAGES,
    *,
    file: Path = STUDY,
    first_seed: int = FIRST_SEED,
    seeds: Sequence[int] = PAPER_SEEDS,
    progress: bool = True,
) -> pd.DataFrame:
    """Measure the corpora that `file` lacks, one after the other; all its rows are returned.

    One process a file. A corpus is written when it is finished, whole, so a kill loses one at most.
    """
    done = read_study(file)
    known = set(done.loc[done["images"] == images, "corpus_seed"])
    wanted = [seed for seed in range(first_seed, first_seed + corpora) if seed not in known]
    if wanted:
        describe_record(file)
    for corpus_seed in tqdm(wanted, unit="corpus", disable=not progress):
        with config_context(
            assume_finite=True, skip_parameter_validation=True
        ):  # inputs are our own
            rows = list(measure(draw(images, corpus_seed), corpus_seed, seeds))
        new = pd.DataFrame(rows).round(6)
        done = new if done.empty else pd.concat([done, new], ignore_index=True)
        write(done, file)
        forget()
    return done


def draw(images: int, corpus_seed: int) -> PlantedCorpus:
    """A fresh embedded corpus for gender with the two captioners."""
    return planted_corpus("gender", images=images, seed=corpus_seed, captioners=(FAITHFUL, GAINED))


def measure(
    corpus: PlantedCorpus, corpus_seed: int, seeds: Sequence[int] = PAPER_SEEDS
) -> Iterator[dict]:
    """Estimate, intervals and truth of each captioner and score."""
    known: dict[tuple, Outcome] = {}  # human captions aligned to one vocabulary are trained once
    scaled = corpus_seed % SCALED_EVERY == 0
    for captioner, about in corpus.planted.items():
        sides = {side: _outcomes(corpus, captioner, side, seeds, known, scaled) for side in BOTH}
        truth, first = corpus.true_lic(captioner), sides["model"][0]
        for score in SCORES if scaled else ("plain", "unseen"):
            values = {side: _by_seed(sides[side], score, len(seeds)) for side in BOTH}
            yield {
                "images": len(corpus.labels),
                "corpus_seed": corpus_seed,
                "captioner": captioner,
                "gain": about.gain,
                "score": score,
                "true_model": truth.lic_model,
                "true_data": truth.lic_data,
                "true_lic": truth.lic,
                "lic_model": values["model"].mean(),
                "lic_data": values["human"].mean(),
                "lic": (values["model"] - values["human"]).mean(),
                "std_model": values["model"].std(ddof=1),
                "std_data": values["human"].std(ddof=1),
                "std_lic": (values["model"] - values["human"]).std(ddof=1),
                **_intervals(values, _by_image(sides) if score == "plain" else None),
                "n_seeds": len(seeds),
                "n_train": first.scores["n_train"],
                "n_test": first.scores["n_test"],
                "n_unseen": np.mean([each.scores["n_unseen"] for each in sides["model"]]),
                "code": first.run.code,
            }


def _outcomes(corpus, captioner: str, side: str, seeds, known: dict, scaled: bool) -> list[Outcome]:
    """Runs of a captioner's captions, or of the five human ones for it, by seed."""
    found = []
    for seed in seeds:
        for index in range(5 if side == "human" else 1):
            options = {"side": side, "caption_index": index, "seed": seed, "calibrated": scaled}
            run = describe(corpus, captioner, "linear", **options)
            key = (run.fingerprint, side, index, seed)
            if key not in known:
                known[key] = compute(corpus, run)
            found.append(known[key])
    return found


def image_scores(outcome: Outcome, score: str) -> pd.Series:
    """Score of each test image in percent; unseen captions only where `score` asks for them."""
    images = outcome.images
    p, y = images["p"].to_numpy(), images["y"].to_numpy()
    if score == "scaled":
        p = sigmoid(np.log(p / (1 - p)) / outcome.scores["temperature"])
    found = pd.Series(100 * caption_scores(p, y), index=images["image_id"].to_numpy())
    return found[~images["seen_masked"].to_numpy()] if score == "unseen" else found


def _by_seed(outcomes: list[Outcome], score: str, seeds: int) -> np.ndarray:
    """Score of each seed, mean over its human captions."""
    found = [image_scores(each, score).mean() for each in outcomes]
    return np.array(found).reshape(seeds, -1).mean(axis=1)


def _by_image(sides: dict[str, list[Outcome]]) -> pd.DataFrame:
    """Sum and number of the plain scores of each image that was ever tested, by side."""
    parts = {
        side: pd.concat([image_scores(each, "plain") for each in outcomes])
        .groupby(level=0)
        .agg(["sum", "count"])
        for side, outcomes in sides.items()
    }
    return pd.concat(parts, axis=1).fillna(0)


def _intervals(values: dict[str, np.ndarray], by_image: pd.DataFrame | None) -> dict[str, float]:
    """Low and high end of a 95 % interval of LIC by each method; of images where they are given."""
    difference = values["model"] - values["human"]
    alone = estimate(values["model"]).minus(estimate(values["human"]))
    found = {
        "corrected": estimate(difference).interval(),
        "uncorrected": estimate(difference, test_to_train=0.0).interval(),
        "independent": alone.interval(),
        "images": Interval(np.nan, np.nan, np.nan),
    }
    if by_image is not None:
        sums, counts = (
            by_image.xs(what, axis=1, level=1)[list(BOTH)].to_numpy("float32")
            for what in ("sum", "count")
        )
        (found["images"],) = ratio_bootstrap(sums, counts, (1, -1), draws=BOOTSTRAPS)
    return {
        f"{name}_{end}": getattr(interval, end)
        for name, interval in found.items()
        for end in ("low", "high")
    }


def forget() -> None:
    """Let go of corpora that will not come again: what runs share is kept for each of them."""
    for each in vars(material).values():
        if hasattr(each, "cache_clear"):
            each.cache_clear()


def write(frame: pd.DataFrame, file: Path) -> None:
    """Replace a record as a whole."""
    write_whole(file, frame.to_csv(index=False))


def describe_record(file: Path) -> None:
    """Say beside a record what computes it."""
    about = {
        "started": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        **provenance.commit(),
        "versions": provenance.versions(),
        "device": provenance.device(),
    }
    write_whole(file.with_suffix(".json"), json.dumps(about, indent=1) + "\n")


def read_study(file: Path = STUDY) -> pd.DataFrame:
    """Rows of a study; an empty frame where there is none."""
    if not file.exists():
        return pd.DataFrame({"images": [], "corpus_seed": []}, dtype="int64")
    frame = pd.read_csv(file, dtype={"code": "str"})
    missing = {"images", "corpus_seed", "captioner", "score", "true_lic", "lic"} - set(frame)
    if missing:
        raise RelicError(
            f"{file} lacks the columns {', '.join(sorted(missing))}",
            expected="a record that `relic calibrate` wrote",
            mend="git checkout results/calibration, or delete it and run `relic calibrate`",
        )
    return frame


def exact(hits: int, n: int, level: float = 0.95) -> Interval:
    """A share in percent with its exact interval (Clopper & Pearson 1934).

    >>> [round(value, 1) for value in exact(0, 10)]  # high: 1 - 0.025 ** (1 / 10)
    [0.0, 0.0, 30.8]
    """
    low, high = proportion_confint(hits, n, alpha=1 - level, method="beta")
    return Interval(100 * hits / n, 100 * float(low), 100 * float(high))


def rates(frame: pd.DataFrame) -> pd.DataFrame:
    """How often each interval is right, by size, captioner and score: shares with exact intervals.

    `covers truth`: the true LIC is inside. `covers mean`: the mean estimate over all corpora is,
    that is, what the metric finds on average, right or wrong. `above 0`: the interval lies above
    0, which the rule calls supported; nominal 2.5 % for a captioner without gain.
    """
    rows = []
    for (images, captioner, score), part in frame.groupby(
        ["images", "captioner", "score"], sort=False
    ):
        mean, n = part["lic"].mean(), len(part)
        for method in METHODS:
            ends = part[["lic", f"{method}_low", f"{method}_high"]].dropna()
            if ends.empty:  # images are drawn for the plain score only
                continue
            low, high = ends.iloc[:, 1], ends.iloc[:, 2]
            verdicts = [judge(Interval(*each), 0) for each in ends.itertuples(index=False)]
            counts = {
                "covers truth": int(part["true_lic"].between(low, high).sum()),
                "covers mean": int(((low <= mean) & (mean <= high)).sum()),
                "above 0": verdicts.count(SUPPORTED),
            }
            row = {
                "images": images,
                "captioner": captioner,
                "gain": part["gain"].iloc[0],
                "score": score,
                "method": method,
                "corpora": n,
                "width": float((high - low).mean()),
            }
            for name, hits in counts.items():
                share = exact(hits, n)
                row |= {name: share.mean, f"{name}, low": share.low, f"{name}, high": share.high}
            rows.append(row)
    return pd.DataFrame(rows)


def biases(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean estimate less true LIC over corpora with its 95 % interval, and the same of its parts."""
    rows = []
    for (images, captioner, score), part in frame.groupby(
        ["images", "captioner", "score"], sort=False
    ):
        bias = estimate(part["lic"] - part["true_lic"], test_to_train=0.0).interval()
        rows.append(
            {
                "images": images,
                "captioner": captioner,
                "gain": part["gain"].iloc[0],
                "score": score,
                "corpora": len(part),
                "n_test": float(part["n_test"].mean()),
                "true LIC": part["true_lic"].iloc[0],
                "mean LIC": part["lic"].mean(),
                "spread": part["lic"].std(ddof=1),
                "bias": bias.mean,
                "bias, low": bias.low,
                "bias, high": bias.high,
                "bias of LIC_M": (part["lic_model"] - part["true_model"]).mean(),
                "bias of LIC_D": (part["lic_data"] - part["true_data"]).mean(),
            }
        )
    return pd.DataFrame(rows)
