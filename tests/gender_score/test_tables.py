"""relic.gender_score: distances, studies, tables and their intervals, on hand-made captions."""

import json

import numpy as np
import pandas as pd
import pytest

import relic
from relic.errors import RelicError
from relic.gender_score.agreement import captioner_lic, choice_agreement, lic_agreement
from relic.gender_score.distance import distance_table, nearest_objects, similarities, train_labels
from relic.gender_score.record import DIRECTORY, recorded
from relic.gender_score.study import (
    AUTHORS_CAPTIONER,
    Study,
    karpathy_study,
    lic_study,
    read_results,
)
from relic.gender_score.tables import (
    COUNTED,
    DISTANCE,
    ESTIMATED,
    SCORE,
    cloze_table,
    count_check,
    estimation_table,
    example_table,
    left_out,
    object_table,
    score_table,
)
from relic.gender_score.vectors import WordVectors
from relic.stats import rank_correlation

VECTORS = WordVectors(
    "hand",
    {
        "person": np.array([0.0, 0.0, 1.0]), "man": np.array([1.0, 0.0, 0.0]), "woman": np.array([0.0, 1.0, 0.0]),
        "bat": np.array([0.8, 0.6, 0.0]), "pan": np.array([0.0, 0.8, 0.6]), "cup": np.array([0.0, 0.0, 1.0]),
    },
)  # fmt: skip
LABELS = ["bat", "bat", "pan", "cup", "xyz"]


@pytest.fixture
def study():
    captions = ["a man on a bike", "a woman on a bike", "a boy", "a person", "a man and a woman"]
    ids = [1, 2, 3, 4, 5]
    human = pd.DataFrame(
        {"image_id": [1, 2, 1, 2], "caption_index": [0, 0, 1, 1], "caption": ["a man", "a woman", "a man", "a man"]}
    )  # fmt: skip
    contexts = pd.DataFrame({"context": "bike", "confidence": 0.0}, index=ids)
    return Study("by hand", True, {"one": pd.Series(captions, index=ids)}, contexts, human)


def test_distances_by_hand():
    """Images: bat twice, pan, cup; xyz has no vector. man (.8·2)/4, woman (.6·2+.8)/4, person 1.6/4."""
    row = distance_table(LABELS, [VECTORS], "tiny").iloc[0]
    assert row[["person", "man", "woman"]].tolist() == pytest.approx([0.4, 0.4, 0.5])
    assert row["to_m"] == pytest.approx(0.4 / 0.9)
    assert row[["images", "objects", "objects without a vector"]].tolist() == [4, 3, 1]
    assert 0 <= row["low"] <= row["to_m"] <= row["high"] <= 1


def test_nearest_objects_by_hand():
    found = nearest_objects(similarities(LABELS, VECTORS), "hand").set_index(["gender", "order"])
    assert found.loc[[("man", "images")], "object"].tolist() == ["bat"]
    assert found.loc[[("woman", "cosine")], "object"].tolist() == ["pan"]
    assert found.loc[[("person", "images")], "object"].tolist() == ["cup"]
    with pytest.raises(RelicError, match="no object labels"):
        similarities([], VECTORS)


def test_score_table_by_hand(study, prior, encoder):
    """Four captions have forms (not the one with both); two of them are about a bike (α = 1/4)."""
    table = score_table(study, prior, encoder).set_index("method")
    man, woman = (np.mean([p**0.25] * 2 + [p] * 2) for p in (0.5, 0.25))
    row = table.loc[SCORE]
    assert row[["person", "man", "woman"]].tolist() == pytest.approx([man, man, woman])
    assert row["to_m"] == pytest.approx(man / (man + woman))
    assert (row["m"], row["w"]) == pytest.approx((1, woman / man))
    assert (row["captions"], row["left out"]) == (4, 1)
    assert row["low"] <= row["to_m"] <= row["high"]
    assert row["GS_man"] == pytest.approx((0.5**0.25 + 0.5) / 2)  # images 1 and 3
    assert table.loc[DISTANCE, "man"] == pytest.approx(0.3)
    # three captions name a man (one with both), two a woman; of the humans 1.5 and 0.5 on average
    assert (row["leakage_m"], row["leakage_w"]) == pytest.approx((3 / 1.5, 2 / 0.5))


def test_object_table_by_hand(study, prior, encoder):
    table = object_table(study, prior, encoder, ["bike", "kite"]).set_index(["object", "method"])
    assert table.loc[("bike", COUNTED), "to_m"] == 0.5
    assert table.loc[("bike", SCORE), "to_m"] == pytest.approx(0.5**0.25 / (0.5**0.25 + 0.25**0.25))
    assert table.loc[("bike", ESTIMATED), "to_m"] == 1.0
    assert np.isnan(table.loc[("kite", SCORE), "to_m"])
    assert table.loc[("kite", SCORE), "captions"] == 0


def test_estimation_table_by_hand(study, prior, encoder):
    table = estimation_table(study, prior, encoder).set_index("method")
    assert table.loc[COUNTED, ["man", "woman"]].tolist() == [2, 1]
    assert table.loc[ESTIMATED, ["man", "woman"]].tolist() == [3, 0]
    assert table.loc[ESTIMATED, "agreement"] == pytest.approx(2 / 3)


