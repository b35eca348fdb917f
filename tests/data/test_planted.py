"""relic.data.planted: the embedded corpus draws what it says, and its true LIC is true.

The process is worked out a second time here, from `lexicon.yml` alone, in plain Python.
"""

import math
import re
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, chisquare
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from relic import paths
from relic.data import planted as process
from relic.data.attribute import load_attribute
from relic.data.planted import CAPTIONERS, PlantedCaptioner, bayes_score, planted_corpus
from relic.errors import RelicError
from relic.measure.text import frequent_vocabulary, masked_captions

ATTRIBUTES = ("gender", "race", "age")
KEYS = [captioner.key for captioner in CAPTIONERS]
LEXICON = yaml.safe_load((paths.PACKAGE / "data" / "lexicon.yml").read_text(encoding="utf-8"))
PLACES = [kind["place"] for kind in LEXICON["gender"]["kinds"].values()]
MANY = {"images": 20_000, "seed": 3}
PARTS = re.compile(
    r"(?P<article>a|the)(?P<subject>(?: \S+)*?)(?P<linked> is)? (?P<gender>\S+ a \S+)"
    rf"(?: (?P<place>{'|'.join(PLACES)}))?(?: (?P<race>beside a \S+))?(?: (?P<age>wearing a \S+))?"
    r"(?P<tail>(?: [^. ]\S*)*)(?P<stop> \.)?"
)


def joint(attribute: str, gain: float) -> dict[tuple[str, str], list[float]]:
    """(phrase, place) -> P(said | class 0), P(said | class 1): the formulas of `process`."""
    entry = LEXICON[attribute]
    kind_strength, phrase_strength = entry["strength"]
    said = {}
    for label, sign in enumerate((-1, 1)):
        kinds = entry["kinds"].values()
        odds = [k["kind"][0] * math.exp(sign * k["kind"][1] * kind_strength / 2) for k in kinds]
        for kind, odd in zip(kinds, odds, strict=True):
            weights = {
                phrase: weight * math.exp(sign * (1 + gain) * tilt * phrase_strength / 2)
                for phrase, (weight, tilt) in kind["phrases"].items()
            }
            for phrase, weight in weights.items():
                chance = odd / sum(odds) * weight / sum(weights.values())
                place = kind.get("place", "")
                here = chance * entry["presence"]
                said.setdefault((phrase, place), [0.0, 0.0])[label] += here
                rest = (phrase, "") if place else ("", "")
                said.setdefault(rest, [0.0, 0.0])[label] += chance - here
    return said


def reduced(said: tuple[str, str], vocabulary) -> tuple[str, str]:
    """The words that stay; the others become one, as `doing`, `thing` and <unk> are one."""
    return tuple(
        " ".join(w if vocabulary is None or w in vocabulary else "?" for w in text.split())
        for text in said
    )


def chances(attribute: str, gain: float, vocabulary) -> dict[tuple[str, str], np.ndarray]:
    """The same once masked and aligned: what cannot be told apart is added up."""
    table = {}
    for said, both in joint(attribute, gain).items():
        key = reduced(said, vocabulary)
        table[key] = table.get(key, 0) + np.array(both)
    return table


@cache
def many(attribute: str):
    return planted_corpus(attribute, **MANY)


@cache
def read(attribute: str, captioner: str, words: tuple[str, ...] | None = None) -> pd.DataFrame:
    """Parts of a captioner's captions as the classifier reads them, or of humans' first."""
    corpus, described = many(attribute), load_attribute(attribute)
    human = captioner == "human"
    captions = corpus.human_captions(0) if human else corpus.captions(captioner)
    masked = masked_captions(captions, described, lowercase=human, vocabulary=words)
    parts = [PARTS.fullmatch(text) for text in masked]
    assert None not in parts, masked[parts.index(None)]
    columns = zip(*(part.groups("") for part in parts), strict=True)
    frame = pd.DataFrame(dict(zip(PARTS.groupindex, columns, strict=True)), dtype=object)
    labels = corpus.labels.loc[captions.index]
    return frame.assign(masked=pd.Series(masked, dtype=object), label=labels.to_numpy())


# --- the same bytes ---------------------------------------------------------------------------


