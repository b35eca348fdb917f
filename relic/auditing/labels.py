"""From the class names of a file to 0 and 1."""

from collections import Counter

from relic.auditing.files import shortened
from relic.auditing.rows import rows_of
from relic.auditing.tables import Table
from relic.data.attribute import Attribute
from relic.data.rows import is_text
from relic.errors import RelicError

ABSENT = {"", "nan", "null", "<na>"}
SHOWN = 8  # values that an error lists


def label_codes(
    table: Table,
    values: list,
    attribute: Attribute,
    classes: tuple[str, str] | None = None,
    *,
    drop_others: bool = False,
) -> list[int | None]:
    """0 or 1 for each value, None for what is left out; notes on `table` say what that was."""
    wanted = attribute.classes if classes is None else _two(classes)
    texts = [_text(value) for value in values]
    wrong = [i for i, text in enumerate(texts) if text is None]
    if wrong:
        raise RelicError(
            f"{table.file}: {rows_of(len(wrong))} whose label is no word: {table.listed(wrong)}",
            expected=f"{' or '.join(wanted)}",
            mend="write the class as a word",
        )
    counts = Counter(texts)
    codes = {text: _code(text, wanted) for text in counts}
    others = Counter({text: n for text, n in counts.items() if codes[text] is None})
    absent = sum(others.pop(text, 0) for text in list(others) if text.casefold() in ABSENT)
    if others and classes is None and not drop_others:
        raise _unknown(table, others, attribute)
    folded = [text for text, code in codes.items() if code is not None and text not in wanted]
    if folded:
        table.notes.append(
            f"{', '.join(folded)} read as {', '.join(wanted[codes[text]] for text in folded)}"
        )
    if others:
        table.notes.append(
            f"{rows_of(others.total())} with another label left out: {_listed(others)}"
        )
    if absent:
        table.notes.append(f"{rows_of(absent)} without a label left out")
    return [codes[text] for text in texts]


def _two(classes) -> tuple[str, str]:
    names = tuple(str(name).strip() for name in classes)
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        raise RelicError(
            f"--classes names {', '.join(names) or 'nothing'}",
            expected="two different values of the file, class 0 first",
            mend="--classes man,woman",
        )
    return names


def _text(value) -> str | None:
    """A label as text; whole numbers without their fraction; None for lists and the like."""
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    if isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 2**63):
        return str(value)
    return value.strip() if is_text(value) else None


def _code(text: str, wanted: tuple[str, str]) -> int | None:
    """The class of a value: the same word, or else the same but for case."""
    if text in wanted:
        return wanted.index(text)
    plain = [name.casefold() for name in wanted]
    folded = text.casefold()
    return plain.index(folded) if plain[0] != plain[1] and folded in plain else None


def _unknown(table: Table, others: Counter, attribute: Attribute) -> RelicError:
    first, second = attribute.classes
    words = sum(n for text, n in others.items() if len(text.split()) > 3)
    if words > others.total() / 2:
        mend = "these look like captions: --labels takes image ids and classes"
    elif {text.removesuffix(".0") for text in others} <= {"0", "1"}:
        mend = (
            f"--classes 0,1 if 0 is {first} and 1 is {second}; --classes 1,0 if it is the other way"
        )
    elif {text.casefold() for text in others} <= {"true", "false"}:
        mend = f"--classes False,True if False is {first} and True is {second}"
    else:
        mend = f"--classes {first},{second} leaves the others out; --classes A,B if A is the file's word for {first} and B for {second}"
    return RelicError(
        f"{table.file}: {rows_of(others.total())} with another label: {_listed(others)}",
        expected=f"{first} or {second}",
        mend=mend,
    )


def _listed(counts: Counter) -> str:
    """Values with their counts, the most frequent first."""
    shown = [f"{shortened(text, 40)} ({n:,})" for text, n in counts.most_common(SHOWN)]
    return ", ".join(shown) + (f" and {len(counts) - SHOWN} more" if len(counts) > SHOWN else "")
