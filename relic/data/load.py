"""Captions read into a `Corpus`: the real ones in upstream's layout, or the embedded, synthetic corpus."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import product
from pathlib import Path

import pandas as pd

from relic import paths
from relic.data.attribute import Attribute, load_attribute
from relic.data.captioners import captioners_of, corpus_name, display_names, image_sets
from relic.data.corpus import HUMAN_CAPTIONS, PADDING, UNKNOWN, Corpus, is_image_id, is_text
from relic.data.pickles import MEND, read_pickle
from relic.data.planted import planted_corpus
from relic.errors import RelicError

GET = "relic data fetch DIR, then export RELIC_DATA=DIR (or ./run_all.sh --data DIR)"
CHOICES = ("auto", "embedded", "real")
PARTS = "bias_data age_data age_annotations coco visual_context gender_score captioners".split()
LAYOUT = {
    "expected": "upstream's layout: bias_data/, age_data/",
    "mend": "relic data fetch DIR, or relic data check DIR to see what is there",
}
HUMAN_ANN = {  # upstream's own human captions, by attribute
    "gender": "bias_data/Human_Ann/gender_obj_cap_mw_entries.pkl",
    "race": "bias_data/Human_Ann/race_val_obj_cap_entries.pkl",
}
AGE_FILE = "age_data/age_dataset.pkl"
COCO_MEND = "take captions_val2014.json from COCO's annotations_trainval2014.zip"
COCO_FIELDS = {"image_id": is_image_id, "caption": is_text}


def corpus_choice(corpus: str) -> str:
    """`embedded`, `real` or an image set (a corpus's own name will do); `auto`: real where RELIC_DATA is set."""
    by_name = {corpus_name(): "real", **{corpus_name(images): images for images in image_sets()}}
    chosen, choices = by_name.get(corpus, corpus), [*CHOICES, *image_sets()]
    if chosen not in choices:
        raise RelicError(f"corpus {corpus!r}", expected=f"one of {', '.join(choices)}")
    if chosen == "auto":
        return "real" if paths.real_data() else "embedded"
    return chosen


def load_corpus(
    attribute: str, corpus: str = "auto", *, images: int = 4000, seed: int = 0
) -> Corpus:
    """The corpus of an attribute: `embedded` (as `images` and `seed` say), `real` or an image set."""
    chosen = corpus_choice(corpus)
    if chosen == "embedded":
        return planted_corpus(attribute, images=images, seed=seed)
    return load_real(data_directory(), attribute, "" if chosen == "real" else chosen)


def data_directory(directory: str | Path | None = None) -> Path:
    """A directory of captions, by default the one that RELIC_DATA names."""
    directory = directory or paths.real_data()
    if directory is None:
        found = "the real captions are asked for, but RELIC_DATA is not set"
        raise RelicError(found, expected="a directory of captions in upstream's layout", mend=GET)
    directory = Path(directory).expanduser()
    if directory.is_dir():
        return directory
    raise RelicError(f"{directory} is not a directory", expected=LAYOUT["expected"], mend=GET)


def load_real(directory: Path, attribute_name: str, images: str = "") -> Corpus:
    """The corpus of an attribute, from whichever of its files are in `directory`.

    `images`: the papers' captioners and further ones on the images that the further ones have.
    """
    directory, attribute = data_directory(directory), load_attribute(attribute_name)
    labels: dict[int, int] = {}
    frames = list(_labelled(directory, attribute, labels))
    if not frames:
        raise RelicError(f"{directory} has no captions labelled with {attribute.name}", **LAYOUT)
    series = _series(labels, attribute)
    further = _further(directory, images, series) if images else {}
    for captioner, captions in further.items():
        series = series[series.index.isin(captions)]
        frames.append(_frame(captions, captioner))
    generated = pd.concat(frames, ignore_index=True)
    vocabularies = read_vocabularies(directory, list(generated["captioner"].unique()))
    human = human_captions(directory, attribute.name, series.index)
    upstream = HUMAN_ANN.get(attribute.name, AGE_FILE)
    return Corpus(
        name=corpus_name(images),
        synthetic=False,
        attribute=attribute,
        labels=series,
        generated=generated,
        human=human,
        vocabularies=vocabularies | dict.fromkeys(further, ()),
        display_names=display_names(),
        human_row_order=not human.empty and set(human["source"]) == {upstream},
        reload=partial(load_real, directory, attribute_name, images),
    )


def labels_of(directory: Path, attribute: Attribute) -> pd.Series:
    """Classes by image id, from the first of the captioners' files that is there."""
    labels: dict[int, int] = {}
    if next(_labelled(directory, attribute, labels), None) is None:
        raise RelicError(f"{directory} has no labels of {attribute.name}", **LAYOUT)
    return _series(labels, attribute)


def _series(labels: dict[int, int], attribute: Attribute) -> pd.Series:
    series = pd.Series(labels, name=attribute.name, dtype="int64").sort_index()
    return series.set_axis(series.index.astype("int64").rename("image_id"))


def _labelled(directory: Path, attribute: Attribute, labels: dict) -> Iterator[pd.DataFrame]:
    """The captions of each captioner and caption set that is there, of images of the two classes.

    Their classes are added to `labels`, by image id.
    """
    for captioner, caption_set, name, column in _files(attribute.name):
        file, captions = directory / name, {}
        fields = {"img_id": is_image_id, attribute.field: is_text, column: is_text}
        rows = rows_of(file, read_pickle(file), fields) if file.exists() else ()
        for number, (image_id, label, caption) in enumerate(rows):
            if label not in attribute.classes:  # as `Unsure`
                continue
            if image_id in captions:
                raise bad_row(file, number, f"image {image_id} a second time", "one row an image")
            value = attribute.classes.index(label)
            if labels.setdefault(image_id, value) != value:
                raise bad_row(file, number, f"image {image_id} has another label here", "one label")
            captions[image_id] = caption
        if captions:
            yield _frame(captions, captioner, caption_set)


def _frame(captions: dict[int, str], captioner: str, caption_set: str = "standard") -> pd.DataFrame:
    whose = {"captioner": captioner, "caption_set": caption_set}
    return pd.DataFrame(whose | {"image_id": list(captions), "caption": list(captions.values())})


def _further(directory: Path, images: str, labels: pd.Series) -> dict[str, dict[int, str]]:
    """All captions of the further captioners of these images; each has every labelled one of them."""
    by_captioner: dict[str, dict[int, str]] = {}
    for captioner, entry in captioners_of(images).items():
        file, source = directory / entry["file"], entry.get("source", "not stated")
        if not file.exists():
            continue
        captions = read_results(file, mend=f"its source: {source}")
        first = next(iter(by_captioner.values()), captions)
        absent = [i for i in labels.index if i in first and i not in captions]
        if absent:
            raise RelicError(
                f"{file} has no caption of {len(absent):,} {images} images (the first: {absent[0]})",
                expected="captions of all images that go by that name",
                mend=f"another name in `images` of {captioner} in captioners.yml",
            )
        by_captioner[captioner] = captions
    if not by_captioner:
        files = ", ".join(entry["file"] for entry in captioners_of(images).values())
        raise RelicError(
            f"{directory} has no captions of {images} images",
            expected=f"one of {files or 'no file: no captioner has images of that name'}",
            mend="captioners.yml names their sources; COCO's results format",
        )
    return by_captioner


def _files(attribute: str) -> Iterator[tuple[str, str, str, str]]:
    """Captioner, caption set, file and the column of its captions there; age has one file for all."""
    for captioner, files in captioners_of().items():
        if attribute == "age" and "age" in files:
            yield captioner, "standard", AGE_FILE, files["age"]
        elif attribute != "age":
            for caption_set, name in files.get(attribute, {}).items():
                yield captioner, caption_set, f"bias_data/{name}", "pred"


def read_vocabularies(directory: Path, captioners: list[str]) -> dict[str, tuple[str, ...]]:
    """Published word lists of the captioners; absent ones are left out."""
    vocabularies: dict[str, tuple[str, ...]] = {}
    for captioner, part in product(captioners, ("bias_data", "age_data")):
        file = directory / part / "model_vocab" / f"{captioner}_vocab.pkl"
        if captioner in vocabularies or not file.exists():
            continue
        words = read_pickle(file)
        if words[:2] != [UNKNOWN, PADDING] or not all(isinstance(w, str) for w in words):
            begins = f"a list of words that begins with {UNKNOWN}, {PADDING}"
            found = f"{file} is not a captioner's vocabulary"
            raise RelicError(found, expected=begins, mend=MEND)
        vocabularies[captioner] = tuple(words)
    return vocabularies


def directory_fingerprint(directory: Path) -> str:
    """SHA-256 over names and bytes of all data files: changes when any of them does."""
    digest = hashlib.sha256()
    for part in PARTS:
        files = (p for p in (directory / part).rglob("*") if p.is_file())
        for file in sorted(p for p in files if p.suffix != ".part"):
            try:
                with file.open("rb") as stream:
                    content = hashlib.file_digest(stream, "sha256").hexdigest()
            except OSError as error:
                raise RelicError(f"{file} cannot be read: {error.strerror}") from error
            digest.update(f"{file.relative_to(directory).as_posix()} {content}\n".encode())
    return digest.hexdigest()


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
    frame = pd.DataFrame(rows, columns=["image_id", "caption_index", "caption", "source"])
    frame = frame[frame["image_id"].isin(images)]
    depth = frame.groupby(["image_id", "source"], sort=False).size().reset_index(name="depth")
    best = depth.sort_values("depth", ascending=False, kind="stable").drop_duplicates("image_id")
    return frame.merge(best[["image_id", "source"]])


def _sources(directory: Path, attribute: str) -> Iterator[tuple[str, dict[int, list[str]]]]:
    """(source name, captions by image) in order of preference; absent sources are left out."""
    upstream = HUMAN_ANN.get(attribute, AGE_FILE)
    coco = [f"coco/{file.name}" for file in coco_files(directory)]
    for name in dict.fromkeys([upstream, *HUMAN_ANN.values(), *coco, AGE_FILE]):
        if name in coco or (directory / name).exists():
            file = directory / name
            yield name, read_coco(file) if name in coco else read_caption_lists(file)


def coco_files(directory: Path) -> list[Path]:
    """COCO caption annotation files of a data directory (not results files)."""
    return sorted((directory / "coco").glob("captions_*.json"))


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
