"""Tables 3, 4 and 5 of the Gender Score, with intervals, from scored captions.

Intervals are 95 % bootstraps over images, the same images for all captioners of a study.
"""

import numpy as np
import pandas as pd

from relic import paths
from relic.gender_score.distance import RESAMPLES, SEED
from relic.gender_score.formula import (
    belief_revision,
    leakage,
    ratio_to_men,
    ratio_to_neutral,
    truncated,
)
from relic.gender_score.score import cloze, cooccurrence, estimated, similarity, word_counts
from relic.gender_score.study import Study
from relic.gender_score.wording import PERSONS, gender_of
from relic.stats import rank_correlation
from relic.text import tokenize

DISTANCE, SCORE = "Gender Object Distance", "Gender Score"  # the paper's names of the methods
COUNTED, ESTIMATED = "Object Gender Co-Occ", "Gender Score Estimation"
HUMAN = {"man": 930, "woman": 291}  # the paper's human counts, its table 3, first row
OBJECTS = ("skateboard", "kitchen", "motorcycle", "baseball")  # of table 4


def score_table(study: Study, prior, encoder) -> pd.DataFrame:
    """Table 3: means with the person set to person, man, woman; ratios; leakage; by captioner.

    Over captions that name a person of one gender or none; others are counted as left out.
    `GS_man`, `GS_woman`: the mean score of the captions, as they are, that state that gender.
    """
    human, rows = study.human_counts(), []
    for name, scores in study.scores(prior, encoder).items():
        counts = cooccurrence(study.captions[name])
        for method, column in ((DISTANCE, "similarity"), (SCORE, "score")):
            forms = scores[[f"{column}_{p}" for p in PERSONS]].dropna().to_numpy()
            means = dict(zip(PERSONS, forms.mean(axis=0), strict=True))
            low, high = _interval(forms, lambda m: ratio_to_men(m[:, 1], m[:, 2]))
            own = scores.groupby("gender")[column].mean()
            rows.append(
                {
                    "method": method, "captioner": name, **means,
                    "m": ratio_to_neutral(means["man"], means["person"]),
                    "w": ratio_to_neutral(means["woman"], means["person"]),
                    "to_m": ratio_to_men(means["man"], means["woman"]), "low": low, "high": high,
                    "GS_man": own.get("man", np.nan), "GS_woman": own.get("woman", np.nan),
                    "leakage_m": leakage(counts["man"], human["man"]),
                    "leakage_w": leakage(counts["woman"], human["woman"]),
                    "captions": len(forms), "left out": len(scores) - len(forms),
                }
            )  # fmt: skip
    return _named(rows, study, prior, encoder)


def object_table(study: Study, prior, encoder, objects=OBJECTS) -> pd.DataFrame:
    """Table 4: the ratio to men among captions that name an object, three ways.

    Co-occurrence counts captions; the Gender Score's ratio weights each caption by its score; the
    estimation counts what it fills in. NaN where no caption names the object with one gender.
    """
    rows = []
    for name, scores in study.scores(prior, encoder).items():
        captions = study.captions[name].loc[scores.index]
        for word in objects:
            named = np.array([word in tokenize(text.lower()) for text in captions])
            part = scores[named & scores["gender"].isin(PERSONS[1:]).to_numpy()]
            guess = estimated(part)
            ways = {
                COUNTED: [part["gender"] == p for p in PERSONS[1:]],
                SCORE: [part["score"].where(part["gender"] == p, 0.0) for p in PERSONS[1:]],
                ESTIMATED: [guess == p for p in PERSONS[1:]],
            }
            for method, columns in ways.items():
                values = np.stack([np.asarray(c, dtype=float) for c in columns], axis=1)
                sums = values.sum(axis=0) if len(values) else np.zeros(2)
                low, high = _interval(values, lambda m: ratio_to_men(m[:, 0], m[:, 1]))
                rows.append(
                    {
                        "method": method, "captioner": name, "object": word,
                        "to_m": ratio_to_men(*sums), "low": low, "high": high, "captions": len(part),
                    }
                )  # fmt: skip
    return _named(rows, study, prior, encoder)


def estimation_table(study: Study, prior, encoder) -> pd.DataFrame:
    """Table 5: captions that state man or woman, and what the estimation fills in for the same.

    `agreement`: share of these captions whose own gender scores higher than the other.
    `prior alone`, `similarity alone`: share to which the language model, or the encoder, gives man.
    """
    rows = []
    for name, scores in study.scores(prior, encoder).items():
        part = scores[scores["gender"].isin(PERSONS[1:])].dropna(subset=["score_man"])
        guess, stated = estimated(part), part["gender"]
        same = (guess == stated).to_numpy(dtype=float)
        for method, column in ((COUNTED, stated), (ESTIMATED, guess)):
            values = np.stack([(column == p).to_numpy(dtype=float) for p in PERSONS[1:]], axis=1)
            man, woman = values.sum(axis=0).astype(int)
            low, high = _interval(values, lambda m: ratio_to_men(m[:, 0], m[:, 1]))
            rows.append(
                {
                    "method": method, "captioner": name, "man": man, "woman": woman,
                    "to_m": ratio_to_men(man, woman), "low": low, "high": high,
                    "agreement": float(same.mean()) if method == ESTIMATED and len(same) else np.nan,
                    "prior alone": _leans_to_man(part, "prior") if method == ESTIMATED else np.nan,
                    "similarity alone": _leans_to_man(part, "similarity") if method == ESTIMATED else np.nan,
                    "captions": len(part),
                }
            )  # fmt: skip
    return _named(rows, study, prior, encoder)


def _leans_to_man(scores: pd.DataFrame, column: str) -> float:
    """Share of captions whose form with man has the higher value."""
    return float((scores[f"{column}_man"] > scores[f"{column}_woman"]).mean())


