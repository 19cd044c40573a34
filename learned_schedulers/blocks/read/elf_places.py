"""Places in the code of an ELF file that are named, and functions that control may enter at places nobody can list.

A place is *named* if data, an operand or a symbol holds its address, or one inside of an instruction: the instruction
there and the one that ends there stay where they are. Begins of functions and entries of tables of switches apart:
control arrives there, and a block is cut. What a linked file holds as a distance is guessed, and guesses only make more
instructions stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from iced_x86 import Decoder

from learned_schedulers.blocks.read.computed_jumps import Computed, computed_jumps, may_compute
from learned_schedulers.blocks.read.elf_code import Code, Flow, signed
from learned_schedulers.blocks.read.elf_functions import Verdict
from learned_schedulers.blocks.read.elf_image import Image
from learned_schedulers.blocks.read.elf_layout import NOWHERE
from learned_schedulers.blocks.read.elf_relocations import PC_RELATIVE, Relocations
from learned_schedulers.blocks.read.elf_symbols import Symbols
from learned_schedulers.blocks.read.elf_targets import numbers_at_every_byte
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.blocks.read.jump_tables import function_at
from learned_schedulers.blocks.read.unwinding import Functions

_BESIDE = (-16, -12, -8, -4, 4, 8, 12, 16, 20, 24)  # bytes from an address in data to numbers that may belong to it
_HEADER = 68  # bytes before a table that it may count from
_ANCHORS = 4  # places before a number from which it may count
COMPUTED = "control may arrive at an address that code computes, which nobody can list"
INSIDE = "a symbol or a table leads into the middle of an instruction"
_SKIPPED = (".debug", ".eh_frame", ".gcc_except_table", ".stab", ".gdb_index", ".note.gnu", ".comment")


class Named(NamedTuple):
    """Positions whose address something holds, begins of functions apart; int64."""

    places: np.ndarray
    guesses: np.ndarray  # what numbers in data would lead to if they were distances or addresses
    begins: np.ndarray  # begins of functions whose address data hold: their first instruction stays the first

    def instructions(self, code: Code) -> np.ndarray:
        """Whether each instruction is at a named position, around it, or ends there; (N,) bool."""
        flags = np.zeros(len(code.start), bool)
        for positions in (self.places, self.guesses):
            for distance in (0, -1):
                index = code.containing(positions + distance)
                flags[index[index >= 0]] = True
        return flags


def named(
    image: Image, content: bytes, functions: Functions, code: Code, symbols: Symbols, relocations: Relocations,
    verdict: Verdict, pointers: np.ndarray, probes: np.ndarray,
) -> Named:  # fmt: skip
    """The named positions of a file. pointers: what data of a linked file may point to; probes: of static probes."""
    size = len(image.code)
    skipped = [k for k, section in enumerate(image.sections) if section.name.startswith(_SKIPPED)]
    of_code = (relocations.target != NOWHERE) & ~np.isin(relocations.section, skipped) & ~verdict.entries
    in_data = of_code & ((relocations.place >= size) if image.relocatable else True)
    relative = np.isin(relocations.kind, PC_RELATIVE)
    in_operand = of_code & (code.relocation >= 0)
    in_operand[in_operand] = ~np.isin(code.flow[code.relocation[in_operand]], (Flow.JUMP, Flow.CONDITION, Flow.CALL))
    addresses = relocations.target[in_data & ~relative]
    places = [code.refers, probes, symbols.labels, addresses, relocations.target[in_operand & ~relative]]
    numbers = _of_distances(image, code, relocations, in_data & relative)
    distances = _distances_in_data(image, content, functions, code, symbols, verdict)
    lengths = _lengths(image, content, functions, code, relocations, in_data)
    begins = np.r_[functions.begin, symbols.typed, _after_ends(code, symbols.labels)]
    everywhere = []
    for positions in (np.concatenate(places), np.r_[pointers, numbers, distances, lengths]):
        inside = positions[(positions >= 0) & (positions < size)]
        everywhere.append(np.unique(inside[~np.isin(inside, begins)]))
    by_data = np.r_[addresses, pointers, relocations.target[in_data & relative], distances]
    return Named(everywhere[0], everywhere[1], np.unique(begins[np.isin(begins, by_data)]))


def _lengths(
    image: Image, content: bytes, functions: Functions, code: Code, relocations: Relocations, chosen: np.ndarray
) -> np.ndarray:
    """Ends of ranges of code: numbers of four bytes beside an address that would lead to an instruction nearby."""
    rows = np.flatnonzero(chosen & (relocations.target >= 0) & (relocations.target < len(image.code)))
    pairs = [(relocations.place[rows], relocations.target[rows])]
    if not image.movable:
        pairs += _addresses_in_data(image, content)
    place, target = (np.concatenate(column) for column in zip(*pairs, strict=True))
    into = function_at(functions, target)
    positions = [np.zeros(0, np.int64)]
    for section, base in zip(image.sections, image.bases.tolist(), strict=True):
        if base == NOWHERE or section["sh_type"] in ("SHT_NOBITS", "SHT_NULL"):
            continue
        numbers = numbers_at_every_byte(content, section["sh_offset"], section["sh_size"], 4)
        for distance in _BESIDE:
            at = place - base + distance
            inside = (at >= 0) & (at < len(numbers)) & (into >= 0)
            end = target[inside] + numbers[at[inside]]
            is_near = (code.at(end) >= 0) & (function_at(functions, end) == into[inside]) & (end != target[inside])
            positions.append(end[is_near])
    return np.concatenate(positions)


def _addresses_in_data(image: Image, content: bytes) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Of each section of a program at a fixed address: places of words that are addresses of code, and these."""
    for section, base in zip(image.sections, image.bases.tolist(), strict=True):
        if base != NOWHERE and section["sh_type"] == "SHT_PROGBITS" and not section["sh_flags"] & 4:
            numbers = numbers_at_every_byte(content, section["sh_offset"], section["sh_size"], 8) - image.address
            at = np.flatnonzero((numbers >= 0) & (numbers < len(image.code)))
            yield base + at, numbers[at]


