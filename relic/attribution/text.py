"""What the attribution page says: sentences and captions with computed numbers."""

import pandas as pd

from relic.attribution.gradients import REFERENCE
from relic.attribution.runs import Attributed
from relic.attribution.tables import (
    CLASSIFIER_NAMES,
    REAL_NAMES,
    carriers,
    differences,
    planted_agreement,
)
from relic.data.corpus import Corpus

WITHIN = 1  # percent of the mean score: what agreement with 500 steps means
SURE = 0.05  # corrected p below which two captioners are said to differ


def answer(done: list[Attributed], words: pd.DataFrame, corpus: Corpus, pair: list[str], classifier: str) -> str:  # fmt: skip
    """The page's answer, in a few lines."""
    zero, one = corpus.attribute.classes
    lines = [f"On the **{corpus.name}**, {_setting(done, classifier)}:", ""]
    for captioner in pair:
        heavy = carriers(words, corpus, classifier, captioner)
        model = heavy[heavy["side"] == "model"]
        up, down = (_quoted(model[side].head(4)) for side in (model["low"] > 0, model["high"] < 0))
        lines.append(
            f"- **{corpus.display_names[captioner]}**: of its {len(model)} strongest words, "
            f"{up or 'none'} point to {one} and {down or 'none'} to {zero} (95 % intervals beyond zero)."
        )
    found = differences(words, classifier, pair[0], pair[-1])
    lines.append(f"- {_differ(found, corpus, pair, _seeds(done, classifier))}")
    if corpus.synthetic:
        lines.append(f"- {_planted(words, corpus, pair, classifier)}")
    return "\n".join(lines)


def recorded_answer(published: pd.DataFrame, real: pd.DataFrame, corpus: Corpus) -> str:
    """What the recorded runs on real captions say: strongest words, and the sum of scores."""
    told = [
        f"{row['captioner']}, {row['classifier']}: {row['ours sum']:.2f} ({row['seeds']} seed{'s' * (row['seeds'] > 1)}) "
        f"against {row['Türk sum']:.2f}"
        for row in published.to_dict("records")
        if row["seeds"]
    ]
    if not told:
        return "No run on the real captions is recorded yet."
    lines = ["**Real captions, recorded** (COCO, gender, all images, upstream splits):", ""]
    for captioner in real["captioner"].unique() if len(real) else []:
        heavy = carriers(real, corpus, real["classifier"].iloc[0], captioner, top=30)
        up, down = (_quoted(heavy[heavy["mean"] * sign > 0].head(5)) for sign in (1, -1))
        lines.append(
            f"- {REAL_NAMES[captioner]}: strongest towards Female {up}; towards Male {down}."
        )
    lines.append(
        f"- Sum of attribution scores, ours against Türk et al.: {'; '.join(told)}. The score says how far a "
        "caption's words agree, not how much bias there is: see below."
    )
    return "\n".join(lines)


def _differ(found: pd.DataFrame, corpus: Corpus, pair: list[str], seeds: list[int]) -> str:
    """How many words differ surely; with one seed nobody can say."""
    names = " and ".join(corpus.display_names[name] for name in (pair[0], pair[-1]))
    if len(seeds) < 2:
        return (
            f"Whether {names} give the {len(found)} words they share different weights is **undecided**: "
            "with one seed, two captioners cannot be told from two trainings."
        )
    sure = found[found["p"] < SURE]
    which = f": {_quoted(sure.head(6))}" if len(sure) else ""
    return (
        f"{names} share {len(found)} words; {len(sure)} differ at p < {SURE} over {len(seeds)} seeds, "
        f"corrected for all of them{which}."
    )


