"""Objects in one's own images: a classifier, CLIP and a detector of transformers, and their vote.

The paper's Faster R-CNN is not in transformers; DETR (trained on the same 80 classes) stands in.
Weights come by hub name or from a directory; where neither can be had, the error says so.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from relic.chapters.gender_score.study import COLUMNS, THRESHOLD, TOP, without_persons
from relic.chapters.gender_score.vectors import load_encoder
from relic.chapters.objects import object_names
from relic.errors import RelicError
from relic.measure.classifiers.device import best_device
from relic.measure.classifiers.encoder import _quiet
from relic.whole import write_whole

MODELS = {
    "resnet": "microsoft/resnet-152",
    "clip": "openai/clip-vit-base-patch32",
    "detector": "facebook/detr-resnet-50",
}
PROMPT = "a photo of a {}"  # CLIP reads labels in it
CLIP_LABELS = tuple(sorted(object_names()))  # the default: COCO's classes but person
AGREEMENT = 0.5  # cosine of two labels from which two classifiers agree; the paper gives none
NOTHING = "none"  # source of the row of an image in which nothing was kept: it is done, too


def see_objects(
    images: Iterable[str | Path],
    out: str | Path,
    *,
    models: dict[str, str] | None = None,
    clip_labels: Iterable[str] = CLIP_LABELS,
    top: int = TOP,
    threshold: float = THRESHOLD,
    agreement: float = AGREEMENT,
    encoder: str = "all-MiniLM-L6-v2",
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
    settings = {"models": models, "clip_labels": labels, "top": top, "threshold": threshold}
    done = _begun(out, settings | {"agreement": agreement, "encoder": encoder})
    files = {image_id(file): Path(file) for file in images}
    todo = [i for i in files if i not in set(done["image_id"])]
    seers = {k: _seer(k, name, labels, threshold) for k, name in models.items()} if todo else {}
    close = load_encoder(encoder)
    for start in tqdm(range(0, len(todo), batch), desc="objects", disable=None):
        ids = todo[start : start + batch]
        pictures = [_open(files[i]) for i in ids]
        seen, rows = {kind: see(pictures) for kind, see in seers.items()}, []
        for number, i in enumerate(ids):
            best = {kind: _surest(found[number], top, threshold) for kind, found in seen.items()}
            kept = vote(best, close, agreement)
            seen_here = [(i, label, p, models[kind]) for kind, label, p in kept]
            rows += seen_here or [(i, None, 0.0, NOTHING)]
        done = pd.concat([done, pd.DataFrame(rows, columns=COLUMNS)], ignore_index=True)
        write_whole(out, done.to_csv(index=False))
    return done


def vote(seen: dict[str, list[tuple[str, float]]], encoder, agreement: float = AGREEMENT) -> list:
    """Labels (kind, label, probability) that another classifier agrees with; all, if there is one.

    Two labels agree when their cosine is at least `agreement`.
    """
    flat = [(kind, label, p) for kind, found in seen.items() for label, p in found]
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


def _surest(found: list[tuple[str, float]], top: int, threshold: float) -> list[tuple[str, float]]:
    """The `top` labels other than person, of those at least `threshold` probable."""
    best: dict[str, float] = {}
    for label, p in found:  # a detector may see several of a kind: the surest counts
        name = without_persons(label.split(",")[0].replace("_", " ").lower())
        best[name] = max(best.get(name, 0.0), p)
    best.pop("", None)
    ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))[:top]
    return [(label, p) for label, p in ranked if p >= threshold]


def _seer(kind: str, name: str, clip_labels: list[str], threshold: float):
    """A function from a batch of pictures to their (label, probability), by one model."""
    import torch
    import transformers

    types = {  # of processor and model
        "resnet": ("AutoImageProcessor", "AutoModelForImageClassification"),
        "clip": ("AutoProcessor", "AutoModelForZeroShotImageClassification"),
        "detector": ("AutoImageProcessor", "AutoModelForObjectDetection"),
    }
    reading, seeing = (getattr(transformers, each) for each in types[kind])
    try:
        with _quiet():
            processor = reading.from_pretrained(name)
            model = seeing.from_pretrained(name, use_safetensors=True)
    except (OSError, ValueError, ImportError) as error:
        raise RelicError(
            f"the {kind} model {name} cannot be loaded: {str(error).strip().splitlines()[0]}",
            expected="a hub name that this machine can reach, or a directory with its weights",
            mend="download it elsewhere and give its directory, or bring objects as a CSV file",
        ) from error
    model = model.to(best_device()).eval()
    text = {"text": [PROMPT.format(label) for label in clip_labels], "padding": True}
    known = model.config.id2label
    names = clip_labels if kind == "clip" else [known[i] for i in sorted(known)]

    @torch.inference_mode()
    def see(pictures: list) -> list[list[tuple[str, float]]]:
        more = text if kind == "clip" else {}
        inputs = processor(images=pictures, return_tensors="pt", **more).to(model.device)
        outputs = model(**inputs)
        if kind == "detector":
            boxes = processor.post_process_object_detection(outputs, threshold=threshold)
            pairs = [zip(b["labels"].tolist(), b["scores"].tolist(), strict=True) for b in boxes]
            return [[(names[i], p) for i, p in found] for found in pairs]
        logits = outputs.logits_per_image if kind == "clip" else outputs.logits
        return [list(zip(names, row, strict=True)) for row in logits.softmax(-1).tolist()]

    return see


def _open(file: Path):
    from PIL import Image

    try:
        return Image.open(file).convert("RGB")
    except OSError as error:  # not there, or not an image
        raise RelicError(f"{file} cannot be read: {error}", expected="an image") from error


def _begun(out: Path, settings: dict) -> pd.DataFrame:
    """What the file has already, if it was begun with the same settings."""
    about = out.with_name(f"{out.name}.json")
    if not out.exists():
        write_whole(about, json.dumps(settings, indent=1) + "\n")
        types = dict(zip(COLUMNS, ["int64", "str", "float64", "str"], strict=True))
        return pd.DataFrame(columns=COLUMNS).astype(types)
    try:
        kept = json.loads(about.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        kept = {}
    other = sorted(key for key in settings if kept.get(key) != settings[key])
    if other:
        raise RelicError(
            f"{out} was begun with other settings: {', '.join(other)}",
            expected=f"those of {about.name}",
            mend="another file, or remove this one",
        )
    return pd.read_csv(out)
