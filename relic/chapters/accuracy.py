"""How well captions describe their images: the COCO metrics, with intervals over images.

All scores are those of `pycocoevalcap` with its PTB tokenizer, times 100. The intervals resample images:

- BLEU-4 and METEOR are corpus scores: counts are summed over the drawn images, then scored (METEOR's by itself).
- CIDEr and ROUGE-L are means over images; CIDEr's word weights (idf) stay those of all images.

BLEU-4 and CIDEr also the way Türk et al. (2023) computed them, to see what their figures are. NLTK's BLEU
takes lists of tokens. Given strings it takes every character for a token, spaces and capitals too, and
a caption shares most runs of four letters with any other English sentence.
"""

import hashlib
import subprocess
import warnings
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from nltk.translate.bleu_score import sentence_bleu
from pycocoevalcap.bleu.bleu_scorer import cook_refs, cook_test
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.meteor import meteor as coco_meteor
from pycocoevalcap.rouge.rouge import Rouge
from pycocoevalcap.tokenizer import ptbtokenizer

from relic.data.captioners import display_names
from relic.data.corpus import Corpus
from relic.data.load import load_corpus
from relic.errors import RelicError
from relic.judge.stats import image_draws, interval
from relic.measure.text import tokenize
from relic.records.runs import OWN
from relic.records.serve import AnyCorpus
from relic.records.tables import read_record, write_record

METRICS = ("BLEU-4", "CIDEr", "METEOR", "ROUGE-L")
CHARACTER_BLEU, RAW_CIDER = "BLEU-4 of characters", "CIDEr of untokenized text"
PTB, FALLBACK = "PTB", "NLTK Treebank"  # the COCO tools' tokenizer; ours where there is no Java
PTB_COMMAND = ["java", "-cp", ptbtokenizer.STANFORD_CORENLP_3_4_1_JAR]  # as the COCO tools call it
PTB_COMMAND += ["edu.stanford.nlp.process.PTBTokenizer", "-preserveLines", "-lowerCase"]
METEOR_COMMAND = ["java", "-jar", "-Xmx2G", coco_meteor.METEOR_JAR]  # likewise
METEOR_COMMAND += ["-", "-", "-stdio", "-l", "en", "-norm"]
TRY_JAVA = "java -version shows whether Java works"
RECORD = "accuracy"
VERSION = 1  # raised when a change here moves numbers
PUNCTUATION = {*ptbtokenizer.PUNCTUATIONS, "(", ")", "{", "}", "[", "]"}  # NLTK keeps brackets


@cache
def java_problem() -> str:
    """Why METEOR and the PTB tokenizer cannot run here; empty when they can."""
    try:
        subprocess.run(["java", "-version"], capture_output=True, timeout=60, check=True)
    except FileNotFoundError:
        return "no Java found"
    except (OSError, subprocess.SubprocessError) as error:
        return f"Java does not start: {error}"
    return ""


@lru_cache(maxsize=2)  # human captions serve every captioner: tokenized once
def tokenized(captions: tuple[str, ...], tokenizer: str) -> dict[str, str]:
    """Each distinct caption in lower case without punctuation, tokens joined by spaces.

    >>> tokenized(("A man's hat.",), "NLTK Treebank")
    {"A man's hat.": "a man 's hat"}
    """
    texts = list(dict.fromkeys(captions))
    if tokenizer == FALLBACK:
        lines = [" ".join(tokenize(text.lower())) for text in texts]
    else:  # a line a caption is what the tool reads: other line breaks would shift all that follows
        typed = "\n".join([*(" ".join(text.split()) for text in texts), "end"])
        where = Path(ptbtokenizer.__file__).parent
        how = {"input": typed, "capture_output": True, "encoding": "utf-8"}
        done = subprocess.run(PTB_COMMAND, cwd=where, **how)
        *lines, end = done.stdout.split("\n")[: len(texts) + 1]
        if end != "end":
            found = f"the PTB tokenizer gave no line a caption, of {len(texts):,}: "
            raise RelicError(found + done.stderr[-300:], mend=TRY_JAVA)
    words = [" ".join(t for t in line.split() if t not in PUNCTUATION) for line in lines]
    return dict(zip(texts, words, strict=True))


