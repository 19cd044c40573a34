"""Many blocks at once: for every instruction its row in a table of effects, and its displacement.

Effects depend on an instruction's form (`blocks/read/forms.py`) alone, so they are computed once per form. Many forms
share the same effects, for example the additions of a byte and of a word to the same register, whatever the constant.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from iced_x86 import Decoder
from numba import njit

from learned_schedulers.blocks.dag.dependencies import EffectsTable, tabulate
from learned_schedulers.blocks.dag.effects import Effects, effects
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.kernel_arrays import read_only


class Encoded(NamedTuple):
    """The N instructions of B blocks, one block after the other."""

    table: EffectsTable
    encoding: np.ndarray  # (N,) int32, row of `table`
    displacement: np.ndarray  # (N,) int64, of the explicit memory operand; the target if it is rip-relative
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
    """The displacement of every instruction, int64; the target if it is rip-relative."""
    displacements = np.zeros(len(form), np.int64)
    for block in range(len(addresses)):
        offset = offsets[block]
        for i in range(first[block], first[block + 1]):
            fact = facts[form[i]]
            size = fact.displacement_bytes
            value = np.int64(0)
            for byte in range(size):
                value |= np.int64(code[offset + fact.displacement_at + byte]) << (8 * byte)
            if size == 1 or size == 4:  # one of 8 bytes needs no sign extension
                value = (value ^ (np.int64(1) << (8 * size - 1))) - (np.int64(1) << (8 * size - 1))
            offset += fact.length
            displacements[i] = value * fact.displacement_scale
            if fact.rip_relative:
                displacements[i] += addresses[block] + offset - offsets[block]
    return displacements


def _concatenated(upper: EffectsTable, lower: EffectsTable) -> EffectsTable:
    """The rows of two tables, one table above the other."""
    n_accesses = max(upper.accesses.shape[1], lower.accesses.shape[1])
    accesses = [np.pad(t.accesses, ((0, 0), (0, n_accesses - t.accesses.shape[1]), (0, 0))) for t in (upper, lower)]
    return EffectsTable(
        reads=np.concatenate([upper.reads, lower.reads]),
        writes=np.concatenate([upper.writes, lower.writes]),
        kills=np.concatenate([upper.kills, lower.kills]),
        accesses=np.concatenate(accesses),
        n_accesses=np.concatenate([upper.n_accesses, lower.n_accesses]),
        latency=np.concatenate([upper.latency, lower.latency]),
    )


class Encodings:
    """Effects of the forms so far. Rows have the order of first occurrence and are valid for this object only."""

    def __init__(self, forms: Forms | None = None) -> None:
        """`forms`: an object that may be shared with other users; by default a new one."""
        self._forms = forms or Forms()
        self._rows: dict[Effects, int] = {}
        self._row_of_form = np.zeros(0, np.int32)  # -1: no instruction
        self._table = tabulate([])

    def _learn(self) -> None:
        """Add the effects of the new forms."""
        rows, n_before = [], len(self._rows)
        for example in self._forms.examples[len(self._row_of_form) :]:
            instruction = Decoder(64, example).decode()
            rows.append(-1 if not instruction else self._rows.setdefault(effects(instruction), len(self._rows)))
        if rows:
            self._row_of_form = np.concatenate([self._row_of_form, np.array(rows, np.int32)])
        if len(self._rows) > n_before:
            self._table = _concatenated(self._table, tabulate(list(self._rows)[n_before:]))

    def encode(self, code: np.ndarray, offsets: np.ndarray, addresses: np.ndarray) -> Encoded:
        """Encode B blocks: code[offsets[b] : offsets[b + 1]] at addresses[b].

        code: uint8; offsets: (B + 1,) int64; addresses: (B,) int64.
        Raises ValueError for a block that is not made of whole instructions.
        """
        decoded = self._forms.decode(code, offsets[:-1], offsets[1:])
        self._learn()
        encoding = self._row_of_form[decoded.form]
        bad_blocks = np.flatnonzero(~decoded.whole)
        if (encoding < 0).any():
            bad_blocks = np.r_[bad_blocks, np.searchsorted(decoded.first, np.flatnonzero(encoding < 0), "right") - 1]
        if len(bad_blocks):
            digits = code[offsets[bad_blocks[0]] : offsets[bad_blocks[0] + 1]].tobytes().hex()
            raise ValueError(f"block {bad_blocks[0]} is not made of whole instructions: {digits}")
        displacement = _displacements(
            *read_only((code, offsets, addresses)), decoded.form, decoded.first, self._forms.facts
        )
        return Encoded(self._table, encoding, displacement, decoded.first)
