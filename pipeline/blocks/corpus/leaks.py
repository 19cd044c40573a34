"""Bytes that betray where an instruction stood, and so the original order: they are zeroed.

A rip-relative displacement shrinks by an instruction's length for every one that comes before it;
absolute addresses and the linker's fields tell one program from another. Neither may reach a model,
nor make two equal blocks look different.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pipeline.blocks.corpus.forms import Decoded

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
        at = begin[k]
        for i in range(first[k], first[k + 1]):
            fact = facts[form[i]]
            fields = (
                (at + fact.displacement_at, fact.displacement_bytes, fact.rip_relative),
                (at + fact.immediate_at, fact.immediate_bytes, False),
            )
            for place, size, hidden in fields:
                if size == 4 or size == 8:
                    value = np.uint64(0)
                    for byte in range(size):
                        value |= np.uint64(code[place + byte]) << np.uint64(8 * byte)
                    if hidden or low <= value <= high:
                        code[place : place + size] = 0
            at += fact.length


def masked(
    code: np.ndarray, begin: np.ndarray, found: Decoded, facts: np.ndarray, loaded: tuple[int, int] = NOWHERE
) -> np.ndarray:
    """A copy of `code`, uint8, with zeros for every leak; same length, so block boundaries hold.

    `begin`: offsets of the ranges that `found` decoded. Zeroed: displacements of rip-relative operands
    and, where the image is `loaded` at fixed addresses, 32 and 64-bit constants inside it, ends included.
    """
    hidden = code.copy()
    _hide(hidden, begin, found.form, found.first, facts, np.uint64(loaded[0]), np.uint64(loaded[1]))
    return hidden
