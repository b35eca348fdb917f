"""What belongs beside LIC: telling words, misgendering, accuracy, captioners for scale; cautions."""

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pandas as pd

from relic import paths
from relic.auditing.inputs import Audited
from relic.chapters.direction import measure as direction
from relic.chapters.direction.measure import HUMAN, WRONG_OF_NAMED
from relic.chapters.resample import image_draws
from relic.data.corpus import HUMAN_CAPTIONS
from relic.errors import RelicError, needed
from relic.measure.classifiers.base import TextForm
from relic.measure.inputs import Reading, read_captions, vocabulary
from relic.measure.text import UNKNOWN

SCALE = paths.PACKAGE / "auditing" / "scale.csv"
MOST = 20_000  # images that words and misgendering are counted on; drawn where there are more
DESCRIBED = 2500  # images that accuracy is measured on: METEOR takes half an audit's time
DRAWS = 500  # of intervals of misnaming and accuracy
WORDS = 6  # a class
COMMON = frozenset("a an the of in on at is are and with to . ,".split())
LEAST = 5  # captions that must hold a word for it to be listed
CLEAR = 4.0  # standard errors that rates of the two classes must lie apart: thousands are compared
LEAK_LEAST, LEAK_SHARE = 0.03, 0.95  # a leak: share of a class's human captions; of one class
OUTCOMES = ["right", "wrong", "neutral", WRONG_OF_NAMED]
SMALL_TEST = 300  # test images; the papers have 662 (gender) and 220 (race)
UNBALANCED = 0.25  # the rarer class's share below which most of the common class is not used
UNKNOWN_WORDS = 15  # percent of human words outside the captioner's vocabulary
FEW_WORDS = 5  # percent of captions with a masked word
COPIED = 5  # percent of captions that are human ones
SAME = 50  # percent of captions that read alike, or hold nothing but masked words
COVERED = 0.5  # share of the captions that have a label and human captions
TELLING = 95  # percent right on human captions: something states the class
LONG = 2  # times the length of human captions


def sampled(audited: Audited, most: int = MOST) -> pd.Index:
    """The audited images, or `most` of them drawn with a fixed seed."""
    if len(audited.images) <= most:
        return audited.images
    drawn = np.random.default_rng(0).choice(audited.images.to_numpy(), most, replace=False)
    return pd.Index(np.sort(drawn))


def _read(audited: Audited, captioner: str = "", index: int = 0, aligned="none") -> list[str]:
    """Captions of the sampled images as the linear classifier reads them: a captioner's, or human ones."""
    reading = Reading("model", captioner)
    if aligned != "none" or not captioner:
        name = captioner or audited.corpus.captioners[0]
        reading = Reading("human", name, caption_index=index, vocabulary=aligned)
    return read_captions(audited.corpus, reading, TextForm()).loc[sampled(audited)].tolist()


@lru_cache(maxsize=2)
def _human(audited: Audited) -> list[list[str]]:
    """Human captions by number, masked, with all their words."""
    return [_read(audited, index=k) for k in range(audited.captions_an_image)]


def _classes(audited: Audited) -> np.ndarray:
    return audited.corpus.labels.loc[sampled(audited)].to_numpy()


def _counted(captions: list[str], classes: np.ndarray, pairs: bool) -> list[Counter]:
    """For each class, the captions that hold a word (or, with `pairs`, two in a row)."""
    counts = [Counter(), Counter()]
    for caption, value in zip(captions, classes, strict=True):
        tokens = caption.split()
        held = [*tokens, *map(" ".join, pairwise(tokens))] if pairs else tokens
        counts[value].update(dict.fromkeys(held).keys())  # in their order: ties are broken by it
    return counts


