"""The one registry of methods: each is one file, found by its kind and its name. All wings make their methods by it.

A file ends in `make = <class>`; the class gets the method's settings, and the resources that these name in `needs` (it
fails without them) and in `uses` (it receives them if they are available). What a method of each kind has to offer is a
Protocol in the package of its kind. A name that no file has is that of another package's method (outside_methods.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from learned_schedulers import outside_methods
from learned_schedulers.method_settings import PACKAGES, MethodSettings, names
from learned_schedulers.outside_methods import Kind

OK, TIMED_OUT, UNSUPPORTED = "ok", "timed out", "unsupported"  # states of an answer
Budget = TypeVar("Budget")


def not_numbers(values: Any) -> bool:
    """Whether statistics of a method are anything but numbers, or have NaN, with which no comparison holds."""
    array = np.asarray(values)
    return array.dtype.kind not in "biuf" or bool(np.isnan(array).any())


class Unsupported(ValueError):
    """A method does not support a problem; the message says why."""


def make(kind: Kind, settings: MethodSettings, resources: Mapping[str, object]) -> Any:
    """The method of these settings.

    Raises ValueError if a resource that it needs is missing, or if another package's method is not there or of another
    kind.
    """
    if missing := sorted(settings.needs - set(resources)):
        raise ValueError(f"the method {settings.method!r} is not given what it needs: {', '.join(missing)}")
    chosen = {key: resource for key, resource in resources.items() if key in settings.needs | settings.uses}
    return maker(kind, settings)(settings, **chosen)


def maker(kind: Kind, settings: MethodSettings) -> Callable[..., Any]:
    """What makes the method. Raises ValueError if another package's is of another kind."""
    name = settings.method
    if (file := settings.file or name) in names(kind) or not outside_methods.is_outside(name):
        maker: Callable[..., Any] = import_module(f"{PACKAGES[kind]}.{file}").make
        return maker
    method = outside_methods.load(name)
    if (other := outside_methods.kind_of(method)) != kind:
        raise ValueError(f"the method {name!r} is for a {other}, not for a {kind}")
    return method


def allowed(budget: type[Budget], settings: object) -> Budget:
    """The budget, a dataclass, that settings of the same names allow; a limit that they lack has its default."""
    limits = {limit.name: getattr(settings, limit.name, None) for limit in fields(budget)}  # type: ignore[arg-type]
    return budget(**{name: value for name, value in limits.items() if value is not None})
