"""The page's sentences. Every number in them is computed when the page is built."""

import numpy as np
import pandas as pd

from relic.published import CELL, published
from relic.published.causes import (
    corrected,
    equalizer_race,
    race_against_gender,
    recipe_gap,
    rerun_noise,
)
from relic.published.compare import differences, main_cells
from relic.published.sheet import (
    how_printed,
    printed_against_sheet,
    ranges_giving,
    repeats,
    unexplained,
)


class Findings:
    """All that the page says, from the papers' cells, the sheet and the recipes."""

    def __init__(self, lic: pd.DataFrame, per_seed: pd.DataFrame, recipes: pd.DataFrame):
        self.lic, self.per_seed, self.recipes = lic, per_seed, recipes
        self.pairs, self.fixed = differences(lic), corrected(lic, per_seed)
        self.against = printed_against_sheet(lic, per_seed)
        self.slips = unexplained(self.against)
        gaps = recipe_gap(lic).set_index("captioner")
        self.gap = {
            name: (gaps[f"{name}, lowest"].min(), gaps[f"{name}, highest"].max())
            for name in ("LSTM", "BERT-ft", "BERT-pre")
        }

    @classmethod
    def of_papers(cls) -> "Findings":
        """From the project's own files."""
        return cls(published("lic"), published("lic_per_seed"), published("recipes"))

    def answer(self) -> str:
        """The page in two sentences."""
        beyond = self.pairs[self.pairs["beyond"]]
        ours = relic_pre(beyond)
        left = differences(self.fixed)
        left = left[left["beyond"] & ~relic_pre(left)]
        low, high = self.gap["BERT-pre"]
        inside = len(self.pairs) - len(beyond)
        return (
            f"Two papers' values of a cell lie within their printed spread in **{inside} of "
            f"{len(self.pairs)}** comparisons, and **{int(ours.sum())} of the other {len(beyond)}** "
            f"involve one column: RELIC's BERT-pre, trained with "
            f"{self.recipe_in_words('relic2023')} instead of {self.recipe_in_words('hirota2022')}, "
            f"lies {points(-high)} to {points(-low)} points under the other papers on LIC_M and "
            f"LIC_D. Of the remaining {int((~ours).sum())}, **{len(left)}** are left once "
            f"{len(self.slips)} cells of Türk et al. are replaced by the means of their own seeds; "
            f"{self._slip_in_words()}."
        )

    def brief(self) -> str:
        """How far the papers agree, and what most of the rest comes from, in one sentence."""
        beyond = self.pairs[self.pairs["beyond"]]
        return (
            f"They agree within their printed spread in {len(self.pairs) - len(beyond)} of {len(self.pairs)} comparisons. "
            f"{int(relic_pre(beyond).sum())} of the other {len(beyond)} involve RELIC's BERT-pre, trained for "
            f"{self.recipe_in_words('relic2023')} instead of {self.recipe_in_words('hirota2022')}."
        )

    def recipe(self) -> str:
        """Cause (a): what RELIC's BERT-pre column shows."""
        ranges = {name: f"{signed(a)} to {signed(b)}" for name, (a, b) in self.gap.items()}
        lic = self.pairs[
            (self.pairs["papers"] == "Hirota – RELIC")
            & (self.pairs["classifier"] == "BERT-pre")
            & (self.pairs["metric"] == "LIC")
        ]["difference"]
        return (
            f"RELIC minus the other papers, LIC_M and LIC_D: **{ranges['BERT-pre']}** points for "
            f"BERT-pre, against {ranges['LSTM']} for the LSTM and {ranges['BERT-ft']} for BERT-ft. "
            f"BERT-pre had {self.recipe_in_words('relic2023')} in RELIC's public code and "
            f"{self.recipe_in_words('hirota2022')} in the others'. Both scores fall, so LIC moves less: "
            f"{signed(lic.min())} to {signed(lic.max())} against Hirota et al., "
            f"median {signed(lic.median())} (n = {len(lic)})."
        )

    def impossible(self) -> str:
        """Cause (b): a printed mean that its own seeds cannot give."""
        over = self.slips[self.slips["printed"] > self.slips["largest seed"]]
        if over.empty:
            return "Every printed mean lies within its own per-seed values."
        row = over.iloc[0].to_dict()
        found = ranges_giving(self.per_seed, row, row["printed"])
        near = [
            len(ranges_giving(self.per_seed, row, round(row["printed"] + step, 1)))
            for step in (-0.1, 0.1)
        ]
        ten = int((found["cells"] == row["n"]).sum())
        before, after = (self._worst(frame, row["classifier"]) for frame in (self.lic, self.fixed))
        moral = "" if before == after else f"; the paper's text explains why it is {before}"
        return (
            f"{cell_name(row)} is printed as **{row['printed']}**. Its {row['n']} per-seed values "
            f"average {row['sheet']:.1f}, and the largest is {row['largest seed']}: no average of "
            f"them is {row['printed']}. The printed ± {row['printed ±']} does fit them "
            f"({row['sheet ±']:.2f}). With the sheet's mean, LIC is "
            f"**{self.printed_lic(self.fixed, row)}**, not {self.printed_lic(self.lic, row)}, and the captioner "
            f"with the largest {row['classifier']} LIC is {after}{moral}.\n\n"
            f"Can the range be found? {len(found)} runs of 2 to 20 consecutive cells around that "
            f"column give {row['printed']}; {ten} of them have {row['n']} cells. Next to it "
            f"{near[0]} runs give {row['printed'] - 0.1:.1f} and {near[1]} give "
            f"{row['printed'] + 0.1:.1f}, so such a match says little. The values do not tell "
            "which cells were averaged."
        )

    def repeated(self) -> str:
        """Cause (c): cells that another captioner's row repeats."""
        twins = self.slips[self.slips["same as"] != "none"]
        all_of_them, good = repeats(self.against)
        lines = [
            f"{all_of_them} of Türk et al.'s {len(self.against)} printed cells have the same mean and "
            f"± as another captioner in their column. The sheet bears out {good} of them, so a "
            f"repeat alone proves nothing. It does not bear out {len(twins)}:",
            "",
        ]
        for row in twins.to_dict("records"):
            lines.append(
                f"- {cell_name(row)}: printed **{row['printed']} ± {row['printed ±']}**, as "
                f"{row['same as']}; the sheet gives **{row['sheet']:.1f} ± {row['sheet ±']:.1f}** "
                f"(n = {row['n']}), {signed(row['printed − sheet'], 2)} printed minus sheet."
            )
        return "\n".join(lines)

    def slip_table(self) -> pd.DataFrame:
        """The cells that their seeds do not give, one column for the cell's name."""
        cells = [cell_name(row) for row in self.slips.to_dict("records")]
        table = self.slips.drop(columns=[*CELL, "± by truncation"])
        table.insert(0, "cell", cells)
        return table

    def printing(self) -> str:
        """Truncation against rounding."""
        means = how_printed(self.against).iloc[0]
        both, cut = means["truncation and rounding"], means["truncation only"]
        rounding = both + means["rounding only"]
        return (
            f"Of {means['cells']} printed means of Türk et al. truncation of the sheet's mean "
            f"gives **{both + cut}**, rounding **{rounding}**; {means['neither']} come from "
            f"neither. Truncated values lie up to 0.1 too low, "
            f"{(self.against['sheet'] - self.against['printed'])[self.against['truncation']].mean():.2f}"
            " on average."
        )

    def noise(self) -> str:
        """What a second run of the same experiment changes."""
        runs = rerun_noise(self.lic)
        moved, spread = runs[~runs["same in all digits"]]["difference"], runs["± (3)"]
        lic = self.lic[(self.lic["table"] == "table4") & (self.lic["metric"] == "LIC")]
        low = lic[lic["mean"] < 0]
        names = ", ".join(f"{c} ({k}) {signed(m)}" for c, k, m in
                          zip(low["captioner"], low["classifier"], low["mean"], strict=True))  # fmt: skip
        return (
            f"RELIC's tables 3 and 4 (age) differ in the words kept in human captions only, so LIC_M is "
            f"one experiment run twice. {len(runs) - len(moved)} of {len(runs)} cells are the same in "
            f"all digits, spread included, and may be the same runs. The other {len(moved)} differ "
            f"by at most **{points(moved.abs().max())}** points, "
            f"{points(rms(moved))} in root mean square. That is what a rerun with the same seeds "
            f"moves; the seeds of one table spread by ± {spread.min()} to {spread.max()}. Table 4 is said to support the claims; "
            f"{len(low)} of its {len(lic)} LIC are below zero: {names}."
        )

    def claim3(self) -> str:
        """Claim 3 has two verdicts: on LIC_M and on LIC."""
        table = race_against_gender(self.lic)
        sums = table.groupby("metric")[["captioners", "race lower", "equal", "race higher"]].sum()
        told = {
            metric: f"**{row['race lower']} of {row['captioners']}** (equal in {row['equal']}, "
            f"higher in {row['race higher']}): the claim, made for all captioners, "
            + ("holds" if row["race lower"] == row["captioners"] else "fails")
            for metric, row in sums.iterrows()
        }
        wide = main_cells(self.lic).pivot(
            index=["source", "classifier", "metric", "captioner"],
            columns="attribute",
            values="mean",
        )
        gaps = (wide["race"] - wide["gender"]).groupby("metric").median()
        return (
            f"Race is lower than gender on LIC_M in {told['LIC_M']}. On LIC it is lower in "
            f"{told['LIC']}. The median of race minus gender is {signed(gaps['LIC_M'])} for LIC_M, "
            f"{signed(gaps['LIC_D'])} for LIC_D and {signed(gaps['LIC'])} for LIC: most of what LIC_M "
            "shows is in the human captions too."
        )

    def claim4(self) -> str:
        """Claim 4, race: direction of the change from NIC+ to NIC+Equalizer."""
        table = equalizer_race(self.lic, self.per_seed)
        up = table[table["change"] > 0]
        rises = "; ".join(
            f"{row['paper']}, {row['classifier']}: {row['NIC+']} to {row['NIC+Equalizer']}"
            for row in up.to_dict("records")
        )
        inside = int((table["change"].abs() <= table["spread"]).sum())
        return (
            f"LIC for race rises from NIC+ to NIC+Equalizer in **{len(up)}** of {len(table)} rows "
            f"({rises or 'none'}). All the same, {inside} of {len(table)} changes lie within the "
            f"spread, so the printed numbers give the change no sign."
        )

    def recipe_in_words(self, source: str) -> str:
        """A paper's recipe for BERT-pre."""
        row = self.recipes[
            (self.recipes["source"] == source) & (self.recipes["classifier"] == "BERT-pre")
        ].iloc[0]
        rate = f"{row['learning_rate']:.0e}".replace("e-0", "e-")
        return f"{row['epochs']} epochs at {rate}"

    def _slip_in_words(self) -> str:
        if self.slips.empty:
            return "no cell of theirs is off"
        row = self.slips.loc[self.slips["printed − sheet"].abs().idxmax()].to_dict()
        return (
            f"the largest slip prints a LIC of {self.printed_lic(self.lic, row)} for "
            f"{row['captioner']} ({row['attribute']}, {row['classifier']}) where its own {row['n']} seeds give "
            f"{self.printed_lic(self.fixed, row)}"
        )

    def printed_lic(self, frame: pd.DataFrame, row: dict) -> float:
        """Türk et al.'s LIC of a cell's captioner, as printed or corrected."""
        cells = main_cells(frame[frame["source"] == "turk2023"]).set_index(CELL)
        return cells.loc[(row["attribute"], row["classifier"], row["captioner"], "LIC"), "mean"]

    def _worst(self, frame: pd.DataFrame, classifier: str) -> str:
        cells = main_cells(frame[frame["source"] == "turk2023"])
        cells = cells[(cells["classifier"] == classifier) & (cells["metric"] == "LIC")]
        row = cells[cells["attribute"] == "gender"].set_index("captioner")["mean"]
        return f"{row.idxmax()} ({row.max()})"


