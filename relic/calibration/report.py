"""The null checks and the calibration in words and tables: all numbers come from recorded rows."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pandas as pd

from relic.calibration import grid as calibration_grid
from relic.calibration import study as calibration
from relic.calibration.grid import BASE, CLASSIFIERS, measure
from relic.calibration.study import FAITHFUL, METHODS, rates
from relic.errors import RelicError
from relic.evidence import MAIN, THIS_BUILD
from relic.planted.corpus import NAME
from relic.results import RECORDED

COVERAGE, FALSE_POSITIVES = 95.0, 2.5  # nominal, in percent


def calibrate(what: str, corpora: int = 0, images: int = 0, classifier: str = "") -> str:
    """`relic calibrate`: compute what is missing, and say what is recorded now."""
    if min(corpora, images) < 0:
        raise RelicError(f"corpora {corpora}, images {images}", expected="whole numbers from 0")
    if what == "study":
        done = calibration.study(corpora or calibration.CORPORA, images or calibration.IMAGES)
        return headline(done)
    if what != "grid":
        raise RelicError(f"relic calibrate {what}", expected="study or grid")
    if classifier and classifier not in CLASSIFIERS:
        raise RelicError(f"classifier {classifier!r}", expected=", ".join(CLASSIFIERS))
    if not classifier:
        calibration_grid.compute_grid(
            calibration_grid.settings(), corpora or calibration_grid.CORPORA
        )
    for name in [classifier] if classifier else CLASSIFIERS:
        wanted = calibration_grid.classifier_settings(
            name, images or calibration_grid.CLASSIFIER_IMAGES
        )
        calibration_grid.compute_grid(wanted, corpora or CLASSIFIERS[name])
    return f"{len(calibration_grid.read_grid())} rows in {calibration_grid.GRID.name}"


def recorded_study(file: Path = calibration.STUDY) -> pd.DataFrame:
    """The recorded study, or an error that says how to compute it."""
    frame = calibration.read_study(file)
    if frame.empty:
        raise RelicError(
            "no study of the intervals is recorded",
            expected="results/calibration/study.csv",
            mend="git checkout results/calibration, or relic calibrate study",
        )
    return frame


def recorded_grid() -> pd.DataFrame:
    """The recorded grid, or an error that says how to compute it."""
    frame = calibration_grid.read_grid()
    if frame.empty:
        raise RelicError(
            "no calibration grid is recorded",
            expected="results/calibration/grid.csv",
            mend="git checkout results/calibration, or relic calibrate grid",
        )
    return frame.assign(source=RECORDED)


def share(row: pd.Series, column: str) -> str:
    """A share with its exact interval, in words."""
    return f"{row[column]:.1f} % ({row[column + ', low']:.1f} to {row[column + ', high']:.1f})"


def no_gain(table: pd.DataFrame, score: str = "plain") -> pd.DataFrame:
    """Rates of the captioner without gain at the size with most corpora."""
    part = table[(table["captioner"] == FAITHFUL.key) & (table["score"] == score)]
    return part[part["corpora"] == part["corpora"].max()]


def sized(table: pd.DataFrame, gain: float | None = None) -> pd.DataFrame:
    """Rates of the plain score labelled by size and gain; of one gain if it is given."""
    part = table[table["score"] == "plain"]
    part = part if gain is None else part[part["gain"] == gain]
    pairs = zip(part["images"], part["gain"], part["corpora"], strict=True)
    return part.assign(size=[f"gain {g:g}, {i:,} images ({n} corpora)" for i, g, n in pairs])


def holds(row: pd.Series) -> bool:
    """Does an interval hold its level, as far as so many corpora can tell?

    It does not when the exact interval of its coverage lies below 95 %, or that of its false
    positives above 2.5 %.
    """
    return row["covers truth, high"] >= COVERAGE and row["above 0, low"] <= FALSE_POSITIVES


def level_table(table: pd.DataFrame) -> pd.DataFrame:
    """Coverage and false positives of each method as a reader wants them."""
    shown = table.assign(
        interval=table["method"].map(METHODS), holds=[holds(row) for _, row in table.iterrows()]
    )
    for column in ("covers truth", "covers mean", "above 0"):
        shown[f"{column} (95 %)"] = [share(row, column) for _, row in table.iterrows()]
    kept = ["images", "gain", "score", "interval", "corpora", "width"]
    kept += ["covers truth (95 %)", "covers mean (95 %)", "above 0 (95 %)"]
    return shown[kept]


def headline(study: pd.DataFrame) -> str:
    """Which interval holds its level, for a captioner that amplifies nothing."""
    table = no_gain(rates(study)).set_index("method")
    first, good = table.loc["corrected"], [name for name, row in table.iterrows() if holds(row)]
    bad = [name for name in table.index if name not in good]
    text = (
        f"**{first['corpora']:.0f} synthetic corpora with a captioner that amplifies nothing:** the corrected "
        f"interval, on which our verdicts rest, lies above 0 in {share(first, 'above 0')} of them "
        f"(nominal {FALSE_POSITIVES} %) and covers the true LIC in {share(first, 'covers truth')} "
        f"(nominal {COVERAGE:.0f} %)."
    )
    so_far = f", as far as {first['corpora']:.0f} corpora can tell"
    verdict = f"It holds its level{so_far}."
    if "corrected" not in good:
        verdict = "It does **not** hold its level."
    text += f" {verdict}"
    if bad:
        told = [
            f"{METHODS[name]} (covers {share(table.loc[name], 'covers truth')})" for name in bad
        ]
        text += f" Below their level: {'; '.join(told)}."
    others = [METHODS[name] for name in good if name != "corrected"]
    text += f" No failure was found of: {'; '.join(others)}." if others else ""
    if first["corpora"] < calibration.CORPORA:
        text += (
            f" **The study is not finished: {calibration.CORPORA} corpora are planned**; "
            "`relic calibrate study` goes on with it."
        )
    return text


def grid_headline(grid: pd.DataFrame) -> str:
    """Where LIC is biased, in which direction and how much, in a few sentences."""
    gains = calibration_grid.factor_table(grid, "gain", ["plain"]).set_index("gain")
    sizes = calibration_grid.factor_table(grid, "images", ["plain"])
    sizes = sizes[sizes["gain"] == BASE.gain].set_index("images")
    none, top = gains.loc[0.0], gains.loc[gains.index.max()]
    small, large = sizes.iloc[0], sizes.iloc[-1]
    return (
        f"**Without amplification {_direction(none)}: LIC {none['LIC']:.1f} where the truth is 0 (bias "
        f"95 % {_between(none)}, {none['corpora']:.0f} corpora). At gain {gains.index.max():g} "
        f"{_direction(top)}: {top['LIC']:.1f} of {top['true LIC']:.1f} points** (bias 95 % "
        f"{_between(top)}). By corpus size, gain {BASE.gain:g}: {small['LIC']:.1f} of "
        f"{small['true LIC']:.1f} points with {small['n_train']:,.0f} training captions, "
        f"{large['LIC']:.1f} with {large['n_train']:,.0f}. "
        "All of it linear, on the embedded corpus (synthetic)."
    ).replace("LIC -", "LIC −")


def _direction(row: pd.Series) -> str:
    """What an interval of the bias allows one to say."""
    if row["bias, high"] < 0:
        return "LIC finds too little"
    return "LIC finds too much" if row["bias, low"] > 0 else "no bias of LIC shows"


def _between(row: pd.Series) -> str:
    return f"{row['bias, low']:.1f} to {row['bias, high']:.1f}".replace("-", "−")


def live(gains: Iterable[float], images: int, corpus_seeds: Iterable[int]) -> pd.DataFrame:
    """The gain part of the grid, computed now on other corpora than the recorded ones."""
    rows = [
        row
        for gain in gains
        for seed in corpus_seeds
        for row in measure(replace(BASE, gain=float(gain), images=images), seed)
    ]
    return pd.DataFrame(rows).assign(source=THIS_BUILD)


def beside_recorded(now: pd.DataFrame, grid: pd.DataFrame, images: int) -> pd.DataFrame:
    """This build's LIC by gain beside the recorded one at the same size, told apart by `source`."""
    here = grid[(grid["images"] == images) & (grid["classifier"] == BASE.classifier)]
    base = (here["stock"] == BASE.stock) & (here["vocabulary"] == BASE.vocabulary)
    here = here[base & (here["recipe"] == BASE.recipe) & here["gain"].isin(now["gain"])]
    parts = [frame[frame["score"].isin(["plain", "scaled"])] for frame in (now, here)]
    tables = [
        calibration_grid.bias_table(part, ["gain", "score"]).assign(source=part["source"].iloc[0])
        for part in parts
        if len(part)
    ]
    table = pd.concat(tables, ignore_index=True)
    columns = ["source", *[c for c in table if c != "source"]]
    return table[columns].sort_values(["gain", "score", "source"], ignore_index=True)


