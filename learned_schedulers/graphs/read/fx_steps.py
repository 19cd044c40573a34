"""The operations of a traced torch module as steps, in which joins/ recognises groups, and constants among them."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import torch
from torch import Tensor, fx

from learned_schedulers.graphs.read.fx_nodes import (
    bytes_of,
    computes,
    full_name,
    has_result,
    is_free,
    tensors_of,
    value_of,
)
from learned_schedulers.graphs.read.joins.steps import Operand, Step, Steps
from learned_schedulers.graphs.read.node_costs import Prices

KINDS = {  # of groups -> torch's operator of this kind
    "attention": "scaled_dot_product_attention",
    "softmax": "_softmax",
    "linear": "addmm",
    "group_norm": "native_group_norm",
    "layer_norm": "native_layer_norm",
    "rms_norm": "_fused_rms_norm",
    "gelu": "gelu",
    "mish": "mish",
    "silu": "silu",
    "hardswish": "hardswish",
    "Conv": "convolution",
    "ConvTranspose": "convolution",
    "Gemm": "addmm",
    "MatMul": "mm",
}
_STEPS = {
    "scaled_dot_product_attention": "Attention",
    "bmm": "MatMul",
    "mm": "MatMul",
    "baddbmm": "MatMul",
    "addmm": "Gemm",
    "convolution": "Conv",
    "_native_batch_norm_legit_no_training": "BatchNormalization",
    "_softmax": "Softmax",
    "_safe_softmax": "Softmax",
    "clone": "Copy",
    "_to_copy": "Cast",
    "masked_fill": "Where",
    "where": "Where",
    "mean": "ReduceMean",
    "rsqrt": "Rsqrt",
    "hardtanh": "Clip",
    "clamp": "Clip",
    "clamp_min": "Clip",
    "maximum": "Max",
    "minimum": "Min",
    "hardsigmoid": "HardSigmoid",
    "softplus": "Softplus",
    "isnan": "IsNaN",
    **{
        name.lower(): name
        for name in ("Add", "Sub", "Mul", "Div", "Pow", "Sqrt", "Reciprocal", "Erf", "Tanh", "Sigmoid")
    },
    **{name.lower(): name for name in ("Exp", "Log", "Relu", "Neg")},
}
_FIRST = {"baddbmm": (1, 2, 0), "addmm": (1, 2, 0), "masked_fill": (1, 2, 0)}  # arguments as ONNX has them
_MADE = {  # kinds that make the same tensor every time
    *("arange", "full", "full_like", "zeros", "zeros_like", "ones", "ones_like", "new_zeros", "new_ones", "new_full"),
    *("scalar_tensor", "eye", "linspace", "logspace", "tril_indices", "triu_indices", "empty", "new_empty"),
    *("hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window"),
}


def steps_of(nodes: fx.Graph, prices: Prices, fixed: Set[fx.Node]) -> Steps:
    """The operations of a trace, in its sequence. fixed: nodes that never change (`fixed_nodes`)."""
    operations = numbered(nodes)
    owners: dict[fx.Node, int | None] = {}
    steps: list[Step] = []
    lasting: set[int] = set()
    for node in nodes.nodes:
        if node.op == "output":
            lasting = {number for parent in node.all_input_nodes if (number := owners.get(parent)) is not None}
        elif node in operations:
            steps.append(_step(node, owners, fixed, prices))
            owners[node] = None if node in fixed else operations[node]
        else:
            origin = node.all_input_nodes[0] if node.op == "call_function" and is_free(node) else None
            owners[node] = None if origin is None else owners[origin]
    return Steps(steps, lasting)


def numbered(nodes: fx.Graph) -> dict[fx.Node, int]:
    """The operations of a trace with their numbers."""
    return {node: number for number, node in enumerate(node for node in nodes.nodes if computes(node))}


def fixed_nodes(nodes: fx.Graph) -> frozenset[fx.Node]:
    """Weights, and nodes whose results are the same in every run: what follows from numbers and weights alone.

    Integers of weight-only quantisation, and weights as a wider type, stay: folded, they would take more memory.
    """
    weights: set[fx.Node] = set()  # and what follows from them
    numbers: set[fx.Node] = set()  # what follows from numbers alone
    for node in nodes.nodes:
        parents = node.all_input_nodes
        if node.op == "get_attr" or type(node.meta.get("desc")).__name__ in ("ParamAOTInput", "BufferAOTInput"):
            weights.add(node)
        if node.op != "call_function" or not has_result(node):
            continue
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            continue
        if full_name(node) in _MADE or (parents and all(parent in numbers for parent in parents)):
            numbers.add(node)
        elif parents and all(parent in weights or parent in numbers for parent in parents):
            weights |= set() if computes(node) and _widens(node) else {node}
    return frozenset(weights | numbers)


def _widens(node: fx.Node) -> bool:
    """Whether a result takes more bytes for a number than a parameter of it, or than integers of eight bits."""
    results = [x.element_size() for x in tensors_of(value_of(node))]
    inputs = [x for parent in node.all_input_nodes for x in tensors_of(value_of(parent)) if x.dim()]
    small = [
        x.element_size() for x in inputs if x.is_floating_point() or (x.element_size() == 1 and x.dtype != torch.bool)
    ]
    return max(results, default=0) > min(small, default=8)


def _step(node: fx.Node, owners: dict[fx.Node, int | None], fixed: Set[fx.Node], prices: Prices) -> Step:
    cost, name = prices.cost_of(node), full_name(node)
    arguments: list[Any] = list(node.args)
    if name in _FIRST and len(arguments) >= 3:
        arguments = [arguments[place] for place in _FIRST[name]] + arguments[3:]
    operands = [
        operand
        for argument in arguments
        if isinstance(argument, fx.Node) or (isinstance(argument, int | float) and not isinstance(argument, bool))
        for operand in _operands(argument, owners, fixed)
    ]
    placed = {argument for argument in arguments if isinstance(argument, fx.Node)}
    for parent in node.all_input_nodes:
        operands += _operands(parent, owners, fixed) if parent not in placed else []
    kind = _STEPS.get(name, name)
    tensors = tensors_of(value_of(node))
    shape = tuple(tensors[0].shape) if tensors else ()
    return Step(kind, tuple(operands), shape, cost.flops, cost.read, cost.written, _axes(node, kind))


def _operands(argument: Any, owners: dict[fx.Node, int | None], fixed: Set[fx.Node]) -> list[Operand]:
    if not isinstance(argument, fx.Node):
        return [Operand(None, str(argument), (), None, 0, True, float(argument))]
    owner, constant = owners[argument], argument in fixed
    tensors = tensors_of(value_of(argument))
    return [Operand(owner, argument.name, tuple(x.shape), _strides(x), bytes_of(x), constant) for x in tensors]


def _strides(tensor: Tensor) -> tuple[int, ...] | None:
    return None if tensor.is_contiguous() else tuple(tensor.stride())


def _axes(node: fx.Node, kind: str) -> tuple[int, ...]:
    """The axes of a softmax or a reduction."""
    if kind not in ("Softmax", "ReduceMean") or not isinstance(node.args[0], fx.Node):
        return ()
    rank = value_of(node.args[0]).dim()
    axes: Any = node.args[1] if len(node.args) > 1 else None
    listed = axes if isinstance(axes, list | tuple) else range(rank) if axes is None else [axes]
    return tuple(sorted(int(axis) % max(rank, 1) for axis in listed))
