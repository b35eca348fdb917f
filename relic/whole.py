"""Write a file whole or not at all: under another name first, then renamed."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from relic.errors import RelicError


def check_writable(directory: Path, problem: str, mend: str = "") -> None:
    """Make a directory, and refuse one that cannot be written to before anything is done."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if not os.access(directory, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        expected = "a directory that can be written to"
        raise RelicError(f"{problem}: {error.strerror}", expected=expected, mend=mend) from error


def write_whole(file: Path, content: str | bytes | Callable[[Path], object]) -> None:
    """Text, bytes, or what a function writes to the path it is given; the directory is made."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.{uuid4().hex}.part")
    try:
        if callable(content):
            content(part)
        else:
            part.write_bytes(content.encode() if isinstance(content, str) else content)
        with part.open("rb+") as written:
            os.fsync(written.fileno())
        os.replace(part, file)
    finally:
        part.unlink(missing_ok=True)  # a full disk is not filled further
