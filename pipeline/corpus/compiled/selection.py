"""All pairs of all programs -> one legal input order for each distinct block, and the corpus in numbers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from learned_schedulers.blocks.dag.bulk import Builder
from learned_schedulers.blocks.dag.dependencies import Kind
from pipeline.corpus.compiled.permutations import kendall_tau_distance, violated

Order = tuple[int, ...]
Observed = Counter[tuple[str, str, Order]]  # program, block_id, input order -> number of pairs
Counts = Counter[tuple[str, str, str]]  # program (empty: all), statistic, bin

_MEMORY = Kind.MEMORY_RAW | Kind.MEMORY_WAR | Kind.MEMORY_WAW
_FLAGS = Kind.FLAG_RAW | Kind.FLAG_WAR | Kind.FLAG_WAW


class Selection(NamedTuple):
    """One order for each block that has a legal one."""

    orders: pd.DataFrame  # table input_orders, sorted by block_id
    counts: Counts


def _cause(kind: Kind) -> str:
    """The kinds of dependencies that an illegal order reverses, in words."""
    names = [
        name
        for name, bits in (("memory", _MEMORY), ("flags", _FLAGS), ("registers", ~(_MEMORY | _FLAGS)))
        if kind & bits
    ]
    return " and ".join(names)


class _Edges(NamedTuple):
    before: np.ndarray
    after: np.ndarray
    kinds: np.ndarray
    n_legal_orders: float


def _dags(blocks: pa.Table) -> dict[str, _Edges]:
    """Every dependency of every block, by block_id, mode `full`."""
    table = Builder("full").build(blocks)
    columns = [table[name].to_pylist() for name in table.schema.names]
    edges_of_block = {}
    for values in zip(*columns, strict=True):
        dag = dict(zip(table.schema.names, values, strict=True))
        edges_of_block[dag["block_id"]] = _Edges(
            np.array(dag["before"] + dag["implied_before"], np.int64),
            np.array(dag["after"] + dag["implied_after"], np.int64),
            np.array(dag["kinds"] + dag["implied_kinds"], np.int64),
            dag["n_legal_orders"],
        )
    return edges_of_block


def _preferred(orders: dict[Order, int]) -> Order:
    """The most frequent order; of equally frequent ones, the smallest."""
    return min(orders, key=lambda order: (-orders[order], order))


def _describe(orders: Iterable[Order], dags: Iterable[_Edges]) -> Counts:
    """Statistics of the selected distinct blocks; distances are sums over blocks."""
    counts: Counts = Counter()
    for order, dag in zip(orders, dags, strict=True):
        n, distance = len(order), kendall_tau_distance(order)
        counts["", "unique_blocks", ""] += 1
        counts["", "length", str(n)] += 1
        if dag.n_legal_orders > 1:
            counts["", "unique_several_legal", ""] += 1
            counts["", "unique_several_legal_moved", ""] += distance > 0
            counts["", "several_legal_length", str(n)] += 1
            counts["", "moved_length", str(n)] += distance > 0
        counts["", "unique_moved", ""] += distance > 0
        counts["", "kendall_distance_total", ""] += distance
        counts["", "instruction_pairs_total", ""] += n * (n - 1) // 2
    return counts


def select(blocks: pa.Table, observed: Observed) -> Selection:
    """For each block the most frequent of its legal input orders; a block without one is omitted, and counted.

    blocks: schema `blocks`, unique in block_id; `observed` may not contain other blocks. An order is legal if it
    reverses no dependency of mode `full`. Pairs are counted by program, and distinct blocks for all programs together.
    """
    dags = _dags(blocks)
    counts: Counts = Counter()
    legal: dict[str, Counter[Order]] = defaultdict(Counter)
    reversed_kinds_of: dict[tuple[str, Order], Kind] = {}
    for (program, block_id, order), number in observed.items():
        dag = dags[block_id]
        if (reversed_kinds := reversed_kinds_of.get((block_id, order))) is None:
            reversed_kinds = violated(order, dag.before, dag.after, dag.kinds)
            reversed_kinds_of[block_id, order] = reversed_kinds
        moved = order != tuple(range(len(order)))
        counts[program, "pairs_moved", ""] += number * moved
        if reversed_kinds:
            counts[program, "pairs_illegal", _cause(reversed_kinds)] += number
        else:
            counts[program, "pairs_legal", ""] += number
            legal[block_id][order] += number
            if dag.n_legal_orders > 1:
                counts[program, "pairs_legal_several", ""] += number
                counts[program, "pairs_legal_several_moved", ""] += number * moved
    selected_orders = {block_id: _preferred(legal[block_id]) for block_id in sorted(legal)}
    counts["", "unique_illegal", ""] = len(dags) - len(selected_orders)
    counts["", "unique_several_input_orders", ""] = sum(len(orders) > 1 for orders in legal.values())
    counts += _describe(selected_orders.values(), (dags[block_id] for block_id in selected_orders))
    frame = pd.DataFrame(
        {
            "block_id": list(selected_orders),
            "input_order": [np.array(order, np.int16) for order in selected_orders.values()],
        }
    )
    return Selection(frame, counts)
