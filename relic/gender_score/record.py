"""Numbers that take long on the real captions, computed once and kept in `results/gender_score/`.

CSV files of numbers and object labels; no caption text. A notebook shows them beside its own.
"""

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd

from relic import paths, provenance
from relic.data import load_corpus
from relic.data.load import real_directory
from relic.errors import RelicError
from relic.gender_score.agreement import choice_agreement, lic_agreement
from relic.gender_score.distance import (
    distance_table,
    nearest_objects,
    similarities,
    train_labels,
)
from relic.gender_score.prior import GEMMA, NGRAM, NGram, load_prior
from relic.gender_score.score import similarity
from relic.gender_score.study import karpathy_study, lic_study
from relic.gender_score.tables import (
    against_published,
    count_check,
    estimation_table,
    object_table,
    score_table,
)
from relic.gender_score.vectors import DEBIASED, GLOVE, MINILM, load_encoder
from relic.gender_score.visual import AUTHORS_FILE
from relic.whole import write_whole

DIRECTORY = paths.RESULTS / "gender_score"
RECORDED, HERE = "recorded", "this build"  # the `source` of a row
GEMMA_CAPTIONS = 400  # gemma takes a tenth of a second a caption and more


def recorded(name: str) -> pd.DataFrame:
    """A recorded table, with its `source`."""
    file = DIRECTORY / f"{name}.csv"
    if not file.is_file():
        raise RelicError(f"no {file.name} in results/gender_score", mend="git checkout results/")
    return pd.read_csv(file).assign(source=RECORDED)


def record(directory: str | Path = DIRECTORY) -> list[str]:
    """Compute every recorded table on the real captions; returns their names.

    Needs the real captions and the extras. Language model and encoder keep what they said, so a
    killed call continues.
    """
    directory, tables = Path(directory), {}
    corpus = load_corpus("gender", "real")
    tables["distances"], tables["nearest"] = distances(train_labels(real_directory()))
    prior, minilm = load_prior(NGRAM, corpus.human["caption"]), load_encoder(MINILM)
    nine, test = lic_study(corpus), karpathy_study()
    choices = [(nine, prior, minilm), (test, prior, minilm)]
    words = list(nine.words())
    choices += [(nine, prior, load_encoder(name, words)) for name in (GLOVE, GLOVE + DEBIASED)]
    choices.append((nine, NGram(corpus.human["caption"], order=2), minilm))
    tables["scores"] = pd.concat([score_table(*choice) for choice in choices])
    tables["estimation"] = pd.concat([estimation_table(*choice) for choice in choices])
    tables["objects"] = pd.concat([object_table(*choice) for choice in choices[:2]])
    tables["lic"] = lic_agreement(tables["scores"], tables["estimation"])
    of_nine = tables["scores"][tables["scores"]["corpus"] != test.name]
    tables["choices"] = choice_agreement(of_nine)
    tables["published"], tables["counts"] = authors_file(minilm, prior)
    for name, frame in tables.items():
        write_whole(directory / f"{name}.csv", frame.round(6).to_csv(index=False))
    about = {
        "computed": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "command": "relic gender-score record",
        **provenance.commit(),
        "data": f"{corpus.name}, {corpus.coverage}, {corpus.fingerprint}",
        "versions": provenance.versions(),
    }
    write_whole(directory / "provenance.json", json.dumps(about, indent=1) + "\n")
    return sorted(tables)


def distances(labels: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tables 1 and 2 on object labels, with GloVe, its debiased form and MiniLM."""
    glove = load_encoder(GLOVE, labels)
    encoders = [glove, glove.debiased(), load_encoder(MINILM)]
    nearest = [nearest_objects(similarities(labels, encoder), encoder.name) for encoder in encoders]
    return distance_table(labels, encoders, "COCO Captions"), pd.concat(nearest)


def authors_file(encoder, ngram) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Our scores of the authors' captions against their column; counts against table 5.

    Labels and confidences as they are in the file, so that only encoder and prior differ.
    """
    rows = pd.read_csv(real_directory() / AUTHORS_FILE)
    close = similarity(encoder, list(rows["caption"]), list(rows["labels"]))
    gpt2 = rows["gpt2_mean_token_probability"].to_numpy()
    priors = {"GPT-2 (authors' column)": gpt2, ngram.name: ngram.probabilities(rows["caption"])}
    some = rows.sort_values("image_id").sample(GEMMA_CAPTIONS, random_state=0).index
    chosen = rows.index.isin(some)
    model, own = load_prior(GEMMA), np.full(len(rows), np.nan)
    own[chosen] = model.probabilities(rows["caption"][chosen])
    priors[model.name] = own
    priors["GPT-2 (authors' column), the same captions"] = np.where(chosen, gpt2, np.nan)
    priors[f"{ngram.name}, the same captions"] = np.where(chosen, priors[ngram.name], np.nan)
    table = against_published(rows, close, priors)
    return table.assign(encoder=encoder.name), count_check(rows["caption"])
