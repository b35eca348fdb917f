"""Published numbers: the files are whole, described, and fit one another."""

import numpy as np
import pytest

from relic import paths
from relic.errors import RelicError
from relic.records.tables import CELL, published

TABLES = ["source", "table", "attribute", "classifier", "captioner"]


def test_every_table_is_read_and_described():
    readme = (paths.PUBLISHED / "README.md").read_text(encoding="utf-8")
    names = [file.stem for file in paths.PUBLISHED.glob("*.csv")]
    assert len(names) == 15
    for name in names:
        assert len(published(name)) > 0
        assert f"`{name}.csv`" in readme


def test_an_unknown_table_is_refused_with_the_known_ones():
    with pytest.raises(RelicError) as error:
        published("lick")
    assert "'lick'" in str(error.value)
    assert "lic_per_seed" in str(error.value)


def test_no_cell_is_there_twice():
    assert not published("lic").duplicated([*TABLES, "metric"]).any()
    assert not published("lic_per_seed").duplicated([*CELL, "row"]).any()


def test_printed_lic_is_the_difference_up_to_its_decimals():
    wide = published("lic").pivot(index=TABLES, columns="metric", values="mean").dropna()
    assert len(wide) == 9 * (6 + 6 + 4) + 4 * 6  # two papers six columns, one four; age twice
    assert ((wide["LIC_M"] - wide["LIC_D"] - wide["LIC"]).abs() < 0.11).all()


def test_every_printed_mean_of_lic_m_and_lic_d_has_its_spread():
    lic = published("lic")
    assert lic.loc[lic["metric"] != "LIC", "std"].between(0.1, 10).all()
    assert lic["mean"].between(-3, 60).all()


def test_the_spreadsheet_has_ten_seeds_a_cell_but_for_one():
    sizes = published("lic_per_seed").groupby(CELL).size()
    assert sizes[sizes != 10].to_dict() == {("race", "LSTM", "OSCAR", "LIC_D"): 9}
    assert len(sizes) == 2 * 9 * 4


def test_table_5_is_lower_than_table_2_by_the_printed_difference():
    lic = published("lic").query(
        "source == 'turk2023' and classifier == 'LSTM' and attribute == 'gender'"
    )
    lic = lic[(lic["metric"] == "LIC_M") & lic["variant"].isna()].set_index("captioner")["mean"]
    table5 = published("unseen_captions").set_index("captioner")
    gap = (table5["lic_m"] - lic - table5["difference"]).abs()
    assert len(gap) == 9
    assert (gap < 0.15).all()


def test_claim_3_holds_in_print_for_lic_m_and_not_for_lic():
    lic = published("lic")
    cells = ["metric", "source", "classifier", "captioner"]
    wide = lic[lic["variant"].isna()].pivot(index=cells, columns="attribute", values="mean")
    both = wide[["race", "gender"]].dropna()
    lower = (both["race"] < both["gender"]).groupby("metric").agg(["sum", "size"])
    assert lower.loc[["LIC_M", "LIC"]].to_numpy().tolist() == [[63, 63], [47, 63]]


def test_recipes_are_those_the_classifiers_offer():
    from relic.measure.classifiers.base import CLASSIFIERS
    from relic.measure.classifiers.bert import Pretrained

    rows = published("recipes").query("classifier == 'BERT-pre'").set_index("source")
    offered = {(Pretrained(r).rate, Pretrained(r).epochs) for r in CLASSIFIERS["bert-pre"].recipes}
    assert set(rows[["learning_rate", "epochs"]].itertuples(index=False, name=None)) == offered
    assert rows.loc["relic2023", "epochs"] == 5


def test_ratios_of_the_gender_score_are_shares():
    to_men = published("gender_score")["to_m"]
    assert np.isfinite(to_men).all()
    assert to_men.between(0, 1).all()