def _planted(words: pd.DataFrame, corpus: Corpus, pair: list[str], classifier: str) -> str:
    """Do attributions find the words that were planted?"""
    found = []
    for captioner in pair:
        rho, p, n = planted_agreement(words, corpus, classifier, captioner)
        name = corpus.display_names[captioner]
        told = f"{rho:.2f}" if rho == rho else "too few words"
        found.append(f"{told} for {name} ({n} words" + (f", p = {p:.1g})" if rho == rho else ")"))
    return (
        "In this synthetic corpus we know which words lean to which class. Rank correlation of their "
        f"attributions with the planted log-odds: {', '.join(found)}; 1 would be a perfect order."
    )


def _seeds(done: list[Attributed], classifier: str) -> list[int]:
    return sorted({each.run.seed for each in done if each.run.classifier == classifier})


def _setting(done: list[Attributed], classifier: str) -> str:
    """Classifier, training and size in words."""
    runs = [each for each in done if each.run.classifier == classifier]
    first, seeds = runs[0].run, _seeds(done, classifier)
    tests = sorted({len(each.captions) for each in runs})
    encoder = f" with {first.encoder}" if first.encoder else ""
    size = f"{first.size} images" if first.size else "all images"
    return (
        f"{CLASSIFIER_NAMES[classifier]}{encoder}, recipe `{first.recipe}`, {first.split} splits of {size}, "
        f"{_and(tests)} test captions a run, seed{'s' * (len(seeds) > 1)} {_and(seeds)}"
    )


def setting(done: list[Attributed], corpus: Corpus, classifier: str) -> str:
    """Corpus, subset and training, as a table's caption begins with it."""
    told = _setting(done, classifier).replace("`", "")
    return f"{corpus.title}, {corpus.attribute.name}, {told}"


def settings(done: list[Attributed], corpus: Corpus) -> str:
    """The same for a table of several classifiers."""
    names = dict.fromkeys(each.run.classifier for each in done)
    told = "; ".join(_setting(done, name).replace("`", "") for name in names)
    return f"{corpus.title}, {corpus.attribute.name}; {told}"


def example_caption(done: list[Attributed], corpus: Corpus, classifier: str) -> str:
    """Caption of the coloured captions."""
    return f"{setting(done, corpus, classifier)}: attributions of the logit, over their norm."


def carriers_text(heavy: pd.DataFrame, done: list[Attributed], corpus: Corpus, captioner: str) -> dict:  # fmt: skip
    """Alternative text and caption of the figure of one captioner's words."""
    classifier = heavy["classifier"].iloc[0]
    name, model = corpus.display_names[captioner], heavy[heavy["side"] == "model"]
    means = ", ".join(f"{row.word} {row.mean:+.2f}" for row in model.itertuples())
    human = " and in human ones" if (heavy["side"] == "human").any() else ""
    return {
        "alt": f"Dots with intervals, mean attribution of words in {name}'s captions: {means}",
        "caption": f"{setting(done, corpus, classifier)}: mean attribution of words in {name}'s captions"
        f"{human}, 95 % intervals{_over(heavy)}. The strongest first.",
    }


def _over(pooled: pd.DataFrame) -> str:
    """What an interval is over."""
    return " over seeds" if pooled["runs"].max() > 1 else " over different captions, one training"


def recorded_text(heavy: pd.DataFrame, name: str) -> dict:
    """Alternative text and caption of the figure of recorded words."""
    classifier, runs = CLASSIFIER_NAMES[heavy["classifier"].iloc[0]], int(heavy["runs"].max())
    means = ", ".join(f"{row.word} {row.mean:+.2f}" for row in heavy.itertuples())
    return {
        "alt": f"Dots with intervals, mean attribution of words in {name}'s captions: {means}",
        "caption": f"Recorded. COCO captions, gender, all images, upstream splits, {classifier}, papers' recipe, "
        f"{runs} seed{'s' * (runs > 1)}: mean attribution of words in {name}'s test captions "
        f"({int(heavy['n'].min())} to {int(heavy['n'].max())} captions a word), 95 % intervals{_over(heavy)}.",
    }


