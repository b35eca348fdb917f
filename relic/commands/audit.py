"""`relic audit`: notebook 80 executed by papermill on somebody's files, its report moved into place.

The report is made in a directory beside `--out` and renamed at the end: `--out` holds a whole report
or none. Inputs are read here first, so that what is wrong with them is said within seconds.
"""

import contextlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from relic import paths
from relic.commands.options import seed_numbers
from relic.errors import RelicError

NOTEBOOK = "80_your_captions"
EXECUTED = "audit.ipynb"
OURS = ("report.html", "report.md", "report.json", "report.csv", EXECUTED)


def audit(
    captions: Annotated[
        list[str],
        typer.Argument(metavar="CAPTIONS...", help="COCO results JSON, JSON lines, CSV or upstream pickle; several files compare captioners. NAME=FILE names one."),
    ],
    labels: Annotated[str, typer.Option(metavar="FILE", help="Image id and class: CSV, JSON, or an upstream pickle.")],
    human: Annotated[str, typer.Option(metavar="FILE", help="Human captions: COCO annotations, CSV, JSON or upstream pickle.")],
    attribute: Annotated[str, typer.Option(help="gender, race, age, a YAML file, or a new name with --classes and --masked-words.")] = "gender",
    classes: Annotated[str, typer.Option(metavar="A,B", help="The two classes as the labels file writes them; other values are left out.")] = "",
    masked_words: Annotated[str, typer.Option(metavar="FILE", help="Words that state the attribute, hidden from the classifier.")] = "",
    vocabulary: Annotated[str, typer.Option(help="What human captions are aligned to: captioner, human-top-n, none, or a file of words.")] = "captioner",
    objects: Annotated[str, typer.Option(metavar="FILE", help="CSV image_id,label,probability: adds the Gender Score.")] = "",
    classifier: Annotated[str, typer.Option(help="linear (seconds), lstm, bert-ft, bert-pre (minutes to hours); several with commas.")] = "linear",
    seeds: Annotated[str, typer.Option(help="Seeds with commas, or `paper`: the papers' ten.")] = "paper",
    split: Annotated[str, typer.Option(help="paired, unpaired or grouped (identical captions on one side).")] = "paired",
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the report goes.")] = Path("audit"),
    format: Annotated[str, typer.Option(help="html, md, json, csv; several with commas.")] = "html,md,json,csv",
    accuracy: Annotated[bool, typer.Option(help="Also BLEU-4, CIDEr, METEOR, ROUGE-L.")] = True,
    workers: Annotated[int, typer.Option(min=1, help="Processes on this machine; worth it for lstm and bert.")] = 1,
    scheduler: Annotated[str, typer.Option(metavar="tcp://...", help="A Dask scheduler in place of local processes.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace a report that is there.")] = False,
) -> None:  # fmt: skip
    """Audit your captioner: does it amplify the bias of human captions?

    relic audit captions.json --labels labels.csv --human captions_val2014.json

    A classifier guesses the attribute from your captions and from human captions
    of the same images; LIC is the difference, told with a 95 % interval and a
    verdict in words. 10,000 captions take under a minute. In the book: "Audit
    your captioner" walks through one, "How to read an audit" tells its limits.

    Several captioners, same splits:  relic audit old=a.json new=b.json ...

    Labels of your own:  a CSV with the columns image_id,label

    Another attribute:  --attribute smile --classes yes,no --masked-words w.txt
    """
    from relic.auditing.inputs import Inputs
    from relic.auditing.write import check_formats

    formats = check_formats([each.strip() for each in format.split(",") if each.strip()])
    told = Inputs(
        captions=tuple(captions), labels=labels, human=human, attribute=attribute,
        classes=tuple(each.strip() for each in classes.split(",") if each.strip()),
        masked_words=masked_words, vocabulary=vocabulary, objects=objects,
    )  # fmt: skip
    parameters = {
        **json.loads(told.told()), "classifiers": [each.strip() for each in classifier.split(",")],
        "seeds": seed_numbers(seeds), "split": split, "accuracy": accuracy, "formats": formats,
        "workers": workers, "scheduler": scheduler,
    }  # fmt: skip
    with replacing(out, force) as stage:
        check(told, parameters)
        execute(parameters, stage)
        shown = [stage / name for name in OURS if (stage / name).exists()]
    for file in shown:
        print(out / file.name)


def check(inputs, parameters: dict) -> None:
    """Read the files, describe the runs: what is wrong is said before anything is computed."""
    from relic.auditing.inputs import audited
    from relic.measure.runs import describe

    read = audited(inputs.told())
    for name in parameters["classifiers"]:
        for side in ("model", "human"):
            describe(read.corpus, read.corpus.captioners[0], name, side=side,
                     split=parameters["split"], vocabulary=read.vocabulary)  # fmt: skip
    counts = read.corpus.label_counts(read.images)
    told = ", ".join(f"{name} {n:,}" for name, n in counts.items())
    print(f"{len(read.images):,} images with captions, label and human captions ({told})", file=sys.stderr)  # fmt: skip
    for note in read.notes:
        print(f"  {note}", file=sys.stderr)


@contextlib.contextmanager
def replacing(out: Path, force: bool) -> Iterator[Path]:
    """A directory to work in; it becomes `out` when the block ends well, and goes away otherwise."""
    out = Path(out).expanduser().absolute()
    if out.exists() and not out.is_dir():
        raise RelicError(f"--out {out} is a file", expected="a directory")
    foreign = sorted(f.name for f in out.iterdir() if f.name not in OURS) if out.exists() else []
    if foreign:
        raise RelicError(
            f"--out {out} holds other files: {', '.join(foreign[:5])}",
            expected="a new directory, or one that an audit made",
            mend="--out with another name",
        )
    if out.exists() and any(out.iterdir()) and not force:
        raise RelicError(f"{out} holds a report already", mend="--force replaces it; or another --out")  # fmt: skip
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        stage = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    except OSError as error:
        raise RelicError(f"{out.parent} cannot be written to: {error.strerror}") from error
    try:
        yield stage
        old = Path(tempfile.mkdtemp(prefix=f".{out.name}.old.", dir=out.parent))
        if out.exists():
            os.replace(out, old / "report")
        stage.chmod(0o755)
        os.replace(stage, out)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


class _Bars:
    """Of what a kernel writes to its standard error, the progress bars."""

    def write(self, text: str) -> None:
        if "%|" in text:
            sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def execute(parameters: dict, stage: Path) -> None:
    """Notebook 80 with these parameters; its progress bars are shown, its errors are ours."""
    import papermill
    from papermill.exceptions import PapermillExecutionError

    source = paths.NOTEBOOKS / f"{NOTEBOOK}.ipynb"
    if not source.exists():
        raise RelicError(
            f"no {source.name} beside the package",
            expected="relic installed from its repository: pip install -e .",
        )
    done = stage / EXECUTED
    try:
        papermill.execute_notebook(
            source, done, parameters=parameters | {"out": str(stage)}, kernel_name="python3",
            progress_bar=False, stderr_file=_Bars(), cwd=stage,
        )  # fmt: skip
    except PapermillExecutionError as error:
        if error.ename == "RelicError":
            found, *rest = error.evalue.split("\n")
            raise RelicError("\n".join([found, *rest])) from error
        kept = Path(tempfile.mkdtemp(prefix="relic-audit-")) / EXECUTED
        shutil.copy(done, kept)
        raise RelicError(
            f"the audit failed: {error.ename}: {error.evalue}",
            expected="no such error: this is a fault of ours, please report it",
            mend=f"the notebook up to the failure is {kept}",
        ) from error
