"""Read upstream's pickles without trusting them: plain values only, never a class or function."""

import pickle
from pathlib import Path

from relic.errors import RelicError

LARGEST = 500_000_000  # bytes; upstream's largest pickle has 3 MB


class _PlainUnpickler(pickle.Unpickler):
    """Refuses every global and every persistent id: nothing in a file can name code."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"names the code {module}.{name}")

    def persistent_load(self, pid):
        raise pickle.UnpicklingError("holds a persistent id")


def read_pickle(file: Path):
    """The list of dicts or strings in an upstream pickle."""
    mend = "relic data fetch DIR --replace (or copy the file again), then relic data check DIR"
    try:
        if file.stat().st_size > LARGEST:
            raise RelicError(f"{file} has {file.stat().st_size:,} bytes", expected="a caption file")
        with file.open("rb") as stream:
            content = _PlainUnpickler(stream, encoding="utf-8").load()
            rest = stream.read(1)
    except FileNotFoundError as error:
        raise RelicError(f"{file} does not exist", mend=mend.replace(" --replace", "")) from error
    except OSError as error:
        raise RelicError(f"{file} cannot be read: {error.strerror}") from error
    except RelicError:
        raise
    except UnicodeDecodeError as error:
        raise RelicError(f"{file} holds text that is not UTF-8: {error}", mend=mend) from error
    except pickle.UnpicklingError as error:
        if "names the code" in str(error) or "persistent id" in str(error):
            raise RelicError(
                f"{file} {error}: refused, it could run code on this machine",
                expected="plain lists, dicts, strings and numbers, as in upstream's files",
                mend=f"delete it; {mend}",
            ) from error
        raise _broken(file, error, mend) from error
    except Exception as error:  # a corrupt pickle raises nearly anything
        raise _broken(file, error, mend) from error
    if rest:
        raise RelicError(f"{file} goes on after its end", expected="one pickle a file", mend=mend)
    if not isinstance(content, list):
        raise RelicError(f"{file} holds a {type(content).__name__}", expected="a list", mend=mend)
    return content


def _broken(file: Path, error: Exception, mend: str) -> RelicError:
    return RelicError(
        f"{file} is truncated or not a pickle ({type(error).__name__}: {error})",
        expected="a complete upstream pickle",
        mend=mend,
    )
