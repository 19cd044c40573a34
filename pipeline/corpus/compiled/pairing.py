"""Two objects of one source file, without and with the last scheduling pass -> pairs of orders, block by block."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
from iced_x86 import Decoder

from learned_schedulers.blocks.read.cut import Blocks
from learned_schedulers.blocks.read.elf import Image
from learned_schedulers.blocks.read.forms import Forms
from pipeline.corpus.compiled.block_places import Section, instructions, sections
from pipeline.corpus.compiled.permutations import input_order

# Why a block has no partner.
FUNCTIONS = "the section has another number of functions"
FLOW = "the function has other control transfers"
CUT = "no block at this place"
LENGTH = "another number of instructions"
DISPLACEMENT = "displacements differ"
CONTENT = "other instructions"


class Pairs(NamedTuple):
    """The paired blocks of one file, and counts of the other blocks by reason."""

    blocks: list[Blocks]  # as scheduled, by section; only those with a partner
    orders: list[tuple[int, ...]]  # of each of these blocks: its input order
    functions: int
    unpaired_functions: int
    candidates: int  # blocks of the required lengths in the scheduled object
    unpaired: Counter[str]  # reason -> number of blocks


def _shape(code: bytes) -> tuple[int, ...]:
    """Mnemonic, registers and memory registers of an instruction, without its constants."""
    instruction = Decoder(64, code).decode()
    registers = [instruction.op_register(k) for k in range(instruction.op_count)]
    memory = (instruction.memory_base, instruction.memory_index, instruction.memory_index_scale)
    return (instruction.mnemonic, *registers, *memory)


def _difference(after: list[bytes], before: list[bytes]) -> str:
    """The reason why two blocks at the same place are not a pair."""
    if len(after) != len(before):
        return LENGTH
    same = Counter(map(_shape, after)) == Counter(map(_shape, before))
    return DISPLACEMENT if same else CONTENT


def _keys(section: Section) -> list[tuple[int, int, int]]:
    """Function, `passed`, and number among the blocks with the same two (padding may separate blocks)."""
    keys, blocks_at = [], Counter[tuple[int, int]]()
    for place in zip(section.function.tolist(), section.passed.tolist(), strict=True):
        keys.append((*place, blocks_at[place]))
        blocks_at[place] += 1
    return keys


def _pair_section(after: Section, before: Section | None, min_instructions: int, max_instructions: int) -> Pairs:
    lengths = after.blocks.n_instructions
    selected = np.flatnonzero((lengths >= min_instructions) & (lengths <= max_instructions))
    unpaired: Counter[str] = Counter()
    paired: list[int] = []
    orders: list[tuple[int, ...]] = []
    functions = len(after.totals)
    if before is None or len(before.totals) != functions:
        unpaired[FUNCTIONS] = len(selected)
        return Pairs([], [], functions, functions, len(selected), unpaired)
    same_flow = after.totals == before.totals
    partners = {key: block for block, key in enumerate(_keys(before))}
    keys = _keys(after)
    for block in selected.tolist():
        if not same_flow[keys[block][0]]:
            unpaired[FLOW] += 1
        elif (partner := partners.get(keys[block])) is None:
            unpaired[CUT] += 1
        else:
            final, initial = instructions(after, block), instructions(before, partner)
            order = input_order(final, initial)
            if order is None:
                unpaired[_difference(final, initial)] += 1
            else:
                paired.append(block)
                orders.append(order)
    section_blocks = after.blocks
    blocks = section_blocks._replace(
        address=section_blocks.address[paired],
        begin=section_blocks.begin[paired],
        end=section_blocks.end[paired],
        n_instructions=section_blocks.n_instructions[paired],
    )
    return Pairs([blocks], orders, functions, int((~same_flow).sum()), len(selected), unpaired)


def pair(after: Image, before: Image, min_instructions: int, max_instructions: int, forms: Forms) -> Pairs:
    """Pair the blocks of a scheduled object with those of the unscheduled one.

    Only blocks of a length in [min_instructions, max_instructions] count. Sections are matched by name, functions by
    number, and blocks by place (compiled/block_places.py). The blocks of a pair have the same instructions, including
    constants and references. Raises ValueError if an image is not an object file.
    """
    unscheduled = {section.blocks.section: section for section in sections(before, forms)}
    parts = [
        _pair_section(s, unscheduled.get(s.blocks.section), min_instructions, max_instructions)
        for s in sections(after, forms)
    ]
    return Pairs(
        blocks=[section for part in parts for section in part.blocks],
        orders=[order for part in parts for order in part.orders],
        functions=sum(part.functions for part in parts),
        unpaired_functions=sum(part.unpaired_functions for part in parts),
        candidates=sum(part.candidates for part in parts),
        unpaired=sum((part.unpaired for part in parts), Counter()),
    )
