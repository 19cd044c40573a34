"""What a package offers under its own name: `from learned_schedulers.operators import popocs`.

A name is imported when it is first used, so the package itself costs nothing to import, and a name that needs torch
asks for torch only when it is used.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


class _Package(ModuleType):
    """A package with names of other modules. A function hides the module of the same name, such as `popocs`."""

    _offered: Mapping[str, str]

    def __getattr__(self, name: str) -> Any:
        if name not in self._offered:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = self.__dict__[name] = getattr(import_module(f"{self.__name__}.{self._offered[name]}"), name)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        # Whoever imports a module binds it in its package.
        if not (isinstance(value, ModuleType) and name in self._offered):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._offered})


def offer(package: str, modules: Mapping[str, str]) -> None:
    """Let a package, which is being imported, offer names: module within the package -> names, separated by spaces."""
    module = sys.modules[package]
    module.__dict__["_offered"] = {name: path for path, names in modules.items() for name in names.split()}
    module.__class__ = _Package
