"""The calls of torch's functions that a forward makes: names, plain arguments, sizes and types of results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils import _pytree as pytree

from learned_schedulers.graphs.plans.call_form import PLAIN, NotPlaceable

Event = tuple[str, ...]
_CASTS = {"to", "cpu", "cuda", "bool", "byte", "char", "int", "long", "half", "bfloat16", "float", "double"}


class CallLog(TorchFunctionMode):
    """Keeps the calls while it is entered. Raises NotPlaceable for those that a capture does not see.

    These are new content of a tensor by `tensor.data = ...`, and at the end, functions that raised an error, which a
    capture does for lack of numbers, and which forward has caught.
    """

    def __init__(self) -> None:
        super().__init__()
        self.events: list[Event] = []
        self._failed = ""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = resolve_name(func) or getattr(func, "__name__", str(func))
        if func == Tensor.data.__set__:  # type: ignore[attr-defined]
            raise NotPlaceable("forward assigns the attribute data of a tensor: change the tensor in place, by copy_")
        try:
            result = func(*args, **(kwargs or {}))
        except Exception:
            self._failed = name
            raise
        if not name.endswith("__get__"):
            self.add(name, (args, kwargs), result)
        return result

    def add(self, name: str, arguments: Any, result: Any) -> None:
        """Keep a call in which there are tensors."""
        leaves, results = pytree.tree_leaves(arguments), pytree.tree_leaves(result)
        if any(isinstance(leaf, Tensor) for leaf in (*leaves, *results)):
            plain = [repr(leaf) for leaf in leaves if isinstance(leaf, bool | int | float | torch.dtype)]
            if name.rpartition(".")[2] in _CASTS:  # a capture calls `to` for all of them
                name, plain = "a cast", []
            forms = [f"{leaf.dtype} {tuple(leaf.shape)}" for leaf in results if isinstance(leaf, Tensor)]
            self.events.append((name, *plain, *forms))

    def end(self, result: Any) -> None:
        """Keep what forward returns."""
        if self._failed:
            raise NotPlaceable(
                f"forward catches an error of {self._failed}, which may need numbers that a capture has not: avoid it"
            )
        plain = [repr(leaf) for leaf in pytree.tree_leaves(result) if isinstance(leaf, PLAIN)]
        self.events.append(("the end, with", *plain))


@contextmanager
def no_fast_paths() -> Iterator[None]:
    """torch's own attention has another path on some devices, with the same result up to rounding."""
    enabled = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(enabled)
