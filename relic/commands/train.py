"""`relic sweep`, `attribute`, `calibrate`, `record` and `bench`: what trains or computes for minutes."""

import inspect
import sys
from functools import cache
from importlib import import_module
from pkgutil import resolve_name
from typing import Annotated, Literal

from typer import Argument, Option

from relic import paths
from relic.commands import options
from relic.commands.options import numbers, seed_numbers, store_at
from relic.errors import RelicError

ClassifiersOption = Annotated[str, Option(help="linear, lstm, bert-ft, bert-pre; with commas.")]
STUDIES = "intervals|fifths|grid|curves|length|objects"
RECORDS = {  # what records each: a function, which may take parts of the record
    "data": "relic.chapters.datacard:record",
    "accuracy": "relic.chapters.accuracy:record",
    "direction": "relic.chapters.direction:record",
    "since": "relic.chapters.since:record",
    "gender-score": "relic.chapters.gender_score.record:record",
    "audit": "relic.auditing.examples:record",
    "picture": "relic.chapters.papers:record",
}


def sweep(
    attribute: Annotated[str, Option(help="gender, race, age; several with commas.")] = "gender",
    classifier: ClassifiersOption = "linear",
    captioner: options.CaptionerOption = "",
    side: Annotated[Literal["model", "human", "both"], Option(help="LIC_M, LIC_D, both.")] = "both",
    seeds: options.SeedsOption = "0,12,100",
    caption_indices: Annotated[str, Option(help="Human captions with commas.")] = "0,1,2,3,4",
    split: options.SplitOption = "paired",
    vocabulary: Annotated[str, Option(help="captioner, human-top-n or none.")] = "captioner",
    caption_set: options.CaptionSetOption = "standard",
    recipe: Annotated[str, Option(help="Recipe of the classifier; its first by default.")] = "",
    batching: Annotated[str, Option(help="Batching of the classifier.")] = "",
    encoder: options.EncoderOption = "",
    labels: Annotated[str, Option(help="true, permuted or noisy:RATE.")] = "true",
    size: Annotated[int, Option(help="Images of the balanced set; 0 takes all there are.")] = 0,
    calibrated: Annotated[bool, Option("--calibrated", help="Also fit a temperature.")] = False,
    grid_name: Annotated[str, Option("--grid", help="A grid of results/grid.yml instead.")] = "",
    corpus: options.CorpusOption = "auto",
    corpus_images: options.ImagesOption = 4000,
    workers: Annotated[int, Option(min=1, help="Processes here, one thread each.")] = 1,
    scheduler: Annotated[str, Option(metavar="tcp://...", help="A Dask scheduler.")] = "",
    again: Annotated[bool, Option("--again", help="Also what results/ has recorded.")] = False,
    store: options.StoreOption = None,
) -> None:
    """Train classifiers: every combination that the store lacks.

    Example: relic sweep --attribute gender,race --classifier linear --seeds paper --workers 2
    """
    from relic.data.load import load_corpus
    from relic.measure.sweep import grid
    from relic.measure.sweep import sweep as compute
    from relic.records.grid import grid_runs
    from relic.records.runs import read_recorded

    if grid_name:
        load = cache(lambda name, attribute: load_corpus(attribute, name))
        runs = grid_runs(load, grid_name)
        corpora = [load(*place) for place in {(run.corpus, run.attribute) for run in runs}]
    else:
        choices = {"classifier": classifier.split(","), "seed": seed_numbers(seeds), "split": split}
        choices |= {"side": ["model", "human"] if side == "both" else side, "size": size}
        choices |= {"caption_index": numbers("--caption-indices", caption_indices)}
        choices |= {"vocabulary": vocabulary, "caption_set": caption_set, "labels": labels}
        choices |= {"recipe": recipe, "batching": batching, "encoder": encoder}
        choices |= {"calibrated": calibrated}
        choices |= {"captioner": captioner.split(",")} if captioner else {}
        corpora = [load_corpus(name, corpus, images=corpus_images) for name in attribute.split(",")]
        runs = [run for source in corpora for run in grid(source, **choices)]
    runs_store, recorded = store_at(store), set() if again else set(read_recorded()["key"])
    wanted = [run for run in runs if run.key not in recorded]
    new = compute(corpora, wanted, runs_store, workers=workers, scheduler=scheduler)
    skipped = f", {len(runs) - len(wanted)} recorded in results/" if len(wanted) < len(runs) else ""
    print(f"{len(runs)} runs{skipped}, {new} of them computed now, in {runs_store.directory}")


