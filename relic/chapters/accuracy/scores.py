"""How well captions describe their images: the COCO metrics, with intervals over images.

All scores are those of `pycocoevalcap` with its PTB tokenizer, times 100. The intervals resample images:

- BLEU-4 is a corpus score: n-gram counts and lengths are summed over the drawn images, then scored.
- METEOR is a corpus score too: its match counts are summed, and METEOR itself scores the sums.
- CIDEr is a mean over images; word weights (idf) stay those of all images.
- ROUGE-L is a mean over images.
"""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from pycocoevalcap.bleu.bleu_scorer import BleuScorer
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.meteor import meteor as coco_meteor
from pycocoevalcap.rouge.rouge import Rouge
from pycocoevalcap.tokenizer import ptbtokenizer

from relic.chapters.accuracy.turk import CHARACTER_BLEU, RAW_CIDER, character_bleu
from relic.chapters.resample import image_draws, interval
from relic.data.captioners import display_names, in_order
from relic.data.corpus import Corpus
from relic.errors import RelicError
from relic.measure.text import tokenize
from relic.records.runs import OWN
from relic.records.serve import AnyCorpus
from relic.records.tables import read_record, write_record

METRICS = ("BLEU-4", "CIDEr", "METEOR", "ROUGE-L")
PTB, FALLBACK = "PTB", "NLTK Treebank"  # the COCO tools' tokenizer; ours where there is no Java
RECORD = "accuracy"
VERSION = 1  # raised when a change here moves numbers
PUNCTUATION = {*ptbtokenizer.PUNCTUATIONS, "(", ")", "{", "}", "[", "]"}  # NLTK keeps brackets


