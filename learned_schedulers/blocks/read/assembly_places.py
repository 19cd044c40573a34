"""Places in the code of an assembly file that are named, entered, or that nobody can list.

Control *enters* at the targets of direct branches, of tables and of pointers to functions: a block is cut there. A
place is *named* if data, an alias or an operand holds its address, or one inside of an instruction: the instruction
there and the one that ends there stay where they are, and so does everything on its side. If control may arrive at
places that cannot be listed, the functions that it can reach are left alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learned_schedulers.blocks.read.assembler import relocation_symbols, relocation_types
from learned_schedulers.blocks.read.assembly_areas import Areas, components, entered_anywhere
from learned_schedulers.blocks.read.assembly_keys import Addresses, Finder, ends_of, joined
from learned_schedulers.blocks.read.assembly_names import Names
from learned_schedulers.blocks.read.joined_code import SHIFT
from learned_schedulers.blocks.read.listing import Listing
from learned_schedulers.blocks.read.statements import DEBUG_SECTION, Kind, Source

_FUNCTIONS = (2, 10)  # types of symbols: functions, and resolvers of indirect functions
_NO_PLACES = (3, 4, 6)  # sections, files, variables of threads
_RELATIVE = (2, 4, 9, 13, 15, 22, 24, 41, 42)  # relocations that hold a distance, or the place of an address in a table
_SKIPPED = (".eh_frame", ".gcc_except_table")
_TO_THE_END = (4, 5, 6, 8)  # bytes from a distance in an instruction that is not understood to the instruction's end
COMPUTED = "code takes the address of a place in it, so control may arrive where nobody can list"
CHANGEABLE = "data that code may write hold the address of a place in it; whoever changes it may jump beside it"
MIDDLE = "a branch, a symbol or a table leads into the middle of an instruction"
UNCLEAR = "an expression names a place in it that only the assembler knows"


class Places(NamedTuple):
    """What is known of the C instructions of a listing."""

    entered: np.ndarray  # (C,) bool: control may arrive at it from elsewhere
    named: np.ndarray  # (C,) bool: it stays where it is
    begins: np.ndarray  # (C,) bool: a symbol says that a function begins here, or an alias of one leads here
    first: np.ndarray  # (C,) bool: it stays the first of its block, because data hold its function's address
    alone: list[str]  # (C,) why its function is left alone; empty if it is not


def places(source: Source, part: Listing, names: Names) -> Places:
    """Where code is entered and named, and which functions are left alone."""
    finder, symbols = Finder(part), part.object.symbols
    size = len(part.line)
    types, sections = symbols["info"] & 15, symbols["section"].astype(np.int64)
    is_code = np.zeros(1 << 16, bool)
    is_code[[index for index, section in part.object.sections.items() if section.executable]] = True
    keys_of_symbols = (sections << SHIFT) + symbols["value"].astype(np.int64)
    begins = np.unique(keys_of_symbols[np.isin(types, _FUNCTIONS) & is_code[sections]])

    transfers, holding, arriving = _of_relocations(part, finder, keys_of_symbols, is_code, names)
    arrivals = np.unique(np.concatenate([begins, transfers.key, arriving, part.branches[1]]))
    addresses = joined([
        *holding, _of_operands(part),
        Addresses.of(_of_symbols(source, part, keys_of_symbols, types, is_code)),
        Addresses.of(_of_names(part, names, is_code)),
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
    in_middle[index[inner[offset[inner] > 0]]] = True
    unclear[_instructions_at(part, finder, names.unclear)] = True
    if names.inline and size:
        following = np.searchsorted(part.line, names.inline)
        named[following.clip(max=size - 1)] = named[(following - 1).clip(min=0)] = True

    changeable = np.zeros(size, bool)
    changeable[_instructions_at(part, finder, names.changeable)] = True
    changeable &= ~begun
    areas = Areas(source, part)
    component = components(part, finder, areas, transfers, begins)
    inner_holds = Addresses(index[inner], addresses.holder[inner])
    wild = entered_anywhere(source, part, areas, component, inner_holds)
    number = component[areas.of] if size else areas.of
    alone = [""] * size
    for reason, flags in ((COMPUTED, wild), (CHANGEABLE, changeable), (MIDDLE, in_middle), (UNCLEAR, unclear)):
        for k in np.flatnonzero(np.isin(number, number[flags])).tolist():
            alone[k] = alone[k] or reason
    return Places(entered, named, begun, first, alone)


def _instructions_at(part: Listing, finder: Finder, lines: list[int]) -> np.ndarray:
    """The instructions at the labels of some lines."""
    keys = [(section << SHIFT) + offset for section, offset in (part.places.get(line, (0, 0)) for line in lines)]
    index = finder.at(np.array(keys, np.int64))
    return index[index >= 0]


def _of_relocations(
    part: Listing, finder: Finder, keys_of_symbols: np.ndarray, is_code: np.ndarray, names: Names
) -> tuple[Addresses, list[Addresses], np.ndarray]:
    """Direct transfers of control; addresses that relocations put into operands and data; entries of tables.

    Distances in data are left out: the text shows what they name.
    """
    facts = part.forms.facts[part.form]
    direct = np.flatnonzero((facts["branch_bytes"] > 0) & ~part.relocated)
    transfers = [Addresses(ends_of(part, direct) + _distances(part, direct), direct)]
    addresses: list[Addresses] = []
    entries: list[np.ndarray] = [np.zeros(0, np.int64)]
    in_tables = _table_ranges(part, names)
    for section in part.object.sections.values():
        if not len(section.relocations) or section.executable or _is_skipped(section.name):
            continue
        place, kind, key = _to_code(part, section.relocations, keys_of_symbols, is_code)
        if not len(place):
            continue
        relative = np.isin(kind, _RELATIVE)
        in_table = np.zeros(len(place), bool)
        for first, last in in_tables.get(section.index, ()):
            in_table |= (first <= place) & (place < last)
        entries.append(key[in_table & ~relative])
        addresses.append(Addresses.of(key[~in_table & ~relative]))
    if len(part.joined.relocations):
        place, kind, key = _to_code(part, part.joined.relocations, keys_of_symbols, is_code)
        relative = np.isin(kind, _RELATIVE)
        number = part.joined.number(place)
        key_of_place = (part.joined.section[number] << SHIFT) + place - part.joined.first[number]
        holder = finder.at(key_of_place)
        read = holder >= 0
        key = key + np.where(relative & read, ends_of(part, holder) - key_of_place, 0)
        is_branch = read & (facts["branch_bytes"][holder] > 0) if len(facts) else read
        transfers.append(Addresses(key[is_branch], holder[is_branch]))
        addresses.append(Addresses(key[read & ~is_branch], holder[read & ~is_branch]))
        addresses += [Addresses.of(key[~read & relative] + distance) for distance in _TO_THE_END]
        addresses.append(Addresses.of(key[~read & ~relative]))
    return joined(transfers), addresses, np.concatenate(entries)


def _is_skipped(section: str) -> bool:
    return section.startswith(_SKIPPED) or bool(DEBUG_SECTION.match(section))


def _to_code(
    part: Listing, relocations: np.ndarray, keys_of_symbols: np.ndarray, is_code: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Offset, type and key of the value of those relocations that lead to code, int64 each."""
    symbol = relocation_symbols(relocations)
    chosen = is_code[part.object.symbols["section"][symbol]]
    rows, symbol = relocations[chosen], symbol[chosen]
    return rows["offset"].astype(np.int64), relocation_types(rows), keys_of_symbols[symbol] + rows["addend"]


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


def _of_operands(part: Listing) -> Addresses:
    """Places in code that rip-relative operands lead to which no relocation fills in."""
    rows = np.flatnonzero(part.forms.facts["rip_relative"][part.form] & ~part.linked)
    codes = [part.code(k) for k in rows.tolist()]
    at = part.forms.facts["displacement_at"][part.form[rows]].tolist()
    distances = [int.from_bytes(code[k : k + 4], "little", signed=True) for code, k in zip(codes, at, strict=True)]
    return Addresses(ends_of(part, rows) + np.array(distances, np.int64), rows)


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
            keys.append((section << SHIFT) + offset + distance)
    return np.array(keys, np.int64)
