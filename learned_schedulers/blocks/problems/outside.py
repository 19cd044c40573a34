"""How the instructions of a block relate to those behind it in its program.

GCC's blocks go on at calls, and ours do not, so what stands behind a block explains part of GCC's order. Every feature
is a category, as in relations.py.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from learned_schedulers.blocks.problems.instructions import ADDRESS, FIRST_REGISTER, RIP_ADDRESS
from learned_schedulers.blocks.problems.relations import PAIR, address_category, same_category
from learned_schedulers.blocks.read.leaks import MOST_FOLLOWING as MOST
from learned_schedulers.kernel_arrays import read_only

# Features of a pair (instruction of the block, instruction behind it): name -> number of categories.
OUTSIDE = {
    "place": MOST,  # of the one behind, the nearest is 0
    "address": PAIR["address"],
    "same": PAIR["same"],
    "uses": 16,  # bits: operand 0 of the first is base (1) or index (2) of the other's address; the reverse (4, 8)
}
_PLACE, _ADDRESS, _SAME, _USES = range(len(OUTSIDE))
_SIZES = np.array(list(OUTSIDE.values()), np.int64)
_STARTS = np.cumsum(_SIZES) - _SIZES
N_OUTSIDE = int(_SIZES.sum())


def outside_relations(instructions: np.ndarray, behind: np.ndarray, compared: np.ndarray) -> np.ndarray:
    """Categories of B blocks of n instructions, (B, n, C, 4) int64 less than N_OUTSIDE, columns OUTSIDE.

    instructions: (B, n); behind: (B, C), rows of the nearest instructions behind each block, -1 for none; compared:
    (U, 7), `Encodings.compared`.
    """
    count = behind.shape[1]
    categories = np.zeros((*instructions.shape, count, len(OUTSIDE)), np.int64)
    _relate(*read_only((np.asarray(instructions, np.int32), behind, compared)), categories)
    categories[..., _PLACE] = np.arange(count)
    return categories + _STARTS


@njit(cache=True, nogil=True)
def _registers(compared: np.ndarray, row: int) -> tuple[int, int, int]:
    """Operand 0, base and index of an instruction; 0 for none."""
    number = compared[row, ADDRESS] - RIP_ADDRESS - 1  # as in instructions.py: base, index, scale and segment
    if number < 0:
        return compared[row, FIRST_REGISTER], 0, 0
    return compared[row, FIRST_REGISTER], number >> 24 & 255, number >> 16 & 255


@njit(cache=True, nogil=True)
def _relate(instructions: np.ndarray, behind: np.ndarray, compared: np.ndarray, categories: np.ndarray) -> None:
    size, n = instructions.shape
    for b in range(size):
        for c in range(behind.shape[1]):
            row = behind[b, c]
            if row < 0:
                continue
            their_register, their_base, their_index = _registers(compared, row)
            for i in range(n):
                register, base, index = _registers(compared, instructions[b, i])
                uses = 0
                if register > 0:
                    uses += (register == their_base) + 2 * (register == their_index)
                if their_register > 0:
                    uses += 4 * (their_register == base) + 8 * (their_register == index)
                categories[b, i, c, _ADDRESS] = address_category(compared, instructions[b, i], row)
                categories[b, i, c, _SAME] = same_category(compared, instructions[b, i], row)
                categories[b, i, c, _USES] = uses
