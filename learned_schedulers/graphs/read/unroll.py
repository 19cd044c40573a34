"""A long recurrent graph from one of its steps: the step is repeated, and states join each step with the next."""

from __future__ import annotations

import numpy as np

from learned_schedulers.graphs.read.graph import Graph, Operations, graph

CARRIED_IN, CARRIED_OUT = "carried_in", "carried_out"  # operations of a cell that stand for a state's input and output


def without_states(cell: Graph) -> tuple[Graph, np.ndarray]:
    """The cell without the operations that stand for states, and its state edges, (k, 2) int64.

    A state edge (i, j) means that operation j of a step needs the result of operation i of the previous step.
    Raises ValueError if a state does not have exactly one input and one output.
    """
    kinds, numbers = np.array(cell.kinds, object), np.array(cell.layers, object)
    sources, targets = cell.children.sources, cell.children.targets
    entering, leaving = kinds == CARRIED_IN, kinds == CARRIED_OUT
    edges = []
    for state in sorted(set(numbers[entering | leaving])):
        ends = np.flatnonzero(entering & (numbers == state)), np.flatnonzero(leaving & (numbers == state))
        if len(ends[0]) != 1 or len(ends[1]) != 1:
            raise ValueError(f"graph {cell.name}: state {state} does not enter the cell once and leave it once")
        producers, readers = sources[targets == ends[1][0]], targets[sources == ends[0][0]]
        # A state that a step passes on without reading it would need edges over more than one step.
        if entering[producers].any() or leaving[readers].any():
            raise ValueError(f"graph {cell.name}: state {state} passes through the cell without an operation")
        edges += [(i, j) for i in producers.tolist() for j in readers.tolist()]
    plain = np.flatnonzero(~(entering | leaving))
    number = np.full(len(cell), -1, np.int64)
    number[plain] = np.arange(len(plain))
    inner = (number[sources] >= 0) & (number[targets] >= 0)
    bare, order = graph(
        cell.name,
        cell.family,
        cell.variant,
        _repeated(cell, plain, 1),
        number[sources[inner]],
        number[targets[inner]],
    )
    position = np.argsort(order)
    return bare, position[number[np.array(edges, np.int64).reshape(-1, 2)]]


def unroll(cell: Graph, state_edges: np.ndarray, steps: int, variant: str = "forward") -> Graph:
    """`steps` copies of the cell, joined by its state edges, (k, 2); operation i of step t has number t x n + i.

    Only the operations of the first step have weights. O(steps x (operations + edges)). Raises ValueError for less
    than one step.
    """
    if steps < 1:
        raise ValueError(f"{steps} steps of graph {cell.name}; there must be at least one")
    n = len(cell)
    step = n * np.arange(steps)[:, None]
    sources, targets = cell.children.sources, cell.children.targets
    pairs = np.asarray(state_edges, np.int64).reshape(-1, 2)
    return graph(
        f"{cell.name}_{steps}_steps",
        cell.family,
        variant,
        _repeated(cell, np.arange(n), steps),
        np.r_[(step + sources).ravel(), (step[:-1] + pairs[:, 0]).ravel()],
        np.r_[(step + targets).ravel(), (step[1:] + pairs[:, 1]).ravel()],
    )[0]


def _repeated(cell: Graph, chosen: np.ndarray, steps: int) -> Operations:
    weight_bytes = np.tile(cell.bytes_kept[chosen], steps)
    weight_bytes[len(chosen) :] = 0
    return Operations(
        kinds=[cell.kinds[i] for i in chosen] * steps,
        flops=np.tile(cell.flops[chosen], steps),
        bytes_read=np.tile(cell.bytes_read[chosen], steps),
        bytes_written=np.tile(cell.bytes_written[chosen], steps),
        bytes_kept=weight_bytes,
        layers=[cell.layers[i] for i in chosen] * steps,
        seconds=np.tile(cell.seconds[chosen], steps) if len(cell.seconds) else None,
    )
