"""Bit sets of resources (`dag/resources.py`) -> the few registers of a block that one writes and another reads."""

from __future__ import annotations

import numpy as np
from numba import njit

_BITS = 192


def renamed(
    reads: np.ndarray, late_reads: np.ndarray, writes: np.ndarray, double_reads: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Of B blocks sources (B, n, S) int8, whether each is read late (B, n, S) bool and by how many operands
    (B, n, S) int8, and targets (B, n, T) int8.

    Resources that the same instructions of a block read, read late and write become one number; what nobody writes or
    nobody reads is left out. Rows end with -1. reads, late_reads, writes: (B, n, 3) uint64, words of resources.
    """
    size, n = reads.shape[:2]
    sources = np.full((size, n, _BITS), -1, np.int8)
    late = np.zeros((size, n, _BITS), np.bool_)
    counts = np.ones((size, n, _BITS), np.int8)
    targets = np.full((size, n, _BITS), -1, np.int8)
    _number(
        np.ascontiguousarray(reads), np.ascontiguousarray(late_reads), np.ascontiguousarray(writes),
        np.ascontiguousarray(double_reads), sources, late, counts, targets,
    )  # fmt: skip
    n_sources, n_targets = ((found >= 0).sum(2).max(initial=1) for found in (sources, targets))
    return (
        np.ascontiguousarray(sources[..., :n_sources]),
        np.ascontiguousarray(late[..., :n_sources]),
        np.ascontiguousarray(counts[..., :n_sources]),
        np.ascontiguousarray(targets[..., :n_targets]),
    )


@njit(cache=True, nogil=True)
def _number(
    reads: np.ndarray,
    late_reads: np.ndarray,
    writes: np.ndarray,
    double_reads: np.ndarray,
    sources: np.ndarray,
    late: np.ndarray,
    counts: np.ndarray,
    targets: np.ndarray,
) -> None:
    size, n = reads.shape[:2]
    kinds = np.empty((192, 3), np.uint64)  # who reads, who reads late, who writes each register found so far
    for b in range(size):
        n_kinds = 0
        n_sources, n_targets = np.zeros(n, np.int64), np.zeros(n, np.int64)
        for word in range(3):
            for bit in range(64):
                read, read_late, written = np.uint64(0), np.uint64(0), np.uint64(0)
                for i in range(n):
                    shift = np.uint64(bit)
                    place = np.uint64(i)
                    one = np.uint64(1)
                    read |= (reads[b, i, word] >> shift & one) << place
                    read_late |= (late_reads[b, i, word] >> shift & one) << place
                    written |= (writes[b, i, word] >> shift & one) << place
                if not written or not read | read_late:
                    continue
                known = False
                for kind in range(n_kinds):
                    known |= kinds[kind, 0] == read and kinds[kind, 1] == read_late and kinds[kind, 2] == written
                if known:
                    continue
                kinds[n_kinds, 0], kinds[n_kinds, 1], kinds[n_kinds, 2] = read, read_late, written
                for i in range(n):
                    place = np.uint64(i)
                    if read >> place & one or read_late >> place & one:
                        sources[b, i, n_sources[i]] = n_kinds
                        counts[b, i, n_sources[i]] += double_reads[b, i, word] >> np.uint64(bit) & one
                        late[b, i, n_sources[i]] = not read >> place & one
                        n_sources[i] += 1
                    if written >> place & one:
                        targets[b, i, n_targets[i]] = n_kinds
                        n_targets[i] += 1
                n_kinds += 1
