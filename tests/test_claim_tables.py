"""Tables and sentences of the claim pages, on small frames with known answers."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from relic import (
    claim_figures,
    claim_tables,
    claims,
    classifier_tables,
    evidence,
    local,
    report,
    results,
)
from relic.store import Store
from relic.sweep import Source


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Runs of the smallest corpus, two seeds, computed for real."""
    patch = pytest.MonkeyPatch()
    patch.setenv("RELIC_RUNS", str(tmp_path_factory.mktemp("runs")))
    options = {"corpus": "embedded", "images": 600, "seeds": [0, 12], "caption_indices": [0, 1]}
    runs = local.lic_runs("gender", **options)
    yield runs, local.own_store()
    patch.undo()


def test_own_runs_are_computed_once_and_read_back(built):
    runs, store = built
    assert len(runs) == 4 * 2 * (1 + 2)
    assert set(runs["source"]) == {results.LOCAL}
    again = local.own_runs(Source("embedded", images=600), [], progress=False)
    assert again.empty
    assert isinstance(store, Store)


def test_image_bootstrap_centres_on_the_mean_over_test_images(built):
    runs, store = built
    found = evidence.image_intervals(runs, {"a": {"planted_lot": 1.0}}, store=store)["a"]
    scores = runs[runs["captioner"] == "planted_lot"].groupby("side")["score"].mean()
    assert found.mean == pytest.approx(scores["model"] - scores["human"], abs=1e-3)
    assert found.low < found.mean < found.high


def test_captioner_table_shows_both_intervals(built):
    runs, store = built
    group = evidence.from_runs(runs, evidence.THIS_BUILD)
    table = claim_tables.captioner_table(group[group["variant"] == "standard"], runs, store)
    assert list(table["captioner"]) == [
        "Faithful (gain 0)", "Amplifier (gain 0.5)", "Strong amplifier (gain 1.5)", "Reducer (gain −1)",
    ]  # fmt: skip
    assert np.allclose(table["LIC"], table["LIC_M"] - table["LIC_D"])
    assert (table["images low"] < table["LIC"]).all()
    assert (table["LIC"] < table["images high"]).all()


def test_strong_amplifier_against_faithful_captioner(built):
    runs, _ = built
    found = claims.judge_all(evidence.from_runs(runs, evidence.THIS_BUILD))
    four = [v for v in found if v.claim == "4" and v.variant == "standard"]
    assert [v.verdict for v in four] != [claims.NOT_SUPPORTED]
    assert four[0].estimate > 5


def test_equal_size_draws_as_many_gender_images_as_race_has(tmp_path, monkeypatch):
    monkeypatch.setenv("RELIC_RUNS", str(tmp_path))
    runs = local.equal_size_runs(
        corpus="embedded", images=600, classifier="linear", seeds=[0], caption_indices=[0],
        captioner=["planted_none"],
    )  # fmt: skip
    found = evidence.equal_size(runs, "here")
    assert set(found["variant"]) == {"standard, equal size", "unseen, equal size"}
    n_test = found[found["variant"] == "standard, equal size"].groupby("attribute")["n_test"].mean()
    assert n_test["gender"] == n_test["race"]


def test_beside_papers_by_hand():
    theirs = evidence.from_tables()
    ours = pd.DataFrame(
        [
            {"captioner": "NIC", "seed": seed, "lic": lic, "lic_model": 45.0, "n_seeds": 1}
            for seed, lic in enumerate([4.0, 5.0])
        ]
    )
    table = claim_tables.beside_papers(theirs, "gender", ours).set_index(
        ["paper", "their classifier"]
    )
    row = table.loc[("Hirota et al. 2022", "lstm")]
    # 4.5 - 3.7 = 0.8, spread sqrt(1.5² + 0.9²) = 1.75
    assert (row["difference"], row["spread"]) == pytest.approx((0.8, 1.749), abs=1e-3)
    assert row["within their spread"]
    assert not table.loc[("Hirota et al. 2022", "bert-ft"), "within their spread"]  # -0.8 ± 2.6


def test_agreement_of_published_classifiers():
    table = classifier_tables.agreement_table(evidence.from_per_seed(), ["gender"])
    pair = table[table["classifiers"] == "bert-ft – lstm"].iloc[0]
    lic = evidence.from_per_seed().query("attribute == 'gender'")
    means = lic.groupby(["classifier", "captioner"])["lic"].mean()
    joined = pd.concat([means["bert-ft"], means["lstm"]], axis=1)
    assert pair["τ"] == pytest.approx(joined.corr(method="kendall").iloc[0, 1])
    assert pair["p of τ"] < 0.01


