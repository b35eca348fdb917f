"""An attribute: two classes and the words that state them. One YAML file each in `attributes/`."""

from functools import cache
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from relic import paths
from relic.errors import RelicError

SHIPPED = ["gender", "race", "age"]  # attributes that come with the package
LARGEST = 100_000  # bytes of a YAML file
TREEBANK, WORDS, SPACES, SPACY = "treebank", "words", "spaces", "spacy:"  # tokenizers to name


class Attribute(BaseModel):
    """A binary protected attribute. Class 1 is the rarer one and sets the balanced size."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    field: str = "label"  # the field that holds the label in upstream's files
    classes: tuple[str, str]
    ratio: float = 1.0  # images of class 1 for one of class 0 in the papers' data, where known
    mask_token: str
    masked_words: frozenset[str]
    tokenizer: str = TREEBANK  # English; `words`, `spaces` or `spacy:de` for another language
    class_words: dict[str, frozenset[str]] = {}  # masked words by the class they state, where known

    @model_validator(mode="before")
    @classmethod
    def _masked_words_by_class(cls, content):
        """`masked_words` may be listed by class: then we know which class a word states."""
        words = content.get("masked_words") if isinstance(content, dict) else None
        if not isinstance(words, dict):
            return content
        by_class = {name: cls._words_of_lines(lines) for name, lines in words.items()}
        every = sorted(set().union(*by_class.values()))
        return {**content, "masked_words": every, "class_words": by_class}

    @field_validator("masked_words", mode="before")
    @classmethod
    def _words_of_lines(cls, lines):
        """Split the YAML file's lines of words, in lower case as captions are read; one may stand alone."""
        lines = [lines] if isinstance(lines, str) else lines
        return frozenset(word for line in lines for word in str(line).lower().split())


@cache
def load_attribute(name: str | Path) -> Attribute:
    """Read an attribute by name (gender, race, age) or from a YAML file of one's own.

    >>> load_attribute("gender").classes
    ('Male', 'Female')
    """
    file = Path(name) if str(name).endswith((".yml", ".yaml")) else paths.ATTRIBUTES / f"{name}.yml"
    if not file.is_file():
        expected = f"one of {', '.join(SHIPPED)}, or the path of a YAML file"
        raise RelicError(f"unknown attribute {str(name)!r}", expected=expected)
    try:
        return Attribute(**_plain_yaml(file))
    except (yaml.YAMLError, TypeError, ValueError, OSError, RecursionError) as error:
        found = f"{file} does not describe an attribute: {error}"
        raise RelicError(found, expected="the fields of attributes/gender.yml") from error


def _plain_yaml(file: Path) -> dict:
    """A small file without aliases: a few of those, nested, take minutes and gigabytes."""
    with file.open("rb") as stream:
        text = stream.read(LARGEST + 1).decode()
    if len(text) > LARGEST:
        raise ValueError(f"more than {LARGEST:,} characters")
    if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
        raise ValueError("aliases (*name) are not read")
    return yaml.safe_load(text)
