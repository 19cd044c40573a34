"""What a package offers under its own name: `from learned_schedulers.operators import popocs`.

A name is imported when it is first used, so the package itself costs nothing to import, and a name that needs torch
asks for torch only when it is used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def checked(function: Function) -> Function:
    """The function, which raises ValueError for arguments of other types than it takes, or that it does not have."""
    from inspect import signature  # the package itself imports this module, and nothing heavy

    names = list(signature(function).parameters)

    @cache
    def validated() -> Callable[..., Any]:
        from pydantic import ConfigDict, validate_call

        return validate_call(config=ConfigDict(arbitrary_types_allowed=True))(function)

    @wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        from pydantic import ValidationError

        try:
            return validated()(*args, **keywords)
        except ValidationError as error:
            if error.title != function.__qualname__:
                raise  # of something else within
            faults = "; ".join(f"{_place(names, *fault['loc'])}: {fault['msg']}" for fault in error.errors())
            raise ValueError(f"{function.__qualname__} does not take these arguments: {faults}") from error

    return call  # type: ignore[return-value]


def _place(names: Sequence[str], argument: int | str, *rest: int | str) -> str:
    """An argument by its name, where it has one, and the part of it; no words of pydantic about a union's members."""
    name = names[argument] if isinstance(argument, int) and argument < len(names) else argument
    return ".".join(part for part in map(str, (name, *rest)) if "[" not in part)


class _Package(ModuleType):
    """A package with names of other modules. A function hides the module of the same name, such as `popocs`."""

    _offered: Mapping[str, str]
    _checked: bool

    def __getattr__(self, name: str) -> Any:
        if name not in self._offered:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{self.__name__}.{self._offered[name]}"), name)
        if self._checked and isinstance(value, FunctionType):
            value = checked(value)
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        # Whoever imports a module binds it in its package.
        if not (isinstance(value, ModuleType) and name in self._offered):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._offered})


def offer(package: str, modules: Mapping[str, str], check: bool = False) -> None:
    """Let a package, which is being imported, offer names: module within the package -> names, separated by spaces.

    check: functions check the types of their arguments; not those whose calls are many, or compiled.
    """
    module = sys.modules[package]
    module.__dict__["_offered"] = {name: path for path, names in modules.items() for name in names.split()}
    module.__dict__["_checked"] = check
    module.__class__ = _Package
