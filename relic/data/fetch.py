"""Download upstream's data files: resumed after a loss, verified before they get their name."""

import contextlib
import errno
import hashlib
import os
import shlex
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import requests
from tqdm import tqdm
from urllib3.exceptions import MaxRetryError

from relic.errors import RelicError
from relic.paths import MANIFEST

try:
    import fcntl
except ImportError:  # Windows: nothing then keeps two fetches apart
    fcntl = None  # type: ignore[assignment]

REPOSITORY = "https://github.com/eggonz/relic-caption-bias"
COMMIT = "15f259dc5661076f55affa85f4b312bf4e9b4396"
UPSTREAM = f"https://raw.githubusercontent.com/eggonz/relic-caption-bias/{COMMIT}"
PLACES = {"^data/": "", "^res/annotations/": "age_annotations/"}  # upstream's folder -> ours
TIMEOUTS = (10, 60)  # seconds to connect, seconds without a byte
TRIES = 4  # requests for one file before it counts as failed
BACKOFF = 0.5  # seconds before the second request; doubles each time
CHUNK = 1 << 14  # bytes; a dropped connection loses at most this much
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}  # no other file can be written either
NO_LOCKS = {errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP}  # some network disks


@dataclass
class FetchReport:
    """What became of each file, named by its path in the directory."""

    downloaded: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)  # (file, reason)


class FetchError(RelicError):
    """A fetch that did not get every file; `report` says which it got."""

    def __init__(self, found: str, report: FetchReport, **hints: str):
        super().__init__(found, **hints)
        self.report = report


class _FileError(Exception):
    """This file cannot be had; others may."""


class _LostError(_FileError):
    """Asking again may help."""


class _HostError(_LostError):
    """No other file can be had from this address either."""


def git_blob_sha1(path: str | Path) -> str:
    """The name git gives to a file's content: sha1 of `blob <size>\\0` and the bytes."""
    with open(path, "rb") as file:
        digest = hashlib.sha1(b"blob %d\0" % os.fstat(file.fileno()).st_size)
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def manifest(listed: pd.DataFrame | None = None) -> pd.DataFrame:
    """Upstream's files: path, git_blob_sha1, bytes, sha256, and `local`, the path in DIR."""
    frame = pd.read_csv(MANIFEST, dtype={"bytes": "Int64"}) if listed is None else listed
    return frame.assign(local=frame["path"].replace(PLACES, regex=True))


def _hashes(row, found: str) -> str:
    return f"expected git_blob_sha1 {row.git_blob_sha1}, found {found}"


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _understood(error: requests.RequestException) -> _LostError:
    """Whether a network error is the host's (or the address's), or only this request's."""
    cause = error.args[0] if error.args else error
    if isinstance(error, ValueError) or isinstance(cause, MaxRetryError):  # MaxRetry: to connect
        return _HostError(getattr(cause, "reason", error))
    return _LostError(f"the connection was lost ({error})")


class _Source:
    """One base address, and whether it has ever answered."""

    def __init__(self, base: str):
        self.base, self.answered, self.session = base.rstrip("/"), False, requests.Session()

    def obtain(self, row, target: Path, bar: tqdm) -> None:
        """Bring one file to `target`, a name it gets only once its hash is right."""
        part = target.with_name(target.name + ".part")
        target.parent.mkdir(parents=True, exist_ok=True)
        size, begin = _size(part), bar.n
        if not (size and git_blob_sha1(part) == row.git_blob_sha1):
            if pd.notna(row.bytes) and size >= row.bytes:
                part.unlink(missing_ok=True)  # nothing left to ask for, yet not the file
            resumed = self._download(row, part, bar)
            if resumed and git_blob_sha1(part) != row.git_blob_sha1:
                part.unlink()  # its beginning was of another file
                self._download(row, part, bar)
            if (found := git_blob_sha1(part)) != row.git_blob_sha1:
                size = _size(part)
                part.unlink()
                raise _FileError(f"the server sent {size} other bytes: {_hashes(row, found)}")
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(part, target)
        bar.update(begin + _size(target) - bar.n)  # some bytes came twice, or in an earlier run

    def _download(self, row, part: Path, bar: tqdm) -> bool:
        """Fill `part`, asking again after a loss; True when it was continued, not begun."""
        for attempt in range(TRIES):
            time.sleep(BACKOFF * 2 ** (attempt - 1) if attempt else 0)
            try:
                return self._request(row, part, bar)
            except requests.RequestException as error:
                trouble = _understood(error)
            except _LostError as error:
                trouble = error
            if isinstance(trouble, _HostError) and not self.answered:
                break
        raise trouble if self.answered else _HostError(trouble)

    def _request(self, row, part: Path, bar: tqdm) -> bool:
        size = _size(part)
        # identity: a compressed body has neither the length nor the ranges of the file
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={size}-"} if size else {})
        url = f"{self.base}/{row.path}"
        with self.session.get(url, headers=headers, stream=True, timeout=TIMEOUTS) as answer:
            self.answered, status = True, answer.status_code
            if status == 416:
                part.unlink(missing_ok=True)
                raise _LostError(f"the server cannot continue at byte {size} (status 416)")
            if status in (408, 429) or status >= 500:
                raise _LostError(f"the server answered with status {status}")
            if status not in (200, 206):
                raise _FileError(f"the server answered with status {status}")
            if "text/html" in answer.headers.get("Content-Type", ""):
                raise _FileError(f"the server sent a web page, not the file (status {status})")
            size = size if status == 206 else 0
            length = answer.headers.get("Content-Length")
            end = size + int(length) if length else row.bytes
            with part.open("ab" if size else "wb") as file:
                for block in answer.iter_content(CHUNK):
                    size += file.write(block)
                    bar.update(len(block))
        if pd.notna(end) and size < end:
            raise _LostError(f"the connection was lost after {size} of {end} bytes")
        return status == 206


