"""relic.data.fetch against a real local server that misbehaves on request."""

import errno
import hashlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pandas as pd
import pytest

from relic.data import fetch as module
from relic.data import pickles
from relic.data.fetch import COMMIT, UPSTREAM, fetch, git_blob_sha1, manifest
from relic.errors import RelicError
from relic.paths import ROOT, real_data

ALPHA, BETA, NOTES = "data/bias/alpha.pkl", "data/beta.csv", "res/annotations/notes.csv"
CONTENT = {ALPHA: b"0123456789" * 10, BETA: b"id,label\n1,a\n", NOTES: b"who,age\nx,3\n"}
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def sha1(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def frame(*paths: str, sizes: bool = True) -> pd.DataFrame:
    rows = [(p, sha1(CONTENT[p]), len(CONTENT[p]) if sizes else None) for p in paths]
    return pd.DataFrame(rows, columns=["path", "git_blob_sha1", "bytes"]).astype({"bytes": "Int64"})


class Handler(BaseHTTPRequestHandler):
    """Answers each request for a path with the next trick listed for it, else honestly."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.seen.append(self.path)
        tricks = self.server.tricks.get(self.path.lstrip("/"), [])
        trick = (tricks.pop(0) if len(tricks) > 1 else tricks[0]) if tricks else "honest"
        body = self.server.content.get(self.path.lstrip("/"))
        if trick == "hang up":
            self.close_connection = True
        elif isinstance(trick, int) or body is None:
            self.answer(trick if isinstance(trick, int) else 404, b"sorry")
        elif trick == "web page":
            self.answer(200, b"<html>log in</html>", **{"Content-Type": "text/html; charset=utf-8"})
        elif trick == "wrong bytes":
            self.answer(200, b"x" * len(body))
        elif trick == "truncated":
            self.answer(200, body[: len(body) // 2])
        else:
            self.answer(200, body, trick)

    def answer(self, status, body, trick="honest", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if trick == "die, length untold":
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        dies = trick.startswith("die") or trick == "stall"
        self.wfile.write(body[: len(body) // 2] if dies else body)
        if trick == "stall":
            self.wfile.flush()
            self.server.release.wait(30)
        self.close_connection = dies

    def log_message(self, *_):
        """Keep the test output clean."""


@pytest.fixture
def server(monkeypatch):
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(module, "BACKOFF", 0)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.seen, server.tricks, server.content = [], {}, dict(CONTENT)
    server.release = threading.Event()
    server.base = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.release.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def get(server, tmp_path, monkeypatch):
    """Fetch from the local server into tmp_path / "real"."""

    def run(*paths, sizes=True, **options):
        frame(*(paths or CONTENT), sizes=sizes).to_csv(tmp_path / "manifest.csv", index=False)
        monkeypatch.setattr(pickles, "MANIFEST", tmp_path / "manifest.csv")
        monkeypatch.setattr(module, "manifest", manifest.__wrapped__)  # which keeps nothing
        return fetch(tmp_path / "real", **{"base": server.base} | options)

    return run


@pytest.fixture
def alpha(tmp_path):
    """Where ALPHA belongs; its folder exists already."""
    path = tmp_path / "real" / "bias" / "alpha.pkl"
    path.parent.mkdir(parents=True)
    return path


def failed(error: RelicError) -> dict[str, str]:
    """Reason by file."""
    return dict(line.strip().split(": ", 1) for line in error.found.splitlines()[1:])


def files_in(directory: Path) -> set[str]:
    return {p.relative_to(directory).as_posix() for p in directory.rglob("*") if p.is_file()}


def test_git_blob_sha1_is_what_git_says():
    assert git_blob_sha1(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert git_blob_sha1(b"hello\n") == "ce013625030ba8dba906f756967f9e9ca394464a"


def test_files_arrive_in_their_places(get, server, tmp_path):
    report = get()
    local = {"bias/alpha.pkl": ALPHA, "beta.csv": BETA, "age_annotations/notes.csv": NOTES}
    assert report.downloaded == list(local)
    assert report.kept == []
    assert files_in(tmp_path / "real") == set(local)
    for name, path in local.items():
        assert (tmp_path / "real" / name).read_bytes() == CONTENT[path]


def test_right_files_are_kept_without_asking(get, server):
    get()
    server.seen.clear()
    report = get()
    assert (len(report.kept), report.downloaded, server.seen) == (3, [], [])


@pytest.mark.parametrize("slash", ["", "/"])
def test_mirror_below_a_path(get, server, slash):
    server.content = {f"mirror/{path}": content for path, content in CONTENT.items()}
    assert len(get(base=f"{server.base}/mirror{slash}").downloaded) == 3


def test_differing_file_is_left_alone_and_the_rest_fetched(get, server, alpha, tmp_path):
    alpha.write_bytes(b"my own work")
    with pytest.raises(RelicError) as caught:
        get()
    assert alpha.read_bytes() == b"my own work"
    assert list(failed(caught.value)) == ["bias/alpha.pkl"]
    assert f"/{ALPHA}" not in server.seen
    message = str(caught.value)
    assert "bias/alpha.pkl" in message
    assert sha1(b"my own work") in message
    assert sha1(CONTENT[ALPHA]) in message
    assert f"relic data fetch {tmp_path / 'real'} --replace" in message
    assert "run the same command again" not in message  # that would not help


def test_folder_under_a_final_name_fails_alone(get, alpha):
    alpha.mkdir()
    with pytest.raises(RelicError, match=r"bias/alpha\.pkl: present and untouched") as caught:
        get()
    assert list(failed(caught.value)) == ["bias/alpha.pkl"]
    with pytest.raises(RelicError, match=r"bias/alpha\.pkl: cannot be written"):
        get(replace=True)
    assert alpha.is_dir()


def test_replace_overwrites_only_with_verified_content(get, server, alpha):
    alpha.write_bytes(b"my own work")
    server.tricks[ALPHA] = ["wrong bytes", "honest"]
    with pytest.raises(RelicError):
        get(ALPHA, replace=True)
    assert alpha.read_bytes() == b"my own work"
    assert get(ALPHA, replace=True).downloaded == ["bias/alpha.pkl"]
    assert alpha.read_bytes() == CONTENT[ALPHA]


def test_wrong_content_never_gets_the_final_name(get, server, tmp_path):
    server.content[ALPHA] = b"z" * 100
    with pytest.raises(RelicError) as caught:
        get()
    assert files_in(tmp_path / "real") == {"beta.csv", "age_annotations/notes.csv"}
    [(name, reason)] = failed(caught.value).items()
    assert name == "bias/alpha.pkl"
    assert f"expected git_blob_sha1 {sha1(CONTENT[ALPHA])}" in reason
    assert f"found {sha1(b'z' * 100)}" in reason
    assert server.seen.count(f"/{ALPHA}") == 1  # it would be the same the next time


def test_truncated_file_of_a_mirror_fails_by_its_hash(get, server, alpha):
    server.tricks[ALPHA] = ["truncated"]
    with pytest.raises(RelicError, match="sent 50 other bytes") as caught:
        get(ALPHA)
    assert sha1(CONTENT[ALPHA][:50]) in str(caught.value)
    assert files_in(alpha.parent) == set()


@pytest.mark.parametrize("trick", ["die", "die, length untold"])
def test_server_dying_halfway_is_asked_again(get, server, alpha, trick):
    server.tricks[ALPHA] = [trick, trick, "honest"]
    assert get(ALPHA).downloaded == ["bias/alpha.pkl"]
    assert alpha.read_bytes() == CONTENT[ALPHA]
    assert len(server.seen) == 3


def test_untold_length_and_size_is_caught_by_the_hash(get, server, alpha):
    server.tricks[ALPHA] = ["die, length untold"]
    with pytest.raises(RelicError, match="expected git_blob_sha1"):
        get(ALPHA, sizes=False)
    assert files_in(alpha.parent) == set()


def test_server_that_keeps_dying_leaves_the_file_for_the_next_run(get, server, tmp_path):
    server.tricks[ALPHA] = ["die"]
    with pytest.raises(RelicError, match="run the same command again") as caught:
        get()
    assert files_in(tmp_path / "real") == {"beta.csv", "age_annotations/notes.csv"}
    assert list(failed(caught.value)) == ["bias/alpha.pkl"]
    assert server.seen.count(f"/{ALPHA}") == module.TRIES
    server.tricks.clear()
    server.seen.clear()
    assert get().downloaded == ["bias/alpha.pkl"]
    assert server.seen == [f"/{ALPHA}"]


def test_stalled_server_is_left_after_the_read_timeout(get, server, alpha, monkeypatch):
    monkeypatch.setattr(module, "TIMEOUTS", (5, 0.2))
    server.tricks[ALPHA] = ["stall", "honest"]
    begun = time.monotonic()
    get(ALPHA)
    assert alpha.read_bytes() == CONTENT[ALPHA]
    assert time.monotonic() - begun < 10
    assert len(server.seen) == 2


@pytest.mark.parametrize("trick", [404, 403, "web page"])
def test_refused_file_names_the_status_and_is_not_retried(get, server, trick):
    server.tricks[ALPHA] = [trick]
    with pytest.raises(RelicError) as caught:
        get()
    [(name, reason)] = failed(caught.value).items()
    assert name == "bias/alpha.pkl"
    assert f"status {200 if trick == 'web page' else trick}" in reason
    assert list(failed(caught.value)) == ["bias/alpha.pkl"]
    assert len(server.seen) == 3


def test_several_failures_are_listed_in_one_error(get, server):
    server.tricks |= {ALPHA: [404], NOTES: [410]}
    with pytest.raises(RelicError, match="2 of 3 files were not fetched") as caught:
        get()
    assert "bias/alpha.pkl: the server answered with status 404" in str(caught.value)
    assert "age_annotations/notes.csv: the server answered with status 410" in str(caught.value)
    assert len(failed(caught.value)) == 2


@pytest.mark.parametrize("trick", [429, 503, "hang up"])
def test_busy_server_is_asked_again(get, server, alpha, trick):
    server.tricks[ALPHA] = [trick, "honest"]
    get(ALPHA)
    assert alpha.read_bytes() == CONTENT[ALPHA]
    assert len(server.seen) == 2


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.mark.usefixtures("server")
def test_unreachable_host_stops_at_once_and_explains(get, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "BACKOFF", 20)
    begun = time.monotonic()
    with pytest.raises(RelicError) as caught:
        get(base=f"http://127.0.0.1:{closed_port()}")
    assert time.monotonic() - begun < 5
    assert list(failed(caught.value)) == ["bias/alpha.pkl"]
    message = str(caught.value)
    clone = "git clone https://github.com/eggonz/relic-caption-bias"
    assert f"{clone} && git -C relic-caption-bias checkout {COMMIT}" in message
    assert "3 of 3 files were not fetched" in message
    for part in (
        "--mirror ADDRESS",
        "HTTPS_PROXY",
        "data/*",
        "res/annotations",
        "cannot be reached",
    ):
        assert part in message
    assert f"relic data check {tmp_path / 'real'}" in message
    assert str(tmp_path / "real" / "age_annotations") in message


@pytest.mark.usefixtures("server")
def test_address_that_is_none_is_explained(get, monkeypatch):
    monkeypatch.setattr(module, "BACKOFF", 1)
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("retried") if seconds else None)
    with pytest.raises(RelicError, match="--mirror ADDRESS") as caught:
        get(base="mirror.example")
    assert "Invalid URL" in str(caught.value)


def test_host_that_never_answers_is_left_after_one_file(get, server):
    server.tricks = {path: ["hang up"] for path in CONTENT}
    with pytest.raises(RelicError, match="cannot be reached"):
        get()
    assert server.seen == [f"/{ALPHA}"] * module.TRIES


def test_host_lost_on_the_way_stops_after_the_tries(get, server, monkeypatch):
    asked = []
    real = module._Source._request

    def lose_host(source, row, *rest):
        asked.append(row.path)
        if row.path != ALPHA:
            source.base = lost
        return real(source, row, *rest)

    lost = f"http://127.0.0.1:{closed_port()}"
    monkeypatch.setattr(module._Source, "_request", lose_host)
    with pytest.raises(RelicError, match="2 of 3 files") as caught:
        get()
    assert list(failed(caught.value)) == ["beta.csv"]
    assert asked == [ALPHA] + [BETA] * module.TRIES


def test_proxy_of_the_environment_is_used(get, server, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", server.base)
    monkeypatch.setenv("http_proxy", server.base)
    server.content = {f"http://upstream.invalid/{BETA}": CONTENT[BETA]}
    assert get(BETA, base="http://upstream.invalid").downloaded == ["beta.csv"]


def test_directory_that_is_a_file(get, server, tmp_path):
    (tmp_path / "real").write_text("mine")
    with pytest.raises(RelicError, match="cannot write into") as caught:
        get()
    assert "relic data fetch DIR" in caught.value.mend
    assert (tmp_path / "real").read_text() == "mine"
    assert server.seen == []


def test_directory_without_permission(get, server, tmp_path):
    (tmp_path / "real").mkdir(mode=0o500)
    if os.access(tmp_path / "real", os.W_OK):
        pytest.skip("this user may write everywhere")
    with pytest.raises(RelicError, match="Permission denied"):
        get()
    assert server.seen == []


def test_place_that_cannot_be_written_fails_alone(get, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "bias").write_text("a file where a folder should be")
    with pytest.raises(RelicError, match=r"bias/alpha\.pkl: cannot be written") as caught:
        get()
    assert list(failed(caught.value)) == ["bias/alpha.pkl"]


def test_full_disk_stops_and_says_so(get, server, alpha, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RelicError, match="the disk is full") as caught:
        get()
    assert "make room" in caught.value.mend
    assert files_in(alpha.parent) == set()
    assert server.seen == [f"/{ALPHA}"]


def test_content_is_on_disk_before_it_gets_its_name(get, monkeypatch):
    events = []
    sync, rename = os.fsync, os.replace

    def synced(handle):
        events.append(("sync", os.fstat(handle).st_size))
        sync(handle)

    def renamed(source, target):
        events.append(("rename", git_blob_sha1(Path(source).read_bytes())))
        rename(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    get(ALPHA)
    assert events == [("sync", 100), ("rename", sha1(CONTENT[ALPHA]))]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL")
def test_killed_fetch_is_continued(get, server, alpha, tmp_path, monkeypatch):
    big = bytes(range(256)) * 400
    monkeypatch.setitem(CONTENT, ALPHA, big)
    server.content[ALPHA] = big
    server.tricks[ALPHA] = ["stall", "honest"]
    frame(BETA, ALPHA).to_csv(tmp_path / "manifest.csv", index=False)
    script = (
        "import sys; from relic.data import fetch, pickles; pickles.MANIFEST = sys.argv[3]; "
        "fetch.fetch(sys.argv[1], sys.argv[2])"
    )
    arguments = [tmp_path / "real", server.base, tmp_path / "manifest.csv"]
    child = subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 60
        while f"/{ALPHA}" not in server.seen and time.monotonic() < deadline:
            assert child.poll() is None
            time.sleep(0.02)
    finally:
        child.kill()
        child.wait()
    assert files_in(tmp_path / "real") == {"beta.csv"}
    server.release.set()
    server.seen.clear()
    report = get(BETA, ALPHA)
    assert (report.kept, report.downloaded) == (["beta.csv"], ["bias/alpha.pkl"])
    assert server.seen == [f"/{ALPHA}"]
    assert alpha.read_bytes() == big


def test_progress_goes_to_the_terminal_only(get, capsys, monkeypatch):
    get(BETA)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    get(BETA, ALPHA)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "1/1" in shown.err


def test_packaged_manifest():
    listed = manifest()
    assert len(listed) == 60
    assert listed["path"].is_unique
    assert listed["local"].is_unique
    assert listed["git_blob_sha1"].str.fullmatch("[0-9a-f]{40}").all()
    unsized = listed[listed["bytes"].isna()]
    assert len(unsized) == 2
    assert unsized["path"].str.contains("/Human_Ann/").all()
    assert (listed["bytes"].dropna() > 0).all()
    local = listed.set_index("path")["local"]
    assert local["data/age_data/age_dataset.csv"] == "age_data/age_dataset.csv"
    merged = "annotations_merged.csv"
    assert local[f"res/annotations/{merged}"] == f"age_annotations/{merged}"
    assert UPSTREAM.endswith(f"/eggonz/relic-caption-bias/{COMMIT}")


@pytest.mark.skipif(real_data() is None, reason="RELIC_DATA names no directory of real captions")
def test_real_files_have_the_hashes_of_the_manifest():
    listed = manifest().set_index("local")["git_blob_sha1"]
    present = [name for name in listed.index if (real_data() / name).is_file()]
    assert present
    differing = [n for n in present if git_blob_sha1((real_data() / n).read_bytes()) != listed[n]]
    assert differing == []
