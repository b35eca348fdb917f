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

from relic.chapters.gender_score.models import loading
from relic.chapters.gender_score.score import THRESHOLD, TOP
from relic.chapters.gender_score.vectors import MINILM, load_encoder
from relic.chapters.gender_score.wording import without_persons
from relic.chapters.objects import object_names
from relic.errors import RelicError
from relic.measure.classifiers.device import best_device
from relic.whole import write_whole

MODELS = {
    "resnet": "microsoft/resnet-152",
    "clip": "openai/clip-vit-base-patch32",
    "detector": "facebook/detr-resnet-50",
}
CLIP_LABELS = tuple(sorted(object_names()))  # the default: COCO's classes but person
AGREEMENT = 0.5  # cosine of two labels from which two classifiers agree; the paper gives none
NOTHING = "none"  # source of the row of an image in which nothing was kept: it is done, too
COLUMNS = {"image_id": "int64", "label": "str", "probability": "float64", "source": "str"}


def see_objects(
    images: Iterable[str | Path],
    out: str | Path,
    *,
    models: dict[str, str] | None = None,
    clip_labels: Iterable[str] = CLIP_LABELS,
    threshold: float = THRESHOLD,
    agreement: float = AGREEMENT,
    batch: int = 16,
) -> pd.DataFrame:
    """Objects of images as rows of the CSV file `out`; images that it has already are left out.

    `models`: `resnet`, `clip`, `detector` -> hub name or directory; fewer than three will do. The file
    is replaced after every batch, so a killed call continues where it was. Other settings than those
    that the file was begun with are an error.
    """
    models = models or MODELS
    if set(models) - set(MODELS):
        raise RelicError(f"models {', '.join(models)}", expected=f"some of {', '.join(MODELS)}")
    out, labels = Path(out), list(clip_labels)
    settings = {"models": models, "clip_labels": labels}
    done = _begun(out, settings | {"threshold": threshold, "agreement": agreement})
    files = {image_id(file): Path(file) for file in images}
    todo = [i for i in files if i not in set(done["image_id"])]
    seers = {k: _seer(k, name, labels, threshold) for k, name in models.items()} if todo else {}
    encoder = load_encoder(MINILM)
    for start in tqdm(range(0, len(todo), batch), desc="objects", disable=None):
        rows = []
        for i in todo[start : start + batch]:
            picture = _open(files[i])
            seen = {kind: _surest(see(picture), threshold) for kind, see in seers.items()}
            kept = vote(seen, encoder, agreement)
            objects = [(i, label, p, models[kind]) for kind, label, p in kept]
            rows += objects or [(i, None, 0.0, NOTHING)]
        done = pd.concat([done, pd.DataFrame(rows, columns=list(COLUMNS))], ignore_index=True)
        write_whole(out, done.to_csv(index=False))
    return done


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


def _seer(kind: str, name: str, clip_labels: list[str], threshold: float):
    """A function from a picture to its `label, score`, by one model."""
    import transformers

    task, options = {
        "resnet": ("image-classification", {"top_k": 1000, "function_to_apply": "softmax"}),
        "clip": (
            "zero-shot-image-classification",
            {"candidate_labels": clip_labels, "hypothesis_template": "a photo of a {}"},
        ),
        "detector": ("object-detection", {"threshold": threshold}),
    }[kind]
    mend = "download it elsewhere and give its directory, or bring objects as a CSV file"
    with loading(f"{kind} model", name, mend):
        safe = {"use_safetensors": True}
        model = transformers.pipeline(task, name, device=best_device(), model_kwargs=safe)
    return partial(model, **options)


def _open(file: Path):
    from PIL import Image

    try:
        return Image.open(file).convert("RGB")
    except OSError as error:  # not there, or not an image
        raise RelicError(f"{file} cannot be read: {error}", expected="an image") from error


def _begun(out: Path, settings: dict) -> pd.DataFrame:
    """What the file has already, if it was begun with the same settings."""
    beside = out.with_name(f"{out.name}.json")
    if not out.exists():
        write_whole(beside, json.dumps(settings, indent=1) + "\n")
        return pd.DataFrame(columns=list(COLUMNS)).astype(COLUMNS)
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
    return pd.read_csv(out)
