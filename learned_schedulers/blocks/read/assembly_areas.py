"""Areas of an assembly file that control may enter at places that nobody can list: they are left alone as a whole."""

from __future__ import annotations

import numpy as np
from iced_x86 import Decoder, FlowControl, Instruction, Mnemonic

from learned_schedulers.blocks.read.assembler import relocation_symbols
from learned_schedulers.blocks.read.assembly_functions import functions
from learned_schedulers.blocks.read.assembly_keys import Addresses, Finder
from learned_schedulers.blocks.read.computed_jumps import computed_jumps, may_compute
from learned_schedulers.blocks.read.listing import Listing, by_section
from learned_schedulers.blocks.read.statements import Kind, Source

# Code that jumps to an address in a register, as `jmp reg` does (for processors with weak branch prediction).
_THUNKS = ("indirect_thunk", "retpoline", "lvi_thunk")


class Areas:
    """The parts of a file that are left alone as a whole: functions, and what lies between global labels."""

    def __init__(self, source: Source, part: Listing) -> None:
        bounds = {0}
        for function in functions(source):
            bounds |= {function.first, function.last}
        exported = {s.operands.strip() for s in source.statements if s.word in (".globl", ".global", ".weak")}
        bounds |= {k for k, s in enumerate(source.statements) if s.kind == Kind.LABEL and s.word in exported}
        lines = np.array(sorted(bounds), np.int64)
        number = np.searchsorted(lines, part.line, "right") - 1
        _, self.of = np.unique(part.section * len(lines) + number, return_inverse=True)  # (C,) number of the area
        self.count = int(self.of.max(initial=-1)) + 1
        self.opaque = np.zeros(self.count, bool)  # it has a statement that is not understood in it, or beside it
        opaque = [k for k, s in enumerate(source.statements) if s.kind == Kind.OPAQUE and s.text]
        if self.count:
            nearest = np.searchsorted(part.line, opaque).clip(max=len(part.line) - 1)
            self.opaque[self.of[nearest]] = True
            self.opaque[self.of[(nearest - 1).clip(min=0)]] = True


def components(part: Listing, finder: Finder, areas: Areas, transfers: Addresses, begins: np.ndarray) -> np.ndarray:
    """Number of the set of areas that jump to each other's inside, for each area."""
    is_call = np.array([part.code(k)[:1] == b"\xe8" for k in transfers.holder.tolist()], bool)
    into = finder.at(transfers.key)
    inner = ~is_call & (into >= 0) & ~np.isin(transfers.key, begins)
    return _connected(areas.of[transfers.holder[inner]], areas.of[into[inner]], areas.count)


def _connected(source: np.ndarray, into: np.ndarray, count: int) -> np.ndarray:
    """Number of the component of each of `count` nodes, (count,) int64; by their first nodes; without SciPy.

    source, into: (E,) ends of the edges, whose directions do not count.
    """
    least = np.arange(count)  # a node of the same component, in the end its first one
    while True:
        lower = np.minimum(least[source], least[into])
        following = least.copy()
        for ends in (source, into, least[source], least[into]):
            np.minimum.at(following, ends, lower)
        following = following[following]
        if np.array_equal(following, least):
            return np.unique(least, return_inverse=True)[1].astype(np.int64)
        least = following


