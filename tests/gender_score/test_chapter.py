"""relic.gender_score.chapter: what the pages say is what is recorded."""

from relic.gender_score import chapter
from relic.gender_score.record import recorded
from relic.gender_score.tables import COUNTED, ESTIMATED, SCORE


def test_the_main_choice_has_one_row_a_captioner_and_method():
    scores, estimation = chapter.main(recorded("scores")), chapter.main(recorded("estimation"))
    assert scores.groupby("method")["captioner"].agg(["count", "nunique"]).to_numpy().tolist() == [[9, 9]] * 2  # fmt: skip
    assert len(estimation) == 18
    objects = chapter.main(recorded("objects"), chapter.TEST)
    assert not objects.duplicated(["method", "captioner", "object"]).any()


def test_the_answers_hold_the_recorded_numbers():
    scores, lic = recorded("scores"), recorded("lic")
    nine = chapter.main(scores)
    nine = nine[nine["method"] == SCORE]["to_m"]
    text = chapter.score_answer(scores, lic)
    assert f"between {nine.min():.3f} and {nine.max():.3f}" in text
    row = chapter.lic_row(lic)
    assert (row["n"], row["LIC of"], row["quantity"]) == (9, "our runs, linear", "ratio to men")
    said = f"{row['rho']:.2f} (95 % interval {row['low']:.2f} to {row['high']:.2f}, n = 9)"
    assert said.replace("-", "−") in text
    assert ("Undecided" in text) == (row["low"] < 0 < row["high"])
    wide = chapter.main(recorded("estimation")).pivot(index="captioner", columns="method", values="to_m")  # fmt: skip
    up = int((wide[ESTIMATED] > wide[COUNTED]).sum())
    assert f"for {up} of 9 captioners" in chapter.estimation_answer(recorded("estimation"))
    assert "pairs of captioner and object" in chapter.object_answer(recorded("objects"))


def test_table_1_has_five_words_a_cell():
    words = chapter.nearest_words(recorded("nearest"))
    theirs = words[words["source"] == "published"].set_index("embedding")
    assert theirs.loc["GloVe", "woman"] == "lipstick, dishwasher, sleeping, horse, bathtub"
    assert words["man"].dropna().str.split(", ").str.len().max() == 5


def test_vilbert_beside_the_paper():
    table = chapter.beside_published(recorded("objects"))
    row = table[(table["object"] == "kitchen") & (table["method"] == COUNTED)].iloc[0]
    assert row["published"] == 0.47
    assert len(table) == 12


def test_the_headline_tells_sources_apart():
    table = chapter.headline(recorded("scores"), SCORE)
    assert table["source"].value_counts().to_dict() == {"recorded, COCO captions": 9, "recorded, Karpathy test": 1}  # fmt: skip
