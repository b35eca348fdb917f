"""relic.chapters.datacard: the data card's tables on corpora small enough to count by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import relic
from relic import paths
from relic.chapters import datacard
from relic.chapters.datacard import (
    annotator_agreement,
    caption_lengths,
    caption_summary,
    counted,
    depth_counts,
    human_sources,
    label_counts,
    same_captions,
    table,
)
from relic.data.attribute import load_attribute
from relic.data.corpus import Corpus
from relic.errors import RelicError
from relic.records.tables import read_table

SAT = {4: "a man on a bike", 1: "a woman on a bike", 2: "a dog.", 3: "a cat"}
NIC = {1: "a woman on a bike.", 2: "a dog .", 3: "a cow"}


def recorded(name: str) -> pd.DataFrame:
    return read_table(datacard.RECORD, name)


@pytest.fixture
def corpus():
    generated = [("nic", "standard", i, text) for i, text in NIC.items()]
    generated += [("sat", "standard", i, text) for i, text in SAT.items()]
    generated += [("sat", "th2", 1, "not the standard")]
    human = [
        (image, index, f"{word} number {index}" if index else word, source)
        for image, word, source in ((2, "A Man", "coco/x.json"), (1, "a man", "age"), (4, "Hers", "age"))
        for index in range(5)
    ]  # fmt: skip
    return Corpus(
        name="hand-made captions",
        synthetic=False,
        attribute=load_attribute("gender"),
        labels=pd.Series({1: 1, 2: 0, 3: 0, 4: 0}, name="gender").rename_axis("image_id"),
        generated=pd.DataFrame(
            generated, columns=["captioner", "caption_set", "image_id", "caption"]
        ),
        human=pd.DataFrame(human, columns=["image_id", "caption_index", "caption", "source"]),
        vocabularies={"sat": ("<unk>", "<pad>", "a")},
        display_names={"sat": "SAT", "nic": "NIC"},
    )


def test_label_counts(corpus):
    table = label_counts(corpus)
    assert list(table["label"]) == ["Male", "Female"]
    assert list(table["images"]) == [3, 1]
    assert list(table["share (%)"]) == [75, 25]
    assert list(table["with human captions"]) == [2, 1]  # images 2 and 4; image 1
    assert list(table["balanced, all images"]) == [2, 2]
    assert list(table["balanced, with human captions"]) == [2, 2]


def test_caption_summary(corpus):
    table = caption_summary(corpus).set_index("captioner")
    assert list(table.index) == ["NIC", "SAT", "Human, first caption"]
    assert list(table["captions"]) == [3, 4, 3]
    assert list(table["different captions"]) == [3, 4, 3]
    assert list(table["repeated (%)"]) == [0, 0, 0]
    # man and woman become one word; "A Man" and "a man" too, as human captions are lower-cased
    assert list(table["repeated once masked (%)"]) == pytest.approx([0, 50, 200 / 3])
    # SAT: a genderword on bike dog . cat; NIC: the same with cow for cat; humans: a, genderword
    assert list(table["words in use"]) == [7, 7, 2]
    assert list(table["tokens a caption"]) == pytest.approx([11 / 3, 15 / 4, 5 / 3])
    assert table["vocabulary"]["SAT"] == 3
    assert table["vocabulary"].isna().sum() == 2


def test_caption_lengths(corpus):
    table = caption_lengths(corpus)
    assert table[table["captioner"] == "SAT"].to_numpy().tolist() == [
        ["SAT", 2, 25.0], ["SAT", 3, 25.0], ["SAT", 5, 50.0],
    ]  # fmt: skip
    human = table[table["captioner"] == "Human, first caption"].set_index("tokens")["share (%)"]
    assert human.to_dict() == pytest.approx({1: 100 / 3, 2: 200 / 3})


def test_same_captions_without_full_stops_on_shared_images(corpus):
    square = same_captions(corpus).pivot(index="captioner", columns="other", values="same (%)")
    assert square.loc["NIC", "SAT"] == square.loc["SAT", "NIC"] == pytest.approx(200 / 3)
    assert list(np.diag(square)) == [100, 100]


def test_human_sources(corpus):
    assert human_sources(corpus).to_numpy().tolist() == [["age", 2], ["coco/x.json", 1], ["none", 1]]  # fmt: skip


def test_depth_counts_every_labelled_image_once(corpus):
    """Image 1 keeps two captions, 2 and 4 have five, 3 has none."""
    ragged = replace(corpus, human=corpus.human.query("image_id != 1 or caption_index < 2"))
    assert depth_counts(ragged)["images"].to_dict() == {0: 1, 1: 0, 2: 1, 3: 0, 4: 0, 5: 2}


def test_a_table_of_several_corpora_begins_with_the_attribute(corpus):
    other = replace(corpus, attribute=load_attribute("age"))
    both = counted("labels", [corpus, other])
    assert list(both)[:2] == ["attribute", "label"]
    assert list(both["attribute"]) == ["gender", "gender", "age", "age"]


def test_a_table_is_counted_where_captions_are_and_recorded_where_not(corpus, monkeypatch):
    monkeypatch.delenv("RELIC_DATA", raising=False)
    assert table("labels", [corpus])["images"].sum() == 4
    handle = relic.load_corpus("race")
    assert table("labels", [handle])["images"].sum() == 10_969
    assert set(table("thinning", [handle])["attribute"]) == {"race"}


def test_corpus_without_human_captions(corpus):
    bare = Corpus(**{**vars(corpus), "human": corpus.human.iloc[:0]})
    assert list(caption_summary(bare)["captioner"]) == ["NIC", "SAT"]
    assert set(caption_lengths(bare)["captioner"]) == {"NIC", "SAT"}
    assert human_sources(bare).to_numpy().tolist() == [["none", 4]]


# --- annotators -------------------------------------------------------------------------------


@pytest.fixture
def annotate(layout):
    """Write an annotator's votes, then compute the agreement of all."""

    def write(*annotators: str) -> pd.DataFrame:
        for number, votes in enumerate(annotators):
            layout.write(f"age_annotations/annotations_person{number}.csv", votes)
        return annotator_agreement(layout.root)

    return write


