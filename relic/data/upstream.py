"""Real captions in upstream's layout, read into a `Corpus`."""

import hashlib
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path

import pandas as pd

from relic.data.attribute import Attribute, load_attribute
from relic.data.captioners import captioner_files, captioners_of, corpus_name, display_names
from relic.data.corpus import PADDING, UNKNOWN, Corpus, is_image_id, is_text
from relic.data.human import AGE_FILE, HUMAN_ANN, bad_row, human_captions, read_results, rows_of
from relic.data.pickles import MEND, read_pickle
from relic.errors import RelicError

PARTS = "bias_data age_data age_annotations coco visual_context gender_score captioners".split()
GENERATED = ["captioner", "caption_set", "image_id", "caption"]
LAYOUT = {
    "expected": "upstream's layout: bias_data/, age_data/",
    "mend": "relic data fetch DIR, or relic data check DIR to see what is there",
}


def data_directory(directory: str | Path) -> Path:
    """The directory, if it is one."""
    directory = Path(directory).expanduser()
    if directory.is_dir():
        return directory
    raise RelicError(
        f"{directory} is not a directory",
        expected="a directory with bias_data/ and age_data/",
        mend="relic data fetch DIR, with a directory of your choice",
    )


def load_real(directory: Path, attribute: str, images: str = "") -> Corpus:
    """The corpus of an attribute, from whichever of its files are in `directory`.

    `images`: the papers' captioners and further ones on the images that the further ones have.
    """
    directory, about = data_directory(directory), load_attribute(attribute)
    labels: dict[int, int] = {}
    frames = list(_frames(directory, about, labels))
    if not frames:
        raise RelicError(f"{directory} has no captions labelled with {about.name}", **LAYOUT)
    series = _series(labels, about)
    further = _further(directory, images, series) if images else {}
    if further:
        series = series[series.index.isin(next(iter(further.values()))["image_id"])]
    generated = pd.concat([*frames, *further.values()], ignore_index=True)
    vocabularies = read_vocabularies(directory, list(generated["captioner"].unique()))
    human = human_captions(directory, about.name, series.index)
    own = HUMAN_ANN.get(about.name, AGE_FILE)
    return Corpus(
        name=corpus_name(images),
        synthetic=False,
        attribute=about,
        labels=series,
        generated=generated,
        human=human,
        vocabularies=vocabularies | dict.fromkeys(further, ()),
        display_names=display_names(),
        human_row_order=not human.empty and set(human["source"]) == {own},
        reload=partial(load_real, directory, attribute, images),
    )


def labels_of(directory: Path, about: Attribute) -> pd.Series:
    """Classes by image id, from the first of the captioners' files that is there."""
    labels: dict[int, int] = {}
    if next(_frames(directory, about, labels), None) is None:
        raise RelicError(f"{directory} has no labels of {about.name}", **LAYOUT)
    return _series(labels, about)


def _series(labels: dict[int, int], about: Attribute) -> pd.Series:
    series = pd.Series(labels, name=about.name, dtype="int64").sort_index()
    return series.set_axis(series.index.astype("int64").rename("image_id"))


def _frames(directory: Path, about: Attribute, labels: dict[int, int]) -> Iterator[pd.DataFrame]:
    """The captions of each captioner and caption set that is there; their labels are added to `labels`."""
    for captioner, caption_set, name, column in _files(about.name):
        if (directory / name).exists():
            rows = _labelled_captions(directory / name, about, column, labels).items()
            frame = pd.DataFrame(rows, columns=["image_id", "caption"])
            yield frame.assign(captioner=captioner, caption_set=caption_set)[GENERATED]


def _further(directory: Path, images: str, labels: pd.Series) -> dict[str, pd.DataFrame]:
    """All captions of the further captioners of these images; each has every labelled one of them."""
    found: dict[str, pd.DataFrame] = {}
    for captioner, about in captioners_of(images).items():
        file, mend = directory / about["file"], f"its source: {about.get('source', 'not stated')}"
        if not file.exists():
            continue
        rows = read_results(file, mend).items()
        frame = pd.DataFrame(rows, columns=["image_id", "caption"])
        first = next(iter(found.values()), frame)["image_id"]
        absent = labels.index[labels.index.isin(first) & ~labels.index.isin(frame["image_id"])]
        if len(absent):
            raise RelicError(
                f"{file} has no caption of {len(absent):,} {images} images (the first: {absent[0]})",
                expected="captions of all images that go by that name",
                mend=f"another name in `images` of {captioner} in captioners.yml",
            )
        found[captioner] = frame.assign(captioner=captioner, caption_set="standard")[GENERATED]
    if not found:
        files = ", ".join(about["file"] for about in captioners_of(images).values())
        raise RelicError(
            f"{directory} has no captions of {images} images",
            expected=f"one of {files or 'no file: no captioner has images of that name'}",
            mend="captioners.yml names their sources; COCO's results format",
        )
    return found


def _files(attribute: str) -> Iterator[tuple[str, str, str, str]]:
    """Captioner, caption set, file and the column of its captions there; age has one file for all."""
    for captioner, files in captioner_files().items():
        if attribute == "age" and "age" in files:
            yield captioner, "standard", AGE_FILE, files["age"]
        elif attribute != "age":
            for caption_set, name in files.get(attribute, {}).items():
                yield captioner, caption_set, f"bias_data/{name}", "pred"


def _labelled_captions(
    file: Path, about: Attribute, column: str, labels: dict[int, int]
) -> dict[int, str]:
    """Captions of the images whose label is one of the two classes; adds their labels to `labels`."""
    captions: dict[int, str] = {}
    fields = {"img_id": is_image_id, about.field: is_text, column: is_text}
    for number, row in enumerate(rows_of(file, read_pickle(file), fields)):
        image_id, label = row[0], about.class_index(row[1])
        if label is None:
            continue
        if image_id in captions:
            raise bad_row(file, number, f"image {image_id} a second time", "one row an image")
        if labels.setdefault(image_id, label) != label:
            raise bad_row(file, number, f"image {image_id} has another label here", "one label")
        captions[image_id] = row[2]
    return captions


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
        files = (p for p in (Path(directory) / part).rglob("*") if p.is_file())
        for file in sorted(p for p in files if p.suffix != ".part"):
            try:
                with file.open("rb") as stream:
                    content = hashlib.file_digest(stream, "sha256").hexdigest()
            except OSError as error:
                raise RelicError(f"{file} cannot be read: {error.strerror}") from error
            digest.update(f"{file.relative_to(directory).as_posix()} {content}\n".encode())
    return digest.hexdigest()
