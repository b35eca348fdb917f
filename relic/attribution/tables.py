"""Tables and sentences on attributions: scores by class, words, steps. Tidy frames in and out."""

import numpy as np
import pandas as pd
from scipy import stats

from relic import paths
from relic.attribution.gradients import REFERENCE
from relic.attribution.runs import Attributed, read_recorded, score_row, word_rows
from relic.claims import SYMBOLS, UNDECIDED, judge
from relic.data.corpus import Corpus
from relic.data.upstream import captioner_files
from relic.errors import RelicError
from relic.planted.process import channel
from relic.report import span
from relic.stats import Estimate, estimate, holm

CLASSIFIER_NAMES = {"lstm": "LSTM", "bert-ft": "BERT-ft"}
BRIEF = {"lstm": "1e-3x4", "bert-ft": "1e-4x3"}  # recipes that learn a small set in seconds
PAIR = {True: ["planted_none", "planted_lot"], False: ["nic_plus", "nic_equalizer"]}
REAL_NAMES = {key: files["name"] for key, files in captioner_files().items()}
FEWEST_WORDS = 5  # for a rank correlation
TELLING = 0.95  # coverage of every interval


def two_captioners(corpus: Corpus, asked: list[str]) -> list[str]:
    """Captioners to compare: those asked for, or NIC+ and NIC+Equalizer (planted: gain 0 and 1.5)."""
    wanted = asked or PAIR[corpus.synthetic]
    unknown = [name for name in wanted if name not in corpus.captioners]
    if unknown or len(wanted) < 2:
        raise RelicError(
            f"captioners {wanted}", expected=f"two or more of {', '.join(corpus.captioners)}"
        )
    return wanted


def score_table(scores: pd.DataFrame, corpus: Corpus, of: str) -> pd.DataFrame:
    """Attribution scores by class, mean ± standard deviation over runs, beside the published.

    With one run of a kind, ± is left out: it would be no spread over runs.
    """
    one, zero = corpus.attribute.classes[1], corpus.attribute.classes[0]
    keys = ["classifier", "side", "captioner"]
    rows = []
    for key, part in scores[scores["of"] == of].groupby(keys, sort=False):
        classifier, side, captioner = key
        rows.append(
            {
                "classifier": CLASSIFIER_NAMES[classifier],
                "captions": _whose(corpus, side, captioner),
                "runs": len(part),
                "correct captions a run": float((part["n_class0"] + part["n_class1"]).mean()),
                one: part["class1"].mean(),
                zero: part["class0"].mean(),
                "sum": part["sum"].mean(),
                "sum, std over runs": part["sum"].std(),
                "words a caption": part["words"].mean(),
                "for padding": part["mean_baseline"].mean(),
            }
        )
    return pd.DataFrame(rows)


def published_table() -> pd.DataFrame:
    """Türk et al.'s tables 4 and 8, and what is recorded here for the same, by captioner."""
    papers = pd.read_csv(paths.PUBLISHED / "attribution.csv")
    ours = read_recorded("scores")
    rows = []
    for row in papers.to_dict("records"):
        told = {
            "classifier": row["classifier"],
            "captioner": row["captioner"],
            "Türk Female": row["female"],
            "Türk Male": row["male"],
            "Türk sum": row["sum"],
        }
        same = _like(ours, row)
        rows.append(
            told
            | {
                "ours Female": same["class1"].mean() if len(same) else np.nan,
                "ours Male": same["class0"].mean() if len(same) else np.nan,
                "ours sum": same["sum"].mean() if len(same) else np.nan,
                "seeds": len(same),
                "encoder": ", ".join(sorted({*same["encoder"]} - {""})) if len(same) else "",
            }
        )
    return pd.DataFrame(rows)


def _like(scores: pd.DataFrame, row: dict) -> pd.DataFrame:
    """Recorded runs that measure what a published row does: upstream splits, all images."""
    if scores.empty:
        return scores
    kept = scores[
        (scores["captioner"].map(REAL_NAMES) == row["captioner"])
        & (scores["classifier"].map(CLASSIFIER_NAMES) == row["classifier"])
        & (scores["side"] == "model") & (scores["split"] == "upstream")
        & (scores["of"] == "probability") & (scores["size"] == 0) & (scores["labels"] == "true")
    ]  # fmt: skip
    return kept.sort_values("steps").drop_duplicates("key", keep="last")


