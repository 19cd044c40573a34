"""A torch module on the meta device -> its graph of aten operations with FLOPs and bytes, without computing anything.

`torch.export` captures the module, and ahead-of-time autograd traces it to aten operations, forward or with gradients
(`aot_export_joint_with_descriptors`; gradients inherit the module paths of their forward operations).

- A node without cost is not an operation: a result that shares its input's memory (views, transposes, slices, detach),
  or one part of several results (getitem), belongs to the operation that computed it, and its readers wait for that.
- The inputs of the module are ready on every device, and so are weights. The bytes of a weight count as `bytes_kept` of
  the first operation that reads it; views of weights are weights.
- FLOPs of matrix products, convolutions, attention and their gradients: formulas of `torch.utils.flop_counter`;
  operations that only move data: none; all remaining operations: one per element of their largest tensor, which is no
  rule for some of them (`unpriced`, cost_rules.py).
- Bytes read: every input tensor, at the size of the view that is read; repeated elements count once.
- Bytes written: every result that anything reads.
"""

from __future__ import annotations

import operator
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, fx, nn
from torch._functorch.aot_autograd import aot_export_joint_with_descriptors
from torch.utils.flop_counter import flop_registry

from learned_schedulers.graphs.read.cost_rules import TORCH_PER_ELEMENT
from learned_schedulers.graphs.read.graph import Graph, Operations, graph
from learned_schedulers.graphs.read.unroll import CARRIED_IN, CARRIED_OUT

_FREE = {"_unsafe_view", "lift_fresh", "lift_fresh_copy"}  # they share memory, although their schemas do not say so
_MOVES = {
    *("cat", "stack", "clone", "_to_copy", "copy", "constant_pad_nd", "embedding", "gather", "index", "index_select"),
    *("slice_backward", "select_backward", "slice_scatter", "select_scatter", "repeat", "flip", "roll"),
    *("full", "full_like", "zeros", "zeros_like", "ones", "ones_like", "new_zeros", "new_full", "scalar_tensor"),
    *("arange", "empty", "empty_like", "new_empty", "new_empty_strided"),
}