def attribute(
    captioner: options.CaptionerOption = "",
    classifier: Annotated[str, Option(help="lstm, bert-ft; both with a comma.")] = "lstm",
    seeds: options.SeedsOption = "0",
    split: options.SplitOption = "upstream",
    caption_set: options.CaptionSetOption = "standard",
    attribute: options.AttributeOption = "gender",
    encoder: options.EncoderOption = "",
    steps: Annotated[int, Option(help="Steps; 0: the classifier's own.")] = 0,
    checked: Annotated[int, Option(help="Captions also done with 500 steps.")] = 20,
    corpus: options.CorpusOption = "auto",
    record: Annotated[bool, Option("--record", help="Add to results/attribution/.")] = False,
    quote: Annotated[
        bool, Option("--quote", help="Also two images' captions, at most six.")
    ] = False,
    store: options.StoreOption = None,
) -> None:
    """Train and attribute: integrated gradients of every run that the store lacks.

    Example: relic attribute --captioner nic_plus,nic_equalizer --seeds 0,12 --record
    """
    from tqdm import tqdm

    from relic.chapters.attribution import attributed, publish, scores
    from relic.data.load import load_corpus
    from relic.measure.sweep import grid

    source, home = load_corpus(attribute, corpus), store_at(store).directory
    choices = {"classifier": classifier.split(","), "seed": seed_numbers(seeds), "split": split}
    choices |= {"caption_set": caption_set, "encoder": encoder}
    choices |= {"captioner": captioner.split(",")} if captioner else {}
    runs, how = grid(source, **choices), {"steps": steps, "checked": checked, "directory": home}
    done = {run: attributed(source, run, **how) for run in tqdm(runs, unit="run")}
    shown = ["captioner", "classifier", "seed", "of", "class1", "class0", "sum"]
    print(scores(done)[shown].round(3).to_string(index=False))
    if record:
        print(f"{len(publish(done, quote))} rows in results/attribution/scores.csv")


def calibrate(
    what: Annotated[str, Argument(metavar=STUDIES, help="What is measured.")] = "intervals",
    corpora: Annotated[int, Option(help="Synthetic corpora; 0: as recorded.")] = 0,
    images: Annotated[int, Option(help="Images of a corpus; 0: as recorded.")] = 0,
    classifier: Annotated[str, Option(help="Grid: only this classifier.")] = "",
) -> None:
    """What LIC depends on, into results/calibration/ (synthetic corpora) and results/learning/ (real).

    `intervals`: coverage of the candidates for an interval; `fifths`: their error on real captions.
    `grid`: bias over gain, size, duplicates, vocabulary, length, confidence and classifier. `curves`:
    training size; `length`: captions of equal length; `objects`: their words masked. `fifths`,
    `curves`, `length` and `objects` need the real captions. What is recorded is not computed again.
    """
    rows = _benchmarks("studies").calibrate(what, corpora, images, classifier)
    print(f"{len(rows):,} rows recorded of {what}")


def recorder(name: str):
    """The function that records a table of `RECORDS`."""
    if name not in RECORDS:
        raise RelicError(f"relic record {name}", expected=f"one of {', '.join(RECORDS)}")
    return resolve_name(RECORDS[name])


def record(
    name: Annotated[str, Argument(metavar="|".join(RECORDS), help="What is recorded.")],
    parts: Annotated[list[str] | None, Argument(help="data, gender-score: only these.")] = None,
) -> None:
    """Compute tables of results/ again, from the real captions (RELIC_DATA): numbers, no text.

    Example: relic record data labels depth. `picture` draws the README's. Runs: relic sweep.
    """
    compute = recorder(name)
    if parts and not inspect.getfullargspec(compute).varargs:
        raise RelicError(f"relic record {name} {' '.join(parts)}", expected="no parts")
    compute(*(parts or []))
    print(f"recorded: {name}")


def bench(
    only: Annotated[str, Option(metavar="NAME", help="One measurement.")] = "",
    csv: Annotated[bool, Option("--csv", help="name, ours, plain, ratio, unit.")] = False,
) -> None:
    """Measure our way against the plain way of doing the same work, in one run."""
    table = _benchmarks("bench").measure(only)
    print(table.to_csv(index=False) if csv else table.to_string(index=False))


def _benchmarks(name: str):
    """A module of what measures our own instruments: it stands beside the package, not in it."""
    if not paths.BENCHMARKS.is_dir():
        raise RelicError("benchmarks/ is not here", expected="a clone of the repository")
    sys.path.insert(0, str(paths.BENCHMARKS.parent))
    return import_module(f"benchmarks.{name}")
