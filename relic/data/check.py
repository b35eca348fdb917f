"""What a data directory holds, what it lacks, and what that disables."""

from pathlib import Path
from types import SimpleNamespace

from relic.data import load
from relic.data.attribute import SHIPPED
from relic.data.captioners import captioners_of
from relic.data.corpus import HUMAN_CAPTIONS
from relic.data.fetch import present
from relic.data.pickles import manifest
from relic.errors import RelicError

EXPECTED = {  # the papers' counts
    "gender": {"Male": 7466, "Female": 3314},
    "race": {"Light": 9873, "Dark": 1096},
    "age": {"old": 4603, "young": 2435},
}
DISABLES = {  # what an absent file or directory costs, by the beginning of its path
    "bias_data/Human_Ann/gender": "gender LIC_D on all images, and with `upstream` splits",
    "bias_data/Human_Ann/race": "race LIC_D on all images, and with `upstream` splits",
    "bias_data/model_vocab/": "LIC_D aligned to that captioner's vocabulary",
    "bias_data/": "these captions",
    "age_data/age_dataset.pkl": "everything on age, and human captions of 7,038 images",
    "age_data/": "",
    "age_annotations/": "the age annotators' agreement",
    "visual_context": "the Gender Score with objects by image",
    "gender_score": "gender-object distances on COCO's training objects",
    "coco": "human captions from COCO's annotation files",
    "captioners": "captioners since 2020",
}


def check(directory: Path | None) -> SimpleNamespace:
    """Read everything once and compare it with upstream's manifest and the papers' counts.

    `missing`: path and what its absence disables; `modified`: files with other bytes than upstream's;
    `coco`: images with captions by annotation file; `usable`: some attribute, and no broken file.
    """
    directory = load.data_directory(directory)
    hashes = manifest().set_index("local")["git_blob_sha1"]
    absent = [name for name in hashes.index if not (directory / name).is_file()]
    absent += [part for part in load.PARTS[3:] if not (directory / part).is_dir()]
    costs = {n: next(cost for s, cost in DISABLES.items() if n.startswith(s)) for n in absent}
    attributes = [_attribute(directory, name) for name in SHIPPED]
    errors, coco = [a.error for a in attributes if a.error], {}
    for file in load.coco_files(directory):
        try:
            coco[file.name] = len(load.read_coco(file))
        except RelicError as error:
            errors.append(str(error))
    return SimpleNamespace(
        directory=str(directory),
        fingerprint=load.directory_fingerprint(directory),
        attributes=attributes,
        missing=[{"path": name, "disables": cost} for name, cost in costs.items()],
        modified=[n for n, sha1 in hashes.items() if present(directory / n) not in (None, sha1)],
        coco=coco,
        errors=list(dict.fromkeys(errors)),
        usable=any(a.images for a in attributes) and not errors,
    )


def _attribute(directory: Path, name: str) -> SimpleNamespace:
    """One attribute: images, labels beside the papers', human captions, captioners."""
    published = [entry["name"] for entry in captioners_of().values() if name in entry]
    report = {"attribute": name, "images": 0, "labels": {}, "expected": EXPECTED[name], "error": ""}
    report |= {"with_human_captions": 0, "with_human_captions_by_label": {}}
    report |= {"with_fewer_than_five": 0, "captioners": [], "missing_captioners": published}
    try:
        corpus = load.load_real(directory, name)
        names = [corpus.display_names[key] for key in corpus.captioners]
        report |= {"images": len(corpus.labels), "labels": corpus.label_counts()}
        report["with_human_captions"] = len(corpus.covered)
        report["with_human_captions_by_label"] = corpus.label_counts(corpus.covered)
        report["with_fewer_than_five"] = int((corpus.depth < HUMAN_CAPTIONS).sum())
        report |= {"captioners": names}
        report["missing_captioners"] = [n for n in published if n not in names]
    except RelicError as error:
        absent = error.found.endswith(f"labelled with {name}")
        report["error"] = "" if absent else str(error)
    return SimpleNamespace(**report)