def _after_ends(code: Code, labels: np.ndarray) -> np.ndarray:
    """Of symbols without a type, the positions into which control does not run from above: they begin a function."""
    index = code.at(labels)
    runs_on = (index > 0) & ~code.last()[(index - 1).clip(min=0)] if len(code.start) else index >= 0
    return labels[(index >= 0) & ~runs_on]


def _anchors(image: Image, code: Code, symbols_places: np.ndarray) -> np.ndarray:
    """Places that distances in data may count from: those that code refers to, symbols, begins of sections; sorted."""
    referred = code.refers[code.refers != NOWHERE]
    return np.unique(np.r_[referred, symbols_places, image.bases[image.bases != NOWHERE]])


def _of_distances(image: Image, code: Code, relocations: Relocations, chosen: np.ndarray) -> np.ndarray:
    """What distances in the data of an object may name: from themselves, or else from a place before them."""
    rows = np.flatnonzero(chosen)
    if len(rows) == 0 or not image.relocatable:
        return np.zeros(0, np.int64)
    rows = rows[np.argsort(relocations.place[rows], kind="stable")]
    place, target = relocations.place[rows], relocations.target[rows]
    begins = np.r_[True, (np.diff(place) > 8) | (np.diff(relocations.section[rows]) != 0)]
    number = np.cumsum(begins) - 1
    run = place[np.flatnonzero(begins)][number]
    plain = code.at(target) >= 0  # from themselves, as in tables of kernels
    unclear = ~np.isin(number, np.setdiff1d(number, number[~plain]))
    anchors = _anchors(image, code, np.zeros(0, np.int64))
    nearest = np.searchsorted(anchors, place, "right") - 1
    bases = [anchors[(nearest - k).clip(min=0)] for k in range(_ANCHORS)]
    bases += [run - distance for distance in range(0, _HEADER, 4)]
    return np.concatenate([target, *((target - (place - base))[unclear] for base in bases)])


def _distances_in_data(
    image: Image, content: bytes, functions: Functions, code: Code, symbols: Symbols, verdict: Verdict
) -> np.ndarray:
    """What four bytes of data in a linked file lead to, as a distance from themselves or from a place before them.

    An entry of a table of a switch is known by its target: an instruction of the function that refers to the table.
    """
    positions = [np.zeros(0, np.int64)]
    if image.relocatable:
        return positions[0]
    referring = np.flatnonzero(code.refers != NOWHERE)
    anchors = _anchors(image, code, symbols.places)
    user = np.full(len(anchors), -1, np.int64)  # component of a function that refers to each anchor
    user[np.searchsorted(anchors, code.refers[referring])] = verdict.component[code.function[referring]]
    user[~np.isin(user, verdict.component[code.function[np.isin(code.flow, (Flow.INDIRECT, Flow.CHOSEN))]])] = -1
    for section, base in zip(image.sections, image.bases.tolist(), strict=True):
        code_section = bool(section["sh_flags"] & 4)
        if base == NOWHERE or code_section or section["sh_type"] != "SHT_PROGBITS" or section.name.startswith(_SKIPPED):
            continue
        distance = numbers_at_every_byte(content, section["sh_offset"], section["sh_size"], 4)
        place = base + np.arange(len(distance))
        anchor = np.searchsorted(anchors, place, "right") - 1  # the section's begin is one
        target = distance + anchors[anchor]
        into = function_at(functions, target)
        is_entry = (into >= 0) & (code.at(target) >= 0) & (verdict.component[into] == user[anchor])
        before = anchor[~is_entry]
        bases = [place[~is_entry], np.int64(base), *(anchors[(before - k).clip(min=0)] for k in range(_ANCHORS))]
        if not image.movable:  # or an address of four bytes
            bases.append(np.int64(-image.address))
        for start in bases:
            target = distance[~is_entry] + start
            positions.append(target[(target >= 0) & (target < len(image.code))])
    return np.concatenate(positions)