def words_caption(done: list[Attributed], corpus: Corpus, classifier: str, captioner: str) -> str:
    """Caption of the table of one captioner's words."""
    return (
        f"{setting(done, corpus, classifier)}: the same for {corpus.display_names[captioner]} as numbers; "
        "n is captions with the word, share is of all absolute attributions."
    )


def shown_words(heavy: pd.DataFrame) -> pd.DataFrame:
    """The table behind the figure of words."""
    whose = heavy["side"].map({"model": "generated", "human": "human"})
    frame = heavy[["word", "n", "mean", "low", "high"]].assign(share=100 * heavy["share"])
    frame.insert(1, "captions", whose)
    return frame.rename(
        columns={"low": "95 % over captions, from", "high": "to", "share": "share (%)"}
    )


def differences_text(found: pd.DataFrame, done: list[Attributed], corpus: Corpus, classifier: str, pair: list[str]) -> str:  # fmt: skip
    """How many words differ surely, and which."""
    told = _differ(found, corpus, pair, _seeds(done, classifier))
    return f"**{CLASSIFIER_NAMES[classifier]}.** {told} The largest differences:"


def shown_differences(found: pd.DataFrame, corpus: Corpus, pair: list[str], top: int = 10) -> pd.DataFrame:  # fmt: skip
    """The largest differences, with readable column names."""
    first, second = (corpus.display_names[each] for each in (pair[0], pair[-1]))
    return found.head(top).rename(
        columns={
            "n_a": f"n, {first}",
            "mean_a": first,
            "n_b": f"n, {second}",
            "mean_b": second,
            "low": "95 % over captions, from",
            "high": "to",
            "p": "p over captions, corrected",
        }
    )


def differences_caption(done: list[Attributed], corpus: Corpus, classifier: str) -> str:
    """Caption of the table of differences."""
    return f"{setting(done, corpus, classifier)}: mean attribution of the logit in log-odds; n is captions with the word."


def scores_caption(done: list[Attributed], corpus: Corpus, of: str) -> str:
    """Caption of this build's scores by class."""
    return (
        f"This build. {settings(done, corpus)}: attribution scores of the {of} over correct captions; "
        "the last column is the output for a caption of padding."
    )


def steps_caption(done: list[Attributed], corpus: Corpus) -> str:
    """Caption of this build's agreement."""
    return f"This build. {settings(done, corpus)}: agreement of scores with those of {REFERENCE} steps."


def steps_answer(table: pd.DataFrame) -> str:
    """Is 1 % of the score reached, by classifier?"""
    told = []
    if not table["captions checked"].any():
        return "Not checked in this build: `checked` is 0."
    for name, part in table[table["captions checked"] > 0].groupby("classifier", sort=False):
        worst = part["mean difference (%)"].max()
        word = "yes" if worst <= WITHIN else "**no**, not caption by caption"
        n, steps = int(part["captions checked"].max()), _and(sorted(set(part["steps"])))
        told.append(
            f"- {name}, {steps} steps: {word}. Mean difference {worst:.2g} % of the mean score ({n} captions)."
        )
    return "\n".join([f"Within {WITHIN} % of the score with {REFERENCE} steps?", "", *told])


def recorded_steps_caption(scores: pd.DataFrame) -> str:
    """Caption of the recorded agreement."""
    runs = scores.drop_duplicates("key")
    told = "; ".join(
        f"{CLASSIFIER_NAMES[name]} on {_and([REAL_NAMES[key] for key in part['captioner'].unique()])}, "
        f"{size or 'all'} images, runs: {len(part)}"
        for (name, size), part in runs.groupby(["classifier", "size"], sort=False)
    )
    return f"Recorded. COCO captions, gender, papers' recipes ({told}): agreement of scores with those of {REFERENCE} steps."


def _quoted(rows: pd.DataFrame) -> str:
    return _and([f"*{word}*" for word in rows["word"]])


def _and(values: list) -> str:
    texts = [str(value) for value in values]
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)
