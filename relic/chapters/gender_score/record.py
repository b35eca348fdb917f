"""Tables of the real captions in `results/gender_score/`: computed, written, and served to the pages.

`serve` answers as `relic.runs` does: with recorded rows, else computed here where the captions are,
else with an error. The embedded corpus is always computed.
"""

from functools import cache

import pandas as pd

from relic.chapters.gender_score import score as formula
from relic.chapters.gender_score import tables
from relic.chapters.gender_score.prior import GEMMA, NGRAM, load_prior
from relic.chapters.gender_score.score import THRESHOLD
from relic.chapters.gender_score.tables import SCORE
from relic.chapters.gender_score.vectors import DEBIASED, GLOVE, MINILM, WORD2VEC, load_encoder
from relic.chapters.gender_score.wording import PERSONS
from relic.data.corpus import Corpus
from relic.errors import RelicError
from relic.judge.stats import rank_correlation
from relic.measure.text import tokenize
from relic.records.serve import GET, AnyCorpus, load_corpus
from relic.records.tables import published, read_table, write_record

RECORD = "gender_score"
TABLES = {
    "scores": tables.score_table,
    "estimation": tables.estimation_table,
    "objects": tables.object_table,
}
SINCE = ("oscar", "vilbert", "ofa", "puret")  # captioners of the part `since`
GEMMA_CAPTIONS = 400  # gemma takes a tenth of a second a caption and more


def serve(
    table: str,
    corpus: AnyCorpus,
    language_model: str = NGRAM,
    encoder: str = MINILM,
    threshold: float = THRESHOLD,
    **options,
) -> pd.DataFrame:
    """The table `scores` (3), `objects` (4; `objects`: words) or `estimation` (5), by captioner."""
    if not corpus.synthetic:
        known, words = read_table(RECORD, table), options.get("objects", [])
        rows = _chosen(known, language_model, encoder)
        rows = rows[rows["object"].isin(words)] if words else rows
        complete = len(rows) and set(words) <= set(rows.get("object", []))
        if complete and threshold == THRESHOLD:
            return rows
        asked = [language_model, encoder, f"threshold {threshold}", *words]
        _need_captions(corpus, asked, known["prior"] + " and " + known["encoder"])
    models = _models(corpus, language_model, encoder, threshold)
    return pd.concat([TABLES[table](*each, **options) for each in models], ignore_index=True)


def serve_distances(corpus: AnyCorpus, embeddings: list[str] = ()) -> tuple:
    """Tables 2 and 1 by embedding; none named: all that are recorded, MiniLM on the embedded corpus."""
    if corpus.synthetic:
        labels = corpus.objects["label"].tolist()
        return distances(labels, embeddings or [MINILM], corpus.name)
    both, near = read_table(RECORD, "distances"), read_table(RECORD, "nearest")
    missing = sorted(set(embeddings) - set(both["model"]))
    if missing:
        _need_captions(corpus, missing, both["model"])
        return distances(_train_labels(), embeddings)
    names = list(embeddings or both["model"])
    return both[both["model"].isin(names)], near[near["embedding"].isin(names)]


def _chosen(rows: pd.DataFrame, language_model: str, encoder: str) -> pd.DataFrame:
    """Recorded rows of a language model (whatever it was fitted on) and an encoder."""
    kept = rows["prior"].str.split(" of ").str[0] == language_model
    return rows[kept & (rows["encoder"] == encoder)].reset_index(drop=True)


@cache
def _models(corpus: Corpus, language_model: str, encoder: str, threshold: float) -> list[tuple]:
    """What is scored of a corpus, each with its language model and encoder; made once."""
    prior = load_prior(language_model, corpus.human["caption"])
    studies = [tables.lic_study(corpus, threshold)]
    studies += [] if corpus.synthetic else [tables.karpathy_study(threshold)]
    return [(study, prior, load_encoder(encoder, study.words())) for study in studies]


def _need_captions(corpus: AnyCorpus, asked: list[str], known: pd.Series) -> None:
    if not isinstance(corpus, Corpus):
        raise RelicError(
            f"not recorded, and the real captions are not here to compute it: {', '.join(asked)}",
            expected=f"{'; '.join(known.unique())} (recorded), or corpus embedded",
            mend=GET,
        )


def record(*parts: str) -> list[str]:
    """Compute recorded tables on the real captions, all or some of `PARTS`; returns their names.

    Needs the real captions and the extras. Language model and encoder keep what they said, so a
    killed call continues.
    """
    unknown = sorted(set(parts) - set(PARTS))
    if unknown:
        raise RelicError(f"no part {', '.join(unknown)}", expected=", ".join(PARTS))
    done = {k: frame for name in parts or PARTS for k, frame in PARTS[name]().items()}
    for name, frame in done.items():
        write_record(RECORD, name, frame)
    return sorted(done)


def _words() -> dict[str, pd.DataFrame]:
    """Tables 1 and 2."""
    models = [GLOVE, GLOVE + DEBIASED, WORD2VEC, WORD2VEC + DEBIASED, MINILM]
    return dict(zip(("distances", "nearest"), distances(_train_labels(), models), strict=True))


def _captions() -> dict[str, pd.DataFrame]:
    """Tables 3 to 5 of the nine captioners and ViLBERT, by several choices of language model and encoder."""
    choices = [(NGRAM, MINILM), (NGRAM, GLOVE), (NGRAM, GLOVE + DEBIASED), ("2-gram", MINILM)]
    corpus = load_corpus("gender")
    settings = [s for choice in choices for s in _models(corpus, *choice, THRESHOLD)]
    done = {n: pd.concat([TABLES[n](*each) for each in settings]) for n in ("scores", "estimation")}
    done["objects"] = pd.concat([tables.object_table(*setting) for setting in settings[:2]])
    return done | {"choices": choice_agreement(done["scores"])}


