"""`relic.runs`: runs from the record, else from this machine's store, else trained now.

So one cell works for everybody. Without the real captions everything that is recorded is served in
seconds; what is not recorded is an error that names it and the command that gets it. With them, a
run whose captions read otherwise than the recorded one's is trained here.
"""

import html
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from relic import paths
from relic.data.attribute import Attribute, load_attribute
from relic.data.captioners import REAL, captioners_of, corpus_name, display_names, image_sets
from relic.data.corpus import HUMAN_CAPTIONS, Corpus
from relic.data.load import GET
from relic.data.load import load_corpus as load_captions
from relic.data.planted import planted_corpus
from relic.errors import RelicError
from relic.measure.classifiers.base import kind_of
from relic.measure.runs import Run, Store
from relic.measure.splits import PAPER_SEEDS
from relic.measure.sweep import SLOW, grid, sweep
from relic.numbers import count
from relic.records.runs import OWN, PLAIN, UNCHANGED, asked, outcomes_of, own_frame, read_recorded
from relic.records.tables import read_table


@dataclass(frozen=True, eq=False)
class RecordedCorpus:
    """The real captions where they are not: what `results/data` tells of them."""

    attribute: Attribute
    images: str = ""  # an image set; all by default
    synthetic: bool = False
    fingerprint: str = "not here: served from the record"

    @property
    def name(self) -> str:
        """As its runs call it."""
        return corpus_name(self.images)

    @property
    def captioners(self) -> list[str]:
        """Captioners with captions for the attribute, in the papers' order, then further ones."""
        papers = [key for key, files in captioners_of().items() if self.attribute.name in files]
        return [*papers, *(captioners_of(self.images) if self.images else ())]

    @cached_property
    def coverage(self) -> str:
        """How far human captions reach, in words."""
        every = read_table("data", "labels")  # literal names: the build follows them
        labels = read_table("since", "labels") if self.images else every
        labels = labels[labels["attribute"] == self.attribute.name]
        labels = labels[labels["corpus"] == self.name] if self.images else labels
        covered, images = (int(labels[c].sum()) for c in ("with human captions", "images"))
        return f"human captions for {covered:,} of {images:,} images"

    def __getattr__(self, name: str):
        raise RelicError(
            f"{self.name}, {self.attribute.name}: the captions are not on this machine ({name})",
            expected="a directory of captions in upstream's layout",
            mend=GET,
        )

    def __repr__(self) -> str:
        return f"<{self.name}, {self.attribute.name}: recorded runs only; {self.coverage}>"


AnyCorpus = Corpus | RecordedCorpus


def load_corpus(attribute: str, corpus: str = "real", **embedded: int) -> AnyCorpus:
    """The corpus of an attribute: `real` or an image set (its record where the captions are not), or `embedded`.

    `embedded`: `images` and `seed` of that one.
    """
    directory = paths.real_data()
    if corpus == "real" and directory is None:
        return RecordedCorpus(load_attribute(attribute))
    if corpus in image_sets():
        files = [captioner["file"] for captioner in captioners_of(corpus).values()]
        if directory is None or not any((directory / file).exists() for file in files):
            return RecordedCorpus(load_attribute(attribute), corpus)
    return load_captions(attribute, corpus, **embedded)


def readable(corpus: AnyCorpus) -> Corpus:
    """The corpus itself or, where its captions are not, the embedded one (synthetic) to look at."""
    return corpus if isinstance(corpus, Corpus) else planted_corpus(corpus.attribute.name)


@dataclass(frozen=True, eq=False)
class Runs:
    """Finished runs: `frame` has a row a run; `outcomes` a row a run and test image."""

    frame: pd.DataFrame
    store: Store = field(default_factory=lambda: Store(paths.runs()))
    names: dict[str, str] = field(default_factory=display_names)  # captioners by key, as shown

    @cached_property
    def outcomes(self) -> pd.DataFrame:
        """What became of each test image: key, image_id, score, unseen_raw, unseen."""
        return outcomes_of(self.frame, self.store)

    def where(self, **values) -> "Runs":
        """Those whose fields have these values (a list: one of them)."""
        frame = self.frame
        for name, value in values.items():
            frame = frame[frame[name].isin(value if isinstance(value, list) else [value])]
        return Runs(frame, self.store, self.names)

    def __add__(self, other: "Runs") -> "Runs":
        both = pd.concat([self.frame, other.frame], ignore_index=True)
        return Runs(both.drop_duplicates("key", ignore_index=True), self.store, self.names)

    def __len__(self) -> int:
        return len(self.frame)

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}</p>"

    def __repr__(self) -> str:
        """What they are and where they came from: the first line of a page."""
        if self.frame.empty:
            return "no runs"
        own = (self.frame["source"] == OWN).sum()
        came = {"recorded": len(self) - own, "trained on this machine": own}
        said = " and ".join(f"{n:,} {how}" for how, n in came.items() if n)
        fields = ("corpus", "attribute", "classifier")
        corpus, attribute, kinds = (", ".join(self.frame[field].unique()) for field in fields)
        captioners, seeds = self.frame[["captioner", "seed"]].nunique()
        counts = f"{count(captioners, 'captioner')}, {count(seeds, 'split')}"
        return f"{corpus}, {attribute}: {kinds}, {counts}, {count(len(self), 'run')} ({said})"


