"""Whether forward computes the same while torch exports it as otherwise, for inputs with content.

Some forwards ask for values of tensors, such as whether a mask is empty, and leave it out while they are exported. What
they compute then should be the same; here it is compared.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch._export.utils import _compiling_state_context
from torch.utils import _pytree as pytree

from learned_schedulers.graphs.plans.call_form import Call, NotPlaceable, bound, with_dataclasses

_TOLERANCE = {torch.float64: 1e-8, torch.float32: 1e-3}  # of the largest number; half precision: a twentieth
_HALF = 0.05


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
