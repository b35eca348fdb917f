"""The `relic` command."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

import relic
from relic.auditing.command import audit
from relic.errors import RelicError
from relic.gender_score_cli import app as gender_score

app = typer.Typer(
    name="relic",
    help="Do image captioners amplify the bias of their training captions?\n\n"
    "Your captions:  relic audit captions.json --labels labels.csv --human human.json\n\n"
    "The papers' claims:  relic claims\n\n"
    "Our runs:  relic results show\n\n"
    "The book:  ./run_all.sh\n\n"
    "Every command has --help; relic --install-completion teaches your shell.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
data = typer.Typer(help="The real captions: get them, check them.", no_args_is_help=True)
app.command()(audit)
app.add_typer(data, name="data")
results = typer.Typer(help="Runs: show them, publish them, check them.", no_args_is_help=True)
app.add_typer(results, name="results")
app.add_typer(gender_score, name="gender-score")


def _version(asked: bool) -> None:
    if asked:
        print(f"relic {relic.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of the command itself."""


@data.command()
def fetch(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where the files go (65 MB).")],
    mirror: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Base address in place of upstream's repository.")
    ] = "",
    replace: Annotated[
        bool, typer.Option("--replace", help="Overwrite files whose bytes are not upstream's.")
    ] = False,
) -> None:
    """Download upstream's captions and labels at the pinned commit.

    Files that are there and right are kept; a broken download is resumed; each file is verified
    before it gets its name.
    """
    from relic.data.fetch import UPSTREAM
    from relic.data.fetch import fetch as fetch_files

    report = fetch_files(directory, mirror or UPSTREAM, replace=replace)
    print(f"{len(report.downloaded)} files downloaded, {len(report.kept)} already there")
    print(f"next: relic data check {directory}")


@data.command()
def export(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A new directory.")],
    attribute: Annotated[str, typer.Option(help="gender, race or age.")] = "gender",
    corpus: Annotated[str, typer.Option(help="real, embedded (synthetic) or auto.")] = "auto",
    captioner: Annotated[str, typer.Option(help="Captioners with commas; all by default.")] = "",
    images: Annotated[int, typer.Option(help="Images of the embedded corpus.")] = 4000,
) -> None:
    """Write a corpus as files that `relic audit` reads: COCO results, labels, human captions."""
    from relic.auditing.export import export as write
    from relic.data import load_corpus

    found = load_corpus(attribute, corpus, images=images)
    names = captioner.split(",") if captioner else None
    print("\n".join(map(str, write(found, directory, names))))


@data.command()
def check(
    directory: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="A data directory (default: RELIC_DATA).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False,
) -> None:
    """Say what is there, what is missing and what that disables.

    Exit status 1 when nothing is usable or a file is broken.
    """
    from relic import paths
    from relic.data.check import as_text
    from relic.data.check import check as check_files

    directory = directory or paths.real_data()
    if directory is None:
        raise RelicError(
            "no directory given and RELIC_DATA is not set", mend="relic data check DIR"
        )
    report = check_files(directory)
    print(json.dumps(report.as_dict(), indent=1) if as_json else as_text(report))
    raise typer.Exit(0 if report.usable else 1)


Store_ = Annotated[
    Path | None,
    typer.Option("--store", metavar="DIR", help="Store of runs (default: RELIC_RUNS, or runs/)."),
]


def _store(directory: Path | None):
    from relic import paths
    from relic.store import Store

    return Store(directory or paths.runs())


def _numbers(option: str, text: str) -> list[int]:
    try:
        found = [int(number) for number in text.split(",")]
    except ValueError:
        found = [-1]
    if min(found) < 0:
        raise RelicError(f"{option} {text}", expected="whole numbers from 0, with commas")
    return found