def test_same_seed_same_bytes():
    # A change here is a breaking change: it makes users' cached runs worthless. Say so in
    # CHANGELOG before pinning another.
    pinned = "56707f0968c4940e6a7ddbe52f42f97798dfa4321c462bdbc1ddbf98a6fe8a87"
    corpus = planted_corpus("gender", images=600, seed=0)
    assert corpus.fingerprint == pinned
    process.channel.cache_clear()
    planted_corpus.__globals__["_draw"].cache_clear()
    assert planted_corpus("gender", images=600, seed=0).fingerprint == pinned
    assert planted_corpus("gender", images=600, seed=1).fingerprint != pinned


def test_attributes_share_images_and_captions():
    corpora = [planted_corpus(name, images=200) for name in ATTRIBUTES]
    for corpus in corpora[1:]:
        pd.testing.assert_frame_equal(corpus.generated, corpora[0].generated)
        pd.testing.assert_frame_equal(corpus.human, corpora[0].human)
    assert len({tuple(corpus.labels) for corpus in corpora}) == 3


def test_shape():
    corpus = planted_corpus("age", images=300)
    assert corpus.synthetic
    assert "synthetic" in corpus.name
    assert len(corpus.covered) == len(corpus.labels)
    assert corpus.captioners == KEYS
    assert list(corpus.labels.index) == list(range(1, 301))
    assert len(corpus.human) == 5 * 300
    orders = [tuple(corpus.captions(key).index) for key in KEYS]
    assert all(sorted(order) == list(corpus.labels.index) for order in orders)
    assert len(set(orders)) == len(KEYS)  # each captioner has its own row order, as upstream's


@pytest.mark.parametrize(("attribute", "rate"), [("gender", 0.31), ("race", 0.10), ("age", 0.35)])
def test_label_rates(attribute, rate):
    labels = many(attribute).labels
    assert labels.mean() == pytest.approx(rate, abs=4 * (rate * (1 - rate) / len(labels)) ** 0.5)


def test_objects():
    corpus = planted_corpus("gender", images=500)
    objects = corpus.objects
    assert list(objects.columns) == ["image_id", "label", "probability", "source"]
    assert (objects.groupby("image_id").size() == 2).all()
    assert set(objects["image_id"]) == set(corpus.labels.index)
    assert objects["probability"].between(0.2, 0.95).all()
    things = {p.split()[-1] for k in LEXICON["gender"]["kinds"].values() for p in k["phrases"]}
    assert set(objects["label"]) <= things | {place.split()[-1] for place in PLACES}
    masked = {word for name in ATTRIBUTES for word in load_attribute(name).masked_words}
    assert not masked & set(objects["label"])


# --- words ------------------------------------------------------------------------------------


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_words_of_captioners(attribute):
    corpus, described = planted_corpus(attribute, images=3000), load_attribute(attribute)
    for key in KEYS:
        masked = masked_captions(corpus.captions(key), described, lowercase=False)
        words = {word for caption in masked for word in caption.split()}
        assert words <= set(corpus.vocabularies[key])
        assert not words & described.masked_words
        assert corpus.vocabularies[key][:2] == ("<unk>", "<pad>")
        assert len(set(corpus.vocabularies[key])) == len(corpus.vocabularies[key])
        assert corpus.captions(key).str.islower().all()


@pytest.mark.parametrize("attribute", ["gender", "age"])
def test_persons_are_masked(attribute):
    """Every word for a person that its class decides is in the attribute's list."""
    words, described = LEXICON["persons"], load_attribute(attribute)
    stated = {
        "gender": [w for g in ("Male", "Female") for row in words[g].values() for w in row],
        "age": [w for group in words.values() for row in group.values() for w in row]
        + [w for row in LEXICON["age_words"].values() for w in row],
    }
    assert set(stated[attribute]) <= described.masked_words


def test_human_captions_look_human():
    captions = planted_corpus("gender", images=1000).human["caption"]
    assert captions.str[0].str.isupper().all()
    assert captions.str.endswith(".").mean() == pytest.approx(0.6, abs=0.05)
    assert not captions.str.contains(r"\b(?:doing|thing)\b").any()  # humans have all words


# --- the true LIC -----------------------------------------------------------------------------


class Tiny:
    """Two words: x is said 80 % of the time in class 1, 20 % in class 0; y the rest."""

    def outcomes(self, gain):
        yield 0, ("x",), np.array([0.2, 0.8])
        yield 0, ("y",), np.array([0.8, 0.2])


