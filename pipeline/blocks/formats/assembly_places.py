"""Places in the code of an assembly file that are named, entered, or that nobody can list.

Control *enters* at the targets of direct branches, of tables and of pointers to functions: a block is cut there. A
place is *named* if data, an alias or an operand holds its address, or one inside of an instruction: the instruction
there and the one that ends there stay where they are, and so does everything on its side. If control may arrive at
places that cannot be listed, the functions that it can reach are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from iced_x86 import Decoder, FlowControl, Instruction, Mnemonic, OpKind

from pipeline.blocks.formats.assembler import relocation_symbols, relocation_types
from pipeline.blocks.formats.assembly_functions import functions
from pipeline.blocks.formats.assembly_names import Names
from pipeline.blocks.formats.components import components
from pipeline.blocks.formats.computed_jumps import computed_jumps, may_change_return, may_write_return, pops_first
from pipeline.blocks.formats.elf_symbols import is_thunk
from pipeline.blocks.formats.listing import Listing, branches, by_section
from pipeline.blocks.formats.statements import DEBUG_SECTION, Kind, Source

_FUNCTIONS = (2, 10)  # types of symbols: functions, and resolvers of indirect functions
_NO_PLACES = (3, 4, 6)  # sections, files, variables of threads
_ABSOLUTE = (1, 10, 11, 12, 14)  # relocations that hold an address, or a part of it
_RELATIVE = (2, 4, 9, 13, 15, 22, 24, 41, 42)  # those that hold a distance, or the place of an address in a table
_SKIPPED = (".eh_frame", ".gcc_except_table")
_SHIFT = 40  # a key is the number of a section times 2 to the power of this, plus an offset
_TO_THE_END = (4, 5, 6, 8)  # bytes from a distance in an instruction that is not understood to the instruction's end
COMPUTED = "control may arrive at an address that the code computes, which nobody can list"
MIDDLE = "a branch, a symbol or a table leads into the middle of an instruction"
UNCLEAR = "an expression names a place in it that only the assembler knows"


_LAST = re.compile(
    r"(?:^|[\s;])(?:l?ret[qw]?|jmpq?|ud2|hlt|iretq?)(?![\w.])[^;]*$", re.IGNORECASE
)  # control never goes on


class Places(NamedTuple):
    """What is known of the C instructions of a listing."""

    entered: np.ndarray  # (C,) bool: control may arrive at it from elsewhere
    named: np.ndarray  # (C,) bool: it stays where it is
    begins: np.ndarray  # (C,) bool: a symbol says that a function begins here, or an alias of one leads here
    first: np.ndarray  # (C,) bool: it stays the first of its block, because data hold its function's address
    alone: list[str]  # (C,) why its function is left alone; empty if it is not


class _Finder:
    """Instructions by their keys."""

    def __init__(self, part: Listing) -> None:
        self._keys = (part.section << _SHIFT) + part.begin
        self._order = np.argsort(self._keys, kind="stable")
        self._sorted = self._keys[self._order]
        self._end = ((part.section << _SHIFT) + part.end)[self._order]

    def at(self, keys: np.ndarray) -> np.ndarray:
        """Index of the instruction that contains each place, int64; -1 for none."""
        place = np.searchsorted(self._sorted, keys, "right") - 1
        if len(self._sorted) == 0:
            return np.full(len(keys), -1, np.int64)
        return np.where((place >= 0) & (keys < self._end[place]), self._order[place], -1)

    def inside(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The instruction that contains each place, and the place's offset in it, int64 each; -1 for none."""
        index = self.at(keys)
        return index, np.where(index >= 0, keys - self.begins(index), -1)

    def begins(self, index: np.ndarray) -> np.ndarray:
        """Keys of the begins of instructions."""
        return self._keys[index] if len(self._keys) else np.zeros(len(index), np.int64)


class _Addresses(NamedTuple):
    """Keys of places, and the instruction that holds the address of each; -1 if data do."""

    key: np.ndarray
    holder: np.ndarray

    @staticmethod
    def of(keys: np.ndarray, holder: np.ndarray | int = -1) -> _Addresses:
        return _Addresses(keys.astype(np.int64), np.broadcast_to(np.int64(holder), keys.shape))


