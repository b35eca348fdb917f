"""Where is LIC biased, in which direction, and how much? Measured against the known true LIC.

A classifier is trained on the training side of an embedded (synthetic) corpus, as in any run, and
scored on a fresh draw of the same process: the expectation of a test score, with less noise than a
tenth of the corpus would give. A row a setting, corpus and score; `results/calibration/grid.csv`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from relic.calibration.study import DIRECTORY, describe_record, forget, write
from relic.classifiers.base import classifier, classifier_type
from relic.local import BOTH
from relic.material import Material, prepare
from relic.planted import PlantedCaptioner, PlantedCorpus, planted_corpus
from relic.runs import Run, describe, held_out_temperature
from relic.score import lic_score, sigmoid
from relic.stats import estimate

GRID = DIRECTORY / "grid.csv"
FRESH = 6000  # images of the draw that tests
FIRST_SEED, FRESH_SEED = 5000, 60_000
CORPORA = 4
SHARPNESS = (0.25, 0.5, 2.0, 4.0)  # logits are multiplied: below 1 less sure, above 1 surer
SHARPER = ("x0.25", "x0.5", "plain", "x2", "x4")  # as scores, from unsure to sure


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


def settings() -> list[Setting]:
    """One factor at a time from the base, each without gain and with gain 1."""
    found = [replace(BASE, gain=gain) for gain in FACTORS["gain"]]
    for factor, levels in FACTORS.items():
        for level in levels if factor != "gain" else ():
            found += [replace(BASE, gain=gain, **{factor: level}) for gain in (0.0, 1.0)]
    return list(dict.fromkeys(found))


def classifier_settings(name: str, images: int = CLASSIFIER_IMAGES) -> list[Setting]:
    """The base at another size with another classifier, its first recipe."""
    recipe = classifier_type(name).recipes[0]
    return [Setting(gain, images, classifier=name, recipe=recipe) for gain in (0.0, 1.0)]


def compute_grid(
    wanted: Iterable[Setting], corpora: int = CORPORA, *, file: Path = GRID, progress: bool = True
) -> pd.DataFrame:
    """Measure what `file` lacks; all its rows are returned. Each setting is written when finished."""
    done = read_grid(file)
    there = set(done[[*KEYS, "corpus_seed"]].itertuples(index=False, name=None))
    pairs = [(setting, FIRST_SEED + i) for setting in wanted for i in range(corpora)]
    todo = [(s, seed) for s, seed in pairs if (*asdict(s).values(), seed) not in there]
    if todo:
        describe_record(file)
    known: dict[tuple, dict] = {}
    for setting, seed in tqdm(todo, unit="setting", disable=not progress):
        new = pd.DataFrame(measure(setting, seed, known=known)).round(6)
        done = new if done.empty else pd.concat([done, new], ignore_index=True)
        write(done, file)
        forget()
    return done


def read_grid(file: Path = GRID) -> pd.DataFrame:
    """Rows of a grid; an empty frame where there is none."""
    if not file.exists():
        return pd.DataFrame(columns=[*KEYS, "corpus_seed"])
    return pd.read_csv(file)


def measure(
    setting: Setting, corpus_seed: int, fresh: int = FRESH, known: dict | None = None
) -> Iterator[dict]:
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
    truth, found = corpus.true_lic("planted"), {}
    for side in BOTH:
        options = {"side": side, "recipe": setting.recipe}
        run = describe(corpus, "planted", setting.classifier, **options)
        key = (run.classifier, run.recipe, side, run.fingerprint, corpus_seed, fresh)
        if key not in known:
            known[key] = _scores(corpus, other, run)
        found[side] = known[key]
    for score in found["model"]["scores"]:
        model, data = (found[side]["scores"][score] for side in BOTH)
        yield {
            **asdict(setting),
            "corpus_seed": corpus_seed,
            "score": score,
            "true_model": truth.lic_model,
            "true_data": truth.lic_data,
            "true_lic": truth.lic,
            "lic_model": model,
            "lic_data": data,
            "lic": model - data,
            "temperature_model": found["model"]["temperature"],
            "temperature_data": found["human"]["temperature"],
            "seen_model": found["model"]["seen"],
            "seen_data": found["human"]["seen"],
            "n_train": found["model"]["n_train"],
            "n_test": found["model"]["n_test"],
        }


def _scores(corpus: PlantedCorpus, fresh: PlantedCorpus, run: Run) -> dict:
    """Train on one corpus, score on all balanced images of the other, plain and otherwise."""
    form = classifier_type(run.classifier).text_form
    here, there = (
        prepare(each, run.reading, form, policy=run.split, seed=run.seed)
        for each in (corpus, fresh)
    )
    options = {"recipe": run.recipe, "batching": run.batching, "encoder": run.encoder}
    model = classifier(run.classifier, **options).fit(here.train, here.train_classes, run.seed)
    texts, classes = there.train + there.test, _classes(there)
    logits, temperature = model.logits(texts), held_out_temperature(run, here)
    factors = {"plain": 1.0, "scaled": 1 / temperature} | {f"x{k:g}": k for k in SHARPNESS}
    known = set(here.train)
    return {
        "scores": {name: lic_score(sigmoid(logits * k), classes) for name, k in factors.items()},
        "temperature": temperature,
        "seen": 100 * float(np.mean([text in known for text in texts])),
        "n_train": len(here.train),
        "n_test": len(texts),
    }


def _classes(material: Material) -> np.ndarray:
    return np.concatenate([material.train_classes, material.images["y"].to_numpy()])


def factor_table(
    grid: pd.DataFrame, factor: str, scores: Iterable[str] = ("plain", "scaled")
) -> pd.DataFrame:
    """Bias by level of one factor, all others at the base: mean over corpora with its interval."""
    rest = [key for key in KEYS if key not in (factor, "gain")]
    at_base = (grid[rest] == [asdict(BASE)[key] for key in rest]).all(axis=1)
    part = grid[at_base & grid["score"].isin(list(scores))]
    if factor != "gain":
        part = part[part["gain"].isin([0.0, 1.0])]
    return bias_table(part, list(dict.fromkeys([factor, "gain", "score"])))


def ordered(table: pd.DataFrame) -> pd.DataFrame:
    """Rows from unsure to sure."""
    rank = table["score"].map({score: place for place, score in enumerate(SHARPER)})
    return table.assign(rank=rank).sort_values(["gain", "rank"]).drop(columns="rank")


def classifier_table(grid: pd.DataFrame, images: int = CLASSIFIER_IMAGES) -> pd.DataFrame:
    """Bias of each classifier, plain and temperature-scaled, on corpora of one size."""
    base = asdict(BASE)
    same = (grid[["stock", "vocabulary"]] == [base["stock"], base["vocabulary"]]).all(axis=1)
    part = grid[same & (grid["images"] == images) & grid["gain"].isin([0.0, 1.0])]
    part = part[(part["classifier"] != "linear") | (part["recipe"] == base["recipe"])]
    return bias_table(
        part[part["score"].isin(["plain", "scaled"])], ["classifier", "gain", "score"]
    )


def bias_table(part: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Mean LIC, true LIC and the bias of LIC and its parts; intervals over corpora, if several."""
    rows = []
    for values, group in part.groupby(by, sort=True):
        low, high = estimate(group["lic"] - group["true_lic"], test_to_train=0.0).interval()[1:]
        rows.append(
            {
                **dict(zip(by, values, strict=True)),
                "corpora": len(group),
                "n_train": round(group["n_train"].mean()),
                "true LIC": group["true_lic"].mean(),
                "LIC": group["lic"].mean(),
                "bias": (group["lic"] - group["true_lic"]).mean(),
                "bias, low": low,
                "bias, high": high,
                "bias of LIC_M": (group["lic_model"] - group["true_model"]).mean(),
                "bias of LIC_D": (group["lic_data"] - group["true_data"]).mean(),
                "seen captions (%)": group["seen_model"].mean(),
            }
        )
    return pd.DataFrame(rows)
