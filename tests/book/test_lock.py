"""requirements.lock, environment.yml and pyproject.toml agree with each other and with the code."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PINS = ROOT.parent / "shared" / "pins.txt"
ENVIRONMENT = ROOT / "environment.yml"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BAD = yaml.safe_load(Path(__file__).with_name("known_bad.yml").read_text(encoding="utf-8"))
TOOLS = (
    "ruff",
    "mypy",
    "pytest",
    "pytest-xdist",
    "hypothesis",
    "playwright",
    "papermill",
    "ipykernel",
)


def lines(file: Path) -> list[str]:
    """Lines that say something."""
    texts = (line.split("#")[0].strip() for line in file.read_text().splitlines())
    return [text for text in texts if text]


def hashed() -> dict[str, list[str]]:
    """Pin -> hashes of requirements.hashes."""
    hashes = {}
    for line in lines(ROOT / "requirements.hashes"):
        word = line.removesuffix(" \\")
        if "==" in word:
            pin = hashes.setdefault(word, [])
        else:
            pin.append(word)
    return hashes


def pinned(file: Path) -> dict[str, str]:
    """Canonical name -> version; `dask[distributed]` pins both."""
    pins = {}
    for line in lines(file):
        name, _, version = line.partition("==")
        for part in re.split(r"[\[\],]", name):
            if part:
                pins[canonicalize_name(part)] = version
    return pins


LOCK = pinned(ROOT / "requirements.lock") if (ROOT / "requirements.lock").exists() else {}


def declared() -> set[str]:
    """Packages that pyproject.toml names, extras included."""
    extras = PROJECT.get("optional-dependencies", {}).values()
    wanted = [*PROJECT["dependencies"], *(text for extra in extras for text in extra)]
    return {canonicalize_name(Requirement(text).name) for text in wanted}


def test_every_line_of_the_lock_is_a_name_and_one_version():
    wrong = [
        line
        for line in lines(ROOT / "requirements.lock")
        if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!]+", line)
    ]
    assert wrong == []


def test_no_package_is_locked_twice():
    names = [canonicalize_name(li.split("==")[0]) for li in lines(ROOT / "requirements.lock")]
    assert sorted({n for n in names if names.count(n) > 1}) == []


def test_the_lock_holds_every_pin():
    if not PINS.exists():
        pytest.skip(f"no {PINS}")
    wanted = pinned(PINS)
    assert wanted
    assert {name: LOCK.get(name) for name in wanted} == wanted


def test_the_lock_holds_the_tools_of_build_and_test():
    assert [name for name in TOOLS if name not in LOCK] == []


def test_torch_is_locked_without_a_build():
    """`+cpu` would not install from the package index; the index chooses the build."""
    assert LOCK["torch"] == "2.13.0"


def test_every_pin_has_hashes_and_no_other_has():
    hashes = hashed()
    assert list(hashes) == lines(ROOT / "requirements.lock"), "to mend: .ci/hashes"
    wrong = [pin for pin, all_of in hashes.items() if not all_of or len(set(all_of)) < len(all_of)]
    assert wrong == []
    digests = [digest for all_of in hashes.values() for digest in all_of]
    assert [d for d in digests if not re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", d)] == []
    assert len(hashes["torch==2.13.0"]) >= 10  # three Pythons, three systems, and the CPU build


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: f"{bad['package']}{bad['which']}")
def test_no_pin_is_known_to_be_bad(bad):
    version = LOCK.get(canonicalize_name(bad["package"]))
    assert version is None or not SpecifierSet(bad["which"]).contains(version), bad["why"]


def test_the_lock_leaves_out_what_brings_requests_to_a_cdn():
    assert [name for name in ("ipywidgets", "plotly") if name in LOCK] == []


def test_the_lock_leaves_out_pip():
    """Whoever installs it has one, and a newer one is better."""
    assert "pip" not in LOCK


def test_dependencies_are_locked_at_a_version_they_allow():
    for text in PROJECT["dependencies"]:
        wanted = Requirement(text)
        assert canonicalize_name(wanted.name) in LOCK, text
        assert wanted.specifier.contains(LOCK[canonicalize_name(wanted.name)]), text


def test_conda_installs_the_lock_and_this_package():
    if not ENVIRONMENT.exists():
        pytest.skip("no environment.yml yet")
    content = yaml.safe_load(ENVIRONMENT.read_text())
    assert content["name"] == "relic", "run_all.sh looks for an active environment of this name"
    parts = content["dependencies"]
    (pip,) = [part["pip"] for part in parts if isinstance(part, dict)]
    assert sorted(pip) == ["-e .", "-r requirements.lock"], "versions belong into the lock"
    (python,) = [p for p in parts if isinstance(p, str) and p.startswith("python=")]
    assert {p for p in parts if isinstance(p, str)} == {python, "pip"}
    version = python.split("=", 1)[1].lstrip("=")
    assert version == "3.11"
    assert SpecifierSet(PROJECT["requires-python"]).contains(version)


def test_the_supported_pythons_are_those_that_run_all_looks_for():
    wanted = SpecifierSet(PROJECT["requires-python"])
    script = (ROOT / "run_all.sh").read_text()
    searched = set(
        re.findall(r"python(3\.\d+)", script.split("find_python() {")[1].split("done")[0])
    )
    assert searched == {f"3.{minor}" for minor in range(6, 20) if wanted.contains(f"3.{minor}")}


def test_every_imported_package_is_declared():
    distributions, used = packages_distributions(), {}
    for file in sorted((ROOT / "relic").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                modules = [node.module]
            else:
                continue
            for module in modules:
                used.setdefault(module.split(".")[0], str(file.relative_to(ROOT)))
    foreign = {
        m: f
        for m, f in used.items()
        if m not in sys.stdlib_module_names and m not in ("relic", "benchmarks")
    }
    assert {"pandas", "yaml"} <= foreign.keys()
    known = declared()
    undeclared = {
        module: file
        for module, file in foreign.items()
        if not {canonicalize_name(d) for d in distributions.get(module, [])} & known
    }
    assert undeclared == {}
