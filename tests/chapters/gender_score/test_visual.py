"""relic.chapters.gender_score.study: objects from files, contexts without persons."""

import pandas as pd
import pytest

from relic.chapters.gender_score.study import AUTHORS_FILE, COLUMNS, contexts, read_objects
from relic.errors import RelicError

ROWS = pd.DataFrame(
    [
        (1, "motor scooter", 0.6, "a"), (1, "helmet", 0.4, "b"), (1, "dog", 0.5, "a"), (1, "cat", 0.3, "a"),
        (2, "man", 0.9, "a"), (2, "cowboy hat", 0.2, "a"), (3, "person", 0.9, "a"), (4, "vase", 0.19, "a"),
        (5, "kite", 0.8, "a"), (5, "kite", 0.4, "b"),
    ],
    columns=COLUMNS,
)  # fmt: skip


def test_contexts_by_hand():
    """The three surest labels; no person, no gender word, nothing under 0.2, nothing twice."""
    found = contexts(ROWS)
    assert found["context"].to_dict() == {1: "motor scooter dog helmet", 2: "hat", 5: "kite"}
    assert found["confidence"].to_dict() == pytest.approx({1: 0.5, 2: 0.2, 5: 0.8})
    assert contexts(ROWS, top=1, threshold=0)["context"].to_dict() == {1: "motor scooter", 2: "hat", 4: "vase", 5: "kite"}  # fmt: skip


def test_read_our_own_file_and_the_authors(tmp_path):
    ROWS.to_csv(tmp_path / "objects.csv", index=False)
    assert read_objects(tmp_path / "objects.csv").equals(ROWS)
    (tmp_path / "theirs.csv").write_text(
        "image_id,caption,labels,probability\n7,a dog,ski person,0.4\n"
    )
    frame = read_objects(tmp_path / "theirs.csv")
    assert frame.to_dict("records") == [
        {"image_id": 7, "label": "ski person", "probability": 0.4, "source": "theirs.csv"}
    ]
    assert contexts(frame)["context"].to_dict() == {7: "ski"}


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("image_id,label\n1,cat\n", "lacks probability, source"),
        ("image_id,label,probability,source\n1,cat,1.5,a\n", "row 2"),
        ("image_id,label,probability,source\n1,cat,0.5,a\nx,cat,0.5,a\n", "row"),
        ("image_id,label,probability,source\n1,cat,much,a\n", "row 2"),
        ("", "cannot be read"),
    ],
)
def test_broken_files(tmp_path, content, found):
    (tmp_path / "objects.csv").write_text(content)
    with pytest.raises(RelicError, match=found):
        read_objects(tmp_path / "objects.csv")
    with pytest.raises(RelicError, match="cannot be read"):
        read_objects(tmp_path / "absent.csv")


def test_the_authors_file(real_data):
    if not (real_data / AUTHORS_FILE).exists():
        pytest.skip(f"no {AUTHORS_FILE}")
    frame = read_objects(real_data / AUTHORS_FILE)
    assert len(frame) == 5000
    assert int((frame["probability"] < 0.2).sum()) == 1046  # METHODS
    assert len(contexts(frame)) == 3954  # no label of the rest is a person alone
