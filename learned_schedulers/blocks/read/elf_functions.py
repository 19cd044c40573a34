"""Which functions of an ELF file may have their blocks ordered, and why the others may not."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learned_schedulers.blocks.read.components import components
from learned_schedulers.blocks.read.elf_code import Code, Flow
from learned_schedulers.blocks.read.elf_image import Image
from learned_schedulers.blocks.read.elf_layout import NOWHERE
from learned_schedulers.blocks.read.elf_relocations import (
    R_32,
    R_32S,
    R_64,
    R_GLOB_DAT,
    R_GOTPCREL,
    R_GOTPCRELX,
    R_JUMP_SLOT,
    R_REX_GOTPCRELX,
    Relocations,
)
from learned_schedulers.blocks.read.elf_symbols import Symbols, is_part, is_thunk
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.blocks.read.jump_tables import Labels, function_at, labels
from learned_schedulers.blocks.read.unwinding import Functions

CATCHES = "exceptions may be caught in it (.gcc_except_table)"
INDIRECT = "an indirect jump, and the file does not show where it leads"
INVALID = "bytes that are no valid instructions"
MIDDLE = "a branch leads into the middle of an instruction"
DATA = "data lies between its instructions"
PART = "a part of a function (.cold), or nothing proves that it is a whole one"
WRITABLE = "the program may change its code (a writable section)"
_OF_NEIGHBOURS = (CATCHES, INDIRECT, INVALID, MIDDLE, DATA)  # reasons that hold for all that share a frame


class Verdict(NamedTuple):
    """What is proven of F functions and their N instructions."""

    reasons: list[str]  # (F,): why a function must stay as it is; empty if it need not
    leaves: np.ndarray  # (F,) bool: some code of the function is elsewhere, or is not understood
    reached: np.ndarray  # (N,) bool: control may arrive
    targets: np.ndarray  # int64: positions that jump tables lead to
    entries: np.ndarray  # (R,) bool: the relocation is an entry of a jump table
    component: np.ndarray  # (F,) int64: equal for functions that jump to each other's inside


class _Jumps(NamedTuple):
    """The J direct jumps from one function to other code."""

    source: np.ndarray  # (J,) int64: function
    to: np.ndarray  # (J,) int64: position
    into: np.ndarray  # (J,) int64: function; -1 if none is there


def judge(
    image: Image, functions: Functions, code: Code, symbols: Symbols, relocations: Relocations, pointers: np.ndarray,
    forms: Forms,
) -> Verdict:  # fmt: skip
    """Judge functions, whose bounds are positions. pointers: positions that data of a linked file points to."""
    count, section = len(functions.begin), image.part_at(functions.begin)
    whole = _whole(image, functions, code, symbols, relocations, pointers)
    rows = np.flatnonzero(np.isin(code.flow, (Flow.JUMP, Flow.CONDITION)) & (code.to != NOWHERE))
    into = function_at(functions, code.to[rows])
    away = into != code.function[rows]
    jumps = _Jumps(code.function[rows][away], code.to[rows][away], into[away])
    inner = (jumps.into >= 0) & ~(whole[jumps.into] & (functions.begin[jumps.into] == jumps.to))
    component = components(jumps.source[inner], jumps.into[inner], count)

    indirect = _flags(count, code.function[_indirect(image, code, relocations)])
    thunks = _flags(count, code.function[code.flow == Flow.CHOSEN])
    unknown = _unknown_jumps(image, jumps, symbols, thunks, functions)
    indirect |= _flags(count, jumps.source[unknown])
    named = np.array([is_thunk(name) for name in relocations.names], bool)
    users = code.relocation[named & (code.relocation >= 0)]
    indirect |= _flags(count, code.function[users[np.isin(code.flow[users], (Flow.JUMP, Flow.CONDITION))]])

    tables = Labels(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(len(relocations.place), bool))
    unresolved = indirect.copy()
    if image.relocatable:
        tables = labels(image, functions, code, relocations, component, indirect)
        unresolved &= _spread(component, _takes_addresses(image, functions, code, relocations, whole))
        unresolved |= indirect & np.isin(section, image.part_at(tables.unknown))

    facts = forms.facts[code.decoded.form]
    causes = {
        INVALID: _flags(count, code.function[~facts["valid"]]) | ~code.decoded.whole,
        MIDDLE: _middles(functions, code),
        DATA: _with_data(functions, code),
        CATCHES: functions.catches,
        INDIRECT: unresolved,
        WRITABLE: np.array([part.writable for part in image.parts], bool)[section],
        PART: ~whole,
    }
    reasons = [""] * count
    broken = np.zeros(count, bool)
    for reason, flags in causes.items():
        spread = _spread(component, flags) if reason in _OF_NEIGHBOURS else flags
        broken |= spread & (reason != PART)
        for k in np.flatnonzero(spread).tolist():
            reasons[k] = reasons[k] or reason
    shared = np.bincount(component, minlength=count)[component] > 1
    reached = _reached(functions, code, tables.positions[_leads_to(functions, tables.positions, component, indirect)])
    leaves = shared | ~whole | broken
    led_to = function_at(functions, tables.positions)
    if not whole[led_to[led_to >= 0]].all():  # a table leads to a moved part, and nobody knows of which function
        leaves |= indirect
    return Verdict(reasons, leaves, reached, tables.positions, tables.entries, component)


def _flags(count: int, indices: np.ndarray) -> np.ndarray:
    flags = np.zeros(count, bool)
    flags[indices] = True
    return flags


def _spread(component: np.ndarray, flags: np.ndarray) -> np.ndarray:
    """Whether any function of each one's component has the flag, (F,) bool."""
    return np.isin(component, component[flags])


