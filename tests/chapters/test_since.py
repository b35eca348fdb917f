"""relic.chapters.since: groups, differences and the leaderboard by hand; what the record must show."""

import numpy as np
import pandas as pd
import pytest

import relic
from relic import paths
from relic.chapters import since
from relic.chapters.layout import headed
from relic.data.planted import planted_corpus
from relic.judge.stats import shared
from relic.records.tables import home, read_table

RHO = shared(0.443)  # of gender: 3,301 women, 7,456 men
KARPATHY = "COCO captions, Karpathy test images"


def lic(**by_captioner) -> pd.DataFrame:
    """A lic table: LIC of each captioner, split by split."""
    rows = [
        {"corpus": "x", "attribute": "gender", "classifier": "linear", "seen": "all", "captioner": name.replace("_", " "),
         "seed": seed, "lic_model": 40 + value, "lic_data": 40.0, "lic": value, "n_test": 84, "human": "0"}
        for name, values in by_captioner.items() for seed, value in enumerate(values)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_groups():
    names = ("NIC", "OFA-large", "Knight", "GPT-2, no image", "LLaVA, long prompt", "mine")
    groups = [since.group(name) for name in names]
    assert groups == [since.NINE, "COCO", "COCO texts only", since.CONTROL, "instruction data", "not stated"]  # fmt: skip


def test_a_group_is_compared_split_by_split():
    table = lic(NIC=[1, 2, 3], SAT=[3, 4, 5], PureT=[1, 1, 1])
    lead = since.ahead(table, "COCO")  # means of the nine 2, 3, 4: differences −1, −2, −3
    assert lead.mean == pytest.approx(-2)
    assert lead.error == pytest.approx(np.sqrt(1 / 3 + RHO))


@pytest.fixture(scope="module")
def page(executed):
    """The page's names, up to its last figure."""
    return executed("58_since", until="figures.crossed")


def test_long_and_short_prompts_by_hand(page):
    table = pd.concat([lic(NIC=[0, 0]), lic(a=[5, 7], b=[1, 2]).replace({"a": "LLaVA, long prompt", "b": "LLaVA, short prompt"})])  # fmt: skip
    (row,) = page["long_and_short"](table).to_dict("records")
    assert (row["model"], row["long"], row["short"], row["long − short"]) == ("LLaVA", 6, 1.5, 4.5)
    assert page["long_and_short"](lic(NIC=[0, 1])).empty


def test_the_nine_on_these_images_agree_with_as_many_drawn(page):
    drawn = page["drawn"](page["corpora"]["Karpathy test"])
    assert (drawn["captioner"].nunique(), set(drawn["n_test"])) == (9, {84})
    rows = pd.DataFrame(page["rows"]).query("images == 'Karpathy test'")
    assert len(rows) == 9
    assert rows["these − drawn"].tolist() == (rows["these"] - rows["drawn"]).tolist()
    inside = (rows["these − drawn low"] <= 0) & (rows["these − drawn high"] >= 0)
    assert inside.sum() >= 8


def test_markdown_joins_an_estimate_with_its_interval():
    table = pd.DataFrame({"captioner": ["NIC"], "lic": [1.26], "low": [-1.0], "high": [2.0], "n": [3]})  # fmt: skip
    text = since.markdown(table)
    assert text.splitlines()[0] == "| captioner | lic | n |"
    assert text.splitlines()[2] == "| NIC | 1.3 [−1.0, 2.0] | 3 |"


@pytest.fixture
def served(monkeypatch):
    """The record, as on a machine without captions."""
    monkeypatch.delenv(paths.DATA_SETTING, raising=False)
    return {
        images: relic.runs(relic.load_corpus("gender", images))
        for images in since.image_sets()
        if images in ("Karpathy test", "POPE", "MAGIC")
    }


def test_captions_without_the_image_lie_below_zero(served):
    table = relic.intervals(relic.lic_table(served["Karpathy test"])).set_index("captioner")
    assert table.loc["GPT-2, no image", "high"] < 0


def test_the_leaderboard_follows_from_the_runs(served):
    board = since.board(served)
    kept = read_table("since", "leaderboard").astype({"year": str})
    pd.testing.assert_frame_equal(board.reset_index(drop=True), kept, check_dtype=False, rtol=1e-4)
    text = (home("since") / "leaderboard.md").read_text(encoding="utf-8")
    assert text.endswith(f"\n\n{since.markdown(headed(board))}")


def test_recording_writes_every_part_and_the_leaderboard(monkeypatch, tmp_path):
    """On the embedded corpus, with what takes minutes left out."""
    kept = home("since")
    (tmp_path / "since").mkdir()
    for name in ("leaderboard.md", "naming.csv", "accuracy.csv"):
        (tmp_path / "since" / name).write_bytes((kept / name).read_bytes())
    was = (kept / "leaderboard.md").read_text(encoding="utf-8")
    corpora, asked = {}, []

    def embedded(attribute, images):
        corpora[attribute, images] = planted_corpus(attribute, images=200)
        return corpora[attribute, images]

    def accuracy(corpus, *, sets):
        asked.extend(sets)
        row = {"metric": "CIDEr", "tokenizer": "PTB", "value": 1.0, "low": 0.0, "high": 2.0}
        row |= {"corpus": corpus.name, "captioner": "NIC", "n": 1, "draws": 1}
        return pd.DataFrame([row, row | {"metric": "no metric of ours"}])

    def changed(corpus, keys, **_):
        return pd.DataFrame({"captioner": keys, "classifier": "linear", "seen": "all"})

    def board(served):
        assert all((runs.frame["attribute"] == "gender").all() for runs in served.values())
        return pd.DataFrame({"captioner": ["NIC"], "lic": [1.0]})

    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    for name, small in {"load_corpus": embedded, "accuracy": accuracy, "length_matched": changed, "objects_masked": changed, "board": board}.items():  # fmt: skip
        monkeypatch.setattr(since, name, small)
    since.record()
    assert len(corpora) == 2 * len(since.image_sets())
    assert ("planted_lot", "standard") in asked
    assert set(read_table("since", "accuracy")["metric"]) == {"CIDEr"}
    labels = read_table("since", "labels")
    assert set(labels["attribute"]) == {"gender", "race"}
    for part in ("labels", "naming", "accuracy", "length", "objects", "leaderboard"):
        assert (tmp_path / "since" / f"{part}.csv").exists()
    text = (tmp_path / "since" / "leaderboard.md").read_text(encoding="utf-8")
    assert text == was.partition("\n|")[0] + "\n| captioner | LIC |\n| --- | --- |\n| NIC | 1.0 |\n"


def test_an_audit_of_a_file_is_the_chapters_row(served, real_data, tmp_path, monkeypatch):
    """The same images, splits, vocabulary and human captions: the same LIC.

    An audit's interval goes by the classes of its own images, so the chapter's table gets these here.
    """
    from relic.auditing.audit import audit

    monkeypatch.setenv(paths.RUNS_SETTING, str(tmp_path))
    audited = audit(
        str(real_data / "captioners/ofa_large.json"),
        labels=str(real_data / "bias_data/Show-Attend-Tell/gender_val_sat_cap_mw_entries.pkl"),
        human=str(real_data / "coco/captions_karpathy_test.json"),
        with_accuracy=False,
        chance=False,
        progress=False,
    )
    (row,) = audited.results
    lic = relic.lic_table(served["Karpathy test"]).assign(ratio=422 / 872)
    table = relic.intervals(lic).set_index("captioner")
    ours = table.loc["OFA-large"]
    assert (row["n_images"], row["n_test"]) == (1294, ours["n_test"])
    for name in ("lic_model", "lic_data", "lic", "low", "high"):
        assert row[name] == pytest.approx(ours[name], abs=1e-6)
