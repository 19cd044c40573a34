"""The settings of methods, read from the methods' own files; called when params.yaml is checked.

Snakemake checks params.yaml whenever it starts, and must not load what methods import: numba, torch, OR-Tools. So only
the class `Settings` of a file is executed, with those statements at the top level that define what it uses: imports,
types, constants. They may import typing, pydantic and the settings of their wing (tests/config/test_method_files.py).
The settings of another package's method are those of its class, which is imported.
"""

from __future__ import annotations

import ast
from functools import cache
from importlib.abc import InspectLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import CodeType
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from learned_schedulers import outside_methods

Settings = TypeVar("Settings", bound=BaseModel)
_SETTINGS = "Settings"


class _SettingsAlone(InspectLoader):
    """Imports a file as if it had only its class `Settings`, and what that uses."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get_source(self, fullname: str) -> str:
        return self._path.read_text()

    def get_code(self, fullname: str) -> CodeType:
        statements = ast.parse(self.get_source(fullname), str(self._path)).body
        definitions = {name: statement for statement in statements for name in _defined(statement)}
        needed, pending = set(), [_SETTINGS]
        while pending:
            statement = definitions.get(pending.pop())
            if statement is not None and statement not in needed:
                needed.add(statement)
                pending += _used(statement)
        body = [statement for statement in statements if statement in needed]
        return self.source_to_code(ast.Module(body, []), str(self._path))


def _used(statement: ast.stmt) -> set[str]:
    """Names that a statement uses, without the arguments of its functions."""
    nodes = list(ast.walk(statement))
    arguments = {node.arg for node in nodes if isinstance(node, ast.arg)}
    return {node.id for node in nodes if isinstance(node, ast.Name)} - arguments


def _defined(statement: ast.stmt) -> list[str]:
    """Names that a statement at the top level of a file defines."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name.split(".")[0] for alias in statement.names]
    if isinstance(statement, ast.ClassDef | ast.FunctionDef):
        return [statement.name]
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def names(folder: Path) -> list[str]:
    """Names of all methods of a folder: its files."""
    return sorted(path.stem for path in folder.glob("*.py") if not path.stem.startswith("_"))


def settings_in(folder: Path, method: object, default: type[Settings]) -> type[Settings]:
    """The class `Settings` of a method's file, or of another package's method; `default` if there is none.

    It is another object than the class of the same name in the imported file. Raises ValueError for an unknown method,
    with a list of all.
    """
    if method in names(folder):
        return _settings_of(folder / f"{method}.py") or default
    if outside_methods.is_outside(method):
        return outside_methods.settings_class(outside_methods.load(str(method)), default)
    others = "".join(f", {name!r} of {reference}" for name, reference in outside_methods.offered().items())
    raise ValueError(
        f"no method {method!r}; there are {names(folder)}{others}; name that of another package by package:Class"
    )


@cache
def _settings_of(path: Path) -> type | None:
    loader = _SettingsAlone(path)
    spec = spec_from_loader(f"{path.stem}.{_SETTINGS}", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return getattr(module, _SETTINGS, None)


def faults(error: ValidationError) -> str:
    """What is wrong with an entry, on one line."""
    faults_of = [(".".join(map(str, fault["loc"])), fault["msg"]) for fault in error.errors()]
    return "; ".join(f"{place}: {text}" if place else text.removeprefix("Value error, ") for place, text in faults_of)
