"""What an audit reads, joined into a `Corpus`: captions, labels, human captions."""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pandas as pd

from relic import paths
from relic.auditing import readers
from relic.auditing.tables import Table, shortened
from relic.data.attribute import SHIPPED, Attribute, load_attribute
from relic.data.corpus import HUMAN_CAPTIONS, Corpus
from relic.data.load import GET, data_directory, human_captions, labels_of
from relic.errors import RelicError
from relic.measure.inputs import VOCABULARIES, own_words
from relic.measure.splits import FEWEST
from relic.numbers import count

NAME = "audited captions"
LONGEST = 80  # characters of a captioner's name
CAPTIONS_OF, HUMAN = "captions of ", "human captions"  # roles of files
TAKEN = ("human", "people")  # what tables call the other side


@dataclass(frozen=True)
class Inputs:
    """Files of an audit, by path. A captions file may be `NAME=FILE`; its stem is its name otherwise."""

    captions: str | Path | Sequence[str | Path | tuple] | Mapping = ()  # or {NAME: FILE}, or pairs
    labels: str | Path = ""  # without: those of `data`
    human: str | Path = ""  # without, with labels of one's own: LIC_M only; else those of `data`
    attribute: str = "gender"  # gender, race, age, a YAML file, or a new name with `classes`
    classes: Sequence[str] = ()  # the two values in the labels file, or CLASS=VALUE
    masked_words: str | Path = ""  # file of words that state the attribute
    also_mask: Sequence[str] = ()  # words besides
    vocabulary: str | Path = "captioner"  # captioner, human-top-n, none, or a file of words
    objects: str | Path = ""  # CSV of objects by image, for the Gender Score
    data: str | Path = ""  # directory of COCO's labels and human captions; RELIC_DATA by default
    first_sentence: bool = False  # of each generated caption, for captions of several
    synthetic: bool = False

    def absolute(self) -> "Inputs":
        """The same for any process: plain values, and paths that do not depend on where it runs."""
        files = ["labels", "human", "masked_words", "objects", "data"]
        files += ["attribute"] if self.attribute.endswith((".yml", ".yaml")) else []
        files += ["vocabulary"] if self.vocabulary not in VOCABULARIES else []
        plain = {name: _absolute(value) for name in files if (value := getattr(self, name))}
        if not (self.labels or self.data) and paths.real_data():
            plain["data"] = str(paths.real_data())
        plain["captions"] = _named_files(self.captions)
        return replace(self, classes=tuple(self.classes), also_mask=tuple(self.also_mask), **plain)


def _named_files(captions) -> tuple[tuple[str, str], ...]:
    """Captioner and absolute path of each captions file; a name must be one that can be shown."""
    entries = [captions] if isinstance(captions, str | Path) else captions
    pairs = map(_name_and_file, entries.items() if isinstance(entries, Mapping) else entries)
    files = [(" ".join(_shown(str(name)).split()), _absolute(file)) for name, file in pairs]
    if not files:
        raise RelicError("no captions file", expected="a COCO results file, or several")
    wrong = [
        shortened(name, LONGEST)
        for name, n in Counter(name for name, _ in files).items()
        if n > 1 or not name or len(name) > LONGEST or name.casefold() in TAKEN
    ]
    if wrong:
        raise RelicError(
            f"{count(len(files), 'captions file')}, called {', '.join(wrong)}",
            expected=f"a name of its own for each captioner, of at most {LONGEST} characters; "
            "Human stands for people's captions",
            mend="NAME=FILE gives a file another name",
        )
    return tuple(files)


def _name_and_file(entry) -> tuple[str, str]:
    if isinstance(entry, tuple):
        return entry
    name, equals, file = str(entry).partition("=")
    if not equals or os.path.exists(entry):  # Path.exists raises where a name is too long
        name, file = "", str(entry)
    stem = Path(file).name.removesuffix(".gz")
    return name.strip() or stem.rsplit(".", 1)[0] or stem, file


def _shown(name: str) -> str:
    """Bytes that are no UTF-8 become question marks."""
    return name.encode("utf-8", "replace").decode()


def _absolute(file: str | Path) -> str:
    return os.path.abspath(os.path.expanduser(file))


