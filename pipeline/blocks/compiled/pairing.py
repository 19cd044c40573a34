"""Two objects of one source file, without and with the last scheduling pass -> pairs of orders, block by block."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
from iced_x86 import Decoder

from pipeline.blocks.compiled.block_places import Section, instructions, sections
from pipeline.blocks.compiled.permutations import input_order
from pipeline.blocks.corpus.cut import Blocks
from pipeline.blocks.corpus.elf import Image
from pipeline.blocks.corpus.forms import Forms

# Why a block has no partner.
FUNCTIONS = "the section has another number of functions"
FLOW = "the function has other control transfers"
CUT = "no block at this place"
LENGTH = "another number of instructions"
DISPLACEMENT = "displacements differ"
CONTENT = "other instructions"


class Pairs(NamedTuple):
    """The paired blocks of one file, and what became of the others."""

    blocks: list[Blocks]  # as scheduled, by section; only those with a partner
    orders: list[tuple[int, ...]]  # of each of them: input_order
    functions: int
    unpaired_functions: int
    found: int  # blocks of the lengths wanted, in the scheduled object
    unpaired: Counter[str]  # why -> blocks


def _shape(code: bytes) -> tuple[int, ...]:
    """An instruction without its constants."""
    instruction = Decoder(64, code).decode()
    registers = [instruction.op_register(k) for k in range(instruction.op_count)]
    memory = (instruction.memory_base, instruction.memory_index, instruction.memory_index_scale)
    return (instruction.mnemonic, *registers, *memory)


def _difference(after: list[bytes], before: list[bytes]) -> str:
    """Why two blocks at the same place are no pair."""
    if len(after) != len(before):
        return LENGTH
    same = Counter(map(_shape, after)) == Counter(map(_shape, before))
    return DISPLACEMENT if same else CONTENT


def _keys(section: Section) -> list[tuple[int, int, int]]:
    """Function, transfers and targets passed, and number among the blocks of that place (padding may separate some)."""
    keys, seen = [], Counter[tuple[int, int]]()
    for place in zip(section.function.tolist(), section.passed.tolist(), strict=True):
        keys.append((*place, seen[place]))
        seen[place] += 1
    return keys


def _pair_section(after: Section, before: Section | None, least: int, most: int) -> Pairs:
    n = after.blocks.n_instructions
    wanted = np.flatnonzero((n >= least) & (n <= most))
    unpaired: Counter[str] = Counter()
    kept: list[int] = []
    orders: list[tuple[int, ...]] = []
    functions = len(after.totals)
    if before is None or len(before.totals) != functions:
        unpaired[FUNCTIONS] = len(wanted)
        return Pairs([], [], functions, functions, len(wanted), unpaired)
    same_flow = after.totals == before.totals
    partners = {key: block for block, key in enumerate(_keys(before))}
    keys = _keys(after)
    for block in wanted.tolist():
        if not same_flow[keys[block][0]]:
            unpaired[FLOW] += 1
        elif (partner := partners.get(keys[block])) is None:
            unpaired[CUT] += 1
        else:
            final, first = instructions(after, block), instructions(before, partner)
            order = input_order(final, first)
            if order is None:
                unpaired[_difference(final, first)] += 1
            else:
                kept.append(block)
                orders.append(order)
    b = after.blocks
    blocks = b._replace(
        address=b.address[kept], begin=b.begin[kept], end=b.end[kept], n_instructions=b.n_instructions[kept]
    )
    return Pairs([blocks], orders, functions, int((~same_flow).sum()), len(wanted), unpaired)


def pair(after: Image, before: Image, least: int, most: int, forms: Forms) -> Pairs:
    """Pair the blocks of `least` to `most` instructions of a scheduled object with those of the unscheduled one.

    Sections by name, functions by number, blocks by place (compiled/block_places.py). A pair has the same instructions,
    constants and references included. Raises ValueError where one is not an object file.
    """
    unscheduled = {section.blocks.section: section for section in sections(before, forms)}
    parts = [_pair_section(s, unscheduled.get(s.blocks.section), least, most) for s in sections(after, forms)]
    return Pairs(
        blocks=[section for part in parts for section in part.blocks],
        orders=[order for part in parts for order in part.orders],
        functions=sum(part.functions for part in parts),
        unpaired_functions=sum(part.unpaired_functions for part in parts),
        found=sum(part.found for part in parts),
        unpaired=sum((part.unpaired for part in parts), Counter()),
    )
