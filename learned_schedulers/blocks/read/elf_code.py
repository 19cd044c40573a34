"""The instructions of an ELF file's functions, and where each of them leads."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from iced_x86 import Decoder, FlowControl, Instruction, Mnemonic, OpKind, Register

from learned_schedulers.blocks.read.cut import branch_targets
from learned_schedulers.blocks.read.elf_image import Image
from learned_schedulers.blocks.read.elf_layout import NOWHERE
from learned_schedulers.blocks.read.elf_relocations import OF_BRANCHES, R_NONE, R_PC32, R_PLT32, Relocations
from learned_schedulers.blocks.read.forms import Decoded, Forms
from learned_schedulers.blocks.read.unwinding import Functions


class Flow(IntEnum):
    """Where control goes after an instruction."""

    NEXT = 0
    CALL = 1  # it returns to the next one
    CONDITION = 2  # to the next one or to a place in the instruction
    JUMP = 3  # to a place in the instruction
    INDIRECT = 4  # to an address that is computed
    RETURN = 5
    STOP = 6  # nowhere
    PADDING = 7  # to the next one; it does nothing
    CHOSEN = 8  # a return to an address that the code has written, as thunks do in place of indirect jumps


_FLOWS = {
    FlowControl.NEXT: Flow.NEXT,
    FlowControl.CALL: Flow.CALL,
    FlowControl.INDIRECT_CALL: Flow.CALL,
    FlowControl.INTERRUPT: Flow.CALL,
    FlowControl.CONDITIONAL_BRANCH: Flow.CONDITION,
    FlowControl.XBEGIN_XABORT_XEND: Flow.CONDITION,
    FlowControl.UNCONDITIONAL_BRANCH: Flow.JUMP,
    FlowControl.INDIRECT_BRANCH: Flow.INDIRECT,
    FlowControl.RETURN: Flow.RETURN,
    FlowControl.EXCEPTION: Flow.STOP,
}
_LAST = (Flow.JUMP, Flow.INDIRECT, Flow.RETURN, Flow.CHOSEN, Flow.STOP)  # control never goes to the next instruction


class Code(NamedTuple):
    """The N instructions of F functions."""

    decoded: Decoded
    function: np.ndarray  # (N,) int64
    start: np.ndarray  # (N,) int64: position
    length: np.ndarray  # (N,) int64, bytes
    flow: np.ndarray  # (N,) uint8, `Flow`
    plain: np.ndarray  # (N,) bool: neither control transfer nor padding
    to: np.ndarray  # (N,) int64: position that a direct branch or call leads to; NOWHERE if there is none
    refers: np.ndarray  # (N,) int64: position of a rip-relative operand; NOWHERE if there is none
    loads_address: np.ndarray  # (N,) bool: the operand's address is computed, its memory not accessed
    outside: np.ndarray  # (N,) bool: a branch or call whose target is a symbol of another file
    relocation: np.ndarray  # (R,) int64: instruction that each relocation changes; -1 if none

    def last(self) -> np.ndarray:
        """Whether control never goes on after each instruction, (N,) bool."""
        return np.isin(self.flow, _LAST)

    def at(self, positions: np.ndarray) -> np.ndarray:
        """Index of the instruction that begins at each position, int64; -1 for none."""
        if len(self.start) == 0:
            return np.full(len(positions), -1, np.int64)
        index = np.searchsorted(self.start, positions).clip(max=len(self.start) - 1)
        return np.where(self.start[index] == positions, index, -1)

    def containing(self, positions: np.ndarray) -> np.ndarray:
        """Index of the instruction that contains each position, int64; -1 for none."""
        if len(self.start) == 0:
            return np.full(len(positions), -1, np.int64)
        index = np.searchsorted(self.start, positions, "right") - 1
        inside = (index >= 0) & (positions < self.start[index] + self.length[index])
        return np.where(inside, index, -1)


def signed(code: np.ndarray, offsets: np.ndarray, size: int) -> np.ndarray:
    """Little-endian signed numbers of `size` bytes, int64."""
    columns = code[offsets[:, None] + np.arange(size)].reshape(len(offsets), size)
    numbers: np.ndarray = columns.view(f"<i{size}")[:, 0].astype(np.int64)
    return numbers


def _sets_return(instruction: Instruction) -> bool:
    """Whether a return after this instruction goes to an address that the code has chosen, not to the caller."""
    by_stack = instruction.memory_base == Register.RSP and instruction.memory_index == Register.NONE
    store = instruction.mnemonic == Mnemonic.MOV and instruction.op0_kind == OpKind.MEMORY and by_stack
    skip = instruction.mnemonic == Mnemonic.LEA and instruction.op0_register == Register.RSP and by_stack
    return store or skip or instruction.mnemonic == Mnemonic.PUSH


class _Kinds(NamedTuple):
    """What N instructions are, by their forms."""

    flow: np.ndarray  # (N,) uint8
    loads_address: np.ndarray  # (N,) bool
    sets_return: np.ndarray  # (N,) bool


def _kinds(form: np.ndarray, forms: Forms) -> _Kinds:
    distinct, number = np.unique(form, return_inverse=True)
    flow, loads_address, sets_return = [], [], []
    for row, plain in zip(distinct.tolist(), forms.facts["plain"][distinct].tolist(), strict=True):
        instruction = Decoder(64, forms.examples[row]).decode()
        kind = _FLOWS[instruction.flow_control]
        flow.append(Flow.PADDING if kind == Flow.NEXT and not plain else kind)
        loads_address.append(instruction.mnemonic == Mnemonic.LEA)
        sets_return.append(_sets_return(instruction))
    return _Kinds(
        np.array(flow, np.uint8)[number], np.array(loads_address, bool)[number], np.array(sets_return, bool)[number]
    )


def read_code(image: Image, functions: Functions, relocations: Relocations, forms: Forms) -> Code:
    """The instructions of functions, whose bounds are positions."""
    decoded = forms.decode(image.code, functions.begin, functions.end)
    facts, counts = forms.facts[decoded.form], np.diff(decoded.first)
    function = np.repeat(np.arange(len(counts)), counts)
    length = facts["length"].astype(np.int64)
    offset = np.cumsum(length) - length
    start = offset + np.repeat(functions.begin - np.r_[offset, 0][decoded.first[:-1].clip(max=len(offset))], counts)
    flow, loads_address, sets_return = _kinds(decoded.form, forms)
    prepared = np.r_[False, (sets_return & (np.r_[function[1:], -1] == function))[:-1]]
    flow[(flow == Flow.RETURN) & prepared[: len(flow)]] = Flow.CHOSEN
    to, refers = np.full((2, len(start)), NOWHERE, np.int64)
    to[facts["branch_bytes"] > 0] = branch_targets(
        image.code, functions.begin, decoded.form, decoded.first, forms.facts
    )
    near = np.flatnonzero(facts["rip_relative"])
    refers[near] = start[near] + length[near] + signed(image.code, start[near] + facts["displacement_at"][near], 4)
    outside = np.zeros(len(start), bool)
    changed = np.full(len(relocations.place), -1, np.int64)
    if image.relocatable and len(start):
        in_code = np.isin(relocations.section, [k for k, base in enumerate(image.bases) if base < len(image.code)])
        index = (np.searchsorted(start, relocations.place, "right") - 1).clip(min=0)
        hit = in_code & (start[index] <= relocations.place) & (relocations.place < start[index] + length[index])
        changed[hit] = index[hit]
        hit &= relocations.kind != R_NONE
        for row in np.flatnonzero(hit).tolist():
            k, target = int(index[row]), int(relocations.target[row])
            if facts["branch_bytes"][k] > 0:
                outside[k], to[k] = target == NOWHERE, NOWHERE
                if target != NOWHERE and relocations.kind[row] in OF_BRANCHES:
                    to[k] = target + start[k] + length[k] - relocations.place[row]
            elif facts["rip_relative"][k] and relocations.place[row] == start[k] + facts["displacement_at"][k]:
                refers[k] = NOWHERE  # also for operands in the table of addresses that the linker makes (GOT)
                if target != NOWHERE and relocations.kind[row] in (R_PC32, R_PLT32):
                    refers[k] = target + start[k] + length[k] - relocations.place[row]
    return Code(
        decoded, function, start, length, flow, facts["plain"], to, refers, loads_address, outside,
        changed,
    )  # fmt: skip
