"""Methods of other packages: a class by its reference `package.module:Class`, or by the name of its entry point.

A package offers its methods in its pyproject.toml, in the group `learned_schedulers.methods`: a name, which is no name
of ours, and a reference. Who names a method of another package asks for its import, which runs that package's code.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Collection
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points, packages_distributions
from pathlib import Path
from traceback import walk_tb
from typing import Any, Literal, TypeVar

from pydantic import BaseModel

Kind = Literal["block", "graph", "fusion", "project"]
Settings = TypeVar("Settings", bound=BaseModel)
_PASSED = {
    __name__.partition(".")[0],
    "__main__",
    "importlib",
}  # packages that an error comes through before the method's
GROUP = "learned_schedulers.methods"
_FUNCTIONS: dict[str, Kind] = {  # what a method of a kind offers
    "propose": "graph",
    "solve": "block",
    "fuse": "fusion",
    "schedule": "project",
}


@cache
def offered() -> dict[str, str]:
    """Name of each entry point of the group -> its reference. Raises ValueError if two packages offer one name."""
    references: dict[str, str] = {}
    for point in entry_points(group=GROUP):
        if references.setdefault(point.name, point.value) != point.value:
            raise ValueError(
                f"two packages offer a method {point.name!r}: {references[point.name]} and {point.value}; name it by "
                "its reference"
            )
    return dict(sorted(references.items()))


def offered_by(package: str) -> dict[str, str]:
    """The same of one package: by the name that it is imported by, or that it was installed by."""
    names = {package.replace("-", "_"), *packages_distributions().get(package, [])}
    names = {name.replace("-", "_") for name in names}
    of_package = [point for point in entry_points(group=GROUP) if _distribution(point).replace("-", "_") in names]
    return {point.name: point.value for point in sorted(of_package, key=lambda point: point.name)}


def _distribution(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else ""


def is_outside(name: object) -> bool:
    """Whether a method of this name is looked for in other packages: a reference, or the name of an entry point."""
    return isinstance(name, str) and (":" in name or name in offered())


@cache
def load(name: str) -> type:
    """The class of a reference or of an entry point. Raises ValueError with the reason and the remedy."""
    reference = name if ":" in name else offered()[name]
    module, _, path = reference.partition(":")
    if module.endswith(".py") or not all(part.isidentifier() for part in module.split(".")):
        raise ValueError(
            f"{reference}: {module!r} is no name of a module; go to the folder of the file, and write the name of the "
            "file without its end: `own_method:Class` for own_method.py"
        )
    try:
        member: Any = import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise ValueError(f"{reference}: importing it failed: {error}; install what it needs") from error
        raise ValueError(
            f"{reference}: there is no module {error.name}; install its package, or correct the name"
        ) from error
    except SyntaxError as error:
        raise ValueError(f"{reference}: {error.filename}:{error.lineno}: {error.msg}") from error
    except Exception as error:  # whatever a stranger's file raises
        raise ValueError(f"{reference}: importing it failed: {described(error)}") from error
    try:
        for part in path.split("."):
            member = getattr(member, part)
    except AttributeError as error:
        raise ValueError(f"{reference}: {error}; name a class of the module {module}") from error
    if not isinstance(member, type):
        raise ValueError(f"{reference}: this is no class; a method is a class, which gets its settings")
    return member


def described(error: BaseException) -> str:
    """An error that a method raised: `ValueError: no device (mine.py:54)`, the deepest line of its own package."""
    frames = [
        (str(frame.f_globals.get("__name__", "")).partition(".")[0], Path(frame.f_code.co_filename).name, line)
        for frame, line in walk_tb(error.__traceback__)
    ]
    passed = [each for each in frames if each[0] not in _PASSED]
    inside = [each for each in passed if each[0] == passed[0][0]]
    place = f" ({inside[-1][1]}:{inside[-1][2]})" if inside else ""
    return f"{type(error).__name__}: {error}{place}"


def check_constructor(name: str, resources: Collection[str]) -> None:
    """Raises ValueError if a method of another package cannot be made of its settings and these resources."""
    if not is_outside(name):
        return
    method = load(name)
    try:
        inspect.signature(method).bind(None, **dict.fromkeys(resources))
    except TypeError as error:
        arguments = ", ".join(["self", "settings", *sorted(resources)])
        raise ValueError(
            f"{name}: it cannot be made: {error}; its constructor gets the settings and what they name in `needs`: "
            f"def __init__({arguments})"
        ) from error


def kind_of(method: type) -> Kind:
    """The kind of a method, by what it offers. Raises ValueError if that is nothing, or not clear."""
    kinds = [kind for function, kind in _FUNCTIONS.items() if callable(getattr(method, function, None))]
    if len(kinds) != 1:
        raise ValueError(
            f"{method.__module__}:{method.__qualname__} offers {len(kinds)} of the functions propose (graphs), solve "
            "(blocks), fuse (fusion) and schedule (projects); a method has exactly one of them"
        )
    return kinds[0]


def settings_class(method: type, default: type[Settings]) -> type[Settings]:
    """The class `Settings` of a method: of the class or of its module; `default` if there is none.

    Raises ValueError if it is not derived from `default`.
    """
    module = sys.modules[method.__module__]
    settings = getattr(method, "Settings", None) or getattr(module, "Settings", None) or default
    if not (isinstance(settings, type) and issubclass(settings, default)):
        raise ValueError(f"{method.__module__}: its class Settings must be derived from {default.__name__}")
    return settings
