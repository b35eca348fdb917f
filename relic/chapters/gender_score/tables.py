"""The paper's tables 1 to 5, from scored captions and object labels: a row a captioner or embedding.

Ratios to men have 95 % bootstrap intervals over images (tables 1 and 2: over distinct objects,
because images of one object are not independent).
"""

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pandas as pd

from relic.chapters.gender_score.score import cooccurrence, estimated, ratio_to_men
from relic.chapters.gender_score.study import Study
from relic.chapters.gender_score.wording import PERSONS
from relic.chapters.resample import image_draws, interval
from relic.errors import RelicError
from relic.measure.text import tokenize

DISTANCE, SCORE = "Gender Object Distance", "Gender Score"  # the paper's names of the methods
COUNTED, ESTIMATED = "Object Gender Co-Occ", "Gender Score Estimation"
OBJECTS = ("skateboard", "kitchen", "motorcycle", "baseball")  # of table 4


def ratio(men: Iterable[float], women: Iterable[float]) -> dict[str, float]:
    """Ratio to men of two sums over rows, with its interval over resampled rows."""
    rows = np.column_stack([np.asarray(men, dtype=float), np.asarray(women, dtype=float)])
    if not len(rows):
        return dict.fromkeys(("to_m", "low", "high"), np.nan)
    low, high = interval(ratio_to_men(*(image_draws(len(rows)) @ rows).T))
    return {"to_m": ratio_to_men(*rows.sum(axis=0)), "low": low, "high": high}


def similarities(labels: Iterable[str], encoder) -> pd.DataFrame:
    """Cosine of each distinct label with person, man and woman; how many images have it.

    Labels without a vector are kept, as NaN, so that they can be counted.
    """
    counts = pd.Series(Counter(labels), dtype=int).sort_index()
    if counts.empty:
        raise RelicError("no object labels", expected="at least one")
    cosines = np.asarray(encoder.encode(list(counts.index))) @ np.asarray(encoder.encode(PERSONS)).T
    frame = pd.DataFrame(cosines, columns=PERSONS, dtype=float)
    return frame.assign(object=counts.index, images=counts.to_numpy())


def distance_row(near: pd.DataFrame, embedding: str, dataset: str) -> pd.DataFrame:
    """Table 2, a row: mean cosines over the images, and the ratio to men."""
    known = near.dropna()
    sums = {person: known[person] * known["images"] for person in PERSONS}
    found = ratio(sums["man"], sums["woman"])
    images = int(known["images"].sum())
    means = {person: values.sum() / images for person, values in sums.items()}
    row = {"model": embedding, "dataset": dataset, **means, **found, "to_w": 1 - found["to_m"]}
    row |= {"images": images, "objects": len(known)}
    return pd.DataFrame([row | {"objects without a vector": len(near) - len(known)}])


def nearest_objects(near: pd.DataFrame, embedding: str, top: int = 5) -> pd.DataFrame:
    """Table 1: objects whose nearest of the three is person, man or woman; the first `top`.

    Two orders, because the paper's words fit neither alone: by number of images, and by cosine.
    """
    known, parts = near.dropna(), []
    nearest = known[list(PERSONS)].idxmax(axis=1)
    for person in PERSONS:
        own = known[nearest == person].rename(columns={person: "cosine"})
        for order, second in (("images", "cosine"), ("cosine", "images")):
            best = own.sort_values([order, second, "object"], ascending=[False, False, True])
            best = best.head(top)[["object", "images", "cosine"]]
            about = {"gender": person, "order": order, "objects nearest": len(own)}
            parts.append(best.assign(**about, rank=range(1, len(best) + 1)))
    columns = ["embedding", "gender", "order", "rank", "object", "images", "cosine"]
    found = pd.concat(parts, ignore_index=True).assign(embedding=embedding)
    return found[[*columns, "objects nearest"]]


def score_table(study: Study, prior, encoder) -> pd.DataFrame:
    """Table 3: means with the person set to person, man, woman; ratios; leakage; by captioner.

    Over captions that name a person of one gender or none; others are counted as left out.
    `GS_man`, `GS_woman`: the mean score of the captions, as they are, that state that gender.
    """
    human, rows = study.human_counts(), []
    for name, scores in study.scores(prior, encoder).items():
        leakage = pd.Series(cooccurrence(study.captions[name])) / human
        for method, column in ((DISTANCE, "similarity"), (SCORE, "score")):
            forms = scores[[f"{column}_{person}" for person in PERSONS]].dropna()
            means = dict(zip(PERSONS, forms.mean(), strict=True))
            stated = scores.groupby("gender")[column].mean().reindex(PERSONS)
            row = {"method": method, "captioner": name, **means}
            row |= {"m": means["man"] / means["person"], "w": means["woman"] / means["person"]}
            row |= ratio(forms[f"{column}_man"], forms[f"{column}_woman"])
            row |= {"GS_man": stated["man"], "GS_woman": stated["woman"]}
            row |= {"leakage_m": leakage["man"], "leakage_w": leakage["woman"]}
            rows.append(row | {"captions": len(forms), "left out": len(scores) - len(forms)})
    return _named(rows, study, prior, encoder)


def object_table(study: Study, prior, encoder, objects: Iterable[str] = OBJECTS) -> pd.DataFrame:
    """Table 4: the ratio to men among captions that name an object, three ways.

    Co-occurrence counts captions; the Gender Score's ratio weights each caption by its score; the
    estimation counts what it fills in. NaN where no caption names the object with one gender.
    """
    rows = []
    for name, scores in study.scores(prior, encoder).items():
        tokens = study.captions[name].loc[scores.index].map(lambda text: tokenize(text.lower()))
        for word in objects:
            named = tokens.map(lambda each, word=word: word in each)
            part = scores[named & scores["gender"].isin(PERSONS[1:])]
            weights = {COUNTED: 1.0, SCORE: part["score"], ESTIMATED: 1.0}
            for method, weight in weights.items():
                gender = estimated(part) if method == ESTIMATED else part["gender"]
                found = ratio(*((gender == person) * weight for person in PERSONS[1:]))
                row = {"method": method, "captioner": name, "object": word, **found}
                rows.append(row | {"captions": len(part)})
    return _named(rows, study, prior, encoder)


def estimation_table(study: Study, prior, encoder) -> pd.DataFrame:
    """Table 5: captions that state man or woman, and what the estimation fills in for the same.

    `agreement`: share of these captions whose own gender scores higher than the other.
    `prior alone`, `similarity alone`: share to which the language model, or the encoder, gives man.
    """
    rows = []
    for name, scores in study.scores(prior, encoder).items():
        part = scores[scores["gender"].isin(PERSONS[1:])].dropna(subset=["score_man"])
        guess = estimated(part)
        shares = {
            "agreement": (guess == part["gender"]).mean(),
            "prior alone": (part["prior_man"] > part["prior_woman"]).mean(),
            "similarity alone": (part["similarity_man"] > part["similarity_woman"]).mean(),
        }
        for method, gender in ((COUNTED, part["gender"]), (ESTIMATED, guess)):
            man, woman = (gender == person for person in PERSONS[1:])
            row = {"method": method, "captioner": name, "man": man.sum(), "woman": woman.sum()}
            row |= ratio(man, woman)
            row |= shares if method == ESTIMATED else dict.fromkeys(shares, np.nan)
            rows.append(row | {"captions": len(part)})
    return _named(rows, study, prior, encoder)


def _named(rows: list[dict], study: Study, prior, encoder) -> pd.DataFrame:
    about = {"corpus": study.name, "prior": prior.name, "encoder": encoder.name}
    return pd.DataFrame(rows).assign(**about)