class WithLoss(nn.Module):
    """Mean cross-entropy of a module's logits in basic operations: torch's composite has no gradient after export."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, target: Tensor, *inputs: Tensor) -> Tensor:
        scores = torch.log_softmax(self.module(*inputs), -1)
        return -scores.gather(-1, target.unsqueeze(-1)).mean()


def graph_of_module(
    module: nn.Module, inputs: tuple[Tensor, ...], name: str, family: str, variant: str, states: int = 0
) -> Graph:
    """The graph of a module whose parameters and inputs are on the meta device.

    variant: forward (one tensor of logits, as at inference) | training (cross-entropy and all gradients) | cell (one
    step of a recurrent module, whose last `states` inputs and outputs are states). In a cell every state becomes two
    operations without cost, CARRIED_IN and CARRIED_OUT, whose layer is the number of the state.
    """
    return graph_of_fx(traced(module, inputs, variant), name, family, variant, len(inputs) - states if states else None)


def traced(module: nn.Module, inputs: tuple[Tensor, ...], variant: str) -> fx.Graph:
    """The aten operations of a module for `graph_of_fx`; `meta["val"]` of each node holds the shape of its result."""
    if variant == "training":
        module.train()
        for part in module.modules():
            if isinstance(part, nn.modules.batchnorm._BatchNorm):
                part.num_batches_tracked = None  # counting batches is not a part of the network
        target = torch.empty(module(*inputs).shape[:-1], dtype=torch.long, device="meta")
        module, inputs = WithLoss(module), (target, *inputs)
    else:
        module.eval().requires_grad_(False)
    with torch.set_grad_enabled(variant == "training"):
        captured = torch.export.export(module, inputs, strict=False).module()
        with ExitStack() as stack:
            nodes = aot_export_joint_with_descriptors(stack, captured, inputs, decompositions={}).graph_module.graph
    if variant != "training":
        _without_last_copies(nodes)
    return nodes


def _without_last_copies(nodes: fx.Graph) -> None:
    """`torch.export` ends with a copy of each new value into a buffer or input, which forward changes in place."""
    (output,) = (node for node in nodes.nodes if node.op == "output")
    for node in output.all_input_nodes:
        if node.op == "call_function" and kind_of(node) == "copy" and set(node.users) == {output}:
            before, after = (_value(parent) for parent in node.args[:2])
            if (node.args[0].op == "placeholder" or node.args[0] is node.args[1]) and (before.shape, before.dtype) == (
                after.shape,
                after.dtype,
            ):
                node.replace_all_uses_with(node.args[1])
                nodes.erase_node(node)


def graph_of_fx(nodes: fx.Graph, name: str, family: str, variant: str, first_state: int | None = None) -> Graph:
    """The graph of a traced module. first_state: number of the first input that is a state; None without states."""
    owner: dict[fx.Node, int | str | None] = {}  # operation that computed the node; name of a weight; None: an input
    kinds: list[str] = []
    layers: list[str] = []
    costs: list[tuple[float, int, int, int]] = []  # FLOPs; bytes read, written, kept
    edges: list[tuple[int, int]] = []
    weights: set[str] = set()
    inputs = 0

    def operation(kind: str, layer: str, cost: tuple[float, int, int, int]) -> int:
        kinds.append(kind)
        layers.append(layer)
        costs.append(cost)
        return len(kinds) - 1

    for node in nodes.nodes:
        if node.op == "placeholder":
            descriptor = node.meta["desc"]
            owner[node] = None
            if _is_weight(descriptor):
                owner[node] = str(descriptor.target)
            elif type(descriptor).__name__ == "PlainAOTInput":
                if first_state is not None and inputs >= first_state:
                    owner[node] = operation(CARRIED_IN, str(inputs - first_state), (0.0, 0, 0, 0))
                inputs += 1
        elif node.op == "get_attr":  # constant of the module
            owner[node] = str(node.target)
        elif node.op == "call_function" and not _has_result(node):
            continue  # an assertion about shapes, which are fixed since tracing
        elif node.op == "call_function" and _is_free(node):
            owner[node] = owner[node.all_input_nodes[0]]
        elif node.op == "call_function":
            weight_bytes = 0
            parents = []
            for parent in node.all_input_nodes:
                source = owner[parent]
                if isinstance(source, int):
                    parents.append(source)
                elif source is not None and source not in weights:
                    weights.add(source)
                    weight_bytes += _bytes(_value(parent))
            cost = cost_of(node)
            number = operation(cost.kind, _layer(node), (cost.flops, cost.read, cost.written, weight_bytes))
            owner[node] = number
            edges += [(parent, number) for parent in parents]
        elif node.op == "output" and first_state is not None:
            results = list(node.args[0])
            after = results[len(results) - (inputs - first_state) :]
            for state, result in enumerate(after):
                number = operation(CARRIED_OUT, str(state), (0.0, 0, 0, 0))
                source = owner[result]
                edges += [(source, number)] if isinstance(source, int) else []
    flops, read_bytes, written, kept_bytes = np.array(costs, np.float64).reshape(-1, 4).T
    pairs = np.array(edges, np.int64).reshape(-1, 2)
    return graph(
        name,
        family,
        variant,
        Operations(kinds, flops, read_bytes, written, kept_bytes, layers),
        pairs[:, 0],
        pairs[:, 1],
    )[0]


class Cost(NamedTuple):
    """What an operation computes and moves."""

    kind: str
    flops: float
    read: int  # bytes
    written: int  # bytes


def cost_of(node: fx.Node) -> Cost:
    """Cost of a node that is an operation (see `computes`)."""
    read = sum(_bytes(_value(parent)) for parent in node.all_input_nodes)
    return Cost(kind_of(node), _flops(node), read, _written(node))


def computes(node: fx.Node) -> bool:
    """Whether a node of a traced graph is an operation: it is a call with a result and a cost."""
    return node.op == "call_function" and _has_result(node) and not _is_free(node)


def unpriced(nodes: fx.Graph) -> tuple[str, ...]:
    """Names of the operations, in program order, whose FLOPs follow from no rule (cost_rules.py)."""
    return tuple(_full_name(node) for node in nodes.nodes if computes(node) and not _has_rule(node))


def _has_rule(node: fx.Node) -> bool:
    target: Any = node.target
    if not isinstance(target, torch._ops.OpOverload) or target.namespace not in ("aten", "prims"):
        return getattr(target, "_overloadpacket", target) in flop_registry
    return (
        kind_of(node) in _MOVES | TORCH_PER_ELEMENT
        or target._overloadpacket in flop_registry
        or torch.Tag.pointwise in target.tags
        or torch.Tag.reduction in target.tags
    )


def _full_name(node: fx.Node) -> str:
    """aten's operators by their kind, others with their namespace."""
    namespace = getattr(node.target, "namespace", "aten")
    return kind_of(node) if namespace == "aten" else f"{namespace}::{kind_of(node)}"


