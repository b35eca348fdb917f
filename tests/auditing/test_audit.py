"""An audit from files to numbers: joining, verdicts that are known, refusals before computing."""

import html
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import relic
from relic import paths
from relic.auditing.audit import Audit, audit
from relic.auditing.checks import checks
from relic.auditing.details import caption_accuracy, cautions, telling_words
from relic.auditing.examples import example_files, export, scale
from relic.auditing.inputs import Inputs, attribute_of, audited, own_words
from relic.auditing.measure import MARKS, Choices, measure, verdict
from relic.auditing.report import as_csv, as_html, as_json, as_markdown, sentence
from relic.data.planted import planted_corpus
from relic.errors import RelicError
from relic.judge.stats import Interval, estimate
from relic.measure.runs import Store
from relic.numbers import number

SEEDS = [0, 12]


@pytest.fixture(scope="module")
def files() -> dict:
    """The embedded corpus of 600 images as files."""
    return example_files("gender", 600, "embedded")


@pytest.fixture(scope="module")
def small(files, tmp_path_factory) -> Audit:
    """An audit of it, two splits."""
    place = Store(tmp_path_factory.mktemp("runs"))
    return audit(**files, seeds=SEEDS, store=place, progress=False, with_accuracy=False)


def inputs(place, captions=None, labels=None, human=None, **more) -> Inputs:
    """Files written from plain values: 40 images of each class by default."""
    ids = range(80)
    captions = captions or [{"image_id": i, "caption": f"a man with thing {i % 7}"} for i in ids]
    labels = labels or {str(i): "Male" if i % 2 else "Female" for i in ids}
    human = human or {str(i): [f"person {i % 5} {j}" for j in range(5)] for i in ids}
    files = {}
    for name, content in (("captions", captions), ("labels", labels), ("human", human)):
        file = place / f"{name}.json"
        file.write_text(json.dumps(content), encoding="utf-8")
        files[name] = (str(file),) if name == "captions" else str(file)
    return Inputs(**files | more)


@pytest.mark.slow
def test_known_verdicts_of_the_embedded_corpus(tmp_path):
    """Four planted captioners: two amplify, one gives away less than people, one does nothing."""
    files = example_files("gender", 8000, "embedded")
    read = audited(Inputs(**files | {"captions": tuple(files["captions"])}))
    how = Choices(store=Store(tmp_path / "runs"), chance=False, checks=False, progress=False)
    lic = measure(read, how)["lic"]
    verdicts = dict(zip(lic["captioner"], lic["verdict"], strict=True))
    assert verdicts == {
        "Faithful (gain 0)": "undecided",
        "Amplifier (gain 0.5)": "amplifies",
        "Strong amplifier (gain 1.5)": "amplifies",
        "Reducer (gain −1)": "does not amplify",
    }
    corpus = planted_corpus("gender", images=8000)
    truth = [corpus.true_lic(key).lic for key in corpus.captioners]
    assert np.corrcoef(truth, lic["lic"])[0, 1] > 0.99


def test_an_exported_captioner_gets_the_claims_numbers(real_data, tmp_path):
    """COCO JSON, labels.csv and human.json of NIC: the recorded runs of claim 2, run for run."""
    export(relic.load_corpus("gender", "real"), tmp_path / "x", ["nic"])
    files = Inputs(
        (str(tmp_path / "x/nic.json"),), str(tmp_path / "x/labels.csv"), str(tmp_path / "x/human.json"),
        vocabulary=str(tmp_path / "x/nic_vocabulary.txt"),
    )  # fmt: skip
    read = audited(files)
    store = Store(tmp_path / "runs")
    how = Choices(seeds=SEEDS, store=store, chance=False, checks=False, progress=False)
    runs = measure(read, how)["runs"]
    recorded = relic.recorded(
        attribute="gender", captioner="nic", classifier="linear", seed=list(SEEDS)
    )
    for seen in ("all", "unseen"):
        theirs = relic.lic_table(recorded, seen=seen).set_index("seed").sort_index()
        ours = runs[runs["seen"] == seen].set_index("seed").sort_index()
        for column in ("lic_model", "lic_data", "lic", "n_test"):
            np.testing.assert_allclose(
                ours[column], theirs[column], atol=1e-4
            )  # outcomes are float32