def test_bayes_score_by_hand(monkeypatch):
    monkeypatch.setattr(process, "channel", lambda attribute: Tiny())
    # whichever word is said, the better guess is right in 4 of 5 cases and scores 4/5
    assert bayes_score("tiny", 0) == pytest.approx(64)
    assert bayes_score("tiny", 0, {"x"}) == pytest.approx(64)  # y is then the unknown word
    assert bayes_score("tiny", 0, set()) == pytest.approx(25)  # nothing is left to go by


@pytest.mark.parametrize("attribute", ATTRIBUTES)
@pytest.mark.parametrize("gain", [-1, 0, 1.5])
def test_bayes_score_again_in_plain_python(attribute, gain):
    for vocabulary in (None, set(), *planted_corpus(attribute, images=100).vocabularies.values()):
        table = chances(attribute, gain, vocabulary)
        assert sum(table.values()) == pytest.approx([1, 1])
        score = sum(sum(p) / 2 * (max(p) / sum(p)) ** 2 for p in table.values())
        assert bayes_score(attribute, gain, vocabulary) == pytest.approx(100 * score, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), attribute=st.sampled_from(ATTRIBUTES), gain=st.floats(-1, 3))
def test_fewer_words_never_tell_more(data, attribute, gain):
    words = sorted(process.channel(attribute).words())
    kept = data.draw(st.sets(st.sampled_from(words)))
    fewer = data.draw(st.sets(st.sampled_from(sorted(kept)))) if kept else set()
    scores = [bayes_score(attribute, gain, v) for v in (set(), fewer, kept, None)]
    assert scores == pytest.approx(sorted(scores), abs=1e-9)
    assert scores[0] >= 25 - 1e-9
    assert scores[-1] <= 100


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_true_lic_of_the_shipped_captioners(attribute):
    corpus = planted_corpus(attribute, images=100)
    truth = {key: corpus.true_lic(key) for key in KEYS}
    assert truth["planted_none"].lic == 0  # exactly
    assert truth["planted_less"].lic < 0 < truth["planted_some"].lic < truth["planted_lot"].lic
    for key in KEYS:
        assert truth[key].lic == truth[key].lic_model - truth[key].lic_data
        whole = bayes_score(attribute, 0.0)
        assert whole >= truth[key].lic_data  # words lost in alignment carry some bias


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_true_lic_rises_with_gain(attribute):
    gains = (-1.0, -0.5, 0.0, 0.5, 1.0, 2.0)
    captioners = tuple(PlantedCaptioner(f"g{gain}", "", gain) for gain in gains)
    corpus = planted_corpus(attribute, images=100, captioners=captioners)
    lics = [corpus.true_lic(c.key).lic for c in captioners]
    assert lics == sorted(set(lics))
    assert lics[2] == 0


def test_stock_neutral_and_misgender_do_not_change_the_truth():
    plain = PlantedCaptioner("plain", "", 0.5)
    odd = PlantedCaptioner("odd", "", 0.5, stock=0.1, neutral=0.5, misgender=0.4)
    corpus = planted_corpus("gender", images=100, captioners=(plain, odd))
    assert corpus.true_lic("plain") == corpus.true_lic("odd")


# --- what makes the enumeration exact ---------------------------------------------------------


def spoken(text: str, vocabulary, *, human: bool) -> str:
    """A phrase as a captioner says it, or as a human caption reads once aligned."""
    first, last = ("<unk>", "<unk>") if human else LEXICON["generic"]
    known = vocabulary if vocabulary is not None else text.split()
    return " ".join(
        w if w in known else (first if i == 0 else last) for i, w in enumerate(text.split())
    )


@pytest.mark.parametrize("attribute", ATTRIBUTES)
@pytest.mark.parametrize("key", [*KEYS, None])
def test_grammar_is_unambiguous(attribute, key):
    """No two sets of phrases give one caption: what stands after the person tells them apart."""
    words = key and frozenset(planted_corpus("gender", images=100).vocabularies[key])
    tails = [*LEXICON["fillers"]["tails"], "by a dark-teal-striped sign", ""]
    for human in (True, False) if key else (True,):
        ways = {name: list(joint(name, 0)) for name in ATTRIBUTES}
        for name in set(ATTRIBUTES) - {attribute}:  # others: said, without place or not said, said
            ways[name] = [*ways[name][:2], ways[name][-1]]
        meaning = {}
        for said in product(*ways.values(), tails):
            *phrases, tail = said
            texts = [spoken(t, words, human=human) for pair in phrases for t in pair]
            texts.append(spoken(tail, words, human=True))
            caption = " ".join(filter(None, texts))
            own = reduced(phrases[ATTRIBUTES.index(attribute)], words)
            assert meaning.setdefault(caption, own) == own, caption
        starts = {" ".join(caption.split()[:n]) for caption in meaning for n in (1, 2)}
        assert not starts & subject_continuations(attribute, words)


