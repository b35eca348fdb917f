"""What BLEU-4 becomes when NLTK gets strings where it wants lists of words: BLEU of characters."""

import warnings
from collections.abc import Iterable

import numpy as np
import pandas as pd
from nltk.translate.bleu_score import sentence_bleu

from relic.data.corpus import HUMAN_CAPTIONS, Corpus
from relic.errors import RelicError
from relic.text import tokenize

UNITS = ("words", "characters")
PAIR = ("a man is riding a brown horse on the beach", "a man is riding a horse near the water")


def bleu4(references: Iterable[str], candidate: str, unit: str = "words") -> float:
    """BLEU-4 of a caption in percent (Papineni et al. 2002), over words or over characters.

    Python strings are sequences of characters, so NLTK accepts them without complaint.

    Of the 9, 8, 7 and 6 runs of one to four words in the second caption of PAIR, 7, 4, 3 and 2
    are in the first, which is a word longer: exp(1 - 10/9) (7/9 · 4/8 · 3/7 · 2/6)^¼ = 0.434.

    >>> round(bleu4([PAIR[0]], PAIR[1]), 1)
    43.4
    >>> round(bleu4([PAIR[0]], PAIR[1], "characters"), 1)
    64.9
    """
    if unit not in UNITS:
        raise RelicError(f"unit {unit!r}", expected=f"one of {', '.join(UNITS)}")
    split = tokenize if unit == "words" else str
    with warnings.catch_warnings():  # NLTK warns where no 4-gram is shared: the score is 0 then
        warnings.simplefilter("ignore", UserWarning)
        return 100 * sentence_bleu([split(text) for text in references], split(candidate))


def example(pair: tuple[str, str] = PAIR) -> pd.DataFrame:
    """The made-up pair of captions, scored both ways."""
    reference, candidate = pair
    scores = {f"BLEU-4, {unit}": bleu4([reference], candidate, unit) for unit in UNITS}
    return pd.DataFrame(
        [{"human (made up)": reference, "generated (made up)": candidate, **scores}]
    )


def both_ways(corpus: Corpus, accuracy: pd.DataFrame, images: int) -> pd.DataFrame:
    """Mean BLEU-4 of each captioner over its first `images` images, words, characters, printed.

    As `turk2023` does: captions as they are, capitals too, and the mean of one score an image.
    COCO's BLEU-4 lowers capitals and pools counts over images, so `words` is not it either.
    The spread is the standard error of the mean over images.
    """
    printed = accuracy[accuracy["metric"] == "BLEU-4"].set_index("captioner")["value"]
    chosen = corpus.deepest[:images]
    human = corpus.human[corpus.human["image_id"].isin(chosen)]
    references = human.groupby("image_id")["caption"].agg(list)
    rows = []
    for key in corpus.captioners:
        captions, name = corpus.captions(key), corpus.display_names[key]
        shared = [image for image in chosen if image in captions.index]
        row = {"captioner": name, "images": len(shared)}
        for unit in UNITS:
            scores = [
                bleu4(references[image][:HUMAN_CAPTIONS], captions[image], unit) for image in shared
            ]
            row[unit] = float(np.mean(scores))
            row[f"± ({unit})"] = float(np.std(scores, ddof=1) / np.sqrt(len(scores)))
        rows.append({**row, "printed by Türk": printed.get(name, float("nan"))})
    return pd.DataFrame(rows)


def in_words(shown: pd.DataFrame, both: pd.DataFrame, accuracy: pd.DataFrame) -> str:
    """What the example and the captions of a corpus say about the printed BLEU-4."""
    pair, printed = shown.iloc[0], accuracy[accuracy["metric"] == "BLEU-4"]["value"]
    said = (
        f"The made-up pair scores **{pair['BLEU-4, words']:.1f}** by words and "
        f"**{pair['BLEU-4, characters']:.1f}** by characters. Türk et al. print "
        f"{printed.min()} to {printed.max()} (n = {len(printed)} captioners). "
    )
    known = both.dropna(subset="printed by Türk")
    if known.empty:
        return said + (
            "The captioners below are synthetic, so only the gap between the two columns counts; "
            "with the real captions (`relic data fetch DIR`) this table sets both against the print."
        )
    off = {unit: (known[unit] - known["printed by Türk"]).abs().max() for unit in UNITS}
    return said + (
        f"On the real captions, characters come within **{off['characters']:.1f}** points of the "
        f"printed value for every captioner; words miss it by up to {off['words']:.1f}."
    )
