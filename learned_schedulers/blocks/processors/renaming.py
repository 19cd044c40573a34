"""Bit sets of resources (`dag/resources.py`) -> the few registers of a block that are both written and read in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

_WORDS, _WORD_BITS = 3, 64
_BITS = _WORDS * _WORD_BITS


class RegisterWords(NamedTuple):
    """Resources of instructions as bit sets: words, (..., 3) uint64 each."""

    reads: np.ndarray
    late_reads: np.ndarray
    writes: np.ndarray
    double_reads: np.ndarray  # read by two operands


class Registers(NamedTuple):
    """Registers of the instructions of B blocks, numbered within each block; -1: no more."""

    sources: np.ndarray  # (B, n, S) int8: read
    is_late: np.ndarray  # (B, n, S) bool: read late
    counts: np.ndarray  # (B, n, S) int8: how many operands read it
    targets: np.ndarray  # (B, n, T) int8: written


def renamed(words: RegisterWords) -> Registers:
    """Registers of B blocks of n instructions. words: (B, n, 3) each.

    Resources that the same instructions of a block read, read late and write become one register. A resource that no
    instruction writes, or that none reads, is left out.
    """
    size, n = words.reads.shape[:2]
    registers = Registers(
        sources=np.full((size, n, _BITS), -1, np.int8),
        is_late=np.zeros((size, n, _BITS), np.bool_),
        counts=np.ones((size, n, _BITS), np.int8),
        targets=np.full((size, n, _BITS), -1, np.int8),
    )
    n_sources, n_targets = _number(RegisterWords(*map(np.ascontiguousarray, words)), registers)
    return Registers(
        sources=np.ascontiguousarray(registers.sources[..., :n_sources]),
        is_late=np.ascontiguousarray(registers.is_late[..., :n_sources]),
        counts=np.ascontiguousarray(registers.counts[..., :n_sources]),
        targets=np.ascontiguousarray(registers.targets[..., :n_targets]),
    )


@njit(cache=True, nogil=True)
def _number(words: RegisterWords, registers: Registers) -> tuple[int, int]:
    """Fill `registers`; returns the most sources and the most targets of an instruction, at least 1."""
    reads, late_reads, writes = words.reads, words.late_reads, words.writes
    sources, is_late, counts, targets = registers.sources, registers.is_late, registers.counts, registers.targets
    size, n = reads.shape[:2]
    most_sources = most_targets = 1
    # Of each register so far, bit sets of the instructions that read it, read it late and write it.
    readers, late_readers, writers = np.empty(_BITS, np.uint64), np.empty(_BITS, np.uint64), np.empty(_BITS, np.uint64)
    for b in range(size):
        n_registers = 0
        n_sources, n_targets = np.zeros(n, np.int64), np.zeros(n, np.int64)
        for word in range(_WORDS):
            any_read, any_written = np.uint64(0), np.uint64(0)
            for i in range(n):
                any_read |= reads[b, i, word] | late_reads[b, i, word]
                any_written |= writes[b, i, word]
            remaining, bit = any_read & any_written, -1
            while remaining:
                bit += 1
                present = remaining & np.uint64(1)
                remaining >>= np.uint64(1)
                if not present:
                    continue
                read, read_late, written = np.uint64(0), np.uint64(0), np.uint64(0)
                for i in range(n):
                    shift = np.uint64(bit)
                    place = np.uint64(i)
                    lowest_bit = np.uint64(1)
                    read |= (reads[b, i, word] >> shift & lowest_bit) << place
                    read_late |= (late_reads[b, i, word] >> shift & lowest_bit) << place
                    written |= (writes[b, i, word] >> shift & lowest_bit) << place
                is_known = False
                for register in range(n_registers):
                    is_known |= (
                        readers[register] == read
                        and late_readers[register] == read_late
                        and writers[register] == written
                    )
                if is_known:
                    continue
                readers[n_registers], late_readers[n_registers], writers[n_registers] = read, read_late, written
                for i in range(n):
                    place = np.uint64(i)
                    if read >> place & lowest_bit or read_late >> place & lowest_bit:
                        sources[b, i, n_sources[i]] = n_registers
                        counts[b, i, n_sources[i]] += words.double_reads[b, i, word] >> np.uint64(bit) & lowest_bit
                        is_late[b, i, n_sources[i]] = not read >> place & lowest_bit
                        n_sources[i] += 1
                    if written >> place & lowest_bit:
                        targets[b, i, n_targets[i]] = n_registers
                        n_targets[i] += 1
                n_registers += 1
        most_sources, most_targets = max(most_sources, n_sources.max()), max(most_targets, n_targets.max())
    return most_sources, most_targets