def test_cloze_table_by_hand(study, prior, encoder):
    """Both bike captions go with the higher prior; "a boy" is like any hypothesis: a tie at 1."""
    row = cloze_table(study, prior, encoder).iloc[0]
    assert (row["man"], row["woman"], row["captions"]) == (2, 0, 3)
    assert row["agreement"] == pytest.approx(1 / 3)


def test_examples_of_figure_2(prior, encoder):
    """To the hand-made encoder texts without a bike are the same: similarity and score are 1."""
    table = example_table(prior, encoder, confidence=0.2)
    ours = table[table["source"] == "this build"]
    assert ours["distance man"].tolist() == ours["score woman"].tolist() == [1.0] * 3
    assert [t.count("[MASK]") for t in table["caption"]] == [1] * 6
    assert table[table["source"] == "published"]["score man"].tolist() == [0.45, 0.12, 0.33]


def test_left_out(study):
    row = left_out(study).iloc[0]
    assert row[["man", "woman", "person", "both", "none", "captions"]].tolist() == [
        2,
        1,
        1,
        1,
        0,
        5,
    ]


def test_scores_are_computed_once(study, prior, encoder):
    first = study.scores(prior, encoder)
    assert study.scores(prior, encoder) is first


def test_rank_correlation_by_hand():
    """One neighbouring pair of nine swapped: ρ = 1 - 6·2 / (9·80)."""
    order = np.arange(9)
    found = rank_correlation(order, [1, 0, *range(2, 9)])
    assert (found["rho"], found["n"]) == (pytest.approx(1 - 12 / 720), 9)
    assert found["low"] < found["rho"] < found["high"] < 1
    assert np.isnan(rank_correlation([1, 2, 3, 4], [1, 2, 3, 4])["rho"])  # too few to tell
    assert rank_correlation([*order, np.nan], [*order[::-1], 3])["rho"] == -1


def test_lic_of_the_nine_captioners():
    lic = captioner_lic()
    assert lic.groupby("lic").size().to_dict() == dict.fromkeys(lic["lic"].unique(), 9)
    by_name = lic.set_index(["lic", "captioner"])["LIC"]
    assert by_name["hirota2022, LSTM", "NIC"] == 3.7


def test_agreement_with_lic():
    """Values in the order of a LIC correlate perfectly with it; a shift moves no order."""
    lic = captioner_lic().query("lic == 'hirota2022, LSTM'")
    base = {"method": SCORE, "prior": "p", "encoder": "e", "corpus": "x, 9 images"}
    frame = pd.DataFrame({"captioner": lic["captioner"], "to_m": lic["LIC"] / 100}).assign(**base)
    empty = pd.DataFrame(columns=["method", "captioner", "to_m", "agreement", "corpus", "prior", "encoder"])  # fmt: skip
    found = lic_agreement(frame, empty).set_index("LIC of")
    assert found.loc["hirota2022, LSTM", "rho"] == pytest.approx(1)
    moved = frame.assign(encoder="other", to_m=frame["to_m"] + 0.02)
    row = choice_agreement(pd.concat([frame, moved])).iloc[0]
    assert (row["rho"], row["largest shift"]) == (pytest.approx(1), pytest.approx(0.02))


def test_results_format(tmp_path):
    file = tmp_path / "mine.json"
    file.write_text(json.dumps([{"image_id": 3, "caption": "a man"}]))
    assert read_results(file).to_dict() == {3: "a man"}
    for broken in ("{}", "[", '[{"caption": "a"}]',
                   '[{"image_id": 3, "caption": "a"}, {"image_id": 3, "caption": "b"}]'):  # fmt: skip
        file.write_text(broken)
        with pytest.raises(RelicError, match=r"mine\.json"):
            read_results(file)
    with pytest.raises(RelicError, match=r"no gender_score"):
        train_labels(tmp_path)


def test_the_embedded_study_takes_objects_by_image():
    corpus = relic.load_corpus("gender", "embedded", images=100)
    study = lic_study(corpus, images=40)
    assert study.synthetic
    assert "synthetic" in study.name
    assert len(study.contexts) == 40
    assert all(len(captions) == 40 for captions in study.captions.values())


def test_the_real_studies(real_data):
    study = lic_study(relic.load_corpus("gender", "real"))
    assert (len(study.captions), len(study.contexts)) == (9, 911)
    everything = lic_study(relic.load_corpus("gender", "real"), threshold=0)
    assert len(everything.contexts) == 1294  # METHODS
    test = karpathy_study()
    assert len(test.contexts) == 3954
    assert AUTHORS_CAPTIONER in test.captions


def test_the_authors_captions_are_vilberts(real_data):
    """The words man and woman occur as often as table 5 says of ViLBERT, but for one `womans`."""
    captions = pd.read_csv(real_data / "visual_context" / "karpathy_test.csv")["caption"]
    table = count_check(captions).set_index("counted")
    assert table.loc["the words man, woman", ["man", "woman"]].tolist() == [702, 310]
    assert table.loc["published, Vilbert", ["man", "woman"]].tolist() == [702, 311]


def test_what_is_recorded_is_numbers_with_their_n():
    names = {file.stem for file in DIRECTORY.glob("*.csv")}
    assert names == {"choices", "counts", "distances", "estimation", "lic", "nearest", "objects", "published", "scores"}  # fmt: skip
    for name in names:
        frame = recorded(name)
        assert not frame.empty
        assert {"n", "captions", "images"} & set(frame), name
        assert "caption" not in frame
    with pytest.raises(RelicError, match="no absent"):
        recorded("absent")