@app.command()
def sweep(
    attribute: Annotated[
        str, typer.Option(help="gender, race, age; several with commas.")
    ] = "gender",
    classifier: Annotated[
        str, typer.Option(help="linear, lstm, bert-ft, bert-pre; several with commas.")
    ] = "linear",
    captioner: Annotated[str, typer.Option(help="Captioners with commas; all by default.")] = "",
    captions: Annotated[str, typer.Option(help="model (LIC_M), human (LIC_D) or both.")] = "both",
    seeds: Annotated[
        str, typer.Option(help="Seeds with commas, or `paper` for the papers' ten.")
    ] = "0,12,100",
    caption_indices: Annotated[str, typer.Option(help="Human captions with commas.")] = "0,1,2,3,4",
    split: Annotated[str, typer.Option(help="paired, upstream, unpaired or grouped.")] = "paired",
    vocabulary: Annotated[str, typer.Option(help="captioner, human-top-n or none.")] = "captioner",
    images: Annotated[
        str, typer.Option(help="Caption set: standard, th10, masked_person, ...")
    ] = "standard",
    recipe: Annotated[
        str, typer.Option(help="Recipe of the classifier; its first by default.")
    ] = "",
    batching: Annotated[str, typer.Option(help="Batching of the classifier.")] = "",
    encoder: Annotated[str, typer.Option(help="BERT-type encoder: hub name or directory.")] = "",
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
    corpus: Annotated[str, typer.Option(help="real, embedded or auto.")] = "auto",
    corpus_images: Annotated[int, typer.Option(help="Images of the embedded corpus.")] = 4000,
    workers: Annotated[int, typer.Option(help="Processes on this machine, one thread each.")] = 1,
    scheduler: Annotated[
        str, typer.Option(metavar="tcp://...", help="A Dask scheduler instead.")
    ] = "",
    again: Annotated[
        bool, typer.Option("--again", help="Also runs that results/ has recorded already.")
    ] = False,
    store: Store_ = None,
) -> None:
    """Train classifiers: every combination that the store lacks.

    Example: relic sweep --attribute gender,race --classifier linear --seeds paper --workers 2
    """
    from relic.declared import grid_runs
    from relic.results import read_published as published_runs
    from relic.splits import PAPER_SEEDS
    from relic.sweep import Source, grid
    from relic.sweep import sweep as compute

    if workers < 1:
        raise RelicError(f"--workers {workers}", expected="at least 1")
    source, runs = Source(corpus, corpus_images), []
    shared = {
        "classifier": classifier.split(","), "seed": list(PAPER_SEEDS) if seeds == "paper" else _numbers("--seeds", seeds), "split": split, "recipe": recipe,
        "batching": batching, "encoder": encoder, "labels": labels, "calibrated": calibrated,
        "size": size,
    }  # fmt: skip
    if captioner:
        shared["captioner"] = captioner.split(",")
    if grid_name:
        runs = grid_runs(source, grid_name)
    for name in attribute.split(",") if not grid_name else ():
        if captions in ("model", "both"):
            runs += grid(source, name, images=images, **shared)
        if captions in ("human", "both"):
            index = _numbers("--caption-indices", caption_indices)
            runs += grid(
                source, name, captions="human", caption_index=index, vocabulary=vocabulary, **shared
            )
    if not runs:
        raise RelicError(f"--captions {captions}", expected="model, human or both")
    kept, recorded = _store(store), set() if again else set(published_runs()["key"])
    wanted = [run for run in runs if run.key not in recorded]
    new = compute(source, wanted, kept, workers=workers, scheduler=scheduler)
    known = f", {len(runs) - len(wanted)} recorded in results/" if len(wanted) < len(runs) else ""
    print(f"{len(runs)} runs{known}, {new} of them computed now, in {kept.directory}")


@app.command()
def attribute(
    captioner: Annotated[str, typer.Option(help="Captioners with commas; all by default.")] = "",
    classifier: Annotated[str, typer.Option(help="lstm, bert-ft; both with a comma.")] = "lstm",
    seeds: Annotated[str, typer.Option(help="Seeds with commas, or `paper`.")] = "0",
    captions: Annotated[str, typer.Option(help="model, or both (human ones too).")] = "model",
    split: Annotated[str, typer.Option(help="paired, upstream, unpaired, grouped.")] = "upstream",
    images: Annotated[str, typer.Option(help="Caption set: standard, th10, ...")] = "standard",
    attribute: Annotated[str, typer.Option(help="gender, race or age.")] = "gender",
    encoder: Annotated[str, typer.Option(help="BERT-type encoder: hub name or directory.")] = "",
    steps: Annotated[int, typer.Option(help="Steps; 0: the classifier's own.")] = 0,
    checked: Annotated[int, typer.Option(help="Captions also done with 500 steps.")] = 20,
    corpus: Annotated[str, typer.Option(help="real, embedded or auto.")] = "auto",
    record: Annotated[
        bool, typer.Option("--record", help="Add numbers and words to results/attribution/.")
    ] = False,
    store: Store_ = None,
) -> None:
    """Train and attribute: integrated gradients of every run that the store lacks.

    Example: relic attribute --captioner nic_plus,nic_equalizer --seeds 0,12 --record
    """
    from relic.attributed import attribute_all
    from relic.attributed import publish as add
    from relic.attribution_tables import scores
    from relic.splits import PAPER_SEEDS
    from relic.sweep import Source

    if captions not in ("model", "both"):
        raise RelicError(f"--captions {captions}", expected="model or both")
    source, names = Source(corpus).load(attribute), classifier.split(",")
    described = {"split": split, "images": images}
    done = attribute_all(
        source,
        captioner.split(",") if captioner else source.captioners,
        names,
        seeds=PAPER_SEEDS if seeds == "paper" else _numbers("--seeds", seeds),
        human=names if captions == "both" else (),
        described=described | ({"encoder": encoder} if encoder else {}),
        progress=True,
        steps=steps,
        checked=checked,
        directory=_store(store).directory,
    )
    table = scores(done)[["captioner", "captions", "classifier", "seed", "of", "class1", "class0", "sum"]]  # fmt: skip
    print(table.round(3).to_string(index=False))
    if record:
        print(f"{len(add(done))} rows in results/attribution/scores.csv")


