"""Tables and sentences of `54_accuracy`: accuracy by captioner, against LIC, and beside Türk's figures."""

import numpy as np
import pandas as pd
from scipy import stats

from relic import paths, records
from relic.accuracy.scores import (
    FALLBACK,
    METRICS,
    RECORD,
    accuracy,
    bleu4,
    bleu_counts,
    java_problem,
    tokenized,
    tool_line,
)
from relic.accuracy.turk import CHARACTER_BLEU, RAW_CIDER, character_bleu
from relic.data.corpus import Corpus
from relic.data.upstream import captioner_files
from relic.errors import RelicError
from relic.evidence import select
from relic.results import RECORDED, lic_table
from relic.stats import rank_correlation

THEIR_WAY = {"BLEU-4": CHARACTER_BLEU, "CIDEr": RAW_CIDER}
EXAMPLES = (  # written for this page
    ("a man riding a wave on a surfboard", "A man riding a wave on his surfboard."),
    ("a man riding a wave on a surfboard", "A woman is cutting a cake in the kitchen."),
)


def book_accuracy(corpus: Corpus, *, draws: int = 1000, again: bool = False) -> pd.DataFrame:
    """Recorded scores of the real captions, and this build's of `corpus`; told apart by `source`.

    The real captions are scored again where `again` is set or the record is of other captions.
    """
    known = recorded_accuracy()
    sets = [(name, "standard") for name in corpus.captioners]
    if not corpus.synthetic and corpus.attribute.name == "gender":
        sets += [("nic", "th10")] if "nic" in corpus.captioners else []
    built = accuracy(corpus, sets=sets, draws=draws, recorded=None if again else known)
    kept = known[~known["name"].isin(built["name"])] if len(known) else known
    frames = (kept, built) if corpus.synthetic else (built, kept)  # real captions first
    return pd.concat([frame for frame in frames if len(frame)], ignore_index=True)


def recorded_accuracy() -> pd.DataFrame:
    """Recorded scores with the captioners' names, in the papers' order."""
    known = records.read_record(RECORD)
    if known.empty:
        return known
    names = {key: files["name"] for key, files in captioner_files().items()}
    plain = known["caption_set"] == "standard"
    shown = known["captioner"].map(names)
    known["name"] = shown.where(plain, shown + " (" + known["caption_set"] + ")")
    order = known["captioner"].map({key: i for i, key in enumerate(names)})
    return known.iloc[np.lexsort([~plain, order])].reset_index(drop=True)


def shown_accuracy(frame: pd.DataFrame) -> pd.DataFrame:
    """One row a captioner, a metric a column, with its interval; to be read, not computed with."""
    rows = []
    for (name, source, corpus), part in frame.groupby(["name", "source", "corpus"], sort=False):
        cells = {row.metric: _cell(row.value, row.low, row.high) for row in part.itertuples()}
        shown = {metric: cells.get(metric, "–") for metric in METRICS}
        rows.append({"captioner": name, **shown, "images": int(part["n"].iloc[0]),
                     "captions": corpus, "source": source})  # fmt: skip
    return pd.DataFrame(rows)


def tidy_accuracy(frame: pd.DataFrame) -> pd.DataFrame:
    """The same as numbers, one row a score."""
    columns = ["name", "metric", "tokenizer", "value", "low", "high", "n", "draws", "corpus", "source"]  # fmt: skip
    return frame[columns].rename(columns={"name": "captioner", "corpus": "captions"})


def _cell(value: float, low: float, high: float) -> str:
    return f"{value:.1f} [{low:.1f},\u00a0{high:.1f}]"  # breaks before the bracket only


def against_bias(frame: pd.DataFrame, runs: pd.DataFrame, attribute: str, classifier: str):
    """Accuracy of the real captions beside their LIC: recorded runs, paired splits."""
    kept = select(runs, source=RECORDED, attribute=attribute, classifier=classifier)
    real = frame[~frame["corpus"].str.contains("synthetic") & (frame["caption_set"] == "standard")]
    if kept.empty or real.empty:
        return pd.DataFrame()
    lic = lic_table(kept)[["captioner", "LIC", "std over seeds", "seeds"]]
    return real.merge(lic, on="captioner", how="inner")


def rank_correlations(pairs: pd.DataFrame) -> pd.DataFrame:
    """Spearman's ρ between each metric and LIC over captioners, with interval and p-value."""
    rows = []
    for metric in METRICS:
        part = pairs[pairs["metric"] == metric]
        if len(part) < 5:
            continue
        found = rank_correlation(part["value"], part["LIC"])
        p = float(stats.spearmanr(part["value"], part["LIC"]).pvalue)
        rows.append((metric, *(found[name] for name in ("n", "rho", "low", "high")), p))
    return pd.DataFrame(rows, columns=["metric", "captioners", "ρ", "low", "high", "p"])