def published_summary(table: pd.DataFrame, scores: pd.DataFrame | None = None) -> str:
    """Does the Equalizer get the larger sum, in the paper and by our rule in what is recorded here?"""
    scores, lines = read_recorded("scores") if scores is None else scores, []
    for classifier, part in table.groupby("classifier", sort=False):
        pair, sums = ("NIC+", "NIC+Equalizer"), part.set_index("captioner")["Türk sum"]
        plus, equalizer = (_by_seed(scores, classifier, name) for name in pair)
        found = estimate((equalizer - plus).dropna())
        ours = f"by our runs **{SYMBOLS[UNDECIDED]} {UNDECIDED}**: not recorded for both"
        if found.n:
            verdict = judge(found.interval(), 0)
            seeds = f"{found.n} seed{'s' if found.n > 1 else ', so no interval'}"
            ours = f"ours {span(found, 2)} ({seeds}): **{SYMBOLS[verdict]} {verdict}**"
        theirs = f"{sums[pair[0]]:.2f} and {sums[pair[1]]:.2f} in Türk et al."
        lines.append(f"- {classifier}, NIC+ and NIC+Equalizer: {theirs}; the difference, {ours}.")
    return "\n".join(lines)


def _by_seed(scores: pd.DataFrame, classifier: str, captioner: str) -> pd.Series:
    same = _like(scores, {"classifier": classifier, "captioner": captioner})
    return same.set_index("seed")["sum"] if len(same) else pd.Series(dtype=float)


def words(done: list[Attributed], of: str) -> pd.DataFrame:
    """Words of several runs, runs that differ only in their seed pooled, with 95 % intervals."""
    rows = pd.concat([word_rows(each) for each in done if each.of == of], ignore_index=True)
    return pool_words(rows)


def pool_words(rows: pd.DataFrame) -> pd.DataFrame:
    """Words by set of captions with an interval.

    Of one run, over different captions: what another training would give is not in it. Of several seeds, over
    the runs' means, corrected as every interval over splits: split and training are in it.
    """
    found = []
    for key, part in rows.groupby(["classifier", "side", "captioner", "word"], sort=False):
        each, n = part.iloc[0], int(part["captions_with"].sum())
        one = Estimate(each["mean"], each["se"], int(each["different"]) - 1, 1)
        mean, se, free, _ = told = estimate(part["mean"]) if len(part) > 1 else one
        _, low, high = told.interval(TELLING)
        sure = max(low, -high, 0.0)  # the end of the interval nearer to zero
        found.append((*key, len(part), n, free, mean, se, low, high, sure, part["share"].mean()))
    columns = ["classifier", "side", "captioner", "word", "runs", "n", "free", "mean", "se", "low", "high", "sure", "share"]  # fmt: skip
    frame = pd.DataFrame(found, columns=columns)
    most = frame.groupby(["classifier", "side", "captioner"])["runs"].transform("max")
    return frame[frame["runs"] == most]  # a word that some runs lack would be told by fewer seeds


def recorded_words(classifier: str, split: str = "upstream") -> pd.DataFrame:
    """Words of the recorded runs on all real images, pooled over seeds; of the logit."""
    runs, rows = read_recorded("scores"), read_recorded("words")
    if runs.empty:
        return pd.DataFrame()
    kept = runs[(runs["classifier"] == classifier) & (runs["split"] == split) & (runs["size"] == 0)]
    rows = rows[rows["key"].isin(kept["key"]) & (rows["of"] == "logit")]
    return pool_words(rows) if len(rows) else pd.DataFrame()


def carriers(pooled: pd.DataFrame, corpus: Corpus, classifier: str, captioner: str, top: int = 12) -> pd.DataFrame:  # fmt: skip
    """The surest strong words in a captioner's captions, and the same words in human captions.

    Ranked by the end of the interval nearer to zero; the mask word is left out.
    """
    mine = pooled[(pooled["classifier"] == classifier) & (pooled["captioner"] == captioner)]
    model, human = (mine[mine["side"] == side] for side in ("model", "human"))
    kept = model[~model["word"].isin([corpus.attribute.mask_token, "[MASK]"])]
    kept = kept.nlargest(top, ["sure", "share"])["word"]
    both = [part[part["word"].isin(kept)] for part in (model, human) if len(part)]
    frame = pd.concat(both, ignore_index=True)
    place = {word: i for i, word in enumerate(kept)}
    return frame.sort_values(["word", "side"], key=lambda c: c.map(place) if c.name == "word" else c)  # fmt: skip


