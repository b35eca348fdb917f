"""The papers side by side and their protocol re-run: frames worked out by hand, and the printed facts."""

import numpy as np
import pandas as pd
import pytest

import relic
from relic.chapters import figures, papers
from relic.errors import RelicError
from relic.measure.splits import PAPER_SEEDS
from relic.records.published import CELL, published
from relic.records.serve import Runs


def printed(source, lic_model, captioner="NIC", **changes):
    """A row of a printed table; LIC_M ± 3, LIC_D 30 ± 4."""
    row = {"source": source, "attribute": "gender", "classifier": "lstm", "captioner": captioner}
    row |= {"lic_model": lic_model, "lic_data": 30.0, "lic": lic_model - 30}
    return row | {"std_model": 3.0, "std_data": 4.0} | changes


@pytest.fixture(scope="module")
def cells():
    return papers.cells(relic.papers())


# Side by side


def test_a_difference_is_beyond_only_when_it_exceeds_both_spreads_together():
    frame = pd.DataFrame([printed("hirota2022", 40.0), printed("relic2023", 44.3)])
    pairs = papers.pairs(papers.cells(frame)).set_index("metric")
    assert pairs.loc["LIC_M", "difference"] == 4.3
    assert pairs.loc["LIC_M", "spread"] == pytest.approx(np.sqrt(18))  # 4.24
    assert pairs.loc["LIC", "spread"] == pytest.approx(np.sqrt(50))
    assert pairs["beyond"].to_dict() == {"LIC_M": True, "LIC_D": False, "LIC": False}
    assert not papers.pairs(papers.cells(frame), spreads=1.1)["beyond"].any()  # 4.67
    nearer = pd.DataFrame([printed("hirota2022", 40.0), printed("relic2023", 44.2)])
    assert not papers.pairs(papers.cells(nearer))["beyond"].any()


def test_one_paper_cannot_be_compared():
    frame = pd.DataFrame([printed("hirota2022", 40.0)])
    with pytest.raises(RelicError, match="hirota2022"):
        papers.pairs(papers.cells(frame))


def test_levels_differ_for_bert_pre_and_lic_does_not(cells):
    pairs = papers.pairs(cells)
    beyond = pairs.groupby("metric")["beyond"].agg(["sum", "size"])
    assert beyond.loc["LIC"].tolist() == [2, 126]
    assert beyond.loc[["LIC_M", "LIC_D"], "sum"].tolist() == [27, 28]
    assert set(pairs.loc[pairs["beyond"], "classifier"]) == {"bert-pre"}


def test_cells_come_in_the_papers_order_as_the_papers_print_them(cells):
    assert len(cells.drop_duplicates(CELL)) == (2 * 9 + 4) * 3 * 3
    assert cells.iloc[0][CELL].tolist() == ["gender", "lstm", "NIC", "LIC_M"]
    shown = cells.assign(value=papers.plus_minus(cells, "mean")).set_index(CELL)
    row = shown.loc[("race", "lstm", "NIC+Equalizer", "LIC_M")].set_index("source")["value"]
    assert row.to_dict() == {
        "hirota2022": "34.5 ± 2.8",
        "relic2023": "35.1 ± 2.3",
        "turk2023": "33.2 ± 2.2",
    }


def test_the_figure_fills_what_lies_beyond(cells):
    pairs = papers.pairs(cells).query("attribute == 'gender' and source_first == 'hirota2022'")
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


# Türk et al.'s seeds


def test_truncation_rounding_and_neither_by_hand():
    def cell(captioner, mean):
        return printed("turk2023", mean, captioner, std_model=1.0)

    per_seed = pd.DataFrame({
        "attribute": "gender", "classifier": "LSTM", "metric": "LIC_M",
        "captioner": ["NIC"] * 2 + ["SAT"] * 2 + ["FC"] * 2 + ["UpDn"] * 3,
        "value": [51.97, 51.97, 40.0, 40.1, 30.0, 31.0, 0.1, 0.2, 0.3],
    })  # fmt: skip
    frame = pd.DataFrame(
        [cell("NIC", 51.9), cell("SAT", 40.1), cell("FC", 51.9), cell("UpDn", 0.2)]
    )
    found = papers.against_sheet(papers.cells(frame), per_seed).set_index("captioner")
    assert found["truncated"].to_dict() == {"NIC": True, "SAT": False, "FC": False, "UpDn": True}
    assert found["rounded"].to_dict() == {"NIC": False, "SAT": True, "FC": False, "UpDn": True}
    assert found["printed alike"].to_dict() == {"NIC": "FC", "SAT": "", "FC": "NIC", "UpDn": ""}
    assert found.loc["FC", ["of seeds", "largest seed", "n"]].tolist() == [30.5, 31.0, 2]


