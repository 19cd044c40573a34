"""Whether forward computes by itself what it computes in its capture.

By tensors without content: Python code may ask where a tensor is and of which class; autocast changes types on its
device alone. Both show in the calls of torch's functions. For inputs with content: some forwards ask for values of
tensors, such as whether a mask is empty, and leave it out while they are exported; both ways are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from itertools import zip_longest
from typing import Any

import torch
from torch import Tensor, nn
from torch._export.utils import _compiling_state_context
from torch._subclasses import FakeTensorMode
from torch.utils import _pytree as pytree

from learned_schedulers.graphs.plans.call_form import Call, NotPlaceable, bound, with_dataclasses
from learned_schedulers.graphs.plans.call_log import CallLog, Event, no_fast_paths
from learned_schedulers.graphs.plans.module_capture import like, on_device

_TOLERANCE = {torch.float64: 1e-8, torch.float32: 1e-3}  # of the largest number; half precision: a twentieth
_HALF = 0.05


def check_calls(module: nn.Module, call: Call, expected: Sequence[Event], device: str) -> None:
    """Raises NotPlaceable if forward calls other functions than in its capture: on `meta` or another kind of device."""
    present = _events(module, call, device)
    for first, second in zip_longest(expected, present, fillvalue=("nothing",)):
        if first != second:
            raise NotPlaceable(
                f"forward does other things on the device {device} than in its capture: {' '.join(second)} instead of "
                f"{' '.join(first)}; it must not ask where its tensors are or of which class, nor use torch.autocast"
            )


def _events(module: nn.Module, call: Call, device: str) -> list[Event]:
    with no_fast_paths(), FakeTensorMode(allow_non_fake_inputs=True) if device != "meta" else nullcontext():
        copy = on_device(module, device)
        inputs = [like(tensor, device) for tensor in call.tensors]
        inputs = [tensor.clone() if tensor.requires_grad else tensor for tensor in inputs]  # leaves cannot change
        args, kwargs = bound(copy.forward, call.arguments(inputs))
        with CallLog() as log:
            log.end(copy(*args, **kwargs))
    return log.events


def check_exported(module: nn.Module, call: Call) -> None:
    """Run forward twice, once as if it were exported. Raises NotPlaceable if results differ by more than rounding."""
    usual = _results(module, call)
    with _compiling_state_context():
        exported = _results(module, call)
    if len(usual) != len(exported) or not all(map(_close, usual, exported)):
        raise NotPlaceable(
            "forward needs the value of a tensor, and computes something else while it is exported "
            "(torch.compiler.is_exporting): use torch.where for a branch, and plain numbers for sizes"
        )


def _results(module: nn.Module, call: Call) -> list[Any]:
    """Leaves of a result, and then the buffers that forward has changed; the module's own stay as they are."""
    buffers = {name: tensor.clone() for name, tensor in module.named_buffers()}
    tensors = [tensor.detach().clone() for tensor in call.tensors]
    args, kwargs = bound(module.forward, call.arguments(tensors))
    with torch.no_grad():
        result = torch.func.functional_call(module, buffers, args, kwargs)
    return [*pytree.tree_leaves(with_dataclasses(result)), *buffers.values(), *tensors]


def _close(first: Any, second: Any) -> bool:
    if not isinstance(first, Tensor) or not isinstance(second, Tensor):
        return type(first) is type(second) and bool(first == second)
    if first.shape != second.shape or first.dtype != second.dtype:
        return False
    if not first.is_floating_point() or not first.numel():
        return torch.equal(first, second)
    share = _TOLERANCE.get(first.dtype, _HALF)
    scale = float(first.nan_to_num(0.0, 0.0, 0.0).abs().max())
    return torch.allclose(first, second, rtol=0.0, atol=share * scale, equal_nan=True)
