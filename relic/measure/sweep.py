"""Many runs: compute what a store lacks, on this machine or on a Dask cluster.

Runs that read the same captions go to a worker together, so that it tokenizes and encodes them once.
Each run is stored as it finishes: a kill loses only the runs at work.
"""

import multiprocessing
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import product
from operator import attrgetter

from threadpoolctl import threadpool_limits
from tqdm import tqdm

from relic import paths
from relic.data.corpus import Corpus
from relic.errors import RelicError, needed
from relic.measure.classifiers.base import CLASSIFIERS
from relic.measure.runs import Run, compute, describe
from relic.measure.store import Store

TOGETHER = 20  # runs on the same captions that one worker does in a row: ten seeds, two recipes
DEATHS = 2  # times a worker may die over a bundle before its runs count as failed
WAIT = 10  # seconds for a scheduler to answer
SLOW = ("lstm", "bert-ft")  # minutes a run: each is a bundle of its own

_SAME = attrgetter(
    "corpus", "attribute", "captioner", "side", "caption_set", "caption_index", "vocabulary"
)
Corpora = dict[tuple[str, str], Corpus]  # by name and attribute


def _corpora(given: Corpus | Iterable[Corpus]) -> Corpora:
    every = [given] if isinstance(given, Corpus) else given
    return {(corpus.name, corpus.attribute.name): corpus for corpus in every}


def grid(corpus: Corpus, **choices) -> list[Run]:
    """All combinations: `grid(corpus, classifier=["linear"], seed=[0, 1])`.

    `captioner` defaults to all; every run is checked before anything is computed.
    """
    lists = {
        name: value if isinstance(value, list | tuple | range) else [value]
        for name, value in choices.items()
    }
    lists.setdefault("captioner", corpus.captioners)
    combinations = [dict(zip(lists, values, strict=True)) for values in product(*lists.values())]
    return list(dict.fromkeys(describe(corpus, **options) for options in combinations))


class SweepError(RelicError):
    """Runs that failed; the others are in the store."""

    def __init__(self, failed: dict[Run, str]):
        self.failed = failed
        listed = "".join(f"\n    {_name(run)}: {error}" for run, error in failed.items())
        super().__init__(
            f"{len(failed)} runs failed{listed}",
            mend="run the same command again: finished runs are kept",
        )


def sweep(
    corpora: Corpus | Iterable[Corpus],
    runs: Iterable[Run],
    store: Store,
    *,
    workers: int = 0,
    scheduler: str = "",
    progress: bool = True,
) -> int:
    """Compute what the store lacks; returns how many runs that were. Failures are told at the end.

    `corpora`: one, or one each name and attribute. Other processes load them again, so a corpus that lives in
    this one only is worked on here. `workers`: processes, by default RELIC_WORKERS or one.
    """
    missing, known = store.missing(runs), _corpora(corpora)
    if not missing:
        return 0
    failed: dict[Run, str] = {}
    workers = workers or int(os.environ.get(paths.WORKERS_SETTING) or 1)
    results = (
        _dask(known, missing, store, scheduler)
        if scheduler
        else _local(known, missing, store, workers)
    )
    with tqdm(total=len(missing), unit="run", disable=not progress, smoothing=0.1) as bar:
        for done in results:
            failed |= done.failed
            bar.set_postfix_str(_name(done.runs[-1]))
            bar.update(len(done.runs))
    if failed:
        raise SweepError(failed)
    return len(missing)


@dataclass
class Bundle:
    """Runs on the same captions, and which of them failed."""

    runs: list[Run]
    failed: dict[Run, str] = field(default_factory=dict)
    deaths: int = 0


def bundles(runs: list[Run]) -> list[Bundle]:
    """Slow runs alone, others by the captions they read."""
    groups: dict[tuple, list[Run]] = {}
    for number, run in enumerate(runs):
        alone = number if run.classifier in SLOW else -1
        same = _SAME(run)
        groups.setdefault((*same, run.classifier, run.encoder, alone), []).append(run)
    return [
        Bundle(group[i : i + TOGETHER])
        for group in groups.values()
        for i in range(0, len(group), TOGETHER)
    ]


def work(loaders: dict[tuple[str, str], partial], bundle: Bundle, directory: str) -> Bundle:
    """What a worker process does: the same as this one, on corpora that it loads itself."""
    corpora = {
        name: _loaded(load.func, *load.args, **load.keywords) for name, load in loaders.items()
    }
    return work_on(corpora, bundle, Store(directory))


@lru_cache(maxsize=8)
def _loaded(function, *arguments, **named) -> Corpus:
    return function(*arguments, **named)