def differences(pooled: pd.DataFrame, classifier: str, first: str, second: str) -> pd.DataFrame:
    """Words that two captioners both use: difference of mean attributions, second less first.

    Welch's interval; `p` is Holm's over all words compared, so that the largest of many is no surprise.
    """
    mine = pooled[(pooled["classifier"] == classifier) & (pooled["side"] == "model")]
    a, b = (mine[mine["captioner"] == name].set_index("word") for name in (first, second))
    both = a.add_suffix("_a").join(b.add_suffix("_b"), how="inner")
    if both.empty:
        return pd.DataFrame(columns=["word", "n_a", "mean_a", "n_b", "mean_b", "difference", "low", "high", "p"])  # fmt: skip
    squares = both["se_a"] ** 2 + both["se_b"] ** 2
    free = squares**2 / (both["se_a"] ** 4 / both["free_a"] + both["se_b"] ** 4 / both["free_b"])
    gap, se = both["mean_b"] - both["mean_a"], np.sqrt(squares)
    half = se * stats.t.ppf((1 + TELLING) / 2, free)
    raw = 2 * stats.t.sf((gap / se).abs(), free)
    frame = both[["n_a", "mean_a", "n_b", "mean_b"]].assign(
        difference=gap, low=gap - half, high=gap + half, p=holm(raw)
    )
    return frame.sort_values("difference", key=abs, ascending=False).reset_index()


def steps_table(scores: pd.DataFrame) -> pd.DataFrame:
    """Agreement with 500 steps and completeness, a row a classifier and output."""
    rows = []
    for (classifier, of, steps), part in scores.groupby(["classifier", "of", "steps"], sort=False):
        checked = part[part["n_checked"] > 0]
        n = checked["n_checked"].sum()
        size = (checked["mean_reference"] * checked["n_checked"]).sum() / n if n else np.nan
        rows.append(
            {
                "classifier": CLASSIFIER_NAMES[classifier],
                "of": of,
                "steps": steps,
                "captions checked": int(n),
                f"mean |score|, {REFERENCE} steps": size,
                "mean difference (%)": 100 * _mean(checked, "mean_apart") / size if n else np.nan,
                "largest difference (%)": 100 * checked["max_apart"].max() / size if n else np.nan,
                "largest |delta|": part["max_delta"].max(),
            }
        )
    return pd.DataFrame(rows)


def _mean(scores: pd.DataFrame, column: str) -> float:
    return float((scores[column] * scores["n_checked"]).sum() / scores["n_checked"].sum())


def planted_agreement(pooled: pd.DataFrame, corpus: Corpus, classifier: str, captioner: str) -> tuple[float, float, int]:  # fmt: skip
    """Rank correlation of word attributions with the planted log-odds: (rho, p, words)."""
    mine = pooled[
        (pooled["classifier"] == classifier)
        & (pooled["side"] == "model")
        & (pooled["captioner"] == captioner)
    ].set_index("word")["mean"]
    truth = planted_log_odds(corpus, captioner).reindex(mine.index).dropna()
    if len(truth) < FEWEST_WORDS:
        return np.nan, np.nan, len(truth)
    found = stats.spearmanr(mine.loc[truth.index], truth)
    return float(found.statistic), float(found.pvalue), len(truth)


def planted_log_odds(corpus: Corpus, captioner: str) -> pd.Series:
    """log P(word | class 1) / P(word | class 0) of the words of the planted channel; exact.

    Of the embedded corpus only: nobody knows it for real captions.
    """
    said: dict[str, np.ndarray] = {}
    known = set(corpus.vocabularies[captioner])
    gain = corpus.planted[captioner].gain
    for phrases, probabilities in channel(corpus.attribute.name).outcomes(gain):
        for word in {w for phrase in phrases for w in phrase.split()} & known:
            said[word] = said.get(word, np.zeros(2)) + probabilities
    return pd.Series({word: np.log(both[1] / both[0]) for word, both in said.items()}, dtype=float)


def scores(done: list[Attributed]) -> pd.DataFrame:
    """A row a run and output."""
    return pd.DataFrame([score_row(each) for each in done])


def _whose(corpus: Corpus, side: str, captioner: str) -> str:
    name = corpus.display_names.get(captioner, captioner)
    return name if side == "model" else f"Human, words of {name}"
