"""Whether forward does on a device what it does on the one where it is captured, by tensors without content.

Python code may ask where a tensor is, and autocast changes types on its device alone. Both show in the calls of torch's
functions: their names, plain arguments, and the sizes and types of their results. No number is computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses import FakeTensorMode
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils import _pytree as pytree

from pipeline.graphs.plans.call_form import Call, NotPlaceable, bound
from pipeline.graphs.plans.module_capture import like, on_device

Event = tuple[str, ...]


class _Log(TorchFunctionMode):
    """The calls of torch's functions."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[Event] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = resolve_name(func) or getattr(func, "__name__", str(func))
        if not name.endswith("__get__"):
            leaves = pytree.tree_leaves((args, kwargs))
            plain = [repr(leaf) for leaf in leaves if isinstance(leaf, bool | int | float | torch.dtype)]
            if not any(isinstance(leaf, Tensor) for leaf in pytree.tree_leaves((args, kwargs, result))):
                return result
            results = [
                f"{leaf.dtype} {tuple(leaf.shape)}" for leaf in pytree.tree_leaves(result) if isinstance(leaf, Tensor)
            ]
            self.events.append((name, *plain, *results))
        return result


def check_device(module: nn.Module, call: Call, captured_on: str, device: str) -> None:
    """Raises NotPlaceable if forward calls other functions of torch on a kind of device than where it is captured."""
    with _no_fast_paths():
        expected, present = (_events(module, call, kind) for kind in (captured_on, device))
    for first, second in zip([*expected, ("nothing",)], [*present, ("nothing",)], strict=False):
        if first != second:
            raise NotPlaceable(
                f"forward does other things on the device {device} than on {captured_on}, where it is captured: "
                f"{' '.join(second)} instead of {' '.join(first)}; it must not ask where its tensors are, nor use "
                "torch.autocast"
            )


def _events(module: nn.Module, call: Call, device: str) -> list[Event]:
    with FakeTensorMode(allow_non_fake_inputs=True), _Log() as log:
        copy = on_device(module, device)
        inputs = [like(tensor, device) for tensor in call.tensors]
        inputs = [tensor.clone() if tensor.requires_grad else tensor for tensor in inputs]  # leaves cannot change
        args, kwargs = bound(copy.forward, call.arguments(inputs))
        log.events.clear()
        copy(*args, **kwargs)
    return log.events


@contextmanager
def _no_fast_paths() -> Iterator[None]:
    """torch's own attention has another path on some devices, with the same result up to rounding."""
    enabled = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(enabled)
