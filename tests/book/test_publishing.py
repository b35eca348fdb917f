"""Workflows, citation and Zenodo metadata: what they name exists, and they agree."""

import importlib.util
import json
import os
import shlex

import pytest
import yaml

import relic
from relic import paths
from relic.book.options import parse

WORKFLOWS = sorted((paths.ROOT / ".github" / "workflows").glob("*.yml"))


def steps(file):
    jobs = yaml.safe_load(file.read_text(encoding="utf-8"))["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


def test_there_are_a_book_and_a_test_workflow():
    assert [file.stem for file in WORKFLOWS] == ["book", "tests"]


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_workflow_steps_name_what_exists(file):
    for step in steps(file):
        if "uses" in step:
            owner, _, version = step["uses"].partition("@")
            assert owner.startswith("actions/")  # GitHub's own
            assert version.startswith("v")
            wanted = step.get("with", {}).get("cache-dependency-path")
            assert wanted is None or (paths.ROOT / wanted).is_file()
            continue
        program, *arguments = shlex.split(step["run"])
        if program == "python3":
            assert arguments[0] == "-m"
            assert importlib.util.find_spec(arguments[1])
        else:
            assert os.access(paths.ROOT / program, os.X_OK)
        if program == "./run_all.sh":
            parse(arguments)  # ends the program on an option that is not there


def test_the_book_workflow_publishes_and_zips_what_the_build_makes():
    made = paths.HTML.relative_to(paths.ROOT).as_posix()
    listed = steps(WORKFLOWS[0])
    with_path = {step["uses"].split("@")[0]: step["with"]["path"] for step in listed if "path" in step.get("with", {})}  # fmt: skip
    assert with_path["actions/upload-pages-artifact"] == made
    (command,) = [step["run"] for step in listed if "zipfile" in step.get("run", "")]
    assert command == f"python3 -m zipfile -c {with_path['actions/upload-artifact']} {made}"
    for page in ("book/rerun.md", "README.md"):
        assert command in (paths.ROOT / page).read_text(encoding="utf-8")


def test_versions_titles_and_licences_agree():
    cff = yaml.safe_load((paths.ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    zenodo = json.loads((paths.ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(cff)
    assert cff["version"] == zenodo["version"] == relic.__version__
    assert cff["title"] == zenodo["title"]
    assert cff["license"] == zenodo["license"] == "MIT"
    assert [author["name"] for author in cff["authors"]] == [c["name"] for c in zenodo["creators"]]
    cited = [reference["doi"] for reference in cff["references"] if "doi" in reference]
    assert {each["identifier"] for each in zenodo["related_identifiers"]} <= set(cited)
