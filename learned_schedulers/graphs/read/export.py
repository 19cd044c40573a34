"""A torch module on the meta device -> its graph of aten operations with FLOPs and bytes, without computing anything.

`torch.export` captures the module, and ahead-of-time autograd traces it to aten operations, forward or with gradients
(`aot_export_joint_with_descriptors`; gradients inherit the module paths of their forward operations).

- A node without cost is not an operation: a result that shares its input's memory (views, transposes, slices, detach),
  or one part of several results (getitem), belongs to the operation that computed it, and its readers wait for that.
- The inputs of the module are ready on every device, and so are weights. The bytes of a weight count as `bytes_kept` of
  the first operation that reads it; views of weights are weights.
- FLOPs and bytes: node_costs.py. Attention and recurrent layers are single operators (whole_operators.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, nullcontext
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, fx, nn
from torch._functorch.aot_autograd import aot_export_joint_with_descriptors
from torch._subclasses import FakeTensor

from learned_schedulers.graphs.read.fx_nodes import (
    bytes_of,
    computes,
    has_result,
    inputs_of,
    is_free,
    kind_of,
    value_of,
)
from learned_schedulers.graphs.read.graph import Graph, Operations, graph
from learned_schedulers.graphs.read.losses import Form, Loss, Outputs, WithLoss, chosen_loss, target_of
from learned_schedulers.graphs.read.node_costs import Prices
from learned_schedulers.graphs.read.recomputed import marked, recompute, waits_for
from learned_schedulers.graphs.read.unroll import CARRIED_IN, CARRIED_OUT
from learned_schedulers.graphs.read.whole_operators import WholeOperators

__all__ = ["Traced", "Way", "computes", "graph_of_fx", "graph_of_module", "kind_of", "traced"]


_SAME_TYPES = {"mm", "addmm", "bmm", "baddbmm", "convolution"}


class Way(NamedTuple):
    """How a module is traced."""

    loss: Loss = Loss()  # of a training step
    attention: bool = True  # as one operator, as fused kernels run it; otherwise its products and softmax
    in_parts: bool = False  # attention, recurrent layers and costs as in the cached graphs of the pipeline


class Traced(NamedTuple):
    """The aten operations of a module; `meta["val"]` of each node holds the shape of its result."""

    nodes: fx.Graph
    loss: Loss | None  # of a training step, with the name of its output
    module: nn.Module  # what was traced: the user's module as `Outputs` or `WithLoss`
    captured: nn.Module  # its parameters and buffers have the names of the weights among the nodes
    inputs: tuple[Tensor, ...]  # positional arguments of `module`: a target, if the loss has one, comes first
    keywords: Mapping[str, Any]  # further arguments of `module`


def graph_of_module(
    module: nn.Module,
    inputs: tuple[Tensor, ...],
    name: str,
    family: str,
    variant: str,
    states: int = 0,
    in_parts: bool = False,
) -> Graph:
    """The graph of a module whose parameters and inputs are on the meta device.

    variant: forward (as at inference) | training (cross-entropy of the first output, and all gradients) | cell (one
    step of a recurrent module, whose last `states` inputs and outputs are states). In a cell every state becomes two
    operations without cost, CARRIED_IN and CARRIED_OUT, whose layer is the number of the state. in_parts: see `Way`.
    """
    nodes = traced(module, inputs, variant, Way(in_parts=in_parts)).nodes
    first_state = len(inputs) - states if states else None
    return graph_of_fx(nodes, name, family, variant, first_state, Prices(in_parts=in_parts))


def traced(
    module: nn.Module,
    inputs: tuple[Tensor, ...],
    variant: str,
    way: Way | None = None,
    keywords: Mapping[str, Any] | None = None,
) -> Traced:
    """The aten operations of a module, whose tensors may be on the meta device, fake, or real. Nothing is computed.

    inputs, keywords: arguments of forward. Raises ValueError for outputs without a loss, and what torch raises.
    """
    way, named = way or Way(), dict(keywords or {})
    loss = None
    if variant == "training":
        module.train()
        for part in module.modules():
            if isinstance(part, nn.modules.batchnorm._BatchNorm):
                part.num_batches_tracked = None  # counting batches is not a part of the network
        result = _result(module, inputs, named)
        loss = chosen_loss(way.loss, result)
        module, inputs = WithLoss(module, loss), (*target_of(loss, result), *inputs)
    else:
        module = Outputs(module.eval().requires_grad_(False))
    training = variant == "training"
    whole = nullcontext() if way.in_parts else WholeOperators(attention=way.attention, saved=training)
    with torch.set_grad_enabled(training):
        with whole, marked():
            captured = torch.export.export(module, inputs, named, strict=False).module()
        _register_constants(captured)
        with ExitStack() as stack:
            joint = aot_export_joint_with_descriptors(stack, captured, inputs, named, decompositions={})
            nodes = joint.graph_module.graph
    if training:
        recompute(nodes)
    else:
        _without_last_copies(nodes)
    if not way.in_parts:
        _without_lifts(nodes)
    _check_types(nodes)
    return Traced(nodes, loss, module, captured, inputs, named)


def _register_constants(module: nn.Module) -> None:
    """Let real tensors that are mere attributes be buffers, so that the trace makes them fake, too."""
    for part in list(module.modules()):
        for name, value in list(vars(part).items()):
            if isinstance(value, Tensor) and not value.is_meta and not isinstance(value, FakeTensor):
                delattr(part, name)
                part.register_buffer(name, value.detach())


def _result(module: nn.Module, inputs: tuple[Tensor, ...], keywords: Mapping[str, Any]) -> Any:
    """The result of forward, or tensors of its form without content; of a real module torch.export finds the form."""
    tensors = [*module.parameters(), *inputs]
    if any(tensor.is_meta or isinstance(tensor, FakeTensor) for tensor in tensors) or not tensors:
        return module(*inputs, **keywords)
    forms: dict[str, Form] = {}
    torch.export.export(Outputs(module, forms), inputs, dict(keywords), strict=False)
    return {name: torch.empty(shape, dtype=dtype, device=tensors[0].device) for name, (shape, dtype) in forms.items()}


def _check_types(nodes: fx.Graph) -> None:
    """Raises ValueError for products of different types, which the meta device takes and no other does."""
    for node in nodes.nodes:
        if node.op == "call_function" and kind_of(node) in _SAME_TYPES:
            kinds = {str(tensor.dtype).removeprefix("torch.") for tensor in inputs_of(node)}
            if len(kinds) > 1:
                raise ValueError(
                    f"{kind_of(node)} multiplies tensors of different types, {' and '.join(sorted(kinds))}: expected "
                    "scalar type of its weights"
                )


def _without_last_copies(nodes: fx.Graph) -> None:
    """`torch.export` ends with a copy of each new value into a buffer or input, which forward changes in place."""
    (output,) = (node for node in nodes.nodes if node.op == "output")
    for node in output.all_input_nodes:
        if node.op == "call_function" and kind_of(node) == "copy" and set(node.users) == {output}:
            before, after = (value_of(parent) for parent in node.args[:2])
            if (node.args[0].op == "placeholder" or node.args[0] is node.args[1]) and (before.shape, before.dtype) == (
                after.shape,
                after.dtype,
            ):
                node.replace_all_uses_with(node.args[1])
                nodes.erase_node(node)


def _without_lifts(nodes: fx.Graph) -> None:
    """`torch.export` copies each constant that forward makes of plain numbers; no operation changes it in place."""
    for node in nodes.nodes:
        if node.op == "call_function" and kind_of(node) == "clone":
            descriptor = node.all_input_nodes[0].meta.get("desc")
            if _is_weight(descriptor) and str(descriptor.target).rpartition(".")[2].startswith("lifted_tensor_"):
                node.replace_all_uses_with(node.all_input_nodes[0])
                nodes.erase_node(node)


def graph_of_fx(
    nodes: fx.Graph,
    name: str,
    family: str,
    variant: str,
    first_state: int | None = None,
    prices: Prices | None = None,
) -> Graph:
    """The graph of a traced module. first_state: number of the first input that is a state; None without states."""
    prices = prices or Prices()
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
        elif node.op == "call_function" and not has_result(node):
            continue  # an assertion about shapes, which are fixed since tracing
        elif node.op == "call_function" and is_free(node):
            owner[node] = owner[node.all_input_nodes[0]]
        elif node.op == "call_function":
            weight_bytes = 0
            parents = []
            parents += [source for other in waits_for(node) if isinstance(source := owner[other], int)]
            for parent in node.all_input_nodes:
                source = owner[parent]
                if isinstance(source, int):
                    parents.append(source)
                elif source is not None and source not in weights:
                    weights.add(source)
                    weight_bytes += bytes_of(value_of(parent))
            cost = prices.cost_of(node)
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


def _is_weight(descriptor: object) -> bool:
    return type(descriptor).__name__ in ("ParamAOTInput", "BufferAOTInput")


def _layer(node: fx.Node) -> str:
    modules = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack") or {}
    path = list(modules.values())[-1][0] if modules else ""
    return path.removeprefix("module").removeprefix(".") if path.split(".")[0] == "module" else path
