"""Where is LIC biased, in which direction, and how much? Measured against the known true LIC.

A classifier is trained on the training side of an embedded (synthetic) corpus, as in any run, and
scored on a fresh draw of the same process: the expectation of a test score, with less noise than a
tenth of the corpus would give. A row a setting, corpus and score in `results/calibration/grid.csv`.

A wordy captioner says several *sentences* of an image, each as its gain would have it, or *fillers*
that tell nothing. Sentence by sentence its true LIC is that of the gain; a perfect classifier that
reads all sentences knows more than from one human caption, though nothing was amplified.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, astuple, dataclass, fields, replace
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
from scipy.special import expit

from relic.chapters.calibration.record import extend
from relic.chapters.learning.fits import Rows, halves, texts
from relic.chapters.learning.scores import PARTS
from relic.chapters.learning.sensitivity import AS_WRITTEN, SAME, cut
from relic.data.planted import PlantedCaptioner, PlantedCorpus, planted_corpus
from relic.data.planted.process import channel
from relic.judge.lic import lic_table
from relic.judge.stats import estimate
from relic.measure.classifiers.base import classifier_type
from relic.measure.inputs import prepare
from relic.measure.runs import Run, describe, fit, held_out_temperature
from relic.measure.score import lic_score

FRESH = 6000  # images of the draw that tests
FIRST_SEED, FRESH_SEED = 5000, 60_000
CORPORA = 4
SHARPNESS = {"x0.25": 0.25, "x0.5": 0.5, "plain": 1.0, "x2": 2.0, "x4": 4.0}  # of the logits


@dataclass(frozen=True)
class Setting:
    """A corpus, a captioner and a classifier: what LIC may depend on."""

    gain: float = 1.0
    images: int = 4000
    stock: float = 0.7  # share of captions in stock form, which recur word for word
    vocabulary: float = 0.75  # share of the phrases that the captioner has words for
    classifier: str = "linear"
    recipe: str = ""
    sentences: int = 1
    fillers: int = 0
    length: str = AS_WRITTEN  # or the same: an image's two captions end where the shorter does


BASE = Setting(recipe="C=0.1")
FACTORS: dict[str, tuple] = {
    "gain": (-1.0, 0.0, 0.5, 1.0, 1.5, 2.0),
    "images": (500, 1000, 2000, 4000, 8000, 16_000, 50_000),
    "stock": (0.0, 0.4, 0.7, 0.95),
    "vocabulary": (0.3, 0.5, 0.75, 1.0),
    "recipe": ("C=0.01", "C=0.1", "C=1", "C=10"),
    "sentences": (1, 2, 3),
    "fillers": (0, 3, 6),
}
CLASSIFIER_IMAGES = 2000  # small, so that an LSTM trains in a minute or two on a CPU
CLASSIFIERS = {"linear": CORPORA, "bert-pre": CORPORA, "lstm": 1, "bert-ft": 1}  # corpora each
KEYS = [field.name for field in fields(Setting)]
GAINS = [0.0, 1.0]  # of every setting but those that vary the gain
LENGTH = ["sentences", "fillers"]  # also measured at the same length


def settings() -> list[Setting]:
    """One factor at a time from the base, each without gain and with gain 1."""
    found = [replace(BASE, gain=gain) for gain in FACTORS["gain"]]
    for factor, levels in FACTORS.items():
        for level, gain in product(levels, GAINS) if factor != "gain" else ():
            one = replace(BASE, gain=gain, **{factor: level})
            found += [one, replace(one, length=SAME)] if factor in LENGTH else [one]
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
    drawn = {name: getattr(setting, name) for name in ("gain", "stock", "vocabulary", *LENGTH)}
    about = PlantedCaptioner("planted", "Planted", **drawn)
    corpus, other = (
        planted_corpus("gender", images=n, seed=seed, captioners=(about,))
        for n, seed in ((setting.images, corpus_seed), (fresh, FRESH_SEED + corpus_seed))
    )
    truth, sides = corpus.true_lic("planted"), []
    for side in ("model", "human"):
        run = describe(corpus, "planted", setting.classifier, side=side, recipe=setting.recipe)
        key = (run.classifier, run.recipe, side, run.fingerprint, corpus_seed, fresh)
        if setting.length == SAME:
            found = _cut_scores(corpus, other, side)
        else:
            found = known[key] = known.get(key) or _scores(corpus, other, run)
        sides += [{**asdict(run), "score_of": name, **row} for name, row in found.items()]
    rows = pd.DataFrame(sides)
    parts = rows.groupby("score_of", sort=False)
    found = pd.concat([lic_table(part).assign(score=name) for name, part in parts])
    true = {"true_model": truth.lic_model, "true_data": truth.lic_data, "true_lic": truth.lic}
    about = {**asdict(setting), "corpus_seed": corpus_seed, "n_train": rows["n_train"].iloc[0]}
    return found[["score", *PARTS]].assign(**about, **true)


def _scores(corpus: PlantedCorpus, fresh: PlantedCorpus, run: Run) -> dict[str, dict]:
    """Train on one corpus, score on all balanced images of the other, plain and otherwise."""
    model, here = fit(corpus, run)
    form = classifier_type(run.classifier).text_form
    there = prepare(fresh, run.reading, form, policy=run.split, seed=run.seed)
    classes = np.concatenate([there.train_classes, there.images["y"]])
    logits = model.logits(there.train + there.test)
    factors = SHARPNESS | {"scaled": 1 / held_out_temperature(run, here)}
    about = {"n_train": len(here.train), "n_test": len(classes)}
    return {n: about | {"score": lic_score(expit(logits * k), classes)} for n, k in factors.items()}


def _cut_scores(corpus: PlantedCorpus, fresh: PlantedCorpus, side: str) -> dict[str, dict]:
    """The plain score of the linear classifier where an image's two captions are as long."""
    train, test = halves(corpus, "planted", 0)[0], pd.concat(halves(fresh, "planted", 0))
    here, there = (
        getattr(cut(texts(each, "planted", indices=[0])), side)[0] for each in (corpus, fresh)
    )
    rows = Rows(pd.concat([here[train.index], there[test.index]]))
    learned, tested = np.split(np.arange(len(train) + len(test)), [len(train)])
    (p,) = rows.guesses(learned, train.to_numpy(), tested)
    about = {"n_train": len(train), "n_test": len(test)}
    return {"plain": about | {"score": lic_score(p, test.to_numpy())}}


