"""relic.chapters.gender_score.tables: the paper's tables on hand-made captions and vectors."""

import numpy as np
import pandas as pd
import pytest

from relic.chapters.gender_score.models import WordVectors
from relic.chapters.gender_score.score import contexts
from relic.chapters.gender_score.tables import (
    AUTHORS_FILE,
    COUNTED,
    DISTANCE,
    ESTIMATED,
    SCORE,
    Study,
    authors_objects,
    distances,
    lic_study,
    ratio,
)
from relic.data.planted import planted_corpus
from relic.errors import RelicError

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
        {
            "image_id": [1, 2, 1, 2],
            "caption_index": [0, 0, 1, 1],
            "caption": ["a man", "a woman", "a man", "a man"],
        }
    )
    contexts = pd.DataFrame({"context": "bike", "confidence": 0.0}, index=ids)
    return Study("by hand", {"one": pd.Series(captions, index=ids)}, contexts, human)


def test_ratios_and_their_intervals():
    """Rows that are all alike have no spread; none at all have no ratio."""
    assert ratio([3, 3, 3], [1, 1, 1]) == {"to_m": 0.75, "low": 0.75, "high": 0.75}
    share = ratio([1, 1, 0, 1], [0, 0, 1, 0])
    assert share["low"] < share["to_m"] == 0.75 < share["high"] == 1
    assert all(np.isnan(value) for value in ratio([], []).values())


def test_distances_by_hand():
    """Images: bat twice, pan, cup; xyz has no vector. man (.8·2)/4, woman (.6·2+.8)/4, person 1.6/4."""
    row = distances(LABELS, [VECTORS], "tiny")[0].iloc[0]
    assert row[["model", "dataset"]].tolist() == ["hand", "tiny"]
    assert row[["person", "man", "woman"]].tolist() == pytest.approx([0.4, 0.4, 0.5])
    assert row["to_m"] == pytest.approx(0.4 / 0.9)
    assert row[["images", "objects", "objects without a vector"]].tolist() == [4, 3, 1]
    assert 0 <= row["low"] <= row["to_m"] <= row["high"] <= 1


def test_nearest_objects_by_hand():
    nearest = distances(LABELS, [VECTORS], "tiny")[1].set_index(["gender", "order"])
    assert nearest.loc[[("man", "images")], "object"].tolist() == ["bat"]
    assert nearest.loc[[("woman", "cosine")], "object"].tolist() == ["pan"]
    assert nearest.loc[[("person", "images")], ["object", "rank", "images"]].values.tolist() == [
        ["cup", 1, 1]
    ]
    with pytest.raises(RelicError, match="no object labels"):
        distances([], [VECTORS], "tiny")


def test_score_table_by_hand(study, prior, encoder):
    """Four captions have forms (not the one with both); two of them are about a bike (α = 1/4)."""
    table = study.table("scores", prior, encoder).set_index("method")
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
    assert study.scores(prior, encoder) is study.scores(prior, encoder)  # computed once


def test_object_table_by_hand(study, prior, encoder):
    table = study.table("objects", prior, encoder, objects=["bike", "kite"])
    table = table.set_index(["object", "method"])
    assert table.loc[("bike", COUNTED), "to_m"] == 0.5
    assert table.loc[("bike", SCORE), "to_m"] == pytest.approx(0.5**0.25 / (0.5**0.25 + 0.25**0.25))
    assert table.loc[("bike", ESTIMATED), "to_m"] == 1.0
    assert np.isnan(table.loc[("kite", SCORE), "to_m"])
    assert table.loc[("kite", SCORE), "captions"] == 0


def test_estimation_table_by_hand(study, prior, encoder):
    """The prior always prefers man; on images 1 and 2 the bike is as close to either, on 3 to none."""
    table = study.table("estimation", prior, encoder).set_index("method")
    assert table.loc[COUNTED, ["man", "woman"]].tolist() == [2, 1]
    assert table.loc[ESTIMATED, ["man", "woman"]].tolist() == [3, 0]
    row = table.loc[ESTIMATED, ["agreement", "prior alone", "similarity alone"]]
    assert row.tolist() == pytest.approx([2 / 3, 1, 0])


def test_the_embedded_study_takes_objects_by_image():
    corpus = planted_corpus("gender", images=100)
    study = lic_study(corpus, threshold=0.5)
    sure = corpus.objects[corpus.objects["probability"] >= 0.5]["image_id"]
    assert set(study.contexts.index) == set(sure)
    assert all(list(c.index) == sorted(set(sure)) for c in study.captions.values())


def test_the_authors_file(real_data):
    """A row is one object, whatever it holds; persons are taken out."""
    if not (real_data / AUTHORS_FILE).exists():
        pytest.skip(f"no {AUTHORS_FILE}")
    frame = authors_objects()
    assert len(frame) == 5000
    assert int((frame["probability"] < 0.2).sum()) == 1046  # METHODS
    assert len(contexts(frame)) == 3954  # no label of the rest is a person alone
