"""What is in a corpus: the tables of the data card. Each function takes one corpus, returns a tidy frame."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import cohen_kappa_score

from relic import paths
from relic.chapters.learning import complete_only
from relic.data.corpus import HUMAN_CAPTIONS, Corpus
from relic.data.load import load_corpus
from relic.errors import RelicError
from relic.judge.stats import estimate, shared
from relic.measure.splits import PAPER_SEEDS
from relic.measure.text import masked_captions, tokenize
from relic.records.serve import runs
from relic.records.tables import read_table, write_record

RECORD = "data"  # the tables of the real captions, kept in results/


def label_counts(corpus: Corpus) -> pd.DataFrame:
    """Images of each class, in all and with human captions; the balanced sizes."""
    images, covered = corpus.label_counts(), corpus.label_counts(corpus.covered)
    frame = pd.DataFrame({"images": images, "with human captions": covered})
    frame.insert(1, "share (%)", 100 * frame["images"] / len(corpus.labels))
    frame["balanced, all images"] = 2 * min(images.values())
    frame["balanced, with human captions"] = 2 * min(covered.values())
    return frame.rename_axis("label").reset_index()


def depth_counts(corpus: Corpus) -> pd.DataFrame:
    """Labelled images by how many human captions they have of their own, none to five."""
    depth = corpus.depth.reindex(corpus.labels.index, fill_value=0)
    counts = depth.value_counts().reindex(range(HUMAN_CAPTIONS + 1), fill_value=0)
    return counts.rename_axis("human captions").rename("images").reset_index()


def human_sources(corpus: Corpus) -> pd.DataFrame:
    """Images by the file that their human captions come from."""
    images = corpus.human.drop_duplicates("image_id")["source"].value_counts()
    if len(corpus.covered) < len(corpus.labels):
        images["none"] = len(corpus.labels) - len(corpus.covered)
    return images.rename_axis("from").rename("images").reset_index()


def caption_summary(corpus: Corpus) -> pd.DataFrame:
    """Captions, words, lengths and repetitions of each captioner and of the first human caption.

    A caption is repeated when another image has the same one, word for word.
    """
    rows = []
    for name, captions, key in _sets(corpus):
        captions = captions[captions.index.isin(corpus.labels.index)]
        masked = pd.Series(masked_captions(captions, corpus.attribute, lowercase=key is None))
        tokens, vocabulary = masked.str.split(), corpus.vocabularies.get(key)
        row = {"captioner": name, "captions": len(captions)}
        row |= {"different captions": captions.nunique()}
        row |= {"repeated (%)": 100 * captions.duplicated(keep=False).mean()}
        row |= {"repeated once masked (%)": 100 * masked.duplicated(keep=False).mean()}
        row |= {"words in use": tokens.explode().nunique()}
        row |= {"vocabulary": len(vocabulary) if vocabulary else None}
        rows.append(row | {"tokens a caption": tokens.str.len().mean()})
    return pd.DataFrame(rows)


def _sets(corpus: Corpus) -> list[tuple[str, pd.Series, str | None]]:
    """Name, captions and key of each captioner, and of the first human caption."""
    sets = [(corpus.display_names[key], corpus.captions(key), key) for key in corpus.captioners]
    human = [] if corpus.human.empty else [("Human, first caption", corpus.human_captions(0), None)]
    return sets + human


def caption_lengths(corpus: Corpus) -> pd.DataFrame:
    """Share of captions with so many tokens, a row a captioner and length."""
    parts = []
    for name, captions, _ in _sets(corpus):
        lengths = captions.map(lambda caption: len(tokenize(caption))).rename("tokens")
        shares = 100 * lengths.value_counts(normalize=True).sort_index()
        parts.append(shares.rename("share (%)").reset_index().assign(captioner=name))
    return pd.concat(parts, ignore_index=True)[["captioner", "tokens", "share (%)"]]


def same_captions(corpus: Corpus) -> pd.DataFrame:
    """Share of images to which two captioners give the same words; a row a pair, both ways.

    Some captioners end with a full stop and some do not: it does not count.
    """
    texts = {corpus.display_names[k]: corpus.captions(k).str.strip(" .") for k in corpus.captioners}
    rows = []
    for (first, a), (second, b) in product(texts.items(), repeat=2):
        same = np.equal(*a.align(b, join="inner"))
        rows.append((first, second, 100 * float(same.mean())))
    return pd.DataFrame(rows, columns=["captioner", "other", "same (%)"])


def annotator_agreement(directory: Path) -> pd.DataFrame:
    """Agreement of the age annotators on images that two of them labelled, and Cohen's κ.

    Pairs are pooled over annotators. κ is symmetric, so who is first in a pair changes nothing
    but the margins; annotators are taken in the order of their files.
    """
    files = sorted(Path(directory, "age_annotations").glob("annotations_person*.csv"))
    votes = pd.DataFrame({file.stem: _votes(file) for file in files})  # a column an annotator
    several = int((votes.count(axis=1) >= 2).sum())
    pairs = [votes[list(two)].dropna().to_numpy() for two in combinations(votes, 2)]
    pairs = np.concatenate([np.empty((0, 2), dtype=object), *pairs])
    either, rows = pairs[np.isin(pairs, ["old", "young"]).all(axis=1)], []
    for name, part in (("old or young", either), ("old, young or none", pairs)):
        row = {"labels": name, "images with several annotators": several, "pairs": len(part)}
        row["agreement (%)"] = 100 * (part[:, 0] == part[:, 1]).mean() if len(part) else None
        row["Cohen's κ"] = cohen_kappa_score(*part.T) if len(part) else None
        rows.append(row)
    return pd.DataFrame(rows)


def _votes(file: Path) -> pd.Series:
    """One annotator's label of each image."""
    try:
        votes = pd.read_csv(file, usecols=["id", "label"])
    except (ValueError, OSError) as error:  # pandas' own errors are ValueErrors
        mend = "relic data fetch DIR --replace"
        raise RelicError(f"{file}: {error}", expected="columns id, label", mend=mend) from error
    return votes.fillna({"label": "none"}).groupby("id")["label"].first()


