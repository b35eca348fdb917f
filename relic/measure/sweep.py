"""Many runs: compute what a store lacks, on this machine or on a Dask cluster.

Runs that read the same captions go to a worker together, so that it tokenizes and encodes them once.
Each run is stored as it finishes: a kill loses only the runs at work.
"""

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import product

from threadpoolctl import threadpool_limits
from tqdm import tqdm

from relic import paths
from relic.data.corpus import Corpus
from relic.errors import RelicError, needed
from relic.measure.runs import Run, Store, compute, describe

TOGETHER = 20  # runs on the same captions that one worker does in a row: ten seeds, two recipes
DEATHS = 2  # times that workers may die before what they left counts as failed
WAIT = 10  # seconds for a scheduler to answer
FOLLOWS = ("corpus", "attribute", "fingerprint", "code")  # of a run: from its corpus and the code
SLOW = ("lstm", "bert-ft")  # minutes a run: each is a bundle of its own

Bundle = list[Run]  # runs on the same captions
Failed = dict[Run, str]  # and why


def grid(corpus, **choices) -> list[Run]:
    """All combinations, each once: `grid(corpus, classifier=["linear"], seed=[0, 1])`.

    `captioner` defaults to all; every run is checked before anything is computed.
    """
    choices.setdefault("captioner", corpus.captioners)
    lists = [v if isinstance(v, list | tuple | range) else [v] for v in choices.values()]
    combinations = [dict(zip(choices, values, strict=True)) for values in product(*lists)]
    return list(dict.fromkeys(describe(corpus, **options) for options in combinations))


def sweep(
    corpora: Corpus | Iterable[Corpus],
    runs: Iterable[Run],
    store: Store,
    *,
    workers: int = 0,
    scheduler: str = "",
    progress: bool = True,
) -> int:
    """Compute what the store lacks; returns how many runs that were. Failures are named at the end.

    `corpora`: one, or one each name and attribute. Other processes load them again, so a corpus that lives in
    this one only is worked on here. `workers`: processes, by default RELIC_WORKERS or one.
    """
    missing = store.missing(runs)
    if not missing:
        return 0
    every = [corpora] if isinstance(corpora, Corpus) else list(corpora)
    named = {(corpus.name, corpus.attribute.name): corpus for corpus in every}
    corpus_of = {run: named.get((run.corpus, run.attribute), every[0]) for run in missing}
    workers = workers or int(os.environ.get(paths.WORKERS_SETTING) or 1)
    if scheduler or (workers > 1 and all(corpus.reload for corpus in every)):
        pool = partial(_dask, scheduler) if scheduler else partial(_processes, workers)
        results = _in_pools(corpus_of, bundles(missing), store, pool)
    else:
        results = ((b, work_on(corpus_of[b[0]], b, store)) for b in bundles(missing))
    failed: Failed = {}
    with tqdm(total=len(missing), unit="run", disable=not progress, smoothing=0.1) as bar:
        for bundle, errors in results:
            failed |= errors
            bar.set_postfix_str(_name(bundle[-1]))
            bar.update(len(bundle))
    if failed:
        listed = "".join(f"\n    {_name(run)}: {error}" for run, error in failed.items())
        mend = "run the same command again: finished runs are kept"
        raise RelicError(f"{len(failed)} runs failed{listed}", mend=mend)
    return len(missing)


def bundles(runs: list[Run]) -> list[Bundle]:
    """Slow runs alone, others by the captions they read."""
    groups: dict[tuple, Bundle] = {}
    for number, run in enumerate(runs):
        alone = number if run.classifier in SLOW else -1
        same = (run.corpus, run.attribute, run.reading, run.classifier, run.encoder, alone)
        groups.setdefault(same, []).append(run)
    starts = [(group, at) for group in groups.values() for at in range(0, len(group), TOGETHER)]
    return [group[at : at + TOGETHER] for group, at in starts]


def work(reload: partial, bundle: Bundle, directory: str) -> Failed:
    """What a worker process does: the same as this one, on a corpus that it loads itself."""
    corpus = _loaded(reload.func, *reload.args, **reload.keywords)
    return work_on(corpus, bundle, Store(directory))


@lru_cache(maxsize=8)
def _loaded(function, *arguments, **named) -> Corpus:
    return function(*arguments, **named)


