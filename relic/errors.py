"""The one exception our users meet: what was found, what was expected, what mends it."""

from collections.abc import Iterator
from contextlib import contextmanager


class RelicError(Exception):
    """An error that a user can act on.

    >>> print(RelicError("no captions in x.json", expected="a list", mend="relic data check DIR"))
    no captions in x.json
      expected: a list
      to mend:  relic data check DIR
    """

    def __init__(self, found: str, *, expected: str = "", mend: str = ""):
        self.found, self.expected, self.mend = found, expected, mend
        lines = [found]
        if expected:
            lines.append(f"  expected: {expected}")
        if mend:
            lines.append(f"  to mend:  {mend}")
        super().__init__("\n".join(lines))


@contextmanager
def needed(extra: str) -> Iterator[None]:
    """Imports of what an extra brings: where it is absent, one sentence with the command."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("relic"):
            raise
        found = f"{error.name} is not installed"
        raise RelicError(found, mend=f"pip install 'relic-report[{extra}]'") from error
