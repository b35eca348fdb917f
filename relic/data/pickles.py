"""Read upstream's pickles without trusting them: plain values only, never a class or function.

A file whose bytes are upstream's needs no further look. Of any other, every opcode is checked first
against those that plain lists, dicts, strings and numbers need: a few bytes of pickle can otherwise
name code, ask for gigabytes or overflow the stack.
"""

import hashlib
import io
import pickle
import pickletools
from functools import cache
from pathlib import Path

import pandas as pd

from relic.errors import RelicError
from relic.paths import MANIFEST

PLACES = {"^data/": "", "^res/annotations/": "age_annotations/"}  # upstream's folder -> ours
LARGEST = 500_000_000  # bytes; upstream's largest pickle has 3 MB
MEND = "relic data fetch DIR --replace (or copy the file again), then relic data check DIR"
PLAIN = """
PROTO FRAME STOP MARK NONE NEWTRUE NEWFALSE INT LONG BININT BININT1 BININT2 LONG1 LONG4 FLOAT BINFLOAT
STRING BINSTRING SHORT_BINSTRING UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8 BINBYTES SHORT_BINBYTES
BINBYTES8 EMPTY_LIST LIST APPEND APPENDS EMPTY_DICT DICT SETITEM SETITEMS PUT BINPUT LONG_BINPUT MEMOIZE
GET BINGET LONG_BINGET""".split()


class _RefusedError(Exception):
    """The file asks for more than plain values."""


class _PlainUnpickler(pickle.Unpickler):
    """Refuses every global: nothing in a file can name code."""

    def find_class(self, module, name):
        raise _RefusedError(f"the code {module}.{name}")


def git_blob_sha1(content: bytes) -> str:
    """The name git gives to a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@cache
def manifest() -> pd.DataFrame:
    """Upstream's files: path, git_blob_sha1, bytes, sha256, and `local`, the path in DIR."""
    frame = pd.read_csv(MANIFEST, dtype={"bytes": "Int64"})
    return frame.assign(local=frame["path"].replace(PLACES, regex=True))


def read_pickle(file: Path) -> list:
    """The list of dicts or strings in an upstream pickle."""
    try:
        size = file.stat().st_size
        if size > LARGEST:
            raise RelicError(f"{file} has {size:,} bytes", expected="a caption file", mend=MEND)
        content = file.read_bytes()
    except OSError as error:
        wrong = "does not exist" if isinstance(error, FileNotFoundError) else "cannot be read"
        raise RelicError(f"{file} {wrong}: {error.strerror}", mend=MEND) from error
    values = plain_values(content, file)
    if not isinstance(values, list):
        raise RelicError(f"{file} holds a {type(values).__name__}", expected="a list", mend=MEND)
    return values


def plain_values(content: bytes, file: Path, mend: str = MEND):
    """What the bytes of a pickle hold; `file` and what would mend it are named in errors only."""
    stream = io.BytesIO(content)
    try:
        if git_blob_sha1(content) not in set(manifest()["git_blob_sha1"]):
            _check_opcodes(content)
        values = _PlainUnpickler(stream, encoding="utf-8").load()
    except _RefusedError as error:
        raise RelicError(
            f"{file} holds more than plain values, {error}: refused, it could run code on this machine",
            expected="plain lists, dicts, strings and numbers, as in upstream's files",
            mend=f"delete it; {mend}",
        ) from error
    except UnicodeDecodeError as error:
        found = f"{file} holds text that is not UTF-8: {error}"
        raise RelicError(found, expected="text in UTF-8", mend=mend) from error
    except Exception as error:  # a corrupt pickle raises nearly anything
        cause = f"{type(error).__name__}: {error}"
        found = f"{file} is truncated or not a pickle of plain values ({cause})"
        raise RelicError(found, expected="a complete upstream pickle", mend=mend) from error
    if stream.read(1):
        raise RelicError(f"{file} goes on after its end", expected="one pickle a file", mend=mend)
    return values


def _check_opcodes(content: bytes) -> None:
    """Every opcode is one of plain values, and no place in the memo is farther than there are opcodes."""
    for number, (opcode, argument, _) in enumerate(pickletools.genops(content)):
        if opcode.name not in PLAIN:
            raise _RefusedError(f"{opcode.name} {argument or ''}".rstrip())
        if opcode.name.endswith("PUT") and int(argument or 0) > number:
            raise pickle.UnpicklingError(f"place {argument} in the memo at opcode {number}")
