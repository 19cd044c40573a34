"""Blocks' machine code in another order."""

from __future__ import annotations

import numpy as np
from numba import njit

from pipeline.blocks.corpus.forms import Decoded


def reordered(
    code: np.ndarray, begin: np.ndarray, found: Decoded, facts: np.ndarray, order: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """B blocks with their instructions in `order`, where they were; rip-relative operands point to where they did.

    code: uint8; begin: (B,) int64, where each block begins in it; `found` decoded the blocks, N instructions;
    order: (N,), index of the instruction in each slot, one block after the other. Returns the code, uint8, and
    (B,) bool: false for a block with a displacement that does not fit any more, whose code is left as it was.
    """
    moved, fits = code.copy(), np.ones(len(begin), bool)
    _reorder(code, begin, found.form, found.first, facts, np.ascontiguousarray(order, np.int64), moved, fits)
    return moved, fits


@njit(cache=True, nogil=True)
def _reorder(
    code: np.ndarray,
    begin: np.ndarray,
    form: np.ndarray,
    first: np.ndarray,
    facts: np.ndarray,
    order: np.ndarray,
    moved: np.ndarray,
    fits: np.ndarray,
) -> None:
    for b in range(len(begin)):
        n = first[b + 1] - first[b]
        start = np.empty(n + 1, np.int64)
        start[0] = begin[b]
        for i in range(n):
            start[i + 1] = start[i] + facts[form[first[b] + i]].length
        at = begin[b]
        for t in range(n):
            i = order[first[b] + t]
            fact = facts[form[first[b] + i]]
            for byte in range(fact.length):
                moved[at + byte] = code[start[i] + byte]
            if fact.rip_relative:
                place = at + fact.displacement_at
                value = np.int64(0)
                for byte in range(4):
                    value |= np.int64(moved[place + byte]) << (8 * byte)
                value = (value ^ (1 << 31)) - (1 << 31) + start[i] - at
                fits[b] &= -(1 << 31) <= value < 1 << 31
                for byte in range(4):
                    moved[place + byte] = (value >> (8 * byte)) & 255
            at += fact.length
        if not fits[b]:
            moved[begin[b] : at] = code[begin[b] : at]