def bleu_counts(candidates: list[str], references: list[list[str]]) -> np.ndarray:
    """By image: matching n-grams (n = 1 to 4), all n-grams, length, closest reference length."""
    rows = []
    for candidate, texts in zip(candidates, references, strict=True):
        c = cook_test(candidate, cook_refs(texts), eff="closest")
        rows.append((*c["correct"], *c["guess"], c["testlen"], c["reflen"]))
    return np.array(rows, dtype=float)


def bleu4(counts: np.ndarray) -> np.ndarray:
    """BLEU-4 of summed counts, a row each: geometric mean of precisions times brevity penalty.

    >>> bleu4(np.array([[4, 3, 2, 1, 5, 4, 3, 2, 5, 5.0]])).round(3).tolist()
    [0.669]
    """
    correct, guess = counts[..., :4] + 1e-15, counts[..., 4:8] + 1e-9  # the COCO tools' guards
    ratio = (counts[..., 8] + 1e-15) / (counts[..., 9] + 1e-9)
    penalty = np.exp(np.minimum(0, 1 - 1 / ratio))
    return np.exp(np.log(correct / guess).mean(axis=-1)) * penalty


def character_bleu(candidates: Iterable[str], references: Iterable[list[str]]) -> np.ndarray:
    """NLTK's sentence BLEU on strings, so on characters, by image.

    >>> character_bleu(["a man on a bike"], [["a woman on a bus"]]).round(2).tolist()
    [0.63]
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # captions that share no four characters
        pairs = zip(candidates, references, strict=True)
        return np.array([sentence_bleu(texts, caption) for caption, texts in pairs], dtype=float)


def meteor_counts(candidates: list[str], references: list[list[str]]) -> np.ndarray:
    """METEOR's match counts of each image; their sum over images is all that the score depends on.

    When METEOR sums up, a caption that matches a reference wholly, in one piece, has no fragment.
    """
    pairs = zip(candidates, references, strict=True)
    counts = np.concatenate([_meteor("SCORE", *texts, caption) for caption, texts in pairs])
    whole = (counts[:, [0, 1]] == counts[:, [21, 22]]).all(axis=1)  # lengths, matched words
    counts[whole & (counts[:, 20] == 1), 20] = 0
    return counts


def meteor(counts: np.ndarray) -> np.ndarray:
    """METEOR of summed counts, a row each, by METEOR itself."""
    lines = [" ".join(map(repr, row)) for row in counts.tolist()]
    return _meteor("EVAL", *lines, answers=len(lines) + 1)[:-1, 0]  # the last: of all together


def _meteor(*parts: str, answers: int = 1) -> np.ndarray:
    """What METEOR answers, a row a line."""
    process = start_meteor()
    line = " ||| ".join(part.replace("|||", " ") for part in parts)
    try:
        process.stdin.write(f"{line}\n")
        process.stdin.flush()
        rows = [process.stdout.readline().split() for _ in range(answers)]
        if not all(rows):
            raise ValueError("no answer")
        return np.array(rows, dtype=float)
    except (OSError, ValueError) as error:
        expected = "Java 8 or newer with 2 GB of memory"
        found = "METEOR's Java process gave no score"
        raise RelicError(found, expected=expected, mend=TRY_JAVA) from error


@cache
def start_meteor() -> subprocess.Popen:
    """The METEOR process; it takes seconds to start, so one serves all captioners. It ends with us."""
    where, pipe = Path(coco_meteor.__file__).parent, subprocess.PIPE
    pipes = {"stdin": pipe, "stdout": pipe, "stderr": subprocess.DEVNULL, "encoding": "utf-8"}
    return subprocess.Popen(METEOR_COMMAND, cwd=where, **pipes)


def score_captions(
    candidates: pd.Series, references: pd.Series, draws: int, their_way: bool = True
) -> pd.DataFrame:
    """Scores of captions by image id against lists of human captions, with intervals.

    The PTB tokenizer and METEOR only where there is Java. `their_way`: also as Türk et al. computed
    BLEU and CIDEr.
    """
    tokenizer = FALLBACK if java_problem() else PTB
    raw, humans = candidates.tolist(), references.loc[candidates.index].tolist()
    words = tokenized(tuple(text for five in humans for text in five), tokenizer)
    words = words | tokenized(tuple(raw), tokenizer)
    texts, refs = [words[c] for c in raw], [[words[h] for h in five] for five in humans]

    def mean(totals: np.ndarray) -> np.ndarray:
        return totals / len(raw)

    def by_image(metric, references: list[list[str]], captions: list[str]) -> np.ndarray:
        pairs = dict(enumerate(references)), {i: [text] for i, text in enumerate(captions)}
        return np.asarray(metric.compute_score(*pairs)[1], dtype=float)

    # of each metric: how it scores sums over images, and what is summed
    measured = {"BLEU-4": (bleu4, bleu_counts(texts, refs))}
    measured["CIDEr"] = mean, by_image(Cider(), refs, texts)
    if tokenizer == PTB:
        measured["METEOR"] = meteor, meteor_counts(texts, refs)
    measured["ROUGE-L"] = mean, by_image(Rouge(), refs, texts)
    if their_way:
        measured[CHARACTER_BLEU] = mean, character_bleu(raw, humans)
        measured[RAW_CIDER] = mean, by_image(Cider(), humans, raw)
    rows, weights = [], image_draws(len(raw), draws).astype(float)
    for metric, (score, counts) in measured.items():
        name = tokenizer if metric in METRICS else "none"
        rows.append((metric, name, *interval(100 * score(weights @ counts))))
    frame = pd.DataFrame(rows, columns=["metric", "tokenizer", "value", "low", "high"])
    return frame.assign(n=len(raw), draws=draws)


def references_of(corpus: Corpus) -> pd.Series:
    """The human captions of each image that has as many as any, as lists: scores grow with them."""
    captions = corpus.human[corpus.human["image_id"].isin(corpus.deepest)]
    return captions.groupby("image_id")["caption"].agg(list)


def accuracy(
    corpus: AnyCorpus, sets: list[tuple[str, str]] | None = None, *, draws: int = 1000, keep=False
) -> pd.DataFrame:
    """Scores on the images with as many human captions as any: a row a captioner and metric.

    `sets`: captioners by key with a caption set; by default every captioner's standard one and NIC's
    second, `th10`. What `results/` has recorded of the same captions is not computed again; where they
    are not here, it is all there is. `keep`: record each captioner as it is done.
    """
    recorded = read_record(RECORD)
    if not isinstance(corpus, Corpus):
        return _named(recorded[recorded["corpus"] == corpus.name])
    if sets is None:
        sets = [(name, "standard") for name in corpus.captioners]
        sets += [("nic", "th10")] if "th10" in corpus.caption_sets("nic") else []
    references, frames = references_of(corpus), []
    for captioner, caption_set in sets:
        captions = corpus.captions(captioner, caption_set)
        captions = captions[captions.index.isin(references.index)].sort_index()
        mark = _mark(captions, references, draws)
        rows = recorded[recorded["fingerprint"] == mark]
        if not set(METRICS) <= set(rows["metric"]):  # also: recorded without Java
            rows = score_captions(captions, references, draws)
            rows = rows.assign(corpus=corpus.name, attribute=corpus.attribute.name)
            rows = rows.assign(captioner=captioner, caption_set=caption_set, fingerprint=mark)
            if keep:
                write_record(RECORD, f"{captioner}_{caption_set}".removesuffix("_standard"), rows)
            rows = rows.assign(source=OWN)
        frames.append(rows)
    return _named(pd.concat(frames, ignore_index=True))


def record() -> None:
    """Record the real captions' scores, gender images; goes on where it stopped."""
    accuracy(load_corpus("gender", "real"), keep=True)


def _named(scores: pd.DataFrame) -> pd.DataFrame:
    """With the captioners' names, in the papers' order; another caption set is named."""
    names = display_names()
    keys = pd.Categorical(scores["captioner"], list(names), ordered=True)
    scores = scores.assign(captioner=keys).sort_values(["captioner", "caption_set"])
    sets = (" (" + scores["caption_set"] + ")").replace(" (standard)", "")
    scores = scores.assign(captioner=scores["captioner"].astype(str).map(names) + sets)
    return scores.reset_index(drop=True)


def _mark(captions: pd.Series, references: pd.Series, draws: int) -> str:
    """Of what the scores are computed from."""
    rows = ["\x1f".join([str(i), caption, *references.loc[i]]) for i, caption in captions.items()]
    text = "\x1e".join([f"{VERSION} {draws} 0", *rows])  # 0: the seed of the draws
    return hashlib.sha256(text.encode()).hexdigest()[:16]
