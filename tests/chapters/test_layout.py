"""Extensions on hand-made runs with answers worked out by hand, and on the record."""

import numpy as np
import pandas as pd
import pytest

import relic
from relic.chapters import layout
from relic.judge.stats import shared
from relic.records.serve import Runs

RHO = shared(0.529)  # of age: 2,435 young, 4,603 old


def run(side, score, seed=0, captioner="oscar", **more):
    row = {
        "key": f"{side} {captioner} {seed} {sorted(more.items())}", "source": "recorded", "corpus": "made",
        "attribute": "age", "captioner": captioner, "side": side, "caption_set": "standard", "labels": "true",
        "size": 0, "caption_index": 0, "vocabulary": "" if side == "model" else "captioner", "split": "paired",
        "seed": seed, "classifier": "linear", "recipe": "", "batching": "", "encoder": "", "score": score,
        "unseen_raw_score": score - 5, "n_test": 100, "n_unseen": 40, "n_unseen_raw": 50,
    }  # fmt: skip
    return row | more


def made(*rows):
    return Runs(pd.DataFrame(rows))


@pytest.fixture
def vocabularies():
    """LIC_M 50 and 53; LIC_D 44 and 46, without replacement 46 and 50: LIC 6, 7 and 4, 3."""
    rows = [
        run("model", 50.0, 0),
        run("model", 53.0, 1),
        run("human", 44.0, 0),
        run("human", 46.0, 1),
    ]
    rows += [run("human", s, n, vocabulary="none") for n, s in enumerate((46.0, 50.0))]
    chosen = {"captioner's": ["", "captioner"], "none": ["", "none"]}
    return {n: relic.lic_table(made(*rows).where(vocabulary=v)) for n, v in chosen.items()}


def test_lic_by_vocabulary_shares_lic_m(vocabularies):
    assert vocabularies["captioner's"]["lic"].tolist() == [6, 7]
    assert vocabularies["none"]["lic"].tolist() == [4, 3]
    assert vocabularies["none"]["lic_model"].tolist() == [50, 53]


def test_a_change_is_taken_split_by_split(vocabularies):
    moved = layout.change(vocabularies["none"], vocabularies["captioner's"])
    assert moved["change"].tolist() == [-2, -4]  # and not of the means alone
    wide = layout.side_by_side({"change, none": moved}, "change").iloc[0]
    reach = 12.7062 * np.sqrt((1 / 2 + RHO) * 2)  # t of one degree; variance of -2, -4
    assert wide["change, none"] == -3
    assert wide["change, none high"] == pytest.approx(-3 + reach, abs=1e-3)


def test_a_change_needs_the_split_on_both_sides(vocabularies):
    one = vocabularies["none"].query("seed == 1")
    assert layout.change(one, vocabularies["captioner's"])["change"].tolist() == [-4]


def test_tables_stacked_and_side_by_side(vocabularies):
    long = layout.stacked(vocabularies, "vocabulary")
    assert long[["vocabulary", "lic"]].to_numpy().tolist() == [["captioner's", 6.5], ["none", 3.5]]
    wide = layout.side_by_side(vocabularies)
    assert wide[["captioner", "captioner's", "none"]].to_numpy().tolist() == [["OSCAR", 6.5, 3.5]]


def test_judged_says_who_decides():
    def lic(*scores):
        rows = [run("model", 50.0 + s / 10, s, name) for name in ("oscar", "sat") for s in range(3)]
        human = zip(("oscar", "sat"), scores, strict=True)
        return relic.lic_table(
            made(*rows, *(run("human", h, s, n) for n, h in human for s in range(3)))
        )

    table = layout.judged({"both": lic(44.0, 40.0), "one": lic(44.0, 55.0)})
    assert table["verdict"].tolist() == ["✓ supported", "✗ refuted"]
    assert table["rests on"].tolist() == ["OSCAR", "SAT"]
    assert table["surely"].tolist() == ["2 of 2", "1 of 2"]
    assert table["LIC"].tolist() == pytest.approx([6.1, -4.9])
    assert list(table)[:3] == ["captions", "verdict", "surely"]  # seen first on a narrow screen


def test_the_mean_of_folds_is_as_wide_as_its_captioners():
    model = [("sat", 0, 50.0), ("sat", 1, 52.0), ("oscar", 0, 60.0), ("oscar", 1, 56.0)]
    rows = [run("model", score, fold, name) for name, fold, score in model]
    rows += [run("human", 40.0, fold, name) for name, fold, _ in model]
    overall = layout.mean_of_folds(relic.lic_table(made(*rows)))  # LIC 10, 12 and 20, 16
    factor = np.sqrt(1 / 2 + RHO)
    assert overall.mean == 14.5
    assert overall.error == pytest.approx(factor * (np.sqrt(2) + np.sqrt(8)) / 2)
    assert (overall.df, overall.n) == (1, 2)


def test_human_captions_under_three_vocabularies(executed):
    small = {"attributes": ["gender"], "corpus": "embedded", "images": 600, "seeds": [0]}
    page = executed("51_vocabulary", until="read_captions(look", **small)
    unknown = {way: page["shown"][way].str.count("<unk>").sum() for way in page["ways"].values()}
    assert unknown["captioner's"] > unknown["human-top-n"] > unknown["none"] == 0
    assert page["shown"]["none"].str.contains("genderword").any()


def test_ours_stands_beside_each_paper():
    ours = pd.DataFrame({"captioner": ["NIC", "mine"], "lic": [1.0, 2.0], "low": 0.0, "high": 3.0})
    table = layout.beside_papers(ours, relic.papers("gender"))
    assert table["captioner"].tolist() == ["NIC"]
    assert table["Hirota et al. 2022, lstm"].tolist() == [3.7]


def test_published_leads_of_the_equalizer():
    verdicts = layout.worded(relic.judge_all(relic.spreadsheet("race")).query("claim == '4'"))
    row = verdicts.iloc[0]
    assert (row["difference"], row["low"], row["high"]) == pytest.approx(
        (0.50, -1.67, 2.67), abs=0.006
    )
    assert row["verdict"] == "? undecided"


def test_seeds_are_names_and_test_captions_whole():
    table = layout.headed(pd.DataFrame({"seed": [1234], "lic": [1.5], "n_test": [233.8]}))
    assert table.iloc[0].tolist() == ["1234", 1.5, 234]
