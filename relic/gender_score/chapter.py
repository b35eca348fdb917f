"""What the Gender Score's notebooks share: models of a page, this build's tables beside recorded ones."""

import pandas as pd

from relic.data.corpus import Corpus
from relic.data.load import real_directory
from relic.gender_score.agreement import HEADLINE, OURS, captioner_lic
from relic.gender_score.distance import (
    distance_table,
    nearest_objects,
    published_distances,
    published_nearest,
    similarities,
    train_labels,
)
from relic.gender_score.prior import load_prior
from relic.gender_score.record import HERE, recorded
from relic.gender_score.study import Study
from relic.gender_score.tables import COUNTED, ESTIMATED, SCORE, published
from relic.gender_score.vectors import GLOVE, MINILM, has_glove, load_encoder

NINE = "COCO captions, 911 images"  # how the recorded study of the nine captioners begins
TEST = "COCO Karpathy test split"
SHORT = {TEST: "Karpathy test", "embedded corpus (synthetic)": "synthetic"}


def models(corpus: Corpus, studies: list[Study], language_model: str, encoder: str) -> tuple:
    """Language model and encoder of a page; the n-gram model is fitted on the human captions."""
    words = [text for study in studies for text in study.words()]
    return load_prior(language_model, corpus.human["caption"]), load_encoder(encoder, words)


def beside(name: str, tables: list[pd.DataFrame]) -> pd.DataFrame:
    """A recorded table and this build's, told apart by `source`."""
    return pd.concat([recorded(name), *(t.assign(source=HERE) for t in tables)], ignore_index=True)


def main(table: pd.DataFrame, corpus: str = NINE) -> pd.DataFrame:
    """The recorded rows of the main choice: trigram model and MiniLM."""
    kept = table[table["source"] == "recorded"] if "source" in table else table
    kept = kept[kept["corpus"].str.startswith(corpus) & (kept["encoder"] == MINILM)]
    return kept[kept["prior"].str.startswith("3-gram of")]


def headline(table: pd.DataFrame, method: str = "") -> pd.DataFrame:
    """Recorded rows of the main choice, both studies, then this build's; of one method or all."""
    parts = [main(table), main(table, TEST), table[table["source"] == HERE]]
    both = pd.concat(parts, ignore_index=True)
    short = both["corpus"].str.split(",").str[0].replace(SHORT)
    both["source"] = both["source"] + ", " + short  # the study's whole name makes a tall table
    return both[both["method"] == method] if method else both


def distances(corpus: Corpus) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Table 2 and table 1: published, recorded and this build's rows."""
    if corpus.synthetic:
        labels, dataset = corpus.objects["label"].tolist(), corpus.name
    else:
        labels, dataset = train_labels(real_directory()), "COCO Captions"
    encoders = [load_encoder(MINILM)]
    if has_glove():
        glove = load_encoder(GLOVE, labels)
        encoders = [glove, glove.debiased(), *encoders]
    here = distance_table(labels, encoders, dataset)
    near = [nearest_objects(similarities(labels, e), e.name) for e in encoders]
    both = pd.concat([published_distances(), beside("distances", [here])], ignore_index=True)
    return both, beside("nearest", [n.assign(embedding=f"{n['embedding'].iloc[0]}, {dataset}") for n in near])  # fmt: skip


def distance_answer(distances: pd.DataFrame) -> str:
    """What tables 1 and 2 say, in two sentences."""
    ours = distances[distances["source"] == "recorded"].set_index("model")
    glove, flat, minilm = (ours.loc[m] for m in ours.index)
    theirs = distances[(distances["source"] == "published") & (distances["model"] == "GloVe")]
    theirs = theirs[theirs["dataset"] == "COCO Captions"].iloc[0]
    return (
        f"**The lean of object words depends on the embedding.** Over {int(glove['images']):,} COCO train images "
        f"the ratio to men is {_with(glove)} with GloVe (published {theirs['to_m']:.2f}), {_with(flat)} "
        f"with its gender direction removed, and {_with(minilm)} with MiniLM, where object words lie nearer to "
        "*woman*. In brackets 95 % intervals over distinct objects; 0.5 is no lean.\n\n"
        "The paper concludes a slight bias towards men. "
        f"{'GloVe and MiniLM lean to opposite sides, so' if (glove['to_m'] - 0.5) * (minilm['to_m'] - 0.5) < 0 else 'Here'} "
        "the sign is a property of the embedding as much as of the objects."
    )


def _with(row) -> str:
    return f"{row['to_m']:.3f} ({row['low']:.3f} to {row['high']:.3f})"


