"""Where is LIC biased, in which direction, and how much? Measured against the known true LIC.

A classifier is trained on the training side of an embedded (synthetic) corpus, as in any run, and
scored on a fresh draw of the same process: the expectation of a test score, with less noise than a
tenth of the corpus would give. A row a setting, corpus and score in `results/calibration/grid.csv`.

A wordy captioner says several *sentences* of an image, each as its gain would have it, or *fillers*
that tell nothing. Sentence by sentence its true LIC is that of the gain; a perfect classifier that
reads all sentences knows more than from one human caption, though nothing was amplified.
"""

from collections import defaultdict
from functools import cache, partial
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit

from relic.chapters.learning.fits import Rows, halves, texts
from relic.chapters.learning.scores import PARTS
from relic.chapters.learning.sensitivity import AS_WRITTEN, SAME, cut
from relic.data.planted import PlantedCaptioner, PlantedCorpus, channel, planted_corpus
from relic.errors import RelicError
from relic.judge.lic import lic_table
from relic.judge.stats import estimate
from relic.measure.classifiers.base import RECIPES
from relic.measure.runs import Run, describe, fit, held_out_temperature, prepare
from relic.measure.score import lic_score

FRESH = 6000  # images of the draw that tests
FRESH_SEED = 60_000  # more than the seed of the corpus
SHARPNESS = {"x0.25": 0.25, "x0.5": 0.5, "plain": 1.0, "x2": 2.0, "x4": 4.0}  # of the logits


class Setting(NamedTuple):
    """A corpus, a captioner and a classifier: what LIC may depend on."""

    gain: float = 1.0
    images: int = 4000
    stock: float = 0.7  # share of captions in stock form, which recur word for word
    vocabulary: float = 0.75  # share of the phrases that the captioner has words for
    classifier: str = "linear"
    recipe: str = "C=0.1"
    sentences: int = 1
    fillers: int = 0
    length: str = AS_WRITTEN  # or the same: an image's two captions end where the shorter does
    corpus_seed: int = 5000


BASE = Setting()
FACTORS: dict[str, tuple] = {
    "gain": (-1.0, 0.0, 0.5, 1.0, 1.5, 2.0),
    "images": (500, 1000, 2000, 4000, 8000, 16_000, 50_000),
    "stock": (0.0, 0.4, 0.7, 0.95),
    "vocabulary": (0.3, 0.5, 0.75, 1.0),
    "recipe": ("C=0.01", "C=0.1", "C=1", "C=10"),
    "sentences": (1, 2, 3),
    "fillers": (0, 3, 6),
}
CORPORA = 4  # of a setting
CLASSIFIER_IMAGES = 2000  # small, so that an LSTM trains in a minute or two on a CPU
CLASSIFIERS = {"linear": CORPORA, "bert-pre": CORPORA, "lstm": 1, "bert-ft": 1}  # corpora each
GAINS = [0.0, 1.0]  # of every setting but those that vary the gain
LENGTH = ["sentences", "fillers"]  # also measured at the same length


def settings() -> list[Setting]:
    """One factor at a time from the base, each without gain and with gain 1."""
    found = [BASE._replace(gain=gain) for gain in FACTORS["gain"]]
    for factor, levels in list(FACTORS.items())[1:]:
        for level, gain in product(levels, GAINS):
            one = BASE._replace(**{"gain": gain, factor: level})
            found += [one, one._replace(length=SAME)] if factor in LENGTH else [one]
    return list(dict.fromkeys(found))


def wanted(corpora: int = 0, images: int = 0, classifier: str = "") -> list[Setting]:
    """All settings, and every classifier with its first recipe, or one alone; each on several corpora."""
    if classifier and classifier not in CLASSIFIERS:
        raise RelicError(f"classifier {classifier!r}", expected=", ".join(CLASSIFIERS))
    counts = {} if classifier else dict.fromkeys(settings(), corpora or CORPORA)
    for name, gain in product([classifier] if classifier else CLASSIFIERS, GAINS):
        base = BASE._replace(classifier=name, recipe=RECIPES[name], gain=gain)
        counts[base._replace(images=images or CLASSIFIER_IMAGES)] = corpora or CLASSIFIERS[name]
    seed = BASE.corpus_seed
    return [s._replace(corpus_seed=seed + k) for s, n in counts.items() for k in range(n)]


