"""The COCO metrics: ours are pycocoevalcap's, with or without Java."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.meteor.meteor import Meteor
from pycocoevalcap.rouge.rouge import Rouge
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

import relic
from relic.chapters import accuracy
from relic.chapters.accuracy import (
    CHARACTER_BLEU,
    FALLBACK,
    METRICS,
    PTB,
    RAW_CIDER,
    character_bleu,
)
from relic.data.attribute import load_attribute
from relic.data.captioners import image_sets
from relic.data.planted import CAPTIONERS, planted_corpus
from relic.errors import RelicError
from relic.records.serve import RecordedCorpus

needs_java = pytest.mark.skipif(
    bool(accuracy.java_problem()), reason=accuracy.java_problem() or "-"
)


@pytest.fixture(scope="module")
def corpus():
    return planted_corpus("gender", images=120, captioners=CAPTIONERS[1:2])


@pytest.fixture(scope="module")
def scores(corpus):
    return accuracy.accuracy(corpus, draws=50)


@needs_java
def test_scores_equal_those_of_pycocoevalcap_called_directly(corpus, scores):
    captions, humans = corpus.captions("planted_some"), accuracy.references_of(corpus)
    captioned = {i: [{"caption": text} for text in humans[i]] for i in captions.index}
    gts = PTBTokenizer().tokenize(captioned)
    res = PTBTokenizer().tokenize({i: [{"caption": text}] for i, text in captions.items()})
    theirs = {
        "BLEU-4": Bleu(4).compute_score(gts, res, verbose=0)[0][3],
        "CIDEr": Cider().compute_score(gts, res)[0],
        "METEOR": Meteor().compute_score(gts, res)[0],
        "ROUGE-L": Rouge().compute_score(gts, res)[0],
    }
    ours = scores.set_index("metric")["value"]
    for metric in METRICS:
        assert ours[metric] == pytest.approx(100 * theirs[metric], rel=1e-9), metric
    assert set(scores.loc[scores["metric"].isin(METRICS), "tokenizer"]) == {PTB}


def test_every_score_lies_inside_its_interval_and_names_its_n(scores):
    assert (scores["low"] < scores["value"]).all()
    assert (scores["value"] < scores["high"]).all()
    assert set(scores["n"]) == {120}
    assert set(scores["source"]) == {"own"}
    assert set(scores["captioner"]) == {"Amplifier (gain 0.5)"}


@needs_java
def test_odd_captions_do_not_shift_the_others():
    odd = ("", "A line\nbreak\r\u2028 here.", "<script>alert(1)</script> & co", "...")
    texts = ("a dog", *odd, "x")
    tokens = accuracy.tokenized(texts, PTB)
    assert tokens["a dog"] == "a dog"
    assert tokens[""] == tokens["..."] == ""
    assert tokens["A line\nbreak\r\u2028 here."] == "a line break here"
    assert tokens["x"] == "x"


@needs_java
def test_the_tokenizer_says_nothing_unless_it_fails(capfd, monkeypatch):
    accuracy.tokenized(("a quiet dog",), PTB)
    assert capfd.readouterr() == ("", "")
    monkeypatch.setattr(accuracy, "PTB_COMMAND", ["java", "-cp", "nowhere", "NoSuchTokenizer"])
    with pytest.raises(RelicError, match="NoSuchTokenizer"):
        accuracy.tokenized(("a loud dog",), PTB)


@needs_java
def test_meteor_takes_empty_captions_and_its_own_separator():
    counts = accuracy.meteor_counts(
        ["", "a ||| dog"], [["a dog"] * 5, ["a ||| dog", "", "b", "c", "d"]]
    )
    assert counts.shape == (2, 23)
    nothing, perfect = accuracy.meteor(counts)
    assert nothing == 0
    assert perfect > 0.5


def test_bleu_by_hand():
    """Five words, all known but the last: precisions 4/5, 3/4, 2/3, 1/2; as long as the reference."""
    counts = accuracy.bleu_counts(["a b c d x"], [["a b c d e", "z"]])
    assert counts.tolist() == [[4, 3, 2, 1, 5, 4, 3, 2, 5, 5]]
    assert accuracy.bleu4(counts)[0] == pytest.approx((4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25)


def test_a_short_caption_is_punished():
    """Four words of eight, all right: precisions 1, brevity exp(1 - 8/4)."""
    counts = accuracy.bleu_counts(["a b c d"], [["a b c d e f g h"]])
    assert accuracy.bleu4(counts)[0] == pytest.approx(np.exp(-1))


def test_without_java_meteor_is_left_out_and_the_tokenizer_is_named(corpus, monkeypatch):
    monkeypatch.setattr(accuracy, "java_problem", lambda: "no Java found")
    scores = accuracy.accuracy(corpus, draws=20)
    assert set(scores["metric"]) == {"BLEU-4", "CIDEr", "ROUGE-L", CHARACTER_BLEU, RAW_CIDER}
    assert set(scores.loc[scores["metric"].isin(METRICS), "tokenizer"]) == {FALLBACK}
    assert "METEOR" not in set(scores["metric"])


def test_java_is_missing_where_the_path_is_empty(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert accuracy.java_problem.__wrapped__() == "no Java found"


def test_java_that_fails_is_named(monkeypatch, tmp_path):
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\nexit 3\n")
    java.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    problem = accuracy.java_problem.__wrapped__()
    assert problem.startswith("Java does not start")
    assert "exit status 3" in problem


def test_a_meteor_that_dies_is_an_error_with_a_mend(monkeypatch, tmp_path):
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\nexit 0\n")
    java.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.setattr(accuracy, "start_meteor", accuracy.start_meteor.__wrapped__)
    with pytest.raises(RelicError, match=r"METEOR's Java process gave no score[\s\S]*to mend"):
        accuracy.meteor_counts(["a dog"], [["a dog"]])


def test_characters_make_strangers_alike():
    """No word but `a` is shared, so no four words; but many runs of four letters."""
    said, other = "a man riding a wave on a surfboard", "a woman is cutting a cake in the kitchen"
    assert accuracy.bleu4(accuracy.bleu_counts([said], [[other]]))[0] < 0.01
    assert character_bleu([said], [[other]])[0] > 0.2
    assert character_bleu(["a dog"], [["a dog"]])[0] == pytest.approx(1)


def test_a_corpus_without_human_captions_cannot_be_scored(corpus):
    nobody = replace(corpus, human=corpus.human.iloc[:0])
    with pytest.raises(RelicError, match="no human captions"):
        accuracy.references_of(nobody)


@pytest.fixture
def refused(monkeypatch):
    """Nothing may be scored."""

    def refuse(*_):
        raise AssertionError("scored again")

    monkeypatch.setattr(accuracy, "score_captions", refuse)


@needs_java
def test_recorded_scores_are_taken_only_for_the_same_captions(corpus, scores, refused, monkeypatch):
    known = scores.assign(captioner="planted_some", source="recorded")
    monkeypatch.setattr(accuracy, "read_record", lambda _: known)
    again = accuracy.accuracy(corpus, draws=50)
    assert set(again["source"]) == {"recorded"}
    with pytest.raises(AssertionError, match="scored again"):
        accuracy.accuracy(corpus, draws=51)
    part = known[known["metric"] != "METEOR"]  # recorded where there was no Java
    monkeypatch.setattr(accuracy, "read_record", lambda _: part)
    with pytest.raises(AssertionError, match="scored again"):
        accuracy.accuracy(corpus, draws=50)


@pytest.fixture
def recorded(refused) -> pd.DataFrame:
    """What a page has without captions."""
    return accuracy.accuracy(RecordedCorpus(load_attribute("gender")))


def test_without_captions_the_record_is_served_in_the_papers_order(recorded):
    names = ["NIC", "NIC (th10)", "SAT", "FC", "Att2in", "UpDn", "Transformer", "OSCAR", "NIC+"]
    assert list(recorded["captioner"].unique()) == [*names, "NIC+Equalizer"]
    assert set(recorded["n"]) == {8350}
    assert recorded.loc[recorded["metric"].isin(METRICS), "tokenizer"].eq(PTB).all()


def test_with_the_real_captions_nothing_is_computed_again(real_data, refused, recorded):
    again = accuracy.accuracy(relic.load_corpus("gender", "real"))
    assert set(again["source"]) == {"recorded"}
    pd.testing.assert_frame_equal(again, recorded)


def test_captioners_are_chosen_by_key_on_any_corpus(corpus, scores):
    some = accuracy.accuracy(corpus, [("planted_some", "standard")], draws=50)
    pd.testing.assert_frame_equal(some, scores)
    elsewhere = RecordedCorpus(load_attribute("gender"), image_sets()[0])
    assert accuracy.accuracy(elsewhere).empty  # the record is of the gender images of all captions


def test_their_way_on_our_images_gives_their_figures(recorded):
    """Our images are 8,350 of theirs, so not to the last digit."""
    turk = relic.published("accuracy").query("metric == 'BLEU-4'").set_index("captioner")["value"]
    turk = turk.rename({"NIC": "NIC (th10)"})  # the captions that they read
    ours = recorded.pivot(index="captioner", columns="metric", values="value").loc[turk.index]
    assert len(ours) == 9
    assert (ours[CHARACTER_BLEU] - turk).abs().max() < 1
    assert (turk - ours["BLEU-4"]).min() > 25