def left_alone(
    image: Image, functions: Functions, code: Code, symbols: Symbols, relocations: Relocations, verdict: Verdict,
    places: Named, forms: Forms,
) -> dict[int, str]:  # fmt: skip
    """Functions that control may enter at places that are not known, and why; by ascending number."""
    index = code.containing(places.places)
    inner = index >= 0
    offset = places.places[inner] - code.start[index[inner]]
    facts = forms.facts[code.decoded.form[index[inner]]]
    at_field = (facts["displacement_bytes"] > 0) & (facts["displacement_at"] == offset)
    at_field |= (facts["immediate_bytes"] > 0) & (facts["immediate_at"] == offset)
    middle = code.function[index[inner][(offset > 0) & ~at_field]]
    into = code.containing(symbols.typed)
    middle = np.r_[middle, code.function[into[(into >= 0) & (code.at(symbols.typed) < 0)]]]
    operands = _addresses(image, code, relocations, forms)
    holds = operands != NOWHERE
    jumps = {f: rows for f in _candidates(code, holds, forms) if (rows := _computed(image, functions, code, f, holds))}
    wild = [*jumps]
    if jumps:
        wild += code.function[index[inner]].tolist()
    # Other code may add to an address that an instruction takes, and jump there.
    by_address = code.refers[code.loads_address & ~np.isin(code.refers, functions.begin)]
    computing = operands[holds & np.isin(code.function, wild)]
    into = function_at(functions, np.r_[by_address, computing])
    wild += into[into >= 0].tolist()
    from_return = [f for f, rows in jumps.items() if any(row.from_return for row in rows)]
    calls = np.isin(code.to, functions.begin[from_return]) & (code.to != NOWHERE)
    wild += code.function[calls].tolist()
    reasons: dict[int, str] = {}
    for reason, chosen in ((COMPUTED, wild), (INSIDE, middle)):
        flags = np.isin(verdict.component, verdict.component[np.array(chosen, np.int64)])
        for f in np.flatnonzero(flags).tolist():
            reasons.setdefault(f, reason)
    return dict(sorted(reasons.items()))


def _candidates(code: Code, holds: np.ndarray, forms: Forms) -> list[int]:
    """Functions that may jump to an address that they compute, or hold an address of code."""
    numbers, number = np.unique(code.decoded.form, return_inverse=True)
    examples = [Decoder(64, forms.examples[form]).decode() for form in numbers.tolist()]
    return np.union1d(code.function[holds], may_compute(examples, number, code.function)).tolist()


def _computed(image: Image, functions: Functions, code: Code, function: int, in_code: np.ndarray) -> list[Computed]:
    """The computed jumps of a function. in_code: (N,) bool, of instructions that hold the address of code."""
    low, high = code.decoded.first[function : function + 2].tolist()
    begin, end = int(functions.begin[function]), int(functions.end[function])
    instructions = list(Decoder(64, image.code[begin:end].tobytes(), ip=begin))[: high - low]
    sources: dict[int, list[int]] = {}
    for k, target in zip(range(low, high), code.at(code.to[low:high]).tolist(), strict=True):
        if low <= target < high and code.flow[k] in (Flow.JUMP, Flow.CONDITION):
            sources.setdefault(target - low, []).append(k - low)
    return computed_jumps(instructions, sources, in_code[low:high].tolist())


def _addresses(image: Image, code: Code, relocations: Relocations, forms: Forms) -> np.ndarray:
    """Position in code that each instruction has as an operand and does not access; NOWHERE for none; (N,) int64."""
    size = len(image.code)
    positions = np.where(code.loads_address & (code.refers >= 0) & (code.refers < size), code.refers, NOWHERE)
    to_code = (relocations.target >= 0) & (relocations.target < size) & ~np.isin(relocations.kind, PC_RELATIVE)
    fixed = to_code & (code.relocation >= 0)
    positions[code.relocation[fixed]] = relocations.target[fixed]
    if not image.movable:
        facts = forms.facts[code.decoded.form]
        for width in (4, 8):
            rows = np.flatnonzero((facts["immediate_bytes"] == width) & (facts["branch_bytes"] == 0))
            numbers = signed(image.code, code.start[rows] + facts["immediate_at"][rows], width) - image.address
            inside = (numbers >= 0) & (numbers < size)
            positions[rows[inside]] = numbers[inside]
    return positions
