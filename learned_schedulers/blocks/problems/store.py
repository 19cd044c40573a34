"""Blocks of all lengths in flat arrays, which become batches of one length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.blocks.dag.dependencies import Conflicts
from learned_schedulers.blocks.dag.memory_order import BlockConflicts
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.read.leaks import MOST_FOLLOWING as MOST
from learned_schedulers.kernel_arrays import read_only

if TYPE_CHECKING:  # the console command starts without it
    import pyarrow as pa


class Edges(NamedTuple):
    """Edges of B blocks: those of block b are before[e] -> after[e] of kinds[e], e in bounds[b] : bounds[b + 1]."""

    bounds: np.ndarray  # (B + 1,) int64
    before: np.ndarray  # (E,) uint8
    after: np.ndarray  # (E,) uint8
    kinds: np.ndarray  # (E,) uint16, bit sets of dependencies.Kind


@dataclass(frozen=True)
class BlockStore:
    """B blocks with N instructions in all, numbered within each block in GCC's order."""

    block_ids: pa.StringArray  # (B,); None for blocks that are in no table
    first: np.ndarray  # (B + 1,) int64: instructions of block b are first[b] : first[b + 1]
    instructions: np.ndarray  # (N,) int32, rows of table `encodings`
    latencies: np.ndarray  # (N,) int16, nominal cycles
    reduced: Edges  # the transitive reduction
    implied: Edges  # the other direct conflicts
    following: np.ndarray  # (B, MOST) int32, rows of the instructions behind each block, nearest first; -1 for none

    @property
    def lengths(self) -> np.ndarray:
        """Instructions of each block, (B,) int64."""
        return np.diff(self.first)

    def instructions_of(self, rows: np.ndarray) -> np.ndarray:
        """Instructions of blocks, one block after the other, int32."""
        return self.instructions[self.places(rows)]

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Indices of the instructions of blocks in the arrays of all N, one block after the other, int64."""
        starts, counts = self.first[rows], self.lengths[rows]
        places: np.ndarray = np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        return places

    def has_choice(self, rows: np.ndarray) -> np.ndarray:
        """Whether each block has several legal orders, (B,) bool: no chain of dependencies links all instructions."""
        before, after = self.reduced.before.astype(np.int64), self.reduced.after.astype(np.int64)
        links = np.r_[0, np.cumsum(after == before + 1)][self.reduced.bounds]
        return np.diff(links)[rows] < self.lengths[rows] - 1

    def rows(self, block_ids: pa.Array) -> np.ndarray:
        """Rows of blocks, int64. Raises ValueError for a block that is not in the store."""
        import pyarrow.compute as pc

        rows = pc.index_in(block_ids, self.block_ids)
        if rows.null_count:
            missing = block_ids.filter(rows.is_null())[0]
            raise ValueError(f"block {missing} is in no DAG; make DAGs and splits again")
        return rows.to_numpy().astype(np.int64)

    def problems(self, rows: np.ndarray, order: np.ndarray) -> Problems:
        """Blocks of one length as `order` shows them. rows: (B,); order: (B, n), legal, GCC's index in slot t."""
        size, n = order.shape
        shown = Problems(
            precedes=np.zeros((size, n, n), bool),
            latencies=np.empty((size, n), np.int16),
            conflicts=np.zeros((size, n, n), np.uint16),
            instructions=np.empty((size, n), np.int32),
            following=self.following[rows],
        )
        _show(
            *read_only((rows, np.asarray(order, np.int16))),
            read_only(_Blocks(self.first, self.instructions, self.latencies, self.reduced, self.implied)),
            _Shown(shown.precedes, shown.latencies, shown.conflicts, shown.instructions),
        )
        return shown

    def as_emitted(self, rows: np.ndarray) -> Problems:
        """Blocks of one length in GCC's order: for the training of networks that do not see the order."""
        n = int(self.lengths[rows[0]])
        return self.problems(rows, np.broadcast_to(np.arange(n, dtype=np.int16), (len(rows), n)))