def work_on(corpora: Corpora, bundle: Bundle, store: Store) -> Bundle:
    """Each run of a bundle, a failed one without harm to the others."""
    with threadpool_limits(1):  # L-BFGS on small matrices: more threads spin, and add nothing
        for run in store.missing(bundle.runs):  # another sweep may have been faster
            try:
                corpus = corpora.get((run.corpus, run.attribute))
                if corpus is None or _again(corpus, run) != run:
                    raise RelicError(
                        f"this machine's {run.corpus} differ from those the sweep was started with",
                        expected=f"fingerprint {run.fingerprint}, code {run.code}",
                        mend="the same RELIC_DATA and the same version on every machine",
                    )
                store.put(compute(corpus, run))
            except Exception as error:  # reported at the end, with all others
                first = (str(error).splitlines() or [""])[0]
                bundle.failed[run] = f"{type(error).__name__}: {first}"
    return bundle


def _again(corpus: Corpus, run: Run) -> Run:
    """The run as described on this machine."""
    told = {
        k: v
        for k, v in vars(run).items()
        if k not in ("corpus", "attribute", "fingerprint", "code")
    }
    return describe(corpus, **told)


def _loaders(corpora: Corpora, bundle: Bundle) -> dict[tuple[str, str], partial]:
    wanted = {(run.corpus, run.attribute) for run in bundle.runs}
    loaders = {name: corpora[name].reload for name in wanted}
    return {name: load for name, load in loaders.items() if load is not None}


def _local(corpora: Corpora, runs: list[Run], store: Store, workers: int) -> Iterator[Bundle]:
    """Processes on this machine; when one dies, a new pool goes on with what is missing."""
    waiting = bundles(runs)
    if workers <= 1 or not all(corpus.reload for corpus in corpora.values()):
        for bundle in waiting:
            yield work_on(corpora, bundle, store)
        return
    context = _context()
    while waiting:
        lost: list[Bundle] = []
        with (
            _single_threads(),
            ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_parent) as pool,
        ):
            futures: dict[Future, Bundle] = {}
            try:
                for bundle in waiting:
                    loaders = _loaders(corpora, bundle)
                    futures[pool.submit(work, loaders, bundle, str(store.directory))] = bundle
                for future in as_completed(futures):
                    try:
                        yield future.result()
                    except BrokenProcessPool:
                        lost.append(futures[future])
            except BrokenProcessPool:
                lost = list(waiting)  # what finished is in the store
            except BaseException:  # Ctrl-C, or the caller gave up: do not start what waits
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        waiting = []
        for bundle in lost:
            bundle.deaths += 1
            bundle.runs = store.missing(bundle.runs)
            if bundle.runs and bundle.deaths > DEATHS:
                bundle.failed = dict.fromkeys(bundle.runs, "its worker died, more than once")
                yield bundle
            elif bundle.runs:
                waiting.append(bundle)


def _context():
    """Workers fork from a server that imports all code once: edits of a checkout cannot reach a sweep."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    loaded = [name for name in list(sys.modules) if name.partition(".")[0] == "relic"]
    classifiers = [place.partition(":")[0] for place in CLASSIFIERS.values()]
    context.set_forkserver_preload([*loaded, *classifiers])
    return context


def _end_with_parent() -> None:
    """A worker whose sweep is killed ends too: left alone it would wait for work for ever."""

    def watch():
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _single_threads() -> Iterator[None]:
    """Children inherit one thread each; our own setting comes back."""
    before = dict(os.environ)
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    try:
        yield
    finally:
        os.environ.clear()
        os.environ |= before


def _dask(corpora: Corpora, runs: list[Run], store: Store, scheduler: str) -> Iterator[Bundle]:
    """Workers of a Dask cluster that share the store's file system. Dask retries lost workers."""
    with needed("cluster"):
        from dask.distributed import Client
        from dask.distributed import as_completed as finished

    running = "tcp://ADDRESS:PORT of a running Dask scheduler"
    if "://" not in scheduler:
        raise RelicError(f"scheduler {scheduler!r}", expected=running)
    try:
        connected = Client(scheduler, set_as_default=False, timeout=WAIT)
    except (OSError, ValueError) as error:  # nobody answers; no such address
        raise RelicError(
            f"no scheduler answers at {scheduler}: {error}", expected=running
        ) from error
    with connected as client, client.as_current():
        gpu = {"GPU": 1} if any(_resources(client)) else None
        futures = {}
        for bundle in bundles(runs):
            needs = gpu if bundle.runs[0].classifier != "linear" else None
            told = (_loaders(corpora, bundle), bundle, str(store.directory.resolve()))
            future = client.submit(work, *told, pure=False, retries=DEATHS, resources=needs)
            futures[future] = bundle
        for future in finished(list(futures)):
            if future.status == "finished":
                yield future.result()
            else:
                bundle = futures[future]
                left, reason = store.missing(bundle.runs), str(future.exception())
                bundle.failed = dict.fromkeys(left, reason)
                yield bundle


def _resources(client) -> list[bool]:
    workers = client.scheduler_info()["workers"].values()
    return ["GPU" in (worker.get("resources") or {}) for worker in workers]


def _name(run: Run) -> str:
    human = f"human {run.caption_index} for " if run.side == "human" else ""
    return f"{run.attribute} {human}{run.captioner} {run.classifier} seed {run.seed}"
