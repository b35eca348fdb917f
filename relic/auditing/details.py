"""What belongs beside LIC: telling words, misgendering, accuracy, captioners for scale; cautions."""

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pandas as pd

from relic import paths
from relic.auditing.inputs import Audited
from relic.chapters import direction
from relic.chapters.direction import HUMAN, WRONG_OF_NAMED
from relic.data.corpus import HUMAN_CAPTIONS
from relic.errors import RelicError, needed
from relic.measure.classifiers.base import TextForm
from relic.measure.inputs import Reading, read_captions
from relic.measure.text import UNKNOWN

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


def _read(audited: Audited, reading: Reading) -> list[str]:
    """Captions of the sampled images as the linear classifier reads them."""
    return read_captions(audited.corpus, reading, TextForm()).loc[sampled(audited)].tolist()


@lru_cache(maxsize=2)
def _human(audited: Audited) -> list[str]:
    """Human captions, masked, with all their words: of each image the first, then the second, ..."""
    reading = Reading("human", audited.corpus.captioners[0], vocabulary="none")
    numbers = range(audited.captions_an_image)
    return [c for k in numbers for c in _read(audited, reading._replace(caption_index=k))]


def _classes(audited: Audited) -> np.ndarray:
    return audited.corpus.labels.loc[sampled(audited)].to_numpy()


def _counted(captions: list[str], classes: np.ndarray, pairs: bool) -> pd.DataFrame:
    """By word (with `pairs`, also two in a row) and class, the captions that hold it."""
    counts: dict[int, Counter] = {0: Counter(), 1: Counter()}
    for caption, value in zip(captions, classes, strict=True):
        tokens = caption.split()
        held = [*tokens, *map(" ".join, pairwise(tokens))] if pairs else tokens
        counts[value].update(dict.fromkeys(held).keys())  # in their order: ties are broken by it
    return pd.DataFrame(counts).fillna(0).astype(int)


def _holding(captions: list[str], term: str) -> np.ndarray:
    return np.array([f" {term} " in f" {caption} " for caption in captions], dtype=bool)


def telling_words(audited: Audited, words: int = WORDS) -> pd.DataFrame:
    """Words and word pairs whose rates in the two classes' captions lie farthest apart.

    `apart`: in standard errors. Rates are percent of a class's captions, generated and human.
    """
    corpus, classes, rows = audited.corpus, _classes(audited), []
    sizes, labels = np.bincount(classes, minlength=2), corpus.attribute.classes
    people, of_people = _human(audited), np.tile(classes, audited.captions_an_image)
    for name in corpus.captioners:
        read, said = _read(audited, Reading("model", name)), corpus.captions(name)
        counts = _counted(read, classes, pairs=True)
        table = counts[counts.sum(axis=1) >= LEAST]
        rates, share = table / sizes, table.sum(axis=1) / sizes.sum()
        error = np.sqrt(share * (1 - share) * (1 / sizes).sum())
        apart = ((rates[1] - rates[0]) / error).where(error > 0, 0)
        for value, label in enumerate(labels):
            lean = (apart if value else -apart).sort_values(ascending=False, kind="stable")
            clear = lean.index[lean > CLEAR]
            for term in _different(clear, corpus.attribute.mask_token, words):
                human = pd.Series(_holding(people, term)).groupby(of_people).mean()
                first = np.argmax(_holding(read, term) & (classes == value))
                example = _around(said.loc[sampled(audited)[first]], term)
                shares = 100 * np.array([*rates.loc[term], *human.reindex([0, 1])])
                row = name, label, term, *shares, table.loc[term].sum(), apart[term], example
                rows.append(row)
    shares = [f"{whose}{label} %" for whose in ("", "human ") for label in labels]
    columns = ["captioner", "says", "word", *shares, "captions", "apart", "example"]
    return pd.DataFrame(rows, columns=columns)