def _joined(parts: list[_Addresses]) -> _Addresses:
    empty = np.zeros(0, np.int64)
    return _Addresses(
        np.concatenate([empty, *(p.key for p in parts)]), np.concatenate([empty, *(p.holder for p in parts)])
    )


def places(source: Source, part: Listing, names: Names) -> Places:
    """Where code is entered and named, and which functions are left alone."""
    finder, symbols = _Finder(part), part.object.symbols
    size = len(part.line)
    types, sections = symbols["info"] & 15, symbols["section"].astype(np.int64)
    is_code = np.zeros(1 << 16, bool)
    is_code[[index for index, section in part.object.sections.items() if section.executable]] = True
    keys_of_symbols = (sections << _SHIFT) + symbols["value"].astype(np.int64)
    is_function = np.isin(types, _FUNCTIONS) | _begins_like_function(source, part, types)
    begins = np.unique(keys_of_symbols[is_function & is_code[sections]])

    transfers, holding, arriving, guessed = _of_relocations(part, finder, keys_of_symbols, is_code, names)
    unread = [(index << _SHIFT) + targets for index, (_, targets) in branches(part).items()]
    arrivals = np.unique(np.concatenate([begins, transfers.key, arriving, *unread]))
    addresses = _joined([
        *holding, _of_operands(part),
        _Addresses.of(_of_symbols(source, part, keys_of_symbols, types, is_code)),
        _Addresses.of(_of_names(part, names, is_code)),
    ])  # fmt: skip
    inner = np.flatnonzero(~np.isin(addresses.key, begins))
    index, offset = finder.inside(addresses.key)

    entered, named, begun, first, in_middle, unclear = np.zeros((6, size), bool)
    first[index[(addresses.holder == -1) & (offset == 0) & np.isin(addresses.key, begins)]] = True
    begun[finder.at(begins)[finder.inside(begins)[1] == 0]] = True
    for keys in (arrivals, addresses.key):
        entered[finder.at(keys)[finder.inside(keys)[1] == 0]] = True
    arrived, distance = finder.inside(arrivals)
    in_middle[arrived[distance > 0]] = True
    named[index[inner][offset[inner] >= 0]] = True
    before, _ = finder.inside(addresses.key[inner] - 1)
    named[before[(before >= 0) & (before != index[inner])]] = True
    beyond = inner[offset[inner] > 0]
    in_middle[index[beyond[~_at_field(part, index[beyond], offset[beyond])]]] = True
    guesses = np.concatenate([guessed, guessed - 1])
    named[finder.at(guesses)[finder.at(guesses) >= 0]] = True
    unclear[_instructions_at(part, finder, names.unclear)] = True
    if names.hidden and size:
        following = np.searchsorted(part.line, names.hidden)
        named[following.clip(max=size - 1)] = named[(following - 1).clip(min=0)] = True

    areas = _Areas(source, part)
    component = _components(part, finder, areas, transfers, begins)
    inner_holds = _Addresses(index[inner], addresses.holder[inner])
    by_code = (index >= 0) & (addresses.holder >= 0)
    by_operands = _Addresses(index[by_code], addresses.holder[by_code])
    wild = _wild(source, part, finder, areas, component, transfers, inner_holds, by_operands)
    number = component[areas.of] if size else areas.of
    alone = [""] * size
    for reason, flags in ((COMPUTED, wild), (MIDDLE, in_middle), (UNCLEAR, unclear)):
        for k in np.flatnonzero(np.isin(number, number[flags])).tolist():
            alone[k] = alone[k] or reason
    return Places(entered, named, begun, first, alone)


