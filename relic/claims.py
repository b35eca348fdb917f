"""The four claims as inequalities, and one rule that turns an estimate into a verdict.

    supported      the whole 95 % interval satisfies the inequality
    not supported  the estimate itself does not
    undecided      the estimate does, but not its whole interval

The rule and the margins were written down before our runs were looked at (`book/decide.md`).
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

import numpy as np
import pandas as pd

from relic.evidence import GROUP, difference, means
from relic.stats import (
    DRAWS,
    Estimate,
    Interval,
    drawn_means,
    holm,
    smallest_tau,
    smallest_taus,
)

SUPPORTED, NOT_SUPPORTED, UNDECIDED = "supported", "not supported", "undecided"
SYMBOLS = {SUPPORTED: "✓", NOT_SUPPORTED: "✗", UNDECIDED: "?"}
MARGIN = 1.0  # LIC points that count as no difference
SAME_ORDER = 0.5  # τ of one half: three pairs of captioners in four are ordered alike
PAIRS = (("NIC+Equalizer", "NIC+"), ("Strong amplifier (gain 1.5)", "Faithful (gain 0)"))
COLUMNS = [
    "source", "claim", "attribute", "classifier", "variant", "verdict", "estimate", "low", "high",
    "n_seeds", "n_test",
]  # fmt: skip
CLAIMS = {
    "1": "The order of the captioners is the same for every classifier.",
    "2": "Every captioner amplifies: LIC > 0.",
    "3 (LIC_M)": "Race is given away less than gender by every captioner: lower LIC_M.",
    "3 (LIC)": "Race is amplified less than gender by every captioner: lower LIC.",
    "4": "NIC+Equalizer amplifies gender beyond NIC+, but not race.",
}


@dataclass(frozen=True)
class Verdict:
    """A claim judged on one body of evidence."""

    source: str
    claim: str
    attribute: str
    classifier: str
    variant: str
    verdict: str
    estimate: float
    low: float
    high: float
    n_seeds: int
    n_test: float
    sentence: str
    corpus: str = ""
    captioners: int = 0  # how many it was judged on
    of: int = 0  # how many this source has for the attribute

    @property
    def by(self) -> str:
        """The classifier, with how many captioners it saw where that is not all of them."""
        part = f" on {self.captioners} of {self.of} captioners"
        return self.classifier + (part if self.captioners < self.of else "")

    @property
    def interval(self) -> Interval:
        """The estimate with its 95 % interval."""
        return Interval(self.estimate, self.low, self.high)

    @property
    def symbol(self) -> str:
        """For those who cannot see colours."""
        return SYMBOLS[self.verdict]


def judge(found: Interval, bound: float, above: bool = True) -> str:
    """The rule. The claim is "more than `bound`", or "less" when not `above`.

    >>> judge(Interval(2.0, 0.5, 3.5), 0), judge(Interval(2.0, -1, 5), 0), judge(Interval(-1, -4, 2), 0)
    ('supported', 'undecided', 'not supported')
    """
    mean, worst = (found.mean, found.low) if above else (-found.mean, -found.high)
    bound = bound if above else -bound
    if not mean > bound:
        return NOT_SUPPORTED
    return SUPPORTED if worst > bound else UNDECIDED  # no interval (one seed): undecided


def groups(evidence: pd.DataFrame) -> Iterator[tuple[dict, pd.DataFrame]]:
    """Bodies of evidence: one source, corpus, attribute, classifier and variant each."""
    for values, group in evidence.groupby(GROUP, sort=False):
        yield dict(zip(GROUP, values, strict=True)), group


def judge_all(evidence: pd.DataFrame) -> list[Verdict]:
    """Every claim on every body of evidence that can carry it."""
    found = []
    for about, group in groups(evidence):
        found.append(amplification(group, about))
        found += [equalizer(group, about, pair) for pair in PAIRS if _holds(group, pair)]
    by = ["source", "corpus", "classifier", "variant"]
    for _, rows in evidence.groupby(by, sort=False):
        if {"gender", "race"} <= set(rows["attribute"]):
            found += [less_than_gender(rows, quantity) for quantity in ("lic_model", "lic")]
    for _, rows in evidence.groupby(["source", "corpus", "attribute", "variant"], sort=False):
        if len(complete(rows)) > 1:
            found.append(encoders(rows))
    everyone = ["source", "corpus", "attribute"]
    most = evidence.groupby(everyone)["captioner"].nunique()
    return [
        replace(v, of=2 if v.claim == "4" else int(most[v.source, v.corpus, v.attribute]))
        for v in found
    ]


def _holds(group: pd.DataFrame, names: tuple[str, ...]) -> bool:
    return set(names) <= set(group["captioner"])


def table(verdicts: list[Verdict]) -> pd.DataFrame:
    """Verdicts as `relic claims --csv` prints them."""
    return pd.DataFrame([asdict(verdict) for verdict in verdicts], columns=COLUMNS)


def _verdict(about: dict, claim: str, found: Estimate, verdict: str, sentence: str,
             rows: pd.DataFrame, captioners: int) -> Verdict:  # fmt: skip
    return _told(about, claim, found.interval(), found.n, verdict, sentence, rows, captioners)


def _told(about: dict, claim: str, interval: Interval, seeds: int, verdict: str, sentence: str,
          rows: pd.DataFrame, captioners: int) -> Verdict:  # fmt: skip
    told = {k: about[k] for k in ("source", "attribute", "classifier", "variant", "corpus")}
    return Verdict(
        claim=claim, verdict=verdict, estimate=interval.mean, low=interval.low, high=interval.high,
        n_seeds=seeds, n_test=float(rows["n_test"].mean()), sentence=sentence, captioners=captioners, **told,
    )  # fmt: skip


def complete(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Evidence by classifier, of those that judged all captioners, on more than one split if two did."""
    names = set(rows["captioner"])
    by = dict(iter(rows.groupby("classifier", sort=False)))
    found = {name: part for name, part in by.items() if set(part["captioner"]) == names}
    sure = {n: part for n, part in found.items() if part["seed"].isna().any() or part["seed"].nunique() > 1}  # fmt: skip
    return sure if len(sure) > 1 else found