def subject_continuations(attribute: str, known) -> set[str]:
    """What follows where one subject is the beginning of another, such as `is`."""
    described, fillers = load_attribute(attribute), LEXICON["fillers"]
    persons = [w for group in LEXICON["persons"].values() for row in group.values() for w in row]
    ages = ["", *(w for row in LEXICON["age_words"].values() for w in row)]
    subjects = masked_captions(
        [
            " ".join(filter(None, ("the" if age else "a", age, manner, person, linked)))
            for age, manner, person, linked in product(
                ages, ["", *fillers["manner"]], set(persons), ["", "is"]
            )
        ],
        described,
        vocabulary=known,
    )
    whole = set(subjects)
    beginnings = [(s, " ".join(s.split()[:n])) for s in whole for n in range(1, len(s.split()))]
    return {s.removeprefix(b).strip() for s, b in beginnings if b in whole}


# --- the corpus itself, 20,000 images ---------------------------------------------------------


def measured(frame: pd.DataFrame, confidence: np.ndarray) -> tuple[float, float]:
    """LIC and its standard error, both classes equally; confidence in class 1 for each row."""
    label = frame["label"].to_numpy()
    truth = np.where(label == 1, confidence, 1 - confidence)
    right = np.where(truth == 0.5, 0.5, truth > 0.5)  # a coin decides where nothing is known
    scores = [(100 * truth * right)[label == k] for k in (0, 1)]
    error = sum(s.var() / len(s) for s in scores) ** 0.5 / 2
    return float(np.mean([s.mean() for s in scores])), error


def channel_of(frame: pd.DataFrame, attribute: str) -> list[tuple[str, str]]:
    """What each caption says in the attribute's own channel, as a key of `chances`."""
    place = frame["place"] if attribute == "gender" else [""] * len(frame)
    unknown = re.compile(r"<unk>|\bdoing\b|\bthing\b")
    return [(unknown.sub("?", p), where) for p, where in zip(frame[attribute], place, strict=True)]


def optimal(frame: pd.DataFrame, attribute: str, gain: float, vocabulary) -> np.ndarray:
    """Confidence in class 1 of the classifier that knows the process, from the parts read."""
    table = chances(attribute, gain, vocabulary)
    return np.array([table[said][1] / sum(table[said]) for said in channel_of(frame, attribute)])


@pytest.mark.parametrize("attribute", ATTRIBUTES)
@pytest.mark.parametrize("key", [*KEYS, "human"])
def test_corpus_says_each_phrase_as_often_as_the_process(attribute, key):
    corpus = many(attribute)
    gain, words = (0.0, None) if key == "human" else (corpus.planted[key].gain, corpus.vocabularies[key])  # fmt: skip
    frame, table = read(attribute, key), chances(attribute, gain, words)
    said = pd.Series(channel_of(frame, attribute))
    for label in (0, 1):
        counts = said[frame["label"] == label].value_counts()
        observed = np.array([counts.get(key, 0) for key in table])
        assert observed.sum() == counts.sum()  # nothing is said that the process cannot say
        expected = observed.sum() * np.array([p[label] for p in table.values()])
        common = expected >= 5
        pooled = [np.append(n[common], n[~common].sum() + 1e-9) for n in (observed, expected)]
        assert chisquare(*pooled, sum_check=False).pvalue > 1e-4


@pytest.mark.parametrize("attribute", ATTRIBUTES)
@pytest.mark.parametrize("key", KEYS)
def test_corpus_has_the_true_lic(attribute, key):
    corpus = many(attribute)
    truth, words = corpus.true_lic(key), corpus.vocabularies[key]
    for captioner, gain, expected in (
        (key, corpus.planted[key].gain, truth.lic_model),
        ("human", 0.0, truth.lic_data),
    ):
        frame = read(attribute, captioner, words if captioner == "human" else None)
        lic, error = measured(frame, optimal(frame, attribute, gain, words))
        assert error < 0.6
        assert lic == pytest.approx(expected, abs=4 * error)


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_corpus_has_the_true_lic_with_frequent_words(attribute):
    """The papers' other vocabulary: the most frequent human words, as many as the captioner's."""
    corpus = many(attribute)
    whole = read(attribute, "human")
    words = tuple(frequent_vocabulary(whole["masked"], len(corpus.vocabularies["planted_lot"])))
    frame = read(attribute, "human", words)
    lic, error = measured(frame, optimal(frame, attribute, 0.0, words))
    expected = bayes_score(corpus.attribute.name, 0.0, words)
    assert lic == pytest.approx(expected, abs=4 * error)


