"""What a capture of forward has built in of a module: its parts and modes, Python values, sizes of its weights."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, fx, nn

from learned_schedulers.graphs.plans.call_form import PLAIN, tensor_form

_SKIPPED = {"_parameters", "_buffers", "_modules", "_flat_weights", "_flat_weight_refs"}  # RNNs renew the last two
_OPAQUE = (type, ModuleType, nn.Module, fx.Graph)
_Cached = type(lru_cache(len))
_EMPTY = CellType()
_SIMPLE = (*PLAIN, list, tuple, dict, set, frozenset)

State = dict[str, object]  # place in the module -> a value that equals another one if forward does the same with it


def state_of(module: nn.Module) -> State:
    """Everything that a capture has built in. Tensors of the state count by size and type, not by value.

    Not in it: variables of functions outside of the module's classes.
    """
    state: State = {}
    contents: dict[int, object] = {}
    first_names: dict[int, str] = {}
    for path, part in module.named_modules(remove_duplicate=False):
        prefix = f"{path}." if path else ""
        state[f"class of {path or 'the module'}"] = type(part)
        for name, value in vars(part).items():
            if name not in _SKIPPED:
                state[prefix + name] = _comparable(value, contents)
        for name, tensor in {**part._parameters, **part._buffers}.items():
            if tensor is not None:
                state[prefix + name] = tensor_form(tensor), first_names.setdefault(id(tensor), prefix + name)
    for kind in {type(part): None for part in module.modules()}:
        for name, value in _of_code(kind):
            state[name] = _comparable(value, contents)
    return state


def difference(before: Mapping[str, object], after: Mapping[str, object]) -> str:
    """The first place in which two states differ; empty if they are equal."""
    for place in [*before, *after]:
        if place not in before or place not in after or before[place] != after[place]:
            return place
    return ""


def weights_of(module: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers by all of their names."""
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


@contextmanager
def empty_caches(module: nn.Module) -> Iterator[None]:
    """Caches of functools that the module's classes name are empty at begin and end: no tensors of a capture stay."""

    def clear() -> None:
        for part in module.modules():
            for base in type(part).__mro__:
                functions = [value for value in vars(base).values() if isinstance(value, FunctionType)]
                names = {(name, id(code.__globals__)): code for code in functions for name in code.__code__.co_names}
                values = [code.__globals__.get(name) for (name, _), code in names.items()]
                for value in (*vars(base).values(), *values):
                    if isinstance(value, _Cached):
                        value.cache_clear()

    clear()
    try:
        yield
    finally:
        clear()


def _of_code(kind: type[nn.Module]) -> Iterator[tuple[str, object]]:
    """Values of a user's class, and of the global variables that its methods name."""
    for base in kind.__mro__:
        if base is nn.Module or base.__module__.startswith("torch."):
            return
        for name, value in vars(base).items():
            if isinstance(value, FunctionType):
                yield f"{value.__qualname__} (its defaults and closure)", value
                for variable in value.__code__.co_names:
                    if isinstance(content := value.__globals__.get(variable), _SIMPLE):
                        yield f"{base.__module__}.{variable}", content
            elif isinstance(value, _SIMPLE) and not name.startswith("__"):
                yield f"{base.__qualname__}.{name}", value


class _Identity:
    """An object that equals itself alone; it stays alive, so that no other one takes its place."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self._value is other._value

    __hash__ = object.__hash__


def _comparable(value: object, contents: dict[int, object]) -> object:
    """A value that can be compared later. Objects that do not show their content count by their identity."""
    if isinstance(value, PLAIN):
        return type(value), value
    if id(value) not in contents:
        contents[id(value)] = "an object that contains itself"
        contents[id(value)] = _content(value, contents)
    return contents[id(value)]


def _content(value: Any, contents: dict[int, object]) -> object:
    if isinstance(value, Tensor):
        return _Identity(value), 0 if value.is_inference() else value._version
    if isinstance(value, np.ndarray | np.generic):
        return value.shape, str(value.dtype), _Identity(value) if value.dtype.hasobject else value.tobytes()
    if isinstance(value, dict):
        return [(_comparable(key, contents), _comparable(part, contents)) for key, part in value.items()]
    if isinstance(value, list | tuple):
        return [_comparable(part, contents) for part in value]
    if isinstance(value, set | frozenset):
        return len(value), frozenset(map(hash, value))
    if isinstance(value, FunctionType):
        cells = [_comparable(cell.cell_contents, contents) for cell in value.__closure__ or () if cell != _EMPTY]
        return _Identity(value), _comparable([value.__defaults__, value.__kwdefaults__], contents), cells
    if isinstance(value, MethodType):
        return _Identity(value.__self__), _comparable(value.__func__, contents)
    if isinstance(value, random.Random):
        return value.getstate()
    if isinstance(value, np.random.RandomState):
        return repr(value.get_state(legacy=False))
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state)
    if isinstance(value, torch.Generator):
        return value.get_state().tolist()
    if isinstance(value, _OPAQUE):
        return _Identity(value)
    if not hasattr(value, "__dict__"):
        return _Identity(value), repr(value)  # a counter or a queue shows its content
    return type(value), [(name, _comparable(part, contents)) for name, part in vars(value).items()]
