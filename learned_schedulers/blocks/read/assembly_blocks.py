"""The basic blocks of an assembly file: runs of instructions in which nothing else stands that has a place of its own.

A block ends at control transfers, padding, labels that code or data refer to, every `.cfi_*` and other directive,
inline assembly, and whatever is not understood. Whatever something else names by its address stays in its place. The
instruction before a `.cfi_*` directive stays too: it is what the directive describes, and unwinding would go wrong from
the instructions between the two. So does that before a label which a compiler's own table of frames names
(`-fno-dwarf2-cfi-asm`).

Labels that only debug information refers to (GCC's `.LVL*`, `.LBB*`, ...) keep their position between two slots. So the
ranges in which a debugger finds a variable at a place become approximate, by the instructions that were moved across.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from learned_schedulers.blocks.read import regions, source_lines
from learned_schedulers.blocks.read.assembly_exceptions import compiled_to_throw, language
from learned_schedulers.blocks.read.assembly_places import Places
from learned_schedulers.blocks.read.listing import Listing
from learned_schedulers.blocks.read.source_lines import Location, Row, Shown, State
from learned_schedulers.blocks.read.statements import PADDING, Kind, Source

_LINE_MARKER = re.compile(r"\s*#\s*(?:line\s+)?\d")  # of the C preprocessor
_LOCAL = ".L"
_DISTANCE = re.compile(r"(?:^|[\s,*])[-+]?(?:\d\w*)?\(%rip\)|\[\s*rip\s*(?:[-+]\s*\d\w*\s*)?\]", re.IGNORECASE)


@dataclass
class Layout:
    """What surrounds each of the C instructions of a listing, and the blocks."""

    statement: dict[int, int]  # line -> instruction
    locations: dict[int, Location]  # `.loc` lines that are understood; empty if the file has others
    location_lines: list[list[int]]  # of each instruction: lines of `.loc` that belong to it
    comments: list[list[int]]  # of each instruction: lines of comments that belong to it
    shown: list[Shown | None]  # at each instruction
    before: list[State]  # of a reader of the line table before the rows of each instruction
    after: list[State]  # after them
    # Line of padding, or that is not understood -> section, and rows at its address, which belong to no instruction
    other_rows: dict[int, tuple[int, list[Row]]]
    breaks: np.ndarray  # bool (C,): no block contains both this instruction and the one before
    movable: np.ndarray  # bool (C,)
    blocks: list[range] = field(default_factory=list)  # instructions of each block, at least two


def _locations(source: Source) -> dict[int, Location]:
    """The `.loc` lines; none if some are not understood."""
    locations: dict[int, Location] = {}
    is_stmt = True
    if source.hidden_locations:
        return locations
    for line, statement in enumerate(source.statements):
        if statement.kind == Kind.LOCATION:
            location = source_lines.parse(statement.operands, is_stmt)
            if location is None:
                return {}
            locations[line] = location
            is_stmt = location.row.is_stmt
    return locations


class _Walk:
    """Follows the lines of a file from one instruction to the next."""

    def __init__(self, source: Source, part: Listing) -> None:
        self._source, self._part = source, part
        size = len(part.line)
        self.layout = Layout(
            {line: number for number, line in enumerate(part.line.tolist())},
            _locations(source),
            [[] for _ in range(size)],
            [[] for _ in range(size)],
            [None] * size,
            [State()] * size,
            [State()] * size,
            {},
            np.zeros(size, bool),
            part.movable.copy(),
        )
        self._states: dict[int, State] = {}  # by section
        self._section = -1
        self._end, self._number = -1, -1  # of the instruction before
        self._start_gap()

    def _start_gap(self) -> None:
        self._pending: list[int] = []  # lines of `.loc` whose rows are at the next instruction
        self._padded: list[int] = []  # lines of `.loc` before padding, if there is any
        self._padding = -1  # its line
        self._comments: list[int] = []
        self._cut = self._awkward = self._opaque = self._uncertain = False

    def _instruction(self, number: int) -> None:
        layout, part = self.layout, self._part
        section = int(part.section[number])
        layout.location_lines[number] = self._pending
        layout.comments[number] = self._comments
        state = self._states.get(section, State())
        adjoining = section == self._section and part.begin[number] == self._end
        if self._padded and adjoining:
            self._pending = layout.location_lines[number] = [*self._padded, *self._pending]
        elif self._padded:
            rows = self._rows(self._padded)
            layout.other_rows[self._padding] = (section, rows)
            state = source_lines.advance(state, rows)
        layout.before[number] = state
        if self._pending:
            state = source_lines.advance(state, self._rows(self._pending))
        if self._uncertain or (self._opaque and adjoining and not self._pending):
            state = State()  # it is not visible at which address the rows before it are
        self._states[section] = layout.after[number] = state
        layout.shown[number] = state.shown
        layout.breaks[number] = (
            self._cut
            or not adjoining
            or (bool(self._pending) and layout.shown[number - 1] is None)  # that line could not be shown again
        )
        if self._awkward or (self._pending and layout.shown[number] is None):
            layout.movable[number] = False
        self._section, self._end, self._number = section, int(part.end[number]), number
        self._start_gap()

    def _opaque_line(self, line: int) -> None:
        lines = [*self._padded, *self._pending]
        if lines:
            rows = self._rows(lines)
            self.layout.other_rows[line] = (self._section, rows)
            self._states[self._section] = source_lines.advance(self._states.get(self._section, State()), rows)
        self._pending, self._padded, self._comments = [], [], []
        self._cut = self._opaque = True

    def _pad(self, line: int) -> None:
        """Rows before padding are at its beginning, but for the last if it waits for an instruction."""
        waiting = 1 if self._pending and not self.layout.locations[self._pending[-1]].immediate else 0
        split = len(self._pending) - waiting
        self._awkward |= waiting > 0  # without it, the row before it would wait too
        if split:
            self._padded += self._pending[:split]
            self._pending = self._pending[split:]
            self._padding = line

    def _described(self) -> None:
        """The frame is described here, after the instruction that changes it."""
        if self._number >= 0:
            self.layout.movable[self._number] = False

    def _rows(self, lines: list[int]) -> list[Row]:
        return [self.layout.locations[line].row for line in lines]

    def run(self) -> Layout:
        """The surroundings of all instructions."""
        source, layout = self._source, self.layout
        regions_of_lines = regions.commented_regions(source.lines)
        marks = regions_of_lines[1] if regions_of_lines else None
        for line, statement in enumerate(source.statements):
            kind = statement.kind
            if kind == Kind.COMMENT:
                text = source.lines[line]
                if source.inline[line] or (marks and marks[line]):
                    self._cut, self._comments = True, []
                elif not text.isspace() and not _LINE_MARKER.match(text):
                    self._comments.append(line)
            elif kind == Kind.LABEL:
                if statement.word in source.unwinding:
                    self._described()
                if not statement.word.startswith(_LOCAL) or statement.word in source.references:
                    self._cut, self._comments = True, []
            elif kind == Kind.LOCATION and line in layout.locations:
                self._pending.append(line)
                self._awkward |= source.inline[line]
            elif kind in (Kind.LOCATION, Kind.SILENT):
                if statement.word.startswith(".cfi_"):
                    self._described()
                elif statement.word in PADDING:
                    self._pad(line)
                self._cut, self._comments = True, []
            elif kind in (Kind.DIRECTIVE, Kind.ASSIGNMENT):
                self._cut, self._comments = True, []
                self._awkward |= bool(self._pending)
                self._uncertain |= bool(self._pending)
            elif kind == Kind.INSTRUCTION and line in layout.statement:
                self._instruction(layout.statement[line])
            else:
                self._opaque_line(line)
        if regions_of_lines:
            layout.movable &= np.array(regions_of_lines[0])[self._part.line]
        return layout


def layout(source: Source, part: Listing, places: Places) -> Layout:
    """The blocks of a file and what surrounds their instructions."""
    result = _Walk(source, part).run()
    _restrict(result, source, part)
    result.breaks |= places.entered
    result.movable &= (
        ~places.named & ~_by_number(source, part) & ~np.array([bool(reason) for reason in places.alone], bool)
    )
    joined = np.zeros(len(result.breaks), bool)  # with the instruction before
    joined[1:] = ~result.breaks[1:] & result.movable[1:] & result.movable[:-1]
    edges = np.flatnonzero(np.diff(np.r_[False, joined, False].astype(np.int8)))
    result.blocks = [range(first - 1, last) for first, last in edges.reshape(-1, 2).tolist()]
    return result


def _by_number(source: Source, part: Listing) -> np.ndarray:
    """Instructions with a distance from their own place as a number, which would have to change with it; (C,) bool."""
    flags = np.zeros(len(part.line), bool)
    for k in np.flatnonzero(part.forms.facts["rip_relative"][part.form] & ~part.relocated).tolist():
        flags[k] = bool(_DISTANCE.search(source.statements[int(part.line[k])].operands))
    return flags


def _restrict(result: Layout, source: Source, part: Listing) -> None:
    """Exclude what is outside of marked regions, and files whose code cannot be judged."""
    code = {index: s.content for index, s in part.object.sections.items() if s.executable}
    marked = regions.iaca_regions(code)
    if marked is not None:
        inside = np.zeros(len(part.line), bool)
        for index, ranges in marked.items():
            for begin, end in ranges:
                inside |= (part.section == index) & (part.begin >= begin) & (part.end <= end)
        result.movable &= inside
    if source.foreign_mode or language(source) or compiled_to_throw(source):
        result.movable[:] = False