def classifier_sentence(table: pd.DataFrame) -> str:
    """LIC by each classifier that is recorded, and which ones are not."""
    plain = table[(table["score"] == "plain") & (table["gain"] == BASE.gain)]
    told = [
        f"{row['classifier']} {row['LIC']:.1f} (corpora: {row['corpora']:.0f})"
        for _, row in plain.iterrows()
    ]
    first = plain.iloc[0]
    text = (
        f"True LIC {first['true LIC']:.1f}, about {first['n_train']:,.0f} training captions, {NAME}: "
        f"{', '.join(told)}."
    )
    missing = [name for name in CLASSIFIERS if name not in set(table["classifier"])]
    if missing:
        text += (
            f" **Not recorded yet: {', '.join(missing)}**; "
            "`relic calibrate grid --classifier NAME` computes one."
        )
    return text


def null_headline(study: pd.DataFrame, zeros: pd.DataFrame, chance: pd.DataFrame) -> str:
    """The null checks in three sentences."""
    parts = [headline(study)]
    kept = zeros[(zeros["source"] == RECORDED) & (zeros["classifier"] == MAIN)]
    if len(kept):
        sizes = ", ".join(f"{row['largest |LIC|']:.1f} ({row['attribute']})" for _, row in kept.iterrows())  # fmt: skip
        parts.append(
            f"- **Human against human** ({kept['corpus'].iloc[0]}, {MAIN}, {kept['seeds'].min():.0f} splits): {kept['miss 0'].sum():.0f} of "
            f"{kept['intervals'].sum():.0f} intervals miss 0; the largest LIC among people is {sizes} points."
        )
    for (source, corpus), part in chance.groupby(["source", "corpus"], sort=False):
        parts.append(
            f"- **Labels at random** ({corpus}, {source}, {part['runs'].sum():.0f} runs): accuracy {part['accuracy'].min():.1f} to "
            f"{part['accuracy'].max():.1f} %, by attribute and captions; {_misses(part)}. The score is {part['score'].min():.1f} to {part['score'].max():.1f}, not "
            "25: a classifier that knows nothing is a little sure of it all the same."
        )
    return "\n".join([parts[0], "", *parts[1:]])


def _misses(chance: pd.DataFrame) -> str:
    apart = ((chance["accuracy, low"] > 50) | (chance["accuracy, high"] < 50)).sum()
    return f"{apart} of {len(chance)} intervals miss 50"
