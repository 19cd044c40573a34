"""What a search asks of a machine, in order or not: numba takes the kernel that belongs to the type of the block.

The Python functions are names alone; they run in functions compiled by numba.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import types
from numba.extending import overload

from pipeline.blocks.latency import in_order, out_of_order, packing
from pipeline.blocks.schedulers.on_machine import bounds, graph, out_of_order_bounds
from pipeline.blocks.schedulers.on_machine.graph import Graph

Costs = in_order.Costs | packing.Costs
Block = in_order.Block | packing.Block
Memory = in_order.Pipeline | np.ndarray  # what a kernel works in


def memory(costs: Costs) -> Memory:
    """Working memory for blocks of these costs."""
    if isinstance(costs, in_order.Costs):
        return in_order.idle(costs.held.shape[2], len(costs.groups), costs.latencies.shape[1])
    return out_of_order.scratch()


def row_of(costs: Costs, b: int) -> Block:
    """Block b of a batch: a row of its costs."""
    raise NotImplementedError


def graph_of(block: Block, precedes: np.ndarray) -> Graph:
    """What holds in every legal order of a block. precedes: (n, n) bool."""
    raise NotImplementedError


def bound_of(block: Block, known: Graph) -> int:
    """Cycles that no legal order goes below."""
    raise NotImplementedError


def makespan_of(block: Block, order: np.ndarray, memory: Memory) -> int:
    """Cycles of an order (n,), a permutation."""
    raise NotImplementedError


def mean_issue(memory: Memory, n: int) -> float:
    """Mean cycle of issue in the order that was timed last, of n instructions."""
    raise NotImplementedError


def _is_in_order(block: types.NamedTuple) -> bool:
    return block.instance_class in (in_order.Costs, in_order.Block)


@overload(row_of, strict=False)  # the names are the same; annotations are not compared
def _row_of(costs: types.NamedTuple, b: types.Integer) -> Callable:
    if _is_in_order(costs):
        return lambda costs, b: graph.block_of(costs, b)
    return lambda costs, b: packing.Block(costs.instructions[b], costs.machine)


@overload(graph_of, strict=False)  # the names are the same; annotations are not compared
def _graph_of(block: types.NamedTuple, precedes: types.Array) -> Callable:
    if _is_in_order(block):
        return lambda block, precedes: graph.graph(block, precedes)
    return lambda block, precedes: out_of_order_bounds.graph(block, precedes)


@overload(bound_of, strict=False)  # the names are the same; annotations are not compared
def _bound_of(block: types.NamedTuple, known: types.NamedTuple) -> Callable:
    if _is_in_order(block):
        return lambda block, known: bounds.root_bound(block, known)
    return lambda block, known: out_of_order_bounds.root_bound(block, known)


@overload(makespan_of, strict=False)  # the names are the same; annotations are not compared
def _makespan_of(block: types.NamedTuple, order: types.Array, memory: types.Type) -> Callable:
    if _is_in_order(block):
        return lambda block, order, memory: in_order.makespan_of(block, order, memory)
    return lambda block, order, memory: out_of_order.makespan_of(block, order, memory)


@overload(mean_issue, strict=False)  # the names are the same; annotations are not compared
def _mean_issue(memory: types.Type, n: types.Integer) -> Callable:
    if isinstance(memory, types.BaseTuple):
        return lambda memory, n: memory.issue.mean()
    return lambda memory, n: out_of_order.issues(memory, n).mean()
