"""Profiles: flat overrides of notebook parameters, checked against the notebooks.

A notebook's parameters are the annotated assignments of its cell tagged `parameters`. A profile
maps parameter names to values; a key that is a notebook's name holds overrides for it alone.
"""

import ast
import json
from dataclasses import dataclass
from pathlib import Path

import yaml

from relic import paths
from relic.errors import RelicError

TYPES = {"int": int, "float": float, "str": str, "bool": bool, "list": list}


@dataclass(frozen=True)
class Parameter:
    """A notebook parameter: its type's name and its default."""

    type: str
    default: object

    def accepts(self, value) -> bool:
        """Is the value of this type? A whole number is a fine float; True is no number."""
        if self.type == "float":
            return isinstance(value, int | float) and not isinstance(value, bool)
        return isinstance(value, TYPES[self.type]) and (
            self.type == "bool" or not isinstance(value, bool)
        )


def notebook_parameters(notebook: Path) -> dict[str, Parameter]:
    """Parameters of a notebook, in order."""
    try:
        sources = [
            "".join(cell["source"])
            for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]
            if "parameters" in cell.get("metadata", {}).get("tags", [])
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RelicError(f"{notebook} is not a notebook: {error!r}") from error
    expected = f"`name: type = value  # meaning`, a plain value, type one of {', '.join(TYPES)}"
    where = f"{notebook.name}, parameters cell"
    try:
        nodes = ast.parse("\n".join(sources)).body
    except SyntaxError as error:
        raise RelicError(f"{where}: {error}", expected=expected) from error
    found = {}
    for node in nodes:
        try:
            kind, default = ast.unparse(node.annotation), ast.literal_eval(node.value)
            parameter = Parameter(kind, default)
            if not parameter.accepts(default):
                raise ValueError(default)
            found[node.target.id] = parameter
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise RelicError(f"{where}: {ast.unparse(node)}", expected=expected) from error
    return found


def notebooks(directory: Path = paths.NOTEBOOKS) -> dict[str, dict[str, Parameter]]:
    """All notebooks by name, with their parameters, in the order of their names."""
    return {file.stem: notebook_parameters(file) for file in sorted(directory.glob("*.ipynb"))}


def load_profile(
    profile: str,
    available: dict[str, dict[str, Parameter]],
    sets: list[str] = (),
    only: list[str] = (),
    directory: Path = paths.PARAMS,
) -> dict[str, dict]:
    """Notebook name -> its complete parameters under a profile and `--set`."""
    wanted = _chosen(only, available)
    values = {
        name: {key: parameter.default for key, parameter in parameters.items()}
        for name, parameters in available.items()
    }
    file = directory / f"{profile}.yml"
    _apply(values, available, _read(file), file.name)
    for text in sets:
        key, _, value = text.partition("=")
        notebook, dot, parameter = key.rpartition(".")
        try:
            value = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise RelicError(
                f"--set {text}: {error}", expected="a YAML value, e.g. [0, 12]"
            ) from error
        _apply(
            values,
            available,
            {notebook: {parameter: value}} if dot else {key: value},
            f"--set {text}",
        )
    return {name: values[name] for name in wanted}


def _chosen(only: list[str], available: dict) -> list[str]:
    """Notebooks asked for; a unique beginning such as `00` is enough."""
    if not only:
        return list(available)
    chosen = set()
    for name in only:
        name = name.removesuffix(".ipynb").split("/")[-1]
        fits = [known for known in available if known == name] or [
            known for known in available if known.startswith(name)
        ]
        if len(fits) != 1:
            raise RelicError(
                f"--only {name}: {'no notebook' if not fits else 'several notebooks'} of that name",
                expected=f"one of {', '.join(available)}",
            )
        chosen.add(fits[0])
    return [name for name in available if name in chosen]


def _read(file: Path) -> dict:
    if not file.is_file():
        known = sorted(path.stem for path in file.parent.glob("*.yml"))
        raise RelicError(f"no profile {file.stem!r}", expected=f"one of {', '.join(known)}")
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RelicError(f"{file}: {error}", expected="YAML: parameter: value") from error
    if not isinstance(content, dict):
        raise RelicError(f"{file} holds a {type(content).__name__}", expected="parameter: value")
    return content


def _apply(values, available, overrides: dict, source: str) -> None:
    """Set each override where the parameter exists; refuse unknown names and wrong types.

    What is for one notebook comes last, wherever it stands in the file.
    """
    for key, value in sorted(overrides.items(), key=lambda item: isinstance(item[1], dict)):
        key = str(key)
        if key in available and isinstance(value, dict):
            for inner, inner_value in value.items():
                _set(values, available, [key], str(inner), inner_value, source)
        else:
            _set(values, available, list(available), key, value, source)


def _set(values, available, names: list[str], key: str, value, source: str) -> None:
    holders = [name for name in names if key in available[name]]
    if not holders:
        allowed = sorted({known for name in names for known in available[name]})
        where = f"{names[0]}: " if len(names) == 1 else ""
        raise RelicError(
            f"{source}: {where}unknown parameter {key!r}",
            expected=f"one of {', '.join(allowed) or '(this notebook has none)'}",
        )
    for name in holders:
        parameter = available[name][key]
        value = _as_number(value) if parameter.type == "float" else value
        if not parameter.accepts(value):
            raise RelicError(
                f"{source}: {key} = {value!r} ({type(value).__name__})",
                expected=f"{key}: {parameter.type}, e.g. {parameter.default!r} (in {name})",
            )
        values[name][key] = value


def _as_number(value):
    """YAML reads 5e-5 as text; people mean a number."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value
