"""The registry: the papers' captioners, those since, one's own; and the corpus of an image set."""

import json

import pytest

import relic
from relic import paths
from relic.data import captioners
from relic.data.load import corpus_choice, load_real
from relic.errors import RelicError
from relic.measure.inputs import Reading, vocabulary
from relic.records.serve import RecordedCorpus

FIRST = {2: "a person", 5: "A dog .", 9: "a girl runs", 77: "a clock"}


def results(captions: dict) -> str:
    return json.dumps([{"image_id": i, "caption": text} for i, text in captions.items()])


@pytest.fixture
def own(tiny, monkeypatch):
    """A data directory with rows of its own."""

    def write(rows: str, **files: dict):
        tiny.write("captioners/captioners.yml", rows.encode())
        for name, captions in files.items():
            tiny.write(f"captioners/{name}.json", results(captions).encode())
        captioners._read.cache_clear()
        monkeypatch.setenv(paths.DATA_SETTING, str(tiny.root))
        return tiny.root

    yield write
    captioners._read.cache_clear()


def test_the_nine_come_first_and_are_apart():
    assert list(captioners.captioners_of()) == list(captioners.registry())[:9]
    assert {"Karpathy test", "POPE"} <= set(captioners.image_sets())
    names = [entry["name"] for entry in captioners.registry().values()]
    assert len(set(names)) == len(names)
    assert relic.in_order(["OFA-large", "NIC", "mine"]) == ["NIC", "OFA-large", "mine"]


def test_every_row_says_where_its_captions_are_from():
    for entry in captioners.registry().values():
        assert entry["source"]
        assert entry["year"]
        assert entry["trained_on"]
        assert "images" not in entry or {"decoding", "licence"} <= set(entry)


def test_a_captioner_of_ones_own_is_a_row_and_a_file(own):
    root = own(
        "mine: {name: Mine, images: few, file: captioners/mine.json}\n"
        "other: {name: Other, images: few, file: captioners/other.json}\n",
        mine=FIRST,
        other=FIRST | {3: "more"},
    )
    corpus = load_real(root, "gender", "few")
    assert corpus.name == "COCO captions, few images"
    assert corpus.captioners == ["nic", "sat", "mine", "other"]
    assert corpus.labels.to_dict() == {
        2: 1,
        5: 1,
        9: 0,
    }  # of the first captioner's images, labelled
    assert corpus.display_names["mine"] == "Mine"
    assert corpus_choice("few") == corpus_choice(corpus.name) == "few"
    words = vocabulary(corpus, Reading("human", "mine", vocabulary="captioner"))
    assert words == (".", "a", "clock", "dog", "genderword", "person", "runs")


def test_a_file_that_lacks_images_is_named(own):
    rows = "".join(f"{k}: {{name: {k}, images: few, file: captioners/{k}.json}}\n" for k in "ab")
    root = own(rows, a=FIRST, b={2: "a"})
    with pytest.raises(RelicError, match=r"b\.json has no caption of 2 few images"):
        load_real(root, "gender", "few")
    with pytest.raises(RelicError, match="no captions of nobody's images"):
        load_real(root, "gender", "nobody's")


@pytest.mark.parametrize(
    "row",
    ["x: {name: X, images: few}", "x: {name: X, file: f.json}", "x: {images: a, file: b}",
     "nic: {name: X, images: few, file: f.json}", "x: {name: X, imgs: few}", "x: 3", "[1", "- 1"],
)  # fmt: skip
def test_a_wrong_row_is_an_error(own, row):
    own(row)
    with pytest.raises(RelicError, match=r"captioners\.yml"):
        captioners.registry()


@pytest.mark.parametrize("content", [b"{}", b"[3]", b'[{"image_id": 1}]', b"[", b"\xff",
                                     b'[{"image_id": 1, "caption": "a"}, {"image_id": 1, "caption": "b"}]'])  # fmt: skip
def test_a_wrong_file_is_an_error(own, tiny, content):
    root = own("x: {name: X, images: few, file: captioners/x.json}")
    tiny.write("captioners/x.json", content)
    with pytest.raises(RelicError, match=r"x\.json"):
        load_real(root, "gender", "few")


def test_an_image_set_without_captions_is_its_record(monkeypatch):
    monkeypatch.delenv(paths.DATA_SETTING, raising=False)
    corpus = relic.load_corpus("gender", "Karpathy test")
    assert isinstance(corpus, RecordedCorpus)
    assert corpus.captioners[:2] == ["nic", "sat"]
    assert "ofa" in corpus.captioners
    assert "ofa" not in relic.load_corpus("gender").captioners


def test_images_of_the_real_sets(real_data):
    counts = {"Karpathy test": ((1294, 422), (1313, 119)), "POPE": ((522, 153), (544, 60))}
    for images, (gender, race) in counts.items():
        for attribute, (every, rarer) in (("gender", gender), ("race", race)):
            corpus = load_real(real_data, attribute, images)
            assert len(corpus.covered) == every
            assert int(corpus.labels.loc[corpus.covered].sum()) == rarer
