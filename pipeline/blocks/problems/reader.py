"""Machine code -> what a scheduler sees of it, straight, without the tables between: for blocks that somebody types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from iced_x86 import Decoder

from pipeline.blocks.corpus.distinct import numbered
from pipeline.blocks.corpus.forms import Decoded, Forms
from pipeline.blocks.corpus.leaks import masked
from pipeline.blocks.dag import encodings as effects
from pipeline.blocks.dag.dependencies import Conflicts, find_conflicts
from pipeline.blocks.problems.instructions import Described, Encodings, describe, of_described
from pipeline.blocks.problems.store import BlockStore, Edges
from pipeline.config.dags import Dependencies
from pipeline.schemas.following import MOST_FOLLOWING as MOST


class Code(NamedTuple):
    """B blocks of N instructions, one block after the other."""

    code: np.ndarray  # uint8
    masked: np.ndarray  # uint8, the same with zeros for what betrays the order
    bounds: np.ndarray  # (B + 1,) int64, offsets
    found: Decoded
    whole: np.ndarray  # (B,) bool: made of whole, valid instructions
    straight: np.ndarray  # (B,) bool: transfers no control


class Reader:
    """Every form and every instruction is asked about once, when it is first met. Not for several threads."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies: Dependencies = dependencies
        self._forms = Forms()
        self._effects = effects.Encodings(self._forms)
        self._described: dict[bytes, Described] = {}

    @property
    def facts(self) -> np.ndarray:
        """Of the forms met so far, by the numbers in `Code.found`."""
        return self._forms.facts

    def decode(self, codes: Sequence[bytes]) -> Code:
        """Blocks taken apart; those that are not whole or not straight are no blocks."""
        bounds = np.cumsum([0, *map(len, codes)])
        code = np.frombuffer(b"".join(codes), np.uint8)
        found = self._forms.decode(code, bounds[:-1], bounds[1:])
        facts = self.facts[found.form]
        wrong, control = (
            np.diff(np.r_[0, np.cumsum(instructions)][found.first]) > 0
            for instructions in (~facts["valid"], facts["control"])
        )
        hidden = masked(code, bounds[:-1], found, self.facts)
        return Code(code, hidden, bounds, found, found.whole & ~wrong, ~control)

    def blocks(self, codes: Sequence[bytes]) -> tuple[BlockStore, Encodings]:
        """Whole blocks of at most 64 instructions, masked; nothing is known of their addresses or what follows them.

        Raises ValueError for one that is not whole or longer.
        """
        bounds = np.cumsum([0, *map(len, codes)])
        code = np.frombuffer(b"".join(codes), np.uint8)
        unknown = np.zeros(len(codes), np.int64)
        table, effect, displacement, first = self._effects.encode(code, bounds, unknown)
        conflicts = find_conflicts(table, effect, displacement, first, unknown.astype(bool), self._dependencies)
        found = self._forms.decode(code, bounds[:-1], bounds[1:])
        distinct, numbers = numbered(code, bounds[:-1], found, self.facts)
        for instruction in distinct:
            if instruction not in self._described:
                self._described[instruction] = describe(Decoder(64, instruction).decode())
        encodings = of_described([self._described[instruction] for instruction in distinct])
        return _stored(first, numbers, table.latency[effect], conflicts), encodings


def _stored(first: np.ndarray, instructions: np.ndarray, latencies: np.ndarray, conflicts: Conflicts) -> BlockStore:
    """B blocks that are in no table and so without ids. The arrays are those of a BlockStore."""
    size = len(first) - 1

    def edges(wanted: np.ndarray) -> Edges:
        bounds = np.r_[0, np.cumsum(wanted)][conflicts.offsets]
        return Edges(bounds, conflicts.before[wanted], conflicts.after[wanted], conflicts.kinds[wanted])

    ids, following = pa.nulls(size, pa.string()), np.full((size, MOST), -1, np.int32)  # `pa.array` imports pandas
    reduced, implied = edges(conflicts.reduced), edges(~conflicts.reduced)
    return BlockStore(ids, first, instructions, latencies, reduced, implied, following)
