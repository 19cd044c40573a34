"""An ELF file -> its runs of plain instructions, each with the reason why it must stay as it is, if there is one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learned_schedulers.blocks.read.elf_blocks import Cut, cut, obstacles
from learned_schedulers.blocks.read.elf_code import Code, read_code
from learned_schedulers.blocks.read.elf_exceptions import throwing
from learned_schedulers.blocks.read.elf_functions import DATA, INDIRECT, INVALID, MIDDLE, Verdict, judge
from learned_schedulers.blocks.read.elf_image import Image, read_image
from learned_schedulers.blocks.read.elf_places import left_alone, named
from learned_schedulers.blocks.read.elf_relocations import Relocations, applied, packed_targets, read_relocations
from learned_schedulers.blocks.read.elf_symbols import WITHOUT_BOUNDS, Symbols, read_symbols
from learned_schedulers.blocks.read.elf_targets import arrivals, fixed_pointers, possible_branches, probe_places
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.blocks.read.jump_tables import function_at
from learned_schedulers.blocks.read.line_rows import line_rows
from learned_schedulers.blocks.read.unreadable import Unreadable
from learned_schedulers.blocks.read.unwinding import Functions, of_ranges, overlapping, read_functions

OVERLAP = "two entries of .eh_frame describe the same bytes"


class Analysis(NamedTuple):
    """A file with B runs of instructions in functions that a compiler made."""

    image: Image
    symbols: Symbols
    relocations: Relocations
    functions: Functions
    code: Code
    verdict: Verdict
    begins: np.ndarray  # int64: positions of functions whose address data hold
    runs: Cut
    obstacles: dict[int, str]  # run -> why it must stay, though its function need not
    overlapping: np.ndarray  # int64: positions where functions begin that share bytes, and are left out

    def reasons(self) -> list[str]:
        """Why each run must stay as it is, (B,); empty if it may be ordered."""
        of_function = [self.verdict.reasons[f] for f in self.code.function[self.runs.first].tolist()]
        return [reason or self.obstacles.get(run, "") for run, reason in enumerate(of_function)]

    def without_size(self) -> np.ndarray:
        """Positions in code that other files see and no function covers, if symbols alone tell the functions."""
        if any(section.name == ".eh_frame" for section in self.image.sections):
            return np.zeros(0, np.int64)
        places = np.unique(np.r_[self.symbols.typed, self.symbols.labels])
        places = places[self.image.part_at(places) >= 0]
        outside: np.ndarray = places[function_at(self.functions, places) < 0]
        return outside


def analyse(content: bytes, forms: Forms) -> Analysis:
    """Raises Unreadable for a file that is refused as a whole, and exceptions of `DAMAGE` for a damaged one."""
    image = read_image(content)
    symbols = read_symbols(image)
    relocations = read_relocations(image, symbols)
    everything = _functions(image, symbols, relocations)
    first, last = image.part_at(everything.begin), image.part_at(everything.end - 1)
    placed = everything.select((first >= 0) & (first == last))
    shared = overlapping(placed)
    functions = placed.select(~shared)
    if len(functions.begin) == 0:
        raise Unreadable(".eh_frame covers no function", "compile with -funwind-tables")
    code = read_code(image, functions, relocations, forms)
    pointers = np.r_[packed_targets(image, content), fixed_pointers(image, content, code, forms)]
    verdict = judge(image, functions, code, symbols, relocations, pointers, forms)
    lines = [
        line_rows(applied(image, relocations, index)) - image.address
        for index, section in enumerate(image.sections)
        if section.name == ".debug_line" and section["sh_type"] != "SHT_NOBITS"
    ]
    probes = probe_places(image)
    places = named(image, content, functions, code, symbols, relocations, verdict, pointers, probes)
    if observed := throwing(image, functions, code, symbols, forms):
        verdict.reasons[:] = [reason or observed for reason in verdict.reasons]
    for function, reason in left_alone(image, functions, code, symbols, relocations, verdict, places, forms).items():
        verdict.reasons[function] = verdict.reasons[function] or reason
        verdict.leaves[function] = True
    entered = function_at(functions, places.places)
    verdict.leaves[entered[entered >= 0]] = True
    unread = _unread(image, code, verdict)
    more = [everything.begin, everything.end, everything.rows, pointers, verdict.targets, *places[:2], probes, *lines]
    more.append(possible_branches(image.code, unread))
    is_target = arrivals(image, code, symbols, relocations, more)
    runs = cut(code, is_target, verdict.reached & ~places.instructions(code))
    compiled = np.array([part.compiled for part in image.parts], bool)[image.part_at(functions.begin)]
    usable = compiled[code.function[runs.first]]
    runs = Cut(runs.first[usable], runs.last[usable])
    stopped = obstacles(image, code, runs, relocations, forms)
    return Analysis(
        image, symbols, relocations, functions, code, verdict, places.begins, runs, stopped, placed.begin[shared]
    )  # fmt: skip


def _functions(image: Image, symbols: Symbols, relocations: Relocations) -> Functions:
    """Functions of all `.eh_frame` sections, by position; of an object without any, those that symbols describe.

    Other assemblers write none (NASM). Then nothing unwinds the functions, and there are no rules to be kept.
    """
    tables = []
    for index, section in enumerate(image.sections):
        if section.name == ".eh_frame" and section["sh_type"] != "SHT_NOBITS":
            data = applied(image, relocations, index)
            tables.append(read_functions(data, int(image.bases[index]) + image.address))
    if not tables:
        # NASM's is empty. Rules for debuggers are not read from there.
        frames = any(any(section.data()) for section in image.sections if section.name == ".debug_frame")
        if image.relocatable and not frames and len(symbols.ranges):
            return of_ranges(symbols.ranges)
        raise Unreadable("no .eh_frame section: bounds of functions are unknown", WITHOUT_BOUNDS)
    begin, end, catches, as_called, table, rows = (np.concatenate(column) for column in zip(*tables, strict=True))
    addresses = (column - image.address for column in (begin, end, table, rows))
    placed = Functions(next(addresses), next(addresses), catches, as_called, *addresses)
    return placed.select(np.argsort(begin, kind="stable"))


def _unread(image: Image, code: Code, verdict: Verdict) -> np.ndarray:
    """Which bytes of code are not understood as instructions that run, (bytes,) bool."""
    unread = np.zeros(len(image.code), bool)
    for part in image.parts:
        unread[part.begin : part.end] = True
    reasons = np.array(verdict.reasons, object)
    # Control arrives at cases of a switch in ways that are not known; they are code nevertheless.
    rows = (verdict.reached | (reasons == INDIRECT)[code.function]) & ~np.isin(
        code.function, np.flatnonzero(np.isin(reasons, (INVALID, MIDDLE, DATA)))
    )
    bounds = np.zeros(len(image.code) + 1, np.int64)
    np.add.at(bounds, code.start[rows], 1)
    np.add.at(bounds, code.start[rows] + code.length[rows], -1)
    return unread & (np.cumsum(bounds)[:-1] == 0)
