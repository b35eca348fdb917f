"""`relic gender-score score`: from files to the printed means."""

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from relic.commands.gender_score import app
from relic.errors import RelicError

RUN = CliRunner()


@pytest.fixture
def files(tmp_path):
    """Captions of two images of three, objects, human captions and word vectors."""
    captions = [
        {"image_id": 1, "caption": "a man on a bike"},
        {"image_id": 2, "caption": "a woman"},
    ]
    human = [{"id": i, "image_id": i, "caption": "a man and a woman"} for i in (1, 2)]
    (tmp_path / "mine.json").write_text(json.dumps(captions))
    (tmp_path / "human.json").write_text(json.dumps({"annotations": human}))
    (tmp_path / "objects.csv").write_text("image_id,label,probability\n1,bike,0.5\n3,dog,0.5\n")
    (tmp_path / "hand.txt").write_text("man 1 0\nwoman 0 1\nbike 1 1\n")
    return {name.split(".")[0]: str(tmp_path / name) for name in ("mine.json", "human.json", "objects.csv", "hand.txt")}  # fmt: skip


def test_scores_are_printed_and_written(files, tmp_path):
    asked = ["score", files["mine"], "--objects", files["objects"], "--encoder", files["hand"]]
    done = RUN.invoke(app, [*asked, "--human", files["human"], "--csv", str(tmp_path / "out.csv")])
    assert done.exit_code == 0, done.output
    assert "language model: 3-gram of 2 human captions\nencoder: hand.txt\n" in done.output
    assert "captions with objects: 1 of 2\nman: 1 captions" in done.output
    assert pd.read_csv(tmp_path / "out.csv")["image_id"].tolist() == [1]
    done = RUN.invoke(app, asked)
    assert isinstance(done.exception, RelicError)
    assert "--human" in done.exception.expected