def telling_words(audited: Audited, words: int = WORDS) -> pd.DataFrame:
    """Words and word pairs whose rates in the two classes' captions lie farthest apart.

    `apart`: in standard errors. Rates are percent of a class's captions, generated and human.
    """
    corpus, classes, rows = audited.corpus, _classes(audited), []
    sizes, (first, second) = np.bincount(classes, minlength=2), corpus.attribute.classes
    people = [[f" {c} " for c in texts] for texts in _human(audited)]  # words between spaces
    for name in corpus.captioners:
        raw = corpus.captions(name).loc[sampled(audited)]
        own = [f" {c} " for c in _read(audited, name)]
        counts = _counted(own, classes, pairs=True)
        terms = [t for t in counts[0] | counts[1] if counts[0][t] + counts[1][t] >= LEAST]
        table = pd.DataFrame([[each[t] for each in counts] for t in terms], terms, [0, 1])
        rates, share = table / sizes, table.sum(axis=1) / sizes.sum()
        error = np.sqrt(share * (1 - share) * (1 / sizes).sum())
        apart = ((rates[1] - rates[0]) / error).where(error > 0, 0)
        for value, label in enumerate((first, second)):
            lean = (apart if value else -apart).sort_values(ascending=False, kind="stable")
            clear = lean.index[lean > CLEAR]
            for term in _different(clear, corpus.attribute.mask_token, words):
                said = [_rates(texts, classes, term) for texts in people]
                human = np.mean(said, axis=0) if said else (np.nan, np.nan)
                has = _holding(own, term) & (classes == value)
                row = {"captioner": name, "says": label, "word": term}
                row |= dict(zip((f"{first} %", f"{second} %"), 100 * rates.loc[term], strict=True))
                row |= dict(zip((f"human {first} %", f"human {second} %"), human, strict=True))
                row |= {"captions": int(table.loc[term].sum()), "apart": apart[term]}
                rows.append(row | {"example": _around(raw.iloc[int(np.argmax(has))], term)})
    return pd.DataFrame(rows)


def _around(caption: str, term: str, reach: int = 70) -> str:
    """A caption, of a long one what stands around a term."""
    places = map(caption.lower().find, (term, term.split()[0]))  # a pair may stand around a comma
    at = next((place for place in places if place >= 0), 0)
    start, end = max(0, at - reach), at + len(term) + reach
    if len(caption) <= 3 * reach:
        return caption
    return f"{'…' * (start > 0)}{caption[start:end]}{'…' * (end < len(caption))}"


def _holding(spaced: list[str], term: str) -> np.ndarray:
    wanted = f" {term} "
    return np.array([wanted in caption for caption in spaced])


def _rates(spaced: list[str], classes: np.ndarray, term: str) -> list[float]:
    """Percent of each class's captions that hold a term."""
    has = _holding(spaced, term)
    return [100 * has[classes == value].mean() for value in (0, 1)]


def _different(terms: Iterable[str], mask_token: str, number: int) -> list[str]:
    """The first terms that share no word with one before: `bat`, not `bat` and `baseball bat`."""
    kept, used = [], set()
    for term in terms:
        parts = set(term.split()) - COMMON - {mask_token}
        if parts and not parts & used and not set(term) & set(".,;") and len(kept) < number:
            kept.append(term)
            used |= parts
    return kept


def leaks(audited: Audited, most: int = 8) -> list[str]:
    """Words left in human captions that occur almost only with one class, the most frequent first."""
    classes, captions = _classes(audited), [c for each in _human(audited) for c in each]
    every = np.tile(classes, audited.captions_an_image)
    said = pd.DataFrame(_counted(captions, every, pairs=False)).T.fillna(0)
    rates = said / np.bincount(classes, minlength=2) / audited.captions_an_image
    enough = rates.max(axis=1) >= np.maximum(LEAK_LEAST, LEAK_SHARE * rates.sum(axis=1))
    found = said.sum(axis=1)[enough & (said.sum(axis=1) >= 30)]
    return list(found.sort_values(ascending=False).index[:most])


