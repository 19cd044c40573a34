"""Masks: zeros for the bytes that betray an instruction's position, and with it the original order.

A rip-relative displacement shrinks by the length of every instruction that precedes it; absolute addresses
and the linker's fields tell one program from another. Neither may reach a model, nor make two equal blocks
look different.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from learned_schedulers.blocks.read.forms import Decoded

MOST_FOLLOWING = 4  # instructions behind a block that a model may see
NOWHERE = (1, 0)  # the image can be loaded anywhere: no constant is an address in it


@njit(cache=True, nogil=True)
def _hide(
    code: np.ndarray,
    begin: np.ndarray,
    form: np.ndarray,
    first: np.ndarray,
    facts: np.ndarray,
    low: np.uint64,
    high: np.uint64,
) -> None:
    """Zero the leaks in `code`."""
    for k in range(len(begin)):
        offset = begin[k]
        for i in range(first[k], first[k + 1]):
            fact = facts[form[i]]
            constants = (
                (offset + fact.displacement_at, fact.displacement_bytes, fact.rip_relative),
                (offset + fact.immediate_at, fact.immediate_bytes, False),
            )
            for field_offset, size, hidden in constants:
                if size == 4 or size == 8:
                    value = np.uint64(0)
                    for byte in range(size):
                        value |= np.uint64(code[field_offset + byte]) << np.uint64(8 * byte)
                    if hidden or low <= value <= high:
                        code[field_offset : field_offset + size] = 0
            offset += fact.length


def masked(
    code: np.ndarray, begin: np.ndarray, decoded: Decoded, facts: np.ndarray, loaded: tuple[int, int] = NOWHERE
) -> np.ndarray:
    """A copy of `code`, uint8, with zeros for every leak; the length stays, and so do block boundaries.

    `begin`: offsets of the ranges of `decoded`. Zeros replace the displacements of rip-relative operands and, if the
    image is `loaded` at fixed addresses, the 32-bit and 64-bit constants between its ends, ends included.
    """
    hidden = code.copy()
    _hide(hidden, begin, decoded.form, decoded.first, facts, np.uint64(loaded[0]), np.uint64(loaded[1]))
    return hidden
