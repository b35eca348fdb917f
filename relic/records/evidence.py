"""Lic tables of every source: the papers' printed tables, Türk et al.'s spreadsheet, our records."""

from functools import cache

import pandas as pd

from relic.judge import claims
from relic.judge.lic import ALL, KIND, lic_table
from relic.records.published import published
from relic.records.serve import recorded

PAPER_SEEDS, PAPER_TEST = 10, {"gender": 662, "race": 220, "age": 488}
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
    lic = published("lic")
    keys = ["source", "attribute", "classifier", "captioner"]
    plain = lic[lic["variant"].isna()]
    wide = plain.pivot_table(index=keys, columns="metric", values=["mean", "std"]).reset_index()
    means = {"lic_model": "LIC_M", "lic_data": "LIC_D", "lic": "LIC"}
    columns = {name: wide[name] for name in keys}
    columns |= {name: wide["mean", metric] for name, metric in means.items()}
    columns |= {"std_model": wide["std", "LIC_M"], "std_data": wide["std", "LIC_D"]}
    frame = pd.DataFrame(columns)
    return _published(frame.assign(seed=pd.NA, n_seeds=PAPER_SEEDS), attribute)


def spreadsheet(attribute: str = "") -> pd.DataFrame:
    """Türk et al.'s values by split. That its rows are seeds in order is not proven."""
    keys = ["attribute", "classifier", "captioner", "row"]
    wide = (
        published("lic_per_seed").pivot(index=keys, columns="metric", values="value").reset_index()
    )
    wide = wide.rename(columns={"row": "seed", "LIC_M": "lic_model", "LIC_D": "lic_data"})
    lic = wide["lic_model"] - wide["lic_data"]
    return _published(wide.assign(lic=lic, source=SHEET), attribute)


def _published(frame: pd.DataFrame, attribute: str) -> pd.DataFrame:
    frame = frame[frame["attribute"] == attribute] if attribute else frame
    return frame.assign(
        corpus="published",
        classifier=frame["classifier"].str.lower(),
        seen=ALL,
        n_test=frame["attribute"].map(PAPER_TEST),
    )


@cache
def ours() -> pd.DataFrame:
    """Recorded runs on paired splits as lic tables: every attribute and classifier."""
    return lic_table(recorded()).assign(source=OURS)


def everything() -> pd.DataFrame:
    """Lic tables of all sources, told apart by `source`."""
    parts = [ours(), papers(), spreadsheet()]
    return pd.concat([part.astype({"seed": "Int64"}) for part in parts], ignore_index=True)


def judge_all(lic: pd.DataFrame | None = None) -> pd.DataFrame:
    """Every claim on every source and classifier that can carry it: a row each."""
    lic, rows = everything() if lic is None else lic, []

    def told(verdict: claims.Verdict, claim: str, about: dict) -> None:
        rows.append(about | vars(verdict) | {"claim": claim, "statement": verdict.claim})

    by = ["source", *KIND]
    for values, part in lic.groupby(by, sort=False):
        about = dict(zip(by, values, strict=True))
        told(claims.amplification(part), "2", about)
        if set(claims.PAIRS[0]) <= set(part["captioner"]):
            told(claims.equalizer(part), "4", about)
    over = [name for name in by if name != "attribute"]
    for values, part in lic.groupby(over, sort=False):
        gender, race = (part[part["attribute"] == name] for name in ("gender", "race"))
        if len(gender) and len(race):
            about = dict(zip(over, values, strict=True)) | {"attribute": "race"}
            told(claims.less_than_gender(gender, race, "lic_model"), "3 (LIC_M)", about)
            told(claims.less_than_gender(gender, race, "lic"), "3 (LIC)", about)
    over = [name for name in by if name != "classifier"]
    for values, part in lic.groupby(over, sort=False):
        if part["seed"].notna().all() and len(claims.agreement(part)):
            every = ", ".join(part["classifier"].unique())
            told(
                claims.same_order(part),
                "1",
                dict(zip(over, values, strict=True)) | {"classifier": every},
            )
    columns = "claim word estimate low high whose seeds n_test surely captioners statement"
    return pd.DataFrame(rows)[[*by, *columns.split()]]
