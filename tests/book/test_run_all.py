"""./run_all.sh from wrong options to killed builds, on copies with specimen notebooks."""

import json
import os
import re
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

from relic.book import options
from relic.book.profiles import notebook_parameters
from relic.book.steps import OK, Record, Step
from relic.errors import RelicError

OLD_BOOK = "the book of an earlier build"
OPTIONS = (
    "--profile", "--only", "--data", "--set", "--workers", "--timeout", "--keep-going", "--fresh",
    "--why", "--pdf", "--test", "--quick",
)  # fmt: skip


def text_of(page: Path) -> str:
    """A page's text as a browser would show it."""
    from bs4 import BeautifulSoup

    content = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
    return content.find("article").get_text()


# -- before anything is installed ---------------------------------------------------------------


def tools(directory: Path, python: str) -> dict[str, str]:
    """Settings of a machine that has a shell and one `python3`, and no environment."""
    directory.mkdir()
    for tool in ("bash", "basename", "cat", "dirname", "env", "rm", "tr", "head"):
        (directory / tool).symlink_to(shutil.which(tool))
    (directory / "python3").write_text(f"#!/bin/sh\n{python}\n")
    (directory / "python3").chmod(0o755)
    return {"PATH": str(directory), "RELIC_PYTHON": ""}


@pytest.fixture
def bare(tmp_path):
    """A Python that fits, without any package."""
    return tools(tmp_path / "bin", f'exec "{Path(sys._base_executable).resolve()}" -S -E "$@"')


@pytest.fixture
def too_old(tmp_path):
    return tools(tmp_path / "bin", 'case "$1" in --version) echo Python 3.9.2 ;; *) exit 1 ;; esac')


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_needs_no_environment(project, bare, option):
    result = project.run(option, **bare)
    assert result.code == 0, result
    assert [o for o in OPTIONS if not re.search(rf"^  {o}\b", result.stdout, re.M)] == []
    assert result.seconds < 5
    assert not (project.root / ".venv").exists()


def test_every_option_is_in_the_help_and_in_our_list(project, bare):
    said = project.run("--help", **bare).stdout
    assert set(re.findall(r"^  (--[a-z-]+)", said, re.M)) == set(OPTIONS)


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_too_old_a_python_is_named(project, too_old, arguments):
    result = project.run(*arguments, **too_old)
    assert result.code == 1, result
    assert "Python-3.9.2" in result.stderr.replace(" 3", "-3")
    assert "3.11" in result.stderr
    assert "to mend" in result.stderr
    assert not (project.root / ".venv").exists()


@pytest.mark.parametrize("kind", ["absent", "a directory", "not a Python", "too old"])
def test_a_wrong_RELIC_PYTHON_is_named(project, tmp_path, too_old, kind):  # noqa: N802
    setting = {
        "absent": "/no/such/python",
        "a directory": str(tmp_path),
        "not a Python": "/bin/false",
        "too old": str(tmp_path / "bin" / "python3"),
    }[kind]
    result = project.run(RELIC_PYTHON=setting)
    assert result.code == 1, result
    assert setting in result.stderr
    assert "3.11" in result.stderr, "it should say what is expected"
    assert result.stderr.startswith("run_all.sh: "), "not a message of the shell"


def test_a_python_without_our_packages_is_told_how_to_get_them(project, bare):
    result = project.run(RELIC_PYTHON=f"{bare['PATH']}/python3")
    assert result.code == 1, result
    assert "pip install -r requirements.lock" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--no-such-option"], "--no-such-option"),
        (["--prof", "smoke"], "--prof"),
        (["smoke"], "smoke"),
        (["--workers", "0"], "at least 1"),
        (["--workers", "two"], "two"),
        (["--timeout", "-1"], "--timeout -1"),
        (["--set", "images"], "KEY=VALUE"),
        (["--data", "/no/such/directory"], "/no/such/directory"),
        (["--only"], "--only"),
        (["--quick"], "--test"),
    ],
)
def test_wrong_options_end_with_2_before_anything_is_installed(project, bare, arguments, said):
    result = project.run(*arguments, **bare)
    assert result.code == 2, result
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert not (project.root / ".venv").exists()
    assert not project.build.exists()


def test_help_with_test_is_not_silent(project):
    result = project.run("--test", "--help")
    assert result.stdout + result.stderr, "exit 0 and not a word"


# -- what options name must exist -----------------------------------------------------------------


