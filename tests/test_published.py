"""Published numbers: the tables, what differs between papers, and the causes, checked by hand."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import relic
from relic import paths
from relic.errors import RelicError
from relic.planted import planted_corpus
from relic.published import CELL, accuracy, causes, compare, names, published, sheet
from relic.published.figure import difference_figure
from relic.published.report import Findings, signed
from relic.published.why import why


@pytest.fixture
def lic():
    return published("lic")


@pytest.fixture
def per_seed():
    return published("lic_per_seed")


@pytest.fixture
def findings(lic, per_seed):
    return Findings(lic, per_seed, published("recipes"))


@pytest.fixture(scope="module")
def bleu():
    return accuracy.both_ways(planted_corpus("gender", images=100), published("accuracy"), 20)


def change(frame, column, value, **where):
    """The frame with one value changed; the cell must exist and be one."""
    chosen = np.logical_and.reduce([frame[key] == wanted for key, wanted in where.items()])
    if "variant" in frame:
        chosen &= frame["variant"].isna()
    assert chosen.sum() == 1
    return frame.assign(**{column: frame[column].mask(chosen, value)})


EQUALIZER = {
    "source": "turk2023",
    "attribute": "gender",
    "classifier": "BERT-pre",
    "captioner": "NIC+Equalizer",
}


# The tables


def test_every_table_is_read_and_described():
    readme = (paths.PUBLISHED / "README.md").read_text(encoding="utf-8")
    assert len(names()) == 15
    for name in names():
        assert len(published(name)) > 0
        assert f"`{name}.csv`" in readme


def test_an_unknown_table_is_refused_with_the_known_ones():
    with pytest.raises(RelicError) as error:
        published("lick")
    assert "'lick'" in str(error.value)
    assert "lic_per_seed" in str(error.value)


def test_recipes_are_those_the_classifiers_offer():
    from relic.classifiers.bert import Pretrained

    rows = published("recipes").query("classifier == 'BERT-pre'").set_index("source")
    offered = {(Pretrained(r).rate, Pretrained(r).epochs) for r in Pretrained.recipes}
    assert set(rows[["learning_rate", "epochs"]].itertuples(index=False, name=None)) == offered
    assert rows.loc["relic2023", "epochs"] == 5


# Side by side


def test_every_cell_of_the_papers_is_there(lic):
    table = compare.side_by_side(lic)
    assert len(table) == 2 * 3 * 3 * 9
    assert int(table["Türk"].notna().sum()) == (3 + 1) * 3 * 9, "race for the LSTM only"
    row = table.set_index(CELL).loc[("race", "LSTM", "NIC+Equalizer", "LIC_M")]
    assert list(row) == [34.5, 2.8, 35.1, 2.3, 33.2, 2.2, "none"]


def test_a_difference_is_beyond_only_when_it_exceeds_both_spreads_together():
    def rows(source, mean):
        cell = {"attribute": "gender", "captioner": "NIC", "classifier": "LSTM", "variant": np.nan}
        return [
            {"source": source, **cell, "metric": "LIC_M", "mean": mean, "std": 3.0},
            {"source": source, **cell, "metric": "LIC_D", "mean": 30.0, "std": 4.0},
            {"source": source, **cell, "metric": "LIC", "mean": mean - 30, "std": np.nan},
        ]

    frame = pd.DataFrame(rows("hirota2022", 40.0) + rows("relic2023", 44.3))
    pairs = compare.differences(frame).set_index("metric")
    assert pairs.loc["LIC_M", "difference"] == 4.3
    assert pairs.loc["LIC_M", "spread"] == pytest.approx(4.2426, abs=1e-4)  # √(9 + 9)
    assert pairs.loc["LIC", "spread"] == pytest.approx(7.0711, abs=1e-4)  # √(25 + 25)
    assert list(pairs["beyond"]) == [True, False, False]
    nearer = pd.DataFrame(rows("hirota2022", 40.0) + rows("relic2023", 44.2))
    assert not compare.differences(nearer)["beyond"].any()


def test_only_bert_pre_differs_beyond_the_spread(lic):
    counted = compare.counts(lic).groupby("classifier").sum(numeric_only=True)
    beyond = counted[["beyond, LIC_M", "beyond, LIC_D", "beyond, LIC"]]
    assert counted["cells"].to_dict() == {"LSTM": 162, "BERT-ft": 108, "BERT-pre": 108}
    assert beyond.loc["BERT-pre"].tolist() == [27, 28, 2]
    assert beyond.loc[["LSTM", "BERT-ft"]].to_numpy().sum() == 0


# The causes


def test_recipe_gap_by_hand(lic):
    table = causes.recipe_gap(lic).set_index("captioner")
    # NIC+Equalizer: 39.9 − 49.5 (Hirota, gender, LIC_M) and 28.9 − 33.4 (Hirota, race, LIC_D)
    assert table.loc["NIC+Equalizer", ["BERT-pre, lowest", "BERT-pre, highest"]].tolist() == [
        -9.6,
        -4.5,
    ]
    assert table.loc["FC", "BERT-pre, highest"] == -4.2  # 28.4 − 32.6
    assert table.loc["NIC", "n of each"] == "8, 6, 6"


def test_truncation_and_rounding_are_told_apart():
    values = [51.97, 51.97]
    assert sheet.truncated(sheet.exact_mean(values)) == 51.9
    assert sheet.rounded(sheet.exact_mean(values)) == 52.0
    assert sheet.exact_mean([0.1, 0.2]) == Fraction(15, 100), "no binary fractions"
    assert sheet.rounded(Fraction("-0.68")) == -0.7


def test_turk_truncates(lic, per_seed):
    means, spreads = sheet.how_printed(sheet.printed_against_sheet(lic, per_seed)).to_dict(
        "records"
    )
    assert means["cells"] == 72
    assert means["truncation and rounding"] + means["truncation only"] == 69
    assert (means["rounding only"], means["neither"]) == (0, 3)
    assert (spreads["rounding only"], spreads["neither"]) == (0, 2)


def test_cells_that_the_seeds_do_not_give(findings):
    slips = findings.slips.set_index(CELL)
    pre = slips.loc[("gender", "BERT-pre", "NIC+Equalizer", "LIC_D")]
    # 40.02 + 40.74 + 41.63 + 41.25 + 41.25 + 39.10 + 41.55 + 41.23 + 40.13 + 40.55 = 407.45
    assert (pre["printed"], round(pre["sheet"], 3), pre["largest seed"]) == (42.9, 40.745, 41.63)
    race = slips.loc[("race", "LSTM", "NIC+Equalizer", "LIC_M")]
    assert (race["printed"], race["printed ±"], race["same as"]) == (33.2, 2.2, "Transformer")
    assert (round(race["sheet"], 1), round(race["sheet ±"], 1)) == (34.5, 2.8)
    assert len(slips) == 3


def test_repeats_are_counted_with_those_the_sheet_bears_out(lic, per_seed):
    against = sheet.printed_against_sheet(lic, per_seed)
    assert sheet.repeats(against) == (7, 5)


def test_ranges_on_a_sheet_of_five_cells():
    cell = {"attribute": "gender", "classifier": "LSTM", "captioner": "B", "metric": "LIC_D"}
    frame = pd.DataFrame(
        {
            "attribute": "gender",
            "classifier": "LSTM",
            "captioner": ["A", "A", "B", "B", "C"],
            "metric": "LIC_D",
            "row": [0, 1, 0, 1, 0],
            "value": [10.0, 20.0, 30.0, 30.0, 60.0],
        }
    )
    found = sheet.ranges_giving(frame, cell, 30.0)
    assert found[["from", "to", "cells"]].values.tolist() == [
        ["A LIC_D, row 0", "C LIC_D, row 0", 5],  # 150 / 5
        ["B LIC_D, row 0", "B LIC_D, row 1", 2],
    ]
    # 10 + 20 is not around B; 20 + 30 = 25.0 on average is
    assert sheet.ranges_giving(frame, cell, 15.0).empty
    assert sheet.ranges_giving(frame, cell, 25.0)["cells"].tolist() == [2]


def test_correction_touches_the_slips_and_their_lic_only(lic, per_seed):
    fixed = causes.corrected(lic, per_seed)
    key = ["source", "table", *CELL]
    both = lic.merge(fixed, on=[*key, "variant"], suffixes=("", "_now"))
    assert len(both) == len(lic) == len(fixed)
    moved = both[both["mean"] != both["mean_now"]].set_index(CELL)["mean_now"]
    assert moved.to_dict() == {
        ("gender", "BERT-pre", "NIC+Equalizer", "LIC_D"): 40.7,
        ("gender", "BERT-pre", "NIC+Equalizer", "LIC"): 8.6,
        ("gender", "BERT-ft", "NIC+Equalizer", "LIC_D"): 47.5,
        ("gender", "BERT-ft", "NIC+Equalizer", "LIC"): 7.1,
        ("race", "LSTM", "NIC+Equalizer", "LIC_M"): 34.4,
        ("race", "LSTM", "NIC+Equalizer", "LIC"): 7.7,
    }


def test_rerun_noise_by_hand(lic):
    table = causes.rerun_noise(lic)
    assert len(table) == 12
    assert int(table["same in all digits"].sum()) == 6
    row = table.set_index(["classifier", "captioner"]).loc[("BERT-ft", "SAT")]
    assert (row["table 3"], row["table 4"], row["difference"]) == (52.1, 51.7, -0.4)


def test_claim_3_has_its_counterexamples_in_lic(lic):
    table = causes.race_against_gender(lic).set_index(["paper", "classifier", "metric"])
    assert (table.xs("LIC_M", level="metric")["race lower"] == 9).all()
    relic_lstm = table.loc[("RELIC 2023", "LSTM", "LIC")]
    assert (relic_lstm["equal"], relic_lstm["which"]) == (1, "Att2in, NIC")
    assert table.loc[("Hirota et al. 2022", "LSTM", "LIC"), "race higher"] == 3
    assert table.loc[("Hirota et al. 2022", "BERT-ft", "LIC"), "race higher"] == 5


def test_claim_4_race_turns_with_the_sheet(lic, per_seed):
    table = causes.equalizer_race(lic, per_seed).set_index(["paper", "classifier"])
    assert table.loc[("Türk et al. 2023", "LSTM"), "change"] == -0.7
    assert table.loc[("Türk et al. 2023, sheet", "LSTM"), "change"] == 0.5
    row = table.loc[("RELIC 2023", "BERT-ft")]
    assert (row["NIC+"], row["NIC+Equalizer"]) == (1.8, 3.9)
    assert row["spread"] == pytest.approx(np.sqrt(5.4**2 + 5.0**2 + 8.0**2 + 5.0**2))


def test_wide_spreads_are_relics_race_bert_ft(lic):
    table = causes.wide_spreads(lic)
    assert set(table["captioner"]) == {"NIC+", "NIC+Equalizer"}
    assert (table["classifier"] == "BERT-ft").all()
    assert table["difference"].max() == 4.7  # 43.4 − 38.7


# BLEU-4


def test_bleu_by_hand_and_by_characters():
    # words: 2 of 3, 1 of 2 and no run of three: 0
    assert accuracy.bleu4(["a red dog"], "a red cat") == pytest.approx(0, abs=1e-6)
    assert accuracy.bleu4(["a red dog"], "a red cat", "characters") > 50
    assert accuracy.bleu4(["a man on a horse"], "a man on a horse") == pytest.approx(100)
    with pytest.raises(RelicError, match="letters"):
        accuracy.bleu4(["a"], "a", "letters")


def test_synthetic_captioners_are_not_set_against_the_print(bleu):
    assert bleu["printed by Türk"].isna().all()
    assert (bleu["images"] == 20).all()
    assert (bleu["characters"] > bleu["words"]).all()
    text = accuracy.in_words(accuracy.example(), bleu, published("accuracy"))
    assert "synthetic" in text
    assert "43.4" in text


def test_characters_give_the_printed_bleu_on_real_captions(real_data):
    corpus = relic.load_corpus("gender", "real")
    table = accuracy.both_ways(corpus, published("accuracy"), 200).set_index("captioner")
    assert len(table) == 9
    off = (table["characters"] - table["printed by Türk"]).abs()
    assert (off < 3 * table["± (characters)"]).all()
    assert (table["words"] < table["printed by Türk"] - 30).all()


# The sentences and the last table follow the numbers


def test_the_answer_follows_a_changed_cell(findings, lic, per_seed):
    before = findings.answer()
    assert "**321 of 378**" in before
    assert "**55 of the other 57**" in before
    assert "4.2 to 9.6" in before
    assert "5 epochs at 1e-5 instead of 20 epochs at 5e-5" in before
    assert "LIC of 6.4" in before
    assert "give 8.6" in before
    other = change(
        lic, "mean", 60.0, source="hirota2022", attribute="gender", classifier="LSTM",
        captioner="NIC", metric="LIC_M",
    )  # fmt: skip
    after = Findings(other, per_seed, published("recipes")).answer()
    assert "**55 of the other 59**" in after, "against RELIC and against Türk"
    assert "Of the remaining 4, **2** are left" in after


def test_the_answer_follows_the_recipes(lic, per_seed):
    recipes = published("recipes")
    other = change(recipes, "epochs", 7, source="relic2023", classifier="BERT-pre")
    assert "7 epochs at 1e-5 instead" in Findings(lic, per_seed, other).answer()


def test_a_corrected_print_leaves_no_impossible_mean(lic, per_seed, findings):
    assert "no average of them is 42.9" in findings.impossible()
    assert "explains why it is OSCAR (7.3)" in findings.impossible()
    other = change(lic, "mean", 40.7, **EQUALIZER, metric="LIC_D")
    mended = Findings(other, per_seed, published("recipes"))
    assert mended.impossible() == "Every printed mean lies within its own per-seed values."
    assert "truncation of the sheet's mean gives **70**" in mended.printing()


def test_a_changed_seed_changes_the_sentence(lic, per_seed):
    other = change(
        per_seed, "value", 42.5, **EQUALIZER, metric="LIC_D", row=2
    )  # 41.63 before, so the sum grows by 0.87
    text = Findings(lic, other, published("recipes")).impossible()
    assert "average 40.8, and the largest is 42.5" in text


def test_claim_sentences_follow_the_numbers(lic, per_seed, findings):
    assert "**63 of 63**" in findings.claim3()
    assert "**47 of 63** (equal in 1, higher in 15)" in findings.claim3()
    assert "in **3** of 8 rows" in findings.claim4()
    assert "**0.4** points" in findings.noise()
    other = change(
        lic, "mean", 1.0, source="relic2023", attribute="gender", classifier="BERT-pre",
        captioner="UpDn", metric="LIC",
    )  # fmt: skip
    changed = Findings(other, per_seed, published("recipes")).claim3()
    assert "**46 of 63** (equal in 1, higher in 16)" in changed


def test_the_last_table_names_each_cause_with_its_size(findings, bleu):
    table = why(findings, bleu)
    assert list(table.columns) == ["cause", "which cells", "size", "how we know"]
    assert (table.map(len) > 0).all(axis=None)
    sizes = "\n".join(table["size"])
    for expected in ("−9.6 to −4.2", "LIC 6.4 and 8.6", "LIC 6.5 and 7.7", "+2.2 to +4.7", "n = 6"):
        assert expected in sizes
    assert "synthetic" in table["size"].iloc[-1]


def test_signs():
    assert [signed(0.04), signed(-0.04), signed(-1.29, 2)] == ["0.0", "0.0", "−1.29"]


# The figure


def test_the_figure_fills_what_lies_beyond(lic):
    pairs = compare.differences(lic)
    axes = difference_figure(pairs, "LIC_M")
    filled = {}
    for panel in axes.figure.axes:
        marks = [bar.lines[0] for bar in panel.containers]
        filled[panel.get_title()] = sum(mark.get_mfc() != "white" for mark in marks)
        assert all(bar.has_xerr for bar in panel.containers)
    assert filled == {
        "gender, LSTM": 0, "race, LSTM": 0, "gender, BERT-ft": 0, "race, BERT-ft": 0,
        "gender, BERT-pre": 9, "race, BERT-pre": 9,
    }  # fmt: skip
    with pytest.raises(RelicError, match="BLEU"):
        difference_figure(pairs, "BLEU")
