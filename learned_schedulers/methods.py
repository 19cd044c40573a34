"""The one registry of methods: each is one file, found by its kind and its name. All wings make their methods by it.

A file ends in `make = <class>`; the class gets the method's settings, and the resources that these name in `needs` (it
fails without them) and in `uses` (it receives them if they are available). What a method of each kind has to offer is a
Protocol in the package of its kind. A name that no file has is that of another package's method (outside_methods.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from learned_schedulers import outside_methods
from learned_schedulers.outside_methods import Kind

OK, TIMED_OUT, UNSUPPORTED = "ok", "timed out", "unsupported"  # states of an answer
PACKAGES: dict[Kind, str] = {
    "block": "learned_schedulers.blocks.methods",
    "graph": "learned_schedulers.graphs.methods",
    "fusion": "learned_schedulers.graphs.methods.fusing",
    "project": "learned_schedulers.projects.methods",
}
Budget = TypeVar("Budget")


def not_numbers(values: Any) -> bool:
    """Whether statistics of a method are anything but numbers, or have NaN, with which no comparison holds."""
    array = np.asarray(values)
    return array.dtype.kind not in "biuf" or bool(np.isnan(array).any())


class Unsupported(ValueError):
    """A method does not support a problem; the message says why."""


def make(kind: Kind, name: str, settings: Any, resources: Mapping[str, object]) -> Any:
    """The method in the file of this name, or of another package.

    Raises ValueError if a resource that it needs is missing, or if another package's method is not there or of another
    kind.
    """
    if missing := sorted(settings.needs - set(resources)):
        raise ValueError(f"the method {name!r} is not given what it needs: {', '.join(missing)}")
    chosen = {key: resource for key, resource in resources.items() if key in settings.needs | settings.uses}
    return _maker(kind, name)(settings, **chosen)


def _maker(kind: Kind, name: str) -> Callable[..., Any]:
    if name in names(kind) or not outside_methods.is_outside(name):
        maker: Callable[..., Any] = import_module(f"{PACKAGES[kind]}.{name}").make
        return maker
    method = outside_methods.load(name)
    if (other := outside_methods.kind_of(method)) != kind:
        raise ValueError(f"the method {name!r} is for a {other}, not for a {kind}")
    return method


def names(kind: Kind) -> list[str]:
    """Names of all methods of a kind: the files of its package."""
    folders = import_module(PACKAGES[kind]).__path__
    files = (path for folder in folders for path in Path(folder).glob("*.py"))
    return sorted(path.stem for path in files if not path.stem.startswith("_"))


def allowed(budget: type[Budget], settings: object) -> Budget:
    """The budget, a dataclass, that settings of the same names allow; a limit that they lack has its default."""
    limits = {limit.name: getattr(settings, limit.name, None) for limit in fields(budget)}  # type: ignore[arg-type]
    return budget(**{name: value for name, value in limits.items() if value is not None})
