"""relic.attribution.runs and its tables: stored once, summed up right, no caption text recorded."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from relic.attribution import runs as module
from relic.attribution import tables, text
from relic.attribution.runs import (  # fmt: skip
    Attributed,
    attribute_all,
    attributed,
    publish,
    read_recorded,
    score_row,
    word_rows,
)
from relic.errors import RelicError
from relic.planted import planted_corpus
from relic.runs import Run, describe

ABOUT = {
    "seconds": 1.0,
    "commit": "abc",
    "dirty": False,
    "versions": {"torch": "2"},
    "device": "CPU",
}


def made(captions: list[tuple], *, of: str = "logit", **run) -> Attributed:
    """From (y, p, words, attributions); two captions are checked, one of them off by 0.1."""
    rows = []
    for i, (y, p, words, values) in enumerate(captions):
        norm = float(np.linalg.norm(values))
        score = sum(values) / norm
        rows.append(
            {"image_id": i, "y": y, "p": p, "words": words.split(), "attributions": values, "norm": norm}
            | {"score": score, "output": 1.0, "baseline": 0.25, "delta": -0.5 if i else 0.1}
            | {"reference": {0: score, 1: score + 0.1}.get(i, np.nan), "gap": 0.0 if i < 2 else np.nan}
        )  # fmt: skip
    told = {"corpus": "COCO captions", "attribute": "gender", "captioner": "nic_plus", "classifier": "lstm"}  # fmt: skip
    return Attributed(Run(**(told | run)), of, 20, pd.DataFrame(rows), ABOUT)


FOUR = [
    (1, 0.9, "red dog", [3.0, 4.0]),  # score 7/5, right
    (1, 0.8, "red cat", [3.0, -4.0]),  # score -1/5, right
    (1, 0.1, "dog", [9.0]),  # wrong: does not count
    (0, 0.2, "blue dog", [-3.0, -4.0]),  # score -7/5, right
]


def test_scores_are_averaged_by_class_over_correct_captions():
    row = score_row(made(FOUR))
    assert row["class1"] == pytest.approx((7 / 5 - 1 / 5) / 2)
    assert row["class0"] == pytest.approx(7 / 5)  # a magnitude
    assert row["sum"] == pytest.approx(2)
    assert (row["n_class1"], row["n_class0"], row["n_test"]) == (2, 1, 4)
    assert row["max_delta"] == 0.5
    assert (row["n_checked"], row["max_apart"]) == (2, pytest.approx(0.1))
    assert row["mean_apart"] == pytest.approx(0.05)


def test_word_means_count_a_caption_once_and_equal_captions_as_one():
    captions = [
        (1, 0.9, "dog dog", [1.0, 3.0]),  # 2 on average
        (1, 0.9, "dog dog", [1.0, 3.0]),  # the same again
        (0, 0.9, "a dog", [0.5, 8.0]),
    ]
    rows = word_rows(made(captions), fewest=2).set_index("word")
    dog = rows.loc["dog"]
    assert (dog["captions_with"], dog["different"], dog["mean"]) == (3, 2, 4.0)
    # clusters deviate by -2 twice and by +4: sqrt((16 + 16) * 2 / 1) / 3
    assert dog["se"] == pytest.approx(8 / 3)
    assert dog["share"] == pytest.approx(16 / 16.5)
    assert "a" not in rows.index  # in one caption only


def test_one_run_has_intervals_over_captions_and_several_over_seeds():
    row = {"classifier": "lstm", "side": "model", "captioner": "c", "word": "dog", "captions_with": 9,
           "different": 5, "mean": 1.0, "se": 0.1, "share": 0.5}  # fmt: skip
    one = tables.pool_words(pd.DataFrame([row])).iloc[0]
    assert one["high"] - one["mean"] == pytest.approx(0.1 * stats.t.ppf(0.975, 4))
    assert one["sure"] == pytest.approx(one["low"])
    three = tables.pool_words(pd.DataFrame([row | {"mean": mean} for mean in (0.0, 1.0, 2.0)]))
    half = stats.t.ppf(0.975, 2) * np.sqrt(1 / 3 + 1 / 9)  # standard deviation 1, splits overlap
    assert three["low"][0] == pytest.approx(1 - half)
    assert three["sure"][0] == 0  # the interval holds zero
    assert three["n"][0] == 27


def pooled(captioner: str, means: dict) -> pd.DataFrame:
    rows = [
        {"classifier": "lstm", "side": "model", "captioner": captioner, "word": word, "mean": mean}
        | {"captions_with": 20, "different": 16, "se": 0.3, "share": 0.1}
        for word, mean in means.items()
    ]  # fmt: skip
    return tables.pool_words(pd.DataFrame(rows))


def test_differences_are_second_less_first_with_welchs_interval_and_holms_p():
    both = pd.concat([pooled("one", {"dog": 1, "cat": 0, "own": 5}), pooled("two", {"dog": 0, "cat": 0.1})])  # fmt: skip
    found = tables.differences(both, "lstm", "one", "two")
    assert found["word"].tolist() == ["dog", "cat"]  # shared words only, the largest first
    dog = found.iloc[0]
    se = np.sqrt(2 * 0.3**2)
    assert dog["difference"] == -1
    assert dog["high"] - dog["difference"] == pytest.approx(se * stats.t.ppf(0.975, 30))
    assert dog["p"] == pytest.approx(2 * 2 * stats.t.sf(1 / se, 30))  # the smaller of two: doubled
    assert tables.differences(both, "lstm", "one", "none of them").empty


def test_agreement_is_told_in_percent_of_the_mean_score():
    table = tables.steps_table(tables.scores([made(FOUR)]))
    size = (7 / 5 + abs(-1 / 5 + 0.1)) / 2
    assert table["captions checked"][0] == 2
    assert table["mean difference (%)"][0] == pytest.approx(100 * 0.05 / size)
    assert table["largest difference (%)"][0] == pytest.approx(100 * 0.1 / size)
    assert table["largest |delta|"][0] == 0.5
    assert "**no**" in text.steps_answer(table)
    assert "steps: yes" in text.steps_answer(table.assign(**{"mean difference (%)": 0.9}))


def test_planted_log_odds_are_those_of_the_lexicon():
    corpus = planted_corpus("gender", images=200)
    odds = tables.planted_log_odds(corpus, "planted_lot")
    assert odds["a"] == pytest.approx(0)  # said of everyone
    assert odds["skateboard"] < -1 < 0 < odds["cake"]
    faithful = tables.planted_log_odds(corpus, "planted_none")
    assert odds["skateboard"] < faithful["skateboard"]  # the amplifier leans more
    assert "fixing" not in odds  # its vocabulary lacks the rarer phrases


@pytest.fixture
def tiny_training(monkeypatch):
    monkeypatch.setattr("relic.classifiers.lstm.HIDDEN", 8)
    counted = []
    real = module.fit
    monkeypatch.setattr(module, "fit", lambda *told: counted.append(told[1]) or real(*told))
    return counted


def test_a_run_is_trained_once_and_then_read_from_the_store(tmp_path, tiny_training):
    corpus = planted_corpus("gender", images=300)
    options = {"described": {"size": 80}, "recipes": tables.BRIEF, "human": ["lstm"], "steps": 3, "checked": 1}  # fmt: skip
    first, again = (
        attribute_all(corpus, ["planted_lot"], ["lstm"], directory=tmp_path, **options)
        for _ in range(2)
    )
    assert [run.side for run in tiny_training] == ["model", "human"]
    assert [(d.run.side, d.of) for d in again] == [
        ("model", "logit"), ("model", "probability"), ("human", "logit"), ("human", "probability")
    ]  # fmt: skip
    assert again[0].run == first[0].run == describe(corpus, "planted_lot", "lstm", size=80, recipe="1e-3x4")  # fmt: skip
    for one, other in zip(first, again, strict=True):
        assert list(map(list, one.captions["attributions"])) == list(map(list, other.captions["attributions"]))  # fmt: skip
        assert one.about == other.about
    assert tables.words(again, "logit")["word"].tolist() == tables.words(first, "logit")["word"].tolist()  # fmt: skip
    assert not list(tmp_path.rglob(".*"))  # nothing half written is left


def test_a_broken_file_says_how_to_mend_it(tmp_path, tiny_training):
    corpus = planted_corpus("gender", images=300)
    run = describe(corpus, "planted_lot", "lstm", size=80, recipe="1e-3x4")
    attributed(corpus, run, outputs=["logit"], steps=2, directory=tmp_path)
    (file,) = tmp_path.rglob("*.parquet")
    file.write_bytes(b"PAR1 cut short")
    with pytest.raises(RelicError, match="delete"):
        attributed(corpus, run, outputs=["logit"], steps=2, directory=tmp_path)


def test_wrong_requests_are_refused_before_training(tmp_path, tiny_training):
    corpus = planted_corpus("gender", images=300)
    linear = describe(corpus, "planted_lot", "linear")
    lstm = describe(corpus, "planted_lot", "lstm")
    for run, options in ((linear, {}), (lstm, {"outputs": ["loss"]}), (lstm, {"checked": -1})):
        with pytest.raises(RelicError):
            attributed(corpus, run, directory=tmp_path, **options)
    with pytest.raises(RelicError, match="two or more"):
        tables.two_captioners(corpus, ["planted_lot"])
    assert tiny_training == []


def test_recording_replaces_a_run_and_keeps_the_others(tmp_path):
    many = [(i % 2, 0.9 if i % 2 else 0.1, f"null dog{i}", [1.0, 0.1 * i]) for i in range(6)]
    publish([made(many, seed=0), made(many, seed=1)], tmp_path)
    publish([made(many, seed=1), made(many, seed=1, of="probability")], tmp_path)
    scores, words = read_recorded("scores", tmp_path), read_recorded("words", tmp_path)
    assert sorted(zip(scores["seed"], scores["of"], strict=True)) == [(0, "logit"), (1, "logit"), (1, "probability")]  # fmt: skip
    assert set(words["word"]) == {"null"}  # a word, not a gap; dog0... stand in one caption each
    assert set(words["captions_with"]) == {6}
    assert_described(scores)


def assert_described(scores: pd.DataFrame) -> None:
    """Every row still describes the run its key names."""
    names = list(Run.__dataclass_fields__)
    assert [Run(**row).key for row in scores[names].to_dict("records")] == scores["key"].tolist()


def test_synthetic_runs_are_not_recorded(tmp_path):
    with pytest.raises(RelicError, match="real captions"):
        publish([made(FOUR, corpus="embedded corpus (synthetic)")], tmp_path)


def test_recorded_files_hold_single_words_and_numbers_only():
    words, scores = read_recorded("words"), read_recorded("scores")
    if scores.empty:
        pytest.skip("nothing is recorded")
    assert not words["word"].str.contains(r"\s").any()
    assert (words["different"] >= module.FEWEST).all()
    assert not scores.duplicated(["key", "of", "steps"]).any()
    assert not scores["corpus"].str.contains("synthetic").any()
    assert (scores["commit"].str.len() == 12).all()
    assert_described(scores)
    assert (tables.published_table()["seeds"] > 0).any()  # what is recorded is found again


def test_with_one_seed_no_captioner_is_said_to_differ():
    corpus = planted_corpus("gender", images=300)
    found = pd.DataFrame({"word": ["dog"], "p": [1e-9]})
    pair = ["planted_none", "planted_lot"]
    assert "undecided" in text._differ(found, corpus, pair, [0])
    assert "1 differ" in text._differ(found, corpus, pair, [0, 12])
    assert "*dog*" in text._differ(found, corpus, pair, [0, 12])


def test_published_values_are_the_papers_and_stand_beside_ours():
    table = tables.published_table()
    row = table.set_index(["classifier", "captioner"]).loc[("LSTM", "NIC+Equalizer")]
    assert (row["Türk Female"], row["Türk Male"], row["Türk sum"]) == (1.31, 1.22, 2.53)
    assert len(table) == 6


def test_which_captioner_has_the_larger_sum_is_judged_by_our_rule():
    same = {"side": "model", "split": "upstream", "of": "probability", "size": 0, "labels": "true", "steps": 9}  # fmt: skip
    rows = [
        same | {"classifier": "lstm", "captioner": name, "seed": seed, "sum": value, "key": f"{name}{seed}"}
        for name, values in (("nic_plus", [1.0, 1.1, 0.9]), ("nic_equalizer", [2.0, 2.2, 2.1]))
        for seed, value in enumerate(values)
    ]  # fmt: skip
    scores = pd.DataFrame(rows)
    table = tables.published_table()
    lstm, bert = tables.published_summary(table, scores).splitlines()
    assert "✓ supported" in lstm
    assert "not recorded for both" in bert
    one = tables.published_summary(table, scores[scores["seed"] == 0])
    assert "ours 1.00 (1 seed, so no interval): **? undecided**" in one
    less = scores.assign(sum=-scores["sum"])
    assert "✗ not supported" in tables.published_summary(table, less)