@pytest.fixture(scope="module")
def named(make_project):
    return make_project("named").use(quick="quick", slow="slow")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--set", "imags=5"], ["imags", "corpus, images, note"]),
        (["--set", "images=many"], ["images", "int"]),
        (["--set", "quick.seconds=1"], ["seconds", "corpus, images, note"]),
        (["--only", "nothing"], ["nothing", "quick, slow"]),
        (["--profile", "nothing"], ["nothing", "record", "smoke"]),
        (["--set", "corpus=imaginary"], ["imaginary", "embedded"]),
    ],
)
def test_unknown_names_are_answered_with_the_known_ones(named, arguments, said):
    result = named.run(*arguments)
    assert result.code == 2, result
    assert [word for word in said if word not in result.stderr] == []
    assert "Traceback" not in result.stderr
    assert not (named.html / "index.html").exists()


def test_only_may_be_repeated():
    assert options.parse(["--only", "raises", "--only", "quick"]).only == ["raises", "quick"]
    assert options.parse(["--only", "raises", "quick"]).only == ["raises", "quick"]


@pytest.mark.parametrize(
    "cell",
    ["images: int = (", "images: int = len('abc')", "images: int", "images = 3", "n: set = 3"],
)
def test_a_parameters_cell_with_a_mistake_is_named(tmp_path, cell):
    tagged = {"cell_type": "code", "metadata": {"tags": ["parameters"]}, "source": cell}
    notebook = tmp_path / "mistake.ipynb"
    notebook.write_text(json.dumps({"cells": [tagged]}))
    with pytest.raises(RelicError, match=r"mistake\.ipynb"):
        notebook_parameters(notebook)


def test_another_checkout_in_the_working_directory_is_not_built(project, tmp_path):
    other = tmp_path / "elsewhere"
    (other / "relic" / "book").mkdir(parents=True)
    for module in ("__init__.py", "book/__init__.py"):
        (other / "relic" / module).touch()
    (other / "relic" / "book" / "__main__.py").write_text("print('the wrong relic')")
    result = project.run("--only", "nothing", cwd=other)
    assert "the wrong relic" not in result.stdout, result
    assert result.code == 2


# -- notebooks that fail --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stopped(make_project):
    """A build that a raising notebook stopped, where an older book is published."""
    project = make_project("stopped").use(raises="raises")
    project.html.mkdir(parents=True)
    (project.html / "index.html").write_text(OLD_BOOK)
    return project, project.run()


def test_a_raising_notebook_is_named_with_cell_and_error(stopped):
    _, result = stopped
    assert result.code == 1, result
    failure = next(line for line in result.stderr.splitlines() if line.startswith("FAILED"))
    for word in ("raises", "cell", "ValueError", "wanted <b>bold</b> | found"):
        assert word in failure
    assert "Traceback" not in result.stderr


def test_the_cell_number_is_the_one_that_raised(stopped):
    """Counted among the code cells that papermill executed, the injected parameters among them."""
    project, _ = stopped
    executed = json.loads(project.executed("raises.failed").read_text())
    code = [cell for cell in executed["cells"] if cell["cell_type"] == "code"]
    raised = [
        i for i, c in enumerate(code, 1) if any(o["output_type"] == "error" for o in c["outputs"])
    ]
    record = project.record("raises")
    assert [record["cell"]] == raised
    assert record["cells"] == len(code)


def test_a_failed_notebook_is_kept_as_far_as_it_came(stopped):
    project, result = stopped
    assert not project.executed("raises").exists()
    assert "before" in project.executed("raises.failed").read_text()
    assert "raises.failed.ipynb" in result.stderr


def test_no_book_is_published_over_a_failed_run(stopped):
    project, result = stopped
    assert [f.name for f in project.html.iterdir()] == ["index.html"]
    assert (project.html / "index.html").read_text() == OLD_BOOK
    assert "no book is published" in result.stderr


@pytest.fixture(scope="module")
def kept_going(make_project):
    """Four notebooks, three of which fail, each in its way, with --keep-going: a real book."""
    names = {n: n for n in ("kernel_dies", "quick", "raises", "times_out")}
    project = make_project("kept_going").use(stub=False, **names)
    project.html.mkdir(parents=True)
    (project.html / "index.html").write_text(OLD_BOOK)
    options = ("--keep-going", "--timeout", "3", "--workers", "2")
    result = project.run(*options, "--set", "note='a | b <i>c</i>'", timeout=400)
    return project, result


def test_keep_going_publishes_and_still_ends_with_1(kept_going):
    project, result = kept_going
    assert result.code == 1, result
    assert result.stderr.count("\nFAILED") == 3
    assert OLD_BOOK not in (project.html / "index.html").read_text()


