"""A real audit for the tutorial: two captioners' results files on COCO's Karpathy test split.

Its numbers are kept in `results/audit/`; `python -m relic.auditing.recorded` computes them again.
"""

import pandas as pd

from relic import records
from relic.auditing.audit import Audit, audit, sentence
from relic.data.load import real_directory
from relic.errors import RelicError
from relic.page import table_html

RECORD, PART = "audit", "karpathy_test"
FILES = {
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
    """Numbers only: a row each captioner and variant."""
    rows = []
    for row in found.measured.lic.to_dict("records"):
        unseen = row.pop("unseen")
        rows += [row | {"variant": "standard"}, row | unseen | {"variant": "unseen"}]
    return pd.DataFrame(rows)


def example() -> str:
    """The tutorial's result, for the book."""
    kept = records.read_record(RECORD)
    if kept.empty:
        return "*Not recorded: `RELIC_DATA=DIR python -m relic.auditing.recorded` records it.*"
    said = [f"> {sentence(row)}" for row in kept[kept["variant"] == "standard"].to_dict("records")]
    names = {"lic_model": "LIC_M", "lic_data": "LIC_D", "lic": "LIC", "low": "95 % low", "high": "95 % high",
             "n_test": "test images", "variant": "captions"}  # fmt: skip
    table = kept.rename(columns=names)[["captioner", "captions", "LIC_M", "LIC_D", "LIC", "95 % low", "95 % high", "test images", "verdict"]]  # fmt: skip
    table["test images"] = table["test images"].round().astype(int)
    table["captions"] = table["captions"].replace({"standard": "all"})
    images = int(kept["n_images"].iloc[0])
    caption = f"COCO captions, gender, {images:,} images of the Karpathy test split, linear, ten splits; recorded."  # fmt: skip
    return "\n>\n".join(said) + "\n\n" + table_html(table, "audit_example.csv", caption)


def main() -> None:
    """Record the tutorial's audit."""
    print(records.write_record(RECORD, PART, frame(compute(with_accuracy=False))))


if __name__ == "__main__":
    main()
