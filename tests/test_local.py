"""This build's runs beside the recorded ones."""

import pandas as pd
import pytest

from relic import local, results


@pytest.fixture(scope="module")
def recorded():
    runs = results.load_runs()
    kept = (
        (runs["classifier"] == "linear") & (runs["split"] == "paired") & (runs["labels"] == "true")
    )
    return runs[kept & (runs["attribute"] == "gender") & (runs["size"] == 0)]


def own(runs, seeds, shift=0.0):
    part = runs[runs["seed"].isin(seeds)]
    return part.assign(
        source=results.LOCAL, score=part["score"] + shift * (part["side"] == "model")
    )


def test_the_same_runs_lie_nowhere_apart(recorded):
    mine = own(recorded, [0, 12])
    text = local.beside_recorded(mine, recorded)
    assert f"{len(mine):,} of this build's {len(mine):,} runs are recorded too" in text
    assert "differ by at most 1e-06 points." in text
    assert "over 9 captioners, inside the recorded interval for" in text


def test_what_moved_is_told(recorded):
    mine = own(recorded, [0], shift=30.0).assign(fingerprint="of other captions")
    text = local.beside_recorded(mine, recorded)
    assert "differ by at most 30 points" in text
    assert f"({len(mine)} of them read other captions or labels)" in text
    assert "inside the recorded interval for 0 of 9" in text


def test_other_seeds_are_compared_by_lic_alone(recorded):
    mine = own(recorded, [0]).assign(seed=7)
    text = local.beside_recorded(mine, recorded)
    assert f"0 of this build's {len(mine)} runs are recorded too." in text
    assert "LIC, gender, linear: this build minus the recorded mean" in text


def test_synthetic_runs_have_nothing_beside_them(recorded):
    mine = own(recorded, [0]).assign(corpus="embedded corpus (synthetic), 600 images")
    assert local.beside_recorded(mine, recorded) == ""
    assert local.beside_recorded(mine, pd.DataFrame(columns=recorded.columns)) == ""
