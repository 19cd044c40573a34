"""Orders that are wrong on purpose, so that it is seen what running the programs can find."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from learned_schedulers.blocks.dag.conflicts import LONGEST
from learned_schedulers.blocks.dag.memory_order import MemoryDags, MemoryOrder
from learned_schedulers.blocks.dag.sampling import random_ready
from learned_schedulers.blocks.read.document import Document

KINDS = ("one_dependency", "every_block", "across_a_named_place")
_NAMED = re.compile(r"^\.(?:quad|long|4byte|8byte|set)\s.*?(\.L\w+|\d+b)\b", re.MULTILINE)
_INSTRUCTION = re.compile(r"\s*[a-z][a-z0-9]* [^:]*$")
_CONTROL = re.compile(r"\s*(j\w+|call|ret|rep|lock|notrack)\b")


def reversed_dependencies(document: Document, memory: MemoryOrder, rng: np.random.Generator) -> dict[int, list[int]]:
    """For each block with a dependency, a random order in which one that nothing else demands is reversed."""
    short = [k for k, block in enumerate(document.blocks) if len(block.marks) <= LONGEST]
    blocks = [document.blocks[k] for k in short]
    conflicts = MemoryDags(memory).conflicts([b.code for b in blocks], [b.marks for b in blocks]).conflicts
    orders: dict[int, list[int]] = {}
    for place, number in enumerate(short):
        edges = slice(conflicts.offsets[place], conflicts.offsets[place + 1])
        before, after = conflicts.before[edges], conflicts.after[edges]
        reduced = np.flatnonzero(conflicts.reduced[edges])
        if not len(reduced):
            continue
        n = len(document.blocks[number].marks)
        precedes = np.zeros((1, n, n), bool)
        precedes[0, before, after] = True
        edge = rng.choice(reduced)
        precedes[0, before[edge], after[edge]], precedes[0, after[edge], before[edge]] = False, True
        orders[number] = random_ready(precedes, rng)[0].tolist()
    return orders


def alone(orders: Mapping[int, list[int]], rng: np.random.Generator) -> dict[int, list[int]]:
    """One of the orders."""
    number = int(rng.choice(sorted(orders)))
    return {number: orders[number]}


def across(text: str, rng: np.random.Generator) -> str | None:
    """The text with a label that data name behind the instruction that it named; None if there is no such label."""
    named = {name for name in _NAMED.findall(text) if not name.endswith("b")}
    lines = text.split("\n")
    places = [
        k
        for k, (line, following) in enumerate(pairwise(lines))
        if line.removesuffix(":") in named and _INSTRUCTION.match(following) and not _CONTROL.match(following)
    ]
    if not places:
        return None
    k = int(rng.choice(places))
    lines[k], lines[k + 1] = lines[k + 1], lines[k]
    return "\n".join(lines)