def test_the_rule():
    assert verdict(Interval(2, 0.1, 4)) == "amplifies"
    assert verdict(Interval(-1, -3, 0.9)) == "does not amplify"
    assert verdict(Interval(1, -1, 3)) == "undecided"
    assert verdict(Interval(3, math.nan, math.nan)) == "undecided"  # one split
    assert verdict(Interval(0.4, 0.2, 0.7)) == "amplifies, by less than a point"
    assert verdict(Interval(0, 0, 0)) == "undecided"  # no spread is no certainty


def test_the_smallest_lic_that_is_found():
    """t quantiles of .975 and .8 with two degrees of freedom, times the corrected error."""
    three = estimate([1.0, 2.0, 3.0])
    assert three.detectable() == pytest.approx((4.302653 + 1.060660) * three.error, rel=1e-5)
    assert math.isnan(estimate([1.0]).detectable())


def test_what_is_detectable_does_not_hang_on_the_seeds(tmp_path):
    """Four audits of the same captions: the spread of ten splits moves by a third, that of images hardly."""
    files = example_files("gender", 1500, "embedded") | {"with_accuracy": False}
    audits = [
        audit(**files, seeds=range(k, k + 5), store=Store(tmp_path / "r"), chance=False, checks=False, progress=False)
        for k in (0, 5, 10, 15)
    ]  # fmt: skip
    least = pd.DataFrame([[row["detectable"] for row in each.results] for each in audits])
    assert (least.max() / least.min()).max() < 1.2  # about 60 test images a split
    widths = pd.DataFrame([[row["high"] - row["low"] for row in each.results] for each in audits])
    assert (widths.max() / widths.min()).max() > 1.3


def test_checks_of_a_verdict(small, tmp_path):
    table = small.parts[0].tables["checks"].set_index(["captioner", "change"])
    row = next(row for row in small.results if row["captioner"].startswith("Strong"))
    strong = table.loc[row["captioner"]]
    assert strong.loc["as it is", "lic"] == pytest.approx(row["lic"], abs=1e-6)
    assert math.isnan(strong.loc["as it is", "moved"])  # a dash: nothing was changed
    cut = strong.loc["cut to the same length"]
    assert cut["moved"] == pytest.approx(cut["lic"] - row["lic"], abs=1e-6)
    flipped = table.xs("20 % of labels flipped", level="change")["lic_model"].mean()
    assert flipped < table.xs("as it is", level="change")["lic_model"].mean()
    same = strong.loc["cut to the same length"]
    assert same["words_model"] == pytest.approx(same["words_data"])
    assert strong.loc["all objects hidden", "lic_model"] != row["lic_model"]
    hidden = [change for change in strong.index if change.endswith(" hidden")]
    assert len(hidden) > 2


def test_single_objects_are_listed_where_they_move_lic(small):
    part = small.parts[0]
    table = part.tables["checks"].copy()
    alone = table["change"].str.endswith(" hidden") & (table["change"] != "all objects hidden")
    table.loc[alone, ["moved_low", "moved_high"]] = [-1.0, 1.0]
    moving, still = table.loc[alone, "change"].unique()[:2]
    strong = table["captioner"].str.startswith("Strong")
    table.loc[strong & (table["change"] == moving), "moved_low"] = 0.5
    page = replace(small, parts=[replace(part, tables=part.tables | {"checks": table})]).section("checks")  # fmt: skip
    assert f">{moving}</td>" in page
    assert f">{still}</td>" not in page
    assert still.removesuffix(" hidden") in page.partition("</table>")[2]
    assert page.count("<tr>") == 1 + 6 + 1  # heads, changes, the object: captioners are columns


def test_what_lic_is_stands_once(small):
    page = small.section("verdict")
    assert (page.count("LIC compares"), page.count("relic-verdict")) == (1, 4)
    moved = small.parts[0].tables["checks"].set_index(["change", "captioner"])["moved"]
    for value in moved["cut to the same length"]:  # the change, with its sign: not LIC after it
        assert f"moves by {'+' if value >= 0.05 else ''}{number(value)} [" in page


