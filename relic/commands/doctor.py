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

    found = provenance.versions()
    print(f"relic {relic.__version__}, Python {found['python']}, in {paths.PACKAGE}")
    print("works:   relic audit and relic.lic with the linear classifier")
    for extra, (modules, enables) in EXTRAS.items():
        absent = [name for name in modules if find_spec(name) is None]
        if absent:
            print(f"missing: {enables}\n         pip install 'relic-report[{extra}]'  (lacks {', '.join(absent)})")  # fmt: skip
        else:
            print(f"works:   {enables}")
    print(f"{'works:  ' if shutil.which('java') else 'missing:'} Java, for METEOR and the PTB tokenizer")  # fmt: skip
    data = paths.real_data()
    if data and data.is_dir():
        print(f"works:   relic audit captions.json: COCO's labels and captions are in {data}")
    else:
        print(f"missing: COCO's labels and human captions ({f'{paths.DATA_SETTING}={data} is no directory' if data else f'{paths.DATA_SETTING} is not set'})\n         relic data fetch DIR, then export {paths.DATA_SETTING}=DIR")  # fmt: skip
    kept = paths.audit_runs()
    near = next(each for each in (kept, *kept.parents) if each.exists())
    print(f"{'works:  ' if os.access(near, os.W_OK) else 'missing:'} runs are kept in {kept}")