def _around(caption: str, term: str, reach: int = 70) -> str:
    """A caption, of a long one what stands around a term."""
    places = map(caption.lower().find, (term, term.split()[0]))  # a pair may stand around a comma
    at = next((place for place in places if place >= 0), 0)
    start, end = max(0, at - reach), at + len(term) + reach
    if len(caption) <= 3 * reach:
        return caption
    return f"{'…' * (start > 0)}{caption[start:end]}{'…' * (end < len(caption))}"


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
    classes = np.tile(_classes(audited), audited.captions_an_image)
    said = _counted(_human(audited), classes, pairs=False)
    rates = said / np.bincount(classes, minlength=2)
    enough = rates.max(axis=1) >= np.maximum(LEAK_LEAST, LEAK_SHARE * rates.sum(axis=1))
    frequent = said.sum(axis=1)[enough & (said.sum(axis=1) >= 30)]
    return list(frequent.sort_values(ascending=False).index[:most])


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
    captions = direction.Captions(corpus, corpus.labels.loc[images].to_numpy(), sets)
    shares = direction.naming(captions, DRAWS)
    shares = shares[shares["outcome"].isin(OUTCOMES) & ~shares["label"].isin(["gap", "all"])]
    keys = ["captioner", "label"]
    ends = shares[shares["outcome"] == WRONG_OF_NAMED].set_index(keys)  # in the order of captioners
    wide = shares.pivot(index=keys, columns="outcome", values="value").loc[ends.index]
    wide = wide.assign(low=ends["low"], high=ends["high"], images=ends["n"]).reset_index()
    return wide.rename(columns={WRONG_OF_NAMED: "wrong_of_named"})


def results(audited: Audited) -> list[dict]:
    """A plain dict each captioner and classifier.

    `misnamed`: how often it names the wrong class of those it names, people beside it.
    """
    rows, naming = audited.tables["lic"].to_dict("records"), audited.tables["naming"]
    if naming.empty:
        return [row | {"misnamed": []} for row in rows]
    people = naming[naming["captioner"] == HUMAN].set_index("label")["wrong_of_named"]
    named, human = naming["right"] + naming["wrong"], naming["label"].map(people)
    columns = ["label", "wrong_of_named", "low", "high", "neutral", "images", "named", "human"]
    of = naming.assign(named=named, human=human).set_index("captioner")[columns]
    return [row | {"misnamed": of.loc[[row["captioner"]]].to_dict("records")} for row in rows]


def caption_accuracy(audited: Audited) -> tuple[pd.DataFrame, str]:
    """BLEU-4, CIDEr, METEOR, ROUGE-L of each captioner, 2,500 images at most; what is left out, and why."""
    try:
        with needed("accuracy"):
            from relic.chapters import accuracy
    except RelicError as error:
        return pd.DataFrame(), f"{error.found}: {error.mend}"
    problem, references = accuracy.java_problem(), accuracy.references_of(audited.corpus)
    images, frames = sampled(audited, DESCRIBED).intersection(references.index), []
    for name in audited.corpus.captioners:
        captions = audited.corpus.captions(name).loc[images]
        scores = accuracy.score_captions(captions, references, DRAWS, their_way=False)
        frames.append(scores.assign(captioner=name))
    return pd.concat(frames, ignore_index=True), f"METEOR is left out: {problem}" if problem else ""


def recorded(audited: Audited) -> pd.DataFrame:
    """Recorded LIC of the papers' captioners on COCO val 2014, linear, for a sense of size."""
    table, synthetic = pd.read_csv(paths.SCALE), audited.corpus.synthetic
    return table[(table["attribute"] == audited.attribute.name) & (not synthetic)]


def gender_score(audited: Audited) -> pd.DataFrame:
    """The Gender Score's table on the images whose objects are known; n-gram model, MiniLM."""
    with needed("gender-score"):
        from relic.chapters.gender_score.models import load_encoder, load_prior
        from relic.chapters.gender_score.tables import Study, contexts

        corpus = audited.corpus
        objects = contexts(corpus.objects)
        objects = objects[objects.index.isin(sampled(audited))]
        if objects.empty or corpus.attribute.name != "gender" or corpus.human.empty:
            return pd.DataFrame()
        captions = {name: corpus.captions(name).loc[objects.index] for name in corpus.captioners}
        study = Study(f"{corpus.name}, {len(objects):,} images", captions, objects, corpus.human)
        prior = load_prior("n-gram", corpus.human["caption"])
        return study.table("scores", prior, load_encoder("all-MiniLM-L6-v2"))


