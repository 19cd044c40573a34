"""How the instructions of a block relate to those outside it: behind it, and before it in its program.

GCC's blocks go on at calls, and ours do not, so what stands around a block explains part of GCC's order. Every feature
is a category, as in relations.py.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from learned_schedulers.blocks.problems.instructions import ADDRESS, FIRST_REGISTER, RIP_ADDRESS
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.relations import PAIR, address_category, same_category
from learned_schedulers.blocks.read.leaks import MOST_FOLLOWING as MOST

# Features of a pair (instruction of the block, instruction outside): name -> number of categories.
OUTSIDE = {
    "place": 2 * MOST,  # of the one outside: behind the block from 0, before it from MOST, the nearest first
    "address": PAIR["address"],
    "same": PAIR["same"],
    "uses": 16,  # bits: operand 0 of the first is base (1) or index (2) of the other's address; the reverse (4, 8)
}
_PLACE, _ADDRESS, _SAME, _USES = range(len(OUTSIDE))
_SIZES = np.array(list(OUTSIDE.values()), np.int64)
_STARTS = np.cumsum(_SIZES) - _SIZES
N_OUTSIDE = int(_SIZES.sum())


def places(following: int, preceding: int) -> np.ndarray:
    """Places of the nearest instructions behind a block and before it, (C,) int64 in 0..2 * MOST."""
    return np.r_[np.arange(following), MOST + np.arange(preceding)]


def outside(problems: Problems, chosen: np.ndarray) -> np.ndarray:
    """Rows of the instructions at the places `chosen` (C,), (B, C) int64; -1 for none."""
    sides = [
        np.full((len(problems), MOST), -1, np.int32) if side is None else side
        for side in (problems.following, problems.preceding)
    ]
    return np.concatenate(sides, 1)[:, chosen].astype(np.int64)


def outside_relations(
    instructions: np.ndarray, rows: np.ndarray, chosen: np.ndarray, compared: np.ndarray
) -> np.ndarray:
    """Categories of B blocks of n instructions, (B, n, C, 4) int64 less than N_OUTSIDE, columns OUTSIDE.

    instructions: (B, n); rows: (B, C), of `outside`; compared: (U, 7), `Encodings.compared`.
    """
    categories = np.zeros((*instructions.shape, len(chosen), len(OUTSIDE)), np.int64)
    _relate(instructions, rows, compared, categories)
    categories[..., _PLACE] = chosen
    categories += _STARTS
    return categories


@njit(cache=True, nogil=True)
def _registers(compared: np.ndarray, row: int) -> tuple[int, int, int]:
    """Operand 0, base and index of an instruction; 0 for none."""
    number = compared[row, ADDRESS] - RIP_ADDRESS - 1  # as in instructions.py: base, index, scale and segment
    if number < 0:
        return compared[row, FIRST_REGISTER], 0, 0
    return compared[row, FIRST_REGISTER], number >> 24 & 255, number >> 16 & 255


@njit(cache=True, nogil=True)
def _relate(instructions: np.ndarray, rows: np.ndarray, compared: np.ndarray, categories: np.ndarray) -> None:
    size, n = instructions.shape
    for b in range(size):
        for c in range(rows.shape[1]):
            row = rows[b, c]
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