def naming(audited: Audited) -> pd.DataFrame:
    """Percent of captions that name the right class, the wrong one or none, by label, with intervals.

    Empty where no words name a class. `Human`: all human captions.
    """
    corpus, images = audited.corpus, sampled(audited)
    if direction.words_of(corpus.attribute) is None:
        return pd.DataFrame()
    if audited.captions_an_image:
        images = images.intersection(corpus.deepest)
    sets = {name: [corpus.captions(name).loc[images]] for name in corpus.captioners}
    said = [corpus.human_captions(k).loc[images] for k in range(audited.captions_an_image)]
    sets |= {HUMAN: said} if said else {}
    captions = direction.Captions(corpus, images, corpus.labels.loc[images].to_numpy(), sets)
    found = direction.naming(captions, image_draws(len(images), DRAWS))
    found = found[found["outcome"].isin(OUTCOMES) & ~found["label"].isin(["gap", "all"])]
    keys = ["captioner", "label"]
    wide = found.pivot(index=keys, columns="outcome", values="value")
    wide = wide.reindex(found[keys].drop_duplicates().itertuples(index=False, name=None))
    bounds = found[found["outcome"] == WRONG_OF_NAMED].set_index(keys)
    wide = wide.assign(low=bounds["low"], high=bounds["high"], images=bounds["n"]).reset_index()
    return wide.rename(columns={WRONG_OF_NAMED: "wrong_of_named"})


def misnamed(naming: pd.DataFrame) -> dict[str, list[dict]]:
    """By captioner, how often it names the wrong class of those it names, people beside it."""
    if naming.empty:
        return {}
    people = naming[naming["captioner"] == HUMAN].set_index("label")["wrong_of_named"]
    named, human = naming["right"] + naming["wrong"], naming["label"].map(people)
    kept = ["label", "wrong_of_named", "low", "high", "neutral", "images", "named", "human"]
    by_captioner = naming.assign(named=named, human=human).groupby("captioner")
    return {name: rows[kept].to_dict("records") for name, rows in by_captioner}


def caption_accuracy(audited: Audited) -> tuple[pd.DataFrame, str]:
    """BLEU-4, CIDEr, METEOR, ROUGE-L of each captioner, 2,500 images at most; what is left out, and why."""
    try:
        with needed("accuracy"):
            from relic.chapters.accuracy import scores as accuracy
    except RelicError as error:
        return pd.DataFrame(), f"{error.found}: {error.mend}"
    problem, references = accuracy.java_problem(), accuracy.references_of(audited.corpus)
    kind = accuracy.FALLBACK if problem else accuracy.PTB
    images = sampled(audited, DESCRIBED).intersection(references.index)
    references, draws, frames = references.loc[images], image_draws(len(images), DRAWS), []
    for name in audited.corpus.captioners:
        captions = audited.corpus.captions(name).loc[images]
        found = accuracy.score_captions(captions, references, draws, kind, their_way=False)
        frames.append(found.assign(captioner=name))
    return pd.concat(frames, ignore_index=True), f"METEOR is left out: {problem}" if problem else ""


def recorded(audited: Audited) -> pd.DataFrame:
    """Recorded LIC of the papers' captioners on COCO val 2014, linear, for a sense of size."""
    table, synthetic = pd.read_csv(SCALE), audited.corpus.synthetic
    return table[(table["attribute"] == audited.corpus.attribute.name) & (not synthetic)]


def gender_score(audited: Audited) -> pd.DataFrame:
    """The Gender Score's table on the images whose objects are known; n-gram model, MiniLM."""
    with needed("gender-score"):
        from relic.chapters.gender_score import contexts, load_encoder, load_prior
        from relic.chapters.gender_score.tables import Study, score_table

        corpus = audited.corpus
        found = contexts(corpus.objects)
        found = found[found.index.isin(sampled(audited))]
        if found.empty or corpus.attribute.name != "gender" or corpus.human.empty:
            return pd.DataFrame()
        captions = {name: corpus.captions(name).loc[found.index] for name in corpus.captioners}
        study = Study(f"{corpus.name}, {len(found):,} images", captions, found, corpus.human)
        prior = load_prior("n-gram", corpus.human["caption"])
        return score_table(study, prior, load_encoder("all-MiniLM-L6-v2", study.words()))


