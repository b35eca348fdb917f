"""Objects that captions name."""

import pytest

from relic.chapters.objects import PHRASES, object_names, object_table, objects_in


@pytest.mark.parametrize(
    ("caption", "named"),
    [
        ("a man with two hot dogs", {"hot dog"}),
        ("A Dog and a teddy bear.", {"dog", "teddy bear"}),
        ("a bear", {"bear"}),
        ("people waiting at a bus stop", set()),
        ("two buses and a motor bike", {"bus", "motorcycle"}),
        ("knives, forks and glasses of wine", {"knife", "fork", "wine glass"}),
        ("a baseball player in a baseball game", set()),
        ("a baseball bat hits a baseball", {"baseball bat", "sports ball"}),
        ("a woman in an orange shirt", set()),
        ("she eats oranges", {"orange"}),
        ("people on a cell phone at a table", {"cell phone", "dining table"}),
        ("a person", set()),
        ("", set()),
        ("<script> & a cat", {"cat"}),
    ],
)
def test_captions_name_objects(caption, named):
    assert objects_in(caption) == named


def test_there_are_cocos_classes_without_persons():
    assert len(object_names()) == 79
    assert "person" not in object_names()
    assert {"fire hydrant", "hair drier", "tennis racket", "toothbrush"} <= set(object_names())


def test_every_class_is_found_by_its_own_name():
    ambiguous = {"orange"}  # mostly a colour
    assert [n for n in object_names() if n not in ambiguous and objects_in(f"a {n}") != {n}] == []


def test_no_word_stands_for_two_classes():
    from pathlib import Path

    import yaml

    import relic.chapters.objects

    lists = yaml.safe_load(
        Path(relic.chapters.objects.__file__).with_name("objects.yml").read_text()
    )
    words = [w.strip() for line in lists.values() for w in str(line).split(",")]
    assert len(words) == len(set(words))
    assert all(len(phrase.split()) <= 3 for phrase in PHRASES)


def test_a_table_has_a_row_a_caption():
    table = object_table(["a cat", "a cat on a bed", "nothing"])
    assert table.sum(axis=1).tolist() == [1, 2, 0]
    assert table[:, object_names().index("cat")].tolist() == [1, 1, 0]
