"""Where is LIC biased, in which direction, and how much? Measured against the known true LIC.

A classifier is trained on the training side of an embedded (synthetic) corpus, as in any run, and
scored on a fresh draw of the same process: the expectation of a test score, with less noise than a
tenth of the corpus would give. A row a setting, corpus and score; `relic/chapters/calibration.py` reads them.

A wordy captioner says several *sentences* of an image, each as its gain would have it, or *fillers*
that tell nothing. Sentence by sentence its true LIC is that of the gain; a perfect classifier that
reads all sentences knows more than from one human caption, though nothing was amplified.
"""

from functools import partial
from itertools import product

import numpy as np
import pandas as pd
from scipy.special import expit

from relic.chapters.calibration import (
    BASE,
    CLASSIFIER_IMAGES,
    LENGTH,
    SETTING_GAINS,
    SHARPNESS,
    Setting,
)
from relic.chapters.learning import SAME, shortened
from relic.chapters.scores import PARTS
from relic.data.planted import PlantedCaptioner, planted_corpus
from relic.errors import RelicError
from relic.judge.lic import lic_table
from relic.measure.classifiers.base import RECIPES, classifier
from relic.measure.runs import Material, describe, held_out_temperature, prepare
from relic.measure.score import lic_score

FRESH = 6000  # images of the draw that tests
FRESH_SEED = 60_000  # more than the seed of the corpus
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
CLASSIFIERS = {"linear": CORPORA, "bert-pre": CORPORA, "lstm": 1, "bert-ft": 1}  # corpora each


def settings() -> list[Setting]:
    """One factor at a time from the base, each without gain and with gain 1."""
    chosen = []
    for factor, levels in FACTORS.items():
        for level, gain in product(levels, SETTING_GAINS):
            one = BASE._replace(**{"gain": gain, factor: level})
            chosen += [one, one._replace(length=SAME)] if factor in LENGTH else [one]
    return list(dict.fromkeys(chosen))


def wanted(corpora: int = 0, images: int = 0, classifier: str = "") -> list[Setting]:
    """All settings, and every classifier with its first recipe, or one alone; each on several corpora."""
    if classifier and classifier not in CLASSIFIERS:
        raise RelicError(f"classifier {classifier!r}", expected=", ".join(CLASSIFIERS))
    counts = {} if classifier else dict.fromkeys(settings(), corpora or CORPORA)
    for name, gain in product([classifier] if classifier else CLASSIFIERS, SETTING_GAINS):
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
    one = partial(describe, corpus, "planted", setting.classifier, recipe=setting.recipe)
    runs, rows = [one(side="model"), one(side="human")], []
    learned, tested = ([prepare(images, run) for run in runs] for images in (corpus, other))
    if setting.length == SAME:
        learned, tested = _cut(*learned), _cut(*tested)
    for run, here, there in zip(runs, learned, tested, strict=True):
        model = classifier(run.classifier, **run.options)
        model.fit(here.train, here.train_classes, run.seed)
        logits = model.logits(there.train + there.test)
        classes = np.concatenate([there.train_classes, there.images["y"]])
        fields = vars(run) | {"n_train": len(here.train), "n_test": len(classes)}
        factors = SHARPNESS | {"scaled": 1 / held_out_temperature(run, here)}
        for name, factor in factors.items():
            score = lic_score(expit(logits * factor), classes)
            rows.append(fields | {"by": name, "score": score})
    groups = pd.DataFrame(rows).groupby("by", sort=False)
    tables = [lic_table(part).assign(score=name) for name, part in groups]
    truth = corpus.true_lic("planted")
    true = {"true_model": truth.lic_model, "true_data": truth.lic_data, "true_lic": truth.lic}
    values = setting._asdict() | {"n_train": rows[0]["n_train"]}
    return pd.concat(tables)[["score", *PARTS]].assign(**values, **true)


def _cut(model: Material, human: Material) -> list[Material]:
    """Both sides' captions, of the same images in the same order, as long as the shorter of the two."""
    return [
        ours._replace(
            train=list(map(shortened, ours.train, theirs.train)),
            test=list(map(shortened, ours.test, theirs.test)),
        )
        for ours, theirs in ((model, human), (human, model))
    ]
