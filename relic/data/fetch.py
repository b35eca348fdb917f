"""Download upstream's data files, each verified before it gets its name.

The largest has 3.4 MB: each is asked for whole, and a fetch that broke off goes on with the missing ones.
"""

import errno
import shlex
import time
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import requests
from tqdm import tqdm
from urllib3.exceptions import MaxRetryError

from relic.data.pickles import git_blob_sha1, manifest
from relic.errors import RelicError
from relic.whole import check_writable, write_whole

REPOSITORY = "https://github.com/eggonz/relic-caption-bias"
COMMIT = "15f259dc5661076f55affa85f4b312bf4e9b4396"
UPSTREAM = f"https://raw.githubusercontent.com/eggonz/relic-caption-bias/{COMMIT}"
TIMEOUTS = (10, 60)  # seconds to connect, seconds without a byte
TRIES = 4  # requests for one file before it counts as failed
BACKOFF = 0.5  # seconds before the second request; doubles each time
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}  # no other file can be written either
NETWORK, DISK = "cannot be reached", "the disk is full"  # what stops a fetch


class Fetched(NamedTuple):
    """Every file, named by its path in the directory."""

    downloaded: list[str]
    kept: list[str]


def present(path: Path) -> str | None:
    """What stands under a final name: a hash, nothing, or what keeps us from reading it."""
    try:
        return git_blob_sha1(path.read_bytes()) if path.exists() else None
    except OSError as error:
        return error.strerror


class _Source:
    """One base address, and whether it has ever answered."""

    def __init__(self, base: str):
        self.base, self.answered, self.session = base.rstrip("/"), False, requests.Session()

    def content(self, row) -> bytes:
        """The verified bytes of a file, asked for again after a loss.

        ValueError: it cannot be had, others may; ConnectionError: none can be had from this address.
        """
        for attempt in range(TRIES):
            time.sleep(BACKOFF * 2 ** (attempt - 1) if attempt else 0)
            try:
                return self._request(row)
            except requests.RequestException as error:
                lost, cause = error, error.args[0] if error.args else None
            # no address, or nobody to connect to
            no_host = isinstance(lost, ValueError) or isinstance(cause, MaxRetryError)
            if no_host and not self.answered:
                break
        raise (ConnectionError if no_host or not self.answered else ValueError)(lost)

    def _request(self, row) -> bytes:
        with self.session.get(f"{self.base}/{row.path}", stream=True, timeout=TIMEOUTS) as answer:
            self.answered, status = True, f"status {answer.status_code}"
            if answer.status_code in (408, 429) or answer.status_code >= 500:
                raise requests.HTTPError(f"the server answered with {status}")
            if answer.status_code != 200:
                raise ValueError(f"the server answered with {status}")
            if "text/html" in answer.headers.get("Content-Type", ""):
                raise ValueError(f"the server sent a web page, not the file ({status})")
            content = answer.content
        untold = "Content-Length" not in answer.headers and pd.notna(row.bytes)
        if untold and len(content) < row.bytes:
            raise requests.ConnectionError(f"lost after {len(content)} of {row.bytes} bytes")
        if (sha1 := git_blob_sha1(content)) != row.git_blob_sha1:
            raise ValueError(f"the server sent {len(content)} other bytes: {_hashes(row, sha1)}")
        return content


def _hashes(row, sha1: str) -> str:
    return f"expected git_blob_sha1 {row.git_blob_sha1}, found {sha1}"


def _mend(directory: Path, stopped: str, differing: int, failed: int) -> str:
    command = f"relic data fetch {shlex.quote(str(directory))}"
    if stopped == NETWORK:
        return f"""one of these, then: relic data check {shlex.quote(str(directory))}
    - behind a proxy: set HTTPS_PROXY and run the same command again
    - from a mirror, an address with upstream's paths under it: {command} --mirror ADDRESS
    - on another machine: git clone {REPOSITORY} && git -C relic-caption-bias checkout {COMMIT}
      then copy relic-caption-bias/data/* into {directory}
      and relic-caption-bias/res/annotations to {directory / "age_annotations"}"""
    mends = ["make room on the disk"] if stopped == DISK else []
    if failed > differing:
        mends.append("run the same command again: it continues where this one stopped")
    if differing:
        mends.append(f"{command} --replace, which overwrites the present files that differ")
    return "; ".join(mends)


def fetch(directory: str | Path, base: str = UPSTREAM, *, replace: bool = False) -> Fetched:
    """Bring every file of the manifest into `directory`; keep those that are already right."""
    directory, source, fetched = Path(directory).expanduser(), _Source(base), Fetched([], [])
    files, missing, failed, stopped = manifest(), [], {}, ""
    another = "relic data fetch DIR, where DIR is a directory you may write to"
    check_writable(directory, f"cannot write into {directory}", mend=another)
    for row in files.itertuples():
        there = present(directory / row.local)
        if there == row.git_blob_sha1:
            fetched.kept.append(row.local)
        elif there is None or replace:
            missing.append(row)
        else:
            failed[row.local] = f"present and untouched: {_hashes(row, there)}"
    differing = len(failed)
    with source.session:
        for row in tqdm(missing, unit="file", disable=None):  # shown on a terminal only
            try:
                write_whole(directory / row.local, source.content(row))
                fetched.downloaded.append(row.local)
            except (ValueError, ConnectionError) as error:
                failed[row.local] = str(error)
                stopped = NETWORK if isinstance(error, ConnectionError) else ""
            except OSError as error:
                failed[row.local] = f"cannot be written: {error.strerror}"
                stopped = DISK if error.errno in FULL else ""
            if stopped:
                break
    if failed:
        lacking = len(files) - len(fetched.kept) - len(fetched.downloaded)
        why = {NETWORK: f"{base} {NETWORK}: ", DISK: f"{DISK}: ", "": ""}[stopped]
        listed = "".join(f"\n    {file}: {reason}" for file, reason in failed.items())
        raise RelicError(
            f"{why}{lacking} of {len(files)} files were not fetched{listed}",
            expected="each file with the git_blob_sha1 that upstream's manifest lists",
            mend=_mend(directory, stopped, differing, len(failed)),
        )
    return fetched
