"""`relic doctor`: what is installed, what that enables, what is missing and the command that gets it."""

import os
import shutil
from importlib.util import find_spec

EXTRAS = {  # extra: (what must import, what it enables)
    "torch": (("torch", "transformers", "spacy"), "classifiers lstm, bert-ft, bert-pre; tokenizer spacy:CODE"),
    "accuracy": (("pycocoevalcap",), "BLEU-4, CIDEr and ROUGE-L in an audit; METEOR with Java"),
    "cluster": (("distributed",), "--scheduler: workers of a Dask cluster"),
    "gender-score": (("sentence_transformers",), "the Gender Score (--objects, relic gender-score); binary word vectors with gensim"),
    "book": (("papermill", "jupyter_book", "seaborn"), "notebooks and the book (in a clone: ./run_all.sh)"),
}  # fmt: skip


def doctor() -> None:
    """Tell what this installation can do, and how to get what it cannot."""
    import relic
    from relic import paths, provenance

    version = provenance.versions()["python"]
    print(f"relic {relic.__version__}, Python {version}, in {paths.PACKAGE}")
    _tell(True, "relic audit and relic.lic with the linear classifier")
    for extra, (modules, enables) in EXTRAS.items():
        absent = ", ".join(name for name in modules if find_spec(name) is None)
        _tell(not absent, enables, f"pip install 'relic-report[{extra}]'  (lacks {absent})")
    _tell(bool(shutil.which("java")), "Java, for METEOR and the PTB tokenizer")
    data, setting = paths.real_data(), paths.DATA_SETTING
    if data and data.is_dir():
        _tell(True, f"relic audit captions.json: COCO's labels and captions are in {data}")
    else:
        why = f"{setting}={data} is no directory" if data else f"{setting} is not set"
        get = f"relic data fetch DIR, then export {setting}=DIR"
        _tell(False, f"COCO's labels and human captions ({why})", get)
    kept = paths.audit_runs()
    near = next(each for each in (kept, *kept.parents) if each.exists())
    _tell(os.access(near, os.W_OK), f"runs are kept in {kept}")


def _tell(works: bool, what: str, get: str = "") -> None:
    print(f"{'works:  ' if works else 'missing:'} {what}")
    if get and not works:
        print(f"         {get}")