class _Blocks(NamedTuple):
    """Arrays of a BlockStore that `_show` reads."""

    first: np.ndarray
    instructions: np.ndarray
    latencies: np.ndarray
    reduced: Edges
    implied: Edges


class _Shown(NamedTuple):
    """Arrays of Problems that `_show` fills."""

    precedes: np.ndarray
    latencies: np.ndarray
    conflicts: np.ndarray
    instructions: np.ndarray


@njit(cache=True, nogil=True)
def _show(rows: np.ndarray, order: np.ndarray, blocks: _Blocks, shown: _Shown) -> None:
    reduced, implied = blocks.reduced, blocks.implied
    size, n = order.shape
    slot = np.empty(n, np.int64)
    for b in range(size):
        row = rows[b]
        for t in range(n):
            slot[order[b, t]] = t
            shown.instructions[b, t] = blocks.instructions[blocks.first[row] + order[b, t]]
            shown.latencies[b, t] = blocks.latencies[blocks.first[row] + order[b, t]]
        for e in range(reduced.bounds[row], reduced.bounds[row + 1]):
            i, k = slot[reduced.before[e]], slot[reduced.after[e]]
            shown.precedes[b, i, k] = True
            shown.conflicts[b, i, k] = reduced.kinds[e]
        for e in range(implied.bounds[row], implied.bounds[row + 1]):
            shown.conflicts[b, slot[implied.before[e]], slot[implied.after[e]]] = implied.kinds[e]


def _list(table: pa.Table, name: str) -> tuple[np.ndarray, np.ndarray]:
    column = table[name].combine_chunks()
    return column.offsets.to_numpy().astype(np.int64), column.values.to_numpy()


def _edges(table: pa.Table, prefix: str) -> Edges:
    bounds, before = _list(table, f"{prefix}before")
    return Edges(bounds, before, _list(table, f"{prefix}after")[1], _list(table, f"{prefix}kinds")[1])


def _padded(bounds: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Lists of at most MOST values as rows, (B, MOST) int32, with -1 behind their ends."""
    counts = np.diff(bounds)
    rows = np.full((len(counts), MOST), -1, np.int32)
    rows[np.arange(MOST) < counts[:, None]] = values[bounds[0] : bounds[-1]]
    return rows


def of_tables(instructions: pa.Table, dags: pa.Table) -> BlockStore:
    """All blocks of tables `instructions` and `dags`. Raises ValueError if they are of different blocks."""
    block_ids = instructions["block_id"].combine_chunks()
    if not block_ids.equals(dags["block_id"].combine_chunks()):
        raise ValueError("instructions and DAGs are of different blocks; make both tables again")
    first, numbers = _list(instructions, "encodings")
    reduced, implied = _edges(dags, ""), _edges(dags, "implied_")
    following = _padded(*_list(instructions, "following"))
    return BlockStore(block_ids, first, numbers, _list(dags, "latencies")[1], reduced, implied, following)


def store_of(read: BlockConflicts, latencies: np.ndarray) -> BlockStore:
    """Blocks whose instructions are numbered by their places, 0 to N - 1."""
    size, count = len(read.first) - 1, len(read.forms)
    reduced, implied = (
        _edges_of(read.conflicts, read.conflicts.reduced),
        _edges_of(read.conflicts, ~read.conflicts.reduced),
    )
    following = np.full((size, MOST), -1, np.int32)
    places = np.arange(count, dtype=np.int32)
    return BlockStore(None, read.first, places, latencies, reduced, implied, following)


def _edges_of(conflicts: Conflicts, chosen: np.ndarray) -> Edges:
    bounds = np.r_[0, np.cumsum(chosen)][conflicts.offsets]
    return Edges(bounds, conflicts.before[chosen], conflicts.after[chosen], conflicts.kinds[chosen])