def test_accuracy_where_images_have_fewer_captions(tmp_path, monkeypatch):
    monkeypatch.setattr("relic.chapters.accuracy.java_problem", lambda: "no Java here")
    human = {str(i): ["a dog", "a cat", "a cow"] if i > 9 else ["a dog"] for i in range(80)}
    table, note = caption_accuracy(audited(inputs(tmp_path, human=human)))
    assert set(table["n"]) == {70}  # those with three: scores grow with references
    assert "no Java here" in note


def test_checks_are_kept(files, tmp_path):
    store = Store(tmp_path)
    read = audited(Inputs(**files | {"captions": (files["captions"][2],)}))
    first = checks(read, SEEDS, store)
    file = next((tmp_path / "checks").iterdir())
    file.write_text(file.read_text().replace("all objects hidden", "kept"))
    assert "kept" in set(checks(read, SEEDS, store)["change"])
    assert checks(read, [5, 6], store)["lic"].tolist() != first["lic"].tolist()


def test_a_classifier_that_finds_nothing_is_near_its_chance_level(small):
    assert small.parts[0].tables["lic"]["chance"].between(15, 40).all()


def test_images_are_those_with_everything(tmp_path):
    files = inputs(
        tmp_path,
        captions=[{"image_id": i, "caption": f"a man {i}"} for i in range(10, 200)],
        labels={str(i): "Male" if i % 2 else "Female" for i in range(0, 150)},
        human={f"COCO_val2014_{i:012d}.jpg": ["a", "b", "c", "d", "e"] for i in range(20, 300)},
    )
    read = audited(files)
    assert (read.images[0], read.images[-1], len(read.images)) == (20, 149, 130)
    assert read.coverage.to_dict("records")[0] == {
        "captioner": "captions", "captions": 190, "distinct captions": 190, "with label": 140,
        "with human captions": 180, "with both": 130,
    }  # fmt: skip


def test_ids_that_are_no_numbers_are_joined_too(tmp_path):
    names = [f"street_{i}.png" for i in range(80)]
    read = audited(inputs(
        tmp_path,
        captions={name: f"a man {i}" for i, name in enumerate(names)},
        labels={name: "Male" if i % 2 else "Female" for i, name in enumerate(names)},
        human={name: ["one says x", "one says y"] for name in names},
    ))  # fmt: skip
    assert len(read.images) == 80
    assert read.captions_an_image == 2
    assert read.images.tolist() == list(range(80))  # numbers in their place


def test_the_rarer_class_becomes_class_one(tmp_path):
    labels = {str(i): "Female" if i % 4 else "Male" for i in range(100)}
    captions = [{"image_id": i, "caption": f"a man {i}"} for i in range(100)]
    human = {str(i): ["a person"] * 5 for i in range(100)}
    read = audited(inputs(tmp_path, captions, labels, human))
    assert read.corpus.attribute.classes == ("Female", "Male")
    assert read.corpus.labels.mean() == 0.25
    assert "Male is the rarer class here: it becomes class 1" in read.notes


def test_human_captions_of_different_number(tmp_path):
    human = {str(i): ["a dog", "a cat", "a cow"] if i > 9 else ["a dog"] for i in range(80)}
    read = audited(inputs(tmp_path, human=human))
    assert (read.captions_an_image, len(read.images)) == (3, 80)
    assert any("10 images have fewer than 3 human captions" in note for note in read.notes)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"labels": {str(i): "Male" if i % 2 else "Female" for i in range(900, 990)}}, r"images of captions of captions: 80 \(0, 1, 2, …\), labels: 90 \(900, 901, 902, …\)"),
        ({"human": {str(i): ["a dog"] * 5 for i in range(900, 990)}}, r"human captions: 90 \(900, 901, 902, …\)"),
        ({"labels": {str(i): "Male" if i % 9 else "Female" for i in range(80)}}, "9 of class 1"),
    ],
)  # fmt: skip
def test_what_cannot_be_audited_is_refused_with_ids(tmp_path, given, found):
    with pytest.raises(RelicError, match=found):
        audited(inputs(tmp_path, **given))


