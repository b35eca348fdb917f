"""Tables of four extensions: age, vocabularies, repeated captions, masked images.

All start from runs (`relic.runs`) and lic tables (`relic.lic_table`), several of them by name where
something is compared: `{"all": lic, "unseen": lic}`.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd

from relic.chapters.learning.scores import FLOOR
from relic.data.captioners import captioner_files
from relic.data.corpus import Corpus
from relic.errors import RelicError
from relic.judge.claims import Verdict, amplification
from relic.judge.lic import ALL, AS_WRITTEN, UNSEEN, estimates, intervals, lic_table, model_table
from relic.judge.stats import Estimate
from relic.measure.classifiers.base import TextForm
from relic.measure.inputs import UNMASKED, VOCABULARIES, Reading, read_captions
from relic.records.published import published
from relic.records.serve import AnyCorpus, Runs, runs

GROUPED = "grouped"
IMAGES = {
    UNMASKED: "nothing",
    "masked_obj": "objects, boxes",
    "masked_person": "person, box",
    "masked_both": "both, boxes",
    "masked_seg_obj": "objects, outlines",
    "masked_seg_person": "person, outline",
    "masked_seg_both": "both, outlines",
}
WAYS = {"captioner": "captioner's", "human-top-n": "human-top-n", "none": "none"}  # vocabularies
Tables = dict[str, pd.DataFrame]  # lic tables by name
Judge = Callable[[pd.DataFrame], Verdict]


def by_choice(done: Runs, field: str, choices: dict[str, str]) -> Tables:
    """A lic table for each value of a run's field, under the name that `choices` gives it.

    Runs that the field does not concern (generated captions have no vocabulary) serve every value.
    """
    return {name: lic_table(done.where(**{field: ["", value]})) for value, name in choices.items()}


def change(lic: pd.DataFrame, base: pd.DataFrame, quantity: str = "lic") -> pd.DataFrame:
    """A table with `change`: how far each captioner's split lies from the same split of `base`."""
    keys = ["captioner", "seed"]
    both = lic.merge(base[[*keys, quantity]], on=keys, suffixes=("", "_base"))
    return both.assign(change=both[quantity] - both[f"{quantity}_base"])


def changes(tables: Tables) -> Tables:
    """The same of each table against the first."""
    (_, base), *others = tables.items()
    return {f"change, {name}": change(lic, base) for name, lic in others}


def stacked(tables: Tables, series: str, quantity: str = "lic") -> pd.DataFrame:
    """Intervals of several tables one under the other, told apart by a column: for figures."""
    parts = [intervals(lic, quantity).assign(**{series: name}) for name, lic in tables.items()]
    return pd.concat(parts, ignore_index=True)


def side_by_side(tables: Tables, quantity: str = "lic") -> pd.DataFrame:
    """Intervals of several tables in columns, a row a captioner: for reading."""
    return wide(stacked(tables, "table", quantity), "table", value=quantity)


def wide(table: pd.DataFrame, by: str, rows=("captioner",), value: str = "value") -> pd.DataFrame:
    """A row a captioner, three columns each value of column `by`: NAME, NAME low, NAME high."""
    parts = []
    for name, part in table.groupby(by, sort=False):
        part = part.set_index(list(rows))[[value, "low", "high"]]
        parts.append(part.set_axis([name, f"{name} low", f"{name} high"], axis=1))
    return pd.concat(parts, axis=1).reset_index()


def judged(tables: Tables, judge: Judge = amplification, by: str = "captions") -> pd.DataFrame:
    """One claim on each table: the verdict and the estimate that it rests on."""
    rows = pd.DataFrame([{by: name} | vars(judge(lic)) for name, lic in tables.items()])
    rows = rows.rename(columns={"word": "verdict", "whose": "rests on", "estimate": "LIC"})
    rows["surely"] = rows["surely"].astype(str) + " of " + rows.pop("captioners").astype(str)
    return rows.assign(n_test=rows["n_test"].round().astype(int)).drop(columns="claim")


def in_rows(found: dict[str, Estimate], name: str) -> pd.DataFrame:
    """Estimates by captioner as a table."""
    return pd.DataFrame([{"captioner": c} | in_cells({name: each}) for c, each in found.items()])


def in_cells(found: dict[str, Estimate]) -> dict[str, float]:
    """Estimates by name as cells of one row: NAME, NAME low, NAME high."""
    ends = ("", " low", " high")
    pairs = [zip(ends, each.interval(), strict=True) for each in found.values()]
    return {n + end: value for n, each in zip(found, pairs, strict=True) for end, value in each}


def aligned(corpus: Corpus, captioner: str) -> pd.DataFrame:
    """The first human caption of each image, and what a classifier reads under each vocabulary."""
    readings = {WAYS[v]: Reading("human", captioner, vocabulary=v) for v in VOCABULARIES}
    columns = {name: read_captions(corpus, each, TextForm()) for name, each in readings.items()}
    return pd.DataFrame({"caption": corpus.human_captions(0)} | columns)


