"""Blocks of every length in flat arrays, handed out as batches of one length."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from pipeline import tables
from pipeline.blocks.problems.problems import Problems
from pipeline.schemas.following import MOST_FOLLOWING as MOST


@dataclass(frozen=True)
class Edges:
    """Edges of B blocks: before[e] -> after[e] of kind kinds[e] for e in bounds[b] : bounds[b + 1]."""

    bounds: np.ndarray  # (B + 1,) int64
    before: np.ndarray  # (E,) uint8
    after: np.ndarray  # (E,) uint8
    kinds: np.ndarray  # (E,) uint16, bit sets of dependencies.Kind


@dataclass(frozen=True)
class BlockStore:
    """B blocks, numbered as GCC emitted their N instructions."""

    block_ids: pa.StringArray  # (B,), null for blocks that are in no table
    first: np.ndarray  # (B + 1,) int64
    instructions: np.ndarray  # (N,) int32, rows of table `encodings`
    latencies: np.ndarray  # (N,) int16, nominal cycles
    reduced: Edges  # the transitive reduction
    implied: Edges  # the other direct conflicts
    following: np.ndarray  # (B, MOST) int32, rows of `encodings` behind each block, nearest first; -1 for none

    @property
    def lengths(self) -> np.ndarray:
        """(B,) int64"""
        return np.diff(self.first)

    def instructions_of(self, rows: np.ndarray) -> np.ndarray:
        """Instructions of blocks, one block after the other, int32."""
        return self.instructions[self.places(rows)]

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Where instructions of blocks stand in the arrays of all N, one block after the other, int64."""
        starts, counts = self.first[rows], self.lengths[rows]
        places: np.ndarray = np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        return places

    def has_choice(self, rows: np.ndarray) -> np.ndarray:
        """Whether each block has several legal orders, (B,) bool: its dependencies are no chain of all instructions."""
        before, after = self.reduced.before.astype(np.int64), self.reduced.after.astype(np.int64)
        links = np.r_[0, np.cumsum(after == before + 1)][self.reduced.bounds]
        return np.diff(links)[rows] < self.lengths[rows] - 1

    def rows(self, block_ids: pa.Array) -> np.ndarray:
        """Rows of blocks, int64. Raises ValueError for one that is not here."""
        found = pc.index_in(block_ids, self.block_ids)
        if found.null_count:
            missing = block_ids.filter(found.is_null())[0]
            raise ValueError(f"block {missing} is in no DAG; make DAGs and splits anew")
        return found.to_numpy().astype(np.int64)

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
            *(rows, np.ascontiguousarray(order), self.first, self.instructions, self.latencies),
            *(self.reduced.bounds, self.reduced.before, self.reduced.after, self.reduced.kinds),
            *(self.implied.bounds, self.implied.before, self.implied.after, self.implied.kinds),
            *(shown.precedes, shown.latencies, shown.conflicts, shown.instructions),
        )
        return shown

    def as_emitted(self, rows: np.ndarray) -> Problems:
        """Blocks of one length as GCC emitted them: for training networks that do not see the order."""
        n = int(self.lengths[rows[0]])
        return self.problems(rows, np.broadcast_to(np.arange(n, dtype=np.int16), (len(rows), n)))


@njit(cache=True, nogil=True)
def _show(
    rows: np.ndarray,
    order: np.ndarray,
    first: np.ndarray,
    instructions: np.ndarray,
    latencies: np.ndarray,
    reduced_bounds: np.ndarray,
    reduced_before: np.ndarray,
    reduced_after: np.ndarray,
    reduced_kinds: np.ndarray,
    implied_bounds: np.ndarray,
    implied_before: np.ndarray,
    implied_after: np.ndarray,
    implied_kinds: np.ndarray,
    precedes: np.ndarray,
    shown_latencies: np.ndarray,
    conflicts: np.ndarray,
    shown_instructions: np.ndarray,
) -> None:
    size, n = order.shape
    slot = np.empty(n, np.int64)
    for b in range(size):
        row = rows[b]
        for t in range(n):
            slot[order[b, t]] = t
            shown_instructions[b, t] = instructions[first[row] + order[b, t]]
            shown_latencies[b, t] = latencies[first[row] + order[b, t]]
        for e in range(reduced_bounds[row], reduced_bounds[row + 1]):
            i, k = slot[reduced_before[e]], slot[reduced_after[e]]
            precedes[b, i, k] = True
            conflicts[b, i, k] = reduced_kinds[e]
        for e in range(implied_bounds[row], implied_bounds[row + 1]):
            conflicts[b, slot[implied_before[e]], slot[implied_after[e]]] = implied_kinds[e]


def _list(table: pa.Table, name: str) -> tuple[np.ndarray, np.ndarray]:
    column = table[name].combine_chunks()
    return column.offsets.to_numpy().astype(np.int64), column.values.to_numpy()


def _edges(table: pa.Table, prefix: str) -> Edges:
    bounds, before = _list(table, f"{prefix}before")
    return Edges(bounds, before, _list(table, f"{prefix}after")[1], _list(table, f"{prefix}kinds")[1])


def _padded(bounds: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Lists of at most MOST values as rows, (B, MOST) int32, -1 behind their ends."""
    counts = np.diff(bounds)
    rows = np.full((len(counts), MOST), -1, np.int32)
    rows[np.arange(MOST) < counts[:, None]] = values[bounds[0] : bounds[-1]]
    return rows


def numbered(block_ids: pa.Array, encodings: pa.ListArray, following: pa.ListArray | None = None) -> pa.Table:
    """Table `instructions`. Without `following`, nothing is known of what stands behind the blocks."""
    if following is None:
        none = pa.array(np.zeros(len(block_ids) + 1, np.int32))
        following = pa.ListArray.from_arrays(none, pa.array([], pa.int32()))
    return pa.table([block_ids, encodings, following], schema=tables.SCHEMAS["instructions"])


def of_tables(instructions: pa.Table, dags: pa.Table) -> BlockStore:
    """All blocks of tables `instructions` and `dags`. Raises ValueError where these are of different blocks."""
    block_ids = instructions["block_id"].combine_chunks()
    if not block_ids.equals(dags["block_id"].combine_chunks()):
        raise ValueError("instructions and DAGs are of different blocks; make both anew")
    first, numbers = _list(instructions, "encodings")
    reduced, implied = _edges(dags, ""), _edges(dags, "implied_")
    following = _padded(*_list(instructions, "following"))
    return BlockStore(block_ids, first, numbers, _list(dags, "latencies")[1], reduced, implied, following)


def load(instructions: Path, dags: Path) -> BlockStore:
    """The same from files."""
    return of_tables(tables.arrow("instructions", instructions), tables.arrow("dags", dags))