@pytest.mark.parametrize(
    ("name", "error"),
    [("raises", "ValueError"), ("times_out", "Timeout"), ("kernel_dies", "DeadKernel")],
)
def test_each_failure_is_in_our_record_and_on_stderr(kept_going, name, error):
    project, result = kept_going
    record = project.record(name)
    assert record["status"] == "failed"
    assert error in record["error"]
    assert record["cell"] == record["cells"] - (name == "raises")
    assert any(
        error in line for line in result.stderr.splitlines() if line.startswith(f"FAILED  {name}")
    )


@pytest.mark.parametrize("name", ["times_out", "kernel_dies"])
def test_papermill_calls_completed_what_timed_out_or_died(kept_going, name):
    """Why we keep records of our own. If this fails, papermill has mended it."""
    project, _ = kept_going
    notebook = json.loads(project.executed(f"{name}.failed").read_text())
    assert notebook["metadata"]["papermill"]["exception"] is None
    cells = [c["metadata"]["papermill"]["status"] for c in notebook["cells"]]
    assert set(cells) == {"completed"}


@pytest.mark.parametrize("name", ["raises", "times_out", "kernel_dies"])
def test_a_failed_page_says_so_under_its_title(kept_going, name):
    project, _ = kept_going
    text = text_of(project.html / "notebooks" / f"{name}.html")
    title = json.loads((project.root / "notebooks" / f"{name}.ipynb").read_text())["cells"][0]
    heading = "".join(title["source"]).splitlines()[0].removeprefix("# ")
    assert "This page failed" in text
    assert project.record(name)["error"].split(":")[0] in text
    assert text.index(heading) < text.index("This page failed"), (
        "the failure stands above the title"
    )


def test_a_page_that_ran_does_not_say_that_it_failed(kept_going):
    project, _ = kept_going
    text = text_of(project.html / "notebooks" / "quick.html")
    assert "double: 6" in text
    assert "failed" not in text


def test_the_status_page_tells_ok_from_failed(kept_going):
    from bs4 import BeautifulSoup

    project, _ = kept_going
    page = BeautifulSoup((project.html / "status.html").read_text(), "html.parser")
    rows = [[c.get_text() for c in row.find_all("td")] for row in page.select("article table tr")]
    status = {row[0]: row[1] for row in rows if row}
    failed = dict.fromkeys(("kernel_dies", "raises", "times_out"), "✗ failed")
    assert status == {**failed, "quick": "✓ ok"}
    assert {len(row) for row in rows if row} == {3}
    assert "3 of 4 notebooks failed" in page.find("article").get_text()


def test_parameters_are_shown_as_they_were_given(kept_going):
    project, _ = kept_going
    assert project.record("quick")["parameters"]["note"] == "a | b <i>c</i>"
    assert "note = a | b <i>c</i>" in text_of(project.html / "status.html")


@pytest.mark.parametrize("page", ["notebooks/raises.html", "status.html"])
def test_an_error_text_is_shown_as_it_is_and_is_no_markup(kept_going, page):
    project, _ = kept_going
    file = project.html / page
    source = file.read_text(encoding="utf-8")
    assert "<b>bold</b>" not in source
    assert "<script>document.title" not in source
    assert "wanted <b>bold</b> | found 'tick' {{x}} <script>" in text_of(file)


# -- what runs again, and why ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def built(make_project):
    """A notebook on data, built once; the tests below change one thing after another."""
    project = make_project("built").use(quick="quick", slow="slow")
    data = project.root / "captions" / "bias_data"
    data.mkdir(parents=True)
    (data / "captions.csv").write_text("id,caption\n1,a person\n")
    result = project.run(*REAL, "--workers", "2", RELIC_DATA=str(project.root / "captions"))
    assert result.code == 0, result
    return project


REAL = ("--set", "corpus=real", "--set", "seconds=0.1")


def again(project, *arguments):
    """Build with --why and return the result and which notebooks were executed."""
    before = {name: project.record(name).get("started") for name in ("quick", "slow")}
    data = str(project.root / "captions")
    result = project.run("--why", *(arguments or REAL), RELIC_DATA=data)
    assert result.code == 0, result
    return result, [n for n in before if project.record(n)["started"] != before[n]]


def why(result, name: str) -> str:
    return next(li for li in result.stdout.splitlines() if li.startswith(f"  {name}: "))


def test_two_workers_run_at_the_same_time(built):
    quick, slow = built.record("quick"), built.record("slow")
    assert max(quick["started"], slow["started"]) < min(
        quick["started"] + quick["seconds"], slow["started"] + slow["seconds"]
    )


