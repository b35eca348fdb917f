"""What belongs beside LIC: telling words, misgendering, accuracy, published captioners, Gender Score."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pandas as pd

from relic.auditing.inputs import Audited
from relic.chapters.accuracy import scores as accuracy
from relic.chapters.direction import measure as direction
from relic.chapters.resample import image_draws
from relic.data.corpus import Corpus
from relic.judge.lic import intervals, lic_table
from relic.measure.classifiers.base import TextForm
from relic.measure.inputs import Reading, read_captions, vocabulary
from relic.measure.runs import describe, fit
from relic.measure.text import UNKNOWN, tokenizer
from relic.records.serve import recorded

MOST = 20_000  # images that words and misgendering are counted on; drawn where there are more
DESCRIBED = 2500  # images that accuracy is measured on: METEOR takes half an audit's time
DRAWS = 1000
WORDS = 6  # a class
COMMON = frozenset("a an the of in on at is are and with to . ,".split())
LEAST = 5  # captions that must hold a word for it to be listed
ALIKE = (
    0.25  # share of the audited images among the recorded test images: ten splits test half of all
)


def sampled(audited: Audited, most: int = MOST) -> pd.Index:
    """The audited images, or `most` of them drawn with a fixed seed."""
    if len(audited.images) <= most:
        return audited.images
    drawn = np.random.default_rng(0).choice(audited.images.to_numpy(), most, replace=False)
    return pd.Index(np.sort(drawn))


def telling_words(audited: Audited, seeds, words: int = WORDS) -> pd.DataFrame:
    """Words and word pairs with the largest weights of the linear classifier, by captioner and class.

    Weights are means over the seeds' splits. Shares: of the captions of that class's images that hold
    the word, generated and human (the first human caption). `example`: a caption that holds it.
    """
    corpus, rows = audited.corpus, []
    images = sampled(audited)
    some = list(seeds) if len(images) == len(audited.images) else list(seeds)[:1]
    human = _terms_by_image(corpus, Reading("human", corpus.captioners[0], vocabulary="none"), images)  # fmt: skip
    for name in corpus.captioners:
        weights = pd.DataFrame([_weights(corpus, name, seed) for seed in some]).fillna(0.0)
        own = _terms_by_image(corpus, Reading("model", name), images)
        raw, mean, spread = corpus.captions(name), weights.mean(), weights.std()
        classes = corpus.labels.loc[images].to_numpy()
        counts = Counter(term for caption in own for term in caption)
        for value, label in enumerate(corpus.attribute.classes):
            told = mean[(mean > 0) == (value == 1)].sort_values(ascending=value == 0, kind="stable")
            listed = [term for term in told.index if counts[term] >= LEAST]
            for term in _different(listed, corpus.attribute.mask_token, words):
                has, also = (np.array([term in t for t in each]) for each in (own, human))
                at = images[np.flatnonzero(has & (classes == value))[:1]]
                rows.append(
                    (name, label, term, told[term], spread[term], int(has.sum()),
                     *(100 * has[classes == c].mean() for c in (0, 1)),
                     *(100 * also[classes == c].mean() for c in (0, 1)),
                     raw.loc[at[0]] if len(at) else "")
                )  # fmt: skip
    first, second = corpus.attribute.classes
    columns = ["captioner", "speaks for", "word", "weight", "std over splits", "captions", f"{first} %",
               f"{second} %", f"human {first} %", f"human {second} %", "example"]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def _different(terms: list[str], mask_token: str, number: int) -> list[str]:
    """The first terms that share no word with one before: `bat`, not `bat` and `baseball bat`."""
    kept, used = [], set()
    for term in terms:
        parts = set(term.split()) - COMMON - {mask_token}
        if parts and not parts & used and len(kept) < number:
            kept.append(term)
            used |= parts
    return kept


def _weights(corpus: Corpus, captioner: str, seed: int) -> dict[str, float]:
    model, _ = fit(corpus, describe(corpus, captioner, "linear", seed=int(seed)))
    return model.weights()


def _terms_by_image(corpus: Corpus, reading: Reading, images: pd.Index) -> list[frozenset[str]]:
    """Words and word pairs of each image's caption, as the linear classifier reads it."""
    captions = read_captions(corpus, reading, TextForm()).loc[images]
    terms = {}
    for caption in captions.unique():
        tokens = caption.split()
        terms[caption] = frozenset([*tokens, *map(" ".join, pairwise(tokens))])
    return [terms[caption] for caption in captions]


