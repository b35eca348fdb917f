"""Rows with named columns: which column is meant, and how an error shows a row."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from relic.auditing.files import SHOWN, shortened
from relic.auditing.ids import image_ids
from relic.errors import RelicError

IMAGE_ID = ("image_id", "img_id", "cocoid")  # these name an image's id and nothing else
SEVERAL, NONE = "take the others out", "rename the column, or add a first line of names"
IMAGE_NAME = ("image", "file_name", "filename", "image_name", "id")


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a file: dicts (JSON, pickles) or lists in the order of `names` (CSV, id → value)."""

    file: Path
    sha256: str
    names: list[str]
    rows: list
    lines: list[int] | None = None  # where a row begins in the file, if it is read by lines
    kind: str = "JSON"  # or "CSV", "mapping" (id → value), "pickle"
    notes: list[str] = field(default_factory=list)

    def column(self, name: str) -> list:
        """The values of a column; None where a row has none."""
        if self.kind in ("CSV", "mapping"):
            at = self.names.index(name)
            return [row[at] for row in self.rows]
        return [row.get(name) for row in self.rows]

    def listed(self, positions: Iterable[int]) -> str:
        """Up to five rows as an error shows them: number and content."""
        return listed_rows(self.rows, positions, self.lines)

    def matching(self, wanted: Iterable[str]) -> list[str]:
        """Columns of these names, in the file's spelling; case and spaces do not count."""
        wanted = set(map(plain_name, wanted))
        return [name for name in self.names if plain_name(name) in wanted]

    def only(self, found: list[str], what: str, wanted: Iterable[str], hint: str = "") -> str:
        """The one column that is meant; none or several are an error."""
        if len(found) == 1:
            return found[0]
        names = ", ".join(shortened(name, 30) for name in self.names[:20]) or "none"
        several = f": {' and '.join(found[:SHOWN])} could all be meant" if found else ""
        raise RelicError(
            f"{self.file} has {'several columns' if found else 'no column'} for the {what}{several}"
            f" (columns found: {names})",
            expected=f"one column named {' or '.join(wanted)}",
            mend=hint or (SEVERAL if found else NONE),
        )

    def id_column(self) -> str:
        """The column of image ids: one named for it, or else one that may hold them."""
        sure, maybe = self.matching(IMAGE_ID), self.matching(IMAGE_NAME)
        if not sure and len(maybe) > 1 and self._agree(maybe):
            return maybe[0]
        chosen = self.only(sure or maybe, "image id", IMAGE_ID + IMAGE_NAME)
        if sure and maybe:
            self.notes.append(f"image ids are read from {chosen}, not from {' or '.join(maybe)}")
        elif plain_name(chosen) != IMAGE_ID[0]:
            self.notes.append(f"image ids are read from {chosen}")
        return chosen

    def _agree(self, names: list[str]) -> bool:
        """Whether columns hold the same ids, as `id` and `file_name` of COCO's images do."""
        first, *others = (image_ids(self.column(name)) for name in names)
        return not first.bad and all(first.values.equals(other.values) for other in others)


def plain_name(name: str) -> str:
    """A column's name without case, spaces and dashes."""
    return re.sub(r"[\s-]+", "_", name.strip().casefold())


def listed_rows(rows: list, positions: Iterable[int], lines: list[int] | None = None) -> str:
    """Up to five rows, each with its line or its number (the first is 1), shortened."""
    positions = list(positions)
    shown = [
        f"{f'line {lines[i]}' if lines else f'row {i + 1}'}: {shortened(rows[i])}"
        for i in positions[:SHOWN]
    ]
    more = f"; and {len(positions) - SHOWN:,} more" if len(positions) > SHOWN else ""
    return "; ".join(shown) + more
