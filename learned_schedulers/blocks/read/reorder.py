"""Blocks' machine code in another order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from learned_schedulers.blocks.dag.memory_order import Mark
from learned_schedulers.blocks.read.document import CodeBlock
from learned_schedulers.blocks.read.forms import Decoded, Forms
from learned_schedulers.kernel_arrays import read_only


def reordered(
    code: np.ndarray, begin: np.ndarray, decoded: Decoded, facts: np.ndarray, order: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The code of B blocks with their instructions in `order`, at the same addresses; rip-relative targets stay.

    code: uint8; begin: (B,) int64, offset of each block in `code`; decoded: the N instructions of the blocks;
    order: (N,), index of the instruction in each slot, one block after the other. Returns the code, uint8, and
    (B,) bool: false for a block that keeps its original code, because a displacement does not fit in the new order.
    """
    reordered_code, fits = code.copy(), np.ones(len(begin), bool)
    blocks = (code, begin, decoded.form, decoded.first, facts, np.asarray(order, np.int64))
    _reorder(*read_only(blocks), reordered_code, fits)
    return reordered_code, fits


def permuted(block: CodeBlock, order: Sequence[int], forms: Forms) -> bytes | None:
    """A block's bytes in another order, as a file holds them.

    Rip-relative operands keep their targets, and what the linker fills in stays as it is. None if a displacement does
    not fit.
    """
    read = forms.read([block.code])
    facts = forms.facts[read.decoded.form]
    moved, fits = reordered(read.code, read.begin, read.decoded, forms.facts, np.asarray(order))
    starts = np.r_[0, np.cumsum(facts["length"].astype(np.int64))].tolist()
    written, position = bytearray(moved.tobytes()), 0
    for i in order:
        length = int(facts["length"][i])
        if block.marks[i] & Mark.LINKED:
            written[position : position + length] = block.code[starts[i] : starts[i] + length]
        position += length
    return bytes(written) if fits[0] else None


@njit(cache=True, nogil=True)
def _reorder(
    code: np.ndarray,
    begin: np.ndarray,
    form: np.ndarray,
    first: np.ndarray,
    facts: np.ndarray,
    order: np.ndarray,
    reordered_code: np.ndarray,
    fits: np.ndarray,
) -> None:
    for b in range(len(begin)):
        n = first[b + 1] - first[b]
        start = np.empty(n + 1, np.int64)
        start[0] = begin[b]
        for i in range(n):
            start[i + 1] = start[i] + facts[form[first[b] + i]].length
        position = begin[b]
        for t in range(n):
            i = order[first[b] + t]
            fact = facts[form[first[b] + i]]
            for byte in range(fact.length):
                reordered_code[position + byte] = code[start[i] + byte]
            if fact.rip_relative:
                field_offset = position + fact.displacement_at
                value = np.int64(0)
                for byte in range(4):
                    value |= np.int64(reordered_code[field_offset + byte]) << (8 * byte)
                value = (value ^ (1 << 31)) - (1 << 31) + start[i] - position
                fits[b] &= -(1 << 31) <= value < 1 << 31
                for byte in range(4):
                    reordered_code[field_offset + byte] = (value >> (8 * byte)) & 255
            position += fact.length
        if not fits[b]:
            reordered_code[begin[b] : position] = code[begin[b] : position]
