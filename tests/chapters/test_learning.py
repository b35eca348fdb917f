"""Learning, length and objects: on the embedded (synthetic) corpus, and on frames made by hand."""

import numpy as np
import pandas as pd
import pytest

from benchmarks import studies
from relic import paths
from relic.chapters import learning, scores
from relic.chapters.objects import without_objects
from relic.data.planted import planted_corpus
from relic.errors import RelicError
from relic.judge.lic import lic_table
from relic.measure.runs import train
from relic.records.evidence import papers
from relic.records.serve import recorded
from relic.records.tables import read_table


@pytest.fixture(scope="module")
def corpus():
    return planted_corpus("gender", images=1200)


def test_a_fit_on_rows_is_the_linear_classifier(corpus):
    read = learning.texts(corpus, "planted_some")
    table = learning.measure(corpus, "planted_some", read, seeds=[12]).set_index("side")
    runs = [train(corpus, "planted_some", seed=12)]
    runs += [
        train(corpus, "planted_some", seed=12, side="human", caption_index=k) for k in range(5)
    ]
    for name in ("score", "auc", "log_loss"):
        assert table.loc["model", name] == pytest.approx(runs[0].scores[name], abs=1e-6)
        human = np.mean([each.scores[name] for each in runs[1:]])
        assert table.loc["human", name] == pytest.approx(human, abs=1e-6)


def test_smaller_training_sets_lie_in_larger_ones_and_are_balanced(corpus):
    table = learning.measure(
        corpus, "planted_some", learning.texts(corpus, "planted_some"), [0], sizes=(200, 300, 1)
    )
    sizes = table.groupby("side")["n_train"].apply(list)["model"]
    assert sizes[:2] == [200, 300]
    assert sizes[2] > 300
    assert table["n_test"].nunique() == 1


def test_captions_are_cut_where_the_shorter_ends():
    read = {
        "model": [pd.Series({1: "a b c", 2: "a"}, dtype=object)],
        "human": [pd.Series({1: "d e", 2: "f g h"}, dtype=object)],
    }
    cut = learning.cut(read)
    assert cut["model"][0].tolist() == ["a b", "a"]
    assert cut["human"][0].tolist() == ["d e", "f"]


def test_a_phrase_becomes_one_mask_and_other_objects_stay():
    assert without_objects("a hot dog and a dog", {"hot dog"}) == "a objectword and a dog"
    assert without_objects("a dog", set()) == "a dog"


def test_masking_objects_changes_texts_and_keeps_the_rest(corpus):
    table = learning.objects_masked(corpus, ["planted_some"], [0], objects=["dog"])
    assert table["masked"].tolist() == [learning.NOTHING, learning.OBJECTS, "dog"]
    plain = table.set_index("masked")["lic"]
    read = learning.texts(corpus, "planted_some")
    rows = learning.measure(corpus, "planted_some", read, [0]).set_index("side")["score"]
    assert plain[learning.NOTHING] == pytest.approx(rows["model"] - rows["human"])


def test_the_most_telling_object_comes_first(corpus):
    ids = corpus.labels.index[:400]
    said = np.where(corpus.labels[ids] == 1, "a dog", "a cat")
    human = pd.DataFrame({"image_id": ids, "caption_index": 0, "caption": said, "source": "hand"})
    from dataclasses import replace

    objects = learning.telling_objects(replace(corpus, human=human), 2)
    assert set(objects) == {"dog", "cat"}


def _lic(value) -> pd.DataFrame:
    rows = [("one", seed, n, value(n) + seed / 100) for seed in range(3) for n in (100, 200, 400, 800)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["captioner", "seed", "n_train", "lic"])
    return table.assign(attribute="gender")


def test_a_curve_of_a_form_is_extrapolated_exactly_by_that_form(executed):
    beyond = executed("46_learning", until="def beyond")["beyond"]
    tables = beyond(_lic(lambda n: 2 + 30 / np.sqrt(n)), np.inf)
    assert tables["1/√n"]["lic"].to_numpy() == pytest.approx([2, 2.01, 2.02])  # split by split
    assert "log n" not in tables
    measured = 9 - np.log(800) + 0.01
    back = beyond(_lic(lambda n: 9 - np.log(n)), 800, upto=400)
    assert back["log n"]["lic"].mean() == pytest.approx(measured)
    assert back["1/n"]["lic"].mean() > measured + 0.1