def runs(
    corpus: AnyCorpus,
    captioners: Iterable[str] | None = None,
    classifier: str | list[str] = "linear",
    seeds: Iterable[int] = PAPER_SEEDS,
    *,
    sides: Iterable[str] = ("model", "human"),
    caption_indices: Iterable[int] | None = None,
    workers: int = 0,
    progress: bool = True,
    **choices,
) -> Runs:
    """Every captioner's runs on every split, for LIC_M and LIC_D.

    `captioners`: keys, all by default. `caption_indices`: human captions that LIC_D is the mean over;
    all five for quick classifiers, one a split in turn for `lstm` and `bert-ft`. `choices`: further
    fields of a run (`split`, `caption_set`, `vocabulary`, `labels`, `size`, `recipe`, `encoder`), each
    a value or a list.
    """
    names, seeds = list(captioners or corpus.captioners), list(seeds)
    if not seeds:
        raise RelicError(
            f"{corpus.name}, {corpus.attribute.name}: {classifier}: no split is recorded for every captioner",
            expected="a recorded classifier (linear is complete), or seeds to train",
            mend=f"{GET}, and name the seeds",
        )
    fields = {"captioner": names, "side": list(sides), "classifier": classifier, "seed": seeds}
    indices = range(HUMAN_CAPTIONS) if caption_indices is None else list(caption_indices)
    wanted = grid(corpus, **fields, **choices, caption_index=indices)
    if caption_indices is None:
        wanted = list(filter(_in_turn, wanted))
    return serve(corpus, wanted, workers=workers, progress=progress)


def splits(
    corpus: AnyCorpus,
    classifier: str = "linear",
    seeds: Iterable[int] = (),
    *,
    captioners: Iterable[str] = (),
    sides: Iterable[str] = ("model", "human"),
    size: int = 0,
) -> list[int]:
    """The splits of a page: those asked for, else all that are recorded for every captioner.

    The embedded corpus has no record: 0, 12 and 100.
    """
    if seeds or corpus.synthetic:
        return list(seeds or PAPER_SEEDS[:3])
    names, recipe = list(captioners or corpus.captioners), kind_of(classifier).recipes[0]
    kind = {"attribute": corpus.attribute.name, "classifier": classifier, "recipe": recipe}
    counts = recorded(**kind, captioner=names, size=size).frame.groupby(["side", "seed"]).size()
    captions = 1 if classifier in SLOW else HUMAN_CAPTIONS
    wanted = {"model": len(names), "human": len(names) * captions}
    return [s for s in PAPER_SEEDS if all(counts.get((k, s), 0) >= wanted[k] for k in sides)]


def _in_turn(run: Run) -> bool:
    """Of human captions all five, or one a split in the turn of the papers' seeds where a run takes minutes."""
    if run.side == "model" or run.classifier not in SLOW:
        return True
    turn = PAPER_SEEDS.index(run.seed) if run.seed in PAPER_SEEDS else run.seed
    return run.caption_index == turn % HUMAN_CAPTIONS


def serve(corpus: AnyCorpus, wanted: list[Run], *, workers: int = 0, progress: bool = True) -> Runs:
    """The wanted runs: recorded, else in the store, else computed now."""
    store, record = Store(paths.runs()), read_recorded()
    rows, missing = match(corpus, wanted, record)
    frames = [rows] if len(rows) else []
    if missing:
        sweep(corpus, missing, store, workers=workers, progress=progress)
        frames.append(own_frame(store, missing))
    return Runs(pd.concat(frames, ignore_index=True), store)


def match(
    corpus: AnyCorpus, wanted: list[Run], record: pd.DataFrame
) -> tuple[pd.DataFrame, list[Run]]:
    """Recorded rows of the wanted runs, and the runs to be computed: an error where captions are absent."""
    places = {description: at for at, description in enumerate(asked(record))}
    fingerprints, rows, missing = record["fingerprint"].tolist(), [], []
    for run in wanted:
        at = places.get(tuple(getattr(run, name) for name in UNCHANGED))
        if at is not None and run.fingerprint in ("", fingerprints[at]):
            rows.append(at)
        else:
            missing.append(run)
    if missing and not isinstance(corpus, Corpus):
        raise _absent(missing, len(wanted), record)
    return record.iloc[rows], missing


def _absent(missing: list[Run], wanted: int, record: pd.DataFrame) -> RelicError:
    first = missing[0]
    same = ("corpus", "attribute", "classifier", "split", "side")
    alike = Runs(record).where(**{name: getattr(first, name) for name in same}).frame
    seeds = ", ".join(map(str, sorted(alike["seed"].unique()))) or "none"
    return RelicError(
        f"{len(missing)} of {wanted} runs are not recorded, and the real captions are not here to train them; "
        f"the first: {first.attribute}, {first.captioner}, {first.side} captions, {first.classifier}, seed {first.seed}",
        expected=f"recorded seeds of {first.classifier} for {first.attribute} ({seeds}), or corpus embedded",
        mend=GET,
    )


def recorded(**values) -> Runs:
    """All recorded runs whose fields have these values: what a table over classifiers starts from."""
    return Runs(read_recorded()).where(**PLAIN | {"corpus": REAL} | values)