@contextlib.contextmanager
def _held(directory: Path) -> Iterator[None]:
    """Make the directory and hold it: two fetches would write into the same .part files."""
    with contextlib.ExitStack() as stack:
        try:
            directory.mkdir(parents=True, exist_ok=True)
            if not os.access(directory, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            if fcntl:
                handle = os.open(directory, os.O_RDONLY)
                stack.callback(os.close, handle)
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            busy = f"another fetch is writing into {directory}"
            raise RelicError(busy, mend="wait until it ends, then run this again") from error
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise RelicError(
                    f"cannot write into {directory}: {error.strerror}",
                    expected="a directory, or a place where one can be made",
                    mend="relic data fetch DIR, where DIR is a directory you may write to",
                ) from error
        yield


def present(path: Path) -> str | None:
    """What stands under a final name: a hash, nothing, or what keeps us from reading it."""
    try:
        return git_blob_sha1(path) if path.exists() else None
    except OSError as error:
        return error.strerror


def _mend(directory: Path, stopped: str, differing: int, failed: int) -> str:
    command = f"relic data fetch {shlex.quote(str(directory))}"
    if stopped == "network":
        return f"""one of these, then: relic data check {shlex.quote(str(directory))}
    - behind a proxy: set HTTPS_PROXY and run the same command again
    - from a mirror, an address with upstream's paths under it: {command} --mirror ADDRESS
    - on another machine: git clone {REPOSITORY} && git -C relic-caption-bias checkout {COMMIT}
      then copy relic-caption-bias/data/* into {directory}
      and relic-caption-bias/res/annotations to {directory / "age_annotations"}"""
    mends = ["make room on the disk"] if stopped == "disk" else []
    if failed > differing:
        mends.append("run the same command again: it continues where this one stopped")
    if differing:
        mends.append(f"{command} --replace, which overwrites the present files that differ")
    return "; ".join(mends)


def fetch(
    directory: str | Path,
    base: str = UPSTREAM,
    *,
    replace: bool = False,
    listed: pd.DataFrame | None = None,
    progress: bool = True,
) -> FetchReport:
    """Bring every listed file into `directory`; keep those that are already right."""
    directory, source, report = Path(directory).expanduser(), _Source(base), FetchReport()
    files, missing, stopped = manifest(listed), [], ""
    with _held(directory), source.session:
        for row in files.itertuples():
            found = present(directory / row.local)
            if found == row.git_blob_sha1:
                report.kept.append(row.local)
            elif found is None or replace:
                missing.append(row)
            else:
                report.failed.append((row.local, f"present and untouched: {_hashes(row, found)}"))
        differing = len(report.failed)
        total = sum(int(row.bytes) for row in missing if pd.notna(row.bytes))
        quiet = not (progress and missing)
        with tqdm(total=total, unit="B", unit_scale=True, disable=quiet) as bar:
            for number, row in enumerate(missing, 1):
                bar.set_description(f"file {number} of {len(missing)}")
                try:
                    source.obtain(row, directory / row.local, bar)
                    report.downloaded.append(row.local)
                except _FileError as error:
                    report.failed.append((row.local, str(error)))
                    stopped = "network" if isinstance(error, _HostError) else ""
                except OSError as error:
                    report.failed.append((row.local, f"cannot be written: {error.strerror}"))
                    stopped = "disk" if error.errno in FULL else ""
                if stopped:
                    break
    if report.failed:
        lacking = len(files) - len(report.kept) - len(report.downloaded)
        why = {"network": f"{base} cannot be reached: ", "disk": "the disk is full: ", "": ""}
        listed = "".join(f"\n    {file}: {reason}" for file, reason in report.failed)
        raise FetchError(
            f"{why[stopped]}{lacking} of {len(files)} files were not fetched{listed}",
            report,
            expected="each file with the git_blob_sha1 that upstream's manifest lists",
            mend=_mend(directory, stopped, differing, len(report.failed)),
        )
    return report