def described(audited: Audited, captioner: str) -> dict[str, float]:
    """What a captioner's captions are like, in percent of captions unless it says otherwise."""
    corpus, own, images = audited.corpus, _read(audited, captioner), sampled(audited)
    token, human = corpus.attribute.mask_token, _human(audited)
    raw = corpus.captions(captioner).loc[images]
    said = corpus.human[corpus.human["image_id"].isin(images)]
    written = set(zip(said["image_id"], said["caption"].str.lower(), strict=True))
    return {
        "masked": 100 * float(np.mean([token in caption.split() for caption in own])),
        "bare": 100 * float(np.mean([set(caption.split()) <= COMMON | {token} for caption in own])),
        "commonest": 100 * Counter(own).most_common(1)[0][1] / len(own),
        "copied": 100 * float(np.mean([(i, c) in written for i, c in raw.items()])),
        "unknown": _unknown(audited, captioner),
        "words": float(np.mean([len(caption.split()) for caption in own])),
        "human_words": float(np.mean([len(c.split()) for c in human[0]])) if human else np.nan,
    }


def _unknown(audited: Audited, captioner: str) -> float:
    """Percent of human words outside the vocabulary that they are aligned to."""
    reading = Reading("human", captioner, vocabulary=audited.vocabulary)
    if not audited.captions_an_image or vocabulary(audited.corpus, reading) is None:
        return 0.0
    captions = _read(audited, captioner, aligned=audited.vocabulary)
    return 100 * float(np.mean([token == UNKNOWN for c in captions for token in c.split()]))


def cautions(audited: Audited, lic: pd.DataFrame) -> dict[str, dict]:
    """What a reader must know before the numbers, the gravest first: which facts, with their numbers.

    `templates/sentences.txt` has a sentence for each.
    """
    facts = (*_captions(audited, lic), *_size(audited, lic))
    return {kind: values for kind, applies, values in facts if applies}


def _size(audited: Audited, lic: pd.DataFrame):
    labels = audited.corpus.labels.loc[audited.images]
    tested, seeds, share = int(lic["n_test"].min()), int(lic["n_seeds"].min()), float(labels.mean())
    first, second = audited.corpus.attribute.classes
    used = {"name": second, "other": first, "share": 100 * share}
    used |= {"used": int(2 * labels.sum()), "images": len(labels)}
    worst = lic["detectable"].max() if "detectable" in lic else np.nan
    few = audited.coverage[audited.coverage["with both"] < COVERED * audited.coverage["captions"]]
    human = audited.captions_an_image
    yield "small", tested < SMALL_TEST, {"n": tested, "smallest": worst}
    yield "splits", seeds < 3, {"n": seeds}
    yield "unbalanced", share < UNBALANCED, used
    yield "human", 0 < human < HUMAN_CAPTIONS, {"n": human, "usual": HUMAN_CAPTIONS}
    yield "coverage", not few.empty, {"rows": few.to_dict("records")}


def _captions(audited: Audited, lic: pd.DataFrame):
    """What the captions themselves warn of, each caution once with the captioners it is about."""
    about, names = audited.corpus.attribute, audited.corpus.captioners
    like = {name: described(audited, name) for name in names}
    found = lic.groupby("captioner", sort=False)
    right, least = found["accuracy_human"].max().max(), found["auc_low"].max()
    words = leaks(audited) if audited.captions_an_image else []
    none = [name for name in names if about.masked_words and like[name]["masked"] == 0]

    def which(kind: str, of: str, wanted):
        told = {name: like[name][of] for name in names if wanted(like[name][of])}
        return kind, bool(told), {"of": told}

    lengths = {name: (each["words"], each["human_words"]) for name, each in like.items()}
    long = {name: both for name, both in lengths.items() if both[0] > LONG * both[1]}
    yield "synthetic", audited.corpus.synthetic, {}
    yield which("constant", "commonest", lambda share: share > SAME)
    yield which("bare", "bare", lambda share: share > SAME)
    yield "chance", (least <= 50).any(), {"names": list(least.index[least <= 50])}
    yield "leak", bool(words) or right >= TELLING, {"words": words, "right": right}
    yield "unmasked", not about.masked_words, {"attribute": about.name}
    yield "none", bool(none), {"names": none, "attribute": about.name}
    yield which("few", "masked", lambda share: bool(about.masked_words) and 0 < share < FEW_WORDS)
    yield which("unknown", "unknown", lambda share: share > UNKNOWN_WORDS)
    yield which("copied", "copied", lambda share: share > COPIED)
    yield "long", bool(long), {"of": long}
