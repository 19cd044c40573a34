"""The form of a call: which arguments are tensors of which sizes and types, and the values of all others.

A captured forward has sizes, types, strides and Python values built in, so that another form may give other numbers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from enum import Enum
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

PLAIN = (type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device, Enum, slice)
_REMEDY = "pass the latter, or place the module, by a split for them, with an example of the former"


class NotPlaceable(ValueError):
    """A run by operations might not do what the module does; the message has the reason and a remedy."""


class TensorForm(NamedTuple):
    """What a capture has built in of a tensor."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    strides: tuple[int, ...]  # 1 where the size is 1 or 0, because they mean nothing there
    first: int  # number of the first argument that is the same tensor

    def __str__(self) -> str:
        kind = str(self.dtype).removeprefix("torch.")
        return f"a {kind} tensor of shape {tuple(self.shape)} with strides {self.strides}"


class CallForm(NamedTuple):
    """The form of a call; `check` compares two."""

    names: tuple[str, ...]  # of the leaves, like x or states[0]
    leaves: tuple[TensorForm | object, ...]
    structure: pytree.TreeSpec

    def check(self, other: CallForm) -> None:
        """Raises NotPlaceable, which names the argument and both forms, if `other` is not this form."""
        if self.names != other.names:
            raise NotPlaceable(
                f"the call has the inputs {', '.join(other.names) or 'none'}, but the module was placed with "
                f"{', '.join(self.names) or 'none'}: {_REMEDY}"
            )
        for name, mine, others in zip(self.names, self.leaves, other.leaves, strict=True):
            if not _same(mine, others):
                raise NotPlaceable(
                    f"the input {name} is {_text(others, other)}, but the module was placed with "
                    f"{_text(mine, self)}: {_REMEDY}"
                )
        if self.structure != other.structure:
            raise NotPlaceable(
                f"the inputs are nested as {other.structure}, but the module was placed with {self.structure}: "
                f"{_REMEDY}"
            )


class Call(NamedTuple):
    """The arguments of a call of `forward`, taken apart."""

    form: CallForm
    tensors: tuple[Tensor, ...]  # each once

    def arguments(self, tensors: Sequence[Tensor]) -> dict[str, Any]:
        """The arguments by name, with other tensors in place of these."""
        numbers = {index: k for k, index in enumerate(self._firsts)}
        leaves = [tensors[numbers[leaf.first]] if isinstance(leaf, TensorForm) else leaf for leaf in self.form.leaves]
        arguments: dict[str, Any] = pytree.tree_unflatten(leaves, self.form.structure)
        return arguments

    @property
    def names(self) -> list[str]:
        """Names of the tensors."""
        return [self.form.names[index] for index in self._firsts]

    @property
    def _firsts(self) -> list[int]:
        return [k for k, leaf in enumerate(self.form.leaves) if isinstance(leaf, TensorForm) and leaf.first == k]


def call_of(forward: Callable[..., Any], inputs: Sequence[Any], keywords: Mapping[str, Any]) -> Call:
    """The call `forward(*inputs, **keywords)`.

    Raises NotPlaceable, which names the argument, for a value that is neither a dense tensor nor plain, and for
    arguments that `forward` does not take.
    """
    signature = inspect.signature(forward)
    try:
        arguments = dict(signature.bind(*inputs, **keywords).arguments)
    except TypeError as error:
        raise NotPlaceable(f"forward takes {signature}: {error}; pass what it takes") from error
    paths, structure = pytree.tree_flatten_with_path(with_dataclasses(arguments))
    names = tuple(_name(path) for path, _ in paths)
    firsts: dict[int, int] = {}
    leaves: list[TensorForm | object] = []
    for k, (name, (_, leaf)) in enumerate(zip(names, paths, strict=True)):
        if isinstance(leaf, Tensor):
            _check_tensor(name, leaf)
            leaves.append(tensor_form(leaf, firsts.setdefault(id(leaf), k)))
        elif isinstance(leaf, PLAIN):
            leaves.append(leaf)
        else:
            raise NotPlaceable(
                f"the input {name} is a {type(leaf).__name__}: pass tensors, numbers, text and containers"
                f"{cache_hint(leaf)}"
            )
    tensors = tuple(paths[k][1] for k in firsts.values())
    return Call(CallForm(names, tuple(leaves), structure), tensors)


def cache_hint(value: object) -> str:
    """How transformers leave their cache out, if the value is one."""
    return "; a transformer has no cache with use_cache=False" if type(value).__name__.endswith("Cache") else ""


def bound(forward: Callable[..., Any], arguments: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments of `forward` from its arguments by name."""
    call = inspect.BoundArguments(inspect.signature(forward), dict(arguments))
    return call.args, call.kwargs


def tensor_form(tensor: Tensor, first: int = 0) -> TensorForm:
    """The form of a dense tensor."""
    strides = zip(tensor.shape, tensor.stride(), strict=True)
    return TensorForm(
        tuple(tensor.shape), tensor.dtype, tuple(stride if size > 1 else 1 for size, stride in strides), first
    )


def with_dataclasses(value: Any) -> Any:
    """The value itself; torch learns to take its dataclasses apart."""
    for leaf in pytree.tree_leaves(value):
        if is_dataclass(leaf) and not isinstance(leaf, type | nn.Module):
            pytree.register_dataclass(type(leaf))
            return with_dataclasses(value)
    return value


def _check_tensor(name: str, tensor: Tensor) -> None:
    reason = ""
    if type(tensor) not in (Tensor, nn.Parameter):
        reason = f"a {type(tensor).__name__}, whose class may change what operations do"
    elif tensor.layout != torch.strided or tensor.is_quantized or tensor.is_nested:
        reason = f"of layout {tensor.layout}"
    elif tensor.is_conj() or tensor.is_neg():
        reason = "a view that conjugates or negates when it is read: pass x.resolve_conj().resolve_neg()"
    elif torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        reason = "inside a transformation of torch.func, which sees no module that is placed"
    if reason:
        raise NotPlaceable(f"the input {name} is {reason}; a placed module takes plain dense tensors")


def _same(first: object, second: object) -> bool:
    if type(first) is not type(second):
        return False
    return first == second or (first != first and second != second)  # not a number


def _text(leaf: object, form: CallForm) -> str:
    if not isinstance(leaf, TensorForm):
        return f"{leaf!r} ({type(leaf).__name__})"
    name = form.names[leaf.first]
    return f"{leaf}" + ("" if form.leaves[leaf.first] is leaf else f", the same tensor as {name}")


def _name(path: tuple[Any, ...]) -> str:
    head, *rest = path
    return f"{head.key}{pytree.keystr(tuple(rest))}"
