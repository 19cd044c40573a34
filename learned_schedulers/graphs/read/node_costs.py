"""Costs of the operations of a traced torch module: FLOPs, and bytes that they read and write.

- FLOPs of matrix products, convolutions and their gradients: formulas of `torch.utils.flop_counter`; further formulas
  in torch_formulas.py; operations that only move data: none; all remaining operations: one per element of their largest
  tensor, which is no rule for some of them (`unpriced`, cost_rules.py).
- Bytes read: what is touched of every input tensor, at the size of the view that is read; repeated elements count once.
- Bytes written: every result that anything reads.
- An operator with graphs of its own (torch's higher-order operators) is one operation: torch.cond as its more expensive
  branch, a scan and a map as all of their steps, flex attention as attention with its functions for each pair of query
  and key, and each other one, such as a while_loop, as a single run of its graphs (`HOW_PRICED`).
- A user's costs (own_costs.py) come first.
- `in_parts`: as the cached graphs of the pipeline were priced, and as the fitted cost of fusion expects it: without
  torch_formulas.py, and all bytes of each input tensor are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any, NamedTuple

import torch
from torch import fx
from torch.utils.flop_counter import flop_registry

from learned_schedulers.graphs.read.cost_rules import TORCH_PER_ELEMENT
from learned_schedulers.graphs.read.fx_nodes import (
    bytes_of,
    computes,
    full_name,
    inputs_of,
    kind_of,
    tensors_of,
    value_of,
    written_of,
)
from learned_schedulers.graphs.read.own_costs import OwnCost
from learned_schedulers.graphs.read.torch_formulas import FORMULAS, MOVES, PRODUCTS, Call, pairs_of, touched

_MOVES = {
    *("cat", "stack", "clone", "_to_copy", "copy", "constant_pad_nd", "embedding", "gather", "index", "index_select"),
    *("slice_backward", "select_backward", "slice_scatter", "select_scatter", "repeat", "flip", "roll"),
    *("full", "full_like", "zeros", "zeros_like", "ones", "ones_like", "new_zeros", "new_full", "scalar_tensor"),
    *("arange", "empty", "empty_like", "new_empty", "new_empty_strided"),
}
_ROWS = {"scan": 2, "map_impl": 1, "associative_scan": 1}  # argument whose tensors have a row for each step
HOW_PRICED = {  # operators with graphs of their own; all others as a single run of these
    "cond": "its more expensive branch",
    **dict.fromkeys(_ROWS, "all of its steps"),
    **dict.fromkeys(
        ("while_loop", "while_loop_stack_output"), "a single step, because the number of steps depends on data"
    ),
    **dict.fromkeys(
        ("flex_attention", "flex_attention_backward"),
        "attention of every query to every key, with its functions for each pair, as if no mask left any out",
    ),
}


class Cost(NamedTuple):
    """What an operation computes and moves."""

    kind: str
    flops: float
    read: int  # bytes
    written: int  # bytes


class Prices:
    """Costs of nodes that are operations (see `computes`)."""

    def __init__(self, own_costs: Mapping[str, OwnCost] | None = None, in_parts: bool = False) -> None:
        self._own_costs = own_costs or {}
        self._in_parts = in_parts

    def cost_of(self, node: fx.Node) -> Cost:
        """Cost of a node. Raises ValueError of a user's formula that has no value."""
        parts, written = [] if self._in_parts else _parts_of(node), written_of(node)
        if parts and full_name(node) not in PRODUCTS:
            flops, moved = self._of_parts(node, parts)
            cost = Cost(kind_of(node), flops, max(0, moved - written), written)
        else:
            flops = self._flops(node)
            if parts:  # of flex attention
                flops += pairs_of(_call(node)) * sum(self._sum(part.graph)[0] for part in parts)
            cost = Cost(kind_of(node), flops, self._read(node), written)
        own_cost = self._own_costs.get(full_name(node))
        if own_cost is None:
            return cost
        inputs = [tuple(tensor.shape) for tensor in inputs_of(node)]
        results = [tuple(tensor.shape) for tensor in tensors_of(value_of(node))]
        values = {key: own_cost.of(key, inputs, results) for key in own_cost.formulas}
        return Cost(
            cost.kind,
            values.get("flops", cost.flops),
            int(values.get("read", cost.read)),
            int(values.get("written", cost.written)),
        )

    def has_rule(self, node: fx.Node) -> bool:
        """Whether the FLOPs of a node follow from a rule."""
        own_cost = self._own_costs.get(full_name(node))
        if own_cost is not None and "flops" in own_cost.formulas:
            return True
        if not self._in_parts and full_name(node) in {*PRODUCTS, *FORMULAS, *MOVES}:
            return True
        target: Any = node.target
        if not isinstance(target, torch._ops.OpOverload) or target.namespace not in ("aten", "prims"):
            return getattr(target, "_overloadpacket", target) in flop_registry
        return (
            kind_of(node) in _MOVES | TORCH_PER_ELEMENT
            or target._overloadpacket in flop_registry
            or torch.Tag.pointwise in target.tags
            or torch.Tag.reduction in target.tags
        )

    def unpriced(self, nodes: fx.Graph, fixed: Set[fx.Node] = frozenset()) -> tuple[str, ...]:
        """Names of the operations, in program order and also within others, whose FLOPs follow from no rule.

        fixed: nodes that do not count, because they never change.
        """
        names: list[str] = []
        for node in (node for node in nodes.nodes if computes(node) and node not in fixed):
            parts = [] if self._in_parts or full_name(node) in self._own_costs else _parts_of(node)
            for part in parts:
                names += self.unpriced(part.graph)
            if not parts and not self.has_rule(node):
                names.append(full_name(node))
        return tuple(names)

    def guessed(self, nodes: fx.Graph, fixed: Set[fx.Node] = frozenset()) -> dict[str, float]:
        """FLOPs of all operations together that have no rule, by name; those within control flow are not in it."""
        sums: dict[str, float] = {}
        for node in nodes.nodes:
            counts = computes(node) and node not in fixed and not self.has_rule(node)
            if counts and (self._in_parts or not _parts_of(node)):
                sums[full_name(node)] = sums.get(full_name(node), 0.0) + self.cost_of(node).flops
        return sums

    def number_type(self, node: fx.Node) -> str:
        """The type of the numbers that a product multiplies (float32, bfloat16); empty for all other operations."""
        target = getattr(node.target, "_overloadpacket", node.target)
        is_product = full_name(node) in {*PRODUCTS, *self._own_costs} or target in flop_registry
        if not is_product:
            inner = (
                self.number_type(inside) for part in _parts_of(node) for inside in filter(computes, part.graph.nodes)
            )
            return next(filter(None, inner), "")
        tensors = [tensor for tensor in inputs_of(node) if tensor.dim()] if is_product else []
        if not tensors:
            return ""
        return str(tensors[0].dtype).removeprefix("torch.").removeprefix("q").replace("uint8", "int8")

    def _of_parts(self, node: fx.Node, parts: list[fx.GraphModule]) -> tuple[float, int]:
        """FLOPs and bytes moved of an operator by its graphs."""
        costs = [self._sum(part.graph) for part in parts]
        if kind_of(node) == "cond":
            return max(costs)
        steps = 1
        if kind_of(node) in _ROWS:
            rows: Any = node.args[_ROWS[kind_of(node)]]
            steps = value_of(rows[0]).shape[0]
        return sum(flops for flops, _ in costs) * steps, sum(moved for _, moved in costs) * steps

    def _sum(self, nodes: fx.Graph) -> tuple[float, int]:
        costs = [self.cost_of(node) for node in nodes.nodes if computes(node)]
        return sum(cost.flops for cost in costs), sum(cost.read + cost.written for cost in costs)

    def _read(self, node: fx.Node) -> int:
        if self._in_parts:
            return sum(bytes_of(value_of(parent)) for parent in node.all_input_nodes)
        return touched(full_name(node), _call(node))

    def _flops(self, node: fx.Node) -> float:
        kind = kind_of(node)
        if kind in _MOVES:
            return 0.0
        if not self._in_parts:
            formula = PRODUCTS.get(full_name(node)) or FORMULAS.get(full_name(node))
            if formula is not None:
                return float(formula(_call(node)))
            if full_name(node) in MOVES:
                return 0.0
        value = value_of(node)
        args: Any
        args, kwargs = fx.map_arg((node.args, node.kwargs), value_of)
        if kind == "convolution_backward":
            # torch's formula ignores groups. Each of the two gradients costs as much as the convolution: the number of
            # outputs (of inputs if it is transposed) times the weights that each of them meets.
            grad, x, weight, transposed, mask = args[0], args[1], args[2], args[7], args[10]
            return 2.0 * (x if transposed else grad).numel() * weight[0].numel() * (mask[0] + mask[1])
        registered = flop_registry.get(getattr(node.target, "_overloadpacket", node.target))
        tensors = inputs_of(node) + tensors_of(value)
        if registered is not None:
            numbers = 4 if any(tensor.is_complex() for tensor in tensors) and not self._in_parts else 1
            return numbers * float(registered(*args, **kwargs, out_val=value))
        return float(max((tensor.numel() for tensor in tensors), default=0))


def _call(node: fx.Node) -> Call:
    args: Any = fx.map_arg(node.args, value_of)
    keywords: Any = fx.map_arg(node.kwargs, value_of)
    return Call((*args, *keywords.values()), value_of(node), inputs_of(node))


def with_parts(nodes: fx.Graph) -> list[str]:
    """Kinds of the operations that have graphs of their own, also within these."""
    kinds: list[str] = []
    for node in filter(computes, nodes.nodes):
        parts = _parts_of(node)
        kinds += [kind_of(node)] if parts else []
        for part in parts:
            kinds += with_parts(part.graph)
    return kinds


def _parts_of(node: fx.Node) -> list[fx.GraphModule]:
    """The graphs that an operator runs."""
    values = [value_of(parent) for parent in node.all_input_nodes if parent.op == "get_attr"]
    return [value for value in values if isinstance(value, fx.GraphModule)]
