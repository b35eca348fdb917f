"""`relic sweep` and `relic attribute`: what trains classifiers."""

from functools import cache
from typing import Annotated

import typer

from relic.commands.options import (
    CaptionerOption,
    CaptionSetOption,
    CorpusOption,
    EncoderOption,
    SchedulerOption,
    SeedsOption,
    SplitOption,
    StoreOption,
    WorkersOption,
    numbers,
    seed_numbers,
    store_at,
)
from relic.errors import RelicError


def sweep(
    attribute: Annotated[
        str, typer.Option(help="gender, race, age; several with commas.")
    ] = "gender",
    classifier: Annotated[
        str, typer.Option(help="linear, lstm, bert-ft, bert-pre; several with commas.")
    ] = "linear",
    captioner: CaptionerOption = "",
    side: Annotated[str, typer.Option(help="model (LIC_M), human (LIC_D) or both.")] = "both",
    seeds: SeedsOption = "0,12,100",
    caption_indices: Annotated[str, typer.Option(help="Human captions with commas.")] = "0,1,2,3,4",
    split: SplitOption = "paired",
    vocabulary: Annotated[str, typer.Option(help="captioner, human-top-n or none.")] = "captioner",
    caption_set: CaptionSetOption = "standard",
    recipe: Annotated[
        str, typer.Option(help="Recipe of the classifier; its first by default.")
    ] = "",
    batching: Annotated[str, typer.Option(help="Batching of the classifier.")] = "",
    encoder: EncoderOption = "",
    labels: Annotated[str, typer.Option(help="true, permuted or noisy:RATE.")] = "true",
    size: Annotated[
        int, typer.Option(help="Images of the balanced set; 0 takes all there are.")
    ] = 0,
    calibrated: Annotated[
        bool, typer.Option("--calibrated", help="Also fit a temperature.")
    ] = False,
    grid_name: Annotated[
        str, typer.Option("--grid", metavar="NAME", help="A grid of results/grid.yml instead.")
    ] = "",
    corpus: CorpusOption = "auto",
    corpus_images: Annotated[int, typer.Option(help="Images of the embedded corpus.")] = 4000,
    workers: WorkersOption = 1,
    scheduler: SchedulerOption = "",
    again: Annotated[
        bool, typer.Option("--again", help="Also runs that results/ has recorded already.")
    ] = False,
    store: StoreOption = None,
) -> None:
    """Train classifiers: every combination that the store lacks.

    Example: relic sweep --attribute gender,race --classifier linear --seeds paper --workers 2
    """
    from relic.data.load import load_corpus
    from relic.measure.sweep import grid
    from relic.measure.sweep import sweep as compute
    from relic.records.grid import grid_runs
    from relic.records.runs import read_recorded

    if workers < 1:
        raise RelicError(f"--workers {workers}", expected="at least 1")
    names, runs = [] if grid_name else attribute.split(","), []
    corpora = [load_corpus(name, corpus, images=corpus_images) for name in names]
    shared = {"classifier": classifier.split(","), "seed": seed_numbers(seeds), "split": split}
    shared |= {"recipe": recipe, "batching": batching, "encoder": encoder, "labels": labels}
    shared |= {"calibrated": calibrated, "size": size}
    if captioner:
        shared["captioner"] = captioner.split(",")
    if grid_name:
        load = cache(lambda name, attribute: load_corpus(attribute, name))
        runs = grid_runs(load, grid_name)
        corpora = [load(*about) for about in {(run.corpus, run.attribute) for run in runs}]
    for found in corpora if not grid_name else ():
        if side in ("model", "both"):
            runs += grid(found, caption_set=caption_set, **shared)
        if side in ("human", "both"):
            index = numbers("--caption-indices", caption_indices)
            human = {"side": "human", "caption_index": index, "vocabulary": vocabulary}
            runs += grid(found, **human, **shared)
    if not runs:
        raise RelicError(f"--side {side}", expected="model, human or both")
    kept, recorded = store_at(store), set() if again else set(read_recorded()["key"])
    wanted = [run for run in runs if run.key not in recorded]
    new = compute(corpora, wanted, kept, workers=workers, scheduler=scheduler)
    known = f", {len(runs) - len(wanted)} recorded in results/" if len(wanted) < len(runs) else ""
    print(f"{len(runs)} runs{known}, {new} of them computed now, in {kept.directory}")


def attribute(
    captioner: CaptionerOption = "",
    classifier: Annotated[str, typer.Option(help="lstm, bert-ft; both with a comma.")] = "lstm",
    seeds: SeedsOption = "0",
    split: SplitOption = "upstream",
    caption_set: CaptionSetOption = "standard",
    attribute: Annotated[str, typer.Option(help="gender, race or age.")] = "gender",
    encoder: EncoderOption = "",
    steps: Annotated[int, typer.Option(help="Steps; 0: the classifier's own.")] = 0,
    checked: Annotated[int, typer.Option(help="Captions also done with 500 steps.")] = 20,
    corpus: CorpusOption = "auto",
    record: Annotated[
        bool, typer.Option("--record", help="Add numbers and words to results/attribution/.")
    ] = False,
    quote: Annotated[
        bool, typer.Option("--quote", help="With --record: also two images' captions, six at most.")
    ] = False,
    store: StoreOption = None,
) -> None:
    """Train and attribute: integrated gradients of every run that the store lacks.

    Example: relic attribute --captioner nic_plus,nic_equalizer --seeds 0,12 --record
    """
    from tqdm import tqdm

    from relic.chapters.attribution.runs import attributed, publish, scores
    from relic.data.load import load_corpus
    from relic.measure.sweep import grid

    source, kept = load_corpus(attribute, corpus), store_at(store).directory
    given = {"classifier": classifier.split(","), "seed": seed_numbers(seeds), "split": split}
    given |= {"caption_set": caption_set, "encoder": encoder}
    given |= {"captioner": captioner.split(",")} if captioner else {}
    runs, how = grid(source, **given), {"steps": steps, "checked": checked, "directory": kept}
    done = {run: attributed(source, run, **how) for run in tqdm(runs, unit="run")}
    shown = ["captioner", "classifier", "seed", "of", "class1", "class0", "sum"]
    print(scores(done)[shown].round(3).to_string(index=False))
    if record:
        print(f"{len(publish(done, quote))} rows in results/attribution/scores.csv")
