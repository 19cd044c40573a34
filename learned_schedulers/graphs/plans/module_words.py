"""What a user types about a torch module: `mine:Network(width=64)`, and inputs like `tokens=int64:8,128`."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

Value = TypeVar("Value")


_VAGUE = {"int": "int64 (what torch.tensor makes of whole numbers) or int32", "float": "float32", "double": "float64"}


class Constructor(NamedTuple):
    """A class or function of a Python module, and the literals that it is called with."""

    module: str
    name: str  # a class or function; further parts behind dots are attributes of it
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]


class Input(NamedTuple):
    """An input of forward: a tensor by its position, or by a name; parts of the name are keys of dictionaries."""

    path: tuple[str, ...]  # empty: by its position
    kind: str  # name of torch's type
    shape: list[int]


def constructor_of(named: str) -> Constructor:
    """`mine:Network(width=64)` -> what to call. Arguments are read as literals; no expression is evaluated.

    Raises ValueError with the form that is allowed.
    """
    module, _, expression = named.partition(":")
    if module.endswith(".py"):
        raise ValueError(f"{named}: write the module without .py: {module[:-3].replace('/', '.')}:{expression}")
    try:
        node = ast.parse(expression.strip(), mode="eval").body
        call = node if isinstance(node, ast.Call) else ast.Call(node, [], [])
        if any(keyword.arg is None for keyword in call.keywords):
            raise ValueError("** is not a literal")
        arguments = tuple(ast.literal_eval(argument) for argument in call.args)
        keywords = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
        name = ast.unparse(call.func)
        if not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
            raise ValueError(f"{name!r} is not a name")
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200]
        detail = "" if reason.startswith("malformed") else f": {reason}"  # Python's text about its own nodes
        raise ValueError(
            f"{named}: write a module and a class, with literals as arguments if it has some, like "
            "mine:Network(width=64, name='small', sizes=[1, 2]); for other arguments, write a function without "
            f"arguments that returns the module, and name it: mine:build{detail}"
        ) from error
    return Constructor(module, name, arguments, keywords)


@contextmanager
def imported(named: str) -> Iterator[Callable[[], Any]]:
    """A function that makes what `module:Class(...)` names; within the context, imports search the current folder.

    Raises ImportError that says where the module was looked for, or which names it has.
    """
    constructor = constructor_of(named)
    sys.path.insert(0, "")
    try:
        try:
            target: Any = import_module(constructor.module)
        except ModuleNotFoundError as error:
            if not f"{constructor.module}.".startswith(f"{error.name}."):
                raise  # one that the user's module imports
            reason = f"there is no module {error.name}, neither installed nor in the folder {Path.cwd()}"
            raise ImportError(f"{reason}; call this in its folder", name=error.name) from error
        for part in constructor.name.split("."):
            if not hasattr(target, part):
                near = get_close_matches(part, [name for name in dir(target) if not name.startswith("_")], 1)
                hint = f"; did you mean {near[0]}?" if near else "; name a class or a function of it"
                raise ImportError(f"{getattr(target, '__name__', target)} has no class {part}{hint}")
            target = getattr(target, part)
        yield lambda: target(*constructor.arguments, **constructor.keywords)
    finally:
        sys.path.remove("")


def input_of(text: str) -> Input:
    """`int64:16,128`, `tokens=int64:16,128` or `batch.image=8,3,64,64` -> the input.

    Raises ValueError if the text is not a shape.
    """
    import torch

    name, equals, form = text.rpartition("=")
    kind, _, sizes = form.rpartition(":")
    kind = kind or "float32"
    if remedy := _VAGUE.get(kind):
        raise ValueError(f"--input {text}: {kind} has a size of its own on each system; write {remedy}")
    try:
        shape = [int(size) for size in sizes.split(",") if size]
    except ValueError:
        shape = [-1]
    path = tuple(name.split(".")) if equals else ()
    wrong_path = equals and (not path[0].isidentifier() or not all(path))
    if wrong_path or min(shape, default=0) < 0 or not isinstance(getattr(torch, kind, None), torch.dtype):
        raise ValueError(
            f"--input {text}: this is not a shape; write 32,3,224,224, or int64:16,128 for integers, with the name "
            "of an argument before it (tokens=int64:16,128), and a key where the argument is a dictionary "
            "(batch.image=8,3,64,64)"
        )
    return Input(path, kind, shape)


def arguments_of(
    named: str, inputs: Sequence[Input], make: Callable[[Input], Value]
) -> tuple[tuple[Value, ...], dict[str, Any]]:
    """Positional and keyword arguments of forward. Raises ValueError for an input whose name stands twice."""
    positional = tuple(make(entry) for entry in inputs if not entry.path)
    keywords: dict[str, Any] = {}
    for entry in (entry for entry in inputs if entry.path):
        *keys, last = entry.path
        place = keywords
        for key in keys:
            place = place.setdefault(key, {})
            if not isinstance(place, dict):
                raise ValueError(f"{named}: --input {'.'.join(entry.path)}: {key} is a tensor already; name it once")
        if last in place:
            raise ValueError(f"{named}: --input {'.'.join(entry.path)} stands twice; name it once")
        place[last] = make(entry)
    return positional, keywords


def drawn(entry: Input) -> Any:  # torch's tensor
    """Random numbers around 0; for integers 0 or 1, which are valid rows of every embedding table."""
    import torch

    dtype, shape = getattr(torch, entry.kind), entry.shape
    if dtype.is_floating_point or dtype.is_complex:
        return torch.rand(shape, dtype=dtype) - 0.5
    return torch.randint(0, 2, shape, dtype=dtype)
