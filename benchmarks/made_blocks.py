"""Corpora of any size for benchmarks: real blocks and variants of them, as CSV files in BHive's format.

A variant has another constant of four bytes: an immediate, or a displacement that is not relative to rip; the masks
leave both as they are. All variants of a corpus have different constants, so none is equal to another one of the same
block. Each file has the same mixture, so corpora of all sizes are alike.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.blocks.read.forms import Forms
from pipeline.corpus.tables import BLOCKS
from pipeline.lab import tables

REAL_SHARE = 1 / 20
LINES = 250_000  # of a file
_ODD = 0x9E3779B1  # times a number, modulo 2**32: another number for each, whose bytes are all in use


class Real(NamedTuple):
    """Real blocks in random order."""

    code: np.ndarray  # uint8, one block after the other
    bounds: np.ndarray  # int64 (n + 1,)
    place: np.ndarray  # int64 (n,): offset in `code` of a constant of four bytes, -1 for a block without one


def read(blocks: Path, seed: int) -> Real:
    """The blocks of a table, shuffled."""
    column = tables.arrow(BLOCKS, blocks, ["code"])["code"].combine_chunks()
    column = column.take(np.random.default_rng(seed).permutation(len(column)))
    _, offsets, values = column.buffers()
    bounds = np.frombuffer(offsets, np.int32)[: len(column) + 1].astype(np.int64)
    code = np.frombuffer(values, np.uint8)
    forms = Forms()
    decoded = forms.decode(code, bounds[:-1], bounds[1:])
    facts = forms.facts[decoded.form]
    length = facts["length"].astype(np.int64)
    start = np.cumsum(length) - length  # blocks are whole instructions, one after the other
    place = np.full(len(column), -1, np.int64)
    block = np.repeat(np.arange(len(column)), np.diff(decoded.first))
    displaced = (facts["displacement_bytes"] == 4) & ~facts["rip_relative"]
    for name, chosen in (("immediate", facts["immediate_bytes"] == 4), ("displacement", displaced)):
        rows = np.flatnonzero(chosen)
        place[block[rows]] = (start + facts[f"{name}_at"])[rows]
    return Real(code, bounds, place)


@njit(cache=True)
def _write(
    code: np.ndarray, begin: np.ndarray, end: np.ndarray, place: np.ndarray, constant: np.ndarray, text: np.ndarray
) -> None:
    """Fill `text` with a line of hexadecimal for each block; constant[k] takes the four bytes at place[k] >= 0."""
    position = 0
    for k in range(len(begin)):
        for offset in range(begin[k], end[k]):
            byte = np.int64(code[offset])
            at = offset - place[k]
            if place[k] >= 0 and 0 <= at < 4:
                byte = (constant[k] >> (8 * at)) & 255
            for digit in (byte >> 4, byte & 15):
                text[position] = digit + (48 if digit < 10 else 87)
                position += 1
        text[position] = 10
        position += 1


def _lines(real: Real, blocks: np.ndarray, constant: np.ndarray, is_variant: np.ndarray) -> bytes:
    begin, end = real.bounds[blocks], real.bounds[blocks + 1]
    text = np.empty(int((end - begin).sum()) * 2 + len(blocks), np.uint8)
    _write(real.code, begin, end, np.where(is_variant, real.place[blocks], -1), constant, text)
    return text.tobytes()


def write(real: Real, n_blocks: int, folder: Path) -> None:
    """Write at least `n_blocks` blocks that differ to files of LINES lines.

    Raises ValueError where there are too few real blocks.
    """
    n_blocks += n_blocks // 10_000  # a variant in a million is equal to a real block or to another one's variant
    n_real = int(n_blocks * REAL_SHARE)
    if n_real > len(real.place):
        raise ValueError(f"{n_blocks} blocks need {n_real} real ones; there are {len(real.place)}")
    folder.mkdir(parents=True)
    n_files = -(-n_blocks // LINES)
    line_bounds = np.linspace(0, n_blocks, n_files + 1).astype(np.int64)
    real_bounds = np.linspace(0, n_real, n_files + 1).astype(np.int64)
    for number in range(n_files):
        originals = np.arange(real_bounds[number], real_bounds[number + 1])
        n_variants = int(line_bounds[number + 1] - line_bounds[number]) - len(originals)
        changeable = originals[real.place[originals] >= 0]
        blocks = np.r_[originals, np.resize(changeable, n_variants)]
        is_variant = np.arange(len(blocks)) >= len(originals)
        constant = (np.arange(line_bounds[number], line_bounds[number + 1]) * _ODD) & 0xFFFFFFFF
        (folder / f"{number:04}.csv").write_bytes(_lines(real, blocks, constant, is_variant))
