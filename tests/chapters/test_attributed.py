"""relic.chapters.attribution.runs and tables: stored once, summed up right, no caption text recorded."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from relic import paths
from relic.chapters.attribution import runs as module
from relic.chapters.attribution import tables
from relic.chapters.attribution.runs import attributed, attributions, publish, read_recorded
from relic.chapters.attribution.tables import FEWEST, examples, scores, words
from relic.data.attribute import load_attribute
from relic.data.planted import planted_corpus
from relic.errors import RelicError
from relic.judge.stats import shared
from relic.measure.runs import Run, describe
from relic.records.check import leaks
from relic.records.serve import RecordedCorpus, load_corpus

RHO = shared(1)  # of classes of one size: tables of words do not say which


def made(captions: list[tuple], *, of: str = "logit", **run) -> dict:
    """From (y, p, text, attributions); two captions are checked, one of them off by 0.1."""
    rows = []
    for i, (y, p, text, values) in enumerate(captions):
        norm = float(np.linalg.norm(values))
        score = sum(values) / norm
        rows.append(
            {"image_id": i, "y": y, "p": p, "words": text.split(), "attributions": values}
            | {"norm": norm, "score": score, "delta": -0.5 if i else 0.1, "of": of, "steps": 20}
            | {"reference": {0: score, 1: score + 0.1}.get(i, np.nan)}
            | {"seconds": 1.0, "commit": "abc"}
        )
    about = {"corpus": "COCO captions", "attribute": "gender", "captioner": "nic_plus"}
    return {Run(**({"classifier": "lstm"} | about | run)): pd.DataFrame(rows)}


FOUR = [
    (1, 0.9, "red dog", [3.0, 4.0]),  # score 7/5, right
    (1, 0.8, "red cat", [3.0, -4.0]),  # score -1/5, right
    (1, 0.1, "dog", [9.0]),  # wrong: does not count
    (0, 0.2, "blue dog", [-3.0, -4.0]),  # score -7/5, right
]


def test_scores_are_averaged_by_class_over_correct_captions():
    row = scores(made(FOUR)).iloc[0]
    assert row["class1"] == pytest.approx((7 / 5 - 1 / 5) / 2)
    assert row["class0"] == pytest.approx(7 / 5)  # a magnitude
    assert row["sum"] == pytest.approx(2)
    assert (row["n_class1"], row["n_class0"], row["n_test"]) == (2, 1, 4)
    assert row["max_delta"] == 0.5
    assert row["n_checked"] == 2
    assert row["apart"] == pytest.approx(100 * 0.05 / ((7 / 5 + 1 / 5 - 0.1) / 2))


def test_word_means_count_a_caption_once_and_equal_captions_as_one():
    captions = [
        (1, 0.9, "dog dog", [1.0, 3.0]),  # 2 on average
        (1, 0.9, "dog dog", [1.0, 3.0]),  # the same again
        (0, 0.9, "a dog", [0.5, 8.0]),
    ]
    rows = words(made(captions), fewest=2).set_index("word")
    dog = rows.loc["dog"]
    assert (dog["captions_with"], dog["different"], dog["mean"]) == (3, 2, 4.0)
    # clusters deviate by -2 twice and by +4: sqrt((16 + 16) * 2 / 1) / 3
    assert dog["se"] == pytest.approx(8 / 3)
    assert dog["share"] == pytest.approx(16 / 16.5)
    assert "a" not in rows.index  # in one caption only


def word_frame(**captioners) -> pd.DataFrame:
    """From captioner = {word: mean by seed}."""
    about = {"captions_with": 9, "different": 5, "se": 0.1, "share": 0.5}
    return pd.DataFrame(
        [
            about | {"captioner": name, "word": word, "seed": seed, "mean": mean}
            for name, means in captioners.items()
            for word, by_seed in means.items()
            for seed, mean in enumerate(by_seed)
        ]
    )


def test_one_run_has_intervals_over_captions_and_several_over_seeds():
    one = tables.pooled(word_frame(nic_plus={"dog": [1.0]})).iloc[0]
    assert one["high"] - one["mean"] == pytest.approx(0.1 * stats.t.ppf(0.975, 4))
    assert one["sure"] == pytest.approx(one["low"])
    assert one["captioner"] == "NIC+"
    rare = {"dog": [0.0, 1.0, 2.0], "rare": [5.0]}  # a word that two splits lack is left out
    (three,) = tables.pooled(word_frame(nic_plus=rare)).to_dict("records")
    half = stats.t.ppf(0.975, 2) * np.sqrt(1 / 3 + RHO)  # standard deviation 1, splits overlap
    assert three["low"] == pytest.approx(1 - half)
    assert three["sure"] == 0  # the interval holds zero
    assert (three["n"], three["splits"]) == (27, 3)


def test_differences_are_second_less_first_over_splits_with_holms_p():
    first = {"dog": [1.0, 1.0, 1.0], "cat": [0.0, 0.0, 0.0], "own": [5.0, 5.0, 5.0]}
    second = {"dog": [0.0, 0.1, -0.1], "cat": [0.1, 0.3, -0.1], "own": [9.0]}
    found = tables.differences(word_frame(nic=first, sat=second), "nic", "sat")
    assert found["word"].tolist() == ["dog", "cat"]  # in every split of both, the largest first
    dog, error = found.iloc[0], 0.1 * np.sqrt(1 / 3 + RHO)
    assert dog["difference"] == pytest.approx(-1)
    assert dog["high"] + 1 == pytest.approx(error * stats.t.ppf(0.975, 2))
    assert dog["p"] == pytest.approx(2 * 2 * stats.t.sf(1 / error, 2))  # smaller of two: doubled


def test_one_split_gives_no_interval_of_a_difference():
    one = tables.differences(word_frame(nic={"dog": [1.0]}, sat={"dog": [3.0]}), "nic", "sat")
    assert one["difference"].tolist() == [2.0]
    assert one[["low", "high", "p"]].isna().all(axis=None)


def test_planted_log_odds_are_those_of_the_lexicon():
    corpus = planted_corpus("gender", images=200)
    odds = tables.planted_log_odds(corpus, "planted_lot")
    assert odds["a"] == pytest.approx(0)  # said of everyone
    assert odds["skateboard"] < -1 < 0 < odds["cake"]
    faithful = tables.planted_log_odds(corpus, "planted_none")
    assert odds["skateboard"] < faithful["skateboard"]  # the amplifier leans more
    assert "fixing" not in odds  # its vocabulary lacks the rarer phrases


@pytest.fixture
def trained(monkeypatch):
    """Runs that are trained, with a tiny network."""
    monkeypatch.setattr("relic.measure.classifiers.lstm.HIDDEN", 8)
    monkeypatch.setattr(module, "REFERENCE", 20)
    counted, real = [], module.fit
    monkeypatch.setattr(module, "fit", lambda *given: counted.append(given[1]) or real(*given))
    return counted


def test_a_run_is_trained_once_and_then_read_from_the_store(tmp_path, trained):
    corpus = planted_corpus("gender", images=300)
    run = describe(corpus, "planted_lot", "lstm", size=80, recipe="1e-3x4")
    how = {"steps": 3, "checked": 1, "directory": tmp_path}
    first, again = (attributed(corpus, run, **how) for _ in range(2))
    assert trained == [run]
    assert first["of"].unique().tolist() == ["logit", "probability"]
    for name in ("words", "attributions"):
        assert list(map(list, first[name])) == list(map(list, again[name]))
    pd.testing.assert_frame_equal(scores({run: first}), scores({run: again}))
    assert first["reference"].notna().sum() >= 2  # one caption, of either output
    assert not list(tmp_path.rglob(".*"))  # nothing half written is left


def test_a_broken_file_is_computed_again_with_a_warning(tmp_path, trained):
    corpus = planted_corpus("gender", images=300)
    run = describe(corpus, "planted_lot", "lstm", size=80, recipe="1e-3x4")
    how = {"steps": 2, "checked": 0, "directory": tmp_path}
    first = attributed(corpus, run, **how)
    (file,) = tmp_path.rglob("*.parquet")
    file.write_bytes(b"PAR1 cut short")
    with pytest.warns(UserWarning, match="computed again"):
        again = attributed(corpus, run, **how)
    assert first["attributions"].tolist() == again["attributions"].tolist()
    assert trained == [run, run]


def test_wrong_requests_are_refused_before_training(tmp_path, trained):
    corpus = planted_corpus("gender", images=300)
    with pytest.raises(RelicError, match="linear"):
        attributed(corpus, describe(corpus, "planted_lot", "linear"), directory=tmp_path)
    with pytest.raises(RelicError, match="two or more"):
        attributions(corpus, ["planted_lot"], "lstm", [0])
    assert trained == []


def test_examples_are_the_surest_image_and_the_one_most_apart_in_everyones_words():
    said = [(1, 0.9, "red dog", [3.0, 4.0]), (0, 0.4, "blue dog", [-3.0, 4.0])]
    said += [(1, 0.6, "dog " * 13, [1.0] * 13), (0, 0.5, "cat", [-1.0])]
    other = [(1, 0.8, "red", [1.0]), (0, 0.9, "a dog", [0.0, 2.0]), *said[2:]]
    both = {"of": "probability"}
    done = made(said, **both) | made(other, captioner="nic", **both) | made(said, seed=5, **both)
    found = examples(done)
    assert found["caption"].tolist() == ["red dog", "red", "blue dog", "a dog"]
    assert found["captioner"].tolist() == ["nic_plus", "nic"] * 2
    assert found["attributions"].tolist() == ["0.600 0.800", "1.000", "-0.600 0.800", "0.000 1.000"]
    assert "image_id" not in found


def test_recording_replaces_a_run_and_keeps_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    many = [(i % 2, 0.9 if i % 2 else 0.1, f"null dog{i}", [1.0, 0.1 * i]) for i in range(6)]
    publish(made(many, seed=0) | made(many[1:], seed=1))
    publish(made(many, seed=1))
    known, listed = read_recorded("scores"), read_recorded("words")
    assert known[["seed", "n_test"]].to_numpy().tolist() == [[0, 6], [1, 6]]
    assert set(listed["word"]) == {"null"}  # a word, not a gap; dog0... stand in one caption each
    assert set(listed["captions_with"]) == {6}
    assert not (tmp_path / "attribution" / "examples.csv").exists()  # captions only when asked for
    assert_described(known)


def test_quoted_captions_pass_the_check_of_results(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    said = [(i, 0.5, "a [gender] on a red motorcycle with a dog", [0.1] * 9) for i in (0, 1)]
    both = {"of": "probability"}
    three = (
        made(said, **both)
        | made(said, captioner="nic", **both)
        | made(said, captioner="sat", **both)
    )
    three = {run: pd.concat([c, c.assign(of="logit")]) for run, c in three.items()}
    publish(three, quote=True)
    assert len(read_recorded("examples")) == 6
    assert leaks(tmp_path) == []


def assert_described(known: pd.DataFrame) -> None:
    """Every row still describes the run its key names."""
    names = list(Run.__dataclass_fields__)
    assert [Run(**row).key for row in known[names].to_dict("records")] == known["key"].tolist()


def test_synthetic_runs_are_not_recorded(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    with pytest.raises(RelicError, match="real captions"):
        publish(made(FOUR, corpus="embedded corpus (synthetic)"))


def test_recorded_files_hold_single_words_and_numbers_only():
    known, listed = read_recorded("scores"), read_recorded("words")
    assert not listed["word"].str.contains(r"\s").any()
    assert (listed["different"] >= FEWEST).all()
    assert not known.duplicated(["key", "of", "steps"]).any()
    assert not known["corpus"].str.contains("synthetic").any()
    assert (known["commit"].str.len() == 12).all()
    assert_described(known)


def test_without_captions_recorded_runs_are_served_and_others_are_an_error(trained):
    corpus = RecordedCorpus(load_attribute("gender"))
    pair = ["nic_plus", "nic_equalizer"]
    found, listed, quoted = attributions(corpus, pair, "lstm", [0])
    assert sorted(zip(found["captioner"], found["of"], strict=True)) == [
        (name, of) for name in sorted(pair) for of in ("logit", "probability")
    ]
    assert set(found["source"]) == {"recorded"}
    assert set(found["size"]) == {0}  # not the small run of another classifier
    assert set(listed["key"]) == set(quoted["key"]) == set(found["key"])
    with pytest.raises(RelicError, match="seed 7: no attributions"):
        attributions(corpus, pair, "lstm", [0, 7])


def test_a_synthetic_page_rests_on_its_own_runs(trained, monkeypatch, tmp_path):
    monkeypatch.setenv(paths.RUNS_SETTING, str(tmp_path))
    monkeypatch.setattr(module, "SMALL", 80)
    monkeypatch.setattr(module, "CHECKED", 0)
    corpus = planted_corpus("gender", images=300)
    pair = ["planted_none", "planted_lot"]
    found, listed, quoted = attributions(corpus, pair, "lstm", [0])
    assert quoted["captioner"].tolist() == pair * 2
    assert set(found["source"]) == {"own"}
    assert [run.captioner for run in trained] == pair
    assert set(listed["key"]) == {run.key for run in trained}


def test_with_the_real_captions_the_recorded_runs_are_the_same(real_data, trained):
    """Their fingerprints match, so nothing is trained."""
    corpus = load_corpus("gender", "real")
    found, *_ = attributions(corpus, ["nic_plus", "nic_equalizer"], "lstm", [0])
    assert set(found["source"]) == {"recorded"}
    assert trained == []
