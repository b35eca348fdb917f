"""Profiles: flat overrides of notebook parameters, checked against the notebooks.

A notebook's parameters are the annotated assignments of its cell tagged `parameters`. A profile
maps parameter names to values; a key that is a notebook's name holds overrides for it alone.
"""

import ast
import contextlib
import json
from pathlib import Path

import yaml

from relic import paths
from relic.errors import RelicError

TYPES = (int, float, str, bool, list)
Parameters = dict[str, dict]  # notebook -> parameter -> default (which has its type), or value


def notebook_parameters(notebook: Path) -> dict:
    """Parameters of a notebook with their defaults, in order."""
    named = ", ".join(kind.__name__ for kind in TYPES)
    expected = f"`name: type = value  # meaning`, a plain value, type one of {named}"
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        tagged = [c for c in cells if "parameters" in c.get("metadata", {}).get("tags", [])]
        nodes = ast.parse("\n".join("".join(cell["source"]) for cell in tagged)).body
    except SyntaxError as error:
        raise RelicError(f"{notebook.name}, parameters cell: {error}", expected=expected) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RelicError(f"{notebook} is not a notebook: {error!r}") from error
    parameters = {}
    for node in nodes:
        try:
            kind, default = ast.unparse(node.annotation), ast.literal_eval(node.value)
            if type(default) not in TYPES or type(default).__name__ != kind:
                raise ValueError(default)
            parameters[node.target.id] = default
        except (AttributeError, TypeError, ValueError) as error:
            where = f"{notebook.name}, parameters cell: {ast.unparse(node)}"
            raise RelicError(where, expected=expected) from error
    return parameters


def notebooks(directory: Path = paths.NOTEBOOKS) -> Parameters:
    """All notebooks by name, with their parameters, in the order of their names."""
    return {file.stem: notebook_parameters(file) for file in sorted(directory.glob("*.ipynb"))}


def load_profile(
    profile: str, available: Parameters, sets: list[str] = (), only: list[str] = ()
) -> Parameters:
    """Notebook name -> its complete parameters under a profile and `--set`."""
    values = {name: dict(defaults) for name, defaults in available.items()}
    chosen = {_chosen(name, available) for name in only} or set(available)
    for source, overrides in [_read(paths.PARAMS / f"{profile}.yml"), *map(_setting, sets)]:
        # what is for one notebook comes last, wherever it stands in the file
        for key, value in sorted(overrides.items(), key=lambda item: isinstance(item[1], dict)):
            one = key in available and isinstance(value, dict)
            for inner, each in value.items() if one else [(key, value)]:
                _set({key: values[key]} if one else values, inner, each, source)
    return {name: values[name] for name in available if name in chosen}


def _chosen(name: str, available: Parameters) -> str:
    """The notebook asked for; a unique beginning such as `00` is enough."""
    name = name.removesuffix(".ipynb").split("/")[-1]
    fits = [n for n in available if n == name] or [n for n in available if n.startswith(name)]
    if len(fits) != 1:
        found = f"--only {name}: {'several notebooks' if fits else 'no notebook'} of that name"
        raise RelicError(found, expected=f"one of {', '.join(available)}")
    return fits[0]


def _read(file: Path) -> tuple[str, dict]:
    """A profile: its file's name, and its overrides."""
    if not file.is_file():
        profiles = sorted(path.stem for path in file.parent.glob("*.yml"))
        raise RelicError(f"no profile {file.stem!r}", expected=f"one of {', '.join(profiles)}")
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RelicError(f"{file}: {error}", expected="YAML: parameter: value") from error
    if not isinstance(content, dict):
        raise RelicError(f"{file} holds a {type(content).__name__}", expected="parameter: value")
    return file.name, content


def _setting(text: str) -> tuple[str, dict]:
    """The same of a `--set`."""
    key, _, value = text.partition("=")
    notebook, dot, parameter = key.rpartition(".")
    try:
        value = yaml.safe_load(value)
    except yaml.YAMLError as error:
        found = f"--set {text}: {error}"
        raise RelicError(found, expected="a YAML value, e.g. [0, 12]") from error
    return f"--set {text}", {notebook: {parameter: value}} if dot else {key: value}


def _set(values: Parameters, key, value, source: str) -> None:
    """Set a parameter wherever it exists; refuse an unknown name and a wrong type."""
    holders = [name for name, parameters in values.items() if key in parameters]
    if not holders:
        allowed = sorted(set().union(*values.values()))
        where = f"{next(iter(values))}: " if len(values) == 1 else ""
        found = f"{source}: {where}unknown parameter {str(key)!r}"
        expected = f"one of {', '.join(allowed) or '(this notebook has none)'}"
        raise RelicError(found, expected=expected)
    for name in holders:
        before, fit = values[name][key], value  # of one type: that of the default
        if type(before) is float and type(value) in (int, str):  # YAML reads 5e-5 as text
            with contextlib.suppress(ValueError):
                fit = float(value)
        if type(fit) is not type(before):
            found = f"{source}: {key} = {value!r} ({type(value).__name__})"
            expected = f"{key}: {type(before).__name__}, e.g. {before!r} (in {name})"
            raise RelicError(found, expected=expected)
        values[name][key] = fit
