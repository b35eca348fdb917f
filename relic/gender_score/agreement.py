"""Does the Gender Score agree with LIC? Captioners in order of one, against their order by the other."""

import pandas as pd

from relic import paths
from relic.evidence import MAIN, from_runs
from relic.gender_score.tables import DISTANCE, ESTIMATED, SCORE
from relic.results import load_runs
from relic.stats import rank_correlation

OURS = "our runs, linear"
QUANTITIES = {  # what a captioner's Gender Score may be: (table, method, column)
    "ratio to men": ("scores", SCORE, "to_m"),
    "ratio to men, distance": ("scores", DISTANCE, "to_m"),
    "ratio to men, estimation": ("estimation", ESTIMATED, "to_m"),
    "estimation agrees": ("estimation", ESTIMATED, "agreement"),
}
HEADLINE = "ratio to men"  # chosen before the correlations were computed: table 3's bias ratio


def captioner_lic() -> pd.DataFrame:
    """Gender LIC of the nine captioners: our recorded linear runs, and the papers' LSTM.

    Ours: mean over ten seeds of LIC_M less LIC_D, paired splits, 7,906 images.
    """
    ours = from_runs(load_runs(), attribute="gender", classifier=MAIN)
    ours = ours[ours["variant"] == "standard"].groupby("captioner")["lic"].mean()
    frames = [ours.rename("LIC").reset_index().assign(lic=OURS)]
    table = pd.read_csv(paths.PUBLISHED / "lic.csv")
    table = table[
        (table["attribute"] == "gender") & (table["classifier"] == "LSTM")
        & (table["metric"] == "LIC") & table["variant"].isna()
    ]  # fmt: skip
    for source in ("hirota2022", "relic2023", "turk2023"):
        rows = table[table["source"] == source][["captioner", "mean"]]
        frames.append(rows.rename(columns={"mean": "LIC"}).assign(lic=f"{source}, LSTM"))
    return pd.concat(frames, ignore_index=True)


def lic_agreement(scores: pd.DataFrame, estimation: pd.DataFrame) -> pd.DataFrame:
    """Spearman's ρ over captioners of each quantity with each LIC, by language model and encoder."""
    tables, lic, rows = {"scores": scores, "estimation": estimation}, captioner_lic(), []
    for quantity, (table, method, column) in QUANTITIES.items():
        frame = tables[table]
        frame = frame[frame["method"] == method]
        for (corpus, prior, encoder), part in frame.groupby(
            ["corpus", "prior", "encoder"], sort=False
        ):
            values = part.set_index("captioner")[column]
            for name, other in lic.groupby("lic", sort=False):
                both = other.set_index("captioner")["LIC"].to_frame().join(values, how="inner")
                if len(both) >= 5:
                    found = rank_correlation(both[column], both["LIC"])
                    rows.append({"quantity": quantity, "LIC of": name, **found, "prior": prior, "encoder": encoder, "corpus": corpus})  # fmt: skip
    return pd.DataFrame(rows)


def choice_agreement(tables: pd.DataFrame, column: str = "to_m", method: str = SCORE) -> pd.DataFrame:  # fmt: skip
    """How far language model and encoder move a captioner's value, and their order.

    Against the first choice in the table: ρ over captioners and the largest shift.
    """
    frame = tables[tables["method"] == method].reset_index(drop=True)
    frame["choice"] = _choice(frame)
    wide = frame.pivot_table(index="captioner", columns="choice", values=column, sort=False)
    first = wide.columns[0]
    rows = []
    for choice in wide.columns[1:]:
        shift = (wide[choice] - wide[first]).abs().max()
        found = rank_correlation(wide[first], wide[choice])
        rows.append({"against": first, "choice": choice, **found, "largest shift": shift})
    return pd.DataFrame(rows)


def _choice(tables: pd.DataFrame) -> pd.Series:
    images = tables["corpus"].str.extract(r"([\d,]+) images")[0]
    return tables["prior"] + ", " + tables["encoder"] + ", " + images + " images"