def thinned(corpus: Corpus, depths: pd.Series, seed: int = 0) -> Corpus:
    """Each image keeps its first captions, as many as a depth drawn from `depths`."""
    drawn = np.random.default_rng(seed).choice(depths.to_numpy(), size=len(corpus.covered))
    depth = pd.Series(drawn, index=corpus.covered)
    within = corpus.human["caption_index"] < corpus.human["image_id"].map(depth)
    return replace(corpus, human=corpus.human[within].reset_index(drop=True), reload=None)


def thinning(corpus: Corpus, seeds: Sequence[int] = PAPER_SEEDS) -> pd.DataFrame:
    """What fewer human captions an image do to LIC_D (linear): with all five, thinned, the difference.

    Part of the human captions comes from a file with one to five an image. The images of the complete
    files keep as many as an image of that file has; images, splits and classifier stay.
    """
    full, depths = complete_only(corpus)
    thin = thinned(full, depths)
    human = [runs(images, seeds=seeds, sides=["human"]).frame for images in (full, thin)]
    five, fewer = (frame.pivot_table("score", "seed", "captioner") for frame in human)
    table = pd.DataFrame({"classifier": "linear", "five": five.mean(), "thinned": fewer.mean()})
    apart, rho = fewer - five, shared(corpus.attribute.ratio)
    ends = [estimate(apart[name], rho).interval() for name in table.index]
    table[["difference", "low", "high"]] = ends
    table = table.assign(seeds=len(seeds), images=len(full.covered))
    table["captions an image"] = float(thin.depth.mean())
    return table.loc[full.captioners].reset_index()


COUNTED = {
    "labels": label_counts,
    "depth": depth_counts,
    "sources": human_sources,
    "captions": caption_summary,
    "lengths": caption_lengths,
    "same": same_captions,
    "thinning": thinning,
}
TABLES = (*COUNTED, "agreement")


def counted(name: str, corpora: Iterable[Corpus]) -> pd.DataFrame:
    """A table of several corpora, the attribute in front."""
    if name == "agreement":
        return annotator_agreement(paths.real_data())
    if name == "thinning":  # nothing to thin where every image has five captions
        corpora = [c for c in corpora if (c.depth < HUMAN_CAPTIONS).any()]
    parts = {c.attribute.name: COUNTED[name](c) for c in corpora}
    return pd.concat(parts, names=["attribute"]).reset_index(level=0).reset_index(drop=True)


def table(name: str, corpora: list) -> pd.DataFrame:
    """A table of the card: counted where the captions are; as recorded where they are not, or train for minutes."""
    if all(isinstance(c, Corpus) for c in corpora) and name != "thinning":
        return counted(name, corpora)
    frame, names = read_table(RECORD, name), [c.attribute.name for c in corpora if not c.synthetic]
    return frame[frame["attribute"].isin(names)] if "attribute" in frame else frame


def record(*parts: str) -> None:
    """Keep the counts of the real captions, so that a book built without them shows them too."""
    if unknown := sorted(set(parts) - set(TABLES)):
        raise RelicError(f"no table {', '.join(unknown)}", expected=f"of {', '.join(TABLES)}")
    corpora = [load_corpus(name, "real") for name in ("gender", "race", "age")]
    for name in parts or TABLES:
        write_record(RECORD, name, counted(name, corpora))