def test_a_second_call_executes_nothing_and_is_quick(built):
    page = (built.html / "index.html").stat().st_mtime_ns
    result, executed = again(built)
    assert executed == []
    assert "skipped" in why(result, "quick")
    assert "skipped" in why(result, "book")
    assert (built.html / "index.html").stat().st_mtime_ns == page
    assert result.seconds < 15


def test_a_changed_parameter_runs_its_notebook_again(built):
    result, executed = again(built, *REAL, "--set", "images=4")
    assert executed == ["quick"]
    assert "parameter images: 3 before, 4 now" in why(result, "quick")
    assert "skipped" in why(result, "slow")
    assert "double: 8" in built.executed("quick").read_text()


def test_a_changed_source_runs_its_notebook_again(built):
    notebook = built.root / "notebooks" / "quick.ipynb"
    notebook.write_text(notebook.read_text().replace("images * 2", "images * 3"))
    result, executed = again(built, *REAL, "--set", "images=4")
    assert executed == ["quick"]
    assert "quick.ipynb" in why(result, "quick")
    assert "double: 12" in built.executed("quick").read_text()


def test_changed_data_run_what_reads_them_again(built):
    with (built.root / "captions" / "bias_data" / "captions.csv").open("a") as stream:
        stream.write("2,another person\n")
    before = built.record("quick")["data"]
    result, executed = again(built, *REAL, "--set", "images=4")
    assert executed == ["quick"]
    assert "data" in why(result, "quick")
    assert built.record("quick")["data"] != before


def test_changed_code_runs_what_imports_it_again(built):
    notebook = built.root / "notebooks" / "quick.ipynb"
    notebook.write_text(notebook.read_text().replace("import os", "import os, relic.errors"))
    again(built, *REAL, "--set", "images=4")
    for module in ("whole.py", "errors.py"):  # nothing imports the first
        with (built.root / "relic" / module).open("a") as stream:
            stream.write("\n# a comment\n")
    result, executed = again(built, *REAL, "--set", "images=4")
    assert executed == ["quick"]
    assert "errors.py" in why(result, "quick")
    assert "whole.py" not in why(result, "quick")


def test_changed_build_code_runs_no_notebook_again(built):
    with (built.root / "relic" / "book" / "book.py").open("a") as stream:
        stream.write("\n# a comment\n")
    result, executed = again(built, *REAL, "--set", "images=4")
    assert executed == []
    assert "book.py" in why(result, "book")


def test_fresh_runs_everything_again(built):
    result, executed = again(built, *REAL, "--set", "images=4", "--fresh")
    assert executed == ["quick", "slow"]
    assert "--fresh" in why(result, "quick")


def test_corrupt_records_are_survived(built):
    for file in built.records():
        file.write_text('{"notebook": "quick", "status": ')
    before = (built.html / "index.html").stat().st_mtime_ns
    done = built.run(*REAL, "--set", "images=4", RELIC_DATA=str(built.root / "captions"))
    assert done.code == 0, done
    assert {json.loads(file.read_text())["status"] for file in built.records()} == {"ok"}
    assert (built.html / "index.html").stat().st_mtime_ns != before


def test_a_profile_keeps_its_results_while_another_is_built(built):
    other = built.run("--profile", "smoke", "--only", "quick")
    assert other.code == 0, other
    result, executed = again(built, *REAL, "--set", "images=4")
    assert executed == [], result
    assert "profile: 'smoke' before, 'record' now" in why(result, "book")
    assert "skipped" not in why(result, "book"), "the published book is still the other profile's"


@pytest.mark.parametrize("content", ["", "[]", "null", "{", '{"quick": 3}', "\0\0\0"])
def test_any_broken_record_is_forgotten(tmp_path, content):
    (tmp_path / "quick.json").write_text(content)
    (tmp_path / "quick.ipynb").touch()
    rests_on = {"files": {}, "given": {}}
    step = Step("quick", str, rests_on, tmp_path / "quick.json", tmp_path / "quick.ipynb")
    assert step.why() == "no result yet"
    Record("quick", OK, rests_on).write(step.record)
    assert step.why() == ""


# -- settings that reach the notebooks ------------------------------------------------------------


def test_a_relative_RELIC_DATA_means_the_same_in_build_and_notebook(project):  # noqa: N802
    project.use(quick="quick")
    (project.root / "captions").mkdir()
    result = project.run("--set", "corpus=real", RELIC_DATA="captions")
    assert result.code == 0, result
    assert f"data: {project.root / 'captions'}" in project.executed("quick").read_text()


def test_a_RELIC_DATA_that_does_not_exist_is_said_at_once(project):  # noqa: N802
    project.use(quick="quick")
    result = project.run("--set", "corpus=real", RELIC_DATA="/no/such/directory")
    assert result.code == 2, result
    assert "/no/such/directory" in result.stderr