def test_turk_truncates_but_for_three_cells(cells):
    found = papers.against_sheet(cells, published("lic_per_seed")).set_index(CELL)
    assert (found["truncated"].sum(), len(found)) == (69, 72)
    off = found[~found["truncated"] & ~found["rounded"]]
    pre = off.loc[("gender", "bert-pre", "NIC+Equalizer", "LIC_D")]
    # 40.02 + 40.74 + 41.63 + 41.25 + 41.25 + 39.10 + 41.55 + 41.23 + 40.13 + 40.55 = 407.45
    assert (pre["printed"], round(pre["of seeds"], 3), pre["largest seed"]) == (42.9, 40.745, 41.63)
    race = off.loc[("race", "lstm", "NIC+Equalizer", "LIC_M")]
    assert (race["printed"], race["printed ±"], race["printed alike"]) == (33.2, 2.2, "Transformer")
    assert (round(race["of seeds"], 1), round(race["of seeds ±"], 1)) == (34.5, 2.8)
    assert len(off) == 3


# Their protocol


def run(captioner, seed, score, classifier="lstm", **changes):
    row = {
        "key": f"{classifier}{captioner}{seed}{changes}",
        "corpus": "made up",
        "attribute": "gender",
    }
    row |= {"captioner": captioner, "classifier": classifier, "side": "model", "seed": seed}
    row |= {"caption_set": "standard", "split": "upstream", "recipe": "upstream", "encoder": ""}
    row |= {"batching": "packed", "score": score, "n_test": 662, "n_unseen_raw": 100 + seed}
    return row | {"unseen_raw_score": score - 5, "source": "recorded"} | changes


@pytest.fixture
def runs():
    """LSTM: NIC 42 ± √2, SAT 50; linear: NIC 43."""
    rows = [run("nic", 0, 41.0), run("nic", 12, 43.0), run("sat", 0, 50.0), run("sat", 12, 50.0)]
    return Runs(pd.DataFrame([*rows, run("nic", 0, 43.0, "linear", recipe="C=0.1", batching="")]))


@pytest.fixture
def theirs():
    rows = [printed("hirota2022", 40.0), printed("relic2023", 44.0, std_model=1.0)]
    return papers.cells(pd.DataFrame([*rows, printed("hirota2022", 50.5, "SAT")]))


def test_ours_beside_theirs_by_hand(runs, theirs):
    table = papers.beside(runs, theirs).set_index(["classifier", "captioner", "paper"])
    nic = table.loc[("lstm", "NIC", "Hirota")]
    assert (nic["ours"], nic["difference"], nic["inside"]) == (42.0, 2.0, True)
    assert nic["sd"] == pytest.approx(np.sqrt(2))
    assert table.loc[("lstm", "NIC", "Antequera"), "difference"] == -2.0
    assert not table.loc[("lstm", "NIC", "Antequera"), "inside"]  # their spread is 1
    assert table.loc[("linear", "NIC", "Antequera"), "inside"]  # beside their LSTM: 43 and 44 ± 1
    assert len(table) == 3 + 2


def sheet(values):
    """Türk et al.'s spreadsheet for NIC: row k is the k-th seed."""
    rows = [{"seed": k, "lic_model": value} for k, value in enumerate(values)]
    return pd.DataFrame(rows).assign(attribute="gender", classifier="lstm", captioner="NIC")


def test_rows_of_the_sheet_meet_the_seed_of_that_number(runs):
    met = papers.by_split(runs.where(classifier="lstm"), sheet([40.0, 42.0, 44.0]))
    assert met[["seed", "ours", "theirs"]].values.tolist() == [[0, 41.0, 40.0], [12, 43.0, 42.0]]


def test_the_order_of_seeds_is_told_from_any_other():
    values = np.random.default_rng(0).normal(45, 2, 10)
    rows = [run("nic", seed, value) for seed, value in zip(PAPER_SEEDS, values, strict=True)]
    own = Runs(pd.DataFrame(rows))
    r, p = papers.seed_order(papers.by_split(own, sheet(values + 3)), draws=99)
    assert r == pytest.approx(1.0)
    assert p <= 0.02
    r, p = papers.seed_order(papers.by_split(own, sheet(values[::-1])), draws=99)
    assert r < 0.9
    assert p > 0.02


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


def test_recorded_splits_go_with_turks_rows():
    fields = {"classifier": "linear", "split": "upstream", "side": "model"}
    splits = papers.by_split(relic.recorded(attribute="race", **fields), relic.spreadsheet())
    r, p = papers.seed_order(splits, draws=199)
    assert r > 0.5
    assert p <= 0.01
