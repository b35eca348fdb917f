"""The papers side by side and their protocol re-run: the printed facts, as the pages compute them."""

import numpy as np
import pandas as pd
import pytest

import relic
from relic.chapters import figures, papers
from relic.errors import RelicError
from relic.measure.splits import PAPER_SEEDS
from relic.records.tables import CELL, published


@pytest.fixture(scope="module")
def side_by_side(executed):
    return executed("01_published", until="off =")


@pytest.fixture(scope="module")
def protocol(executed):
    return executed("02_papers_protocol", until="def seed_order")


# Side by side


def test_cells_come_in_the_papers_order_as_the_papers_print_them(side_by_side):
    cells = side_by_side["cells"]
    assert len(cells.drop_duplicates(CELL)) == (2 * 9 + 4) * 3 * 3
    assert cells.iloc[0][CELL].tolist() == ["gender", "lstm", "NIC", "LIC_M"]
    shown = side_by_side["printed_as"].set_index(CELL)
    row = shown.loc[("race", "lstm", "NIC+Equalizer", "LIC_M")].set_index("source")["value"]
    assert row.to_dict() == {
        "hirota2022": "34.5 ± 2.8",
        "relic2023": "35.1 ± 2.3",
        "turk2023": "33.2 ± 2.2",
    }


def test_a_difference_is_beyond_only_when_it_exceeds_both_spreads_together(side_by_side, executed):
    pairs = side_by_side["pairs"]
    difference = (pairs["mean_second"] - pairs["mean_first"]).round(1)
    assert pairs["difference"].tolist() == difference.tolist()
    assert pairs["beyond"].tolist() == (difference.abs() > pairs["spread"] + 1e-9).tolist()
    wider = executed("01_published", until='pairs["beyond"]', spreads=2.0)["pairs"]
    assert wider["beyond"].sum() < pairs["beyond"].sum()


def test_one_paper_cannot_be_compared(executed):
    with pytest.raises(RelicError, match="hirota2022"):
        executed("01_published", until="cells =", sources=["hirota2022"])


def test_levels_differ_for_bert_pre_and_lic_does_not(side_by_side):
    pairs = side_by_side["pairs"]
    beyond = pairs.groupby("metric")["beyond"].agg(["sum", "size"])
    assert beyond.loc["LIC"].tolist() == [2, 126]
    assert beyond.loc[["LIC_M", "LIC_D"], "sum"].tolist() == [27, 28]
    assert set(pairs.loc[pairs["beyond"], "classifier"]) == {"bert-pre"}


def test_the_figure_fills_what_lies_beyond(side_by_side):
    pairs = side_by_side["pairs"].query("attribute == 'gender' and source_first == 'hirota2022'")
    pairs = pairs[pairs["metric"].isin(["LIC", "LIC_M"])]
    pairs = pairs.assign(source=pairs["source_second"], within=~pairs["beyond"])
    look = {"value": "difference", "xlabel": "points", "hollow": "within"}
    axes = figures.by_paper(pairs, "classifier", "metric", **look)
    filled = {
        panel.get_title(): sum(
            len(line.get_xdata())
            for line in panel.lines
            if line.get_linestyle() == "None" and line.get_markerfacecolor() != "white"
        )
        for panel in axes.figure.axes
    }
    assert filled == {
        "LIC, lstm": 0, "LIC_M, lstm": 0, "LIC, bert-ft": 0, "LIC_M, bert-ft": 0,
        "LIC, bert-pre": 2, "LIC_M, bert-pre": 9,
    }  # fmt: skip


def test_turk_truncates_but_for_three_cells(side_by_side):
    table = side_by_side["seeds"].set_index(CELL)
    assert (table["truncated"].sum(), len(table)) == (69, 72)
    off = table[~table["truncated"] & ~table["rounded"]]
    pre = off.loc[("gender", "bert-pre", "NIC+Equalizer", "LIC_D")]
    # 40.02 + 40.74 + 41.63 + 41.25 + 41.25 + 39.10 + 41.55 + 41.23 + 40.13 + 40.55 = 407.45
    assert (pre["printed"], round(pre["of seeds"], 3), pre["largest seed"]) == (42.9, 40.745, 41.63)
    race = off.loc[("race", "lstm", "NIC+Equalizer", "LIC_M")]
    assert (race["printed"], race["printed ±"], race["printed alike"]) == (33.2, 2.2, "Transformer")
    assert (round(race["of seeds"], 1), round(race["of seeds ±"], 1)) == (34.5, 2.8)
    assert len(off) == 3


# Their protocol


def test_ours_beside_theirs(protocol):
    beside = protocol["beside"].set_index(["attribute", "classifier", "captioner", "paper"])
    row = beside.loc[("gender", "lstm", "SAT", "Hirota")]
    own = relic.model_table(protocol["runs"].where(classifier="lstm", captioner="sat"))
    assert row["ours"] == pytest.approx(own.query("attribute == 'gender'")["lic_model"].mean())
    assert row["inside"] == (abs(row["ours"] - row["theirs"]) <= row["spread"])
    assert beside.loc[("race", "linear", "SAT", "Türk"), "theirs by"] == "lstm"


def test_rows_of_the_sheet_meet_the_seed_of_that_number(protocol):
    splits = protocol["splits"].query("attribute == 'race' and captioner == 'NIC'")
    theirs = relic.spreadsheet("race").query("captioner == 'NIC'").set_index("seed")["lic_model"]
    at = [PAPER_SEEDS.index(seed) for seed in splits["seed"]]
    assert splits["theirs"].tolist() == theirs.loc[at].tolist()


def test_the_order_of_seeds_is_told_from_any_other(protocol):
    def splits(theirs) -> pd.DataFrame:
        frame = pd.DataFrame({"seed": PAPER_SEEDS, "ours": values, "theirs": theirs})
        return frame.assign(captioner="NIC", caption_set="standard")

    values, seed_order = np.random.default_rng(0).normal(45, 2, 10), protocol["seed_order"]
    r, p = seed_order(splits(values + 3), draws=99)
    assert r == pytest.approx(1.0)
    assert p <= 0.02
    r, p = seed_order(splits(values[::-1]), draws=99)
    assert r < 0.9
    assert p > 0.02


def test_recorded_splits_go_with_turks_rows(protocol):
    r, p = protocol["seed_order"](protocol["splits"].query("attribute == 'race'"), draws=199)
    assert r > 0.5
    assert p <= 0.01


def test_nic_reads_the_file_of_the_papers_script():
    def sets(attribute, classifier):
        frame = papers.protocol(relic.load_corpus(attribute), classifier, [0]).frame
        assert set(frame["split"]) == {"upstream"}
        assert set(frame["seed"]) == {0}
        return frame[frame["captioner"] == "nic"]["caption_set"].tolist()

    assert sets("gender", "linear") == ["th10"]
    assert sets("gender", "lstm") == ["th10"]
    assert sets("race", "linear") == ["standard"]
    with pytest.raises(RelicError, match="bert-large"):
        papers.protocol(relic.load_corpus("gender"), "bert-large", [0])


def test_recorded_splits_are_turks_by_their_unseen_counts():
    """Ten seeds of upstream splits give table 5's counts to within three captions."""
    linear = papers.protocol(relic.load_corpus("gender"), "linear", [])
    ours = relic.model_table(linear, seen="unseen as written").groupby("captioner")["n_test"].mean()
    table5 = published("unseen_captions").set_index("captioner")["unseen"]
    assert len(table5) == 9
    assert ours.to_dict() == pytest.approx(table5.to_dict(), abs=3)