def encoders(rows: pd.DataFrame) -> Verdict:
    """Claim 1: the least agreement (Kendall's τ) of any two classifiers is above one half."""
    parts = complete(rows)
    points, drawn = rankings(parts)
    least = smallest_tau(points)
    found, told = Interval(least, np.nan, np.nan), "no interval from one split"
    if np.isfinite(drawn).all():
        # the draws add noise to values that hold some already, so the interval leans low
        low, high = np.quantile(smallest_taus(drawn), [0.025, 0.975])
        found = Interval(least, min(float(low), least), max(float(high), least))
        told = f"95 % {found.low:.2f} to {found.high:.2f}, leaning low"
    about = rows.iloc[0].to_dict() | {"classifier": ", ".join(parts)}
    sentence = (
        f"The least alike of {len(parts)} classifiers ({', '.join(parts)}) order the {points.shape[1]} captioners with "
        f"τ = {least:.2f} ({told}; 1 is the same order, 0 is chance)."
    )
    rest = [name for name in rows["classifier"].unique() if name not in parts]
    sentence += f" Left out (not all captioners, or one split): {', '.join(rest)}." if rest else ""
    kept = rows[rows["classifier"].isin(parts)]
    seeds = min(each.n for part in parts.values() for each in means(part).values())
    verdict = judge(found, SAME_ORDER)
    return _told(about, "1", found, seeds, verdict, sentence, kept, points.shape[1])


def rankings(parts: dict[str, pd.DataFrame]) -> tuple[np.ndarray, np.ndarray]:
    """LIC by classifier and captioner, and draws of it: (classifiers, draws, captioners).

    Student's t with as many degrees of freedom as the intervals have; without a spread, no number.
    """
    order = sorted(next(iter(parts.values()))["captioner"].unique())
    points, drawn = [], []
    for number, part in enumerate(parts.values()):
        found = means(part)
        points.append([found[name].mean for name in order])
        wide = part.pivot_table(index="seed", columns="captioner", values="lic").dropna()
        if len(wide) > 1:
            drawn.append(drawn_means(wide[order].to_numpy(float), DRAWS, seed=number))
        else:
            each = [found[name] for name in order]
            errors, df = (np.array([getattr(e, name) for e in each]) for name in ("error", "df"))
            noise = np.random.default_rng(number).standard_t(
                np.nan_to_num(df, nan=1), size=(DRAWS, len(order))
            )
            drawn.append(points[-1] + errors * noise)
    return np.array(points), np.array(drawn)


