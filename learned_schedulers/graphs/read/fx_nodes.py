"""Nodes of a traced torch module: which are operations, their names, and the values that they read and compute."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import torch
from torch import Tensor, fx

_FREE = {"_unsafe_view", "lift_fresh", "lift_fresh_copy"}  # they share memory, although their schemas do not say so
_FUSED = {  # torch's names of attention on some kind of device -> the operation
    **dict.fromkeys(
        (
            "_scaled_dot_product_flash_attention_for_cpu",
            "_scaled_dot_product_flash_attention",
            "_scaled_dot_product_efficient_attention",
            "_scaled_dot_product_cudnn_attention",
        ),
        "scaled_dot_product_attention",
    )
}


def computes(node: fx.Node) -> bool:
    """Whether a node of a traced graph is an operation: it is a call with a result and a cost."""
    return node.op == "call_function" and has_result(node) and not is_free(node)


def is_backward(node: fx.Node) -> bool:
    """Whether a node computes gradients."""
    return str(node.meta.get("partitioner_tag", "")).endswith("backward")


def has_result(node: fx.Node) -> bool:
    """Whether a call has a result; an assertion has none."""
    return not isinstance(node.target, torch._ops.OpOverload) or bool(node.target._schema.returns)


def is_free(node: fx.Node) -> bool:
    """Whether a call costs nothing, because its result is a part or a view of its input."""
    if node.target is operator.getitem:
        return True
    return (
        isinstance(node.target, torch._ops.OpOverload)
        and bool(node.all_input_nodes)
        and (node.target.is_view or kind_of(node) in _FREE)
    )


def kind_of(node: fx.Node) -> str:
    """Name of the operator without namespace and overload: convolution, addmm."""
    target: Any = node.target
    kind = target._schema.name.split("::")[-1] if isinstance(target, torch._ops.OpOverload) else str(target.__name__)
    return _FUSED.get(kind, kind)


def full_name(node: fx.Node) -> str:
    """aten's operators and those of this package by their kind, others with their namespace: torchvision::nms."""
    namespace = getattr(node.target, "namespace", "aten")
    return kind_of(node) if namespace in ("aten", "learned_schedulers") else f"{namespace}::{kind_of(node)}"


def value_of(node: fx.Node) -> Any:
    """The node's result on the meta device; an attribute is traced without it, so the module's own is used."""
    return node.meta["val"] if "val" in node.meta else getattr(node.graph.owning_module, str(node.target))


def tensors_of(value: Any) -> list[Tensor]:
    """The tensors of a result, which may be a tensor or a list."""
    return [part for part in (value if isinstance(value, list | tuple) else [value]) if isinstance(part, Tensor)]


def inputs_of(node: fx.Node) -> list[Tensor]:
    """All tensors that a node reads."""
    return [tensor for parent in node.all_input_nodes for tensor in tensors_of(value_of(parent))]


def bytes_of(value: Any) -> int:
    """Bytes of the distinct elements in memory: a dimension of stride 0 repeats the same elements."""
    total = 0
    for tensor in tensors_of(value):
        counts = (size for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if stride or not size)
        total += int(np.prod([*counts], dtype=np.int64)) * tensor.element_size()
    return total


def written_of(node: fx.Node) -> int:
    """Bytes of the results that anything reads."""
    value = value_of(node)
    if isinstance(value, Tensor):
        return bytes_of(value)
    parts = {user.args[1] for user in node.users if user.target is operator.getitem and user.users}
    return sum(bytes_of(value[part]) for part in parts)
