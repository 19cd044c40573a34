"""Random legal orders for all blocks of a document, and where each instruction goes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learned_schedulers.blocks.dag.memory_order import MemoryDags, MemoryOrder
from learned_schedulers.blocks.dag.sampling import random_ready
from learned_schedulers.blocks.read.assembly_file import AssemblyFile
from learned_schedulers.blocks.read.document import Document

LONGEST = 64


class Moves(NamedTuple):
    """The instructions of an object's code: where they are before and after; all int64 (n,)."""

    section: np.ndarray
    before: np.ndarray
    after: np.ndarray
    ordered: np.ndarray  # bool: of a block with a new order


def random_orders(document: Document, memory: MemoryOrder, rng: np.random.Generator) -> dict[int, list[int]]:
    """A random legal order of each block of at most 64 instructions."""
    numbers = [k for k, block in enumerate(document.blocks) if len(block.marks) <= LONGEST]
    blocks = [document.blocks[k] for k in numbers]
    dags = MemoryDags(memory).conflicts([block.code for block in blocks], [block.marks for block in blocks])
    offsets = dags.conflicts.offsets.tolist()
    orders = {}
    for place, (number, block) in enumerate(zip(numbers, blocks, strict=True)):
        precedes = np.zeros((1, len(block.marks), len(block.marks)), bool)
        pairs = slice(offsets[place], offsets[place + 1])
        precedes[0, dags.conflicts.before[pairs], dags.conflicts.after[pairs]] = True
        orders[number] = random_ready(precedes, rng)[0].tolist()
    return orders


def moves(document: AssemblyFile, orders: dict[int, list[int]]) -> Moves:
    """Where each instruction of the file is before and after."""
    part = document.listing
    after, ordered = part.begin.copy(), np.zeros(len(part.begin), bool)
    for number, order in orders.items():
        block = document.instructions[number]
        if list(order) == sorted(order):
            continue
        offset = int(part.begin[block.start])
        for index in order:
            after[block.start + index] = offset
            offset += int(part.end[block.start + index] - part.begin[block.start + index])
        ordered[block.start : block.stop] = True
    return Moves(part.section, part.begin, after, ordered)