def entered_anywhere(
    source: Source, part: Listing, finder: Finder, areas: Areas, component: np.ndarray, transfers: Addresses,
    inner: Addresses, operands: Addresses, pointed: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Instructions of areas where control may arrive at a place that cannot be listed, (C,) bool.

    inner: instructions, -1 for none, whose address is held somewhere, begins of functions apart. operands: those whose
    address an instruction holds, begins of functions too. pointed: (C,) bool, begins of functions that data hold.
    """
    wild = np.zeros(len(part.line), bool)
    if not len(wild):
        return wild
    forms, number = np.unique(part.form, return_inverse=True)
    examples = [Decoder(64, part.forms.examples[form]).decode() for form in forms.tolist()]
    indirect = np.array([e.flow_control == FlowControl.INDIRECT_BRANCH for e in examples], bool)[number]
    takes = [e.mnemonic == Mnemonic.LEA or not e.is_ip_rel_memory_operand for e in examples]  # it accesses no memory
    jumping = areas.opaque.copy()
    jumping[areas.of[indirect]] = True
    jumps = np.flatnonzero(part.forms.facts["branch_bytes"][part.form] > 0).tolist()
    jumping[[areas.of[k] for k in jumps if _is_thunk(source.statements[int(part.line[k])].operands)]] = True
    jumping = np.isin(component, component[jumping])
    by_address = (inner.key >= 0) & (inner.holder >= 0) & np.array(takes, bool)[number][inner.holder]
    wild[inner.key[by_address]] = True  # other code may add to the address and jump there
    by_address[by_address] = jumping[areas.of[inner.holder[by_address]]]
    wild[inner.holder[by_address]] = True
    chosen = set(np.union1d(may_compute(examples, number, areas.of), areas.of[operands.holder]).tolist())
    for area, rows in by_section(areas.of, part.begin):
        if area not in chosen:
            continue
        computed = computed_jumps(*_run(part, rows, operands.holder))
        if computed:
            wild[rows] = True
            wild[inner.key[inner.key >= 0]] = True
            wild |= pointed & any(jump.in_memory for jump in computed)
            wild[operands.key[(operands.key >= 0) & np.isin(operands.holder, rows)]] = True
        if any(jump.from_return for jump in computed):
            first = finder.begins(rows[:1])
            wild[transfers.holder[np.isin(transfers.key, first)]] = True
    return wild


def _is_thunk(name: str) -> bool:
    """Whether a jump to the symbol is a jump to an address in a register."""
    return any(word in name for word in _THUNKS)


def _run(
    part: Listing, rows: np.ndarray, holders: np.ndarray
) -> tuple[list[Instruction], dict[int, list[int]], list[bool], dict[int, tuple[int, int]]]:
    """All instructions of an area, the branches in it that lead to each, and whether each holds an address of code.

    Those of lines that are not understood are among them. At last, symbol and distance of the displacements that the
    linker fills in.
    """
    section, begin, end = int(part.section[rows[0]]), int(part.begin[rows].min()), int(part.end[rows].max())
    content = part.object.sections[section].content[begin:end]
    relocations = part.object.sections[section].relocations
    inside = relocations[slice(*np.searchsorted(relocations["offset"], (begin, end)).tolist())]
    values = zip(relocation_symbols(inside).tolist(), inside["addend"].tolist(), strict=True)
    filled = dict(zip(inside["offset"].tolist(), values, strict=True))
    instructions: list[Instruction] = []
    linked: dict[int, tuple[int, int]] = {}
    decoder = Decoder(64, content, ip=begin)
    for k, instruction in enumerate(decoder):
        instructions.append(instruction)
        constants = decoder.get_constant_offsets(instruction) if filled else None
        if constants is not None and constants.has_displacement:
            place = instruction.ip + constants.displacement_offset
            symbol, addend = filled.get(place, (0, 0))
            if symbol:
                linked[k] = symbol, addend + (instruction.next_ip - place) * instruction.is_ip_rel_memory_operand
    number = {instruction.ip: k for k, instruction in enumerate(instructions)}
    sources: dict[int, list[int]] = {}
    for k, instruction in enumerate(instructions):
        direct = instruction.flow_control in (FlowControl.UNCONDITIONAL_BRANCH, FlowControl.CONDITIONAL_BRANCH)
        direct &= instruction.near_branch_target != instruction.next_ip  # the linker fills it in
        if direct and (target := number.get(instruction.near_branch_target)) is not None:
            sources.setdefault(target, []).append(k)
    holding = set(part.begin[np.intersect1d(rows, holders)].tolist())
    return instructions, sources, [instruction.ip in holding for instruction in instructions], linked