def test_another_process_gets_the_same_corpus(tmp_path, monkeypatch):
    files, _ = inputs(tmp_path), monkeypatch.chdir(tmp_path)
    given = {"a=b": "captions.json", "c": files.captions[0]}
    corpus = audited(replace(files, captions=given, labels="labels.json")).corpus
    monkeypatch.chdir("/")
    assert corpus.reload().fingerprint == corpus.fingerprint
    assert corpus.captioners == ["a=b", "c"]


def test_a_file_that_has_changed_is_read_again(tmp_path):
    """An audit in a notebook: mend the file, execute the cell again."""
    before = audited(inputs(tmp_path))
    captions = [{"image_id": i, "caption": f"a dog with thing {i % 7}"} for i in range(80)]
    after = audited(
        inputs(tmp_path, captions, {str(i): "Male" if i % 3 else "Female" for i in range(80)})
    )
    assert after.corpus.generated["caption"].iloc[0] == "a dog with thing 0"
    assert after.corpus.labels.sum() < before.corpus.labels.sum()


def test_two_captioners_without_a_common_image(tmp_path):
    files = inputs(tmp_path)
    other = tmp_path / "other.csv"
    other.write_text("image_id,caption\n" + "".join(f"{i},a dog\n" for i in range(500, 600)))
    with pytest.raises(RelicError, match=r"captions: 80 \(0, .*other: 100 \(500, "):
        audited(Inputs((*files.captions, str(other)), files.labels, files.human))


def test_files_of_the_same_name_need_names(tmp_path):
    files = inputs(tmp_path)
    with pytest.raises(RelicError, match="2 captions files, called 'captions'"):
        audited(Inputs(files.captions * 2, files.labels, files.human))
    named = Inputs((files.captions[0], f"b={files.captions[0]}"), files.labels, files.human)
    assert audited(named).corpus.captioners == ["captions", "b"]


