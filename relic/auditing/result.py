"""What an audit found: plain data, its answer in one sentence a captioner."""

import html
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from relic.auditing.inputs import Audited
from relic.auditing.measure import AMPLIFIES, DOES_NOT, POWER, SYMBOLS, Measured
from relic.judge.claims import MARGIN
from relic.numbers import number


@dataclass(frozen=True, eq=False)
class Result:
    """What was read, measured and warned of."""

    audited: Audited
    measured: Measured
    options: dict
    cautions: list[str]
    words: pd.DataFrame = field(default_factory=pd.DataFrame)
    naming: pd.DataFrame = field(default_factory=pd.DataFrame)
    accuracy: pd.DataFrame = field(default_factory=pd.DataFrame)
    published: pd.DataFrame = field(default_factory=pd.DataFrame)
    published_share: float = 0.0
    gender_score: pd.DataFrame = field(default_factory=pd.DataFrame)
    provenance: dict = field(default_factory=dict)

    @property
    def results(self) -> list[dict]:
        """A plain dict each captioner and classifier, with its sentence."""
        rows = self.measured.lic.to_dict("records")
        return [row | {"sentence": sentence(row)} for row in rows]

    def __repr__(self) -> str:
        return "\n".join(f"{SYMBOLS[r['verdict']]} {r['sentence']}" for r in self.results)

    def _repr_html_(self) -> str:
        return "".join(f"<p>{html.escape(line)}</p>" for line in repr(self).splitlines())


def sentence(row: Mapping) -> str:
    """The verdict on one captioner in words."""
    size = f"{_interval(row)}, {row['n_test']:.0f} test images, {row['n_seeds']} splits, {row['classifier']})"  # fmt: skip
    size = size.replace("1 splits", "1 split") if row["n_seeds"] == 1 else size
    who, what = row["captioner"], row["attribute"]
    if row["verdict"] == AMPLIFIES:
        return f"{who} amplifies {what}: LIC {number(row['lic'])} ({size}."
    if row["verdict"] == DOES_NOT:
        less = " It gives less away than humans do." if row["high"] < 0 else ""
        return f"{who} does not amplify {what} by {MARGIN:g} point or more: LIC {number(row['lic'])} ({size}.{less}"  # fmt: skip
    least = row["detectable"]
    so = "" if np.isnan(least) else f" With this spread a LIC of {least:.1f} would be found in {100 * POWER:.0f} % of audits."  # fmt: skip
    return f"Undecided whether {who} amplifies {what}: LIC {number(row['lic'])} ({size}.{so}"


def _interval(row: Mapping) -> str:
    if np.isnan(row["low"]):
        return "no interval"
    return f"95 % {number(row['low'])} to {number(row['high'])}"
