"""Tables of the real captions in `results/gender_score/`: computed, written, and served to the pages.

Pages are served as by `relic.runs`: with recorded rows, else computed here where the captions are,
else with an error. The embedded corpus is always computed.
"""

from collections.abc import Iterable
from functools import cache

import pandas as pd

from relic.chapters.gender_score import models, score, tables
from relic.chapters.gender_score.models import DEBIASED, GEMMA, GLOVE, MINILM, NGRAM, WORD2VEC
from relic.data.corpus import Corpus
from relic.errors import RelicError
from relic.judge.stats import rank_correlation
from relic.measure.text import tokenize
from relic.records.serve import GET, AnyCorpus, load_corpus
from relic.records.tables import published, read_table, write_record

RECORD = "gender_score"
TRAIN_FILE = "gender_score/visual_train_coco.txt"  # an object label each train image, without ids
SINCE = ("oscar", "vilbert", "ofa", "puret")  # captioners of the part `since`
GEMMA_CAPTIONS = 400  # gemma takes a tenth of a second a caption and more


def serve(
    table: str,
    corpus: AnyCorpus,
    language_model: str = NGRAM,
    encoder: str = MINILM,
    threshold: float = score.THRESHOLD,
    **options,
) -> pd.DataFrame:
    """The table `scores` (3), `objects` (4; `objects`: words) or `estimation` (5), by captioner."""
    if not corpus.synthetic:
        recorded, words = read_table(RECORD, table), options.get("objects", [])
        kind = recorded["prior"].str.split(" of ").str[0]  # whatever captions it was fitted on
        rows = recorded[(kind == language_model) & (recorded["encoder"] == encoder)]
        rows = rows[rows["object"].isin(words)] if words else rows
        complete = len(rows) and set(words) <= set(rows.get("object", []))
        if complete and threshold == score.THRESHOLD:
            return rows.reset_index(drop=True)
        asked = [language_model, encoder, f"threshold {threshold}", *words]
        _need_captions(corpus, asked, recorded["prior"] + " and " + recorded["encoder"])
    return _computed(table, corpus, language_model, encoder, threshold, **options)


def serve_distances(corpus: AnyCorpus, embeddings: list[str] = ()) -> list[pd.DataFrame]:
    """Tables 2 and 1 by embedding; none named: all that are recorded, MiniLM on the embedded corpus."""
    if corpus.synthetic:
        return _distances(embeddings or [MINILM], corpus.objects["label"], corpus.name)
    both, near = read_table(RECORD, "distances"), read_table(RECORD, "nearest")
    names = list(embeddings or both["model"])
    missing = sorted(set(names) - set(both["model"]))
    if missing:
        _need_captions(corpus, missing, both["model"])
        return _distances(names)
    return [both[both["model"].isin(names)], near[near["embedding"].isin(names)]]


def _need_captions(corpus: AnyCorpus, asked: list[str], recorded: pd.Series) -> None:
    if not isinstance(corpus, Corpus):
        raise RelicError(
            f"not recorded, and the real captions are not here to compute it: {', '.join(asked)}",
            expected=f"{'; '.join(recorded.unique())} (recorded), or corpus embedded",
            mend=GET,
        )


def _computed(table: str, corpus: Corpus, *choice, **options) -> pd.DataFrame:
    parts = [study.table(table, *both, **options) for study, *both in _studies(corpus, *choice)]
    return pd.concat(parts, ignore_index=True)


@cache
def _studies(corpus: Corpus, language_model: str, encoder: str, threshold: float) -> list[tuple]:
    """What is scored of a corpus, each with its language model and encoder; made once."""
    prior = models.load_prior(language_model, corpus.human["caption"])
    studies = [tables.lic_study(corpus, threshold)]
    studies += [] if corpus.synthetic else [tables.karpathy_study(threshold)]
    texts = [pd.concat([*study.captions.values(), study.contexts["context"]]) for study in studies]
    close = models.load_encoder(encoder, pd.concat(texts))
    return [(study, prior, close) for study in studies]


def record(*parts: str) -> None:
    """Compute recorded tables on the real captions, all or some of `PARTS`.

    Needs the real captions and the extras. Language model and encoder keep what they said, so a
    killed call continues.
    """
    unknown = sorted(set(parts) - set(PARTS))
    if unknown:
        raise RelicError(f"no part {', '.join(unknown)}", expected=", ".join(PARTS))
    for part in parts or PARTS:
        for name, frame in PARTS[part]().items():
            write_record(RECORD, name, frame)


def _words() -> dict[str, pd.DataFrame]:
    """Tables 1 and 2."""
    both = _distances([GLOVE, GLOVE + DEBIASED, WORD2VEC, WORD2VEC + DEBIASED, MINILM])
    return dict(zip(("distances", "nearest"), both, strict=True))