def nearest_words(nearest: pd.DataFrame) -> pd.DataFrame:
    """Table 1 as the paper prints it: five words a cell, ours in two orders, theirs last."""
    theirs = published_nearest().assign(order="published", source="published")
    both = pd.concat([nearest, theirs], ignore_index=True)
    groups = both.groupby(["source", "embedding", "order", "gender"], sort=False)["object"]
    wide = groups.agg(", ".join).unstack("gender").reset_index()
    return wide[["source", "embedding", "order", "person", "man", "woman"]]


def score_answer(scores: pd.DataFrame, lic: pd.DataFrame) -> str:
    """What table 3 says, and whether it agrees with LIC."""
    nine = main(scores)
    nine = nine[nine["method"] == SCORE]
    row = lic_row(lic)
    verdict = "undecided" if row["low"] < 0 < row["high"] else "agrees" if row["rho"] > 0 else "disagrees"  # fmt: skip
    return (
        f"**The Gender Score hardly tells captioners apart.** For the nine captioners the ratio to men lies between "
        f"{nine['to_m'].min():.3f} and {nine['to_m'].max():.3f} (published, other captioners: 0.50 to 0.51); "
        f"{int(nine['captions'].min())} to {int(nine['captions'].max())} captions each.\n\n"
        f"**Does it agree with LIC? {verdict.capitalize()}.** Over nine captioners the rank correlation of the ratio to men with "
        f"our LIC is {_signed(row['rho'])} (95 % interval {_signed(row['low'])} to {_signed(row['high'])}, n = {int(row['n'])})."
    )


def _signed(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def lic_row(lic: pd.DataFrame) -> pd.Series:
    """The correlation chosen beforehand: table 3's ratio, our LIC, n-gram model, MiniLM."""
    kept = main(lic)
    return kept[(kept["quantity"] == HEADLINE) & (kept["LIC of"] == OURS)].iloc[0]


def our_lic() -> pd.DataFrame:
    """LIC of the nine captioners by our recorded linear runs."""
    lic = captioner_lic()
    return lic[lic["lic"] == OURS]


def beside_published(objects: pd.DataFrame) -> pd.DataFrame:
    """Table 4 for ViLBERT: the paper's ratio beside ours; the estimation beside its Gender Score."""
    theirs = published("object_bias_ratio").query("captioner == 'Vilbert'")
    theirs = theirs.set_index(["method", "object"])["to_m"]
    rows = main(objects, TEST)[["object", "method", "to_m", "low", "high", "captions"]]
    keys = zip(rows["method"].replace(ESTIMATED, SCORE), rows["object"], strict=True)
    return rows.assign(published=[theirs[key] for key in keys]).sort_values("object", kind="stable")


def object_answer(objects: pd.DataFrame) -> str:
    """What table 4 says."""
    wide = main(objects).pivot(index=["captioner", "object"], columns="method", values="to_m")
    gap = (wide[SCORE] - wide[COUNTED]).abs().dropna()
    far = (wide[ESTIMATED] - wide[COUNTED]).abs().dropna()
    both = beside_published(objects)
    off = (both["to_m"] - both["published"]).abs().groupby(both["method"]).mean()
    return (
        f"**Weighting captions by their score changes little.** Over {len(gap)} pairs of captioner and object the ratio to men "
        f"moves by {gap.median():.3f} in the median, {gap.max():.3f} at most, against plain counting: "
        f"the Gender Score's ratio nearly repeats the count. Letting the score *choose* the gender moves it more, "
        f"{far.median():.2f} in the median, {far.max():.2f} at most.\n\n"
        f"For ViLBERT, the one captioner of the paper that we have, the published Gender Score ratios differ from our weighted ones by "
        f"{off[SCORE]:.2f} on average over four objects, from our estimated ones by {off[ESTIMATED]:.2f}."
    )


def estimation_answer(estimation: pd.DataFrame) -> str:
    """What table 5 says."""
    wide = main(estimation).pivot(index="captioner", columns="method", values="to_m")
    rows = main(estimation)
    rows = rows[rows["method"] == ESTIMATED]
    agree, prior, close = rows["agreement"], rows["prior alone"], rows["similarity alone"]
    up = int((wide[ESTIMATED] > wide[COUNTED]).sum())
    return (
        f"**The estimation says *man* more often than the captioner did, for {up} of {len(wide)} captioners** "
        f"(the paper: 7 of 7). The ratio to men goes from {wide[COUNTED].mean():.2f} to {wide[ESTIMATED].mean():.2f} on average. "
        f"The gender it fills in is the one the caption states in {100 * agree.min():.0f} to {100 * agree.max():.0f} % of captions.\n\n"
        f"What decides? The language model alone prefers *man* in {100 * prior.min():.0f} to {100 * prior.max():.0f} % of the "
        f"captions, whatever is in the image; the similarity with the object alone in {100 * close.min():.0f} to {100 * close.max():.0f} %."
    )
