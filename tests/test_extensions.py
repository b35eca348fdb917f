"""Extensions on hand-made runs, and their numbers on recorded ones."""

import pandas as pd
import pytest

from relic import extensions, results
from relic.errors import RelicError

PAPER_UNSEEN = {  # METHODS of the project: unseen as written, mean over the ten seeds
    "NIC": 231, "SAT": 296, "FC": 133, "Att2in": 214, "UpDn": 279, "Transformer": 454, "OSCAR": 372,
    "NIC+": 133, "NIC+Equalizer": 137,
}  # fmt: skip


@pytest.fixture(scope="module")
def recorded():
    return results.load_runs()


def run(captions, score, seed=0, **more):
    row = {
        "source": "recorded", "corpus": "made", "attribute": "age", "captioner": "oscar",
        "side": captions, "caption_set": "standard", "labels": "true", "size": 0, "caption_index": 0,
        "vocabulary": "" if captions == "model" else "captioner", "split": "paired", "seed": seed,
        "classifier": "linear", "recipe": "", "batching": "", "encoder": "", "score": score, "unseen_score": score - 10,
        "unseen_raw_score": score - 5, "n_test": 100, "n_unseen": 40, "n_unseen_raw": 50,
    }  # fmt: skip
    return row | more


def test_vocabulary_by_hand():
    runs = [run("model", 50.0, s) for s in (0, 1)] + [run("human", 44.0, s) for s in (0, 1)]
    runs += [run("human", 46.0, s, vocabulary="none") for s in (0, 1)]
    runs += [run("human", 45.0, s, vocabulary="human-top-n") for s in (0, 1)]
    table = extensions.by_vocabulary(pd.DataFrame(runs), "recorded", "age").set_index("series")
    assert table["mean"].to_dict() == {"captioner": 6, "human-top-n": 5, "none": 4}
    sentence = extensions.vocabulary_sentence(table.reset_index(), "age")
    assert "mean LIC 6.0" in sentence
    assert "-2.0 (over captioners -2.0 to -2.0) with `none`" in sentence
    other = pd.DataFrame(runs[:4]).assign(classifier="bert-pre", score=[60.0, 60, 40, 40])
    both = extensions.by_vocabulary(pd.concat([pd.DataFrame(runs), other]), "recorded", "age")
    assert extensions.vocabulary_sentence(both, "age") == sentence  # by linear alone


def test_unseen_by_hand():
    runs = [run("model", 50.0, s) for s in (0, 1)] + [
        run("human", 44.0, s, n_unseen=99) for s in (0, 1)
    ]
    runs[2]["unseen_score"] = runs[3]["unseen_score"] = 44.0
    table = extensions.unseen_table(pd.DataFrame(runs), "recorded", "age").set_index("series")
    assert table["mean"].to_dict() == {
        "all captions": 6,
        "unseen, as written": 6,
        "unseen, masked": -4,
    }
    assert table["share seen (%)"].to_dict() == pytest.approx(
        {"all captions": 0, "unseen, as written": 50, "unseen, masked": 60}
    )
    assert "above 0 for 1 and for 0 of 1" in extensions.unseen_sentence(table.reset_index(), "age")


def test_noise_by_hand():
    runs = [run("model", 50.0), run("human", 44.0)]
    runs += [run("model", 40.0, labels="noisy:0.172"), run("human", 37.0, labels="noisy:0.172")]
    table = extensions.by_labels(pd.DataFrame(runs), "recorded", ["true", "noisy:0.172"])
    assert table["mean"].tolist() == [6, 3]
    assert "LIC by -3.0" in extensions.noise_sentence(table)
    other = pd.DataFrame(runs[:2]).assign(classifier="bert-pre", score=[60.0, 40.0])
    frame = pd.concat([pd.DataFrame(runs), other])
    assert extensions.by_labels(frame, "recorded", ["true", "noisy:0.172"]).equals(table)


def test_unseen_counts_are_those_of_the_paper(recorded):
    found = extensions.unseen_papers(recorded).set_index("captioner")["ours, as written"]
    assert len(found) == 9
    for name, count in PAPER_UNSEEN.items():
        assert found[name] == pytest.approx(count, abs=3)


def test_masked_shares_of_seed_0(recorded):
    kept = recorded[(recorded["split"] == "upstream") & (recorded["seed"] == 0)]
    kept = kept[(kept["classifier"] == "linear") & (kept["attribute"] == "gender")]
    share = 100 * (1 - kept["n_unseen"] / kept["n_test"]).groupby(kept["captioner"]).mean()
    wanted = {"fc": 83, "nic_plus": 80, "nic_equalizer": 79, "transformer": 37}
    assert {name: share[name] for name in wanted} == pytest.approx(wanted, abs=1)


def test_masking_the_person_lowers_what_is_given_away(recorded):
    table = extensions.masked_images(recorded).set_index(["series", "images"])
    assert table.loc[("SAT", "person masked"), "change high"] < 0
    assert table["test images"].groupby(level=0).nunique().max() == 1  # the same images in all sets
    with pytest.raises(RelicError, match="masked"):
        extensions.masked_images(recorded[recorded["attribute"] == "race"])


def test_vocabulary_of_the_paper():
    table = extensions.vocabulary_papers().set_index(["captioner", "classifier"])
    assert table.loc[("NIC+", "LSTM"), "LIC, human-top-n"] == -0.2
    assert table.loc[("NIC+", "BERT-ft"), "LIC, human-top-n"] == -2.4


@pytest.mark.parametrize(
    ("person", "objects", "said"),
    [(-9.0, -2.0, "From the person, mostly."), (-1.0, -2.0, "From the things around, mostly.")],
)
def test_the_lead_on_masked_images_follows_the_changes(person, objects, said):
    changes = {"whole image": 0.0, "objects masked": objects, "person masked": person}
    rows = [
        {"series": name, "images": label, "mean": 45.0 + change, "change": change, "change low": change - 1, "change high": change + 1, "seeds": 10, "test images": 450}
        for name in ("SAT", "OSCAR") for label, change in changes.items()
    ]  # fmt: skip
    text = extensions.masked_sentence(pd.DataFrame(rows))
    assert text.startswith(f"**{said}** Masking the person lowers LIC_M by {-person} to {-person}")
    rows[2]["change"] = 2 * objects - person  # SAT now the other way round
    assert extensions.masked_sentence(pd.DataFrame(rows)).startswith("**Both.**")


@pytest.mark.parametrize(("none", "said"), [(3.8, "Little"), (2.0, "Part of it"), (0.5, "Most of it")])  # fmt: skip
def test_the_lead_on_vocabularies_follows_the_shift(none, said):
    values = {"captioner": 4.0, "human-top-n": 3.9, "none": none}
    table = pd.DataFrame(
        [{"captioner": "NIC", "classifier": "linear", "series": k, "mean": v} for k, v in values.items()]
    )  # fmt: skip
    text = extensions.vocabulary_lead({"gender": table})
    assert text.startswith(f"**{said}: ")
    assert f"from 4.0 to {none}" in text