@cache
def java_problem() -> str:
    """Why METEOR and the PTB tokenizer cannot run here; empty when they can."""
    if shutil.which("java") is None:
        return "no Java found"
    try:
        done = subprocess.run(["java", "-version"], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return f"Java does not start: {error}"
    if done.returncode:
        return f"Java does not start: exit status {done.returncode}"
    home = Path(ptbtokenizer.__file__).parent
    if not os.access(home, os.W_OK):  # pycocoevalcap keeps its temporary file there
        return f"the PTB tokenizer cannot write to {home}"
    return ""


def tokenized(captions: Iterable[str], tokenizer: str) -> dict[str, str]:
    """Each distinct caption in lower case without punctuation, tokens joined by spaces.

    >>> tokenized(["A man's hat."], "NLTK Treebank")
    {"A man's hat.": "a man 's hat"}
    """
    texts = list(dict.fromkeys(captions))
    if tokenizer == FALLBACK:
        return {
            text: " ".join(t for t in tokenize(text.lower()) if t not in PUNCTUATION)
            for text in texts
        }
    # One line a caption is what the tool reads: other line breaks would shift all that follows.
    lines = {i: [{"caption": " ".join(text.split())}] for i, text in enumerate(texts)}
    lines[len(texts)] = [{"caption": "end"}]
    found = ptbtokenizer.PTBTokenizer().tokenize(lines)
    if found.get(len(texts)) != ["end"]:
        raise RelicError(
            f"the PTB tokenizer gave {len(found):,} lines for {len(lines):,} captions",
            expected="a line a caption",
            mend="java -version shows whether Java works",
        )
    return {text: found[i][0] for i, text in enumerate(texts)}


def bleu_counts(candidates: list[str], references: list[list[str]]) -> np.ndarray:
    """By image: matching n-grams (n = 1 to 4), all n-grams, length, closest reference length."""
    scorer = BleuScorer(n=4)
    for candidate, texts in zip(candidates, references, strict=True):
        scorer += (candidate, texts)
    rows = []
    for c in scorer.ctest:
        closest = min((abs(length - c["testlen"]), length) for length in c["reflen"])[1]
        rows.append((*c["correct"], *c["guess"], c["testlen"], closest))
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


class MeteorScorer(coco_meteor.Meteor):
    """METEOR 1.5 as the COCO tools run it, with its match counts kept by image."""

    def counts(self, candidates: list[str], references: list[list[str]]) -> np.ndarray:
        """Match counts of each image; their sum over images is all that the score depends on.

        When METEOR sums up, a caption that matches a reference wholly, in one piece, has no fragment.
        """
        lines = []
        for candidate, texts in zip(candidates, references, strict=True):
            texts = [text.replace("|||", " ") for text in (*texts, candidate)]  # its separator
            lines.append(" ||| ".join(["SCORE", *texts]))
        counts = self._ask(lines, answers=1)
        whole = (counts[:, [0, 1]] == counts[:, [21, 22]]).all(axis=1)  # lengths, matched words
        counts[whole & (counts[:, 20] == 1), 20] = 0
        return counts

    def scores(self, summed: np.ndarray) -> np.ndarray:
        """The corpus score of summed counts, a row each, by METEOR itself."""
        lines = [" ".join(["EVAL |||", *map(repr, map(float, row))]) for row in summed]
        return self._ask(lines, answers=2)[1::2, 0]  # of the one line, of all lines: the same

    def __del__(self):
        """End the process; unlike the base class also where it never started or has died."""
        process = getattr(self, "meteor_p", None)
        if process is not None:
            process.kill()
            process.wait()

    def _ask(self, lines: list[str], answers: int) -> np.ndarray:
        """Numbers that METEOR answers. Few lines at a time: their answers fit the pipe (64 kB)."""
        found = []
        try:
            for at in range(0, len(lines), 40):
                some = lines[at : at + 40]
                self.meteor_p.stdin.write("".join(f"{line}\n" for line in some).encode())
                self.meteor_p.stdin.flush()
                found += [self.meteor_p.stdout.readline() for _ in range(answers * len(some))]
            if not all(line.strip() for line in found):
                raise _meteor_died()
            return np.array([[float(x) for x in line.split()] for line in found])
        except (OSError, ValueError) as error:
            raise _meteor_died() from error


def _meteor_died() -> RelicError:
    return RelicError(
        "METEOR's Java process gave no score",
        expected="Java 8 or newer with 2 GB of memory",
        mend="java -version shows whether Java works",
    )


@cache
def start_meteor() -> MeteorScorer:
    """The METEOR process; it takes seconds to start, so one serves all captioners."""
    try:
        return MeteorScorer()
    except OSError as error:
        raise _meteor_died() from error


def score_captions(
    candidates: pd.Series, references: pd.Series, draws: np.ndarray, tokenizer: str, their_way=True
) -> pd.DataFrame:
    """Scores of captions by image id against lists of human captions, with intervals.

    `draws`: see `image_draws`, a column each candidate. METEOR only with the PTB tokenizer.
    `their_way`: also as Türk et al. computed BLEU and CIDEr.
    """
    raw, humans = candidates.tolist(), references.loc[candidates.index].tolist()
    words = {**tokenized(raw, tokenizer), **_human_tokens(tuple(map(tuple, humans)), tokenizer)}
    texts, refs = [words[c] for c in raw], [[words[h] for h in five] for five in humans]
    found = {"BLEU-4": _corpus_score(bleu4, bleu_counts(texts, refs), draws)}
    gts, res = dict(enumerate(refs)), {i: [text] for i, text in enumerate(texts)}
    for name, metric in (("CIDEr", Cider()), ("ROUGE-L", Rouge())):
        found[name] = _mean_score(metric.compute_score(gts, res)[1], draws)
    if tokenizer == PTB:
        meteor = start_meteor()
        found["METEOR"] = _corpus_score(meteor.scores, meteor.counts(texts, refs), draws)
    rows = [(name, tokenizer, *found[name]) for name in METRICS if name in found]
    if their_way:
        theirs = Cider().compute_score(dict(enumerate(humans)), {i: [c] for i, c in enumerate(raw)})
        rows.append((CHARACTER_BLEU, "none", *_mean_score(character_bleu(raw, humans), draws)))
        rows.append((RAW_CIDER, "none", *_mean_score(theirs[1], draws)))
    frame = pd.DataFrame(rows, columns=["metric", "tokenizer", "value", "low", "high"])
    return frame.assign(n=len(raw), draws=len(draws))


@lru_cache(maxsize=2)
def _human_tokens(humans: tuple[tuple[str, ...], ...], tokenizer: str) -> dict[str, str]:
    """Human captions serve every captioner: tokenized once."""
    return tokenized((text for five in humans for text in five), tokenizer)


def _mean_score(scores: np.ndarray, draws: np.ndarray) -> tuple[float, float, float]:
    scores = 100 * np.asarray(scores, dtype=float)
    return float(scores.mean()), *interval(draws @ scores / draws.sum(axis=1))


def _corpus_score(score, counts: np.ndarray, draws: np.ndarray) -> tuple[float, float, float]:
    whole = float(score(counts.sum(axis=0, keepdims=True))[0])
    return 100 * whole, *interval(100 * score(draws.astype(float) @ counts))


def references_of(corpus: Corpus) -> pd.Series:
    """The human captions of each image that has as many as any, as lists: scores grow with them."""
    if corpus.human.empty:
        raise RelicError(
            f"{corpus.name}, {corpus.attribute.name}: no human captions to compare with",
            mend="relic data check DIR tells which file is missing",
        )
    kept = corpus.human[corpus.human["image_id"].isin(corpus.deepest)]
    return kept.groupby("image_id")["caption"].agg(list)


def accuracy(
    corpus: AnyCorpus, sets: Iterable[tuple[str, str]] = (), *, draws: int = 1000, record=False
) -> pd.DataFrame:
    """Scores of each captioner on the images with as many human captions as any, a row a metric.

    What `results/` has recorded of the same captions is not computed again; where the captions are not
    here, it is all there is. `sets`: captioner and caption set, by default every standard one and NIC's
    `th10`. `record`: keep each captioner as it is done.
    """
    known = read_record(RECORD)
    if not isinstance(corpus, Corpus):
        return _named(known)
    if not sets:
        sets = [(name, "standard") for name in corpus.captioners]
        sets += [("nic", "th10")] if "th10" in corpus.caption_sets("nic") else []
    references, frames = references_of(corpus), []
    for captioner, caption_set in sets:
        captions = corpus.captions(captioner, caption_set)
        captions = captions[captions.index.isin(references.index)].sort_index()
        mark = _mark(captions, references, draws)
        rows = known[known["fingerprint"] == mark] if len(known) else known
        if rows.empty or not set(METRICS) <= set(rows["metric"]):  # recorded without Java
            table = image_draws(len(captions), draws)
            rows = score_captions(captions, references, table, FALLBACK if java_problem() else PTB)
            about = (corpus.name, corpus.attribute.name, captioner, caption_set, mark)
            rows[["corpus", "attribute", "captioner", "caption_set", "fingerprint"]] = about
            if record:
                part = captioner if caption_set == "standard" else f"{captioner}_{caption_set}"
                write_record(RECORD, part, rows)
            rows = rows.assign(source=OWN)
        frames.append(rows)
    return _named(pd.concat(frames, ignore_index=True))


def _named(scores: pd.DataFrame) -> pd.DataFrame:
    """With the captioners' names, in the papers' order; another caption set is named."""
    names, plain = scores["captioner"].map(display_names()), scores["caption_set"] == "standard"
    order = {name: number for number, name in enumerate(in_order(names))}
    scores = scores.assign(
        captioner=names.where(plain, names + " (" + scores["caption_set"] + ")"),
        order=names.map(order) + 0.5 * ~plain,
    )
    return scores.sort_values("order", kind="stable", ignore_index=True).drop(columns="order")


def _mark(captions: pd.Series, references: pd.Series, draws: int, seed: int = 0) -> str:
    """Of what the scores are computed from."""
    rows = [f"{VERSION} {draws} {seed}"]
    for image, caption in captions.items():
        rows.append("\x1f".join([str(image), caption, *references.loc[image]]))
    return hashlib.sha256("\x1e".join(rows).encode()).hexdigest()[:16]


def main() -> None:
    """Record the real captions' scores, gender images: python -m relic.chapters.accuracy.scores. Resumes."""
    from relic.data.load import load_corpus

    accuracy(load_corpus("gender", "real"), record=True)


if __name__ == "__main__":
    main()