@dataclass(frozen=True, eq=False)
class Audited:
    """One attribute of an audit: the corpus, what became of its files on the way, what was measured."""

    corpus: Corpus
    inputs: Inputs
    images: pd.Index  # labelled, with every captioner's caption and, where given, human captions
    captions_an_image: int  # human ones; 0 where there are none
    coverage: pd.DataFrame  # captioner, captions, with label, with human captions, with both
    notes: list[str]
    files: list[dict]  # role, file, sha256
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)  # by name, once it is measured
    cautions: dict[str, dict] = field(default_factory=dict)  # what stands out, by kind

    @property
    def attribute(self) -> Attribute:
        """Gender, race, age, or one's own."""
        return self.corpus.attribute

    @property
    def classes(self) -> dict[str, int]:
        """Audited images of each class; the second is the rarer one."""
        return self.corpus.label_counts(self.images)

    @property
    def ratio(self) -> float:
        """Images of the rarer class for one of the other."""
        common, rarer = self.classes.values()
        return rarer / common

    @property
    def vocabulary(self) -> str:
        """The choice that runs are described with: a file stands in the captioner's place."""
        return self.inputs.vocabulary if self.inputs.vocabulary in VOCABULARIES else "captioner"


def audited(inputs: Inputs) -> Audited:
    """Read, and join by image id; refuse before any computing what cannot be audited."""
    inputs = inputs.absolute()
    attribute = attribute_of(inputs)
    tables = {CAPTIONS_OF + name: readers.read_captions(file) for name, file in inputs.captions}
    tables |= _labels_and_human(inputs, attribute)
    tables |= {"objects": readers.read_objects(inputs.objects)} if inputs.objects else {}
    words = () if inputs.vocabulary in VOCABULARIES else readers.read_vocabulary(inputs.vocabulary)
    frames = numbered({role: table.frame for role, table in tables.items()})
    labels = frames["labels"].set_index("image_id")["label"].astype("int64").sort_index()
    generated = _generated(inputs, frames)
    sizes = generated["image_id"].value_counts()
    images = labels.index[labels.index.isin(sizes.index[sizes == len(inputs.captions)])]
    said = frames.get(HUMAN, pd.DataFrame(columns=["image_id", "caption_index", "caption"]))
    human, number, notes = _human(said[said["image_id"].isin(images)])
    images = images[images.isin(human["image_id"])] if HUMAN in tables else images
    counts = labels.loc[images].value_counts().reindex([0, 1], fill_value=0)
    if counts.min() < FEWEST:
        ids = {role: sorted(set(table.frame["image_id"])) for role, table in tables.items()}
        ids.pop("objects", None)
        listed = [f"{r}: {len(i):,} ({', '.join(map(str, i[:3]))}, …)" for r, i in ids.items()]
        raise RelicError(
            f"{counts[0]:,} images of class 0 and {counts[1]:,} of class 1 are in all files; "
            f"images of {', '.join(listed)}",
            expected=f"at least {FEWEST} images of each class that every file has",
            mend="give labels and human captions of the captioned images, by number or COCO file "
            "name; audit captioners of other images one by one",
        )
    if labels.loc[images].mean() > 0.5:  # class 1 is the rarer: it sets the balanced size
        first, second = attribute.classes
        attribute = attribute.model_copy(update={"classes": (second, first)})
        labels, notes = 1 - labels, [*notes, f"{first} is the rarer class here: it becomes class 1"]
    by_captioner = generated.groupby("captioner", sort=False)["caption"]
    corpus = Corpus(
        name=f"{NAME} (synthetic)" if inputs.synthetic else NAME,
        synthetic=inputs.synthetic,
        attribute=attribute,
        labels=labels,
        generated=generated,
        human=human.assign(source=tables[HUMAN].file.name if HUMAN in tables else ""),
        vocabularies={name: words or own_words(texts, attribute) for name, texts in by_captioner},
        display_names={name: name for name, _ in inputs.captions},
        reload=partial(audited_corpus, inputs),
        **{role: frame for role, frame in frames.items() if role == "objects"},
    )
    return Audited(
        corpus=corpus,
        inputs=inputs,
        images=images,
        captions_an_image=number,
        coverage=_coverage(generated, labels.index, said["image_id"]),
        notes=[f"{t.file.name}: {note}" for t in tables.values() for note in t.notes] + notes,
        files=[
            {"role": role, "file": _shown(table.file.name), "sha256": table.sha256}
            for role, table in tables.items()
        ],
    )


def audited_corpus(inputs: Inputs) -> Corpus:
    """How a worker process gets the corpus."""
    return audited(inputs).corpus