def _captions() -> dict[str, pd.DataFrame]:
    """Tables 3 to 5 of the nine captioners and ViLBERT, by several choices of language model and encoder."""
    choices = [(NGRAM, MINILM), (NGRAM, GLOVE), (NGRAM, GLOVE + DEBIASED), ("2-gram", MINILM)]
    corpus, used = load_corpus("gender"), {"scores": 4, "estimation": 4, "objects": 1}
    return {
        name: pd.concat([_computed(name, corpus, *both, score.THRESHOLD) for both in choices[:n]])
        for name, n in used.items()
    }


def _since() -> dict[str, pd.DataFrame]:
    """Tables 3 to 5 of the paper's captioners that we have in kind and of newer ones, on the same images."""
    study = tables.lic_study(load_corpus("gender", "Karpathy test"), captioners=SINCE)
    prior, encoder = _ngram(NGRAM), models.load_encoder(MINILM)
    return {f"since_{name}": study.table(name, prior, encoder) for name in tables.TABLES}


def _examples() -> dict[str, pd.DataFrame]:
    """Figure 2, by n-grams of captions and by a language model that never saw them alone."""
    priors = [_ngram(NGRAM), _ngram("2-gram"), models.load_prior(GEMMA)]
    encoder = models.load_encoder(MINILM)
    return {"examples": pd.concat([examples(prior, encoder) for prior in priors])}


def _authors() -> dict[str, pd.DataFrame]:
    """Our scores of the authors' captions against their column, by language model; their counts.

    Labels and confidences as they are in the file, so that only encoder and prior differ.
    """
    rows, ngram, gemma = tables.authors_objects(), _ngram(NGRAM), models.load_prior(GEMMA)
    some = rows.sort_values("image_id").sample(GEMMA_CAPTIONS, random_state=0).index
    priors = {
        "GPT-2 (authors' column)": rows["gpt2_mean_token_probability"],
        ngram.name: pd.Series(ngram.probabilities(rows["caption"]), rows.index),
        gemma.name: pd.Series(gemma.probabilities(rows["caption"][some]), some),
    }
    priors |= {f"{name}, the same captions": priors[name][some] for name in list(priors)[:2]}
    close = score.similarity(models.load_encoder(MINILM), rows["caption"], rows["label"])
    ranks = []
    for name, prior in priors.items():
        part = rows.assign(close=close).loc[prior.index]
        ours = score.belief_revision(prior, part["close"], part["probability"])
        ranks.append({"prior": name, **rank_correlation(ours, part["belief_revision_score"])})
    ranks = pd.DataFrame(ranks).assign(encoder=MINILM)
    return {"published": ranks, "counts": count_check(rows["caption"])}


PARTS = {part.__name__[1:]: part for part in (_words, _captions, _since, _examples, _authors)}


def _ngram(name: str):
    return models.load_prior(name, load_corpus("gender").human["caption"])


def _distances(embeddings: list[str], labels: Iterable[str] = (), dataset: str = "COCO Captions"):
    """Tables 2 and 1 on object labels; by default the authors', of COCO's train images."""
    labels = list(labels) or tables.data_file(TRAIN_FILE).read_text(encoding="utf-8").split()
    encoders = [models.load_encoder(name, labels) for name in embeddings]
    return tables.distances(labels, encoders, dataset)


def examples(prior, encoder) -> pd.DataFrame:
    """Figure 2: prior and similarity of its three captions with man and with woman filled in."""
    frame = published("estimation_examples")[["object", "caption"]]
    for person in score.PERSONS[1:]:
        texts = frame["caption"].str.replace(score.MASK, person, regex=False)
        frame[f"prior_{person}"] = prior.probabilities(texts)
        frame[f"similarity_{person}"] = score.similarity(encoder, texts, frame["object"])
    return frame.drop(columns="caption").assign(prior=prior.name, encoder=encoder.name)


def count_check(captions: pd.Series) -> pd.DataFrame:
    """Two ways to count captions about men and women, of all and by object: what do tables 5 and 4 count?"""
    tokens, rows = captions.map(lambda caption: set(tokenize(caption.lower()))), []
    for word in ("", *tables.OBJECTS):
        said = tokens[[word in words or not word for words in tokens]]
        plain = {person: sum(person in words for words in said) for person in ("man", "woman")}
        ours = score.cooccurrence(captions[said.index])
        which = {"object": word or "any", "captions": len(said)}
        rows.append({"counted": "the words man, woman", **which, **plain})
        rows.append({"counted": "any gender word of our list", **which, **ours})
    table = pd.DataFrame(rows)
    return table.assign(to_m=score.ratio_to_men(table["man"], table["woman"]))
