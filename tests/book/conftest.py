"""Copies of the project in which ./run_all.sh may do what it likes."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SPECIMENS = ROOT / "tests" / "specimens"
COPIED = (
    "relic",
    "notebooks",
    "book",
    "params",
    "run_all.sh",
    "pyproject.toml",
    "requirements.lock",
    "CITATION.cff",
)
SETTINGS = ("RELIC_", "CONDA_", "VIRTUAL_ENV", "PYTHONPATH", "PYTEST_", "OMP_NUM_THREADS")

# Stands in for Jupyter Book where a test is not about the book: saves 5 s a build.
STUB = """\
import sys
from pathlib import Path

def main():
    html = Path(sys.argv[sys.argv.index("--path-output") + 1]) / "_build" / "html"
    html.mkdir(parents=True)
    (html / "index.html").write_text("stub of a book")
"""


@dataclass(frozen=True)
class Result:
    """How a call of ./run_all.sh ended."""

    code: int
    stdout: str
    stderr: str
    seconds: float

    def __str__(self) -> str:
        return f"exit {self.code} after {self.seconds:.1f} s\n{self.stdout}\n{self.stderr}"


def _heeds_ctrl_c() -> None:
    """Tests started in the background of a shell inherit a SIGINT that is ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass
class Project:
    """A copy of the project, and what its builds left behind."""

    root: Path
    started: list = field(default_factory=list)

    def environment(self, **settings: str) -> dict[str, str]:
        """The caller's environment without what would change a build; RELIC_PYTHON is us."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith(SETTINGS)}
        return {**clean, "RELIC_PYTHON": sys.executable, **settings}

    def run(self, *arguments: str, timeout: float = 150, cwd: Path | None = None, **settings: str):
        """Call ./run_all.sh and wait; settings are environment variables."""
        started = time.monotonic()
        done = subprocess.run(
            [str(self.root / "run_all.sh"), *arguments],
            cwd=cwd or self.root,
            env=self.environment(**settings),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        return Result(done.returncode, done.stdout, done.stderr, time.monotonic() - started)

    def start(self, *arguments: str, **settings: str) -> subprocess.Popen:
        """Call ./run_all.sh in a process group of its own and return at once."""
        self.log.unlink(missing_ok=True)
        with self.log.open("w") as stream:
            process = subprocess.Popen(
                [str(self.root / "run_all.sh"), *arguments],
                cwd=self.root,
                env=self.environment(**settings),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_heeds_ctrl_c,
            )
        self.started.append(process)
        return process

    @property
    def log(self) -> Path:
        """What a started call has said so far."""
        return self.root / "started.log"

    @property
    def build(self) -> Path:
        return self.root / "book" / "_build"

    @property
    def html(self) -> Path:
        return self.build / "html"

    def executed(self, name: str, profile: str = "record") -> Path:
        """Directory entry of an executed notebook; `.failed` may be part of the name."""
        return self.build / "profiles" / profile / f"{name}.ipynb"

    def record(self, name: str, profile: str = "record") -> dict:
        """Our record of a notebook's last execution; empty where there is none."""
        file = self.build / "profiles" / profile / f"{name}.json"
        return json.loads(file.read_text()) if file.exists() else {}

    def records(self) -> list[Path]:
        """The build's memory: a file a notebook and one of the book."""
        return sorted([*(self.build / "profiles").rglob("*.json"), self.build / "book.json"])

    def processes(self) -> list[psutil.Process]:
        """Living processes of this copy: build, notebook processes, kernels, Sphinx."""
        processes = []
        for process in psutil.process_iter():
            try:
                ours = str(self.root) in process.environ().get("PYTHONPATH", "")
                if ours and process.status() != psutil.STATUS_ZOMBIE:
                    processes.append(process)
            except psutil.Error:
                continue
        return processes

    def use(self, *, stub: bool = True, light: bool = True, **notebooks: str) -> "Project":
        """Replace notebooks and book by specimens, `name="specimen"`; a name may start with n.

        stub: no Jupyter Book; light: `import relic` does not bring pandas and matplotlib.
        """
        shutil.rmtree(self.root / "notebooks")
        (self.root / "notebooks").mkdir()
        names = {name.removeprefix("n"): specimen for name, specimen in notebooks.items()}
        for name, specimen in names.items():
            shutil.copy(SPECIMENS / f"{specimen}.ipynb", self.root / "notebooks" / f"{name}.ipynb")
        for profile in (self.root / "params").glob("*.yml"):
            profile.write_text("# nothing to override\n")
        for page in (self.root / "book").glob("*.md"):
            if page.name != "status.md":
                page.unlink()
        (self.root / "book" / "index.md").write_text("# Specimens\n")
        pages = [*(f"notebooks/{name}" for name in names), "status"]
        contents = {"format": "jb-book", "root": "index", "chapters": [{"file": p} for p in pages]}
        (self.root / "book" / "_toc.yml").write_text(yaml.safe_dump(contents, sort_keys=False))
        if light:
            (self.root / "relic" / "__init__.py").write_text('__version__ = "0.1.0"\n')
        if stub:
            self.stub()
        return self

    def stub(self) -> None:
        """Put the stub in Jupyter Book's place."""
        (self.root / "jupyter_book" / "cli").mkdir(parents=True)
        for module in ("__init__.py", "cli/__init__.py"):
            (self.root / "jupyter_book" / module).touch()
        (self.root / "jupyter_book" / "cli" / "main.py").write_text(STUB)

    def wait(self, condition, seconds: float = 40, say: str = "") -> None:
        """Wait until the condition holds; fail with what the build said when it does not."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                said = self.log.read_text() if self.log.exists() else ""
                pytest.fail(f"waited {seconds} s in vain for {say or condition}; it said:\n{said}")
            time.sleep(0.05)

    def end(self) -> None:
        """End what a failed test left running: only processes of this copy."""
        for process in self.processes():
            process.send_signal(signal.SIGKILL)
        for process in self.started:
            process.wait()


def copy_project(destination: Path) -> Project:
    """What a fresh clone would hold, without git."""
    destination.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        if (ROOT / name).is_dir():
            left_out = shutil.ignore_patterns("_build", "__pycache__", ".ipynb_checkpoints")
            shutil.copytree(ROOT / name, destination / name, ignore=left_out)
        else:
            shutil.copy(ROOT / name, destination / name)
    (destination / "results").symlink_to(ROOT / "results")  # 8 MB that no build writes to
    return Project(destination)


@pytest.fixture
def project(tmp_path):
    """A copy of the project for one test."""
    copy = copy_project(tmp_path / "project")
    yield copy
    copy.end()


@pytest.fixture(scope="module")
def make_project(tmp_path_factory):
    """Makes copies that the tests of a module share."""
    made = []

    def make(name: str) -> Project:
        directory = tmp_path_factory.mktemp(name) / "the prøject"  # a path that not all tools like
        made.append(copy_project(directory))
        return made[-1]

    yield make
    for copy in made:
        copy.end()
