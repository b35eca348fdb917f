"""Where is LIC biased, in which direction, and how much? Measured against the known true LIC.

A classifier is trained on the training side of an embedded (synthetic) corpus, as in any run, and
scored on a fresh draw of the same process: the expectation of a test score, with less noise than a
tenth of the corpus would give. A row a setting, corpus and score in `results/calibration/grid.csv`.
"""

from collections.abc import Iterable
from dataclasses import asdict, astuple, dataclass, fields, replace

import numpy as np
import pandas as pd
from scipy.special import expit

from relic.chapters.calibration.record import extend
from relic.data.planted import PlantedCaptioner, PlantedCorpus, planted_corpus
from relic.judge.lic import lic_table
from relic.judge.stats import estimate
from relic.measure.classifiers.base import classifier_type
from relic.measure.inputs import prepare
from relic.measure.runs import Run, describe, fit, held_out_temperature
from relic.measure.score import lic_score

FRESH = 6000  # images of the draw that tests
FIRST_SEED, FRESH_SEED = 5000, 60_000
CORPORA = 4
SHARPNESS = {
    "x0.25": 0.25,
    "x0.5": 0.5,
    "plain": 1.0,
    "x2": 2.0,
    "x4": 4.0,
}  # logits are multiplied


@dataclass(frozen=True)
class Setting:
    """A corpus, a captioner and a classifier: what LIC may depend on."""

    gain: float = 1.0
    images: int = 4000
    stock: float = 0.7  # share of captions in stock form, which recur word for word
    vocabulary: float = 0.75  # share of the phrases that the captioner has words for
    classifier: str = "linear"
    recipe: str = ""


BASE = Setting(recipe="C=0.1")
FACTORS: dict[str, tuple] = {
    "gain": (-1.0, 0.0, 0.5, 1.0, 1.5, 2.0),
    "images": (500, 1000, 2000, 4000, 8000, 16_000, 50_000),
    "stock": (0.0, 0.4, 0.7, 0.95),
    "vocabulary": (0.3, 0.5, 0.75, 1.0),
    "recipe": ("C=0.01", "C=0.1", "C=1", "C=10"),
}
CLASSIFIER_IMAGES = 2000  # small, so that an LSTM trains in a minute or two on a CPU
CLASSIFIERS = {"linear": CORPORA, "bert-pre": CORPORA, "lstm": 1, "bert-ft": 1}  # corpora each
KEYS = [field.name for field in fields(Setting)]
GAINS = [0.0, 1.0]  # of every setting but those that vary the gain


def settings() -> list[Setting]:
    """One factor at a time from the base, each without gain and with gain 1."""
    found = [replace(BASE, gain=gain) for gain in FACTORS["gain"]]
    for factor, levels in FACTORS.items():
        for level in levels if factor != "gain" else ():
            found += [replace(BASE, gain=gain, **{factor: level}) for gain in GAINS]
    return list(dict.fromkeys(found))


def classifier_settings(name: str, images: int = CLASSIFIER_IMAGES) -> list[Setting]:
    """The base at another size with another classifier, its first recipe."""
    recipe = classifier_type(name).recipes[0]
    return [Setting(gain, images, classifier=name, recipe=recipe) for gain in GAINS]


def grid(wanted: Iterable[Setting], corpora: int = CORPORA) -> pd.DataFrame:
    """Measure what the record lacks of these settings; all its rows are returned."""
    known: dict[tuple, dict] = {}
    return extend(
        "grid",
        [*KEYS, "corpus_seed"],
        [(*astuple(each), FIRST_SEED + number) for each in wanted for number in range(corpora)],
        lambda *values: measure(Setting(*values[:-1]), values[-1], known=known),
    )


def measure(
    setting: Setting, corpus_seed: int, fresh: int = FRESH, known: dict | None = None
) -> pd.DataFrame:
    """LIC_M, LIC_D and LIC by each score beside the true ones.

    `known` keeps what was measured: captioners that differ in gain alone share their human captions.
    """
    known = {} if known is None else known
    about = PlantedCaptioner(
        "planted", "Planted", setting.gain, stock=setting.stock, vocabulary=setting.vocabulary
    )
    corpus, other = (
        planted_corpus("gender", images=n, seed=seed, captioners=(about,))
        for n, seed in ((setting.images, corpus_seed), (fresh, FRESH_SEED + corpus_seed))
    )
    truth, sides = corpus.true_lic("planted"), {}
    for side in ("model", "human"):
        options = {"side": side, "recipe": setting.recipe}
        run = describe(corpus, "planted", setting.classifier, **options)
        key = (run.classifier, run.recipe, side, run.fingerprint, corpus_seed, fresh)
        if key not in known:
            known[key] = _scores(corpus, other, run)
        sides[side] = known[key] | {"run": asdict(run)}
    return pd.DataFrame(
        {
            **asdict(setting),
            "corpus_seed": corpus_seed,
            "score": score,
            "true_model": truth.lic_model,
            "true_data": truth.lic_data,
            "true_lic": truth.lic,
            **_lic(sides, score),
            "temperature_model": sides["model"]["temperature"],
            "temperature_data": sides["human"]["temperature"],
            "seen_model": sides["model"]["seen"],
            "seen_data": sides["human"]["seen"],
            "n_train": sides["model"]["n_train"],
            "n_test": sides["model"]["n_test"],
        }
        for score in sides["model"]["scores"]
    )


