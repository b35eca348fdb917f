"""How numbers are written, everywhere: `4.5 [2.9, 6.0]`, true minus signs, no "−0.0"."""

import numpy as np
import pandas as pd

GIVEN = "application/vnd.relic.numbers+json"  # a notebook's output for the book's Markdown pages


def number(value, decimals: int = 1) -> str:
    """One number, or a dash where there is none; whole numbers have no decimals.

    >>> number(-0.04), number(-2.25, 2), number(12345), number(float("nan"))
    ('0.0', '−2.25', '12,345', '–')
    """
    if value is None or pd.isna(value):
        return "–"
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        value = round(value, decimals) + 0.0
        return f"{value:,.{decimals}f}".replace("-", "−")
    return f"{value:,}".replace("-", "−") if isinstance(value, int) else str(value)


def count(n: int, thing: str) -> str:
    """So many of a thing.

    >>> count(1, "split"), count(1200, "run")
    ('1 split', '1,200 runs')
    """
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def span(mean: float, low: float, high: float, decimals: int = 1) -> str:
    """An estimate with its interval; the interval is left out where there is none.

    >>> span(4.46, 2.91, 6.0), span(0.9, float("nan"), float("nan"))
    ('4.5 [2.9, 6.0]', '0.9')
    """
    shown = number(float(mean), decimals)
    if pd.isna(low) or pd.isna(high):
        return shown
    return f"{shown} [{number(float(low), decimals)}, {number(float(high), decimals)}]"