def relic_pre(pairs: pd.DataFrame) -> pd.Series:
    """Which comparisons have RELIC's BERT-pre on one side?"""
    return pairs["papers"].str.contains("RELIC") & (pairs["classifier"] == "BERT-pre")


def cell_name(row: dict) -> str:
    """A cell of the tables in words.

    >>> cell_name(dict(captioner="NIC", attribute="race", classifier="LSTM", metric="LIC_M"))
    'NIC, race, LSTM, LIC_M'
    """
    return ", ".join(row[name] for name in ("captioner", "attribute", "classifier", "metric"))


def points(value: float, decimals: int = 1) -> str:
    """A number of points.

    >>> points(4.2000000000000028)
    '4.2'
    """
    return f"{value:.{decimals}f}"


def signed(value: float, decimals: int = 1) -> str:
    """A difference with its sign, zero without.

    >>> signed(-9.6), signed(1.9), signed(-0.01)
    ('−9.6', '+1.9', '0.0')
    """
    text = f"{value:+.{decimals}f}".replace("-", "−")
    return text[1:] if not text.strip("+−0.") else text


def rms(values: pd.Series) -> float:
    """Root mean square.

    >>> rms(pd.Series([3.0, -4.0]))
    3.5355339059327378
    """
    return float(np.sqrt((values**2).mean()))
