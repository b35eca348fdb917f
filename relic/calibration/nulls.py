"""Null checks: what LIC says where there is nothing to find.

Permuted labels give the chance level, one human caption set against the others the zero point, and
runs that share their splits show what pairing does to an interval.
"""

from itertools import combinations

import pandas as pd

from relic.errors import RelicError
from relic.evidence import (
    GROUP,
    MAIN,
    THIS_BUILD,
    difference,
    display_names,
    from_runs,
    means,
    select,
)
from relic.local import BOTH, own_runs, paired_grid
from relic.results import RECORDED
from relic.stats import Estimate, estimate
from relic.sweep import Source

WITHIN = ["source", "corpus", "attribute", "classifier"]
SIDES = {"model": "generated", "human": "human"}


def null_runs(
    attribute: str,
    *,
    corpus: str = "auto",
    images: int = 4000,
    classifier: str = "linear",
    seeds: list[int],
    captioners: list[str] | None = None,
) -> pd.DataFrame:
    """This build's runs: true and permuted labels on paired splits, and `upstream` splits.

    `captioners`: the first and the last by default. Human captions are split as upstream only
    where the row order of upstream's file is known.
    """
    source = Source(corpus, images=images)
    about = source.load(attribute)
    if len(seeds) < 2:
        raise RelicError(f"seeds {seeds}", expected="two or more: intervals need a spread")
    chosen = captioners or [about.captioners[0], about.captioners[-1]]
    options = {"seeds": seeds, "classifier": classifier, "captioner": list(chosen)}
    runs = paired_grid(source, attribute, **options)
    runs += paired_grid(source, attribute, labels="permuted", **options)
    sides = BOTH if about.human_row_order else ("model",)
    runs += paired_grid(source, attribute, sides=sides, split="upstream", **options)
    return own_runs(source, runs).assign(source=THIS_BUILD)


def _prepared(runs: pd.DataFrame) -> pd.DataFrame:
    """Standard captions, human ones aligned to the captioner; classifiers by what must not be hidden."""
    kept = select(runs, split=None, labels=None)
    return kept.assign(captioner=[display_names().get(key, key) for key in kept["captioner"]])


def corpora(table: pd.DataFrame) -> str:
    """The corpora of a table as its caption begins: a synthetic one says so."""
    told = " and ".join(dict.fromkeys(table["corpus"]))
    return told[0].upper() + told[1:]


def _row(found: Estimate) -> dict:
    mean, low, high = found.interval()
    return {"mean": mean, "low": low, "high": high}


def chance(runs: pd.DataFrame) -> pd.DataFrame:
    """Scores with permuted labels by attribute and side, means over captioners, 95 % over seeds.

    Accuracy and AUC should hold 50; the score lies between 25 (unsure) and 50 (sure).
    """
    kept = _prepared(runs)
    kept = kept[(kept["labels"] == "permuted") & (kept["split"] == "paired")]
    rows = []
    for values, part in kept.groupby([*WITHIN, "side"], sort=False):
        about = dict(zip([*WITHIN, "side"], values, strict=True))
        by_seed = part.groupby("seed")[["score", "accuracy", "auc"]].mean()
        row = about | {"captions": SIDES[about["side"]], "runs": len(part)}
        row |= {"seeds": len(by_seed), "n_test": int(part["n_test"].median())}
        for name in by_seed:
            told = _row(estimate(by_seed[name]))
            row |= {name: told["mean"], f"{name}, low": told["low"], f"{name}, high": told["high"]}
        rows.append(row)
    return pd.DataFrame(rows)


def permuted_lic(runs: pd.DataFrame) -> pd.DataFrame:
    """LIC of each captioner when the labels are permuted: above or below 0 by confidence alone."""
    evidence = from_runs(runs, labels="permuted")
    found = _estimates(evidence[evidence["variant"] == "standard"])
    labels = found["attribute"] + ", " + found["source"]
    return found.drop(columns="variant").assign(label=labels)


def permuted_sentence(table: pd.DataFrame) -> str:
    """Where LIC lies when the labels say nothing, by attribute, in words."""
    told = []
    for (source, attribute), part in table.groupby(["source", "attribute"], sort=False):
        miss = int(((part["low"] > 0) | (part["high"] < 0)).sum())
        told.append(
            f"{attribute} ({source}): {part['mean'].mean():+.1f} points on average, {miss} of {len(part)} intervals miss 0"
        )
    return f"**LIC with labels at random**, {'; '.join(told)}. That much of LIC can come from the classifier's confidence alone."


