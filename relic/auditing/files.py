"""From a file on disk to clean UTF-8: gzip, byte order marks and UTF-16 are undone, the rest refused."""

import gzip
import hashlib
import io
import os
import reprlib
import zlib
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from relic.errors import RelicError

LARGEST = 2_000_000_000  # bytes; COCO's val captions have 20 MB
PACKED, DENSEST = 50_000_000, 40  # bytes that any gzip may unpack to; above, times its own size
FORMATS = "JSON, JSON lines, CSV or TSV in UTF-8 (gzip is fine), or one of upstream's pickles"
AGAIN = "write the file again"
OTHERS = {  # first bytes of what is often given by mistake: what it is, what mends it
    b"PK": ("a zip archive (Excel workbooks are, too)", "unzip it; from Excel, save as CSV"),
    b"PAR1": ("a parquet file", "pandas.read_parquet(FILE).to_csv(OUT, index=False)"),
    b"BZh": ("compressed with bzip2", "bunzip2 FILE"),
    b"\xfd7zXZ": ("compressed with xz", "unxz FILE"),
    b"\x28\xb5\x2f\xfd": ("compressed with zstd", "zstd -d FILE"),
    b"\x93NUMPY": ("a NumPy array", "write the captions as JSON"),
    b"version https://git-lfs": ("a Git LFS pointer, not the file itself", "git lfs pull"),
}


class Content(NamedTuple):
    """What a file holds, unpacked: text without a byte order mark, or the bytes of a pickle."""

    file: Path
    sha256: str  # of the bytes on disk
    data: str | bytes


_SHORT = reprlib.Repr()  # lists that share lists, and numbers of a thousand digits, end too
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxdict = 3, 200, 8


def shortened(value, width: int = 80) -> str:
    """What a value looks like, on one line that ends.

    >>> shortened("a" * 100, 10)
    "'aaaaaaaa…"
    """
    if isinstance(value, dict):  # reprlib would sort the keys, and hide the image's id
        pairs = (f"{_SHORT.repr(k)}: {_SHORT.repr(v)}" for k, v in islice(value.items(), 8))
        text = f"{{{', '.join(pairs)}}}"
    else:
        text = repr(value[: width + 1]) if isinstance(value, str | bytes) else _SHORT.repr(value)
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= width else f"{text[: width - 1]}…"


def read_content(file: str | Path) -> Content:
    """Read a file once; whatever cannot be text or a pickle of captions is refused."""
    file = Path(os.path.expanduser(file))  # that of Path raises where there is no such user
    raw = _bytes_of(file)
    data = _unpacked(raw, file)
    content = data if _is_pickle(data, file) else _text(data, file)
    return Content(file, hashlib.sha256(raw).hexdigest(), content)


def _bytes_of(file: Path) -> bytes:
    try:
        if file.is_dir():
            raise RelicError(f"{file} is a directory", expected="a file", mend="name one in it")
        if file.exists() and not file.is_file():
            found, mend = f"{file} is not a regular file", "write what it gives to a file"
            raise RelicError(found, expected="a file on disk", mend=mend)
        if file.exists() and file.stat().st_size > LARGEST:
            raise _too_large(file)
        return file.read_bytes()
    except FileNotFoundError as error:
        mend = f"check the path; the directory here is {Path.cwd().name or '/'}/"
        raise RelicError(f"{file} does not exist", expected="a file", mend=mend) from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        denied = isinstance(error, PermissionError)
        mend = f"chmod u+r {file}" if denied else "check the path and the disk"
        found = f"{shortened(str(file), 300)[1:-1]} cannot be read: {error}"
        raise RelicError(found, expected="a file you may read", mend=mend) from error


def _unpacked(raw: bytes, file: Path) -> bytes:
    if not raw.startswith(b"\x1f\x8b"):
        return raw
    most = min(LARGEST, max(PACKED, DENSEST * len(raw)))
    try:
        with gzip.open(io.BytesIO(raw)) as stream:
            data = stream.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        found = f"{file} is compressed with gzip, and damaged or cut short: {error}"
        raise RelicError(found, expected="a complete file", mend="copy or pack it again") from error
    if len(data) > most:
        raise _too_large(file, most)
    return data


def _too_large(file: Path, most: int = LARGEST) -> RelicError:
    found = f"{file} has more than {most:,} bytes{' when unpacked' * (most < LARGEST)}"
    return RelicError(found, expected="captions or labels alone", mend="leave other columns out")


def _is_pickle(data: bytes, file: Path) -> bool:
    """By the first two bytes; old protocols have no mark, there the name decides."""
    if data[:1] == b"\x80" and data[1:2] <= b"\x05":
        return True
    named = {".pkl", ".pickle"} & set(file.suffixes)
    return bool(named and data.strip()) and data.lstrip()[:1] not in (b"[", b"{")


def _text(data: bytes, file: Path) -> str:
    for magic, (what, mend) in OTHERS.items():
        if data.startswith(magic):
            raise RelicError(f"{file} is {what}", expected=FORMATS, mend=mend)
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        around = shortened(data[max(0, error.start - 20) : error.start + 20])
        name = encoding.removesuffix("-sig").upper()
        found = f"{file} is not {name}: byte {error.start}, line {line}, at {around}"
        mend = f"iconv -f LATIN1 -t UTF-8 {file} > {file.stem}.utf8{file.suffix}, if it is text"
        raise RelicError(found, expected=FORMATS, mend=mend) from error
    before, nul, _ = text.partition("\0")
    if nul:
        line = before.count("\n") + 1
        found = f"{file} holds a NUL character at position {len(before)}, line {line}"
        mend = "if it is UTF-16 without a mark: iconv -f UTF-16LE -t UTF-8; else write it again"
        raise RelicError(found, expected=FORMATS, mend=mend)
    if not text.strip():
        raise RelicError(f"{file} is empty", expected=FORMATS, mend=AGAIN)
    return text