def described(audited: Audited, captioner: str) -> dict[str, float]:
    """What a captioner's captions are like, in percent of captions unless it says otherwise."""
    corpus, images, token = audited.corpus, sampled(audited), audited.attribute.mask_token
    tokenized = [caption.split() for caption in _read(audited, Reading("model", captioner))]
    aligned = Reading("human", captioner, vocabulary=audited.vocabulary)
    read = _read(audited, aligned) if audited.captions_an_image else []
    said = corpus.human[corpus.human["image_id"].isin(images)]
    written = set(zip(said["image_id"], said["caption"].str.lower(), strict=True))
    pairs = corpus.captions(captioner).loc[images].items()
    shares = {
        "masked": [token in tokens for tokens in tokenized],
        "bare": [COMMON.issuperset({*tokens} - {token}) for tokens in tokenized],
        "copied": [pair in written for pair in pairs],
        "unknown": [word == UNKNOWN for caption in read for word in caption.split()],  # of words
    }
    first = _human(audited)[: len(images)]
    return {name: 100 * float(np.mean(each or [0])) for name, each in shares.items()} | {
        "commonest": 100 * Counter(map(tuple, tokenized)).most_common(1)[0][1] / len(tokenized),
        "words": float(np.mean([len(tokens) for tokens in tokenized])),  # a caption
        "human_words": float(np.mean([len(c.split()) for c in first])) if first else np.nan,
    }


def cautions(audited: Audited, lic: pd.DataFrame) -> dict[str, dict]:
    """What a reader must know before the numbers, the gravest first: which facts, with their numbers.

    `templates/sentences.txt` has a sentence for each.
    """
    corpus, attribute, human = audited.corpus, audited.attribute, audited.captions_an_image
    like = pd.DataFrame({name: described(audited, name) for name in corpus.captioners}).T
    labels, (common, rarer) = corpus.labels.loc[audited.images], attribute.classes
    share, tested, splits = labels.mean(), int(lic["n_test"].min()), int(lic["n_seeds"].min())
    used = {"name": rarer, "other": common, "share": 100 * float(share)}
    used |= {"used": int(2 * labels.sum()), "images": len(labels)}
    least = lic.groupby("captioner", sort=False)["auc_low"].max()
    words, right = leaks(audited) if human else [], lic["accuracy_human"].max()
    covered = audited.coverage["with both"] >= COVERED * audited.coverage["captions"]
    smallest = lic["detectable"].max() if "detectable" in lic else np.nan
    masked = like["masked"] if attribute.masked_words else pd.Series()
    long = like[like["words"] > LONG * like["human_words"]]
    lengths = {row.Index: (row.words, row.human_words) for row in long.itertuples()}

    def which(values: pd.Series, low: float, high: float = np.inf) -> tuple[bool, dict]:
        kept = values[(values > low) & (values < high)]
        return len(kept) > 0, {"of": kept.to_dict()}

    none = {"names": list(masked.index[masked == 0]), "attribute": attribute.name}
    facts = {  # by kind: whether it applies, and its numbers
        "synthetic": (corpus.synthetic, {}),
        "constant": which(like["commonest"], SAME),
        "bare": which(like["bare"], SAME),
        "chance": ((least <= 50).any(), {"names": list(least.index[least <= 50])}),
        "leak": (bool(words) or right >= TELLING, {"words": words, "right": right}),
        "unmasked": (not attribute.masked_words, {"attribute": attribute.name}),
        "none": (bool(none["names"]), none),
        "few": which(masked, 0, FEW_WORDS),
        "unknown": which(like["unknown"], UNKNOWN_WORDS),
        "copied": which(like["copied"], COPIED),
        "long": (bool(lengths), {"of": lengths}),
        "small": (tested < SMALL_TEST, {"n": tested, "smallest": smallest}),
        "splits": (splits < 3, {"n": splits}),
        "unbalanced": (share < UNBALANCED, used),
        "human": (0 < human < HUMAN_CAPTIONS, {"n": human, "usual": HUMAN_CAPTIONS}),
        "coverage": (not covered.all(), {"rows": audited.coverage[~covered].to_dict("records")}),
    }
    return {kind: values for kind, (applies, values) in facts.items() if applies}
