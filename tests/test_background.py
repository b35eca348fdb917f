"""Captioners, classifiers, cost: tables follow the papers' files and the recorded runs."""

import pytest

from relic import background, evidence, paths
from relic.published import published
from relic.results import RECORDED, load_runs
from relic.text import mask, tokenize

PAGE = (paths.BOOK / "captioners.md").read_text(encoding="utf-8")
EXAMPLES = (452611, 258019)  # images of the page's two examples


def test_captioners_with_what_is_recorded():
    found = evidence.from_runs(load_runs(), RECORDED)
    table = background.captioners(found).set_index("captioner")
    assert len(table) == 9
    ours = found[(found["captioner"] == "OSCAR") & (found["variant"] == "standard")]
    ours = ours[(ours["attribute"] == "gender") & (ours["classifier"] == "linear")]
    assert table.loc["OSCAR", "LIC, gender"] == pytest.approx(ours["lic"].mean())
    assert table["CIDEr"].idxmax() == "OSCAR"
    assert "LIC, gender" not in background.captioners(found.iloc[:0])


def test_recipes_show_the_odd_one():
    table = background.papers_classifiers().set_index("classifier")
    assert table.loc["BERT-pre", "trainable"] == 199426
    recipes = table.loc["BERT-pre"].filter(like="rate").tolist()
    assert sorted(recipes) == ["1e-5 × 5", "5e-5 × 20", "5e-5 × 20"]


def test_cost_follows_the_runs():
    runs = load_runs()
    runs = runs[runs["classifier"] == "linear"].assign(seconds=3.6)
    (row,) = background.our_classifiers(runs).to_dict("records")
    assert (row["classifier"], row["trainings"]) == ("linear", len(runs))
    assert row["CPU hours"] == pytest.approx(len(runs) / 1000)
    assert background.hours(runs.iloc[:1000]) == "1,000 recorded trainings took 1.0 CPU hours"


def test_how_often_single_captions_are_misjudged():
    runs = load_runs().assign(accuracy=60.0)
    assert background.wrong(runs) == "wrong in 40 % (gender), 40 % (race), 40 % (age) of cases"
    assert background.wrong(runs.iloc[:0]) == "not measured yet"


def test_agreement_on_age_follows_its_record(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    (tmp_path / "data").mkdir()
    text = "labels,pairs,agreement (%),Cohen's κ\nold or young,1200,50.4,0.126\n"
    (tmp_path / "data" / "agreement.csv").write_text(text)
    said = background.age_agreement()
    assert said == "agree on old or young in 50 % of 1,200 pairs (κ = 0.13)"


def test_every_classifier_is_described():
    assert set(load_runs()["classifier"]) <= set(background.WHAT)


def test_papers_tables_hold_nothing_of_ours():
    assert set(published("cost")["source"]) == {"relic2023", "turk2023"}


def test_the_pages_examples_are_what_a_classifier_reads(real_data):
    from relic.data.upstream import load_real

    corpus = load_real(real_data, "age")
    words, token = corpus.attribute.masked_words, corpus.attribute.mask_token
    said = []
    for image in EXAMPLES:
        human = corpus.human[corpus.human["image_id"] == image]["caption"].iloc[0].lower()
        texts = [human, *(corpus.captions(c)[image] for c in corpus.captioners)]
        said.append([" ".join(mask(tokenize(t.rstrip(". ")), words, token)) for t in texts])
    for young, old in zip(*said, strict=True):
        assert f" | {young} | {old} |" in PAGE


def test_masked_words_are_in_order():
    assert background.masked_words("age").startswith("adult, adults, babies, baby, ")
