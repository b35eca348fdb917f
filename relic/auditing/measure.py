"""The measurements of an audit: LIC with intervals and a verdict, differences, chance, sizes."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from relic import paths
from relic.auditing.checks import checks
from relic.auditing.inputs import Audited
from relic.judge.claims import MARGIN, SUPPORTED, SYMBOLS, UNDECIDED, judge
from relic.judge.lic import (
    ALL,
    UNSEEN,
    difference,
    image_intervals,
    intervals,
    lic_table,
    model_table,
)
from relic.judge.stats import Interval, estimate, from_spread, shared
from relic.measure.runs import Run, Store
from relic.measure.splits import PAPER_SEEDS
from relic.measure.sweep import grid, sweep
from relic.records.runs import own_frame
from relic.records.serve import Runs
from relic.whole import check_writable

AMPLIFIES, SLIGHTLY = "amplifies", "amplifies, by less than a point"
DOES_NOT, ALONE = "does not amplify", "cannot be judged without human captions"
MARKS = {AMPLIFIES: "▲", SLIGHTLY: "▲", DOES_NOT: "●", UNDECIDED: SYMBOLS[UNDECIDED], ALONE: "–"}
Tables = dict[str, pd.DataFrame]
SIZES = (100, 250, 500, 1000, 2500, 5000)  # images a class of the table of sizes


@dataclass(frozen=True)
class Choices:
    """How an audit measures."""

    classifiers: str | Sequence[str] = ("linear",)
    seeds: Sequence[int] = PAPER_SEEDS
    split: str = "paired"
    chance: bool = True  # also the score with permuted labels
    checks: bool = True  # also LIC with labels flipped, captions cut, objects hidden
    with_accuracy: bool = True  # also BLEU-4, CIDEr, METEOR, ROUGE-L
    workers: int = 0
    scheduler: str = ""
    progress: bool = True
    store: Store | None = None  # of finished runs; that of audits by default

    @property
    def listed(self) -> list[str]:
        """The classifiers, each once."""
        one = isinstance(self.classifiers, str)
        return [self.classifiers] if one else list(dict.fromkeys(self.classifiers))


def plan(audited: Audited, how: Choices) -> list[Run]:
    """The runs of an audit, each checked: wrong choices are told before anything is computed."""
    seeds = list(how.seeds)
    if how.split == "grouped" and set(seeds) == set(PAPER_SEEDS):
        seeds = list(range(len(PAPER_SEEDS)))  # its seeds are the numbers of ten folds
    corpus, shared = audited.corpus, {"split": how.split, "seed": seeds}
    runs = grid(corpus, classifier=how.listed, **shared)
    if audited.captions_an_image:
        human = {"side": "human", "vocabulary": audited.vocabulary}
        human["caption_index"] = range(audited.captions_an_image)
        runs += grid(corpus, classifier=how.listed, **human, **shared)
    for name in how.listed if how.chance else ():  # slow classifiers learn nothing once only
        some = seeds if name == "linear" else seeds[:1]
        runs += grid(corpus, classifier=name, labels="permuted", split=how.split, seed=some)
    return runs


def measure(audited: Audited, how: Choices) -> Tables:
    """Compute what the store lacks of the planned runs, then the tables that follow from them.

    `lic`: a row each captioner and classifier. `runs`: the lic table of all splits. `differences`
    of captioners. `sizes`: the smallest LIC found in 80 % of audits. `checks`. `coverage` of the files.
    """
    store, runs = how.store or Store(paths.audit_runs()), plan(audited, how)
    unkept = f"runs cannot be kept in {store.directory}"
    check_writable(store.directory, unkept, mend="RELIC_RUNS=DIR names another")
    options = {"workers": how.workers, "scheduler": how.scheduler, "progress": how.progress}
    sweep(audited.corpus, runs, store, **options)
    done, human = Runs(own_frame(store, runs), store, names={}), audited.captions_an_image > 0
    rows, by_seed = [], []
    for name in how.listed:
        true = done.where(classifier=name, labels="true")
        tables = [lic_table(true, seen=s) for s in (ALL, UNSEEN)] if human else [model_table(true)]
        by_seed.append(pd.concat(tables).assign(ratio=audited.ratio))
        permuted = done.where(classifier=name, labels="permuted").frame
        chance = permuted.groupby("captioner")["score"].mean()
        rows.append(_rows(audited, true, chance, by_seed[-1]))
    lic, by_seed = pd.concat(rows, ignore_index=True), pd.concat(by_seed, ignore_index=True)
    tested = done.where(side="model", labels="true").frame.groupby("captioner")
    repeated = 100 * (1 - tested["n_unseen"].sum() / tested["n_test"].sum())
    checkable = how.checks and human and how.split == "paired" and "linear" in how.listed
    return {
        "lic": lic,
        "coverage": audited.coverage.assign(repeated=audited.coverage["captioner"].map(repeated)),
        "differences": _differences(by_seed, audited.corpus.captioners if human else []),
        "sizes": _sizes(audited, lic),
        "checks": checks(audited, how.seeds, store) if checkable else pd.DataFrame(),
        "runs": by_seed if human else pd.DataFrame(),
    }


def _rows(audited: Audited, runs: Runs, chance: pd.Series, by_seed: pd.DataFrame) -> pd.DataFrame:
    """One classifier: a row each captioner, on how well it does and, with human captions, LIC."""
    names, rho = pd.Index(audited.corpus.captioners, name="captioner"), shared(audited.ratio)
    every = by_seed[by_seed["seen"] == ALL].groupby("captioner")
    model, human = (runs.where(side=side).frame.groupby("captioner") for side in ("model", "human"))
    table = pd.DataFrame(index=names).assign(
        attribute=audited.attribute.name,
        classifier=by_seed["classifier"].iloc[0],
        n_images=len(audited.images),
        n_test=every["n_test"].mean().round().astype(int),
        n_seeds=every.size(),
        chance=chance,
        auc_low=model["auc"].agg(lambda auc: estimate(auc, rho).interval().low),
    )
    for of in ("accuracy", "auc"):
        table[of], table[f"{of}_human"] = model[of].mean(), human[of].mean()
    if not audited.captions_an_image:
        table = table.join(_ends(by_seed, "lic_model", ["lic_model", "model_low", "model_high"]))
        absent = dict.fromkeys(("lic_data", "lic", "low", "high"), np.nan)
        return table.assign(verdict=ALONE, **absent).reset_index()
    all_captions, unseen = (_judged(by_seed, seen, names) for seen in (ALL, UNSEEN))
    images = pd.DataFrame(image_intervals(runs), ["lic", "image_low", "image_high"]).T
    table = table.join(all_captions.drop(columns="n_test")).join(images.drop(columns="lic"))
    for of in ("auc", "bits"):
        columns = [f"delta_{of}", f"delta_{of}_low", f"delta_{of}_high"]
        other = lic_table(runs, of=of).assign(ratio=audited.ratio)
        table = table.join(_ends(other, "lic", columns))
    splits = zip(image_spread(runs).reindex(names), table["n_seeds"], strict=True)
    table["detectable"] = [from_spread(0.0, std, n, rho).detectable() for std, n in splits]
    return table.assign(unseen=pd.Series(unseen.to_dict("index"))).reset_index()


def _ends(by_seed: pd.DataFrame, quantity: str, columns: list[str]) -> pd.DataFrame:
    """By captioner the mean over splits and the interval of a quantity, under these names."""
    by_captioner = intervals(by_seed, quantity).set_index("captioner")
    return by_captioner[[quantity, "low", "high"]].set_axis(columns, axis=1)


def _judged(by_seed: pd.DataFrame, seen: str, names: pd.Index) -> pd.DataFrame:
    """By captioner both sides' means over splits (there may be none), LIC with its interval, the verdict."""
    splits = by_seed[by_seed["seen"] == seen]
    columns = ["captioner", "lic_model", "lic_data", "lic", "low", "high"]
    table = intervals(splits).reindex(columns=columns).set_index("captioner").reindex(names)
    table.insert(0, "n_test", splits.groupby("captioner")["n_test"].mean())
    spans = table[["lic", "low", "high"]].astype(float).itertuples(index=False)
    return table.assign(verdict=[verdict(Interval(*span)) for span in spans])