def measure(*values, fresh: int = FRESH) -> pd.DataFrame:
    """LIC_M, LIC_D and LIC of a `Setting`, by each score, beside the true ones."""
    setting = Setting(*values)
    drawn = {name: getattr(setting, name) for name in ("gain", "stock", "vocabulary", *LENGTH)}
    captioners = (PlantedCaptioner("planted", "Planted", **drawn),)
    draw, seed = partial(planted_corpus, "gender", captioners=captioners), setting.corpus_seed
    corpus = draw(images=setting.images, seed=seed)
    other = draw(images=fresh, seed=FRESH_SEED + seed)
    scores, rows = _cut_scores if setting.length == SAME else _scores, []
    for side in ("model", "human"):
        run = describe(corpus, "planted", setting.classifier, side=side, recipe=setting.recipe)
        rows += [vars(run) | row for row in scores(corpus, other, run)]
    frame = pd.DataFrame(rows)
    tables = [lic_table(part).assign(score=name) for name, part in frame.groupby("by", sort=False)]
    truth = corpus.true_lic("planted")
    true = {"true_model": truth.lic_model, "true_data": truth.lic_data, "true_lic": truth.lic}
    about = setting._asdict() | {"n_train": rows[0]["n_train"]}
    return pd.concat(tables)[["score", *PARTS]].assign(**about, **true)


def _scores(corpus: PlantedCorpus, fresh: PlantedCorpus, run: Run) -> list[dict]:
    """Train on one corpus, score on all balanced images of the other, plain and otherwise."""
    model, here = fit(corpus, run)
    there = prepare(fresh, run)
    classes = np.concatenate([there.train_classes, there.images["y"]])
    logits = model.logits(there.train + there.test)
    factors = SHARPNESS | {"scaled": 1 / held_out_temperature(run, here)}
    scores = {name: lic_score(expit(logits * k), classes) for name, k in factors.items()}
    sizes = {"n_train": len(here.train), "n_test": len(classes)}
    return [{"by": name, "score": score, **sizes} for name, score in scores.items()]


def _cut_scores(corpus: PlantedCorpus, fresh: PlantedCorpus, run: Run) -> list[dict]:
    """The plain score of the linear classifier where an image's two captions are as long."""
    said = [getattr(cut(texts(c, "planted", indices=[0])), run.side)[0] for c in (corpus, fresh)]
    train = pd.concat({0: halves(corpus, "planted", 0)[0]})  # by corpus: both number their images
    test = pd.concat({1: pd.concat(halves(fresh, "planted", 0))})
    (p,) = Rows(pd.concat(said, keys=[0, 1])).guesses(train, test.index)
    sizes = {"n_train": len(train), "n_test": len(test)}
    return [{"by": "plain", "score": lic_score(p, test.to_numpy()), **sizes}]


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


def at_base(grid: pd.DataFrame, *varying: str) -> pd.DataFrame:
    """Rows that differ from the base only in what varies, without gain and with gain 1."""
    fixed = [key for key in Setting._fields if key not in (*varying, "gain", "corpus_seed")]
    kept = (grid[fixed] == [getattr(BASE, key) for key in fixed]).all(axis=1)
    return grid[kept if "gain" in varying else kept & grid["gain"].isin(GAINS)]


def bias_table(part: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Mean LIC, true LIC and the bias of LIC and its parts; intervals over corpora, if several."""
    part = part.assign(
        bias=part["lic"] - part["true_lic"],
        bias_model=part["lic_model"] - part["true_model"],
        bias_data=part["lic_data"] - part["true_data"],
    )
    columns = {
        "corpora": ("corpus_seed", "size"),
        "training captions": ("n_train", lambda each: round(each.mean())),
        "true LIC": ("true_lic", "mean"),
        "LIC": ("lic", "mean"),
        "bias": ("bias", "mean"),
        "low": ("bias", lambda each: estimate(each, shared=0).interval().low),
        "high": ("bias", lambda each: estimate(each, shared=0).interval().high),
        "bias of LIC_M": ("bias_model", "mean"),
        "bias of LIC_D": ("bias_data", "mean"),
    }
    return part.groupby(by, observed=True).agg(**columns).reset_index()


def length_table(grid: pd.DataFrame) -> pd.DataFrame:
    """LIC of wordy captioners, as written and at the same length, beside the true LIC."""
    part, by = at_base(grid, *LENGTH, "length"), ["gain", *LENGTH, "length"]
    table = bias_table(part[part["score"] == "plain"], by)
    words = frozenset(planted_corpus("gender", images=100).vocabularies["planted_none"])
    pairs = zip(table["gain"], table["sentences"], strict=True)
    whole = np.array([whole_bayes(*pair, words) for pair in pairs]) - whole_bayes(0.0, 1, words)
    table["true LIC of the whole text"] = whole
    table[["low", "high"]] = table[["low", "high"]].add(table["true LIC"], axis=0)  # of LIC
    shown = ["LIC", "low", "high", "true LIC", "true LIC of the whole text", "corpora"]
    return table[[*by, *shown]]