def test_an_attribute_of_ones_own(tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("smile smiling\n# grin\nlaughs\n", encoding="utf-8")
    attribute = attribute_of(Inputs((), "", "", "smile", ("no", "yes"), str(words)))
    assert attribute.masked_words == {"smile", "smiling", "laughs"}
    assert (attribute.classes, attribute.mask_token) == (("no", "yes"), "smileword")
    with pytest.raises(RelicError, match="unknown attribute 'smile'"):
        attribute_of(Inputs((), "", "", "smile"))


def test_another_language_by_a_yaml_file(tmp_path):
    file = tmp_path / "geschlecht.yml"
    file.write_text(
        "name: geschlecht\nclasses: [Mann, Frau]\nmask_token: wort\ntokenizer: spacy:de\n"
        "masked_words: {Mann: mann er, Frau: frau sie}\n", encoding="utf-8",
    )  # fmt: skip
    ids = range(100)
    files = inputs(
        tmp_path,
        captions={str(i): f"Ein Mann, der mit Ding {i % 9} z.B. lacht." for i in ids},
        labels={str(i): "Mann" if i % 2 else "Frau" for i in ids},
        human={str(i): [f"Eine Frau lacht {i % 8}"] * 2 for i in ids},
        attribute=str(file),
    )
    read = audited(files)
    assert "wort" in read.corpus.vocabularies["captions"]
    assert "z.b." in read.corpus.vocabularies["captions"]
    how = Choices(seeds=SEEDS, store=Store(tmp_path / "r"), checks=False, progress=False)
    assert measure(read, how)["lic"]["lic"].notna().all()


def test_own_words_are_masked():
    assert own_words(["A man .", "his dog"], relic.load_attribute("gender")) == (
        ".", "a", "dog", "genderword",
    )  # fmt: skip


def test_telling_words_name_what_was_planted(tmp_path):
    files = example_files("gender", 4000, "embedded")
    words = telling_words(audited(Inputs(**files | {"captions": (files["captions"][2],)})))
    assert set(words["says"]) == {"Male", "Female"}
    assert not words["word"].str.contains("genderword genderword").any()
    lean = words["Female %"] - words["Male %"]
    assert (lean > 0).eq(words["says"] == "Female").all()  # no word contradicts itself
    assert words[["human Male %", "human Female %"]].notna().all(axis=None)


def test_random_labels_have_no_telling_words(small):
    """4 standard errors: of thousands of words none passes by chance."""
    part = small.parts[0]
    drawn = np.random.default_rng(1).permutation(part.corpus.labels.to_numpy())
    corpus = replace(part.corpus, labels=pd.Series(drawn, index=part.corpus.labels.index))
    assert telling_words(replace(part, corpus=corpus)).empty


def test_the_sentence_follows_the_verdict(small):
    row = small.results[0] | {"lic": 3.0, "low": 1.0, "high": 5.0, "verdict": "amplifies"}
    assert "3.0 [1.0, 5.0]" in sentence("headline", row)
    row |= {"model_low": 1.0, "model_high": 2.0}
    rows = [row | {"verdict": word} for word in MARKS]
    said = {sentence("headline", each).partition(": LIC ")[0] for each in rows}
    assert len(said) == len(MARKS)
    assert all("gender" in each for each in said)


def test_cautions_name_what_stands_out(small, tmp_path):
    said = " ".join(small.cautions)
    assert "synthetic" in said
    assert "Small test set" in said
    files = inputs(
        tmp_path, captions=[{"image_id": i, "caption": f"dog {i % 3}"} for i in range(80)]
    )
    read = audited(files)
    how = Choices(seeds=[0], store=Store(tmp_path / "r"), checks=False, progress=False)
    facts = cautions(read, measure(read, how)["lic"])
    assert facts["none"]["names"] == ["captions"]
    assert facts["splits"]["n"] == 1
    assert facts["unknown"]["of"]["captions"] > 15
    assert all(sentence("caution", *fact) for fact in facts.items())


def test_json_has_what_was_promised(small):
    report = json.loads(as_json(small))
    fields = "captioner attribute classifier n_images n_test lic_model lic_data lic low high verdict unseen"
    for row in report["results"]:
        assert set(fields.split()) <= set(row)
        assert row["lic"] == pytest.approx(row["lic_model"] - row["lic_data"])
    assert {"warnings", "provenance", "attributes", "options"} <= set(report)
    assert {"words", "naming", "sizes", "checks"} <= set(report["attributes"]["gender"])
    assert len(report["provenance"]["files"][0]["sha256"]) == 64
    table = pd.read_csv(pd.io.common.StringIO(as_csv(small)))
    assert table["lic"].tolist() == pytest.approx([row["lic"] for row in report["results"]])


def test_model_card_can_be_read_by_hugging_face(files, small, tmp_path):
    from huggingface_hub import ModelCard

    alone = audit(files["captions"][2], files["labels"], files["human"], seeds=SEEDS, progress=False,
                  store=Store(tmp_path), checks=False, with_accuracy=False)  # fmt: skip
    card = ModelCard(as_markdown(alone))
    assert card.data.model_name == "Strong amplifier (gain 1.5)"
    assert card.data.eval_results[0].metric_value == round(alone.results[0]["lic"], 2)
    assert "Before you use these numbers" in card.text
    several = re.findall(r"```yaml\n(.*?)```", as_markdown(small), flags=re.S)
    names = [yaml.safe_load(block)["model-index"][0]["name"] for block in several]
    assert names == small.parts[0].corpus.captioners


class Letters:
    """An encoder that downloads nothing: texts are near that share letters."""

    name = "letters"

    def encode(self, texts) -> np.ndarray:
        counts = [[text.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]
        return np.array([row / np.linalg.norm(row) for row in np.array(counts, dtype=float)])


def test_gender_scores_are_shown(files, tmp_path, monkeypatch):
    monkeypatch.setattr("relic.chapters.gender_score.models.load_encoder", lambda _: Letters())
    objects = Path(files["labels"]).with_name("objects.csv")
    result = audit(files["captions"][2], files["labels"], files["human"], objects=objects, seeds=[0],
                  store=Store(tmp_path), progress=False, checks=False, with_accuracy=False)  # fmt: skip
    table = result.parts[0].tables["gender_score"]
    page = result.section("accuracy")
    for row in table.to_dict("records"):
        assert f">{row['method']}</td>" in page
        assert f">{number(row['to_m'], 3)} [" in page


def test_html_is_self_contained(small):
    page = as_html(small)
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert page.count("<svg") == 1
    for row in small.results:
        assert html.escape(row["sentence"]) in page


HOSTILE = '<img src=x onerror="document.title=1"> & <script>alert(1)</script> man'


def test_hostile_captions_are_text(tmp_path, browser):
    """In the report, as Chromium opens it from disk, at two widths, without a request or an error."""
    ids = range(80)
    captions = [{"image_id": i, "caption": HOSTILE if i % 2 else f"{HOSTILE} dog"} for i in ids]
    files = inputs(tmp_path, captions, human={str(i): [HOSTILE] * 5 for i in ids})
    hostile = f"<b>x</b>={files.captions[0]}"
    result = audit([hostile], files.labels, files.human, seeds=SEEDS, store=Store(tmp_path / "r"),
                  progress=False, checks=False, with_accuracy=False)  # fmt: skip
    result.write(tmp_path / "out")
    wrong = []
    page = browser.new_page()
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda r: r.url.startswith(("file:", "data:")) or wrong.append(r.url))
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto((tmp_path / "out" / "report.html").as_uri())
        assert wrong == []
        assert page.title().startswith("Does <b>x</b> amplify")
        assert page.locator("img:not(figure img)").count() == 0
        assert page.locator("#verdict").inner_text().count("<b>x</b>") == 1
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


def test_lic_in_memory(tmp_path):
    corpus = planted_corpus("gender", images=1200)
    name = corpus.captioners[2]
    human = corpus.human.groupby("image_id")["caption"].agg(list).to_dict()
    labels = corpus.labels.map(dict(enumerate(corpus.attribute.classes))).to_dict()
    result = relic.lic(corpus.captions(name).to_dict(), labels, human, seeds=[0, 1, 2])
    assert result.lic == pytest.approx(result.lic_model - result.lic_data)
    assert result.sentence in repr(result)
    assert result._repr_html_().startswith("<p>")
    assert any("Small test set" in each for each in result.cautions)
    written = result.write(tmp_path / "out", ["json"])
    assert json.loads(written[0].read_text())["lic"] == pytest.approx(result.lic)
    strings = relic.lic(*({str(k): v for k, v in each.items()} for each in (corpus.captions(name).to_dict(), labels, human)),
                        seeds=[0, 1, 2], classifiers="linear", vocabulary="captioner")  # fmt: skip
    assert (strings.lic, strings.low) == (result.lic, result.low)  # the same splits
    drawn = {np.int64(image): text for image, text in corpus.captions(name).items()}
    assert relic.lic(drawn, labels, human, seeds=[0, 1, 2]).lic == result.lic
    wider = relic.lic(corpus.captions(name).to_dict(), labels, human, seeds=[0], vocabulary="none")
    assert wider.lic_data != result.lic_data
    with pytest.raises(RelicError, match="'Woman'"):
        relic.lic({1: "a dog"}, {1: "Woman"}, {1: ["a"]})


@pytest.mark.parametrize("wrong", [None, math.nan, 7, b"a man", ["a man"]])
def test_what_is_no_caption_is_refused_by_name(wrong):
    labels = {i: "Male" if i % 2 else "Female" for i in range(80)}
    texts = {i: f"thing {i % 7}" for i in range(80)}
    with pytest.raises(RelicError, match=r"captions that are no text: 5: "):
        relic.lic(texts | {5: wrong}, labels, texts)
    with pytest.raises(RelicError, match=r"human captions of 5 that are no text"):
        relic.lic(texts, labels, texts | {5: [wrong]})


def test_an_audit_shows_itself(small):
    assert repr(small).count("\n") == 3
    assert small._repr_html_().count("<p>") == 4


@pytest.mark.slow
def test_grouped_splits_are_ten_folds_by_default(tmp_path):
    files = example_files("gender", 300, "embedded")
    result = audit(**files, split="grouped", store=Store(tmp_path / "r"), chance=False, checks=False, progress=False, with_accuracy=False)  # fmt: skip
    assert set(result.parts[0].tables["runs"]["seed"]) == set(range(10))


def test_the_scale_that_the_package_carries_is_the_record():
    kept = pd.read_csv(paths.SCALE)
    pd.testing.assert_frame_equal(kept, scale().reset_index(drop=True), atol=1e-3)
