"""relic.book.profiles: parameters of notebooks, overrides of profiles and of the command line."""

import json

import pytest

from relic import paths
from relic.book.profiles import load_profile, notebook_parameters, notebooks
from relic.errors import RelicError

FIRST = (
    'seeds: list = [0]  # classifier seeds\nrate: float = 0.5\nimages: int = 10\nname: str = "x"'
)
SECOND = "images: int = 20\nquick: bool = False"


def write_notebook(file, *cells: str, tags=("parameters",)):
    body = [
        {"cell_type": "code", "metadata": {"tags": list(tags)}, "source": cell.splitlines(True)}
        for cell in cells
    ]
    untagged = {"cell_type": "code", "metadata": {}, "source": ["other: int = 1"]}
    file.write_text(json.dumps({"cells": [untagged, *body]}))
    return file


@pytest.fixture
def available(tmp_path):
    write_notebook(tmp_path / "00_first.ipynb", FIRST)
    write_notebook(tmp_path / "01_second.ipynb", SECOND)
    return notebooks(tmp_path)


@pytest.fixture
def load(available, tmp_path, monkeypatch):
    """Write a profile's text, then load it."""
    monkeypatch.setattr(paths, "PARAMS", tmp_path)

    def load_text(text: str, sets=(), only=()):
        (tmp_path / "mine.yml").write_text(text)
        return load_profile("mine", available, list(sets), list(only))

    return load_text


def refused(load, *arguments, **options) -> RelicError:
    with pytest.raises(RelicError) as caught:
        load(*arguments, **options)
    return caught.value


# --- parameters of notebooks ------------------------------------------------------------------


def test_parameters_in_order(available):
    assert available["00_first"] == {"seeds": [0], "rate": 0.5, "images": 10, "name": "x"}
    assert list(available["00_first"]) == ["seeds", "rate", "images", "name"]
    assert list(available) == ["00_first", "01_second"]


@pytest.mark.parametrize(
    "cell",
    [
        "images = 3",
        "images: dict = {}",
        "import os",
        "images: int = (",
        "images: int",
        "images: int = other",
        "images: int = 1.5",
    ],
)
def test_parameters_cell_that_is_none(tmp_path, cell):
    file = write_notebook(tmp_path / "02_bad.ipynb", cell)
    with pytest.raises(RelicError, match="02_bad"):
        notebook_parameters(file)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"cells": [{"metadata": {"tags": ["parameters"]}}]}'])  # fmt: skip
def test_file_that_is_not_a_notebook(tmp_path, text):
    file = tmp_path / "02_bad.ipynb"
    file.write_text(text)
    with pytest.raises(RelicError, match="02_bad"):
        notebook_parameters(file)


# --- profiles ---------------------------------------------------------------------------------


def test_defaults_and_overrides(load):
    values = load("images: 5\nrate: 1\n01_second: {images: 6, quick: true}\n")
    assert values["00_first"] == {"seeds": [0], "rate": 1, "images": 5, "name": "x"}
    assert values["01_second"] == {"images": 6, "quick": True}


def test_section_of_a_notebook_wins_wherever_it_stands(load):
    assert load("01_second: {images: 6}\nimages: 5\n")["01_second"]["images"] == 6


def test_empty_profile_changes_nothing(load):
    assert load("# nothing\n")["00_first"]["images"] == 10


def test_unknown_key_names_the_allowed_ones(load):
    error = refused(load, "image: 5\n")
    assert "mine.yml: unknown parameter 'image'" in error.found
    assert error.expected == "one of images, name, quick, rate, seeds"
    error = refused(load, "01_second: {seeds: [1]}\n")
    assert "01_second: unknown parameter 'seeds'" in error.found
    assert error.expected == "one of images, quick"


@pytest.mark.parametrize(
    "line",
    [
        "images: true",
        "images: 1.0",
        "images: '5'",
        "images: null",
        "images: [5]",
        "rate: true",
        "rate: fast",
        "name: 5",
        "seeds: 0",
        "quick: 1",
        "quick: 'yes'",
        "00_first: 5",
    ],
)
def test_wrong_types_are_named(load, line):
    error = refused(load, line)
    assert line.split(":")[0] in error.found
    assert error.expected


def test_wrong_type_in_one_notebook_says_which(load):
    assert "images: int, e.g. 10 (in 00_first)" in refused(load, "images: x").expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [1", "mine.yml"),
        ("- images", "holds a list"),
        ("images", "holds a str"),
        ("\x00", "mine.yml"),
    ],
)
def test_broken_yaml(load, text, says):
    assert says in refused(load, text).found


def test_missing_profile_names_the_known_ones(available, tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "PARAMS", tmp_path)
    for name in ("smoke", "cpu"):
        (tmp_path / f"{name}.yml").write_text("")
    with pytest.raises(RelicError) as caught:
        load_profile("smok", available)
    assert caught.value.found == "no profile 'smok'"
    assert caught.value.expected == "one of cpu, smoke"


# --- --set and --only -------------------------------------------------------------------------


def test_set_wins_over_the_profile(load):
    values = load(
        "images: 5\n", sets=["seeds=[0, 12]", "images=7", "01_second.images=8", "name=a=b"]
    )
    assert values["00_first"] == {"seeds": [0, 12], "rate": 0.5, "images": 7, "name": "a=b"}
    assert values["01_second"]["images"] == 8


def test_set_takes_learning_rates_as_people_write_them(load):
    assert load("", sets=["rate=5e-5"])["00_first"]["rate"] == 5e-5
    assert load("rate: 5e-5")["00_first"]["rate"] == 5e-5


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("seed=1", "unknown parameter 'seed'"),
        ("01_second.seeds=[1]", "unknown parameter 'seeds'"),
        ("02_third.images=1", "02_third"),
        ("images", "images"),
        ("images=", "images = None"),
        ("images=true", "images = True (bool)"),
        ("seeds=[1", "--set seeds=[1"),
    ],
)
def test_bad_sets(load, text, says):
    assert says in refused(load, "", sets=[text]).found


@pytest.mark.parametrize(
    ("only", "chosen"),
    [
        ([], ["00_first", "01_second"]),
        (["01"], ["01_second"]),
        (["01_second.ipynb"], ["01_second"]),
        (["notebooks/01_second.ipynb", "00", "00_first"], ["00_first", "01_second"]),
    ],
)
def test_only(load, only, chosen):
    assert list(load("", only=only)) == chosen


def test_only_wants_one_notebook_a_name(load):
    error = refused(load, "", only=["0"])
    assert "several notebooks" in error.found
    assert error.expected == "one of 00_first, 01_second"
    assert "no notebook" in refused(load, "", only=["second"]).found


def test_whole_name_beats_a_longer_one(load, available):
    available["01_second_more"] = {}
    assert list(load("", only=["01_second"])) == ["01_second"]


# --- what ships -------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", sorted(file.stem for file in paths.PARAMS.glob("*.yml")))
def test_shipped_profiles_load(profile):
    shipped = notebooks()
    values = load_profile(profile, shipped)
    assert values.keys() == shipped.keys()
    for name, parameters in shipped.items():
        assert values[name].keys() == parameters.keys()
        assert all(type(values[name][key]) is type(p) for key, p in parameters.items())


def test_smallest_profile_ships():
    assert {"record", "embedded", "smoke", "cpu", "paper"} <= {
        file.stem for file in paths.PARAMS.glob("*.yml")
    }
