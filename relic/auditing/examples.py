"""Files for an audit: any corpus as such files, an example, and the tutorial's real captioners."""

import atexit
import json
import re
import shutil
import tempfile
from pathlib import Path

import pandas as pd

from relic import paths
from relic.data.attribute import SHIPPED
from relic.data.corpus import Corpus
from relic.data.load import corpus_choice, data_directory
from relic.data.planted import planted_corpus
from relic.errors import RelicError

CAPTIONERS = {  # with results files on COCO's Karpathy test split, under RELIC_DATA
    "OFA-large": "captioners/ofa_large.json",
    "GAIC": "coco/results_karpathy_test_gaic.json",
    "GAICes": "coco/results_karpathy_test_gaices.json",
}
LABELS = "bias_data/Show-Attend-Tell/gender_val_sat_cap_mw_entries.pkl"
HUMAN = "coco/captions_karpathy_test.json"


def export(
    corpus: Corpus, directory: str | Path, captioners: list[str] | None = None
) -> list[Path]:
    """`NAME.json` a captioner, `labels.csv`, `human.json`, `objects.csv` where known, `NAME_vocabulary.txt`."""
    directory = Path(directory).expanduser()
    if directory.exists() and not (directory.is_dir() and not any(directory.iterdir())):
        raise RelicError(f"{directory} is not empty", expected="a new directory")
    texts = {}
    for name in captioners or corpus.captioners:
        rows = [{"image_id": int(i), "caption": c} for i, c in corpus.captions(name).items()]
        stem = re.sub(r"[^\w.+-]+", "_", name)
        texts[f"{stem}.json"] = json.dumps(rows, indent=0)
        if name in corpus.vocabularies:
            texts[f"{stem}_vocabulary.txt"] = "\n".join(corpus.vocabularies[name]) + "\n"
    classes = corpus.labels.map(dict(enumerate(corpus.attribute.classes)))
    texts["labels.csv"] = classes.rename("label").rename_axis("image_id").to_csv()
    human = corpus.human[["image_id", "caption"]].reset_index(drop=True)
    human = human.rename_axis("id").reset_index()
    texts["human.json"] = json.dumps({"annotations": human.to_dict("records")}, indent=0)
    if len(corpus.objects):
        texts["objects.csv"] = corpus.objects.to_csv(index=False)
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (directory / name).write_text(text, encoding="utf-8")
    return [directory / name for name in texts]


def example_files(attribute: str, images: int, corpus: str = "auto") -> dict:
    """Arguments of an audit, for want of files of one's own.

    The tutorial's real files where they are and gender is asked; else the embedded corpus, exported
    to a directory that goes away with this process.
    """
    if corpus_choice(corpus) == "real" and attribute == "gender":
        tutorial = tutorial_files()
        needed = [*tutorial["captions"].values(), tutorial["labels"], tutorial["human"]]
        if all(map(Path.is_file, needed)):
            return tutorial
    planted, place = planted_corpus(attribute, images=images), Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    export(planted, place)
    names = planted.display_names
    captions = [f"{names[key]}={place / f'{key}.json'}" for key in planted.captioners]
    files = {"labels": str(place / "labels.csv"), "human": str(place / "human.json")}
    return {"captions": captions, **files, "synthetic": True}


def tutorial_files() -> dict:
    """The same for the tutorial's audit: files under RELIC_DATA, which may be missing."""
    place = data_directory()
    captions = {name: place / file for name, file in CAPTIONERS.items()}
    return {"captions": captions, "labels": place / LABELS, "human": place / HUMAN}


def scale() -> pd.DataFrame:
    """Recorded LIC of the papers' captioners, linear, by attribute."""
    from relic.judge.lic import intervals, lic_table
    from relic.records.serve import recorded

    by_attribute = [recorded(attribute=name, classifier="linear") for name in SHIPPED]
    table = pd.concat(intervals(lic_table(runs)) for runs in by_attribute)
    columns = ["attribute", "captioner", "lic_model", "lic_data", "lic", "low", "high"]
    return table.rename(columns={"seeds": "n_seeds"})[[*columns, "n_seeds", "n_test"]].round(4)


def record() -> None:
    """The tutorial's numbers again (`results/audit/`), and the scale that the package carries.

    Numbers only, on all and on unseen test captions.
    """
    from relic.auditing.audit import audit
    from relic.records.tables import write_record

    scale().to_csv(paths.SCALE, index=False)
    rows, measured = [], audit(**tutorial_files(), with_accuracy=False)
    for row in measured.parts[0].tables["lic"].to_dict("records"):
        unseen = row.pop("unseen")
        rows += [row | {"seen": "all"}, row | unseen | {"seen": "unseen"}]
    print(write_record("audit", "karpathy_test", pd.DataFrame(rows)))
