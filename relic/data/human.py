"""Human captions: up to five an image, from the best source that has any."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd

from relic.data.corpus import HUMAN_CAPTIONS, is_image_id, is_text
from relic.data.pickles import read_pickle
from relic.errors import RelicError

HUMAN_ANN = {  # upstream's own human captions, by attribute
    "gender": "bias_data/Human_Ann/gender_obj_cap_mw_entries.pkl",
    "race": "bias_data/Human_Ann/race_val_obj_cap_entries.pkl",
}
AGE_FILE = "age_data/age_dataset.pkl"
COCO = "coco"
COCO_MEND = "take captions_val2014.json from COCO's annotations_trainval2014.zip"
COLUMNS = ["image_id", "caption_index", "caption", "source"]


def human_captions(directory: Path, attribute: str, images: Iterable[int]) -> pd.DataFrame:
    """Up to five captions an image as `image_id, caption_index, caption, source`, in source order.

    An image's captions all come from one source: the first that has five of them, or else the one
    that has most.
    """
    sources, wanted = dict(_sources(directory, attribute)), set(images)
    best: dict[int, tuple[int, str]] = {}  # image -> captions of its own (up to five), source
    for source, captions in sources.items():
        for image_id in wanted & captions.keys():
            depth = min(len(captions[image_id]), HUMAN_CAPTIONS)
            if depth > best.get(image_id, (0, ""))[0]:
                best[image_id] = depth, source
    rows = [
        (image_id, k, texts[k], source)
        for source, captions in sources.items()
        for image_id, texts in captions.items()
        if best.get(image_id, (0, ""))[1] == source
        for k in range(best[image_id][0])
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


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
    for number, row in enumerate(read_pickle(file)):
        good = isinstance(row, dict) and is_image_id(row.get("img_id"))
        texts = row.get("caption_list") if good else []
        fits = good and isinstance(texts, list) and all(map(is_text, texts))
        if not fits or captions.get(row["img_id"], texts) != texts:
            raise RelicError(
                f"{file}, row {number}: no image id of its own with a list of captions",
                expected="rows with img_id (a number, each once) and caption_list (a list of strings)",
                mend="relic data fetch DIR --replace",
            )
        captions[row["img_id"]] = texts
    return captions


def read_coco(file: Path) -> dict[int, list[str]]:
    """Captions by image id from a COCO caption annotation file, in annotation order."""
    content, captions = _json(file, COCO_MEND), defaultdict(list)
    rows = content.get("annotations") if isinstance(content, dict) else None
    for image_id, text in _captions(file, rows, COCO_MEND):
        captions[image_id].append(text)
    return dict(captions)


def read_results(file: Path, mend: str) -> dict[int, str]:
    """A captioner's captions by image id from a file in COCO's results format."""
    captions: dict[int, str] = {}
    for image_id, text in _captions(file, _json(file, mend), mend):
        if image_id in captions:
            found = f"{file}: image {image_id} a second time"
            raise RelicError(found, expected="one caption an image", mend=mend)
        captions[image_id] = text
    return captions


def _json(file: Path, mend: str):
    try:
        return json.loads(file.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise RelicError(f"{file} is not UTF-8: {error}", mend=mend) from error
    except (ValueError, RecursionError) as error:
        raise RelicError(f"{file} is not JSON (or cut short): {error}", mend=mend) from error
    except OSError as error:
        found = f"{file} cannot be read: {error.strerror}"
        raise RelicError(found, expected="a file", mend=mend) from error


def _captions(file: Path, rows, mend: str) -> Iterator[tuple[int, str]]:
    """Image id and caption of each row."""
    if not isinstance(rows, list):
        shape = '[{"image_id": 1, "caption": "..."}], in annotation files under "annotations"'
        raise RelicError(f"{file} has no list of captions", expected=shape, mend=mend)
    for number, row in enumerate(rows):
        fields: dict = row if isinstance(row, dict) else {}
        image_id, text = fields.get("image_id"), fields.get("caption")
        if isinstance(image_id, str) and image_id.isdecimal():
            image_id = int(image_id)
        if not is_image_id(image_id) or not is_text(text):
            found = f"{file}, annotation {number}: {row!r:.80}"
            wanted = "an image_id (a whole number) and a caption (text)"
            raise RelicError(found, expected=wanted, mend=mend)
        yield int(str(image_id)), str(text)
