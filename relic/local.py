"""This build's own runs: computed into the store where they are missing, and read back."""

import pandas as pd

from relic import paths
from relic.data.corpus import Corpus
from relic.evidence import BOTH, THIS_BUILD, from_runs, means
from relic.material import Reading, usable_labels
from relic.results import RECORDED, UNCHANGED, load_runs, local_frame
from relic.runs import Run
from relic.splits import PAPER_SEEDS
from relic.store import Store
from relic.sweep import Source, grid, sweep

SAME = 1e-6  # points to which recorded scores are told; a last digit is rounded


def own_store() -> Store:
    """The store of this machine."""
    return Store(paths.runs())


def paired_grid(
    source: Source,
    attribute: str,
    *,
    seeds: list[int],
    caption_indices: list[int] | range = range(5),
    sides: tuple[str, ...] = BOTH,
    **choices,
) -> list[Run]:
    """LIC_M, and LIC_D of each human caption, for every captioner and seed."""
    runs = []
    words = choices.pop("vocabulary", "")
    for side in sides:
        human = {"caption_index": list(caption_indices), "vocabulary": words}
        more = choices | (human if side == "human" else {})
        runs += grid(source, attribute, side=side, seed=list(seeds), **more)
    return runs


def own_runs(
    source: Source, runs: list[Run], *, workers: int = 1, progress: bool = True
) -> pd.DataFrame:
    """Compute what the store lacks of these runs; all of them as a frame, with key and source."""
    store = own_store()
    sweep(source, runs, store, workers=workers, progress=progress)
    return local_frame(store, runs)


def lic_runs(
    attributes: list[str] | str,
    *,
    corpus: str = "auto",
    images: int = 4000,
    corpus_seed: int = 0,
    classifier: str = "linear",
    seeds: list[int] = PAPER_SEEDS,
    workers: int = 1,
    **choices,
) -> pd.DataFrame:
    """What a claim notebook needs: paired runs of every captioner, for LIC_M and LIC_D."""
    source = Source(corpus, images=images, seed=corpus_seed)
    names = [attributes] if isinstance(attributes, str) else list(attributes)
    runs = [
        run
        for name in names
        for run in paired_grid(source, name, seeds=list(seeds), classifier=classifier, **choices)
    ]
    return own_runs(source, runs, workers=workers)


def together(*frames: pd.DataFrame) -> pd.DataFrame:
    """Runs of several calls, each once."""
    return pd.concat(frames, ignore_index=True).drop_duplicates("key", ignore_index=True)


def equal_size_runs(
    *, corpus: str = "auto", images: int = 4000, workers: int = 1, **choices
) -> pd.DataFrame:
    """Gender and race, and gender once more on as many images as race has (claim 3)."""
    shared = {"corpus": corpus, "images": images, "workers": workers, **choices}
    both = lic_runs(["gender", "race"], **shared)
    race = Source(corpus, images=images).load("race")
    size = balanced_size(race)
    return pd.concat([both, lic_runs("gender", size=size, **shared)], ignore_index=True)


def balanced_size(corpus: Corpus) -> int:
    """Images of a corpus's balanced set on paired splits: twice the rarer class."""
    reading = Reading("model", corpus.captioners[0])
    labels = usable_labels(corpus, reading, "paired", 0, 0)
    return 2 * int(labels.sum())


def beside_recorded(own: pd.DataFrame, recorded: pd.DataFrame | None = None) -> str:
    """How far this build's runs lie from the recorded ones, in words; nothing for other captions."""
    recorded = load_runs() if recorded is None else recorded
    recorded = recorded[recorded["corpus"].isin(own["corpus"])]
    if recorded.empty:
        return ""
    both = own.merge(recorded, on=UNCHANGED, suffixes=("", "_recorded"))
    apart = (both["score"] - both["score_recorded"]).abs()
    other = int((both["fingerprint"] != both["fingerprint_recorded"]).sum())
    told = f"**Beside the recorded runs:** {len(both):,} of this build's {len(own):,} runs are recorded too"
    if len(both):
        told += f"; their scores differ by at most {max(apart.max(), SAME):.2g} points"
    told += f" ({other:,} of them read other captions or labels)" if other else ""
    lines = [f"{told}.\n"]
    mine, theirs = from_runs(own, THIS_BUILD), from_runs(recorded, RECORDED)
    for (attribute, name), group in mine.groupby(["attribute", "classifier"], sort=False):
        same = theirs[(theirs["attribute"] == attribute) & (theirs["classifier"] == name)]
        lines += _apart(
            f"{attribute}, {name}", *(x[x["variant"] == "standard"] for x in (group, same))
        )
    return "\n".join(lines)


def _apart(about: str, mine: pd.DataFrame, theirs: pd.DataFrame) -> list[str]:
    """LIC of this build minus the recorded mean, over captioners."""
    ours, known = means(mine), means(theirs)
    gaps = [ours[name].mean - known[name].mean for name in ours if name in known]
    if not gaps:
        return []
    inside = [
        known[name].interval().low <= ours[name].mean <= known[name].interval().high
        for name in ours
        if name in known and known[name].n > 1
    ]
    held = f", inside the recorded interval for {sum(inside)} of {len(inside)}" if inside else ""
    return [
        f"- LIC, {about}: this build minus the recorded mean lies between {round(min(gaps), 1) + 0.0:+.1f} and {round(max(gaps), 1) + 0.0:+.1f} points over "
        f"{len(gaps)} captioners{held}."
    ]