def _labels_and_human(inputs: Inputs, attribute: Attribute) -> dict[str, Table]:
    """From the files given; what is not given, from COCO's captions in the data directory."""
    tables = {}
    if inputs.labels:
        tables["labels"] = readers.read_labels(inputs.labels, attribute, inputs.classes)
    if inputs.human:
        tables[HUMAN] = readers.read_human(inputs.human)
    if inputs.labels:
        return tables
    if not inputs.data or attribute.name not in SHIPPED:
        raise RelicError(
            f"no labels of {attribute.name}",
            expected="--labels FILE, or RELIC_DATA (or --data) with COCO's gender, race and age",
            mend=GET.replace("./run_all.sh", "relic audit"),
        )
    place = data_directory(inputs.data)
    labels = labels_of(place, attribute)
    frames = {"labels": labels.rename("label").reset_index()}
    if not inputs.human:
        said = human_captions(place, attribute.name, labels.index).drop(columns="source")
        frames |= {HUMAN: said} if len(said) else {}
    for what, frame in frames.items():  # hashed are the rows, whichever files they are of
        digest = hashlib.sha256(frame.to_csv(index=False).encode()).hexdigest()
        file = Path(place) / f"{attribute.name} {what} of {place.name}"
        tables[what] = Table(file, digest, frame=frame)
    return tables


def attribute_of(inputs: Inputs) -> Attribute:
    """The attribute by name or YAML file; a new one from its two classes and its masked words."""
    name = inputs.attribute
    words = readers.read_words(inputs.masked_words) if inputs.masked_words else None
    also = frozenset(word for each in inputs.also_mask for word in each.lower().split())
    if name in SHIPPED or name.endswith((".yml", ".yaml")):
        attribute = readers.with_classes(load_attribute(name), inputs.classes)
        if words is not None:
            attribute = attribute.model_copy(update={"masked_words": words, "class_words": {}})
        return attribute.model_copy(update={"masked_words": attribute.masked_words | also})
    if not inputs.classes or words is None:
        raise RelicError(
            f"unknown attribute {name!r}",
            expected=f"{', '.join(SHIPPED)}, a YAML file, or --classes and --masked-words",
            mend=f"--attribute {name} --classes A,B --masked-words words.txt; without such words, a YAML file",
        )
    token = "".join(c for c in name.lower() if c.isalnum()) + "word"
    new = Attribute(name=name, classes=("", " "), mask_token=token, masked_words=words | also)
    return readers.with_classes(new, inputs.classes)


def first_sentence(caption: str) -> str:
    """A caption up to its first full stop; all of it where that is nothing.

    >>> first_sentence("A man rides. He smiles."), first_sentence("a man rides")
    ('A man rides.', 'a man rides')
    """
    return re.split(r"(?<=[.!?])\s", caption.strip(), maxsplit=1)[0]


def _generated(inputs: Inputs, frames: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """All captioners' captions, in lower case as masked words are."""
    frames = [frames[CAPTIONS_OF + name].assign(captioner=name) for name, _ in inputs.captions]
    rows = pd.concat(frames, ignore_index=True).assign(caption_set="standard")
    texts = rows["caption"].map(first_sentence) if inputs.first_sentence else rows["caption"]
    columns = ["captioner", "caption_set", "image_id", "caption"]
    return rows.assign(caption=texts.str.lower())[columns]


def numbered(frames: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Image ids as numbers; where some are names, all get one each, in the order of the names."""
    ids = pd.concat({role: frame["image_id"] for role, frame in frames.items()})
    if pd.api.types.is_integer_dtype(ids):
        return frames
    numbers = pd.Series(pd.factorize(ids.astype("str"), sort=True)[0], ids.index)
    return {role: frame.assign(image_id=numbers[role]) for role, frame in frames.items()}


def _human(frame: pd.DataFrame) -> tuple[pd.DataFrame, int, list[str]]:
    """As many captions an image as most have, five at most; images with fewer repeat them in turn."""
    counts, notes = frame.groupby("image_id")["caption"].size(), []
    if counts.empty:
        return frame, 0, []
    number = int(min(HUMAN_CAPTIONS, counts.mode().max()))
    few = int((counts < number).sum())
    if few:
        notes.append(f"{few:,} images have fewer than {number} human captions: repeated in turn")
    if number < HUMAN_CAPTIONS:
        notes.append(f"{number} human captions an image; the papers use {HUMAN_CAPTIONS}")
    kept = frame[frame["caption_index"] < number]
    return kept.reset_index(drop=True), number, notes


def _coverage(generated: pd.DataFrame, labelled: pd.Index, human: pd.Series) -> pd.DataFrame:
    """How many of a captioner's images have a label, human captions, both."""
    label, text = (generated["image_id"].isin(ids) for ids in (labelled, human))
    columns = {
        "captions": ("caption", "size"),
        "distinct captions": ("caption", "nunique"),
        "with label": ("label", "sum"),
        "with human captions": ("human", "sum"),
        "with both": ("both", "sum"),
    }
    marked = generated.assign(label=label, human=text, both=label & text)
    return marked.groupby("captioner", sort=False).agg(**columns).reset_index()
