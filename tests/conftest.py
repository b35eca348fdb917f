"""Fixtures that several test files share."""

import json
import os
import pickle
import re
import shutil
from pathlib import Path

import pytest

from relic import paths

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
SLOW = {  # fixtures that build pages or a wheel, open a browser or read the real captions
    "browser", "installed", "made_pages", "make_project", "project", "real", "real_data", "wheel",
}  # fmt: skip
FIVE = ("A Man rides.", "a man on a bike", "he rides a bike", "man, bike", "a cyclist")


def pytest_collection_modifyitems(config, items) -> None:
    """Mark what is slow by the fixtures it uses; on a worker, the longest file comes first."""
    for item in items:
        if SLOW & set(getattr(item, "fixturenames", ())):
            item.add_marker("slow")
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: "visits" not in getattr(item, "fixturenames", ()))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A file's tests stay on one worker, because they share fixtures.

    xdist's groups would do, but its 3.8 writes them into an attribute that pytest 9.2 no longer reads.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return together(nodeid)

    return ByFile(config, log)


def together(nodeid: str) -> str:
    """What stays on one worker: a file; of the longest ones, a part."""
    file, _, test = nodeid.partition("::")
    page = re.match(r"test_it_changes_the_page\[(\w+)-", test)  # parameters of one notebook
    alone = test == "test_every_notebook_runs_on_the_embedded_corpus"
    return f"{file} {page[1]}" if page else nodeid if alone else file


@pytest.fixture(scope="session")
def executed():
    """What a notebook's names stand for once its cells are executed, up to one that says `until`."""

    def execute(name: str, until: str, **parameters) -> dict:
        file = paths.NOTEBOOKS / f"{name}.ipynb"
        cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
        names: dict = {}
        for code in ("".join(c["source"]) for c in cells if c["cell_type"] == "code"):
            exec(code, names)
            names |= {key: value for key, value in parameters.items() if "relic" not in names}
            if until in code:
                return names
        raise AssertionError(f"{name} has no cell with {until}")

    return execute


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The directory of real captions that RELIC_DATA names; without it the test is skipped."""
    directory = paths.real_data()
    if directory is None:
        pytest.skip("RELIC_DATA is not set: it names a directory of upstream's captions")
    if not directory.is_dir():
        pytest.skip(f"RELIC_DATA names {directory}, which is not a directory")
    return directory


@pytest.fixture(scope="session")
def browser():
    """Chromium, with a profile of its own that is thrown away."""
    program = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if program is None:
        reason = "no Chromium found (Debian: apt install chromium)"
        if os.environ.get("RELIC_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield running
        running.close()


@pytest.fixture
def unreadable() -> Path:
    """A regular file that opens and then fails to be read, even for root."""
    if not Path("/proc/self/mem").exists():
        pytest.skip("no /proc here")
    return Path("/proc/self/mem")  # its first page is never mapped


class Layout:
    """A data directory in upstream's layout, written file by file."""

    human = FIVE  # what `tiny` has people say of image 5; of image 3 the same backwards

    def __init__(self, root: Path):
        self.root = root

    def write(self, name: str, content) -> Path:
        """Write bytes and text as they are, anything else as a pickle."""
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            content = content.encode()
        file.write_bytes(content if isinstance(content, bytes) else pickle.dumps(content))
        return file


@pytest.fixture
def layout(tmp_path) -> Layout:
    """An empty data directory."""
    return Layout(tmp_path / "captions")


@pytest.fixture
def tiny(layout) -> Layout:
    """Two gender captioners in different row orders, one race captioner, two age images.

    Images 1, 3, 9 are Male, 2 and 5 Female; the age file has images 3 (old) and 5 (young).
    """
    sat = [(5, "Female", "a girl"), (3, "Male", "a man"), (2, "Female", "a lady")]
    nic = [(2, "Female", "one"), (9, "Male", "two"), (5, "Female", "three"), (1, "Male", "four")]
    for name, rows in (
        ("Show-Attend-Tell/gender_val_sat", sat),
        ("Show-Tell/gender_val_st10", nic),
    ):
        layout.write(
            f"bias_data/{name}_cap_mw_entries.pkl",
            [{"img_id": i, "bb_gender": label, "pred": text} for i, label, text in rows],
        )
    skins = [(7, "Light"), (1, "Unsure"), (5, "Dark"), (2, "Both"), (3, "")]
    layout.write(
        "bias_data/UpDn/race_val_updn_cap_entries.pkl",
        [{"img_id": i, "bb_skin": skin, "pred": f"a UNK {i}"} for i, skin in skins],
    )
    preds = {f"pred_{name}": f"{name} says" for name in ("sat", "oscar", "nicplus", "niceq")}
    layout.write(
        "age_data/age_dataset.pkl",
        [
            {"img_id": 5, "bb_age": "young", "caption_list": list(FIVE), **preds},
            {"img_id": 3, "bb_age": "old", "caption_list": [*FIVE[::-1], "a sixth"], **preds},
        ],
    )
    layout.write("bias_data/model_vocab/sat_vocab.pkl", ["<unk>", "<pad>", "a", "genderword"])
    return layout
