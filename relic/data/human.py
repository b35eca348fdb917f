"""Human captions: up to five an image, from the best source that has any."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pandas as pd

from relic.data.corpus import HUMAN_CAPTIONS, is_image_id, is_text
from relic.data.pickles import MEND, read_pickle
from relic.errors import RelicError

HUMAN_ANN = {  # upstream's own human captions, by attribute
    "gender": "bias_data/Human_Ann/gender_obj_cap_mw_entries.pkl",
    "race": "bias_data/Human_Ann/race_val_obj_cap_entries.pkl",
}
AGE_FILE = "age_data/age_dataset.pkl"
COCO = "coco"
COCO_MEND = "take captions_val2014.json from COCO's annotations_trainval2014.zip"
COCO_FIELDS = {"image_id": is_image_id, "caption": is_text}
COLUMNS = ["image_id", "caption_index", "caption", "source"]


def human_captions(directory: Path, attribute: str, images: Iterable[int]) -> pd.DataFrame:
    """Up to five captions an image as `image_id, caption_index, caption, source`, in source order.

    An image's captions all come from one source: the first that has five of them, or else the one
    that has most.
    """
    rows = [
        (image_id, number, text, source)
        for source, captions in _sources(directory, attribute)
        for image_id, texts in captions.items()
        for number, text in enumerate(texts[:HUMAN_CAPTIONS])
    ]
    frame = pd.DataFrame(rows, columns=COLUMNS)
    frame = frame[frame["image_id"].isin(images)]
    depth = frame.groupby(["image_id", "source"], sort=False).size().reset_index(name="depth")
    best = depth.sort_values("depth", ascending=False, kind="stable").drop_duplicates("image_id")
    return frame.merge(best[["image_id", "source"]])


def _sources(directory: Path, attribute: str) -> Iterator[tuple[str, dict[int, list[str]]]]:
    """(source name, captions by image) in order of preference; absent sources are left out."""
    own = HUMAN_ANN.get(attribute, AGE_FILE)
    coco = [f"{COCO}/{file.name}" for file in coco_files(directory)]
    for name in dict.fromkeys([own, *HUMAN_ANN.values(), *coco, AGE_FILE]):
        if name in coco or (directory / name).exists():
            file = directory / name
            yield name, read_coco(file) if name in coco else read_caption_lists(file)


def coco_files(directory: Path) -> list[Path]:
    """COCO caption annotation files of a data directory (not results files)."""
    return sorted((directory / COCO).glob("captions_*.json"))


def read_caption_lists(file: Path) -> dict[int, list[str]]:
    """Captions by image id from a pickle of rows with `img_id` and `caption_list`."""
    captions: dict[int, list[str]] = {}
    fields = {"img_id": is_image_id, "caption_list": _are_texts}
    for number, (image_id, texts) in enumerate(rows_of(file, read_pickle(file), fields)):
        if captions.setdefault(image_id, texts) != texts:
            raise bad_row(file, number, f"image {image_id} a second time", "one row an image")
    return captions


def read_coco(file: Path) -> dict[int, list[str]]:
    """Captions by image id from a COCO caption annotation file, in annotation order."""
    content, captions = _json(file, COCO_MEND), defaultdict(list)
    rows = content.get("annotations") if isinstance(content, dict) else None
    for image_id, text in rows_of(file, rows, COCO_FIELDS, COCO_MEND):
        captions[image_id].append(text)
    return dict(captions)


def read_results(file: Path, mend: str) -> dict[int, str]:
    """A captioner's captions by image id from a file in COCO's results format."""
    rows = list(rows_of(file, _json(file, mend), COCO_FIELDS, mend))
    captions = dict(rows)
    if len(captions) < len(rows):
        found = f"{file}: {len(rows)} captions of {len(captions)} images"
        raise RelicError(found, expected="one caption an image", mend=mend)
    return captions


def rows_of(file: Path, rows, fields: dict[str, Callable], mend: str = MEND) -> Iterator[tuple]:
    """The named fields of each row of a file, each checked by its function."""
    if not isinstance(rows, list):
        shape = "rows, in COCO's annotation files under `annotations`"
        raise RelicError(f"{file} has no list of captions", expected=shape, mend=mend)
    for number, row in enumerate(rows):
        for name, fits in fields.items():
            if not isinstance(row, dict) or not fits(row.get(name)):
                raise bad_row(file, number, f"no {name}", ", ".join(fields), mend)
        yield tuple(row[name] for name in fields)


def bad_row(file: Path, number: int, found: str, expected: str, mend: str = MEND) -> RelicError:
    """The error of a row that is not as it should be."""
    return RelicError(f"{file}, row {number}: {found}", expected=expected, mend=mend)


def _are_texts(value) -> bool:
    return isinstance(value, list) and all(map(is_text, value))


def _json(file: Path, mend: str):
    try:
        return json.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise RelicError(f"{file} cannot be read: {error.strerror}", mend=mend) from error
    except (ValueError, RecursionError) as error:  # not UTF-8 is a ValueError too
        raise RelicError(f"{file} is not JSON (or cut short): {error}", mend=mend) from error