def vocabulary_papers() -> pd.DataFrame:
    """Antequera et al.'s tables 3 and 4: age, LIC_M, LIC_D and LIC by vocabulary."""
    lic = published("lic").query("source == 'relic2023' and attribute == 'age'")
    lic = lic.assign(way=lic["variant"].isna().map({True: "captioner's", False: "human-top-n"}))
    wide = lic.pivot(index=["classifier", "captioner"], columns=["metric", "way"], values="mean")
    wide = wide[["LIC_M", "LIC_D", "LIC"]]
    return wide.set_axis([f"{metric}, {way}" for metric, way in wide.columns], axis=1).reset_index()


def seen_tables(done: Runs, grouped: Runs) -> Tables:
    """LIC on all test captions, on unseen ones by either definition, and by grouped cross-fitting."""
    tables = {seen: lic_table(done, seen=seen) for seen in (ALL, AS_WRITTEN, UNSEEN)}
    return tables | {GROUPED: lic_table(grouped).assign(seen=GROUPED)}


def seen_shares(done: Runs) -> pd.DataFrame:
    """How many of a captioner's test captions its training captions held, percent."""
    table, frame = model_table(done), done.frame
    for name, unseen in (("as written", "n_unseen_raw"), ("as read, masked", "n_unseen")):
        table[name] = 100 * (1 - frame[unseen] / frame["n_test"])  # by index: rows of LIC_M only
    keys = ["corpus", "attribute", "classifier", "captioner"]
    shown = table.drop(columns=["seed", "seen", "lic_model"])
    return shown.groupby(keys, sort=False).mean().reset_index()


def mean_of_folds(lic: pd.DataFrame) -> Estimate:
    """The mean over captioners that have folds of their own, as grouped cross-fitting gives them.

    Fold 3 of two captioners holds different images, so folds do not tell how captioners vary
    together. However they do, the error of their mean is at most the mean of their errors.
    """
    found = list(estimates(lic).values())
    mean, error = (float(np.mean([getattr(e, name) for e in found])) for name in ("mean", "error"))
    return Estimate(mean, error, min(e.df for e in found), min(e.n for e in found))


def unseen_model(done: Runs) -> pd.DataFrame:
    """LIC_M on the captions that are unseen as written, a row a captioner and seed."""
    unseen = {"score": done.frame["unseen_raw_score"], "n_test": done.frame["n_unseen_raw"]}
    return model_table(Runs(done.frame.assign(**unseen), done.store)).assign(seen=AS_WRITTEN)


def beside_turk(done: dict[str, Runs]) -> pd.DataFrame:
    """Türk et al.'s table 5 beside ours: LIC_M on captions unseen as written, and their number."""
    names = {"unseen": "unseen, Türk", "lic_m": "LIC_M, Türk", "difference": "change, Türk"}
    table = published("unseen_captions")[["captioner", *names]].rename(columns=names)
    for classifier, each in done.items():
        moved = change(unseen_model(each), model_table(each), "lic_model")
        ours = intervals(moved, "change")
        ours = ours[["captioner", "n_test", "lic_model", "change", "low", "high"]]
        said = ("unseen", "LIC_M", "change", "change low", "change high")
        ours = ours.set_axis(["captioner", *(f"{classifier}: {name}" for name in said)], axis=1)
        table = table.merge(ours, on="captioner", how="left")
    return table


def masked_runs(corpus: AnyCorpus, captioner: str, classifier: str, seeds, **options) -> Runs:
    """LIC_M on whole images and on every kind of masked ones that the captioner has captions of."""
    files = captioner_files().get(captioner, {}).get(corpus.attribute.name, {})
    sets = [key for key in IMAGES if key in files]
    if not sets:
        raise RelicError(
            f"{corpus.name}, {corpus.attribute.name}: no captions of masked images by {captioner}",
            expected="sat or oscar, gender: upstream masked no others",
        )
    options |= {"sides": ["model"], "caption_set": [UNMASKED, *sets]}
    return runs(corpus, [captioner], classifier, seeds, **options)


def masked_table(done: Runs) -> pd.DataFrame:
    """LIC_M by what is masked, its change against whole images, split by split, and what is kept.

    `kept`: what is left of LIC_M above the floor of 25, in percent of whole images'.
    """
    parts = []
    for key, name in IMAGES.items():
        table, whole = (model_table(done.where(caption_set=each)) for each in (key, UNMASKED))
        if len(table):
            moved = intervals(change(table, whole, "lic_model"), "change")
            part = intervals(table, "lic_model").assign(masked=name, change=moved["change"])
            part = part.assign(change_low=moved["low"], change_high=moved["high"])
            before = part["lic_model"] - part["change"]
            parts.append(part.assign(kept=100 * (part["lic_model"] - FLOOR) / (before - FLOOR)))
    table = pd.concat(parts)
    table = pd.concat([table[table["captioner"] == name] for name in table["captioner"].unique()])
    first = ["corpus", "attribute", "classifier", "captioner", "masked"]
    return table[[*first, *(c for c in table if c not in [*first, "seen"])]].reset_index(drop=True)