def _since() -> dict[str, pd.DataFrame]:
    """Tables 3 to 5 of the paper's captioners that we have in kind and of newer ones, on the same images."""
    study = tables.lic_study(load_corpus("gender", "Karpathy test"), captioners=SINCE)
    models = _ngram(NGRAM), load_encoder(MINILM)
    return {f"since_{name}": table(study, *models) for name, table in TABLES.items()}


def _examples() -> dict[str, pd.DataFrame]:
    """Figure 2, by n-grams of captions and by a language model that never saw them alone."""
    priors = [_ngram(NGRAM), _ngram("2-gram"), load_prior(GEMMA)]
    return {"examples": pd.concat([examples(prior, load_encoder(MINILM)) for prior in priors])}


def _authors() -> dict[str, pd.DataFrame]:
    """Our scores of the authors' captions against their column, by language model; their counts.

    Labels and confidences as they are in the file, so that only encoder and prior differ.
    """
    rows, ngram, gemma = tables.authors_objects(), _ngram(NGRAM), load_prior(GEMMA)
    some = rows.sort_values("image_id").sample(GEMMA_CAPTIONS, random_state=0).index
    priors = {
        "GPT-2 (authors' column)": rows["gpt2_mean_token_probability"],
        ngram.name: pd.Series(ngram.probabilities(rows["caption"]), rows.index),
        gemma.name: pd.Series(gemma.probabilities(rows["caption"][some]), some),
    }
    for name in list(priors)[:2]:
        priors[f"{name}, the same captions"] = priors[name][some]
    close = formula.similarity(load_encoder(MINILM), list(rows["caption"]), list(rows["label"]))
    ranks = []
    for name, prior in priors.items():
        part = rows.assign(close=close).loc[prior.index]
        ours = formula.belief_revision(prior, part["close"], part["probability"])
        ranks.append({"prior": name, **rank_correlation(ours, part["belief_revision_score"])})
    return {
        "published": pd.DataFrame(ranks).assign(encoder=MINILM),
        "counts": count_check(rows["caption"]),
    }


PARTS = {part.__name__[1:]: part for part in (_words, _captions, _since, _examples, _authors)}


def _ngram(name: str):
    return load_prior(name, load_corpus("gender").human["caption"])


def _train_labels() -> list[str]:
    """The authors' object label of each COCO train image, in their order."""
    return tables.data_file(tables.TRAIN_FILE).read_text(encoding="utf-8").split()


def distances(labels: list[str], embeddings: list[str], dataset: str = "COCO Captions") -> tuple:
    """Tables 2 and 1 on object labels."""
    cosines = {name: tables.similarities(labels, load_encoder(name, labels)) for name in embeddings}
    rows = [tables.distance_row(near, name, dataset) for name, near in cosines.items()]
    nearest = [tables.nearest_objects(near, name) for name, near in cosines.items()]
    return pd.concat(rows, ignore_index=True), pd.concat(nearest, ignore_index=True)


def examples(prior, encoder) -> pd.DataFrame:
    """Figure 2: prior and similarity of its three captions with man and with woman filled in."""
    frame = published("estimation_examples")[["object", "caption"]]
    for person in PERSONS[1:]:
        texts = [text.replace("[MASK]", person) for text in frame["caption"]]
        frame[f"prior_{person}"] = prior.probabilities(texts)
        frame[f"similarity_{person}"] = formula.similarity(encoder, texts, list(frame["object"]))
    return frame.drop(columns="caption").assign(prior=prior.name, encoder=encoder.name)


def count_check(captions: pd.Series) -> pd.DataFrame:
    """Two ways to count captions about men and women, of all and by object: what do tables 5 and 4 count?"""
    tokens, rows = captions.map(lambda caption: set(tokenize(caption.lower()))), []
    for word in ("", *tables.OBJECTS):
        said = tokens[[word in words or not word for words in tokens]]
        ways = {
            "the words man, woman": {p: sum(p in words for words in said) for p in PERSONS[1:]},
            "any gender word of our list": formula.cooccurrence(captions[said.index]),
        }
        about = {"object": word or "any", "captions": len(said)}
        rows += [{"counted": way} | about | counts for way, counts in ways.items()]
    table = pd.DataFrame(rows)
    return table.assign(to_m=formula.ratio_to_men(table["man"], table["woman"]))


def choice_agreement(scores: pd.DataFrame) -> pd.DataFrame:
    """How far another language model or encoder than the first moves the ratio to men: ρ, largest shift."""
    frame = scores[(scores["method"] == SCORE) & (scores["captioner"] != tables.VILBERT)]
    images = frame["corpus"].str.extract(r"([\d,]+ images)")[0]
    frame = frame.assign(choice=frame["prior"] + ", " + frame["encoder"] + ", " + images)
    wide = frame.pivot(index="captioner", columns="choice", values="to_m")
    first, *others = frame["choice"].unique()
    agreement = pd.DataFrame([rank_correlation(wide[first], wide[name]) for name in others])
    shifts = [(wide[name] - wide[first]).abs().max() for name in others]
    agreement.insert(0, "against", first)
    agreement.insert(1, "choice", others)
    return agreement.assign(**{"largest shift": shifts})
