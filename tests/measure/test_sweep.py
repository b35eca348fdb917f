"""Sweeps: resumed, shared, killed, and told what failed."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import pandas as pd
import pytest
from typer.testing import CliRunner

from relic import paths
from relic.data.planted import planted_corpus
from relic.errors import RelicError
from relic.measure import sweep as sweeping
from relic.measure.runs import Store, compute
from relic.measure.sweep import bundles, grid, sweep

CORPUS = planted_corpus("gender", images=600)
SCRIPT = """
from relic.data.planted import planted_corpus
from relic.measure.sweep import *
if __name__ == "__main__":
    corpus = planted_corpus("gender", images=600)
    runs = grid(corpus, classifier="linear", seed=range({seeds}), calibrated=True)
    print("computed", sweep(corpus, runs, Store({store!r}), workers={workers}, progress=False))
"""


def forty(**options):
    return grid(CORPUS, classifier="linear", seed=range(10), **options)


def started(tmp_path, seeds=10, workers=2, code=None):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(seeds=seeds, store=str(tmp_path / "runs"), workers=workers))
    return subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | ({"PYTHONPATH": str(code)} if code else {}),
    )


def kill_a_worker(process):
    """Workers are grandchildren: a server forks them. It is told from them by having children."""
    group = subprocess.run(
        ["ps", "-o", "pid=,ppid=", "-g", str(process.pid)], capture_output=True, text=True
    )
    parents = dict(map(int, line.split()) for line in group.stdout.splitlines())
    servers = {parent for parent in parents.values() if parents.get(parent) == process.pid}
    workers = [child for child, parent in parents.items() if parent in servers]
    os.kill(workers[0], signal.SIGKILL)


def times_written(store, runs):
    return {run: store.file(run).stat().st_mtime_ns for run in runs if store.file(run).exists()}


def same_as_computed(store, runs):
    for run in runs[::9]:
        assert store.get(run).scores["score"] == compute(CORPUS, run).scores["score"]


def test_a_grid_is_checked_whole_and_has_no_doubles():
    assert len(forty()) == 40
    assert (
        len(
            grid(
                CORPUS,
                captioner="planted_none",
                classifier="linear",
                caption_index=[0, 1],
            )
        )
        == 1
    )
    with pytest.raises(RelicError, match="unknown captioner"):
        grid(CORPUS, captioner=["planted_none", "nobody"], classifier="linear")


def test_runs_on_the_same_captions_go_together_and_slow_ones_alone():
    quick = bundles(forty())
    assert sorted(map(len, quick)) == [10] * 4
    slow = grid(CORPUS, captioner="planted_none", classifier="lstm", seed=range(3))
    assert [len(bundle) for bundle in bundles(slow)] == [1] * 3


def test_only_what_is_missing_is_computed(tmp_path):
    store, runs = Store(tmp_path), forty()
    assert sweep(CORPUS, runs[:6], store, progress=False) == 6
    before = times_written(store, runs)
    assert sweep(CORPUS, runs[:9], store, progress=False) == 3
    after = times_written(store, runs)
    assert {run: after[run] for run in before} == before
    assert sweep(CORPUS, runs[:9], store, progress=False) == 0


def test_a_failed_run_takes_no_other_down(tmp_path, monkeypatch):
    store, runs = Store(tmp_path), [run for run in forty() if run.captioner == "planted_lot"][:8]

    def sometimes(corpus, run):
        if run.seed == 3:
            raise ValueError("the moon was wrong")
        return compute(corpus, run)

    monkeypatch.setattr(sweeping, "compute", sometimes)
    with pytest.raises(RelicError, match="1 runs failed") as error:
        sweep(CORPUS, runs, store, progress=False)
    assert "the moon was wrong" in str(error.value)
    assert "planted_lot linear seed 3" in str(error.value)
    assert [run.seed for run in store.missing(runs)] == [3]


def test_other_data_on_a_worker_is_refused(tmp_path):
    other = planted_corpus("gender", images=700)
    with pytest.raises(RelicError, match="differ from those"):
        sweep(other, forty()[:1], Store(tmp_path), progress=False)


@pytest.mark.slow
def test_kill_9_then_again(tmp_path):
    store, runs = Store(tmp_path / "runs"), forty(calibrated=True)
    process = started(tmp_path)
    while len(store.missing(runs)) > 30:
        assert process.poll() is None
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    until = time.time() + 20
    while subprocess.run(["pgrep", "-g", str(process.pid)], capture_output=True).stdout:
        assert time.time() < until, "its workers live on"
        time.sleep(0.05)
    before = times_written(store, runs)
    assert 10 <= len(before) < 40
    again = started(tmp_path)
    assert again.communicate(timeout=120)[0] == f"computed {40 - len(before)}\n"
    after = times_written(store, runs)
    assert {run: after[run] for run in before} == before
    same_as_computed(store, runs)


@pytest.mark.slow
def test_a_killed_worker_process_costs_nothing(tmp_path):
    store, runs = Store(tmp_path / "runs"), forty(calibrated=True)
    process = started(tmp_path)
    while len(store.missing(runs)) > 35:
        time.sleep(0.05)
    kill_a_worker(process)
    assert process.communicate(timeout=120)[0] == "computed 40\n"
    assert process.returncode == 0
    assert store.missing(runs) == []


@pytest.mark.slow
def test_a_sweep_outlives_an_edit_of_its_code(tmp_path):
    """Even a worker that starts later, in place of one that died, reads no broken module."""
    store, runs = Store(tmp_path / "runs"), forty(calibrated=True)
    code = tmp_path / "code"
    shutil.copytree(paths.PACKAGE, code / "relic")
    process = started(tmp_path, code=code)
    while len(store.missing(runs)) > 35:
        assert process.poll() is None
        time.sleep(0.05)
    for module in code.rglob("*.py"):
        module.write_text("raise SystemError('edited')")
    for cache in code.rglob("__pycache__"):
        shutil.rmtree(cache)
    kill_a_worker(process)
    assert process.communicate(timeout=120)[0] == "computed 40\n"
    assert store.missing(runs) == []


@pytest.mark.slow
def test_two_sweeps_at_once_on_one_store(tmp_path):
    store, runs = Store(tmp_path / "runs"), forty(calibrated=True)
    both = [started(tmp_path, workers=1) for _ in range(2)]
    for process in both:
        process.communicate(timeout=180)
        assert process.returncode == 0
    assert store.missing(runs) == []
    assert len(list(store.directory.glob("??/*.run"))) == 40
    same_as_computed(store, runs)


@pytest.mark.slow
def test_dask_cluster_that_loses_a_worker(tmp_path):
    from dask.distributed import LocalCluster

    store, runs = Store(tmp_path / "runs"), forty(calibrated=True)
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        victim, killed = next(iter(cluster.workers.values())).pid, []

        def kill_soon():
            while len(store.missing(runs)) > 36:
                time.sleep(0.05)
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)

        thread = threading.Thread(target=kill_soon)
        thread.start()
        scheduler = cluster.scheduler_address
        assert sweep(CORPUS, runs, store, scheduler=scheduler, progress=False) == 40
        thread.join()
    assert killed
    assert store.missing(runs) == []
    assert len(list(store.directory.glob("??/*.run"))) == 40
    same_as_computed(store, runs)


def test_the_command_leaves_out_what_is_recorded_already(tmp_path, monkeypatch, capsys):
    from relic import cli

    recorded = grid(CORPUS, captioner="planted_lot", classifier="linear", seed=[1])
    monkeypatch.setattr(
        "relic.records.runs.read_recorded", lambda: pd.DataFrame({"key": [recorded[0].key]})
    )
    command = [
        "sweep",
        "--corpus",
        "embedded",
        "--corpus-images",
        "600",
        "--captioner",
        "planted_lot",
        "--side",
        "model",
        "--seeds",
        "0,1,2",
    ]
    store = Store(tmp_path)
    cli.app([*command, "--store", str(tmp_path)], standalone_mode=False)
    assert "3 runs, 1 recorded in results/, 2 of them computed now" in capsys.readouterr().out
    assert store.missing(recorded) == recorded
    cli.app([*command, "--again", "--store", str(tmp_path)], standalone_mode=False)
    assert "3 runs, 1 of them computed now" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--seeds", "-1"], "--seeds -1"),
        (["--caption-indices", "a"], "--caption-indices a"),
        (["--scheduler", "foo"], "tcp://"),
    ],
)
def test_wrong_options_of_the_command(tmp_path, options, says):
    from relic import cli

    with pytest.raises(RelicError) as error:
        cli.app(
            [
                "sweep",
                "--corpus",
                "embedded",
                "--corpus-images",
                "600",
                "--store",
                str(tmp_path),
                *options,
            ],
            standalone_mode=False,
        )
    assert says in str(error.value)


@pytest.mark.parametrize(("option", "value"), [("--workers", "0"), ("--side", "dog")])
def test_options_have_bounds_and_choices(option, value):
    from relic import cli

    result = CliRunner().invoke(cli.app, ["sweep", option, value])
    assert result.exit_code == 2
    assert option in result.output