def _is_weight(descriptor: object) -> bool:
    return type(descriptor).__name__ in ("ParamAOTInput", "BufferAOTInput")


def _has_result(node: fx.Node) -> bool:
    return not isinstance(node.target, torch._ops.OpOverload) or bool(node.target._schema.returns)


def _is_free(node: fx.Node) -> bool:
    if node.target is operator.getitem:
        return True
    return (
        isinstance(node.target, torch._ops.OpOverload)
        and bool(node.all_input_nodes)
        and (node.target.is_view or kind_of(node) in _FREE)
    )


def kind_of(node: fx.Node) -> str:
    """Name of the aten operator without namespace and overload: convolution, addmm."""
    target: Any = node.target
    return target._schema.name.split("::")[-1] if isinstance(target, torch._ops.OpOverload) else str(target.__name__)


def _layer(node: fx.Node) -> str:
    modules = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack") or {}
    path = list(modules.values())[-1][0] if modules else ""
    return path.removeprefix("module").removeprefix(".") if path.split(".")[0] == "module" else path


def _value(node: fx.Node) -> Any:
    """The node's result on the meta device; an attribute is traced without it, so the module's own is used."""
    return node.meta["val"] if "val" in node.meta else getattr(node.graph.owning_module, str(node.target))


def _tensors(value: Any) -> list[Tensor]:
    return [part for part in (value if isinstance(value, list | tuple) else [value]) if isinstance(part, Tensor)]


def _bytes(value: Any) -> int:
    """Bytes of the distinct elements in memory: a dimension of stride 0 repeats the same elements."""
    total = 0
    for tensor in _tensors(value):
        counts = (size for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if stride or not size)
        total += int(np.prod([*counts], dtype=np.int64)) * tensor.element_size()
    return total


def _written(node: fx.Node) -> int:
    value = _value(node)
    if isinstance(value, Tensor):
        return _bytes(value)
    parts = {user.args[1] for user in node.users if user.target is operator.getitem and user.users}
    return sum(_bytes(value[part]) for part in parts)


def _flops(node: fx.Node) -> float:
    if kind_of(node) in _MOVES:
        return 0.0
    value = _value(node)
    args: Any
    args, kwargs = fx.map_arg((node.args, node.kwargs), _value)
    if kind_of(node) == "convolution_backward":
        # torch's formula ignores groups. Each of the two gradients costs as much as the convolution: the number of
        # outputs (of inputs if it is transposed) times the weights that each of them meets.
        grad, x, weight, transposed, mask = args[0], args[1], args[2], args[7], args[10]
        return 2.0 * (x if transposed else grad).numel() * weight[0].numel() * (mask[0] + mask[1])
    formula = flop_registry.get(getattr(node.target, "_overloadpacket", None))
    if formula is not None:
        return float(formula(*args, **kwargs, out_val=value))
    tensors = [tensor for parent in node.all_input_nodes for tensor in _tensors(_value(parent))]
    return float(max((tensor.numel() for tensor in tensors + _tensors(value)), default=0))
