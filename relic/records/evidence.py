"""Lic tables of every source: the papers' printed tables, Türk et al.'s spreadsheet, our records."""

from functools import cache

import pandas as pd

from relic.judge import claims
from relic.judge.lic import ALL, KIND, lic_table
from relic.records.serve import recorded
from relic.records.tables import published

PAPER_SPLITS, PAPER_TEST = 10, {"gender": 662, "race": 220, "age": 488}
PAPERS = {
    "hirota2022": "Hirota et al. 2022",
    "relic2023": "Antequera et al. 2023",
    "turk2023": "Türk et al. 2023",
}
SHEET = "turk2023 spreadsheet"  # its values by split; the others are printed means and spreads
OURS = "recorded"
MAIN = "linear"  # the primary family: the classifier that everything is recorded for


def papers(attribute: str = "") -> pd.DataFrame:
    """The papers' tables as lic tables with `source`: means and standard deviations over ten splits."""
    lic, keys = published("lic"), ["source", "attribute", "classifier", "captioner"]
    wide = lic[lic["variant"].isna()].pivot_table(["mean", "std"], keys, "metric")
    mean, std = wide["mean"], wide["std"]
    parts = {"lic_model": mean["LIC_M"], "lic_data": mean["LIC_D"], "lic": mean["LIC"]}
    parts |= {"std_model": std["LIC_M"], "std_data": std["LIC_D"]}
    frame = pd.DataFrame(parts).reset_index()
    return _published(frame.assign(seed=pd.NA, n_seeds=PAPER_SPLITS), attribute)


def spreadsheet(attribute: str = "") -> pd.DataFrame:
    """Türk et al.'s values by split. That its rows are seeds in order is not proven."""
    values, keys = published("lic_per_seed"), ["attribute", "classifier", "captioner", "row"]
    wide = values.pivot(index=keys, columns="metric", values="value").reset_index()
    wide = wide.rename(columns={"row": "seed", "LIC_M": "lic_model", "LIC_D": "lic_data"})
    lic = wide["lic_model"] - wide["lic_data"]
    return _published(wide.assign(lic=lic, source=SHEET), attribute)


def _published(frame: pd.DataFrame, attribute: str) -> pd.DataFrame:
    frame = frame[frame["attribute"] == attribute] if attribute else frame
    classifier, n_test = frame["classifier"].str.lower(), frame["attribute"].map(PAPER_TEST)
    return frame.assign(corpus="published", classifier=classifier, seen=ALL, n_test=n_test)


@cache
def ours() -> pd.DataFrame:
    """Recorded runs on paired splits as lic tables: every attribute and classifier.

    Without the tuned LSTM, which has two captioners: it is no evidence about every captioner.
    """
    runs = recorded().frame
    return lic_table(runs[runs["recipe"] != "tuned"]).assign(source=OURS)


def judge_all(lic: pd.DataFrame | None = None, ratio: float | None = None) -> pd.DataFrame:
    """Every claim on every source and classifier that can carry it: a row each. All sources by default.

    `ratio`: judge as if all had classes of this ratio, which sets what splits share (`stats.shared`).
    """
    if lic is None:
        sources = [ours(), papers(), spreadsheet()]
        lic = pd.concat([table.astype({"seed": "Int64"}) for table in sources], ignore_index=True)
    lic = lic if ratio is None else lic.assign(ratio=ratio)
    by, rows = ["source", *KIND], []

    def add(claim: str, part: pd.DataFrame, verdict: claims.Verdict, **differs) -> None:
        kind = part.iloc[0][by].to_dict() | differs
        rows.append(kind | vars(verdict) | {"claim": claim, "statement": verdict.claim})

    for _, part in lic.groupby(by, sort=False):
        add("2", part, claims.amplification(part))
        if set(claims.PAIRS[0]) <= set(part["captioner"]):
            add("4", part, claims.equalizer(part))
    for _, part in lic.groupby([name for name in by if name != "attribute"], sort=False):
        gender, race = (part[part["attribute"] == name] for name in ("gender", "race"))
        if len(gender) and len(race):
            for claim, quantity in {"3 (LIC_M)": "lic_model", "3 (LIC)": "lic"}.items():
                add(claim, race, claims.less_than_gender(gender, race, quantity))
    for _, part in lic.groupby([name for name in by if name != "classifier"], sort=False):
        first = tuple(f"{name} " for name in part["classifier"].unique())
        # without another recipe of one that is there
        part = part[~part["classifier"].str.startswith(first)]
        if part["seed"].notna().all() and len(pairs := claims.agreement(part)):
            used = sorted({*pairs["first"], *pairs["second"]})  # two splits or more
            add("1", part, claims.same_order(part), classifier=", ".join(used))
    columns = "claim word estimate low high whose seeds n_test surely captioners statement"
    return pd.DataFrame(rows)[[*by, *columns.split()]]
