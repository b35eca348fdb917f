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
from relic.chapters.gender_score.score import THRESHOLD, surest
from relic.chapters.objects import object_names
from relic.errors import RelicError
from relic.measure.classifiers.device import best_device
from relic.whole import write_whole

KINDS = {  # of models: the task of transformers
    "resnet": "image-classification",
    "clip": "zero-shot-image-classification",
    "detector": "object-detection",
}
AGREEMENT = 0.5  # cosine of two labels from which two classifiers agree; the paper gives none
NOTHING = "none"  # source of the row of an image in which nothing was kept: it is done, too
BATCH = 16  # images between two writes of the file
COLUMNS = ["image_id", "label", "probability", "source"]


def see_objects(
    images: Iterable[str | Path],
    out: str | Path,
    models: dict[str, str],
    clip_labels: Iterable[str] = (),
    threshold: float = THRESHOLD,
    agreement: float = AGREEMENT,
) -> pd.DataFrame:
    """Objects of images as rows of the CSV file `out`; images that it has already are left out.

    `models`: some of `resnet`, `clip`, `detector` -> hub name or directory. `clip_labels`: what CLIP
    chooses from, COCO's classes but person by default. The file is replaced after every batch, so a
    killed call continues where it was. Other settings than those it was begun with are an error.
    """
    if set(models) - set(KINDS):
        raise RelicError(f"models {', '.join(models)}", expected=f"some of {', '.join(KINDS)}")
    out, labels = Path(out), list(clip_labels) or sorted(object_names())
    settings = {"models": models, "clip_labels": labels, "threshold": threshold}
    done = _begun(out, settings | {"agreement": agreement})
    files, done_ids = {image_id(file): Path(file) for file in images}, {row[0] for row in done}
    todo = [i for i in files if i not in done_ids]
    options = {
        "resnet": {"top_k": 1000, "function_to_apply": "softmax"},
        "clip": {"candidate_labels": labels, "hypothesis_template": "a photo of a {}"},
        "detector": {"threshold": threshold},
    }
    seers = {name: _seer(k, name, options[k]) for k, name in models.items()} if todo else {}
    encoder = load_encoder(MINILM)
    for start in tqdm(range(0, len(todo), BATCH), desc="objects", disable=None):
        for i in todo[start : start + BATCH]:
            picture = _open(files[i])
            rows = [
                (i, guess["label"].split(",")[0].replace("_", " "), guess["score"], name)
                for name, see in seers.items()
                for guess in see(picture)
            ]
            seen = surest(pd.DataFrame(rows, columns=COLUMNS), threshold, by="source")
            seen = seen[agreed(seen, encoder, agreement)] if len(seers) > 1 else seen
            done += list(seen.itertuples(index=False, name=None)) or [(i, None, 0.0, NOTHING)]
        write_whole(out, pd.DataFrame(done, columns=COLUMNS).to_csv(index=False))
    return pd.DataFrame(done, columns=COLUMNS)


def agreed(seen: pd.DataFrame, encoder, agreement: float = AGREEMENT) -> np.ndarray:
    """Which labels of an image another classifier agrees with: their cosine is at least `agreement`."""
    if seen.empty:
        return np.zeros(0, dtype=bool)
    vectors, sources = encoder.encode(list(seen["label"])), seen["source"].to_numpy()
    near = vectors @ vectors.T >= agreement
    return (near & (sources[:, None] != sources)).any(axis=1)


def image_id(file: str | Path) -> int:
    """The number that ends a file's name.

    >>> image_id("COCO_val2014_000000391895.jpg")
    391895
    """
    number = re.search(r"(\d+)$", Path(file).stem)
    if number is None:
        raise RelicError(f"{file} has no image id", expected="a name that ends with a number")
    return int(number.group(1))


def _seer(kind: str, name: str, options: dict):
    """A function from a picture to its `label, score`, by one model."""
    import transformers

    mend = "download it elsewhere and give its directory, or bring objects as a CSV file"
    with loading(f"{kind} model", name, mend):
        safe = {"use_safetensors": True}
        model = transformers.pipeline(KINDS[kind], name, device=best_device(), model_kwargs=safe)
    return partial(model, **options)


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
        begun = json.loads(beside.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # absent or damaged: nobody knows the settings
        begun = {}
    other = ", ".join(key for key in settings if begun.get(key) != settings[key])
    if other:
        raise RelicError(
            f"{out} was begun with other settings: {other}",
            expected=f"those of {beside.name}",
            mend="another file, or remove this one",
        )
    return list(pd.read_csv(out).itertuples(index=False, name=None))
