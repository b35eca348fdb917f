"""LIC beside scores that do not mix being right with being sure, and LIC by what there is to amplify.

V-information (Xu et al. 2020): bits that a caption tells *this family of classifiers* about the class,
H(a) less the cross-entropy. Balanced classes have H(a) = 1 bit. It is a proper score: no classifier
gains by claiming more or less than it knows. AUC looks at the order of the guesses only.
"""

import pandas as pd

from relic.data.captioners import in_order
from relic.judge.claims import SUPPORTED, SYMBOLS, judge
from relic.judge.lic import estimates, intervals, lic_table
from relic.judge.stats import estimate

FLOOR = 25.0  # score of a classifier that knows nothing and says so
SCORES = {"LIC": ("score", 1), "ΔAUC": ("auc", 1), "Δbits × 100": ("bits", 100)}  # unit: percent
PARTS = ["lic_model", "lic_data", "lic"]
NORMALISED = "normalised"


def score_tables(runs) -> dict[str, pd.DataFrame]:
    """Lic tables by each score, all in percent: `lic` is always generated less human."""
    found = {name: lic_table(runs, of=of) for name, (of, _) in SCORES.items()}
    for name, (_, times) in SCORES.items():
        found[name][PARTS] *= times
    return found


def all_scores(runs) -> pd.DataFrame:
    """A row a captioner: LIC, ΔAUC, Δbits and normalised LIC, each with its 95 % interval.

    `above 0`: for each of LIC, ΔAUC and Δbits whether it surely lies above 0 (✓), below (✗) or neither (?).
    """
    tables = score_tables(runs)
    parts = {name: intervals(table) for name, table in tables.items()}
    parts["normalised LIC × 100"] = intervals(normalised(tables["LIC"]), NORMALISED)
    about = ["attribute", "classifier", "captioner"]
    shown = parts["LIC"][about].copy()
    for name, part in parts.items():
        value = part.set_index(about)[[NORMALISED if NORMALISED in part else "lic", "low", "high"]]
        value.columns = [name, f"{name} low", f"{name} high"]
        shown = shown.join(value, on=about)
    words = {name: [SYMBOLS[w] for w in words_above(table)] for name, table in parts.items() if name in SCORES}  # fmt: skip
    return shown.assign(**{"above 0": [" ".join(each) for each in zip(*words.values(), strict=True)]})  # fmt: skip


def words_above(table: pd.DataFrame, bound: float = 0.0) -> list[str]:
    """The verdict of each row of intervals on "more than `bound`"."""
    return [judge(each, above=bound) for each in table.itertuples(index=False)]


def normalised(lic: pd.DataFrame) -> pd.DataFrame:
    """With (LIC_M − LIC_D) / (LIC_D − 25) in percent, by split, linear around the ratio of means.

    The mean over splits is the ratio of the means, and the spread that of the ratio (delta method);
    a single split's own ratio would be wild where LIC_D lies near 25.
    """
    parts = []
    for _, part in lic.groupby(["attribute", "classifier", "seen", "captioner"], sort=False):
        room = part["lic_data"] - FLOOR
        ratio = part["lic"].mean() / room.mean()
        value = ratio + (part["lic"] - ratio * room) / room.mean()
        parts.append(part.assign(**{NORMALISED: 100 * value}))
    return pd.concat(parts, ignore_index=True)


def survival(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """A row a captioner, a column a test: is LIC surely above 0 (✓), surely not (✗) or neither (?)?"""
    found = {name: {n: judge(e.interval(), above=0) for n, e in estimates(t).items()} for name, t in tables.items()}  # fmt: skip
    words = pd.DataFrame(found).replace(SYMBOLS)
    words["all"] = (
        (words == SYMBOLS[SUPPORTED]).all(axis=1).map({True: SYMBOLS[SUPPORTED], False: ""})
    )
    return words.loc[in_order(words.index)].rename_axis("captioner").reset_index()


def learned(runs) -> pd.DataFrame:
    """By classifier, on the splits that all of them have: AUC of both sides, LIC_M, LIC_D and LIC.

    A row a captioner and classifier. One split has no interval.
    """
    score, auc = lic_table(runs), lic_table(runs, of="auc")
    keys = ["attribute", "captioner", "classifier", "seed"]
    both = score.merge(auc[[*keys, "lic_model", "lic_data"]], on=keys, suffixes=("", "_auc"))
    shared = both.groupby(keys[:2] + keys[3:])["classifier"].transform("nunique")
    most = both.groupby(keys[:2])["classifier"].transform("nunique")
    rows = []
    for about, part in both[(shared == most) & (most > 1)].groupby(keys[:3], sort=False):
        found = estimate(part["lic"])
        means = part[["lic_model_auc", "lic_data_auc", "lic_model", "lic_data"]].mean()
        names = ["AUC, generated", "AUC, human", "LIC_M", "LIC_D"]
        row = dict(zip(keys[:3], about, strict=True)) | dict(zip(names, means, strict=True))
        row |= dict(zip(("LIC", "low", "high"), found.interval(), strict=True))
        rows.append(row | {"splits": found.n, "human captions": ", ".join(sorted(set(part["human"])))})  # fmt: skip
    order = {name: at for at, name in enumerate(in_order(both["captioner"].unique()))}
    rows.sort(key=lambda row: order[row["captioner"]])
    return pd.DataFrame(rows)
