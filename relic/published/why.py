"""The last table: why the papers disagree, each cause with its cells, its size and its evidence."""

import pandas as pd

from relic.published import CELL
from relic.published.causes import rerun_noise, wide_spreads
from relic.published.compare import main_cells
from relic.published.report import Findings, cell_name, points, rms, signed

COLUMNS = ["cause", "which cells", "size", "how we know"]


def why(findings: Findings, bleu: pd.DataFrame) -> pd.DataFrame:
    """One row a cause; `bleu` is the frame of `accuracy.both_ways`."""
    slips = [_slip(findings, row) for row in findings.slips.to_dict("records")]
    rows = [_recipe(findings), *slips, _truncation(findings), _rerun(findings), _wide(findings)]
    return pd.DataFrame([*rows, _characters(bleu)], columns=COLUMNS)


def _recipe(findings: Findings) -> tuple[str, ...]:
    low, high = findings.gap["BERT-pre"]
    cells = main_cells(findings.lic)
    cells = cells[(cells["source"] == "relic2023") & (cells["classifier"] == "BERT-pre")]
    pairs = findings.pairs[findings.pairs["papers"].str.contains("RELIC")]
    rest = pairs[pairs["classifier"] != "BERT-pre"]["beyond"]
    mine, theirs = map(findings.recipe_in_words, ("relic2023", "hirota2022"))
    return (
        "Another recipe for BERT-pre",
        f"RELIC: all {(cells['metric'] != 'LIC').sum()} cells of LIC_M and LIC_D",
        f"{signed(low)} to {signed(high)} points",
        f"its public code has {mine}, the others' {theirs}; of {len(rest)} comparisons of RELIC's "
        f"LSTM and BERT-ft {rest.sum()} lie beyond the spread. Trained again here with another encoder: see *BERT-pre: does the recipe explain it?*",
    )


def _slip(findings: Findings, row: dict) -> tuple[str, ...]:
    if row["printed"] > row["largest seed"]:
        cause = "A mean of the wrong cells"
        how = f"above the largest of its {row['n']} seeds, {row['largest seed']}; which cells were averaged is not known"
    elif row["same as"] != "none" and not row["± by truncation"]:
        cause = f"A copy of {row['same as']}'s cell, most likely"
        how = f"same mean and ±, and neither is that of its {row['n']} seeds ({row['sheet']:.2f} ± {row['sheet ±']:.2f})"
    else:
        cause = "Unknown"
        how = f"the {row['n']} seeds give {row['sheet']:.2f} ± {row['sheet ±']:.2f}; same as printed for: {row['same as']}"
    printed, sheet = (findings.printed_lic(f, row) for f in (findings.lic, findings.fixed))
    size = (
        f"{row['printed']} printed, {row['sheet']:.1f} by the seeds; LIC {printed} and {sheet:.1f}"
    )
    return cause, f"Türk et al.: {cell_name(row)}", size, how


def _truncation(findings: Findings) -> tuple[str, ...]:
    against = findings.against
    cut = against[against["truncation"] & ~against["rounding"]]
    return (
        "Truncation instead of rounding",
        f"Türk et al.: {len(cut)} of {len(against)} means",
        f"{points((cut['sheet'] - cut['printed']).max(), 2)} points at most",
        "the per-seed values, averaged",
    )


def _rerun(findings: Findings) -> tuple[str, ...]:
    noise = rerun_noise(findings.lic)
    moved = noise[~noise["same in all digits"]]["difference"]
    return (
        "A second run with the same seeds",
        "every cell that was run again",
        f"{points(moved.abs().max())} points at most, {points(rms(moved))} in root mean square, n = {len(moved)}",
        "RELIC's tables 3 and 4 share LIC_M",
    )


def _wide(findings: Findings) -> tuple[str, ...]:
    wide = wide_spreads(findings.lic)
    cells = "; ".join(dict.fromkeys(wide[CELL[:3]].agg(", ".join, axis=1))) or "none"
    gaps, spreads = wide["difference"], wide["± (RELIC)"]
    return (
        "Unknown",
        f"RELIC: {cells}",
        f"{signed(gaps.min())} to {signed(gaps.max())} points, ± {spreads.min()} to {spreads.max()}",
        "their ± stands far above Hirota et al.'s, which hides the difference from our rule; no per-seed values are published",
    )


def _characters(bleu: pd.DataFrame) -> tuple[str, ...]:
    known = bleu.dropna(subset="printed by Türk")
    shown = bleu if known.empty else known
    words, characters = (f"{shown[u].min():.1f} to {shown[u].max():.1f}" for u in ("words", "characters"))  # fmt: skip
    size = f"words {words}, characters {characters}, n = {shown['images'].max()} images"
    if known.empty:
        return (
            "BLEU-4 of characters, not of words",
            "Türk et al.: BLEU-4 column",
            f"{size} (synthetic captions)",
            "public code; the printed column itself is computed again on the page *Accuracy and bias*",
        )
    off = (known["characters"] - known["printed by Türk"]).abs().max()
    return (
        "BLEU-4 of characters, not of words",
        f"Türk et al.: BLEU-4 of {len(known)} captioners",
        size,
        f"public code; characters come within {points(off)} points of the printed column",
    )
