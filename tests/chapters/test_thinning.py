"""relic.chapters.datacard: images with five captions, thinned to the depth of others."""

from dataclasses import replace

import pandas as pd
import pytest

from relic.chapters.datacard import thinned, thinning
from relic.chapters.learning import complete_only
from relic.data.attribute import load_attribute
from relic.data.corpus import Corpus
from relic.data.planted import CAPTIONERS, planted_corpus
from relic.records import serve
from relic.records.tables import read_table


@pytest.fixture
def corpus():
    """Images 1 to 4 from a complete file; 5 to 7 from one that has 1, 2 and 5 captions."""
    depths = dict.fromkeys((1, 2, 3, 4), 5) | {5: 1, 6: 2, 7: 5}
    human = [
        (image, k, f"caption {k} of {image}", "complete" if image < 5 else "part")
        for image, depth in depths.items()
        for k in range(depth)
    ]
    return Corpus(
        name="seven images",
        synthetic=False,
        attribute=load_attribute("gender"),
        labels=pd.Series(0, index=pd.Index(range(1, 9), name="image_id")),
        generated=pd.DataFrame(columns=["captioner", "caption_set", "image_id", "caption"]),
        human=pd.DataFrame(human, columns=["image_id", "caption_index", "caption", "source"]),
        vocabularies={},
        display_names={},
    )


def test_complete_sources_are_kept_and_the_others_give_the_depths(corpus):
    full, depths = complete_only(corpus)
    assert list(full.covered) == [1, 2, 3, 4]
    assert depths.to_dict() == {5: 1, 6: 2, 7: 5}  # 8 has no captions at all


def test_each_image_keeps_its_first_captions(corpus):
    full, depths = complete_only(corpus)
    thin = thinned(full, depths)
    assert set(thin.depth) <= {1, 2, 5}
    assert list(thin.covered) == [1, 2, 3, 4]
    for _, rows in thin.human.groupby("image_id"):
        assert list(rows["caption_index"]) == list(range(len(rows)))
    two = thinned(full, pd.Series([2]))
    assert set(two.depth) == {2}
    assert two.human_captions(3).loc[1] == "caption 1 of 1"  # number 3 of two is number 3 mod 2


def test_the_draw_is_the_same_for_the_same_seed(corpus):
    full, depths = complete_only(corpus)
    assert thinned(full, depths, seed=1).human.equals(thinned(full, depths, seed=1).human)


@pytest.fixture
def ragged(tmp_path, monkeypatch):
    """299 planted images of a complete source, and one that gives the depth of the others."""
    monkeypatch.setenv("RELIC_RUNS", str(tmp_path))
    whole = planted_corpus("gender", images=300, captioners=CAPTIONERS[2:3])

    def build(depth: int) -> Corpus:
        human = whole.human.assign(source="complete")
        last = human["image_id"] == 300
        human.loc[last, "source"] = "part"
        return replace(whole, human=human[~last | (human["caption_index"] < depth)])

    return build


def test_thinned_to_one_caption_lic_d_is_that_of_the_first(ragged):
    corpus, seeds = ragged(1), [0, 1]
    table = thinning(corpus, seeds=seeds).set_index("captioner")
    full, _ = complete_only(corpus)
    runs = serve.runs(full, ["planted_lot"], seeds=seeds, sides=["human"], progress=False).frame
    first = runs.loc[runs["caption_index"] == 0, "score"].mean()
    row = table.loc["planted_lot"]
    assert row["thinned"] == pytest.approx(first)
    assert row["five"] == pytest.approx(runs["score"].mean())
    assert row["difference"] == pytest.approx(row["thinned"] - row["five"])
    assert row["low"] < row["difference"] < row["high"]
    assert (row["images"], row["captions an image"], row["seeds"]) == (299, 1, 2)
    assert list(table.index) == full.captioners


def test_the_record_is_about_both_ragged_attributes():
    table = read_table("data", "thinning")
    assert set(table["attribute"]) == {"gender", "race"}  # every age image has five
    assert (table["low"] <= table["difference"]).all()
    assert (table["five"] + table["difference"]).to_numpy() == pytest.approx(
        table["thinned"].to_numpy(), abs=1e-3
    )