def image_spread(runs: Runs) -> pd.Series:
    """By captioner, how far a split's LIC strays for the images it tests: thousands of them tell.

    The spread of ten splits is itself known to a quarter only: by it, one captioner could detect 2.5
    in one audit and 5.2 in the next. On recorded runs it is 0.6 to 1.5 times this one, 0.8 on average.
    """
    scores = runs.outcomes.merge(runs.frame[["key", "captioner", "seed", "side"]], on="key")
    keys = ["captioner", "seed", "image_id"]
    wide = scores.groupby([*keys, "side"])["score"].mean().unstack("side").dropna()
    splits = (wide["model"] - wide["human"]).groupby(keys[:2]).agg(["var", "size"])
    return np.sqrt((splits["var"] / splits["size"]).groupby("captioner").mean())


def verdict(lic: Interval) -> str:
    """The rule of the claims, on "LIC > 0" and on "LIC < 1 point"; no spread decides nothing.

    >>> verdict(Interval(3, 1, 5)), verdict(Interval(0, -2, 0.9)), verdict(Interval(0, -2, 2))
    ('amplifies', 'does not amplify', 'undecided')
    >>> verdict(Interval(0.4, 0.2, 0.7)), verdict(Interval(0, 0, 0))
    ('amplifies, by less than a point', 'undecided')
    """
    if lic.low == lic.high:
        return UNDECIDED
    more, less = judge(lic, above=0) == SUPPORTED, judge(lic, below=MARGIN) == SUPPORTED
    if more:
        return SLIGHTLY if less else AMPLIFIES
    return DOES_NOT if less else UNDECIDED


def _sizes(audited: Audited, lic: pd.DataFrame) -> pd.DataFrame:
    """What other numbers of images would find, if the spread shrinks with their square root."""
    rarer = min(audited.classes.values())
    sizes = pd.DataFrame({"images a class": sorted({*SIZES, rarer})})
    rows = lic.reindex(columns=["captioner", "classifier", "detectable"]).query("detectable > 0")
    table = rows.merge(sizes, how="cross")
    smallest = table.pop("detectable") * np.sqrt(rarer / table["images a class"])
    return table.assign(**{"smallest LIC": smallest})


def _differences(by_seed: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """LIC of one captioner less LIC of another, of every two, split by split."""
    rows = []
    for (classifier, seen), group in by_seed.groupby(["classifier", "seen"], sort=False):
        there = set(group["captioner"])  # a captioner may repeat itself in every caption
        for first, second in combinations([name for name in names if name in there], 2):
            apart = difference(group, first, second)
            rows.append((classifier, seen, first, second, *apart.interval(), apart.n))
    columns = ["classifier", "seen", "first", "second", "difference", "low", "high", "n_seeds"]
    return pd.DataFrame(rows, columns=columns)