@cache
def whole_bayes(gain: float, sentences: int, words: frozenset[str]) -> float:
    """`bayes_score` of a gender caption of several sentences about one image, by enumeration.

    Given the image's hidden kind the sentences are independent; their order tells nothing.
    """
    source, kinds = channel("gender"), channel("gender").kind_probabilities()
    phrases, total = source.phrase_probabilities(gain), defaultdict(lambda: np.zeros(2))
    for k, row in enumerate(source.phrases):
        said = defaultdict(lambda: np.zeros(2))
        for p, phrase in enumerate(row):
            for place, share in ((source.places[k], source.presence), ("", 1 - source.presence)):
                known = [w if w in words else "" for w in f"{phrase} | {place}".split()]
                said[" ".join(known)] += phrases[:, k, p] * share
        for each in product(said.items(), repeat=sentences):
            texts_said, chances = zip(*each, strict=True)
            total[tuple(sorted(texts_said))] += kinds[:, k] * np.prod(chances, axis=0)
    table = np.array(list(total.values()))
    return float(100 * (table.mean(axis=1) * (table.max(axis=1) / table.sum(axis=1)) ** 2).sum())


def factor_table(grid: pd.DataFrame, factor: str, score: str = "plain") -> pd.DataFrame:
    """Bias by level of one factor, all others at the base, without gain and with gain 1."""
    part = _at_base(grid, factor)
    part = part if factor == "gain" else part[part["gain"].isin(GAINS)]
    return bias_table(part[part["score"] == score], list(dict.fromkeys([factor, "gain"])))


def length_table(grid: pd.DataFrame) -> pd.DataFrame:
    """LIC of wordy captioners, as written and at the same length, beside the true LIC."""
    part = _at_base(grid, *LENGTH, "length")
    part = part[part["gain"].isin(GAINS) & (part["score"] == "plain")]
    table = bias_table(part, ["gain", *LENGTH, "length"])
    words = frozenset(planted_corpus("gender", images=100).vocabularies["planted_none"])
    pairs = zip(table["gain"], table["sentences"], strict=True)
    table["true LIC of the whole text"] = [whole_bayes(*p, words) for p in pairs]
    table["true LIC of the whole text"] -= whole_bayes(0.0, 1, words)
    shown = ["LIC", "low", "high", "true LIC", "true LIC of the whole text", "corpora"]
    table[["low", "high"]] = table[["low", "high"]].add(table["true LIC"], axis=0)  # of LIC
    return table[["gain", *LENGTH, "length", *shown]]


def confidence_table(grid: pd.DataFrame) -> pd.DataFrame:
    """Bias when the same classifiers speak less or more surely, from unsure to sure."""
    part = _at_base(grid)
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


def _at_base(grid: pd.DataFrame, *varying: str) -> pd.DataFrame:
    fixed = [key for key in KEYS if key not in (*varying, "gain")]
    return grid[(grid[fixed] == [asdict(BASE)[key] for key in fixed]).all(axis=1)]


def bias_table(part: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Mean LIC, true LIC and the bias of LIC and its parts; intervals over corpora, if several."""
    for name in ("model", "data"):
        part = part.assign(**{f"bias_{name}": part[f"lic_{name}"] - part[f"true_{name}"]})
    part = part.assign(bias=part["lic"] - part["true_lic"])
    groups = part.groupby(by, sort=True, observed=True)
    means = ["n_train", "true_lic", "lic", "bias", "bias_model", "bias_data"]
    table = groups["corpus_seed"].size().to_frame("corpora").join(groups[means].mean())
    spans = {at: estimate(each, shared=0).interval() for at, each in groups["bias"]}
    table.insert(5, "low", [spans[at].low for at in spans])
    table.insert(6, "high", [spans[at].high for at in spans])
    table["n_train"] = table["n_train"].round().astype(int)
    names = ["training captions", "true LIC", "LIC", "bias", "bias of LIC_M", "bias of LIC_D"]
    return table.rename(columns=dict(zip(means, names, strict=True))).reset_index()