def _whole(
    image: Image, functions: Functions, code: Code, symbols: Symbols, relocations: Relocations, pointers: np.ndarray
) -> np.ndarray:
    """Whether each range is proven to be a whole function, or at least not a part of another one; (F,) bool.

    A symbol or a call proves it. An address that is taken proves it too where the rules of unwinding begin as in a
    function that was just called; it may be a label otherwise.
    """
    names = [symbols.functions.get(begin, "") for begin in functions.begin.tolist()]
    is_named = np.array([bool(name) and not is_part(name) for name in names], bool)
    is_cold = np.array([is_part(name) for name in names], bool)
    called = np.isin(functions.begin, code.to[code.flow == Flow.CALL])
    skipped = [k for k, section in enumerate(image.sections) if section.name.startswith((".debug", ".eh_frame"))]
    in_data = (relocations.place >= len(image.code)) & ~np.isin(relocations.section, skipped)
    addresses = np.concatenate([code.refers[code.loads_address], pointers, relocations.target[in_data]])
    proven: np.ndarray = (is_named | called | (functions.as_called & np.isin(functions.begin, addresses))) & ~is_cold
    return proven


def _indirect(image: Image, code: Code, relocations: Relocations) -> np.ndarray:
    """Indirect jumps, as indices of instructions, without those through a slot that the loader fills with a symbol."""
    filled = np.zeros(len(code.start), bool)
    if image.relocatable:
        through = np.isin(relocations.kind, (R_GOTPCREL, R_GOTPCRELX, R_REX_GOTPCRELX)) & (code.relocation >= 0)
        filled[code.relocation[through]] = True
    else:
        slots = relocations.place[np.isin(relocations.kind, (R_GLOB_DAT, R_JUMP_SLOT))]
        filled = np.isin(code.refers, slots) & (code.refers != NOWHERE)
    return np.flatnonzero(np.isin(code.flow, (Flow.INDIRECT, Flow.CHOSEN)) & ~filled)


def _unknown_jumps(
    image: Image, jumps: _Jumps, symbols: Symbols, thunks: np.ndarray, functions: Functions
) -> np.ndarray:
    """Whether each jump out of a function leads to code that may go on anywhere, (J,) bool."""
    compiled = np.array([part.compiled for part in image.parts], bool)
    section = image.part_at(jumps.to)
    by_linker = (section >= 0) & ~compiled[section]
    names = [symbols.functions.get(position, "") for position in jumps.to.tolist()]
    to_thunk = np.array([is_thunk(name) for name in names], bool)
    to_thunk |= (jumps.into >= 0) & thunks[jumps.into]
    is_named = np.array([bool(name) and not is_part(name) for name in names], bool)
    nowhere: np.ndarray = (jumps.into < 0) & ~by_linker & ~is_named
    return nowhere | to_thunk


def _takes_addresses(
    image: Image, functions: Functions, code: Code, relocations: Relocations, whole: np.ndarray
) -> np.ndarray:
    """Whether each function of an object computes addresses of labels in code: tables may hold distances from them."""
    size = len(image.code)
    fixed = np.flatnonzero((code.relocation >= 0) & np.isin(relocations.kind, (R_64, R_32, R_32S)))
    positions = np.r_[code.refers, relocations.target[fixed]]
    users = np.r_[code.function, code.function[code.relocation[fixed]]]
    in_code = (positions >= 0) & (positions < size)
    is_label = in_code & ~np.isin(positions, functions.begin[whole])
    return _flags(len(functions.begin), users[is_label])


def _middles(functions: Functions, code: Code) -> np.ndarray:
    """Whether a branch leads into the middle of an instruction of each function, (F,) bool."""
    into = function_at(functions, code.to)
    return _flags(len(functions.begin), into[(into >= 0) & (code.at(code.to) < 0)])


def _with_data(functions: Functions, code: Code) -> np.ndarray:
    """Whether an instruction reads memory in each function, or takes an address in the middle of an instruction."""
    into = function_at(functions, code.refers)
    odd = (into >= 0) & (~code.loads_address | (code.at(code.refers) < 0))
    return _flags(len(functions.begin), into[odd])


def _leads_to(functions: Functions, positions: np.ndarray, component: np.ndarray, indirect: np.ndarray) -> np.ndarray:
    """Whether each position is a label that an indirect jump of its function may lead to, bool."""
    into = function_at(functions, positions)
    jumping = _spread(component, indirect)
    leads: np.ndarray = (into >= 0) & jumping[into]
    return leads


def _reached(functions: Functions, code: Code, label_positions: np.ndarray) -> np.ndarray:
    """Whether control may arrive at each instruction: from the one before it, by a branch, or by a table."""
    count = len(code.start)
    if count == 0:
        return np.zeros(0, bool)
    arrives = np.zeros(count, bool)
    for positions in (functions.begin, code.to, label_positions):
        index = code.at(positions)
        arrives[index[index >= 0]] = True
    cut_off = np.r_[False, code.last()[:-1]]
    # The latest event at or before each instruction decides: an arrival, or an instruction that control never leaves.
    events = np.flatnonzero(arrives | cut_off)
    latest = events[np.searchsorted(events, np.arange(count), "right") - 1]
    return arrives[latest]
