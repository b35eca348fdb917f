"""Tables and sentences of `57_direction`."""

import pandas as pd

from relic import records
from relic.attribute import known_attributes, load_attribute
from relic.data.corpus import Corpus
from relic.data.upstream import captioner_files
from relic.direction.measure import (
    DIRECTIONS,
    HUMAN,
    OUTCOMES,
    RECORD,
    SILENT,
    WRONG_OF_NAMED,
    class_lic,
    class_words,
    gather,
    measure,
    named_class,
)

TABLES = ("naming", "amplification", "objects")
WHAT = (
    "class to objects",
    "every object at the human rate, so only its tilt counts",
    "objects to class",
)
NO_WORDS = (
    "No words name a class of this attribute, so no caption can name the wrong one: "
    "only the objects it names can be tilted."
)


def recorded(attribute: str) -> dict[str, pd.DataFrame]:
    """Recorded tables of an attribute, by name; those that were never recorded are missing."""
    home = records.home(RECORD)
    files = {table: home / f"{attribute}_{table}.csv" for table in TABLES}
    return {table: records.read_part(file) for table, file in files.items() if file.exists()}


def book_tables(corpus: Corpus, *, draws: int = 1000, fewest: int = 50) -> dict[str, pd.DataFrame]:
    """Tables to lead with: the recorded ones, or this build's where it reads the real captions."""
    if corpus.synthetic and (known := recorded(corpus.attribute.name)):
        return known
    return measure(corpus, draws=draws, fewest=fewest)


def shown_naming(naming: pd.DataFrame) -> pd.DataFrame:
    """One row a captioner and label, outcomes as columns with their intervals."""
    rows = []
    for (name, label), part in naming.groupby(["captioner", "label"], sort=False):
        cells = {row.outcome: _cell(row.value, row.low, row.high) for row in part.itertuples()}
        rows.append(
            {
                "captioner": name,
                "label": label,
                **{f"{outcome} (%)": cells[outcome] for outcome in (*OUTCOMES, WRONG_OF_NAMED)},
                "images": int(part["n"].iloc[0]),
                "source": part["source"].iloc[0],
            }
        )
    return pd.DataFrame(rows)


def shown_amplification(means: pd.DataFrame) -> pd.DataFrame:
    """One row a captioner, both directions with their intervals."""
    rows = []
    for name, part in means.groupby("captioner", sort=False):
        cells = {row.direction: _cell(row.value, row.low, row.high, 2) for row in part.itertuples()}
        first = part.iloc[0]
        rows.append({"captioner": name, **cells, "objects a caption": first["objects a caption"],
                     "objects": int(first["objects"]), "images": int(first["n"]), "source": first["source"]})  # fmt: skip
    return pd.DataFrame(rows)


def most_pushed(singles: pd.DataFrame, classes: tuple[str, str], most: int = 10) -> pd.DataFrame:
    """Objects whose naming is tilted most, averaged over captioners, by direction.

    `captioners` counts those whose own interval leaves out zero.
    """
    rows = []
    for (direction, name), part in singles.groupby(["direction", "object"]):
        clear = ((part["low"] > 0) | (part["high"] < 0)).sum()
        leaning = classes[int(part["leaning"].iloc[0] > 0)]
        rows.append((direction, name, leaning, part["value"].mean(), part["value"].min(), part["value"].max(),
                     int(clear), len(part), int(part["images"].iloc[0])))  # fmt: skip
    columns = ["direction", "object", "humans name it more with", "mean over captioners", "smallest", "largest",
               "clear", "captioners", "images"]  # fmt: skip
    frame = pd.DataFrame(rows, columns=columns)
    size = frame["mean over captioners"].abs()
    frame = frame.iloc[(-size).argsort(kind="stable")].groupby("direction").head(most)
    return frame.sort_values("direction", kind="stable").reset_index(drop=True)


def class_lic_table(runs: pd.DataFrame, attribute: str, classifier: str) -> pd.DataFrame:
    """LIC by class of recorded runs, captioners by name in the papers' order."""
    classes = load_attribute(attribute).classes
    names = {key: files["name"] for key, files in captioner_files().items()}
    real = runs[runs["captioner"].isin(names)]
    table = class_lic(real, attribute, classifier, classes)
    table.insert(0, "name", table["captioner"].map(names))
    order = table["captioner"].map({key: i for i, key in enumerate(names)})
    table = table.iloc[order.argsort(kind="stable")].reset_index(drop=True)
    return table[["name", "label", "LIC", "std over seeds", "seeds", "source"]]


