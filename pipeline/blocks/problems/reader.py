"""Machine code -> what a scheduler sees of it, without tables: for blocks that a user types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from iced_x86 import Decoder

from pipeline.blocks.corpus.distinct import numbered
from pipeline.blocks.corpus.forms import Decoded, Forms
from pipeline.blocks.corpus.leaks import MOST_FOLLOWING as MOST
from pipeline.blocks.corpus.leaks import masked
from pipeline.blocks.dag import encodings as effects
from pipeline.blocks.dag.dependencies import Conflicts, find_conflicts
from pipeline.blocks.problems.instructions import Described, Encodings, describe, of_described
from pipeline.blocks.problems.store import BlockStore, Edges
from pipeline.config.dags import Dependencies


class Code(NamedTuple):
    """B blocks of N instructions, one block after the other."""

    code: np.ndarray  # uint8
    masked: np.ndarray  # uint8, the same with zeros for bytes that reveal the order
    bounds: np.ndarray  # (B + 1,) int64, offsets
    decoded: Decoded
    whole: np.ndarray  # (B,) bool: the block consists of whole, valid instructions
    straight: np.ndarray  # (B,) bool: no instruction transfers control


class Reader:
    """Reads blocks; describes each form and each instruction once, when it first occurs. Not safe for threads."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies: Dependencies = dependencies
        self._forms = Forms()
        self._effects = effects.Encodings(self._forms)
        self._described: dict[bytes, Described] = {}

    @property
    def facts(self) -> np.ndarray:
        """Facts of the forms so far, indexed by `Code.decoded.form`."""
        return self._forms.facts

    def decode(self, codes: Sequence[bytes]) -> Code:
        """Decode blocks. Code that is not whole or not straight is no basic block."""
        bounds = np.cumsum([0, *map(len, codes)])
        code = np.frombuffer(b"".join(codes), np.uint8)
        decoded = self._forms.decode(code, bounds[:-1], bounds[1:])
        facts = self.facts[decoded.form]
        has_invalid, has_control = (
            np.diff(np.r_[0, np.cumsum(flags)][decoded.first]) > 0 for flags in (~facts["valid"], facts["control"])
        )
        hidden = masked(code, bounds[:-1], decoded, self.facts)
        return Code(code, hidden, bounds, decoded, decoded.whole & ~has_invalid, ~has_control)

    def blocks(self, codes: Sequence[bytes]) -> tuple[BlockStore, Encodings]:
        """Whole blocks of at most 64 instructions, masked; their addresses and the code behind them are unknown.

        Raises ValueError for a block that is not whole, or longer.
        """
        bounds = np.cumsum([0, *map(len, codes)])
        code = np.frombuffer(b"".join(codes), np.uint8)
        unknown = np.zeros(len(codes), np.int64)
        table, effect, displacement, first = self._effects.encode(code, bounds, unknown)
        conflicts = find_conflicts(table, effect, displacement, first, unknown.astype(bool), self._dependencies)
        decoded = self._forms.decode(code, bounds[:-1], bounds[1:])
        distinct, numbers = numbered(code, bounds[:-1], decoded, self.facts)
        for instruction in distinct:
            if instruction not in self._described:
                self._described[instruction] = describe(Decoder(64, instruction).decode())
        encodings = of_described([self._described[instruction] for instruction in distinct])
        return _stored(first, numbers, table.latency[effect], conflicts), encodings


def _stored(first: np.ndarray, instructions: np.ndarray, latencies: np.ndarray, conflicts: Conflicts) -> BlockStore:
    """B blocks that are in no table, so they have no ids. The arrays are those of a BlockStore."""
    size = len(first) - 1

    def edges(chosen: np.ndarray) -> Edges:
        bounds = np.r_[0, np.cumsum(chosen)][conflicts.offsets]
        return Edges(bounds, conflicts.before[chosen], conflicts.after[chosen], conflicts.kinds[chosen])

    ids, following = pa.nulls(size, pa.string()), np.full((size, MOST), -1, np.int32)  # `pa.array` imports pandas
    reduced, implied = edges(conflicts.reduced), edges(~conflicts.reduced)
    return BlockStore(ids, first, instructions, latencies, reduced, implied, following)