def _scores(corpus: PlantedCorpus, fresh: PlantedCorpus, run: Run) -> dict:
    """Train on one corpus, score on all balanced images of the other, plain and otherwise."""
    model, here = fit(corpus, run)
    form = classifier_type(run.classifier).text_form
    there = prepare(fresh, run.reading, form, policy=run.split, seed=run.seed)
    texts = there.train + there.test
    classes = np.concatenate([there.train_classes, there.images["y"]])
    logits, temperature = model.logits(texts), held_out_temperature(run, here)
    factors = SHARPNESS | {"scaled": 1 / temperature}
    known = set(here.train)
    return {
        "scores": {name: lic_score(expit(logits * k), classes) for name, k in factors.items()},
        "temperature": temperature,
        "seen": 100 * float(np.mean([text in known for text in texts])),
        "n_train": len(here.train),
        "n_test": len(texts),
    }


def _lic(sides: dict[str, dict], score: str) -> dict[str, float]:
    """LIC_M, LIC_D and LIC of the two sides by one score."""
    rows = [each["run"] | {"score": each["scores"][score], "n_test": each["n_test"]} for each in sides.values()]  # fmt: skip
    return lic_table(pd.DataFrame(rows))[["lic_model", "lic_data", "lic"]].iloc[0].to_dict()


def factor_table(grid: pd.DataFrame, factor: str, score: str = "plain") -> pd.DataFrame:
    """Bias by level of one factor, all others at the base, without gain and with gain 1."""
    part = _at_base(grid, varying=factor)
    part = part if factor == "gain" else part[part["gain"].isin(GAINS)]
    return bias_table(part[part["score"] == score], list(dict.fromkeys([factor, "gain"])))


def confidence_table(grid: pd.DataFrame) -> pd.DataFrame:
    """Bias when the same classifiers speak less or more surely, from unsure to sure."""
    part = _at_base(grid, varying="gain")
    part = part[part["gain"].isin(GAINS) & part["score"].isin(list(SHARPNESS))]
    order = pd.Categorical(part["score"], list(SHARPNESS), ordered=True)
    return bias_table(part.assign(score=order), ["gain", "score"])


def classifier_table(
    grid: pd.DataFrame, score: str = "plain", images: int = CLASSIFIER_IMAGES
) -> pd.DataFrame:
    """Bias of each classifier with its first recipe, on corpora of one size."""
    wanted = [s for name in CLASSIFIERS for s in classifier_settings(name, images)]
    rows = grid[KEYS].apply(tuple, axis=1).isin([astuple(each) for each in wanted])
    return bias_table(grid[rows & (grid["score"] == score)], ["classifier", "gain"])


def _at_base(grid: pd.DataFrame, varying: str) -> pd.DataFrame:
    fixed = [key for key in KEYS if key not in (varying, "gain")]
    return grid[(grid[fixed] == [asdict(BASE)[key] for key in fixed]).all(axis=1)]


def bias_table(part: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Mean LIC, true LIC and the bias of LIC and its parts; intervals over corpora, if several."""
    rows = []
    for values, group in part.groupby(by, sort=True, observed=True):
        bias = estimate(group["lic"] - group["true_lic"], test_to_train=0.0).interval()
        rows.append(
            {
                **dict(zip(by, values, strict=True)),
                "corpora": len(group),
                "training captions": round(group["n_train"].mean()),
                "true LIC": group["true_lic"].mean(),
                "LIC": group["lic"].mean(),
                "bias": bias.mean,
                "low": bias.low,
                "high": bias.high,
                "bias of LIC_M": (group["lic_model"] - group["true_model"]).mean(),
                "bias of LIC_D": (group["lic_data"] - group["true_data"]).mean(),
            }
        )
    return pd.DataFrame(rows)
