"""A real audit for the tutorial: three captioners' results files on COCO's Karpathy test split.

Its numbers are kept in `results/audit/`; `python -m relic.auditing.recorded` computes them again. So is
`scale.csv`, which the package carries: what the papers' captioners score, for a sense of size.
"""

import pandas as pd

from relic import paths
from relic.auditing.audit import Audit, audit
from relic.data.attribute import known_attributes
from relic.data.load import real_directory
from relic.errors import RelicError
from relic.judge.lic import intervals, lic_table
from relic.records import tables as records
from relic.records.serve import recorded

SCALE = paths.PACKAGE / "auditing" / "scale.csv"

RECORD, PART = "audit", "karpathy_test"
FILES = {
    "OFA-large": "captioners/ofa_large.json",
    "GAIC": "coco/results_karpathy_test_gaic.json",
    "GAICes": "coco/results_karpathy_test_gaices.json",
}
LABELS = "bias_data/Show-Attend-Tell/gender_val_sat_cap_mw_entries.pkl"
HUMAN = "coco/captions_karpathy_test.json"


def arguments() -> dict:
    """Files of the tutorial's audit under RELIC_DATA; empty where one is missing."""
    place = real_directory()
    if not all((place / file).is_file() for file in (*FILES.values(), LABELS, HUMAN)):
        return {}
    captions = [f"{name}={place / file}" for name, file in FILES.items()]
    return {"captions": captions, "labels": str(place / LABELS), "human": str(place / HUMAN)}


def compute(**options) -> Audit:
    """The audit of the tutorial, on the real captions."""
    files = arguments()
    if not files:
        raise RelicError(
            "not all files of the tutorial's audit are there",
            expected=", ".join((*FILES.values(), LABELS, HUMAN)),
            mend="relic data check DIR tells what is missing",
        )
    return audit(**files, **options)


def frame(found: Audit) -> pd.DataFrame:
    """Numbers only: a row each captioner, on all and on unseen test captions."""
    rows = []
    for row in found.parts[0].measured.lic.to_dict("records"):
        unseen = row.pop("unseen")
        rows += [row | {"seen": "all"}, row | unseen | {"seen": "unseen"}]
    return pd.DataFrame(rows)


def scale() -> pd.DataFrame:
    """Recorded LIC of the papers' captioners, linear, by attribute."""
    known = [recorded(attribute=name, classifier="linear") for name in known_attributes()]
    table = pd.concat(intervals(lic_table(runs)) for runs in known)
    kept = ["attribute", "captioner", "lic_model", "lic_data", "lic", "low", "high"]
    return table.rename(columns={"seeds": "n_seeds"})[[*kept, "n_seeds", "n_test"]].round(4)


def main() -> None:
    """Record the tutorial's audit and the scale."""
    scale().to_csv(SCALE, index=False)
    print(records.write_record(RECORD, PART, frame(compute(with_accuracy=False))))


if __name__ == "__main__":
    main()