def wrong_examples(corpus: Corpus, most: int = 6) -> pd.DataFrame:
    """Captions that name the wrong class though no human caption does; the first of each captioner."""
    words, classes = class_words(corpus.attribute.name), corpus.attribute.classes
    columns = ["captioner", "label", "caption", "a human wrote"]
    if words is None:
        return pd.DataFrame(columns=columns)
    captions, rows = gather(corpus), []
    for name, texts in captions.sets.items():
        if name in (HUMAN, SILENT):
            continue
        for i, caption in enumerate(texts[0]):
            own, told = int(captions.classes[i]), named_class(caption, words)
            human = [column.iloc[i] for column in captions.human]
            if told == 1 - own and all(named_class(text, words) == own for text in human):
                rows.append((name, classes[own], caption, human[0]))
                break
    return pd.DataFrame(rows[:most], columns=columns)


def other_attributes(attribute: str) -> pd.DataFrame:
    """Recorded numbers of the attributes that the page does not lead with, one row a captioner."""
    rows = []
    for other in known_attributes():
        tables = recorded(other) if other != attribute else {}
        if not tables:
            continue
        naming = tables.get("naming", pd.DataFrame(columns=["captioner", "label", "outcome"]))
        for name, part in tables["amplification"].groupby("captioner", sort=False):
            by = {
                row.direction: _cell(row.value, row.low, row.high, 2) for row in part.itertuples()
            }
            own = naming[(naming["captioner"] == name) & (naming["outcome"] == "wrong")]
            wrong = {row.label: _cell(row.value, row.low, row.high) for row in own.itertuples()}
            silent = naming[(naming["captioner"] == name) & (naming["outcome"] == "neutral")]
            silent = {row.label: _cell(row.value, row.low, row.high) for row in silent.itertuples()}
            rows.append({"attribute": other, "captioner": name, "wrong, all (%)": wrong.get("all", "–"),
                         "wrong, gap": wrong.get("gap", "–"), "neutral, all (%)": silent.get("all", "–"),
                         **{direction: by.get(direction, "–") for direction in DIRECTIONS},
                         "images": int(part["n"].iloc[0])})  # fmt: skip
    return pd.DataFrame(rows)


def told(tables: dict[str, pd.DataFrame]) -> str:
    """What the tables rest on, as a caption begins."""
    first = tables["amplification"].iloc[0]
    text = f"{first['corpus']}, {first['source']}, {int(first['n']):,} {first['attribute']} images"
    return text[0].upper() + text[1:]


def summary(tables: dict[str, pd.DataFrame], classes: tuple[str, str]) -> str:
    """The answer: who is misnamed more, who is silent, and which way objects are pushed."""
    lines = _naming_lines(tables["naming"], classes) if "naming" in tables else []
    up, of = _amplifying(tables["amplification"])
    text = (
        f"Objects: {up['A→T']} of {of} captioners name objects with a wider gap between {classes[0]} and {classes[1]} "
        f"images than humans do, {up['A→T, equal rates']} of {of} once objects are named as often as humans name them."
    )
    return "\n\n".join([*lines, text])


def amplification_summary(tables: dict[str, pd.DataFrame]) -> str:
    """BiasAmp in words: how many captioners amplify, by direction, and against which floor."""
    return "\n".join(f"- {line}" for line in _amplification_lines(tables["amplification"]))


def _amplifying(means: pd.DataFrame) -> tuple[pd.Series, int]:
    """Captioners whose interval lies above zero, by direction, and how many captioners there are."""
    own = means[~means["captioner"].isin([HUMAN, SILENT])]
    up = own[own["low"] > 0].groupby("direction").size().reindex(DIRECTIONS, fill_value=0)
    return up, own["captioner"].nunique()


