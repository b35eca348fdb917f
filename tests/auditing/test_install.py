"""The wheel, installed where nothing else is, audits: no torch, transformers, spaCy, Dask, Java, notebook."""

import json
import os
import re
import shutil
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

import pytest

from relic import paths
from relic.auditing.examples import example_files

ABSENT = ("torch", "transformers", "spacy", "dask", "IPython", "matplotlib", "pyarrow", "papermill")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built from a copy: a build leaves files beside its source."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(paths.ROOT / name, source)
    shutil.copytree(paths.PACKAGE, source / "relic", ignore=shutil.ignore_patterns("__pycache__"))
    command = ["pip", "wheel", ".", "--no-deps", "--no-build-isolation", "--quiet", "-w", str(out)]
    subprocess.run([sys.executable, "-m", *command], cwd=source, check=True, capture_output=True)
    return next(out.glob("*.whl"))


def needed(requirements: list[str]) -> set[str]:
    """Distributions that these requirements bring, and what those need in turn."""
    names, wanted = set(), list(requirements)
    while wanted:
        requirement = wanted.pop()
        name = re.match(r"[\w.-]+", requirement).group().lower().replace("_", "-")
        if "extra ==" in requirement or name in names:
            continue
        try:
            wanted += metadata.requires(name) or []
        except metadata.PackageNotFoundError:  # for another system
            continue
        names.add(name)
    return names


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """An empty environment with the wheel and, linked, the distributions that it names: no more."""
    place = tmp_path_factory.mktemp("environment")
    venv.create(place, with_pip=False, symlinks=True)
    packages = next(place.glob("lib/python*/site-packages"))
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", packages, wheel],
                   check=True, capture_output=True)  # fmt: skip
    installed_as = next(packages.glob("relic_report-*.dist-info"))
    for name in needed(metadata.PathDistribution(installed_as).requires):
        for top in {file.parts[0] for file in metadata.files(name)} - {"..", "__pycache__"}:
            if not (packages / top).exists():
                (packages / top).symlink_to(metadata.distribution(name).locate_file(top))
    return place / "bin" / "python"


@pytest.fixture
def relic(installed, tmp_path):
    """The command, in an empty directory and an environment without our settings."""
    kept = {"PATH": "/nonexistent", "HOME": str(tmp_path), "OMP_NUM_THREADS": "1", "LANG": os.environ.get("LANG", "C.UTF-8")}  # fmt: skip

    def run(*arguments: str, program: str = "-m relic.cli") -> subprocess.CompletedProcess:
        command = [installed, *program.split(" ", 1), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=kept, timeout=300)  # fmt: skip

    return run


def test_the_wheel_audits(relic, tmp_path):
    files = example_files("gender", 400, "embedded")
    options = ["--labels", files["labels"], "--human", files["human"], "--seeds", "0,12"]
    done = relic("audit", files["captions"][2], *options)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "audit/report.json").read_text())
    assert report["results"][0]["sentence"] in done.stdout
    assert "pip install 'relic-report[accuracy]'" in (tmp_path / "audit/report.html").read_text().replace("&#39;", "'")  # fmt: skip
    lstm = relic("audit", files["captions"][2], *options, "--classifier", "lstm", "--out", "b")
    assert lstm.returncode == 1
    assert "pip install 'relic-report[torch]'" in lstm.stderr
    cluster = relic("audit", files["captions"][2], *options, "--scheduler", "tcp://x:1", "--seeds", "5", "--out", "b")  # fmt: skip
    assert "pip install 'relic-report[cluster]'" in cluster.stderr
    absent = relic("import importlib.util as u, sys; sys.exit(any(map(u.find_spec, sys.argv[1:])))", *ABSENT, program="-c")  # fmt: skip
    assert absent.returncode == 0
    assert not list(tmp_path.glob("*.run"))


def test_one_argument_and_a_doctor(relic, real_data, tmp_path):
    captions = real_data / "coco/results_karpathy_test_gaic.json"
    if not captions.exists():
        pytest.skip("no results of GAIC in RELIC_DATA")
    done = relic(
        "audit", str(captions), "--data", str(real_data), "--seeds", "0,12", "--no-accuracy"
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "audit/report.json").read_text())["results"]
    assert [row["attribute"] for row in rows] == ["gender", "race", "age"]
    output = relic("doctor").stdout
    for extra in ("torch", "accuracy", "cluster", "book", "gender-score"):
        assert f"pip install 'relic-report[{extra}]'" in output
    assert "RELIC_DATA is not set" in output
