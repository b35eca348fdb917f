"""Objects in one's own images: a classifier, CLIP and a detector of transformers, and their vote.

The paper's Faster R-CNN is not in transformers; DETR (trained on the same 80 classes) stands in.
Weights come by hub name or from a directory; where neither can be had, the error says so.
"""

import json
import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from relic.chapters.gender_score.models import MINILM, load_encoder, loading
from relic.chapters.gender_score.score import THRESHOLD, TOP, without_persons
from relic.chapters.objects import object_names
from relic.errors import RelicError
from relic.measure.classifiers.device import best_device
from relic.whole import write_whole

KINDS = {  # of models: the task of transformers, and how its pipeline is called
    "resnet": ("image-classification", {"top_k": 1000, "function_to_apply": "softmax"}),
    "clip": ("zero-shot-image-classification", {"hypothesis_template": "a photo of a {}"}),
    "detector": ("object-detection", {}),
}
AGREEMENT = 0.5  # cosine of two labels from which two classifiers agree; the paper gives none
NOTHING = "none"  # source of the row of an image in which nothing was kept: it is done, too
COLUMNS = ["image_id", "label", "probability", "source"]


def see_objects(
    images: Iterable[str | Path],
    out: str | Path,
    models: dict[str, str],
    clip_labels: Iterable[str] = (),
    threshold: float = THRESHOLD,
    agreement: float = AGREEMENT,
    batch: int = 16,
) -> pd.DataFrame:
    """Objects of images as rows of the CSV file `out`; images that it has already are left out.

    `models`: some of `resnet`, `clip`, `detector` -> hub name or directory. `clip_labels`: what CLIP
    chooses from, COCO's classes but person by default. The file is replaced after every batch, so a
    killed call continues where it was. Other settings than those it was begun with are an error.
    """
    if set(models) - set(KINDS):
        raise RelicError(f"models {', '.join(models)}", expected=f"some of {', '.join(KINDS)}")
    out, labels = Path(out), list(clip_labels) or sorted(object_names())
    settings = {"models": models, "clip_labels": labels}
    done = _begun(out, settings | {"threshold": threshold, "agreement": agreement})
    files = {image_id(file): Path(file) for file in images}
    todo = sorted(files.keys() - {row[0] for row in done}, key=list(files).index)
    asked = {"clip": {"candidate_labels": labels}, "detector": {"threshold": threshold}}
    seers = {k: _seer(k, name, asked.get(k, {})) for k, name in models.items()} if todo else {}
    encoder = load_encoder(MINILM)
    for start in tqdm(range(0, len(todo), batch), desc="objects", disable=None):
        for i in todo[start : start + batch]:
            picture = _open(files[i])
            seen = {kind: _surest(see(picture), threshold) for kind, see in seers.items()}
            kept = vote(seen, encoder, agreement)
            done += [(i, label, p, models[kind]) for kind, label, p in kept]
            done += [] if kept else [(i, None, 0.0, NOTHING)]
        write_whole(out, pd.DataFrame(done, columns=COLUMNS).to_csv(index=False))
    return pd.DataFrame(done, columns=COLUMNS)


def vote(seen: dict[str, list[tuple[str, float]]], encoder, agreement: float = AGREEMENT) -> list:
    """Labels (kind, label, probability) that another classifier agrees with; all, if there is one.

    Two labels agree when their cosine is at least `agreement`.
    """
    flat = [(kind, label, p) for kind, labels in seen.items() for label, p in labels]
    if len(seen) < 2 or not flat:
        return flat
    vectors = encoder.encode([label for _, label, _ in flat])
    near = vectors @ vectors.T >= agreement
    kinds = np.array([kind for kind, _, _ in flat])
    agreed = (near & (kinds[:, None] != kinds)).any(axis=1)
    return [row for row, kept in zip(flat, agreed, strict=True) if kept]


def image_id(file: str | Path) -> int:
    """The number that ends a file's name.

    >>> image_id("COCO_val2014_000000391895.jpg")
    391895
    """
    number = re.search(r"(\d+)$", Path(file).stem)
    if number is None:
        raise RelicError(f"{file} has no image id", expected="a name that ends with a number")
    return int(number.group(1))


def _surest(seen: list[dict], threshold: float) -> list[tuple[str, float]]:
    """The first labels other than person, of those at least `threshold` probable."""
    best: dict[str, float] = {}
    for each in seen:  # a detector may see several of a kind: the surest counts
        label = without_persons(each["label"].split(",")[0].replace("_", " ").lower())
        best[label] = max(best.get(label, 0.0), each["score"])
    best.pop("", None)
    ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))[:TOP]
    return [(label, p) for label, p in ranked if p >= threshold]


def _seer(kind: str, name: str, asked: dict):
    """A function from a picture to its `label, score`, by one model."""
    import transformers

    task, options = KINDS[kind]
    mend = "download it elsewhere and give its directory, or bring objects as a CSV file"
    with loading(f"{kind} model", name, mend):
        safe = {"use_safetensors": True}
        model = transformers.pipeline(task, name, device=best_device(), model_kwargs=safe)
    return partial(model, **options, **asked)


def _open(file: Path):
    from PIL import Image

    try:
        return Image.open(file).convert("RGB")
    except OSError as error:  # not there, or not an image
        raise RelicError(f"{file} cannot be read: {error}", expected="an image") from error


def _begun(out: Path, settings: dict) -> list[tuple]:
    """The rows that the file has already, if it was begun with the same settings."""
    beside = out.with_name(f"{out.name}.json")
    if not out.exists():
        write_whole(beside, json.dumps(settings, indent=1) + "\n")
        return []
    try:
        kept = json.loads(beside.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        kept = {}
    other = ", ".join(key for key in settings if kept.get(key) != settings[key])
    if other:
        raise RelicError(
            f"{out} was begun with other settings: {other}",
            expected=f"those of {beside.name}",
            mend="another file, or remove this one",
        )
    return list(pd.read_csv(out).itertuples(index=False, name=None))