def amplification(group: pd.DataFrame, about: dict) -> Verdict:
    """Claim 2: LIC > 0 for every captioner; judged on the weakest (intersection-union)."""
    found = means(group)
    p = {name: each.p_above(0) for name, each in found.items()}
    weakest = max(p, key=lambda name: (np.nan_to_num(p[name], nan=2), -found[name].mean))
    verdict = judge(found[weakest].interval(), 0)
    if any(each.mean <= 0 for each in found.values()):
        verdict = NOT_SUPPORTED
    sentence = _how_many(found, p) + f" The weakest is {weakest}: {_words(found[weakest])}."
    return _verdict(about, "2", found[weakest], verdict, sentence, group, len(found))


def _how_many(found: dict[str, Estimate], p: dict[str, float]) -> str:
    above, known = sum(each.mean > 0 for each in found.values()), [v for v in p.values() if v == v]
    if not known:
        return f"LIC is above 0 for {above} of {len(found)} captioners, on one split."
    sure, alone = int((holm(known) < 0.05).sum()), len(p) - len(known)
    rest = f"; {alone} of them on one split" if alone else ""
    return f"LIC is surely above 0 for {sure} of {len(p)} captioners (Holm{rest})."


def _words(found: Estimate) -> str:
    mean, low, high = found.interval()
    told = f"{mean:.1f}"
    told += (
        f", no interval from {found.n} split"
        if np.isnan(low)
        else f" (95 % {low:.1f} to {high:.1f})"
    )
    return told.replace("-", "−")


def gender_minus(rows: pd.DataFrame, quantity: str) -> dict[str, Estimate]:
    """Gender minus race by captioner, as if independent: a seed's two test sets share few images."""
    gender, race = (means(rows[rows["attribute"] == name], quantity) for name in ("gender", "race"))
    return {name: gender[name].minus(race[name]) for name in gender if name in race}


def less_than_gender(rows: pd.DataFrame, quantity: str) -> Verdict:
    """Claim 3: gender minus race above 0 for every captioner, on LIC_M or on LIC."""
    found = gender_minus(rows, quantity)
    weakest = max(found, key=lambda name: (np.nan_to_num(found[name].p_above(0), nan=2), name))
    verdict = judge(found[weakest].interval(), 0)
    if any(each.mean <= 0 for each in found.values()):
        verdict = NOT_SUPPORTED
    shown = {"lic_model": "LIC_M", "lic": "LIC"}[quantity]
    lower = sum(each.mean > 0 for each in found.values())
    sentence = (
        f"{shown} is lower for race than for gender in {lower} of {len(found)} captioners. "
        f"The least clear is {weakest}: gender minus race {_words(found[weakest])}."
    )
    about = rows.iloc[0].to_dict() | {"attribute": "race"}
    kept = rows[rows["attribute"] == "race"]
    return _verdict(about, f"3 ({shown})", found[weakest], verdict, sentence, kept, len(found))


def equalizer(group: pd.DataFrame, about: dict, pair: tuple[str, str] = PAIRS[0]) -> Verdict:
    """Claim 4: the difference of two captioners is above 0; for race, below the margin."""
    found = difference(group, *pair)
    race = about["attribute"] == "race"
    interval = found.interval()
    verdict = judge(interval, MARGIN if race else 0, above=not race)
    sentence = f"LIC of {pair[0]} minus LIC of {pair[1]}: {_words(found)}."
    if race and not np.isnan(found.error):
        sentence += f" Less than {MARGIN:g} point more: p = {found.p_below(MARGIN):.2g}."
    return _verdict(about, "4", found, verdict, sentence, group, 2)
