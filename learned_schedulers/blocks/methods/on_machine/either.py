"""Functions of a search on a machine, in order or out of order: the type of the block selects the kernel.

The Python functions are only names; numba replaces them in the functions that it compiles.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import types
from numba.extending import overload

from learned_schedulers.blocks.methods.on_machine import bounds, graph, out_of_order_bounds
from learned_schedulers.blocks.methods.on_machine.graph import Graph
from learned_schedulers.blocks.processors import in_order, out_of_order, packing

Costs = in_order.Costs | packing.Costs
Block = in_order.Block | packing.Block
Memory = in_order.Pipeline | np.ndarray  # working memory of a kernel


def memory(costs: Costs) -> Memory:
    """Working memory for blocks of these costs."""
    if isinstance(costs, in_order.Costs):
        return in_order.new_pipeline(costs.unit_cycles.shape[2], len(costs.groups), costs.latencies.shape[1])
    return out_of_order.scratch()


def row_of(costs: Costs, b: int) -> Block:
    """Block b of a batch: a row of its costs."""
    raise NotImplementedError


def graph_of(block: Block, precedes: np.ndarray) -> Graph:
    """Facts that hold in every legal order of a block. precedes: (n, n) bool."""
    raise NotImplementedError


def bound_of(block: Block, relations: Graph) -> int:
    """A lower bound on the cycles of any legal order. relations: from `graph_of`."""
    raise NotImplementedError


def makespan_of(block: Block, order: np.ndarray, memory: Memory) -> int:
    """Cycles of an order (n,), a permutation."""
    raise NotImplementedError


def mean_issue(memory: Memory, n: int) -> float:
    """Mean cycle of issue in the last order that was timed, of n instructions."""
    raise NotImplementedError


def _is_in_order(block: types.NamedTuple) -> bool:
    return block.instance_class in (in_order.Costs, in_order.Block)


@overload(row_of, strict=False)  # the parameters have the same names; numba does not compare annotations
def _row_of(costs: types.NamedTuple, b: types.Integer) -> Callable:
    if _is_in_order(costs):
        return lambda costs, b: in_order.block_of(costs, b)
    return lambda costs, b: packing.Block(costs.instructions[b], costs.machine)


@overload(graph_of, strict=False)  # the parameters have the same names; numba does not compare annotations
def _graph_of(block: types.NamedTuple, precedes: types.Array) -> Callable:
    if _is_in_order(block):
        return lambda block, precedes: graph.graph(block, precedes)
    return lambda block, precedes: out_of_order_bounds.graph(block, precedes)


@overload(bound_of, strict=False)  # the parameters have the same names; numba does not compare annotations
def _bound_of(block: types.NamedTuple, relations: types.NamedTuple) -> Callable:
    if _is_in_order(block):
        return lambda block, relations: bounds.root_bound(block, relations)
    return lambda block, relations: out_of_order_bounds.root_bound(block, relations)


@overload(makespan_of, strict=False)  # the parameters have the same names; numba does not compare annotations
def _makespan_of(block: types.NamedTuple, order: types.Array, memory: types.Type) -> Callable:
    if _is_in_order(block):
        return lambda block, order, memory: in_order.makespan_of(block, order, memory)
    return lambda block, order, memory: out_of_order.makespan_of(block, order, memory)


@overload(mean_issue, strict=False)  # the parameters have the same names; numba does not compare annotations
def _mean_issue(memory: types.Type, n: types.Integer) -> Callable:
    if isinstance(memory, types.BaseTuple):
        return lambda memory, n: memory.issue.mean()
    return lambda memory, n: out_of_order.issues(memory, n).mean()
