"""`relic audit`: somebody's files in, a verdict and a report out.

Inputs are read first, so that what is wrong with them is said within seconds. `--out` is held by a lock
while an audit works; its files are renamed into it at the end, all or none, and nothing else is touched.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from math import isnan
from pathlib import Path
from typing import Annotated

import typer

from relic.commands.options import seed_numbers
from relic.errors import RelicError
from relic.numbers import count

ABOVE = 3  # exit code where LIC lies above --fail-above


def audit(
    captions: Annotated[
        list[str],
        typer.Argument(metavar="CAPTIONS...", help="COCO results JSON, JSON lines, CSV or upstream pickle; several files compare captioners. NAME=FILE names one."),
    ],
    labels: Annotated[str, typer.Option(metavar="FILE", help="Image id and class: CSV, JSON, or an upstream pickle. Without: COCO's, from --data.")] = "",
    human: Annotated[str, typer.Option(metavar="FILE", help="Human captions: COCO annotations, CSV, JSON or upstream pickle. Without, and with --labels: only LIC_M.")] = "",
    data: Annotated[str, typer.Option(metavar="DIR", help="What `relic data fetch DIR` made: labels and human captions of COCO val 2014 (default: RELIC_DATA).")] = "",
    attribute: Annotated[str, typer.Option(help="gender, race, age, several with commas, a YAML file, or a new name with --classes and --masked-words.", show_default="gender; without --labels all three")] = "",
    classes: Annotated[str, typer.Option(metavar="A,B", help="The two classes as the labels file writes them, in any order, or CLASS=VALUE twice; other values are left out.")] = "",
    masked_words: Annotated[str, typer.Option(metavar="FILE", help="Words that state the attribute, hidden from the classifier.")] = "",
    also_mask: Annotated[str, typer.Option(metavar="WORD,WORD", help="Words to hide besides.")] = "",
    vocabulary: Annotated[str, typer.Option(help="What human captions are aligned to: captioner, human-top-n, none, or a file of words.")] = "captioner",
    objects: Annotated[str, typer.Option(metavar="FILE", help="CSV image_id,label,probability: adds the Gender Score.")] = "",
    first_sentence: Annotated[bool, typer.Option("--first-sentence", help="Of long captions, only the first sentence.")] = False,
    classifier: Annotated[str, typer.Option(help="linear (seconds), lstm, bert-ft, bert-pre (minutes to hours); several with commas.")] = "linear",
    seeds: Annotated[str, typer.Option(help="Seeds with commas, or `paper`: the papers' ten.")] = "paper",
    split: Annotated[str, typer.Option(help="paired, unpaired or grouped (identical captions on one side).")] = "paired",
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the report goes.")] = Path("audit"),
    format: Annotated[str, typer.Option(help="html, md, json, csv; several with commas.")] = "html,md,json,csv",
    fail_above: Annotated[float | None, typer.Option(metavar="POINTS", help="Exit with 3 where a LIC surely lies above: the low end of its interval (its mean, where one split gives none).")] = None,
    accuracy: Annotated[bool, typer.Option(help="Also BLEU-4, CIDEr, METEOR, ROUGE-L.")] = True,
    checks: Annotated[bool, typer.Option(help="Also LIC with labels flipped, captions of equal length, objects hidden.")] = True,
    workers: Annotated[int, typer.Option(min=0, help="Processes on this machine (0: RELIC_WORKERS, or one); worth it for lstm and bert.")] = 0,
    scheduler: Annotated[str, typer.Option(metavar="tcp://...", help="A Dask scheduler in place of local processes.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace a report that is there.")] = False,
) -> None:  # fmt: skip
    """Audit your captioner: does it amplify the bias of human captions?

    relic audit captions.json --labels labels.csv --human captions_val2014.json

    COCO val 2014, after `relic data fetch DIR`:  relic audit captions.json --data DIR

    A classifier guesses the attribute from your captions and from human captions
    of the same images; LIC is the difference, told with a 95 % interval and a
    verdict in words. 10,000 captions take under a minute. In the book: "Audit
    your captioner" walks through one, "How to read an audit" tells its limits.

    Several captioners, same splits:  relic audit old=a.json new=b.json ...

    Labels of your own:  a CSV with the columns image_id,label

    Another attribute:  --attribute smile --classes yes,no --masked-words w.txt
    """
    from relic.auditing.audit import compute, read
    from relic.auditing.inputs import Inputs
    from relic.auditing.measure import Choices
    from relic.auditing.report import check_formats

    formats = check_formats(_listed(format))
    if fail_above is not None and labels and not human:
        found, expected = "--fail-above without human captions", "--human: LIC is a difference"
        raise RelicError(found, expected=expected)
    how = {"classifiers": _listed(classifier), "seeds": seed_numbers(seeds), "split": split}
    how |= {"checks": checks, "with_accuracy": accuracy, "workers": workers, "scheduler": scheduler}
    choices = Choices(progress=sys.stderr.isatty(), **how)
    files = {"labels": labels, "human": human, "masked_words": masked_words, "objects": objects}
    files |= {"data": data, "vocabulary": vocabulary, "first_sentence": first_sentence}
    words = {"classes": _listed(classes), "also_mask": _listed(also_mask)}
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # ends it as Ctrl-C does: cleaning up
    with held(out, force) as place:
        reads, left_out = read(Inputs(captions, **files, **words), _listed(attribute))
        for each in reads:
            by_class = ", ".join(f"{name} {n:,}" for name, n in each.classes.items())
            summary = f"{each.attribute.name}: {len(each.images):,} images ({by_class})"
            print(summary, *each.notes, sep="\n  ", file=sys.stderr)
        result = compute(reads, left_out, choices)
        files = result.write(place, formats)
    print(result)
    for name, why in left_out.items():
        print(f"{name} is left out: {why.splitlines()[0]}")
    many = count(len(result.cautions), "caution")
    warned = f" ({many}: read them first)" if result.cautions else ""
    print(f"report: {out / files[0].name}{warned}")
    if fail_above is not None:
        ends = [(r["captioner"], r["lic"] if isnan(r["low"]) else r["low"]) for r in result.results]
        high = sorted({name for name, low in ends if low > fail_above})
        if high:
            print(f"above {fail_above:g}: {', '.join(high)}", file=sys.stderr)
            raise typer.Exit(ABOVE)


def _listed(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


@contextlib.contextmanager
def held(out: Path, force: bool) -> Iterator[Path]:
    """`--out`, ours alone until the block ends; made if need be, and taken away again if nothing came."""
    from relic.auditing.report import OURS
    from relic.whole import check_writable

    out = Path(os.path.abspath(os.path.expanduser(out)))
    if out.is_symlink() and not out.exists():
        found = f"--out {out} is a link to {os.readlink(out)}, which does not exist"
        raise RelicError(found, mend="make that directory, or another --out")
    if out.exists() and not out.is_dir():
        raise RelicError(f"--out {out} is a file", expected="a directory")
    made = [each for each in (out, *out.parents) if not each.exists()]
    check_writable(out, f"{out} cannot be written to")

    def clean() -> None:
        for each in made:  # empty ones only
            with contextlib.suppress(OSError):
                each.rmdir()

    with contextlib.ExitStack() as ending:
        ending.callback(clean)
        _lock(out, ending)
        foreign = sorted(f.name for f in out.iterdir() if f.name not in OURS or not f.is_file())
        if foreign:
            found = f"--out {out} holds other files: {', '.join(foreign[:5])}"
            expected = "a new directory, or one that an audit made"
            raise RelicError(found, expected=expected, mend="--out with another name")
        if any(out.iterdir()) and not force:
            mend = "--force replaces it; or another --out"
            raise RelicError(f"{out} holds a report already", mend=mend)
        yield out


def _lock(directory: Path, ending: contextlib.ExitStack) -> None:
    """A lock that goes with the process, whatever ends it; none where the system has no such thing."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    handle = os.open(directory, os.O_RDONLY)
    ending.callback(os.close, handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        found = f"another audit is working in {directory}"
        raise RelicError(found, mend="another --out; or wait for it") from error
    except OSError:  # a file system without locks
        pass
