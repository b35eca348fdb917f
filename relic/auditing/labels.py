"""From the class names of a file to 0 and 1."""

from collections import Counter
from collections.abc import Sequence

from relic.auditing.files import shortened
from relic.auditing.rows import rows_of
from relic.auditing.tables import Table
from relic.data.attribute import Attribute
from relic.data.rows import is_text
from relic.errors import RelicError

ABSENT = {"", "nan", "null", "<na>"}
SHOWN = 8  # values that an error lists


def with_classes(about: Attribute, classes: Sequence[str]) -> Attribute:
    """The attribute with its two classes named as `classes` says; their order does not matter."""
    return about.model_copy(update={"classes": _named(about, classes)[0]}) if classes else about


def _named(about: Attribute, classes: Sequence[str]) -> tuple[tuple[str, str], dict[str, int]]:
    """Names of class 0 and 1, and the class of each value of the file.

    Values say which class they mean by name (`Male=m`), by being its name or one of its words (`man`).
    Where no words state the classes nothing hangs on which is which: the values are their names.
    """
    pairs = [str(each).partition("=") for each in classes]
    values = [value.strip() or name.strip() for name, _, value in pairs]
    names = [name.strip() for name, _, _ in pairs]
    if len(values) != 2 or not all(values) or values[0].casefold() == values[1].casefold():
        raise RelicError(
            f"--classes names {', '.join(values) or 'nothing'}",
            expected="two different values of the labels file, or CLASS=VALUE twice",
            mend=f"--classes {about.classes[0].strip() or 'yes'}=A,{about.classes[1].strip() or 'no'}=B",
        )
    known = [_class_of(name, about) for name in names]
    if sorted(known) == [0, 1]:
        return about.classes, dict(zip(values, known, strict=True))
    if about.class_words or (
        any(mark for _, mark, _ in pairs) and all(map(str.strip, about.classes))
    ):
        first, second = about.classes
        raise RelicError(
            f"--classes {','.join(map(str, classes))}: which is {first}, which is {second}?",
            expected="the attribute's own names, or CLASS=VALUE",
            mend=f"--classes {first}={values[0]},{second}={values[1]}, or the other way",
        )
    order = sorted(range(2), key=lambda i: names[i])
    return tuple(names[i] for i in order), {values[i]: at for at, i in enumerate(order)}


def _class_of(name: str, about: Attribute) -> int:
    """The class that a name or a word of it means; -1 for none, or both."""
    own = [
        index
        for index, known in enumerate(about.classes)
        if name.casefold() == known.casefold()
        or name.lower() in about.class_words.get(known, frozenset())
    ]
    return own[0] if len(own) == 1 else -1


def label_codes(
    table: Table,
    values: list,
    attribute: Attribute,
    classes: Sequence[str] = (),
    *,
    drop_others: bool = False,
) -> list[int | None]:
    """0 or 1 for each value, None for what is left out; notes on `table` say what that was."""
    own = {name: index for index, name in enumerate(attribute.classes)}
    wanted = _named(attribute, classes)[1] if classes else own
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
    if others and not classes and not drop_others:
        raise _unknown(table, others, attribute)
    told = [f"{text} read as {attribute.classes[code]}" for text, code in codes.items()
            if code is not None and text != attribute.classes[code]]  # fmt: skip
    if told:
        table.notes.append(", ".join(told))
    if others:
        table.notes.append(
            f"{rows_of(others.total())} with another label left out: {_listed(others)}"
        )
    if absent:
        table.notes.append(f"{rows_of(absent)} without a label left out")
    return [codes[text] for text in texts]


def _text(value) -> str | None:
    """A label as text; whole numbers without their fraction; None for lists and the like."""
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    if isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 2**63):
        return str(value)
    return value.strip() if is_text(value) else None


def _code(text: str, wanted: dict[str, int]) -> int | None:
    """The class of a value: the same word, or else the same but for case."""
    folded = {value.casefold(): index for value, index in wanted.items()}
    return wanted.get(text, folded.get(text.casefold()))


def _unknown(table: Table, others: Counter, attribute: Attribute) -> RelicError:
    first, second = attribute.classes
    words = sum(n for text, n in others.items() if len(text.split()) > 3)
    if words > others.total() / 2:
        mend = "these look like captions: --labels takes image ids and classes"
    elif len(others) == 2:
        a, b = sorted(text.removesuffix(".0") for text in others)
        mend = f"--classes {first}={a},{second}={b}, or the other way round"
    else:
        mend = f"--classes {first},{second} leaves the others out; --classes {first}=A,{second}=B names the file's words"
    return RelicError(
        f"{table.file}: {rows_of(others.total())} with another label: {_listed(others)}",
        expected=f"{first} or {second}",
        mend=mend,
    )


def _listed(counts: Counter) -> str:
    """Values with their counts, the most frequent first."""
    shown = [f"{shortened(text, 40)} ({n:,})" for text, n in counts.most_common(SHOWN)]
    return ", ".join(shown) + (f" and {len(counts) - SHOWN} more" if len(counts) > SHOWN else "")