def cloze_table(study: Study, prior, encoder) -> pd.DataFrame:
    """Which of "this is a man" and "this is a woman" a caption makes likelier; by captioner."""
    rows = []
    for name, captions in study.captions.items():
        frame = cloze(captions, study.contexts, prior, encoder)
        part = frame[frame["gender"].isin(PERSONS[1:])]
        guess = estimated(part)
        values = np.stack([(guess == p).to_numpy(dtype=float) for p in PERSONS[1:]], axis=1)
        man, woman = values.sum(axis=0).astype(int)
        low, high = _interval(values, lambda m: ratio_to_men(m[:, 0], m[:, 1]))
        rows.append(
            {
                "captioner": name, "man": man, "woman": woman, "to_m": ratio_to_men(man, woman),
                "low": low, "high": high, "agreement": float((guess == part["gender"]).mean()),
                "captions": len(part),
            }
        )  # fmt: skip
    return _named(rows, study, prior, encoder)


def example_table(prior, encoder, confidence: float) -> pd.DataFrame:
    """Figure 2: three masked captions, man and woman filled in; the paper's values and ours.

    The paper does not give P(c_o) of these objects: `confidence` stands for it.
    """
    theirs, rows = published("estimation_examples"), []
    for each in theirs.to_dict("records"):
        shown = {"object": each["object"], "caption": each["caption"]}
        rows.append(
            {
                **shown, "distance man": each["distance_man"], "distance woman": each["distance_woman"],
                "score man": each["score_man"], "score woman": each["score_woman"], "source": "published",
            }
        )  # fmt: skip
        texts = [each["caption"].replace("[MASK]", p) for p in PERSONS[1:]]
        close = similarity(encoder, texts, [each["object"]] * 2)
        score = belief_revision(prior.probabilities(texts), close, confidence)
        found = {"distance man": close[0], "distance woman": close[1], "score man": score[0], "score woman": score[1]}  # fmt: skip
        rows.append({**shown, **found, "source": "this build"})
    return pd.DataFrame(rows)


def _named(rows: list[dict], study: Study, prior, encoder) -> pd.DataFrame:
    frame = pd.DataFrame(rows)
    return frame.assign(corpus=study.name, prior=prior.name, encoder=encoder.name)


def _interval(values: np.ndarray, statistic) -> tuple[float, float]:
    """Percentile bootstrap over rows of a statistic of the column means."""
    if len(values) < 2:
        return np.nan, np.nan
    rng = np.random.default_rng(SEED)
    means = np.stack(
        [values[rng.integers(0, len(values), len(values))].mean(axis=0) for _ in range(RESAMPLES)]
    )
    found = statistic(means)
    if np.isnan(found).all():
        return np.nan, np.nan
    low, high = np.nanpercentile(found, [2.5, 97.5])
    return float(low), float(high)


def against_published(rows: pd.DataFrame, similarity: np.ndarray, priors: dict) -> pd.DataFrame:
    """Our score of the authors' captions against their column, for several priors.

    `rows`: the authors' file. `priors`: name -> probabilities, NaN where there is none.
    """
    found = []
    for name, prior in priors.items():
        ours = belief_revision(np.asarray(prior), similarity, rows["probability"].to_numpy())
        found.append({"prior": name, **rank_correlation(ours, rows["belief_revision_score"])})
    return pd.DataFrame(found)


def leakage_check() -> pd.DataFrame:
    """Does table 3's leakage follow from the counts of table 5 and the human 930 and 291?

    Truncated to two decimals, as printed. The human counts are the paper's, of table 3's text.
    """
    counts = published("gender_estimation")
    counts = counts[counts["method"] == COUNTED].set_index("captioner")
    printed = published("gender_score").drop_duplicates("captioner").set_index("captioner")
    rows = []
    for name in printed.index:
        for person, column in (("man", "leakage_m"), ("woman", "leakage_w")):
            ratio = leakage(int(counts.loc[name, person]), HUMAN[person])
            rows.append(
                {
                    "captioner": name, "gender": person, "count": int(counts.loc[name, person]),
                    "human": HUMAN[person], "ratio": ratio, "truncated": truncated(ratio),
                    "printed": printed.loc[name, column],
                    "follows": truncated(ratio) == printed.loc[name, column],
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


def published(name: str) -> pd.DataFrame:
    """A table of the paper."""
    return pd.read_csv(paths.PUBLISHED / f"{name}.csv")


def count_check(captions: pd.Series, captioner: str = "Vilbert") -> pd.DataFrame:
    """Two ways to count captions about men and women, beside the counts of table 5."""
    counts = published("gender_estimation")
    row = counts[(counts["method"] == COUNTED) & (counts["captioner"] == captioner)].iloc[0]
    ways = {
        "the words man, woman": word_counts(captions),
        "any gender word of our list": cooccurrence(captions),
        f"published, {captioner}": {p: int(row[p]) for p in PERSONS[1:]},
    }
    return pd.DataFrame(
        [{"counted": name, **found, "to_m": ratio_to_men(found["man"], found["woman"]), "captions": len(captions)}
         for name, found in ways.items()]
    )  # fmt: skip


def left_out(study: Study) -> pd.DataFrame:
    """What captions state: man, woman, both, a person without gender, nobody; by captioner."""
    rows = []
    for name, captions in study.captions.items():
        stated = pd.Series([gender_of(text) for text in captions]).value_counts()
        kinds = ("man", "woman", "person", "both", "none")
        rows.append({"captioner": name, **{k: int(stated.get(k, 0)) for k in kinds}, "captions": len(captions)})  # fmt: skip
    return pd.DataFrame(rows)
