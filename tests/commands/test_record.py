"""`relic record`: every name is a function, and what cannot be recorded is said."""

import pytest

from relic.commands import train
from relic.errors import RelicError


@pytest.mark.parametrize("name", train.RECORDS)
def test_every_name_is_a_function(name):
    assert callable(train.recorder(name))


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(RelicError, match="gender-score"):
        train.record("gender_score")


def test_parts_go_to_the_function_or_are_refused(monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(train, "recorder", {"data": lambda *parts: asked.append(parts), "since": lambda: None}.get)  # fmt: skip
    train.record("data", ["labels", "depth"])
    assert asked == [("labels", "depth")]
    assert capsys.readouterr().out == "recorded: data\n"
    with pytest.raises(RelicError, match="no parts"):
        train.record("since", ["labels"])
