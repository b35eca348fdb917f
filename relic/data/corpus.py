"""The one tidy form of all data: images with labels, human captions, captions per captioner."""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property, partial

import pandas as pd

from relic.data.attribute import Attribute
from relic.errors import RelicError

UNKNOWN, PADDING = "<unk>", "<pad>"  # what vocabularies begin with; a human word outside of one
HUMAN_CAPTIONS = 5  # human captions that an image has to offer; of more, the first five are used


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
    objects: pd.DataFrame = field(
        default_factory=lambda: pd.DataFrame(columns=["image_id", "label", "probability", "source"])
    )
    human_row_order: bool = False  # are human rows in the order that `upstream` LIC_D needs?
    reload: partial | None = None  # how another process gets this corpus

    @property
    def captioners(self) -> list[str]:
        """Captioners with standard captions, in the papers' order."""
        standard = self.generated[self.generated["caption_set"] == "standard"]
        return list(standard["captioner"].unique())

    @property
    def title(self) -> str:
        """The name as a table's caption begins with it."""
        return self.name[0].upper() + self.name[1:]

    def caption_sets(self, captioner: str) -> list[str]:
        """Names of a captioner's caption sets: standard, th10, masked_person, ..."""
        return [caption_set for name, caption_set in self._by_set if name == captioner]

    def captions(self, captioner: str, caption_set: str = "standard") -> pd.Series:
        """Generated captions by image id, in the row order of the captioner's file."""
        rows = self._by_set.get((captioner, caption_set))
        if rows is None:
            sets = [f"{name}" if v == "standard" else f"{name} ({v})" for name, v in self._by_set]
            raise RelicError(
                f"{self.name}, {self.attribute.name}: no captions of {captioner!r} ({caption_set})",
                expected=f"one of {', '.join(sets)}",
            )
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

    @cached_property
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
        return self.depth.index[self.depth == self.depth.max()]

    @property
    def coverage(self) -> str:
        """How far human captions reach, in words; part of every table's caption."""
        part = "all" if self.complete else f"{len(self.covered):,} of"
        thin = int((self.depth < self.depth.max()).sum())
        fewer = f" ({thin:,} with fewer than {self.depth.max()} of their own)" if thin else ""
        return f"human captions for {part} {len(self.labels):,} images{fewer}"

    @property
    def complete(self) -> bool:
        """Do human captions cover every labelled image?"""
        return len(self.covered) == len(self.labels)

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
        return (
            f"<Corpus {self.name}, {self.attribute.name}: {len(self.labels):,} images, "
            f"{len(self.captioners)} captioners, {self.coverage}>"
        )