def naming(audited: Audited) -> pd.DataFrame:
    """Right, wrong, both or no class named, by label; empty where no words name a class."""
    corpus = audited.corpus
    if direction.words_of(corpus.attribute) is None:
        return pd.DataFrame()
    captions = direction.gather(corpus, sampled(audited))
    return direction.naming(captions, image_draws(len(captions.images), DRAWS))


def caption_accuracy(audited: Audited) -> pd.DataFrame:
    """BLEU-4, CIDEr, METEOR, ROUGE-L of each captioner, 2,500 images at most; METEOR only with Java."""
    kind = accuracy.FALLBACK if accuracy.java_problem() else accuracy.PTB
    images = sampled(audited, DESCRIBED)
    references = accuracy.references_of(audited.corpus).loc[images]
    draws, frames = image_draws(len(images), DRAWS), []
    for name in audited.corpus.captioners:
        captions = audited.corpus.captions(name).loc[images]
        found = accuracy.score_captions(captions, references, draws, kind, their_way=False)
        frames.append(found.assign(captioner=name))
    return pd.concat(frames, ignore_index=True)


def published_beside(audited: Audited, classifiers) -> tuple[pd.DataFrame, float]:
    """Recorded LIC of the papers' captioners, and the share of the audited images they were tested on.

    Empty where the attribute is another or the images are.
    """
    runs = recorded(attribute=audited.corpus.attribute.name, classifier=list(classifiers))
    if not len(runs) or audited.names or audited.corpus.synthetic:
        return pd.DataFrame(), 0.0
    known = set(runs.outcomes["image_id"])
    share = float(np.mean([image in known for image in audited.images]))
    if share < ALIKE:
        return pd.DataFrame(), share
    table = intervals(lic_table(runs)).rename(columns={"seeds": "n_seeds"})
    return table[["captioner", "classifier", "lic", "low", "high", "n_seeds", "n_test"]], share


def gender_score(audited: Audited) -> pd.DataFrame:
    """The Gender Score's table on the images whose objects are known; n-gram model, MiniLM."""
    from relic.chapters.gender_score import contexts, load_encoder, load_prior
    from relic.chapters.gender_score.study import Study
    from relic.chapters.gender_score.tables import score_table

    corpus = audited.corpus
    found = contexts(corpus.objects)
    found = found[found.index.isin(sampled(audited))]
    if found.empty or corpus.attribute.name != "gender":
        return pd.DataFrame()
    captions = {name: corpus.captions(name).loc[found.index] for name in corpus.captioners}
    human = corpus.human[corpus.human["image_id"].isin(found.index)]
    study = Study(f"{corpus.name}, {len(found):,} images", corpus.synthetic, captions, found, human)
    prior = load_prior("n-gram", corpus.human["caption"])
    return score_table(study, prior, load_encoder("all-MiniLM-L6-v2", study.words()))


def unknown_share(audited: Audited, captioner: str) -> float:
    """Percent of human words outside the vocabulary that they are aligned to."""
    corpus = audited.corpus
    reading = Reading("human", captioner, vocabulary=audited.vocabulary)
    if vocabulary(corpus, reading) is None:
        return 0.0
    captions = read_captions(corpus, reading, TextForm()).loc[sampled(audited)]
    return 100 * float(np.mean([token == UNKNOWN for c in captions for token in c.split()]))


def masked_share(audited: Audited, captioner: str) -> float:
    """Percent of a captioner's captions that hold a masked word."""
    about = audited.corpus.attribute
    split, captions = tokenizer(about.tokenizer), audited.corpus.captions(captioner).loc[sampled(audited)]  # fmt: skip
    return 100 * float(np.mean([not about.masked_words.isdisjoint(split(c.lower())) for c in captions]))  # fmt: skip


def copied_share(audited: Audited, captioner: str) -> float:
    """Percent of captions that equal a human caption of their image, to the letter."""
    images = sampled(audited)
    captions = audited.corpus.captions(captioner).loc[images]
    human = audited.corpus.human[audited.corpus.human["image_id"].isin(images)]
    said = set(zip(human["image_id"], human["caption"], strict=True))
    return 100 * float(np.mean([(i, c) in said for i, c in captions.items()]))