@results.command()
def show(
    attribute: Annotated[str, typer.Option(help="Only this attribute.")] = "",
    classifier: Annotated[str, typer.Option(help="Only this classifier.")] = "",
    captioner: Annotated[str, typer.Option(help="Only this captioner.")] = "",
    source: Annotated[str, typer.Option(help="recorded or local.")] = "",
    csv: Annotated[
        bool, typer.Option("--csv", help="Tidy CSV of single runs; means otherwise.")
    ] = False,
    store: Store_ = None,
) -> None:
    """Print published runs and this machine's, scores in percent."""
    from relic.results import COLUMNS, lic_table, load_runs, score_table

    frame = load_runs(_store(store))
    asked = {
        "attribute": attribute,
        "classifier": classifier,
        "captioner": captioner,
        "source": source,
    }
    for column, value in asked.items():
        if value and value not in set(frame[column]):
            there = ", ".join(sorted(set(frame[column]))) or "none"
            raise RelicError(f"no runs with {column} {value!r}", expected=f"one of: {there}")
        frame = frame[frame[column] == value] if value else frame
    if csv:
        print(frame[COLUMNS].to_csv(index=False), end="")
        return
    print("scores in percent\n" + score_table(frame).to_string(index=False))
    print("\nLIC in percentage points, paired splits: by seed, LIC_M less the mean of its LIC_D")
    print(lic_table(frame).to_string(index=False))


@results.command()
def publish(store: Store_ = None) -> None:
    """Condense a store's runs on real captions into results/."""
    from relic import paths
    from relic.results import publish as condense

    print(f"{len(condense(_store(store)))} runs in {paths.RESULTS.name}/")


@results.command(name="check")
def check_results() -> None:
    """Verify results/: keys, scores, the declared grid, and that no label or caption is in it.

    Grids that results/grid.yml calls partial are told with what they hold; that is no problem.
    """
    from relic.declared import progress, read
    from relic.results import check as problems
    from relic.results import read_published as published_runs

    found = problems()
    print("\n".join(found) or "results/ is sound")
    table = progress(read(), published_runs())
    for row in table[table["recorded"] < table["of"]].to_dict("records"):
        print(
            f"{row['state']}: {row['grid']}; {row['attribute']}: {row['recorded']} of {row['of']}"
        )
    raise typer.Exit(1 if found else 0)


@app.command()
def claims(
    source: Annotated[
        str, typer.Option(help="Only this source: turk2023, recorded, 'this build', ...")
    ] = "",
    claim: Annotated[str, typer.Option(help="Only this claim: 1, 2, 3 or 4.")] = "",
    csv: Annotated[bool, typer.Option("--csv", help="Tidy CSV; sentences otherwise.")] = False,
    store: Store_ = None,
) -> None:
    """Judge the four claims on every source: the papers, recorded runs, this machine's runs.

    Sources: `NAME table` are printed means and spreads, `turk2023` its values by split, `recorded` our
    runs in results/, `this build` the runs in this machine's store. What the verdicts mean: the
    book's page "How we decide".
    """
    from relic.claims import judge_all, table
    from relic.evidence import gather
    from relic.results import local_frame

    runs = _store(store)
    evidence = gather(local_frame(runs) if runs.directory.is_dir() else None)
    verdicts = [v for v in judge_all(evidence) if not source or v.source == source]
    verdicts = [v for v in verdicts if v.claim.startswith(claim)]
    if not verdicts:
        there = ", ".join(dict.fromkeys(evidence["source"]))
        raise RelicError(f"nothing on claim {claim or 'any'} from {source!r}", expected=there)
    if csv:
        print(table(verdicts).round(4).to_csv(index=False), end="")
        return
    for each in verdicts:
        where = f"claim {each.claim}, {each.attribute}, {each.classifier}, {each.variant}"
        print(f"{each.symbol} {each.verdict}: {where}; {each.source}\n    {each.sentence}")


@app.command()
def calibrate(
    what: Annotated[
        str, typer.Argument(metavar="study|grid", help="Intervals, or the bias of LIC.")
    ] = "study",
    corpora: Annotated[int, typer.Option(help="Synthetic corpora; 0: as recorded.")] = 0,
    images: Annotated[int, typer.Option(help="Images of a corpus; 0: as recorded.")] = 0,
    classifier: Annotated[str, typer.Option(help="Grid: only this classifier.")] = "",
) -> None:
    """Measure LIC on synthetic corpora whose truth is known, into results/calibration/.

    `study`: coverage and false positives of the intervals. `grid`: bias over gain, size, duplicates,
    vocabulary, confidence and classifier. What is recorded already is not computed again.
    """
    from relic.calibration_report import calibrate as run

    print(run(what, corpora, images, classifier))


@app.command()
def bench(
    only: Annotated[str, typer.Option(metavar="NAME", help="One measurement.")] = "",
    csv: Annotated[bool, typer.Option("--csv", help="name, ours, plain, ratio, unit.")] = False,
) -> None:
    """Measure our way against the plain way of doing the same work, in one run."""
    from relic.bench import measure

    table = measure(only)
    print(table.to_csv(index=False) if csv else table.to_string(index=False))


def main() -> None:
    """Run the command; an error a user can act on is printed without a traceback."""
    try:
        app()
    except RelicError as error:
        print(f"relic: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