def test_a_notebook_missing_in_the_contents_is_said_before_it_runs(project):
    project.use(quick="quick", slow="slow")
    contents = project.root / "book" / "_toc.yml"
    contents.write_text(contents.read_text().replace("- file: notebooks/slow\n", ""))
    result = project.run("--only", "quick")
    assert result.code != 0, result
    assert "notebooks/slow" in result.stderr
    assert "Traceback" not in result.stderr
    assert project.record("quick") == {}, "hours may pass before the message"


# -- killed builds --------------------------------------------------------------------------------


def test_a_killed_build_continues_with_the_same_command(project):
    project.use(n10_slow="slow", n20_slow="slow", n30_quick="quick")
    command = ("--workers", "2", "--set", "seconds=1.5")

    def at_work() -> bool:
        said = project.log.read_text()
        busy = [n for n in ("10_slow", "20_slow") if project.record(n).get("status") == "running"]
        return "30_quick: " in said and any(project.record(n)["cell"] > 2 for n in busy)

    for kill in (os.kill, os.killpg):  # the build alone, then its whole process group
        process = project.start(*command)
        project.wait(at_work, say="a slow notebook in the middle")
        kill(process.pid, signal.SIGKILL)
        process.wait()
        first = project.record("30_quick")
        assert first["status"] == "ok"
        project.wait(lambda: not project.processes(), 10, "kernels and notebook processes to end")
        assert not project.html.exists()
    (project.build / "profiles" / "record" / ".30_quick.json.0.part").write_text("{")
    result = project.run(*command)
    assert result.code == 0, result
    assert "30_quick: up to date" in result.stderr
    assert project.record("30_quick") == first
    assert {project.record(n)["status"] for n in ("10_slow", "20_slow")} == {"ok"}
    assert (project.html / "index.html").exists()
    leftover = [
        p.name for p in project.build.rglob("*") if ".part" in p.name or ".running" in p.name
    ]
    assert leftover == []


def test_a_notebook_process_that_is_still_starting_ends_with_the_build(project):
    """It asks to die with its parent, but only once it has imported relic; until then it is deaf."""
    project.use(light=False, n10_slow="slow")
    process = project.start("--set", "seconds=1.5")
    project.wait(lambda: "] 10_slow" in project.log.read_text(), say="the notebook to start")
    time.sleep(0.3)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    project.wait(lambda: not project.processes(), 20, "all processes to end")
    # a quick machine has begun its record by then; had it gone on, cells would be done
    assert project.record("10_slow").get("cell", 0) == 0, "it executed unseen after the kill"


def test_two_builds_at_once_do_not_forget_each_others_work(project):
    """The second may wait, or refuse and say why."""
    project.use(n10_slow="slow", n20_quick="quick")
    first = project.start("--only", "10_slow", "--set", "seconds=1.5")
    project.wait(lambda: project.record("10_slow").get("cell", 0) > 1, say="a notebook at work")
    second = project.run("--only", "20_quick", "--set", "seconds=1.5")
    assert first.wait(timeout=40) == 0, project.log.read_text()
    if second.code != 0:
        assert "another build" in second.stderr
        assert project.record("20_quick") == {}
    else:
        assert {project.record(n)["status"] for n in ("10_slow", "20_quick")} == {"ok"}


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_build_ends_soon_and_leaves_nothing_running(project, sent):
    project.use(n10_slow="slow", n20_slow="slow")
    process = project.start("--workers", "2", "--set", "seconds=20")
    project.wait(lambda: project.record("10_slow").get("cell", 0) > 1, say="a notebook at work")
    os.killpg(process.pid, sent)
    asked = time.monotonic()
    code = process.wait(timeout=30)
    assert time.monotonic() - asked < 10
    assert code == {signal.SIGINT: 130, signal.SIGTERM: -signal.SIGTERM}[sent]
    project.wait(lambda: not project.processes(), 10, "kernels to end")
    said = project.log.read_text()
    assert "Traceback" not in said
    if sent == signal.SIGINT:
        assert "the same command continues" in said


def test_a_pdf_without_a_browser_is_refused_before_anything_runs(project, tmp_path):
    """Only Python and git in PATH: no Chromium."""
    place = tmp_path / "bin"
    place.mkdir()
    for tool in ("bash", "dirname", "basename", "cat", "git", "env", "sh"):
        if program := shutil.which(tool):
            (place / tool).symlink_to(program)
    result = project.run("--pdf", PATH=str(place))
    assert result.code == 2, result
    assert "no Chromium" in result.stderr
    assert "apt install chromium" in result.stderr