def votes(**labels: str) -> str:
    return "id,label\n" + "".join(f"{i[1:]},{label}\n" for i, label in labels.items())


def test_agreement_by_hand(annotate):
    first = votes(_1="old", _2="old", _3="young", _4="young", _5="", _6="old")
    second = votes(_1="old", _2="old", _3="young", _4="old", _5="young", _7="young")
    both, all_three = annotate(first, second).to_dict("records")
    assert (
        both["images with several annotators"] == all_three["images with several annotators"] == 5
    )
    # OO OO YY YO: agreement 3/4, by chance 1/2 · 3/4 + 1/2 · 1/4 = 1/2
    assert (both["pairs"], both["agreement (%)"]) == (4, 75)
    assert both["Cohen's κ"] == pytest.approx(0.5)
    # and one pair none/young: agreement 3/5, by chance 2/5 · 3/5 + 2/5 · 2/5 = 2/5
    assert (all_three["pairs"], all_three["agreement (%)"]) == (5, 60)
    assert all_three["Cohen's κ"] == pytest.approx(1 / 3)


def test_three_annotators_of_an_image_are_three_pairs(annotate):
    one, two = votes(_1="old", _2="young"), votes(_1="old", _2="old")
    table = annotate(one, two, votes(_1="young"))
    assert table["pairs"].tolist() == [4, 4]  # three of image 1, one of image 2
    assert table["images with several annotators"].tolist() == [2, 2]
    assert table["agreement (%)"].tolist() == [25, 25]


def test_too_few_annotators_give_the_same_columns(annotate):
    alone = annotate(votes(_1="old", _2="young"))
    assert alone["pairs"].tolist() == [0, 0]
    table = annotate(votes(_1="old", _2="young"), votes(_1="old", _2="old"))
    assert list(alone.columns) == list(table.columns)


def test_annotators_who_share_no_image(annotate):
    table = annotate(votes(_1="old"), votes(_2="old"))
    assert table["pairs"].tolist() in ([], [0, 0])


@pytest.mark.parametrize("content", ["", "image,age\n1,old\n", b"id,label\n1,\xff\n", 'id,label\n1,"o'])  # fmt: skip
def test_annotation_files_that_are_none(annotate, content):
    with pytest.raises(RelicError, match=r"annotations_person1\.csv"):
        annotate(votes(_1="old"), content)


def test_real_agreement(real_data):
    both, all_three = annotator_agreement(real_data).to_dict("records")
    assert both["images with several annotators"] == 3100
    assert both["pairs"] == 2875
    assert both["agreement (%)"] == pytest.approx(82.8, abs=0.05)
    assert both["Cohen's κ"] == pytest.approx(0.63, abs=0.005)
    assert all_three["Cohen's κ"] == pytest.approx(0.52, abs=0.005)


def test_the_recorded_card_has_the_papers_counts():
    labels = recorded("labels").set_index(["attribute", "label"])["images"]
    assert labels["gender"].to_dict() == {"Male": 7466, "Female": 3314}
    assert labels["race"].to_dict() == {"Light": 9873, "Dark": 1096}
    assert labels["age"].to_dict() == {"old": 4603, "young": 2435}


def test_the_recorded_tables_agree_with_each_other():
    """Depths add up to the labelled images; depth none is what sources call none."""
    depth = recorded("depth").pivot(index="attribute", columns="human captions", values="images")  # fmt: skip
    labels = recorded("labels").groupby("attribute")
    assert depth.sum(axis=1).to_dict() == labels["images"].sum().to_dict()
    covered = labels["with human captions"].sum()
    assert depth.drop(columns=0).sum(axis=1).to_dict() == covered.to_dict()


def test_only_the_real_captions_are_recorded(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    monkeypatch.delenv("RELIC_DATA", raising=False)
    with pytest.raises(RelicError, match="RELIC_DATA is not set"):
        datacard.record()
    with pytest.raises(RelicError, match=r"no table label\s+expected: of labels"):
        datacard.record("label")
    assert list(tmp_path.iterdir()) == []


def test_the_record_is_what_the_real_captions_give(real_data, tmp_path, monkeypatch):
    """All but the thinning study, which trains for minutes."""
    names = [name for name in datacard.TABLES if name != "thinning"]
    kept = {name: recorded(name) for name in names}
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    datacard.record(*names)
    for name, frame in kept.items():
        again = recorded(name)
        assert set(again) == set(frame)
        pd.testing.assert_frame_equal(again[list(frame)], frame)