def test_rank_table_has_a_column_a_classifier():
    frame = evidence.from_per_seed().assign(source=results.RECORDED)
    table = classifier_tables.rank_table(frame, "gender").set_index("captioner")
    assert set(table) == {"lstm", "bert-ft", "bert-pre"}
    assert table.loc["NIC+Equalizer", "lstm"] == "1 (1 to 1)"
    assert sorted(int(cell.split()[0]) for cell in table["lstm"]) == list(range(1, 10))
    one = frame[frame["seed"] == frame["seed"].min()]
    assert classifier_tables.rank_table(one, "gender")["lstm"].str.endswith("(one split)").all()


def test_every_classifier_and_the_papers_beside_it():
    found, runs = evidence.gather(), results.load_runs()
    table = classifier_tables.every_classifier(found, runs, "gender")
    kept = found[(found["source"] == results.RECORDED) & (found["attribute"] == "gender")]
    assert len(table) == len(kept.drop_duplicates(["classifier", "variant", "captioner"]))
    main = classifier_tables.main_rows(table).set_index("captioner")
    assert "human captions a seed" not in main
    lstm = table[table["classifier"] == "lstm"]
    assert list(lstm["human captions a seed"].unique()) == [1]
    assert (main["LIC"] - (main["LIC_M"] - main["LIC_D"])).abs().max() < 1e-9
    beside = classifier_tables.papers_by_classifier(found, runs, "gender")
    same = beside[beside["our classifier"] != evidence.MAIN]
    ours = same["our classifier"].str.split(" ").str[0]
    assert len(same)
    assert (same["their classifier"] == ours).all()


def test_a_figure_of_classifiers_leaves_out_intervals_from_two_splits():
    frame = evidence.from_per_seed().assign(source=results.RECORDED)
    few = frame[
        (frame["classifier"] != "lstm") | frame["seed"].isin(sorted(frame["seed"].unique())[:2])
    ]
    shown = classifier_tables.intervals_by_classifier(few, "gender")
    assert set(shown["series"]) == {"bert-ft", "bert-pre"}


def test_unseen_lead_of_turk():
    rows = claim_tables.unseen_lead(results.load_runs())
    theirs = rows[rows["source"].str.startswith("Türk")].set_index("test captions")["difference"]
    assert theirs.to_dict() == pytest.approx({"all": 5.6, "unseen, as written": 0.6})


def test_headline_and_paper_line_follow_the_verdicts():
    frame = evidence.from_per_seed()
    found = report.select(claims.judge_all(frame), "2", ["gender"])
    assert report.headline(found) == report.NO_RECORD
    assert "3 bodies" in report.paper_line(found)
    assert "supported twice, not supported once" in report.paper_line(found)
    ours = claims.judge_all(frame.assign(source=results.RECORDED))
    text = report.headline(report.select(ours, "2"))
    assert "Gender: **✗ not supported** (bert-ft, 10 splits)." in text
    assert "Others: bert-pre ✓, lstm ✓." in text


def test_forest_and_slopes_draw_every_row():
    lstm = evidence.from_per_seed().query("attribute == 'gender' and classifier == 'lstm'")
    axes = claim_figures.forest(claim_tables.estimates(lstm, "all"), xlabel="LIC")
    assert axes.get_yticklabels()[0].get_text() == "NIC"
    assert len(axes.get_yticklabels()) == 9
    ranks = classifier_tables.lic_by_classifier(evidence.from_per_seed(), "turk2023", "gender")
    axes = claim_figures.slopes(ranks)
    assert len(axes.texts) == 9
    plt.close("all")


def test_a_table_says_when_one_human_caption_a_seed_gave_its_lic_d(built):
    runs, _ = built
    model, human = (runs[runs["side"] == side] for side in evidence.BOTH)
    seeds = sorted(set(runs["seed"]))
    turns = {seed: sorted(set(human["caption_index"]))[i % 2] for i, seed in enumerate(seeds)}
    rotated = human[human["caption_index"] == human["seed"].map(turns)]
    found = [
        evidence.from_runs(pd.concat([model, some]), evidence.THIS_BUILD)
        for some in (human, human[human["caption_index"] == 0], rotated)
    ]
    titles = [report.about(each[each["variant"] == "standard"]).title for each in found]
    assert titles[0].endswith("2 seeds, LIC_D from 2 human captions a seed")
    assert titles[1].endswith("seeds, LIC_D from one human caption a seed")
    assert titles[2].endswith("seeds, LIC_D from one human caption a seed, in turn")


def test_both_intervals_rest_on_the_same_seeds(built):
    runs, store = built
    some = runs[(runs["side"] == "model") | (runs["seed"] == 0)]
    found, same = (
        evidence.image_intervals(frame, {"a": {"planted_lot": 1.0}}, store=store)["a"]
        for frame in (some, runs[runs["seed"] == 0])
    )
    assert found == same