@pytest.mark.parametrize("captioner", ["planted_lot", "planted_less", "human"])
def test_a_classifier_that_knows_nothing_of_the_process_finds_the_true_lic(captioner):
    """Logistic regression on all words and pairs of words: no more and hardly less to be had."""
    corpus = many("gender")
    words = corpus.vocabularies["planted_lot"] if captioner == "human" else None
    frame = read("gender", captioner, words)
    truth = corpus.true_lic("planted_lot" if captioner == "human" else captioner)
    expected = truth.lic_data if captioner == "human" else truth.lic_model
    vectors = CountVectorizer(ngram_range=(1, 2), token_pattern=r"\S+", min_df=5, binary=True)
    features = vectors.fit_transform(frame["masked"])
    train = np.arange(len(frame)) < 0.75 * len(frame)
    model = LogisticRegression(class_weight="balanced", C=0.1, max_iter=200)
    model.fit(features[train], frame["label"][train])
    lic, _ = measured(frame[~train], model.predict_proba(features[~train])[:, 1])
    assert lic == pytest.approx(expected, abs=2)


def p_value(feature: pd.Series, label: pd.Series) -> float:
    """Chi-square of a feature against the class; values seen fewer than 50 times are pooled."""
    common = feature.map(feature.value_counts()) >= 50
    table = pd.crosstab(feature.where(common, "rare"), label)
    return chi2_contingency(table).pvalue if len(table) > 1 else 1.0


@pytest.mark.parametrize("attribute", ATTRIBUTES)
@pytest.mark.parametrize("captioner", [*KEYS, "human"])
def test_other_words_tell_nothing(attribute, captioner):
    frame = read(attribute, captioner)
    own = ["gender", "place"] if attribute == "gender" else [attribute]
    others = ["article", "subject", "linked", "gender", "place", "race", "age", "tail", "stop"]
    others = frame[[name for name in others if name not in own]]
    features = {name: others[name] for name in others} | {
        "tail or not": others["tail"] != "",
        "length": sum(others[name].map(lambda text: len(text.split())) for name in others),
        "own part or not": frame[own[0]] != "",
    }
    values = {name: p_value(feature, frame["label"]) for name, feature in features.items()}
    assert {name: p for name, p in values.items() if p < 1e-4} == {}
    assert p_value(frame[own[0]], frame["label"]) < 1e-6  # the own part does tell


def test_masking_is_needed():
    """Unmasked, the person gives the class away: the test above can fail."""
    corpus = many("gender")
    captions = corpus.captions("planted_none")
    man = captions.str.contains(r"\b(?:man|boy)\b")
    assert p_value(man, corpus.labels.loc[captions.index]) < 1e-6


# --- repeats and errors -----------------------------------------------------------------------


def test_repeats_rise_with_stock():
    shares = []
    for stock in (0.0, 0.9):
        captioner = PlantedCaptioner("x", "", 0.0, stock=stock)
        captions = planted_corpus("gender", images=2000, captioners=(captioner,)).captions("x")
        shares.append(captions.duplicated().mean())
    assert shares[0] + 0.1 < shares[1]


@pytest.mark.parametrize("images", [99, 0, -5, 2_000_001, 600.0, "600", True, None])
def test_images_out_of_range(images):
    with pytest.raises(RelicError, match=r"100 to 2,000,000"):
        planted_corpus("gender", images=images)


def test_negative_seed():
    with pytest.raises(RelicError, match="seed"):
        planted_corpus("gender", images=100, seed=-1)


def test_unknown_names():
    corpus = planted_corpus("gender", images=100)
    with pytest.raises(RelicError, match="unknown attribute 'height'"):
        planted_corpus("height")
    with pytest.raises(RelicError, match="planted_none, planted_some"):
        corpus.true_lic("nic")


def test_own_attribute_file_has_no_planted_captions(tmp_path):
    file = tmp_path / "mine.yml"
    file.write_text("{name: x, field: x, classes: [a, b], mask_token: X, masked_words: []}")
    with pytest.raises(RelicError, match="gender, race, age"):
        planted_corpus(str(file))
