"""A corpus as the files that an audit reads: COCO results, labels, COCO annotations."""

import json
import re
import tempfile
from functools import cache
from pathlib import Path

from relic.data.corpus import Corpus
from relic.data.load import corpus_choice
from relic.errors import RelicError


def export(
    corpus: Corpus, directory: str | Path, captioners: list[str] | None = None
) -> list[Path]:
    """`NAME.json` a captioner, `labels.csv`, `human.json`, `objects.csv` where known, `NAME_vocabulary.txt`."""
    directory = Path(directory).expanduser()
    if directory.exists() and not (directory.is_dir() and not any(directory.iterdir())):
        raise RelicError(f"{directory} is not empty", expected="a new directory")
    directory.mkdir(parents=True, exist_ok=True)
    names, files = captioners or corpus.captioners, []

    def write(name: str, text: str) -> None:
        file = directory / name
        file.write_text(text, encoding="utf-8")
        files.append(file)

    for name in names:
        rows = [{"image_id": int(i), "caption": c} for i, c in corpus.captions(name).items()]
        stem = re.sub(r"[^\w.+-]+", "_", name)
        write(f"{stem}.json", json.dumps(rows, indent=0))
        if name in corpus.vocabularies:
            write(f"{stem}_vocabulary.txt", "\n".join(corpus.vocabularies[name]) + "\n")
    classes = corpus.labels.map(dict(enumerate(corpus.attribute.classes)))
    write("labels.csv", classes.rename("label").rename_axis("image_id").to_csv())
    said = [
        {"id": n, "image_id": int(row.image_id), "caption": row.caption}
        for n, row in enumerate(corpus.human.itertuples())
    ]
    write("human.json", json.dumps({"annotations": said}, indent=0))
    if len(corpus.objects):
        write("objects.csv", corpus.objects.to_csv(index=False))
    return files


@cache
def _scratch() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="relic-example-")


def example_files(
    attribute: str, images: int, corpus: str = "auto", directory: str | Path = ""
) -> dict:
    """Arguments of an audit, for want of files of one's own.

    The tutorial's real files where they are and gender is asked; else the embedded corpus, exported
    to a directory, by default one that goes away with this process.
    """
    from relic.auditing.recorded import arguments
    from relic.data.planted import planted_corpus

    if corpus_choice(corpus) == "real" and attribute == "gender" and arguments():
        return arguments()
    planted = planted_corpus(attribute, images=images)
    place, names = Path(directory or tempfile.mkdtemp(dir=_scratch().name)), planted.display_names
    export(planted, place)
    captions = [f"{names[key]}={place / f'{key}.json'}" for key in planted.captioners]
    files = {"labels": str(place / "labels.csv"), "human": str(place / "human.json")}
    return {"captions": captions, **files, "synthetic": True}
