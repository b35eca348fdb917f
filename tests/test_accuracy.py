"""The COCO metrics: ours are pycocoevalcap's, with or without Java."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

import relic
from relic import paths, records
from relic.accuracy import report as accuracy_report
from relic.accuracy import scores as accuracy
from relic.accuracy.scores import FALLBACK, METRICS, PTB
from relic.accuracy.turk import CHARACTER_BLEU, RAW_CIDER, character_bleu
from relic.errors import RelicError
from relic.page import table_html

needs_java = pytest.mark.skipif(
    bool(accuracy.java_problem()), reason=accuracy.java_problem() or "-"
)


@pytest.fixture(scope="module")
def corpus():
    return relic.load_corpus("gender", "embedded", images=120)


@pytest.fixture(scope="module")
def scores(corpus):
    return accuracy.accuracy(corpus, sets=[("planted_some", "standard")], draws=50)


@needs_java
def test_scores_equal_those_of_pycocoevalcap_called_directly(corpus, scores):
    captions, humans = corpus.captions("planted_some"), accuracy.references_of(corpus)
    told = {i: [{"caption": text} for text in humans[i]] for i in captions.index}
    gts = PTBTokenizer().tokenize(told)
    res = PTBTokenizer().tokenize({i: [{"caption": text}] for i, text in captions.items()})
    theirs = {
        "BLEU-4": Bleu(4).compute_score(gts, res, verbose=0)[0][3],
        "CIDEr": Cider().compute_score(gts, res)[0],
        "METEOR": accuracy.start_meteor().compute_score(gts, res)[0],  # the base class's method
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
    assert set(scores["source"]) == {records.BUILT}


@needs_java
def test_odd_captions_do_not_shift_the_others():
    texts = [
        "a dog",
        "",
        "A line\nbreak\r\u2028 here.",
        "<script>alert(1)</script> & co",
        "...",
        "x",
    ]
    found = accuracy.tokenized(texts, PTB)
    assert found["a dog"] == "a dog"
    assert found[""] == found["..."] == ""
    assert found["A line\nbreak\r\u2028 here."] == "a line break here"
    assert found["x"] == "x"


@needs_java
def test_meteor_takes_empty_captions_and_its_own_separator():
    meteor = accuracy.start_meteor()
    counts = meteor.counts(["", "a ||| dog"], [["a dog"] * 5, ["a ||| dog", "", "b", "c", "d"]])
    assert counts.shape == (2, 23)
    nothing, perfect = meteor.scores(counts)
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
    found = accuracy.accuracy(corpus, sets=[("planted_none", "standard")], draws=20)
    assert set(found["metric"]) == {"BLEU-4", "CIDEr", "ROUGE-L", CHARACTER_BLEU, RAW_CIDER}
    assert set(found.loc[found["metric"].isin(METRICS), "tokenizer"]) == {FALLBACK}
    assert "–" in accuracy_report.shown_accuracy(found)["METEOR"].tolist()
    line = accuracy.tool_line("no Java found")
    assert "METEOR and the PTB tokenizer are left out" in line
    assert "NLTK" in line


def test_java_is_missing_where_the_path_is_empty(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert accuracy.java_problem.__wrapped__() == "no Java found"


def test_java_that_fails_is_named(monkeypatch, tmp_path):
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\nexit 3\n")
    java.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    assert accuracy.java_problem.__wrapped__() == "Java does not start: exit status 3"


def test_a_meteor_that_dies_is_an_error_with_a_mend(monkeypatch, tmp_path):
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\nexit 0\n")
    java.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    with pytest.raises(RelicError, match=r"METEOR's Java process gave no score[\s\S]*to mend"):
        accuracy.start_meteor.__wrapped__().counts(["a dog"], [["a dog"]])


def test_characters_make_strangers_alike():
    words = accuracy_report.example_table()
    assert words["BLEU-4, words"].iloc[0] > 50
    assert words["BLEU-4, words"].iloc[1] < 1
    assert words["BLEU-4, characters"].iloc[1] > 20
    assert character_bleu(["a dog"], [["a dog"]])[0] == pytest.approx(1)


def test_a_corpus_without_human_captions_cannot_be_scored(corpus):
    nobody = replace(corpus, human=corpus.human.iloc[:0])
    with pytest.raises(RelicError, match="no human captions"):
        accuracy.references_of(nobody)


def test_recorded_scores_are_taken_only_for_the_same_captions(corpus, scores, monkeypatch):
    def refuse(*_):
        raise AssertionError("scored again")

    sets = [("planted_some", "standard")]
    kept = scores[scores["metric"].isin([*METRICS, CHARACTER_BLEU, RAW_CIDER])].assign(source="recorded")  # fmt: skip
    if not set(METRICS) <= set(kept["metric"]):
        pytest.skip(accuracy.java_problem())
    monkeypatch.setattr(accuracy, "score_captions", refuse)
    again = accuracy.accuracy(corpus, sets=sets, draws=50, recorded=kept)
    assert set(again["source"]) == {"recorded"}
    with pytest.raises(AssertionError, match="scored again"):
        accuracy.accuracy(corpus, sets=sets, draws=51, recorded=kept)


def test_ranks_of_accuracy_and_bias_by_hand():
    """Values 1 2 3 4 5 against LIC 2 1 4 3 5: d² sums to 4, ρ = 1 - 6·4/(5·24) = 0.8."""
    pairs = pd.DataFrame({"metric": "CIDEr", "value": [1, 2, 3, 4, 5.0], "LIC": [2, 1, 4, 3, 5.0]})
    row = accuracy_report.rank_correlations(pairs).iloc[0]
    assert row["ρ"] == pytest.approx(0.8)
    assert row["low"] < 0 < 0.8 < row["high"]
    assert row["captioners"] == 5


def test_a_caption_with_markup_is_shown_as_text():
    frame = pd.DataFrame({"caption": ["<script>alert(1)</script> & a dog"]})
    shown = table_html(frame, "x.csv", "captions")
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; a dog" in shown
    assert "<script>" not in shown


def test_published_figures_are_all_there():
    theirs = pd.read_csv(paths.PUBLISHED / "accuracy.csv")
    assert len(theirs) == 9 * 4
    assert set(theirs["metric"]) == set(METRICS)


def test_the_record_holds_numbers_only_and_every_captioner():
    known = accuracy_report.recorded_accuracy()
    assert known["captioner"].nunique() == 9
    assert set(known["n"]) == {8350}
    assert known.loc[known["metric"].isin(METRICS), "tokenizer"].eq(PTB).all()
    for file in records.home(accuracy.RECORD).glob("*.csv"):
        assert "caption" not in pd.read_csv(file).columns


def test_their_way_on_our_images_gives_their_figures():
    """Our images are 8,350 of theirs, so not to the last digit."""
    table = accuracy_report.turk_table(accuracy_report.recorded_accuracy())
    part = table[table["metric"] == "BLEU-4"]
    assert (part["their way, our images"] - part["Türk et al."]).abs().max() < 1
    assert (part["Türk et al."] - part["COCO tools, our images"]).min() > 25


def test_the_record_is_of_the_real_captions(real_data):
    """Scores a captioner again, on few draws: its value does not depend on them."""
    corpus = relic.load_corpus("gender", "real")
    captions = corpus.captions("oscar").loc[corpus.deepest].sort_index()
    known = accuracy_report.recorded_accuracy()
    mark = accuracy._mark(captions, accuracy.references_of(corpus), 1000, 0)
    assert set(known.loc[known["name"] == "OSCAR", "fingerprint"]) == {mark}
