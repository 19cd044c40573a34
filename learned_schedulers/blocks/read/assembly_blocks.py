"""The basic blocks of an assembly file: runs of instructions in which nothing else stands that has a place of its own.

A block ends at control transfers, padding, labels that code or data refer to, every `.cfi_*` and other directive,
inline assembly, marks of tools, and whatever is not understood. Whatever something else names by its address stays in
its place. The instruction before a `.cfi_*` directive stays too: it is what the directive describes, and unwinding
would go wrong from the instructions between the two.

Labels that only debug information refers to (GCC's `.LVL*`, `.LBB*`, ...) keep their position between two slots. So the
ranges in which a debugger finds a variable at a place become approximate, by the instructions that were moved across.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from learned_schedulers.blocks.read import source_lines
from learned_schedulers.blocks.read.assembly_exceptions import compiled_to_throw, language
from learned_schedulers.blocks.read.assembly_places import Places
from learned_schedulers.blocks.read.listing import Listing
from learned_schedulers.blocks.read.source_lines import Location, Row
from learned_schedulers.blocks.read.statements import Kind, Source

_LINE_MARKER = re.compile(r"\s*#\s*(?:line\s+)?\d")  # of the C preprocessor
_LOCAL = ".L"
# Comments of tools (`# LLVM-MCA-BEGIN`, `# OSACA-END`), and LLVM's word for a barrier of the compiler.
_MARK = re.compile(
    r"(?:#|/\*|//).*\b[A-Z][A-Z0-9]*[-_](?:[A-Z0-9]+[-_])*(?:BEGIN|END|START|STOP|MARKER)\b|^\s*#\s*MEMBARRIER\b"
)


@dataclass
class Layout:
    """What surrounds each of the C instructions of a listing, and the blocks."""

    locations: dict[int, Location]  # `.loc` lines that are understood; empty if the file has others
    travelling: list[list[int]]  # of each instruction: lines of `.loc` and of comments that travel with it
    row: list[Row | None]  # at each instruction; None: none, or it is not certain
    row_before: list[Row | None]  # in force before the lines of each instruction
    breaks: np.ndarray  # bool (C,): no block contains both this instruction and the one before
    movable: np.ndarray  # bool (C,)
    blocks: list[range] = field(default_factory=list)  # instructions of each block, at least two


def _locations(source: Source) -> dict[int, Location]:
    """The `.loc` lines; none if some are not understood."""
    locations: dict[int, Location] = {}
    is_stmt = True
    for line, statement in enumerate(source.statements):
        if statement.kind == Kind.LOCATION:
            location = source_lines.parse(statement.operands, is_stmt)
            if location is None:
                return {}
            locations[line] = location
            is_stmt = location.is_stmt
    return locations


class _Walk:
    """Follows the lines of a file from one instruction to the next."""

    def __init__(self, source: Source, part: Listing) -> None:
        self._source, self._part = source, part
        size = len(part.line)
        self._number = {line: number for number, line in enumerate(part.line.tolist())}
        self.layout = Layout(
            _locations(source), [[] for _ in range(size)], [None] * size, [None] * size, np.zeros(size, bool),
            part.movable.copy(),
        )  # fmt: skip
        self._rows: dict[int, Row | None] = {}  # in force, by section
        self._before = -1  # the instruction before
        self._start_gap()

    def _start_gap(self) -> None:
        self._travelling: list[int] = []
        self._waiting: list[int] = []  # lines of `.loc` since the instruction before
        self._cut = False

    def _cut_here(self) -> None:
        self._cut, self._travelling = True, []  # what stands before stays before

    def _instruction(self, number: int, line: int) -> None:
        layout, part, sections = self.layout, self._part, self._source.sections
        section, before = int(part.section[number]), self._before
        row = self._rows.get(section)
        layout.travelling[number] = self._travelling
        first_travelling = min(self._travelling, default=line)
        earlier = [k for k in self._waiting if k < first_travelling]
        layout.row_before[number] = layout.locations[earlier[-1]].row if earlier else row
        if self._waiting:
            row = layout.locations[self._waiting[-1]].row
            if len(set(sections[self._waiting[0] : line + 1])) > 1:
                row = None  # it is not visible at which address the row is
                layout.movable[number] = False
        self._rows[section] = layout.row[number] = row
        adjoining = before >= 0 and section == part.section[before] and part.begin[number] == part.end[before]
        layout.breaks[number] = self._cut or not adjoining or (row is None) != (layout.row[before] is None)
        self._before = number
        self._start_gap()

    def run(self) -> Layout:
        """The surroundings of all instructions."""
        source, layout = self._source, self.layout
        for line, statement in enumerate(source.statements):
            kind, text = statement.kind, source.lines[line]
            if kind == Kind.INSTRUCTION and line in self._number:
                self._instruction(self._number[line], line)
            elif kind == Kind.LOCATION and line in layout.locations:
                self._waiting.append(line)
                if source.inline[line]:
                    self._cut_here()
                else:
                    self._travelling.append(line)
            elif kind == Kind.COMMENT and not source.inline[line] and not _MARK.search(text):
                if not text.isspace() and not _LINE_MARKER.match(text):
                    self._travelling.append(line)
            elif kind != Kind.LABEL or not statement.word.startswith(_LOCAL) or statement.word in source.references:
                self._cut_here()
                if statement.word.startswith(".cfi_") and self._before >= 0:
                    layout.movable[self._before] = False  # the directive describes the frame after it
        return layout


def layout(source: Source, part: Listing, places: Places) -> Layout:
    """The blocks of a file and what surrounds their instructions."""
    result = _Walk(source, part).run()
    if language(source) or compiled_to_throw(source):
        result.movable[:] = False
    result.breaks |= places.entered
    result.movable &= ~places.named & ~np.array([bool(reason) for reason in places.alone], bool)
    joined = np.zeros(len(result.breaks), bool)  # with the instruction before
    joined[1:] = ~result.breaks[1:] & result.movable[1:] & result.movable[:-1]
    edges = np.flatnonzero(np.diff(np.r_[False, joined, False].astype(np.int8)))
    result.blocks = [range(first - 1, last) for first, last in edges.reshape(-1, 2).tolist()]
    return result
