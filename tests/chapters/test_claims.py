"""What the claim pages share: tables under the papers' heads and beside the papers' numbers."""

import pandas as pd
import pytest

import relic
from relic.chapters import claims


def test_ours_stands_beside_each_paper():
    ours = pd.DataFrame({"captioner": ["NIC", "mine"], "lic": [1.0, 2.0], "low": 0.0, "high": 3.0})
    found = claims.beside_papers(ours, relic.papers("gender"))
    assert found["captioner"].tolist() == ["NIC"]
    assert found["Hirota et al. 2022, lstm"].tolist() == [3.7]


def test_published_leads_of_the_equalizer():
    verdicts = claims.worded(relic.judge_all(relic.spreadsheet("race")).query("claim == '4'"))
    found = verdicts.iloc[0]
    assert (found["difference"], found["low"], found["high"]) == pytest.approx(
        (0.50, -1.67, 2.67), abs=0.006
    )
    assert found["verdict"] == "? undecided"


def test_seeds_are_names_and_test_captions_whole():
    found = claims.headed(pd.DataFrame({"seed": [1234], "lic": [1.5], "n_test": [233.8]}))
    assert found.iloc[0].tolist() == ["1234", 1.5, 234]
