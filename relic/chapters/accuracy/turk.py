"""Caption accuracy the way Türk et al. (2023) computed it, to see what their figures are.

NLTK's BLEU takes lists of tokens. Given strings it takes every character for a token, spaces and
capitals too, and a caption shares most runs of four letters with any other English sentence.
"""

import warnings
from collections.abc import Iterable

import numpy as np
from nltk.translate.bleu_score import sentence_bleu

CHARACTER_BLEU = "BLEU-4 of characters"
RAW_CIDER = "CIDEr of untokenized text"


def character_bleu(candidates: Iterable[str], references: Iterable[list[str]]) -> np.ndarray:
    """NLTK's sentence BLEU on strings, so on characters, by image.

    >>> character_bleu(["a man"], [["a fan", "the sea"]]).round(2).tolist()
    [0.0]
    >>> character_bleu(["a man on a bike"], [["a woman on a bus"]]).round(2).tolist()
    [0.63]
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # captions that share no four characters
        pairs = zip(candidates, references, strict=True)
        return np.array([sentence_bleu(texts, caption) for caption, texts in pairs], dtype=float)
