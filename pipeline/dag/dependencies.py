"""Block -> dependency DAG: read-after-write, write-after-read, write-after-write.

Registers, status flags and memory; memory is conservative: a store conflicts with every load and
store. Everything is live at the block's end. A flag write that is overwritten before anybody reads
it is dead: two dead writes of a flag may change places, but a dead write stays outside the interval
between a live write and its readers.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag

from pipeline.config import Dependencies
from pipeline.dag.effects import FLAGS, Effects


class Kind(IntFlag):
    RAW = 1
    WAR = 2
    WAW = 4


@dataclass(frozen=True)
class Dag:
    """A block's dependencies; instructions are numbered as the compiler emitted them.

    `edges` is the transitive reduction, sorted: (before, after, kinds); kinds are those of the pair itself.
    """

    n: int
    edges: list[tuple[int, int, Kind]]

    def predecessors(self) -> list[int]:
        """Bit set of direct predecessors of each instruction."""
        found = [0] * self.n
        for before, after, _ in self.edges:
            found[after] |= 1 << before
        return found


def _dead_flags(effects: list[Effects]) -> list[int]:
    """For each instruction, the flags it writes that are overwritten before anybody reads them."""
    dead, overwritten = [0] * len(effects), 0
    for i in reversed(range(len(effects))):
        e = effects[i]
        dead[i] = e.writes & overwritten & FLAGS
        overwritten = (overwritten | (e.writes & FLAGS)) & ~e.reads
    return dead


def dependency_dag(effects: list[Effects], mode: Dependencies) -> Dag:
    """Dependencies of a block's instructions; mode `paper` leaves the flags out, as POCSNet did."""
    visible = ~FLAGS if mode == "paper" else ~0
    dead = _dead_flags(effects)
    edges, reach = [], [0] * len(effects)  # reach[j]: bit set of all that must come before j
    for j, later in enumerate(effects):
        # From the nearest backwards: whatever a nearer predecessor already implies is not a reduction edge.
        for i in reversed(range(j)):
            if reach[j] >> i & 1:
                continue
            earlier = effects[i]
            kinds = Kind(0)
            if earlier.writes & later.reads & visible:
                kinds |= Kind.RAW
            if earlier.reads & later.writes & visible:
                kinds |= Kind.WAR
            if earlier.writes & later.writes & visible & ~(dead[i] & dead[j]):
                kinds |= Kind.WAW
            if kinds:
                edges.append((i, j, kinds))
                reach[j] |= reach[i] | 1 << i
    return Dag(len(effects), sorted(edges))
