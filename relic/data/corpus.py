"""The one tidy form of all data: images with labels, human captions, captions per captioner."""

import hashlib
import re
from dataclasses import dataclass, field
from functools import cached_property, partial

import pandas as pd

from relic.data.attribute import Attribute
from relic.errors import RelicError

UNKNOWN, PADDING = "<unk>", "<pad>"  # what vocabularies begin with; a human word outside of one
OBJECTS = ["image_id", "label", "probability", "source"]
HUMAN_CAPTIONS = 5  # human captions that an image has to offer; of more, the first five are used
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, eq=False)
class Corpus:
    """Captions of labelled images, for one attribute.

    `labels`: image id -> 0 or 1, sorted by id.
    `generated`: captioner, caption_set, image_id, caption; rows in the order of the captioner's file.
    `human`: image_id, caption_index (from 0), caption, source; one to five an image, in source order.
    `vocabularies`: captioner -> its words after masking, as published beside its captions; none: `()`.
    `objects`: image_id, label, probability, source; empty where unknown.
    """

    name: str
    synthetic: bool
    attribute: Attribute
    labels: pd.Series
    generated: pd.DataFrame
    human: pd.DataFrame
    vocabularies: dict[str, tuple[str, ...]]
    display_names: dict[str, str]
    objects: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=OBJECTS))
    human_row_order: bool = False  # are human rows in the order that `upstream` LIC_D needs?
    reload: partial | None = None  # how another process gets this corpus

    @property
    def captioners(self) -> list[str]:
        """Captioners with standard captions, in the papers' order."""
        standard = self.generated[self.generated["caption_set"] == "standard"]
        return list(standard["captioner"].unique())

    def caption_sets(self, captioner: str) -> list[str]:
        """Names of a captioner's caption sets: standard, th10, masked_person, ..."""
        return [caption_set for name, caption_set in self._by_set if name == captioner]

    def captions(self, captioner: str, caption_set: str = "standard") -> pd.Series:
        """Generated captions by image id, in the row order of the captioner's file."""
        rows = self._by_set.get((captioner, caption_set))
        if rows is None:
            there = ", ".join(f"{name} ({kind})" for name, kind in self._by_set)
            where = f"{self.name}, {self.attribute.name}"
            found = f"{where}: no captions of {captioner!r} ({caption_set})"
            raise RelicError(found, expected=f"one of {there}")
        return rows.set_index("image_id")["caption"]

    def human_captions(self, caption_index: int) -> pd.Series:
        """The human caption number `caption_index` (0 to 4) by image id.

        An image with fewer repeats them in turn: number k of its c captions is caption k mod c.
        """
        turn = caption_index % self.human.groupby("image_id")["image_id"].transform("size")
        rows = self.human[self.human["caption_index"] == turn]
        if rows.empty or not 0 <= caption_index < HUMAN_CAPTIONS:
            raise RelicError(
                f"{self.name}, {self.attribute.name}: no human captions number {caption_index}",
                expected=f"human captions, numbers 0 to {HUMAN_CAPTIONS - 1}",
                mend="relic data check DIR tells which file is missing",
            )
        return rows.set_index("image_id")["caption"]

    @property
    def covered(self) -> pd.Index:
        """Labelled images with human captions, sorted by id."""
        return self.depth.index

    @cached_property
    def depth(self) -> pd.Series:
        """How many human captions of its own each covered image has, sorted by id."""
        counts = self.human["image_id"].value_counts().reindex(self.labels.index)
        return counts.dropna().astype("int64").rename("depth")

    @property
    def deepest(self) -> pd.Index:
        """Covered images with as many captions of their own as any: where captions are compared."""
        if self.human.empty:
            raise RelicError(
                f"{self.name}, {self.attribute.name}: no human captions to compare with",
                mend="relic data check DIR tells which file is missing",
            )
        return self.depth.index[self.depth == self.depth.max()]

    @property
    def coverage(self) -> str:
        """How far human captions reach, in words; part of every table's caption."""
        covered = len(self.covered)
        part = "all" if covered == len(self.labels) else f"{covered:,} of"
        thin = int((self.depth < self.depth.max()).sum())
        fewer = f" ({thin:,} with fewer than {self.depth.max()} of their own)" if thin else ""
        return f"human captions for {part} {len(self.labels):,} images{fewer}"

    def label_counts(self, images: pd.Index | None = None) -> dict[str, int]:
        """Images per class name, among `images` or all."""
        labels = self.labels if images is None else self.labels.loc[images]
        return {name: int((labels == i).sum()) for i, name in enumerate(self.attribute.classes)}

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of every label and caption: the same content has the same fingerprint."""
        digest = hashlib.sha256()
        for frame in (self.labels.reset_index(), self.generated, self.human, self.objects):
            digest.update(repr(list(frame.columns)).encode())
            for column in frame:
                digest.update("\x1f".join(map(str, frame[column].tolist())).encode() + b"\x1e")
        for captioner, words in sorted(self.vocabularies.items()):
            digest.update(f"{captioner}\x1f{' '.join(words)}\x1e".encode())
        return digest.hexdigest()

    @cached_property
    def _by_set(self) -> dict[tuple[str, str], pd.DataFrame]:
        return dict(list(self.generated.groupby(["captioner", "caption_set"], sort=False)))

    def __repr__(self) -> str:
        counts = f"{len(self.labels):,} images, {len(self.captioners)} captioners"
        return f"<Corpus {self.name}, {self.attribute.name}: {counts}, {self.coverage}>"


def is_image_id(value) -> bool:
    """A whole number that fits 64 bits; True is none.

    >>> is_image_id(391895), is_image_id(True), is_image_id(2**70), is_image_id("7")
    (True, False, False, False)
    """
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def is_text(value) -> bool:
    """A string that can be written: half a surrogate pair cannot.

    >>> is_text("a man"), is_text(None), is_text(chr(0xD83D))
    (True, False, False)
    """
    return isinstance(value, str) and (value.isascii() or not _SURROGATE.search(value))