def _begins_like_function(source: Source, part: Listing, types: np.ndarray) -> np.ndarray:
    """Symbols without a type that are labels for other files, into which control does not run from above; (s,) bool."""
    ends = set()
    running = False
    for line, statement in enumerate(source.statements):
        if line and source.sections[line] != source.sections[line - 1]:
            running = False
        if statement.kind == Kind.LABEL and not running:
            ends.add(statement.word)
        elif statement.kind == Kind.INSTRUCTION or (statement.kind == Kind.OPAQUE and statement.text):
            running = not _LAST.search(statement.text)
    content = part.object
    rows = np.flatnonzero((types == 0) & (content.symbols["info"] >> 4 > 0)).tolist()
    flags = np.zeros(len(types), bool)
    flags[[k for k in rows if content.name(k) in ends]] = True
    return flags


def _instructions_at(part: Listing, finder: _Finder, lines: list[int]) -> np.ndarray:
    """The instructions at the labels of some lines."""
    keys = [(section << _SHIFT) + offset for section, offset in (part.places.get(line, (0, 0)) for line in lines)]
    index = finder.at(np.array(keys, np.int64))
    return index[index >= 0]


def _at_field(part: Listing, index: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Whether an offset in an instruction is where its displacement or its immediate begins, bool."""
    facts = part.forms.facts[part.form[index]]
    at_displacement = (facts["displacement_bytes"] > 0) & (facts["displacement_at"] == offset)
    at_immediate = (facts["immediate_bytes"] > 0) & (facts["immediate_at"] == offset)
    return at_displacement | at_immediate


def _of_relocations(
    part: Listing, finder: _Finder, keys_of_symbols: np.ndarray, is_code: np.ndarray, names: Names
) -> tuple[_Addresses, list[_Addresses], np.ndarray, np.ndarray]:
    """Direct transfers of control; addresses that relocations put into operands and data; entries of tables; guesses.

    A guess is where a distance in data may lead.
    """
    facts = part.forms.facts[part.form]
    direct = np.flatnonzero((facts["branch_bytes"] > 0) & ~part.relocated)
    transfers = [_Addresses(_ends(part, direct) + _distances(part, direct), direct)]
    addresses: list[_Addresses] = []
    entries: list[np.ndarray] = [np.zeros(0, np.int64)]
    guesses: list[np.ndarray] = [np.zeros(0, np.int64)]
    sections = part.object.symbols["section"].astype(np.int64)
    in_tables = _table_ranges(part, names)
    for section in part.object.sections.values():
        if not len(section.relocations) or section.name.startswith(_SKIPPED) or DEBUG_SECTION.match(section.name):
            continue
        symbol, kind = relocation_symbols(section.relocations), relocation_types(section.relocations)
        to_code = is_code[sections[symbol]]
        place = section.relocations["offset"].astype(np.int64)[to_code]
        kind, key = kind[to_code], (keys_of_symbols[symbol] + section.relocations["addend"])[to_code]
        relative = np.isin(kind, _RELATIVE)
        if section.executable:
            own_place = (section.index << _SHIFT) + place
            holder = finder.at(own_place)
            read = holder >= 0
            key = key + np.where(relative & read, _ends(part, holder) - own_place, 0)
            is_branch = read & (facts["branch_bytes"][holder] > 0) if len(facts) else read
            transfers.append(_Addresses(key[is_branch], holder[is_branch]))
            addresses.append(_Addresses(key[read & ~is_branch], holder[read & ~is_branch]))
            addresses += [_Addresses.of(key[~read & relative] + distance) for distance in _TO_THE_END]
            addresses.append(_Addresses.of(key[~read & ~relative]))
            continue
        in_table = np.zeros(len(place), bool)
        for first, last in in_tables.get(section.index, ()):
            in_table |= (first <= place) & (place < last)
        entries.append(key[in_table & ~relative])
        addresses.append(_Addresses.of(key[~in_table & ~relative]))
        guesses += _of_distances(place[~in_table & relative], key[~in_table & relative])
    return _joined(transfers), addresses, np.concatenate(entries), np.concatenate(guesses)


def _ends(part: Listing, index: np.ndarray) -> np.ndarray:
    """Keys of the ends of instructions."""
    return (part.section[index] << _SHIFT) + part.end[index] if len(part.line) else np.zeros(len(index), np.int64)


def _distances(part: Listing, rows: np.ndarray) -> np.ndarray:
    """The distances in direct branches, which are their last bytes, int64."""
    sizes = part.forms.facts["branch_bytes"][part.form[rows]].tolist()
    codes = (part.code(k) for k in rows.tolist())
    return np.array(
        [int.from_bytes(c[-n:], "little", signed=True) for c, n in zip(codes, sizes, strict=True)], np.int64
    )


def _table_ranges(part: Listing, names: Names) -> dict[int, list[tuple[int, int]]]:
    """Offsets [first, last) of the tables of switches, by section."""
    ranges: dict[int, list[tuple[int, int]]] = {}
    for table in names.tables:
        section, offset = part.places.get(table.label, (0, 0))
        ranges.setdefault(section, []).append((offset, offset + table.size))
    return ranges


def _of_distances(place: np.ndarray, key: np.ndarray) -> Iterator[np.ndarray]:
    """What distances in data may name: they count from themselves, from the begin of their run or of the section.

    Whatever labels the text names is listed apart; this is for tables that macros write.
    """
    if not len(place):
        return
    begins = np.r_[True, np.diff(place) > 8]
    run = place[np.flatnonzero(begins)][np.cumsum(begins) - 1]
    for base in (place, run, np.zeros_like(place)):
        yield key - (place - base)


def _of_operands(part: Listing) -> _Addresses:
    """Places in code that rip-relative operands lead to which no relocation fills in."""
    rows = np.flatnonzero(part.forms.facts["rip_relative"][part.form] & ~part.linked)
    codes = [part.code(k) for k in rows.tolist()]
    at = part.forms.facts["displacement_at"][part.form[rows]].tolist()
    distances = [int.from_bytes(code[k : k + 4], "little", signed=True) for code, k in zip(codes, at, strict=True)]
    return _Addresses(_ends(part, rows) + np.array(distances, np.int64), rows)


def _of_symbols(source: Source, part: Listing, keys: np.ndarray, types: np.ndarray, is_code: np.ndarray) -> np.ndarray:
    """Keys of symbols that other files, or a reader of the symbol table, may take for places of instructions.

    A label that is no function and that no other file sees counts only if something names it.
    """
    content = part.object
    labels = {s.word for s in source.statements if s.kind == Kind.LABEL}
    chosen = is_code[content.symbols["section"]] & ~np.isin(types, (*_FUNCTIONS, *_NO_PLACES))
    local = content.symbols["info"] >> 4 == 0
    rows = [k for k in np.flatnonzero(chosen).tolist() if not (local[k] and content.name(k) in labels)]
    return keys[rows]


def _of_names(part: Listing, names: Names, is_code: np.ndarray) -> np.ndarray:
    """Keys of places that the text names."""
    keys = []
    for line, distance in names.places:
        section, offset = part.places.get(line, (0, 0))
        if is_code[section]:
            keys.append((section << _SHIFT) + offset + distance)
    return np.array(keys, np.int64)


class _Areas:
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


def _components(part: Listing, finder: _Finder, areas: _Areas, transfers: _Addresses, begins: np.ndarray) -> np.ndarray:
    """Number of the set of areas that jump to each other's inside, for each area."""
    is_call = np.array([part.code(k)[:1] == b"\xe8" for k in transfers.holder.tolist()], bool)
    into = finder.at(transfers.key)
    inner = ~is_call & (into >= 0) & ~np.isin(transfers.key, begins)
    return components(areas.of[transfers.holder[inner]], areas.of[into[inner]], areas.count)


def _wild(
    source: Source, part: Listing, finder: _Finder, areas: _Areas, component: np.ndarray, transfers: _Addresses,
    inner: _Addresses, operands: _Addresses,
) -> np.ndarray:  # fmt: skip
    """Instructions of areas where control may arrive at a place that cannot be listed, (C,) bool.

    inner: instructions, -1 for none, whose address is held somewhere, begins of functions apart. operands: those whose
    address an instruction holds, begins of functions too.
    """
    wild = np.zeros(len(part.line), bool)
    if not len(wild):
        return wild
    kinds = _kinds(part, areas)
    jumping = areas.opaque.copy()
    jumping[areas.of[kinds.jumps]] = True
    jumps = np.flatnonzero(part.forms.facts["branch_bytes"][part.form] > 0).tolist()
    jumping[[areas.of[k] for k in jumps if is_thunk(source.statements[int(part.line[k])].operands)]] = True
    jumping = np.isin(component, component[jumping])
    by_address = (inner.key >= 0) & (inner.holder >= 0) & kinds.takes_address[inner.holder]
    wild[inner.key[by_address]] = True  # other code may add to the address and jump there
    by_address[by_address] = jumping[areas.of[inner.holder[by_address]]]
    wild[inner.holder[by_address]] = True
    chosen = set(np.union1d(kinds.areas, areas.of[operands.holder]).tolist())
    for area, rows in by_section(areas.of, part.begin):
        if area not in chosen:
            continue
        computed = computed_jumps(*_run(part, rows, operands.holder))
        if computed:
            wild[rows] = True
            wild[inner.key[inner.key >= 0]] = True
            wild[operands.key[(operands.key >= 0) & np.isin(operands.holder, rows)]] = True
        if any(jump.from_return for jump in computed):
            first = finder.begins(rows[:1])
            wild[transfers.holder[np.isin(transfers.key, first)]] = True
    return wild


class _Kinds(NamedTuple):
    """What instructions are."""

    jumps: np.ndarray  # (C,) bool: to an address that is not in the instruction
    takes_address: np.ndarray  # (C,) bool: it accesses no memory by the address that it holds
    areas: np.ndarray  # int64: areas with such a jump or call by a register, or that may change where they return to


def _kinds(part: Listing, areas: _Areas) -> _Kinds:
    forms, number = np.unique(part.form, return_inverse=True)
    examples = [Decoder(64, part.forms.examples[form]).decode() for form in forms.tolist()]
    jumps = np.array([e.flow_control == FlowControl.INDIRECT_BRANCH for e in examples], bool)
    indirect = np.array([e.flow_control in (FlowControl.INDIRECT_BRANCH, FlowControl.INDIRECT_CALL) for e in examples])
    by_register = indirect & np.array([e.op_count > 0 and e.op0_kind == OpKind.REGISTER for e in examples], bool)
    returns = np.array([e.flow_control == FlowControl.RETURN for e in examples], bool)[number]
    writes = np.array([may_write_return(e) for e in examples], bool)[number]
    changes = np.array([may_change_return(e) for e in examples], bool)[number]
    returns[1:] &= writes[:-1]
    popping = pops_first(examples, number, areas.of)
    takes = np.array([e.mnemonic == Mnemonic.LEA or not e.is_ip_rel_memory_operand for e in examples], bool)
    return _Kinds(jumps[number], takes[number], np.union1d(areas.of[by_register[number] | returns | changes], popping))


def _run(
    part: Listing, rows: np.ndarray, holders: np.ndarray
) -> tuple[list[Instruction], dict[int, list[int]], list[bool]]:
    """All instructions of an area, the branches in it that lead to each, and whether each holds an address of code.

    Those of lines that are not understood are among them.
    """
    section, begin, end = int(part.section[rows[0]]), int(part.begin[rows].min()), int(part.end[rows].max())
    content = part.object.sections[section].content[begin:end]
    instructions = list(Decoder(64, content, ip=begin))
    number = {instruction.ip: k for k, instruction in enumerate(instructions)}
    sources: dict[int, list[int]] = {}
    for k, instruction in enumerate(instructions):
        direct = instruction.flow_control in (FlowControl.UNCONDITIONAL_BRANCH, FlowControl.CONDITIONAL_BRANCH)
        direct &= instruction.near_branch_target != instruction.next_ip  # the linker fills it in
        if direct and (target := number.get(instruction.near_branch_target)) is not None:
            sources.setdefault(target, []).append(k)
    holding = set(part.begin[np.intersect1d(rows, holders)].tolist())
    return instructions, sources, [instruction.ip in holding for instruction in instructions]