def _naming_lines(naming: pd.DataFrame, classes: tuple[str, str]) -> list[str]:
    real = naming[~naming["captioner"].isin([HUMAN, SILENT])]
    wrong = real[real["outcome"] == "wrong"].pivot(
        index="captioner", columns="label", values="value"
    )
    gap = real[(real["outcome"] == "wrong") & (real["label"] == "gap")].set_index("captioner")
    more = {1: int((gap["low"] > 0).sum()), 0: int((gap["high"] < 0).sum())}
    rare, common = classes[1], classes[0]
    worst = gap["value"].abs().idxmax()
    human = naming[(naming["captioner"] == HUMAN) & (naming["outcome"] == "wrong")].set_index(
        "label"
    )["value"]
    first = naming.iloc[0]
    where = f"{first['corpus']}, {first['source']}, {int(naming[naming['label'] == 'all']['n'].iloc[0]):,} images"
    head = (
        f"**{more[1]} of {len(gap)} captioners name the wrong {first['attribute']} more often for {rare} than for {common} images** "
        f"({more[0]} the other way; {where}). Widest: {worst}, wrong for {wrong.loc[worst, rare]:.1f} % of {rare} and "
        f"{wrong.loc[worst, common]:.1f} % of {common} images; human captions: {human[rare]:.1f} % and {human[common]:.1f} %."
    )  # fmt: skip
    caution = (
        f"Error alone misleads: a captioner that names no {first['attribute']} is never wrong, and never right. "
        "So the picture shows silence and error together, with such a captioner as a constructed point."
    )
    lines = [head, caution]
    if {"NIC+", "NIC+Equalizer"} <= set(wrong.index):
        lines.insert(1, _equalizer(naming, rare))
    return lines


def _equalizer(naming: pd.DataFrame, rare: str) -> str:
    at = naming[naming["label"] == rare].set_index(["captioner", "outcome"])["value"]
    told = [
        f"{what} {at['NIC+', outcome]:.1f} → {at['NIC+Equalizer', outcome]:.1f} %"
        for what, outcome in (("wrong", "wrong"), ("silent", "neutral"), ("right", "right"))
    ]
    return f"The Equalizer against NIC+, {rare} images: {', '.join(told)}."


def _amplification_lines(means: pd.DataFrame) -> list[str]:
    lines = []
    for direction, what in zip(DIRECTIONS, WHAT, strict=True):
        part = means[(means["direction"] == direction)].set_index("captioner")
        if part.empty:
            continue
        own = part.drop(index=[HUMAN, SILENT], errors="ignore")
        human = part.loc[HUMAN]
        up, down = int((own["low"] > 0).sum()), int((own["high"] < 0).sum())
        lines.append(
            f"**{direction}** ({what}): {up} of {len(own)} captioners have an interval above zero, {down} below; "
            f"from {_signed(own['value'].min())} to {_signed(own['value'].max())} points over "
            f"{int(human['objects'])} objects. Humans against each other: {_signed(human['value'])} "
            f"[{_signed(human['low'])}, {_signed(human['high'])}]."
        )
    return [*lines, *_rate_or_tilt(means)]


def _rate_or_tilt(means: pd.DataFrame) -> list[str]:
    """Whether A→T outlives equal rates of naming; nothing to say where it does."""
    up, of = _amplifying(means)
    own = means[~means["captioner"].isin([HUMAN, SILENT])]
    if up["A→T, equal rates"] >= up["A→T"]:
        return []
    rates = own.loc[own["direction"] == "A→T", "objects a caption"]
    human = means.loc[means["captioner"] == HUMAN, "objects a caption"].iloc[0]
    return [
        f"So most of A→T is rate, not tilt: captioners name {rates.min():.2f} to {rates.max():.2f} objects a caption, "
        f"humans {human:.2f}. At equal rates {up['A→T, equal rates']} of {of} still amplify."
    ]


def _cell(value: float, low: float, high: float, digits: int = 1) -> str:
    if pd.isna(value):
        return "–"
    value, low, high = (round(number, digits) + 0.0 for number in (value, low, high))  # no −0.00
    text = f"{value:.{digits}f} [{low:.{digits}f},\u00a0{high:.{digits}f}]"  # breaks before [ only
    return text.replace("-", "−")


def _signed(value: float) -> str:
    return f"{round(value, 2) + 0.0:+.2f}".replace("-", "−")  # no −0.00
