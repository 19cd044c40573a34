"""Basic blocks of an ELF file's functions, with what the surroundings tell of each instruction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from iced_x86 import Decoder

from learned_schedulers.blocks.dag.frames import frame_marks
from learned_schedulers.blocks.dag.memory_order import Mark
from learned_schedulers.blocks.read.elf_code import Code, signed
from learned_schedulers.blocks.read.elf_image import Image
from learned_schedulers.blocks.read.elf_relocations import MOVABLE, TLS_SEQUENCES, Relocations, type_name
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.blocks.read.regions import IACA
from learned_schedulers.blocks.read.unwinding import Functions

_LIMIT = 1 << 31  # a displacement has 32 bits with a sign
# Valgrind recognises requests of the program by this sequence (`rol rdi` by 3, 13, 61 and 51, `xchg rbx, rbx`).
REQUEST = bytes.fromhex("48c1c703 48c1c70d 48c1c73d 48c1c733 4887db")
REQUEST_INSTRUCTIONS = 5


class Cut(NamedTuple):
    """B runs of instructions."""

    first: np.ndarray  # (B,) int64: index of the first instruction in `Code`
    last: np.ndarray  # (B,) int64: index after the last one


def cut(code: Code, is_target: np.ndarray, reached: np.ndarray) -> Cut:
    """Maximal runs of at least two plain instructions that control reaches, into which nothing leads."""
    usable = code.plain & reached
    if len(usable) == 0:
        return Cut(np.zeros(0, np.int64), np.zeros(0, np.int64))
    goes_on = np.zeros(len(usable), bool)  # this instruction belongs to the run of the one before
    goes_on[1:] = usable[1:] & usable[:-1] & (code.function[1:] == code.function[:-1]) & ~is_target[code.start[1:]]
    first = np.flatnonzero(usable & ~goes_on)
    ends = np.r_[np.flatnonzero(~goes_on), len(usable)]
    last = ends[np.searchsorted(ends, first, "right")]
    long_enough = last - first >= 2
    return Cut(first[long_enough], last[long_enough])


def obstacles(image: Image, code: Code, runs: Cut, relocations: Relocations, forms: Forms) -> dict[int, str]:
    """Runs that hold an instruction which cannot move, and why, by ascending number."""
    reasons: dict[int, str] = {}
    block_of = np.full(len(code.start), -1, np.int64)
    for number, (first, last) in enumerate(zip(runs.first.tolist(), runs.last.tolist(), strict=True)):
        block_of[first:last] = number
    facts = forms.facts[code.decoded.form]
    if image.relocatable:
        rows = np.flatnonzero(code.relocation >= 0)
        rows = rows[block_of[code.relocation[rows]] >= 0]
        for row in rows.tolist():
            k, kind = int(code.relocation[row]), int(relocations.kind[row])
            reason = _field_reason(facts[k], int(relocations.place[row] - code.start[k]), kind)
            if reason:
                reasons.setdefault(int(block_of[k]), reason)
    else:
        changed = _changed_by_loader(image, relocations, code)
        for k in np.flatnonzero(changed & (block_of >= 0)).tolist():
            reasons.setdefault(int(block_of[k]), "the loader changes its bytes (a relocation of code)")
    near = np.flatnonzero(facts["rip_relative"] & (block_of >= 0))
    if len(near):
        distance = signed(image.code, code.start[near] + facts["displacement_at"][near], 4)
        blocks = block_of[near]
        last_instruction = runs.last[blocks] - 1
        size = code.start[last_instruction] + code.length[last_instruction] - code.start[runs.first[blocks]]
        for block in blocks[(distance - size < -_LIMIT) | (distance + size >= _LIMIT)].tolist():
            reasons.setdefault(block, "a rip-relative distance that may not fit into 32 bits elsewhere in the block")
    return dict(sorted(reasons.items()))


def _field_reason(fact: np.void, offset: int, kind: int) -> str:
    """Why an instruction with a relocation cannot move; empty if it can. offset: of the field in the instruction."""
    if kind in TLS_SEQUENCES:
        return f"a sequence for a thread's variable, which linkers replace as a whole ({type_name(kind)})"
    if kind not in MOVABLE:
        return f"a relocation of the type {type_name(kind)}"
    size = MOVABLE[kind]
    fields = ((fact["displacement_at"], fact["displacement_bytes"]), (fact["immediate_at"], fact["immediate_bytes"]))
    if size and not any((offset, size) == (int(at), int(length)) for at, length in fields):
        return f"a relocation that fills in neither a displacement nor an immediate ({type_name(kind)})"
    return ""


def _changed_by_loader(image: Image, relocations: Relocations, code: Code) -> np.ndarray:
    """Whether a relocation of the loader changes bytes of each instruction, (N,) bool."""
    changed = np.zeros(len(image.code) + 1, np.int64)
    for place in relocations.place[(relocations.place > -8) & (relocations.place < len(image.code))].tolist():
        changed[max(place, 0) : place + 8] = 1
    before = np.r_[0, np.cumsum(changed)]
    hit: np.ndarray = before[code.start + code.length] > before[code.start]
    return hit


def marks(
    image: Image, functions: Functions, code: Code, relocations: Relocations, leaves: np.ndarray, chosen: np.ndarray,
    begins: np.ndarray, forms: Forms,
) -> np.ndarray:  # fmt: skip
    """`Mark` of each instruction, (N,) uint8; of functions that are not chosen, zeros.

    leaves, chosen: (F,) bool. begins: positions of functions whose first instruction stays the first.
    """
    tags = np.zeros(len(code.start), np.uint8)
    content = image.code.tobytes()
    for f in np.flatnonzero(chosen & ~leaves).tolist():
        begin, end = int(functions.begin[f]), int(functions.end[f])
        low, high = code.decoded.first[f : f + 2].tolist()
        instructions = list(Decoder(64, content[begin:end], ip=begin))
        tags[low:high] = np.frombuffer(frame_marks(instructions, leaves=False), np.uint8)
    facts = forms.facts[code.decoded.form]
    rows = np.flatnonzero(code.relocation >= 0)
    changed = code.relocation[rows]
    offsets = relocations.place[rows] - code.start[changed]
    in_displacement = (facts["displacement_bytes"][changed] > 0) & (offsets == facts["displacement_at"][changed])
    tags[changed[in_displacement]] |= int(Mark.LINKED)
    # What a change of the rules of unwinding describes ends there: before it, other rules hold.
    stays = np.r_[code.containing(functions.rows - 1), code.at(begins)]
    tags[stays[stays >= 0]] |= int(Mark.FIXED)
    for sequence, length in ((REQUEST, REQUEST_INSTRUCTIONS), *((mark, 1) for mark in IACA.values())):
        place = content.find(sequence)
        while place >= 0:
            k = int(code.at(np.array([place]))[0])
            if k >= 0:
                tags[k : k + length] |= int(Mark.FIXED)
            place = content.find(sequence, place + 1)
    return tags
