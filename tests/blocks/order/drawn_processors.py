"""Drawn processors of few units, in order and out of order, blocks of drawn instructions, and their legal orders."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
from hypothesis import strategies as st

from learned_schedulers.blocks.processors.costs import Processor
from learned_schedulers.blocks.processors.renaming import RegisterWords

UNITS = 6  # the first two are used by name, the others in groups, so that every instruction can issue
_GROUPS = np.array([0b001100, 0b111100, 0b110000], np.int64)
_REGISTERS = 5


@st.composite
def processors(draw: st.DrawFn, least: int = 1, most: int = 8) -> Processor:
    """A processor whose table has the instructions of one block, row after row."""
    n = draw(st.integers(least, most))
    in_order = draw(st.booleans())

    def numbers(low: int, high: int, width: int = 0) -> np.ndarray:
        shape = (n, width) if width else (n,)
        cells = draw(st.lists(st.integers(low, high), min_size=n * max(width, 1), max_size=n * max(width, 1)))
        return np.array(cells, np.int32).reshape(shape)

    def registers() -> np.ndarray:
        words = np.zeros((n, 3), np.uint64)
        words[:, 0] = numbers(0, (1 << _REGISTERS) - 1) & numbers(0, (1 << _REGISTERS) - 1)
        return words

    unit_cycles = np.zeros((n, UNITS), np.int32)
    unit_cycles[:, :2] = np.maximum(numbers(-3, 3, 2), 0)
    choices = numbers(-1, len(_GROUPS) - 1, 1 if in_order else 2)
    choices[choices[:, 0] < 0] = -1
    words = RegisterWords(registers(), registers(), registers(), np.zeros((n, 3), np.uint64))
    return Processor(
        issue_width=draw(st.integers(1, 3)),
        retire_width=0 if in_order else draw(st.integers(1, 3)),
        pools=np.array([] if in_order else [draw(st.integers(3, 9))], np.int32),
        buffers=np.array([] if in_order else [draw(st.integers(2, 5))], np.int32),
        groups=_GROUPS,
        is_supported=np.ones(n, bool),
        micro_ops=numbers(1, 4),
        latencies=numbers(0, 6),
        unit_cycles=unit_cycles,
        choices=choices,
        choice_cycles=np.where(choices >= 0, numbers(1, 3, choices.shape[1]), 0).astype(np.int32),
        registers=words,
        read_advance=numbers(0, 3),
        memory=numbers(0, 2).astype(np.int8),
        pool_entries=numbers(0, 3, 0 if in_order else 1).reshape(n, -1)[:, : 0 if in_order else 1],
        buffer_entries=numbers(0, 2, 0 if in_order else 1).reshape(n, -1)[:, : 0 if in_order else 1],
    )


def conflicts(processor: Processor) -> list[tuple[int, int]]:
    """Pairs (before, after) of instructions of the block that share a register that either writes."""
    reads = (processor.registers.reads | processor.registers.late_reads)[:, 0].tolist()
    writes = processor.registers.writes[:, 0].tolist()
    return [
        (i, k)
        for k in range(len(reads))
        for i in range(k)
        if writes[i] & (reads[k] | writes[k]) or reads[i] & writes[k]
    ]


def legal_orders(processor: Processor) -> list[tuple[int, ...]]:
    """All legal orders of a short block."""
    pairs = conflicts(processor)
    return [
        order
        for order in permutations(range(len(processor.latencies)))
        if all(order.index(i) < order.index(k) for i, k in pairs)
    ]


@st.composite
def orders(draw: st.DrawFn, processor: Processor) -> list[int]:
    """A legal order of the block."""
    pairs, order = conflicts(processor), []
    rest = list(range(len(processor.latencies)))
    while rest:
        ready = [i for i in rest if not any(k == i and before in rest for before, k in pairs)]
        order.append(draw(st.sampled_from(ready)))
        rest.remove(order[-1])
    return order


def plain(n: int, retire_width: int, **changes: np.ndarray) -> Processor:
    """A wide processor and n instructions of latency 3 that need one of the units 2 and 3."""
    words = RegisterWords(*(np.zeros((n, 3), np.uint64) for _ in range(4)))
    wide = Processor(
        issue_width=4,
        retire_width=retire_width,
        pools=np.array([99] if retire_width else [], np.int32),
        buffers=np.array([99] if retire_width else [], np.int32),
        groups=np.array([0b1100], np.int64),
        is_supported=np.ones(n, bool),
        micro_ops=np.ones(n, np.int32),
        latencies=np.full(n, 3, np.int32),
        unit_cycles=np.zeros((n, UNITS), np.int32),
        choices=np.zeros((n, 1), np.int32),
        choice_cycles=np.ones((n, 1), np.int32),
        registers=words,
        read_advance=np.zeros(n, np.int32),
        memory=np.zeros(n, np.int8),
        pool_entries=np.zeros((n, 1 if retire_width else 0), np.int32),
        buffer_entries=np.zeros((n, 1 if retire_width else 0), np.int32),
    )
    return replace(wide, **changes)