def _estimates(evidence: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for values, group in evidence.groupby(GROUP, sort=False):
        for captioner, found in means(group).items():
            part = group[group["captioner"] == captioner]
            about = dict(zip(GROUP, values, strict=True)) | {"captioner": captioner}
            seeds = {"seeds": found.n, "n_test": int(part["n_test"].mean())}
            rows.append(about | _row(found) | seeds)
    return pd.DataFrame(rows)


def human_zero(runs: pd.DataFrame) -> pd.DataFrame:
    """One human caption set as if a captioner had written it, the others as LIC_D.

    A row an aligned vocabulary and caption index; 95 % corrected resampled t over seeds. The five of
    one vocabulary add up to 0, so it is their size and spread that counts.
    """
    kept = _prepared(runs)
    kept = kept[(kept["labels"] == "true") & (kept["split"] == "paired")]
    kept = kept[kept["side"] == "human"]
    rows = []
    for values, part in kept.groupby([*WITHIN, "captioner"], sort=False):
        wide = part.pivot_table(index="seed", columns="caption_index", values="score").dropna()
        for index in wide if min(wide.shape) > 1 else ():
            found = estimate(wide[index] - wide.drop(columns=index).mean(axis=1))
            about = dict(zip([*WITHIN, "captioner"], values, strict=True)) | {"index": index}
            seeds = {"seeds": found.n, "n_test": int(part["n_test"].median())}
            rows.append(about | _row(found) | seeds)
    return pd.DataFrame(rows)


def one_vocabulary(zeros: pd.DataFrame, captioner: str) -> pd.DataFrame:
    """Recorded zero points of one captioner's vocabulary, or all there are, labelled for a figure."""
    part = zeros[(zeros["captioner"] == captioner) & (zeros["source"] == RECORDED)]
    part = part if len(part) else zeros
    part = part[part["classifier"] == (MAIN if MAIN in set(part["classifier"]) else part["classifier"].iloc[0])]  # fmt: skip
    labels = [
        f"{a}, caption {i + 1}" for a, i in zip(part["attribute"], part["index"], strict=True)
    ]
    return part.assign(label=labels)


def zero_summary(zeros: pd.DataFrame) -> pd.DataFrame:
    """How far human caption sets lie from each other, and how many intervals miss 0."""
    rows = []
    for values, part in zeros.groupby(WITHIN, sort=False):
        misses = (part["low"] > 0) | (part["high"] < 0)
        rows.append(
            {
                **dict(zip(WITHIN, values, strict=True)),
                "intervals": len(part),
                "miss 0": int(misses.sum()),
                "typical |LIC|": (part["mean"] ** 2).mean() ** 0.5,
                "largest |LIC|": part["mean"].abs().max(),
                "vocabularies": part["captioner"].nunique(),
                "seeds": int(part["seeds"].min()),
                "n_test": int(part["n_test"].median()),
            }
        )
    return pd.DataFrame(rows)


def pairing(runs: pd.DataFrame) -> pd.DataFrame:
    """Width of 95 % intervals on paired splits, by seed and as if the two parts were independent.

    `what`: LIC of a captioner (LIC_M less LIC_D), or LIC of one less LIC of another.
    """
    evidence = from_runs(runs)
    rows = []
    for values, group in evidence[evidence["variant"] == "standard"].groupby(GROUP, sort=False):
        about = dict(zip(GROUP, values, strict=True))
        model, data, lic = (means(group, name) for name in ("lic_model", "lic_data", "lic"))
        for name, found in lic.items():
            row = {"what": "LIC", "captioner": name}
            rows.append(about | row | _widths(found, model[name].minus(data[name])))
        for first, second in combinations(lic, 2):
            row = {"what": "difference", "captioner": f"{first} − {second}"}
            alone = lic[first].minus(lic[second])
            rows.append(about | row | _widths(difference(group, first, second), alone))
    return pd.DataFrame(rows)


def _widths(paired: Estimate, alone: Estimate) -> dict:
    widths = [found.interval().high - found.interval().low for found in (paired, alone)]
    return {"seeds": paired.n, "paired": widths[0], "as if independent": widths[1]}


def pairing_summary(table: pd.DataFrame) -> pd.DataFrame:
    """Median widths by attribute; `ratio` below 1: pairing makes intervals narrower."""
    rows = []
    for values, part in table.groupby([*WITHIN, "what"], sort=False):
        widths = part[["paired", "as if independent"]].median()
        rows.append(
            {
                **dict(zip([*WITHIN, "what"], values, strict=True)),
                "pairs": len(part),
                "seeds": int(part["seeds"].min()),
                **widths.to_dict(),
                "ratio": (part["paired"] / part["as if independent"]).median(),
                "narrower": int((part["paired"] < part["as if independent"]).sum()),
            }
        )
    return pd.DataFrame(rows)


def split_policies(runs: pd.DataFrame, least: int = 3) -> pd.DataFrame:
    """LIC_M on `paired` and on `upstream` splits: mean and spread over seeds, median by group."""
    kept = _prepared(runs)
    kept = kept[(kept["labels"] == "true") & (kept["side"] == "model")]
    rows = []
    for values, part in kept.groupby(WITHIN, sort=False):
        by = part.groupby(["split", "captioner"])
        table = by["score"].agg(["mean", "std", "count"]).join(by["n_test"].median())
        table = table[table["count"] >= least]
        have = [s for s in ("paired", "upstream") if s in table.index.get_level_values("split")]
        if len(have) < 2:
            continue
        both = table.loc["paired"].index.intersection(table.loc["upstream"].index)
        for split in have if len(both) else ():
            own = table.loc[split].loc[both]
            rows.append(
                {
                    **dict(zip(WITHIN, values, strict=True)),
                    "split": split,
                    "captioners": len(both),
                    "seeds": int(own["count"].min()),
                    "n_test": int(own["n_test"].median()),
                    "mean LIC_M": own["mean"].mean(),
                    "spread over seeds": own["std"].median(),
                }
            )
    return pd.DataFrame(rows)
