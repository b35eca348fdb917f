"""Attributed runs: stored once, summed up right, no caption text recorded, escaped in colour."""

import html
import re

import numpy as np
import pandas as pd
import pytest

from relic import paths
from relic.chapters import attribution as module
from relic.chapters.attribution import (
    FEWEST,
    attributed,
    attributions,
    coloured,
    examples,
    publish,
    recorded,
    scores,
    words,
)
from relic.data.attribute import load_attribute
from relic.data.planted import planted_corpus
from relic.errors import RelicError
from relic.measure.runs import Run, describe
from relic.records.check import leaks
from relic.records.serve import RecordedCorpus, load_corpus

EVIL = "<script>alert('x')</script>"


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
    fields = {"corpus": "COCO captions", "attribute": "gender", "captioner": "nic_plus"}
    return {Run(**({"classifier": "lstm"} | fields | run)): pd.DataFrame(rows)}


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


def test_word_means_count_a_caption_once_and_equal_captions_as_one(monkeypatch):
    monkeypatch.setattr(module, "FEWEST", 2)
    captions = [
        (1, 0.9, "dog dog", [1.0, 3.0]),  # 2 on average
        (1, 0.9, "dog dog", [1.0, 3.0]),  # the same again
        (0, 0.9, "a dog", [0.5, 8.0]),
    ]
    rows = words(made(captions)).set_index("word")
    dog = rows.loc["dog"]
    assert (dog["captions_with"], dog["different"], dog["mean"]) == (3, 2, 4.0)
    # clusters deviate by -2 twice and by +4: sqrt((16 + 16) * 2 / 1) / 3
    assert dog["se"] == pytest.approx(8 / 3)
    assert dog["share"] == pytest.approx(16 / 16.5)
    assert "a" not in rows.index  # in one caption only


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
    with pytest.raises(RelicError, match=r"-1 steps\s+expected: a whole number, 0 for the class"):
        attributed(corpus, describe(corpus, "planted_lot", "lstm"), steps=-1, directory=tmp_path)
    with pytest.raises(RelicError, match="two or more"):
        attributions(corpus, ["planted_lot"], "lstm", [0])
    assert trained == []


def test_examples_are_the_surest_image_and_the_one_most_apart_in_everyones_words():
    said = [(1, 0.9, "red dog", [3.0, 4.0]), (0, 0.4, "blue dog", [-3.0, 4.0])]
    said += [(1, 0.6, "dog " * 13, [1.0] * 13), (0, 0.5, "cat", [-1.0])]
    other = [(1, 0.8, "red", [1.0]), (0, 0.9, "a dog", [0.0, 2.0]), *said[2:]]
    both = {"of": "probability"}
    done = made(said, **both) | made(other, captioner="nic", **both) | made(said, seed=5, **both)
    quoted = examples(done)
    assert quoted["caption"].tolist() == ["red dog", "red", "blue dog", "a dog"]
    assert quoted["captioner"].tolist() == ["nic_plus", "nic"] * 2
    assert quoted["attributions"].tolist() == [
        "0.600 0.800",
        "1.000",
        "-0.600 0.800",
        "0.000 1.000",
    ]
    assert "image_id" not in quoted


def test_recording_replaces_a_run_and_keeps_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    many = [(i % 2, 0.9 if i % 2 else 0.1, f"null dog{i}", [1.0, 0.1 * i]) for i in range(6)]
    publish(made(many, seed=0) | made(many[1:], seed=1))
    publish(made(many, seed=1))
    known, listed = recorded("scores"), recorded("words")
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
    assert len(recorded("examples")) == 6
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
    known, listed = recorded("scores"), recorded("words")
    assert not listed["word"].str.contains(r"\s").any()
    assert (listed["different"] >= FEWEST).all()
    assert not known.duplicated(["key", "of", "steps"]).any()
    assert not known["corpus"].str.contains("synthetic").any()
    assert (known["commit"].str.len() == 12).all()
    assert_described(known)


def test_without_captions_recorded_runs_are_served_and_others_are_an_error(trained):
    corpus = RecordedCorpus(load_attribute("gender"))
    pair = ["nic_plus", "nic_equalizer"]
    table, listed, quoted = attributions(corpus, pair, "lstm", [0])
    assert sorted(zip(table["captioner"], table["of"], strict=True)) == [
        (name, of) for name in sorted(pair) for of in ("logit", "probability")
    ]
    assert set(table["source"]) == {"recorded"}
    assert set(table["size"]) == {0}  # not the small run of another classifier
    assert set(listed["key"]) == set(quoted["key"]) == set(table["key"])
    with pytest.raises(RelicError, match=r"not recorded.* seed 7"):
        attributions(corpus, pair, "lstm", [0, 7])


def test_a_synthetic_page_rests_on_its_own_runs(trained, monkeypatch, tmp_path):
    monkeypatch.setenv(paths.RUNS_SETTING, str(tmp_path))
    monkeypatch.setattr(module, "SMALL", 80)
    monkeypatch.setattr(module, "CHECKED", 0)
    corpus = planted_corpus("gender", images=300)
    pair = ["planted_none", "planted_lot"]
    table, listed, quoted = attributions(corpus, pair, "lstm", [0])
    assert quoted["captioner"].tolist() == pair * 2
    assert set(table["source"]) == {"own"}
    assert [run.captioner for run in trained] == pair
    assert set(listed["key"]) == {run.key for run in trained}


def test_with_the_real_captions_the_recorded_runs_are_the_same(real_data, trained):
    """Their fingerprints match, so nothing is trained."""
    corpus = load_corpus("gender", "real")
    table, *_ = attributions(corpus, ["nic_plus", "nic_equalizer"], "lstm", [0])
    assert set(table["source"]) == {"recorded"}
    assert trained == []


# --- captions in colour -----------------------------------------------------------------------


def card(**other) -> pd.DataFrame:
    row = {"captioner": "nic_plus", "y": 0, "p": 0.74, "score": -1.755}
    words = {"caption": f"a dog & {EVIL}", "attributions": "0.0 0.5 -0.2 -0.8"}
    return pd.DataFrame([row | words | other])


def test_text_from_captions_is_escaped_everywhere():
    text = coloured(card(captioner=EVIL), (EVIL, EVIL), EVIL)
    assert "<script" not in text
    assert text.count("&lt;script&gt;") == 10  # caption, 4 in the legend, 5 in the card
    assert ">&amp;<sup>" in text


def as_read(captions: pd.DataFrame) -> str:
    """Without tags: what a reader sees who sees no colour."""
    text = re.sub(r"<[^>]+>", "", coloured(captions, ("Male", "Female"), ""))
    return html.unescape(" ".join(text.split()))


def test_directions_and_strengths_can_be_read_without_colour():
    text = as_read(card())
    assert f"a dog++ &− {EVIL}−−" in text
    assert "towards Female++ towards Female+ towards Male− towards Male−−" in text


def test_a_card_has_labels_probability_and_score():
    labelled = "NIC+ true Male · predicted Female (0.74, wrong) · attribution Male (−1.75)"
    assert labelled in as_read(card())
    assert "predicted Male (0.90) ·" in as_read(card(p=0.1))


def test_a_word_carries_its_number():
    text = coloured(
        card(caption="cat a dog", attributions="-0.3 0.02 0.45"), ("Male", "Female"), ""
    )
    assert '<span class="zero faint" title="−0.30">cat<sup>−</sup></span>' in text
    assert '<span class="plain">a</span>' in text
    assert '<span class="one strong" title="0.45">dog<sup>++</sup></span>' in text
