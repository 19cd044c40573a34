"""Results with the strides that a trace has: views of it, and memory formats of its operators, are chosen for these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree


class Restrided:
    """A function whose results get the strides of `expected`."""

    def __init__(self, function: Callable[..., Any], expected: Any) -> None:
        self._function = function
        self._expected = expected

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return restrided(self._function(*args, **keywords), self._expected)


def restrided(result: Any, expected: Any) -> Any:
    """The tensors of a result with the strides of those that are expected; the result itself if it has them."""
    leaves, structure = pytree.tree_flatten(result)
    changed = list(map(_restrided, leaves, pytree.tree_leaves(expected)))
    if len(changed) < len(leaves) or all(first is second for first, second in zip(leaves, changed, strict=True)):
        return result
    return pytree.tree_unflatten(changed, structure)


def _restrided(leaf: Any, expected: Any) -> Any:
    """A view where only dimensions of one element differ, of which torch still asks the memory format; else a copy."""
    if not isinstance(leaf, Tensor) or not leaf.numel() or leaf.stride() == (strides := expected.stride()):
        return leaf
    pairs = zip(leaf.shape, leaf.stride(), strides, strict=True)
    if all(size == 1 or first == second for size, first, second in pairs):
        return leaf.as_strided(leaf.shape, strides)
    return torch.empty_strided(leaf.shape, strides, dtype=leaf.dtype, device=leaf.device).copy_(leaf)
