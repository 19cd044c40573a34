"""Block -> dependency DAG: read-after-write, write-after-read, write-after-write.

Two instructions conflict if one writes what the other reads or writes: the lanes of registers, single flags, memory.
Every value is live at the block's end. A barrier conflicts with every instruction: all instructions read the resource
SYSTEM, and a barrier writes it (so the kinds of these conflicts are those of a register).

Flags. A write of a flag is dead if the flag is certainly overwritten before it is read. Two dead writes of a flag may
exchange places; all other conflicts stay. Proof that in every legal order each reader r of flag f reads the same value:
Let w be the last writer of f before r. It is live, so every other writer v of f before r stays before w
(write-after-write: not both are dead). Every writer after r stays after r (write-after-read), and w stays before r.
So r still reads the value that w writes. If w may leave f unchanged, it counts as a reader of f, and the same argument
holds for the value that w reads. The last writer in the block is live too, so the value at the end is the same.

Memory. Modes: `conservative` (a store conflicts with every load and store) and `full` (two operands with equal
registers of unchanged values and disjoint byte ranges are independent, as are two disjoint constant addresses).
Comparing values up to the next write of a register suffices: in every legal order that write stays between the two
operands, so their instructions are ordered anyway. Operands with different registers may overlap, and so may a
rip-relative operand and one with a register. Wrap-around of addresses is ignored. Mode `paper` is `conservative`
without flags, as in POCSNet.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag

import numpy as np

from learned_schedulers.blocks.dag import conflicts
from learned_schedulers.blocks.dag.effects import Effects, decode_block, effects, explicit_displacement
from learned_schedulers.blocks.dag.resources import SYSTEM, words
from learned_schedulers.blocks.dag.settings import Dependencies


class Kind(IntFlag):
    REGISTER_RAW = 1
    REGISTER_WAR = 2
    REGISTER_WAW = 4
    FLAG_RAW = 8
    FLAG_WAR = 16
    FLAG_WAW = 32
    MEMORY_RAW = 64
    MEMORY_WAR = 128
    MEMORY_WAW = 256


@dataclass(frozen=True)
class EffectsTable:
    """Effects of E distinct instructions, one array per field."""

    reads: np.ndarray  # (E, 3) uint64, words of resources
    writes: np.ndarray  # (E, 3) uint64
    kills: np.ndarray  # (E,) uint64, flags: word 2
    accesses: np.ndarray  # (E, A, 8) int64: the fields of `Access`, with reads + 2 * writes in place of the last two
    n_accesses: np.ndarray  # (E,) int8
    latency: np.ndarray  # (E,) int16, cycles


def tabulate(distinct: list[Effects]) -> EffectsTable:
    """Effects as arrays."""
    size = len(distinct)
    masks = [(words(e.reads | SYSTEM), words(e.writes | SYSTEM * e.barrier), words(e.kills)) for e in distinct]
    table = np.array(masks, np.uint64).reshape(size, 3, 3)
    most = max((len(e.accesses) for e in distinct), default=0)
    accesses = np.zeros((size, max(most, 1), 8), np.int64)
    for row, e in enumerate(distinct):
        for column, a in enumerate(e.accesses):
            direction = conflicts.READS * a.reads | conflicts.WRITES * a.writes
            accesses[row, column] = (
                *(a.base_register, a.index_register, a.segment, a.scale, a.displacement, a.explicit, a.size, direction),
            )
    return EffectsTable(
        reads=np.ascontiguousarray(table[:, 0]),
        writes=np.ascontiguousarray(table[:, 1]),
        kills=np.ascontiguousarray(table[:, 2, 2]),
        accesses=accesses,
        n_accesses=np.array([len(e.accesses) for e in distinct], np.int8),
        latency=np.array([e.latency for e in distinct], np.int16),
    )


@dataclass(frozen=True)
class Conflicts:
    """All direct conflicts of B blocks, sorted by (block, before, after)."""

    offsets: np.ndarray  # (B + 1,) int64; block b has offsets[b]:offsets[b + 1]
    before: np.ndarray  # uint8, index of an instruction in its block
    after: np.ndarray  # uint8
    kinds: np.ndarray  # uint16, bit set of `Kind`
    reduced: np.ndarray  # bool: an edge of the transitive reduction


def find_conflicts(
    table: EffectsTable,
    encoding: np.ndarray,
    displacement: np.ndarray,
    block_offsets: np.ndarray,
    addresses_known: np.ndarray,
    mode: Dependencies,
) -> Conflicts:
    """The conflicts of B blocks of N instructions in total.

    encoding: (N,) int32, row of `table`; displacement: (N,) int64 of the instruction's explicit memory operand, its
    target if it is rip-relative; block_offsets: (B + 1,) int64; addresses_known: (B,) bool, False for object files
    before linking, whose displacements have no meaning. Raises ValueError for a block of more than 64 instructions.
    """
    longest = np.diff(block_offsets).max(initial=0)
    if longest > conflicts.LONGEST:
        raise ValueError(
            f"a block has {longest} instructions, more than {conflicts.LONGEST}; cut it into shorter blocks"
        )
    arrays = conflicts.find(
        table.reads,
        table.writes,
        table.kills,
        table.accesses,
        table.n_accesses,
        encoding,
        displacement,
        block_offsets,
        addresses_known,
        with_flags=mode != "paper",
        disambiguate=mode == "full",
    )
    return Conflicts(*arrays)


@dataclass(frozen=True)
class Dag:
    """A block's dependencies as (before, after, kinds), sorted; instructions have the numbers of the compiler's order.

    The kinds are those of the pair's direct conflict.
    """

    n: int
    edges: list[tuple[int, int, Kind]]  # the transitive reduction
    implied: list[tuple[int, int, Kind]]  # the other direct conflicts

    @classmethod
    def of(cls, n: int, block: Conflicts) -> Dag:
        """The DAG of the conflicts of one block of n instructions."""
        kinds = map(Kind, block.kinds.tolist())
        edges: list[tuple[int, int, Kind]] = []
        implied: list[tuple[int, int, Kind]] = []
        for *pair, is_edge in zip(
            block.before.tolist(), block.after.tolist(), kinds, block.reduced.tolist(), strict=True
        ):
            (edges if is_edge else implied).append(tuple(pair))
        return cls(n, edges, implied)

    def predecessors(self) -> list[int]:
        """The set of direct predecessors of each instruction, as bits."""
        bit_sets = [0] * self.n
        for before, after, _ in self.edges:
            bit_sets[after] |= 1 << before
        return bit_sets


def block_dag(code: bytes, mode: Dependencies, address: int = 0, addresses_known: bool = True) -> Dag:
    """Dependencies of one block. Raises ValueError as `decode_block` and `find_conflicts` do."""
    instructions = decode_block(code, address)
    n = len(instructions)
    direct_conflicts = find_conflicts(
        tabulate([effects(instruction) for instruction in instructions]),
        np.arange(n, dtype=np.int32),
        np.array([explicit_displacement(instruction) for instruction in instructions], np.int64),
        np.array([0, n], np.int64),
        np.array([addresses_known]),
        mode,
    )
    return Dag.of(n, direct_conflicts)