def test_more_training_images_are_a_curve_by_captioner_and_score(corpus):
    read = learning.texts(corpus, "planted_some")
    runs = learning.measure(corpus, "planted_some", read, [0, 12], sizes=(200, 1))
    runs = runs.assign(images="all", captions=1)
    for of in ("score", "auc", "bits"):
        table = learning.by_size(runs, of)
        assert table.groupby("n_train").size().tolist() == [2, 2]
        assert (table["lic"] == table["lic_model"] - table["lic_data"]).all()
    means = learning.mean_curve(learning.by_size(runs))
    assert means["difference"].tolist() == pytest.approx(
        (means["generated"] - means["human"]).tolist()
    )


def test_the_papers_lic_falls_as_lic_d_rises_in_hirota():
    means = papers("gender").query("source == 'hirota2022'").groupby("classifier")
    means = means[["lic_data", "lic"]].mean().sort_values("lic_data")
    assert len(means) == 3
    assert means["lic"].is_monotonic_decreasing


def _runs(rows) -> pd.DataFrame:
    """Runs of one captioner: seed, side, score, auc, log-loss."""
    frame = pd.DataFrame(rows, columns=["seed", "side", "score", "auc", "log_loss"])
    return frame.assign(corpus="hand", attribute="gender", captioner="one", caption_index=0, n_test=9, **learning.LINEAR)  # fmt: skip


def test_proper_scores_stand_beside_lic_in_percent():
    ln2 = np.log(2)
    runs = _runs([(0, "model", 40, 70, 0.8 * ln2), (0, "human", 35, 71, 0.9 * ln2),
                  (1, "model", 42, 70, 0.8 * ln2), (1, "human", 36, 69, 0.9 * ln2)])  # fmt: skip
    (row,) = scores.all_scores(runs).to_dict("records")
    assert row["LIC"] == pytest.approx(5.5)
    assert row["ΔAUC"] == pytest.approx(0)
    assert row["Δbits × 100"] == pytest.approx(10)
    assert row["normalised LIC × 100"] == pytest.approx(100 * 5.5 / 10.5)  # LIC_D 35.5, floor 25
    assert row["above 0"] == "? ? ✓"  # two splits: t of 12.7


def test_normalised_lic_is_the_ratio_of_means_where_a_split_alone_is_wild():
    lic = pd.DataFrame({"attribute": "race", "classifier": "x", "seen": "all", "captioner": "one",
                        "lic_data": [25.1, 34.9], "lic": [3.0, 3.0]})  # fmt: skip
    shares = scores.normalised(lic)[scores.NORMALISED]
    assert shares.mean() == pytest.approx(60)  # 3 / 5
    assert shares.iloc[0] - 60 == pytest.approx(60 - shares.iloc[1])


def test_the_page_takes_what_is_recorded_or_says_that_captions_are_missing(executed, monkeypatch):
    monkeypatch.delenv(paths.DATA_SETTING, raising=False)
    page = executed("46_learning", until="def studied", seeds=[0, 12])
    known = page["studied"]("length", learning.length_matched)
    assert set(known["seed"]) == {0, 12}
    assert known["captioner"].nunique() == 9
    page = executed("46_learning", until="def studied", attribute="age")
    with pytest.raises(RelicError, match="captions are not on this machine"):
        page["studied"]("length", learning.length_matched)


def test_recorded_curves_end_at_the_recorded_lic():
    """The largest training set is that of the recorded runs: the same LIC."""
    for attribute in studies.ATTRIBUTES:
        curve = learning.by_size(
            read_table("learning", "curves").query(
                "attribute == @attribute and images == 'all' and captions == 1"
            )
        )
        largest = curve[curve["n_train"] == curve["n_train"].max()].set_index(["captioner", "seed"])
        lic = lic_table(recorded(attribute=attribute, classifier="linear")).set_index(
            ["captioner", "seed"]
        )
        shared = largest.index.intersection(lic.index)
        assert len(shared) == 90
        assert largest.loc[shared, "lic"].to_numpy() == pytest.approx(
            lic.loc[shared, "lic"].to_numpy(), abs=1e-3
        )
