"""Blocks in bulk: for every instruction the row of a table of effects, and its displacement.

Effects depend on an instruction's form (`corpus/forms.py`) alone. They are asked for once per form, and
many forms share them: add of a byte and of a word to the same register, whatever the constant.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from iced_x86 import Decoder
from numba import njit

from pipeline.blocks.corpus.forms import Forms
from pipeline.blocks.dag.dependencies import EffectsTable, tabulate
from pipeline.blocks.dag.effects import Effects, effects


class Encoded(NamedTuple):
    """The N instructions of B blocks, one block after the other."""

    table: EffectsTable
    encoding: np.ndarray  # (N,) int32, row of `table`
    displacement: np.ndarray  # (N,) int64, of the own memory operand; the target where it is rip-relative
    block_offsets: np.ndarray  # (B + 1,) int64


@njit(cache=True, nogil=True)
def _displacements(
    code: np.ndarray,
    offsets: np.ndarray,
    addresses: np.ndarray,
    form: np.ndarray,
    first: np.ndarray,
    facts: np.ndarray,
) -> np.ndarray:
    """The displacement of every instruction, int64; the target where it is rip-relative."""
    found = np.zeros(len(form), np.int64)
    for block in range(len(addresses)):
        at = offsets[block]
        for i in range(first[block], first[block + 1]):
            fact = facts[form[i]]
            size = fact.displacement_bytes
            value = np.int64(0)
            for byte in range(size):
                value |= np.int64(code[at + fact.displacement_at + byte]) << (8 * byte)
            if size == 1 or size == 4:  # of 8 bytes it is whole
                value = (value ^ (np.int64(1) << (8 * size - 1))) - (np.int64(1) << (8 * size - 1))
            at += fact.length
            found[i] = value * fact.displacement_scale
            if fact.rip_relative:
                found[i] += addresses[block] + at - offsets[block]
    return found


def _both(one: EffectsTable, other: EffectsTable) -> EffectsTable:
    """The rows of two tables."""
    most = max(one.accesses.shape[1], other.accesses.shape[1])
    wide = [np.pad(t.accesses, ((0, 0), (0, most - t.accesses.shape[1]), (0, 0))) for t in (one, other)]
    return EffectsTable(
        reads=np.concatenate([one.reads, other.reads]),
        writes=np.concatenate([one.writes, other.writes]),
        kills=np.concatenate([one.kills, other.kills]),
        accesses=np.concatenate(wide),
        n_accesses=np.concatenate([one.n_accesses, other.n_accesses]),
        latency=np.concatenate([one.latency, other.latency]),
    )


class Encodings:
    """Effects of the forms met so far. Rows are in the order of meeting and mean nothing beyond this object."""

    def __init__(self, forms: Forms | None = None) -> None:
        """`forms`: those that somebody else meets too; of its own by default."""
        self._forms = forms or Forms()
        self._rows: dict[Effects, int] = {}
        self._row_of_form = np.zeros(0, np.int32)  # -1: no instruction
        self._table = tabulate([])

    def _learn(self) -> None:
        """Take in the effects of the forms that are new."""
        rows, known = [], len(self._rows)
        for example in self._forms.examples[len(self._row_of_form) :]:
            instruction = Decoder(64, example).decode()
            rows.append(-1 if not instruction else self._rows.setdefault(effects(instruction), len(self._rows)))
        if rows:
            self._row_of_form = np.concatenate([self._row_of_form, np.array(rows, np.int32)])
        if len(self._rows) > known:
            self._table = _both(self._table, tabulate(list(self._rows)[known:]))

    def encode(self, code: np.ndarray, offsets: np.ndarray, addresses: np.ndarray) -> Encoded:
        """Encode B blocks: code[offsets[b] : offsets[b + 1]] at addresses[b].

        code: uint8; offsets: (B + 1,) int64; addresses: (B,) int64.
        Raises ValueError for a block that is not made of whole instructions.
        """
        found = self._forms.decode(code, offsets[:-1], offsets[1:])
        self._learn()
        encoding = self._row_of_form[found.form]
        wrong = np.flatnonzero(~found.whole)
        if (encoding < 0).any():
            wrong = np.r_[wrong, np.searchsorted(found.first, np.flatnonzero(encoding < 0), "right") - 1]
        if len(wrong):
            text = code[offsets[wrong[0]] : offsets[wrong[0] + 1]].tobytes().hex()
            raise ValueError(f"block {wrong[0]} is not made of whole instructions: {text}")
        displacement = _displacements(code, offsets, addresses, found.form, found.first, self._forms.facts)
        return Encoded(self._table, encoding, displacement, found.first)
