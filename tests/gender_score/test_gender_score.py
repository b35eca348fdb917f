"""relic.gender_score.score: scores, estimation, cloze and counts, worked out by hand."""

import numpy as np
import pandas as pd
import pytest

from relic.errors import RelicError
from relic.gender_score import cloze, cooccurrence, estimated, score_captions
from relic.gender_score.score import similarity, word_counts

CAPTIONS = pd.Series(
    ["A man on a bike", "a woman and a dog", "a man and a woman", "a cat", "", "a person", "two men"],
    index=[1, 2, 3, 4, 5, 6, 9],
)  # fmt: skip
CONTEXTS = pd.DataFrame(
    {"context": ["bike"] * 6 + ["vase"], "confidence": [0.0] * 6 + [0.5]},
    index=[1, 2, 3, 4, 5, 6, 7],
)


def test_scores_by_hand(prior, encoder):
    """With confidence 0 and similarity 0.6, α is 1/4; with similarity 0 it is 1."""
    frame = score_captions(CAPTIONS, CONTEXTS, prior, encoder)
    assert frame.index.tolist() == [1, 2, 3, 4, 5, 6]  # image 9 has no context
    assert frame["gender"].tolist() == ["man", "woman", "both", "none", "none", "person"]
    assert frame.loc[1, "score"] == pytest.approx(0.5**0.25)
    assert frame.loc[1, "score_woman"] == pytest.approx(0.25**0.25)
    assert frame.loc[1, "score_person"] == pytest.approx(0.5**0.25)
    assert frame.loc[2, ["score", "score_man", "score_woman"]].tolist() == pytest.approx([0.25, 0.5, 0.25])  # fmt: skip
    assert frame.loc[3, "score"] == pytest.approx(0.25)
    assert frame.loc[[3, 4, 5], "score_man"].isna().all()  # both, nobody, an empty caption
    assert np.isnan(frame.loc[5, "score"])
    assert frame.attrs == {"prior": "by hand", "encoder": "by hand"}


def test_estimation_by_hand(prior, encoder):
    frame = score_captions(CAPTIONS, CONTEXTS, prior, encoder)
    assert estimated(frame).loc[[1, 2, 6]].tolist() == ["man"] * 3
    assert estimated(frame).loc[[3, 4, 5]].isna().all()
    even = pd.DataFrame({"score_man": [0.3, 0.2], "score_woman": [0.3, 0.4]})
    assert estimated(even).tolist()[1] == "woman"
    assert estimated(even).isna().tolist() == [True, False]


def test_cloze_by_hand(prior, encoder):
    """Hypotheses do not hold the word bike, so captions with it are alike by 0.8, others by 1."""
    frame = cloze(CAPTIONS.loc[[1]], CONTEXTS, prior, encoder)
    alpha = (1 - 0.8) / (1 + 0.8)
    assert frame.loc[1, "score_man"] == pytest.approx(0.5**alpha)
    assert frame.loc[1, "score_woman"] == pytest.approx(0.25**alpha)


def test_similarity_of_pairs(encoder):
    assert similarity(encoder, ["a bike", "a cat", ""], ["bike", "bike", "bike"]).tolist()[:2] == pytest.approx([0.6, 0.0])  # fmt: skip
    assert np.isnan(similarity(encoder, [""], [""])).all()


def test_counts():
    captions = ["a man on a bike", "a boy and a girl", "a womans bike", "a woman"]
    assert cooccurrence(captions) == {"man": 2, "woman": 2}
    assert cooccurrence(captions, "bike") == {"man": 1, "woman": 0}
    assert word_counts(captions) == {"man": 1, "woman": 1}


def test_captions_must_be_by_image(prior, encoder):
    with pytest.raises(RelicError, match="captions as list"):
        score_captions(["a man"], CONTEXTS, prior, encoder)