def work_on(corpus: Corpus, bundle: Bundle, store: Store) -> Failed:
    """Each run of a bundle, a failed one without harm to the others."""
    failed = {}
    with threadpool_limits(1):  # L-BFGS on small matrices: more threads spin, and add nothing
        for run in store.missing(bundle):  # another sweep may have been faster
            try:
                asked = {k: v for k, v in vars(run).items() if k not in FOLLOWS}
                if describe(corpus, **asked) != run:
                    raise RelicError(
                        f"this machine's {run.corpus} differ from those the sweep was started with",
                        expected=f"fingerprint {run.fingerprint}, code {run.code}",
                        mend="the same RELIC_DATA and the same version on every machine",
                    )
                store.put(compute(corpus, run))
            except Exception as error:  # reported at the end, with all others
                failed[run] = _first_line(error)
    return failed


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"


def _in_pools(
    corpus_of: dict[Run, Corpus], waiting: list[Bundle], store: Store, pool
) -> Iterator[tuple[Bundle, Failed]]:
    """Bundles as other processes finish them; when a pool breaks, a new one goes on with what is missing."""
    directory = str(store.directory.resolve())
    for _ in range(DEATHS + 1):
        lost: list[Bundle] = []
        with pool() as executor_of:
            futures: dict[Future, Bundle] = {}
            try:
                for bundle in waiting:
                    job = work, corpus_of[bundle[0]].reload, bundle, directory
                    futures[executor_of(bundle).submit(*job)] = bundle
                for future in as_completed(futures):
                    bundle = futures[future]
                    try:
                        yield bundle, future.result()
                    except BrokenProcessPool:
                        lost.append(bundle)
                    except Exception as error:  # a corpus that a worker cannot load, a lost cluster
                        yield bundle, dict.fromkeys(store.missing(bundle), _first_line(error))
            except BrokenProcessPool:
                lost = waiting  # what finished is in the store
            except BaseException:  # Ctrl-C, or the caller gave up: do not start what waits
                for future in futures:
                    future.cancel()
                raise
        waiting = [left for bundle in lost if (left := store.missing(bundle))]
        if not waiting:
            return
    for bundle in waiting:
        yield bundle, dict.fromkeys(bundle, "its worker died, more than once")


@contextmanager
def _processes(workers: int) -> Iterator[Callable[[Bundle], Executor]]:
    """On this machine, forked from a server that imports this code once: edits cannot reach a sweep."""
    forks = "forkserver" in multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if forks else "spawn")
    if forks:
        loaded = [name for name in list(sys.modules) if name.partition(".")[0] == "relic"]
        context.set_forkserver_preload(loaded)
    with ProcessPoolExecutor(workers, context, initializer=_end_with_parent) as pool:
        yield lambda bundle: pool


def _end_with_parent() -> None:
    """A worker whose sweep is killed ends too: left alone it would wait for work for ever."""

    def watch():
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _dask(scheduler: str) -> Iterator[Callable[[Bundle], Executor]]:
    """Workers of a Dask cluster that share the store's file system. Dask retries lost workers."""
    with needed("cluster"):
        from dask.distributed import Client

    running = "tcp://ADDRESS:PORT of a running Dask scheduler"
    if "://" not in scheduler:
        raise RelicError(f"scheduler {scheduler!r}", expected=running)
    try:
        connected = Client(scheduler, set_as_default=False, timeout=WAIT)
    except (OSError, ValueError) as error:  # nobody answers; no such address
        found = f"no scheduler answers at {scheduler}: {error}"
        raise RelicError(found, expected=running) from error
    with connected as client, client.as_current():
        workers = client.scheduler_info()["workers"].values()
        gpu = any("GPU" in (worker.get("resources") or {}) for worker in workers)
        plain = client.get_executor(pure=False, retries=DEATHS)
        needs = {"GPU": 1} if gpu else {}
        learned = client.get_executor(pure=False, retries=DEATHS, resources=needs)
        yield lambda bundle: plain if bundle[0].classifier == "linear" else learned


def _name(run: Run) -> str:
    human = f"human {run.caption_index} for " if run.side == "human" else ""
    return f"{run.attribute} {human}{run.captioner} {run.classifier} seed {run.seed}"