def turk_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Türk et al.'s figures, theirs computed again on our images, and the COCO tools' scores.

    They read the `th10` captions of NIC (the other file's scores lie further from theirs).
    """
    theirs = pd.read_csv(paths.PUBLISHED / "accuracy.csv")
    real = frame[~frame["corpus"].str.contains("synthetic")].set_index(["name", "metric"])
    rows = []
    for row in theirs.itertuples():
        name = "NIC (th10)" if row.captioner == "NIC" else row.captioner
        ours, again = (name, row.metric), (name, THEIR_WAY.get(row.metric, ""))
        rows.append(
            {
                "captioner": name,
                "metric": row.metric,
                "Türk et al.": row.value,
                "their way, our images": real["value"].get(again, np.nan),
                "COCO tools, our images": real["value"].get(ours, np.nan),
                "low": real["low"].get(ours, np.nan),
                "high": real["high"].get(ours, np.nan),
                "images": real["n"].get(ours, np.nan),
            }
        )
    return pd.DataFrame(rows).astype({"images": "Int64"})


def turk_summary(table: pd.DataFrame) -> str:
    """What separates their figures from the COCO metrics, in numbers."""
    lines = []
    for metric, why in (
        ("BLEU-4", "NLTK was given strings, so it compared characters"),
        ("CIDEr", "the text was neither tokenized nor put in lower case"),
    ):
        part = table[table["metric"] == metric].dropna()
        if part.empty:
            continue
        again = (part["their way, our images"] - part["Türk et al."]).abs()
        gap = part["Türk et al."] - part["COCO tools, our images"]
        lines.append(
            f"- **{metric}**: {why}. Done their way, our images give their figures to within {again.max():.1f} points "
            f"({len(part)} captioners); the COCO tools' {metric} lies {_side(gap)} theirs."
        )
    lines.append(
        "- **METEOR** and **ROUGE-L**: theirs are NLTK's METEOR, again on characters, and the `rouge` package's F-score; "
        "we did not repeat them (NLTK's METEOR needs a download)."
    )
    return "\n".join(lines)


def _side(gap: pd.Series) -> str:
    low, high = sorted((gap.abs().min(), gap.abs().max()))
    where = "below" if (gap > 0).all() else "above" if (gap < 0).all() else "off"
    return f"{low:.1f} to {high:.1f} points {where}"


def example_table() -> pd.DataFrame:
    """BLEU-4 of two pairs of sentences, by words and by characters."""
    rows = []
    for caption, reference in EXAMPLES:
        words = tokenized([caption, reference], FALLBACK)
        by_words = bleu4(bleu_counts([words[caption]], [[words[reference]]]))[0]
        by_letters = character_bleu([caption], [[reference]])[0]
        rows.append((caption, reference, 100 * float(by_words), 100 * float(by_letters)))
    return pd.DataFrame(
        rows, columns=["caption", "reference", "BLEU-4, words", "BLEU-4, characters"]
    )


def told(frame: pd.DataFrame) -> str:
    """Which captions a table rests on, as its caption begins."""
    names = list(dict.fromkeys(frame["corpus"]))
    text = " and ".join(names)
    return text[0].upper() + text[1:]


def summary(pairs: pd.DataFrame, metric: str, attribute: str, classifier: str) -> str:
    """The answer: does accuracy go with bias?"""
    if metric not in METRICS:
        raise RelicError(f"metric {metric!r}", expected=f"one of {', '.join(METRICS)}")
    if pairs.empty:
        lines = [
            f"No recorded {attribute} LIC of the {classifier} classifier to set accuracy against."
        ]
    else:
        rho = rank_correlations(pairs).set_index("metric").loc[metric]
        one = pairs[pairs["metric"] == metric].sort_values("value")
        worst, best = one.iloc[0], one.iloc[-1]
        clear = rho["low"] > 0 or rho["high"] < 0
        verdict = (
            f"**Yes: the {'more' if rho['ρ'] > 0 else 'less'} accurate captioners amplify more.**"
            if clear
            else f"**Undecided: {len(one)} captioners cannot tell.**"
        )
        lines = [
            f"{verdict} Rank correlation of {metric} with {attribute} LIC over {int(rho['captioners'])} captioners: "
            f"ρ = {_signed(rho['ρ'])}, 95 % interval {_signed(rho['low'])} to {_signed(rho['high'])}, p = {rho['p']:.2f} "
            f"(COCO captions, recorded; {classifier} classifier, {int(one['seeds'].iloc[0])} seeds, {int(one['n'].iloc[0]):,} images). "
            f"The most accurate, {best['name']} ({metric} {best['value']:.1f}), has LIC {_signed(best['LIC'], 1)}; "
            f"the least accurate, {worst['name']} ({worst['value']:.1f}), {_signed(worst['LIC'], 1)}."
        ]  # fmt: skip
    return "\n\n".join([*lines, tool_line(java_problem())])


def _signed(value: float, digits: int = 2) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")
