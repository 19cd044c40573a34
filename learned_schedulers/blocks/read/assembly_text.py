"""The text of an assembly file with the instructions of some blocks in a new order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from learned_schedulers.blocks.read import source_lines
from learned_schedulers.blocks.read.assembly_blocks import Layout
from learned_schedulers.blocks.read.listing import Listing
from learned_schedulers.blocks.read.source_lines import Row, State
from learned_schedulers.blocks.read.statements import PADDING, Kind, Source


class _Writer:
    """Writes lines in sequence; keeps the value of `is_stmt` and what a reader of the line table would show."""

    def __init__(self, source: Source, part: Listing, layout: Layout, orders: Mapping[int, Sequence[int]]) -> None:
        self._source, self._part, self._layout = source, part, layout
        self._orders = {layout.blocks[block].start: (layout.blocks[block], order) for block, order in orders.items()}
        self._output: list[str] = []
        self._is_stmt = True
        self._deviating: dict[int, State] = {}  # by section: states of a reader that differ from those before
        self._model = next((source.lines[line] for line in layout.locations), "\t.loc\n")

    def _line(self, line: int) -> None:
        text = self._source.lines[line]
        location = self._layout.locations.get(line)
        if location is not None:
            if not location.explicit and location.row.is_stmt != self._is_stmt:
                text = source_lines.with_is_stmt(text, location.row.is_stmt)
            self._is_stmt = location.row.is_stmt
        self._output.append(text)

    def _add(self, rows: Sequence[Row]) -> None:
        self._output += source_lines.lines_of(rows, self._model)
        if rows:
            self._is_stmt = rows[-1].is_stmt

    def _instruction(self, instruction: int, lines: Sequence[int], state: State) -> State:
        """Write an instruction with the lines that come before it, and rows that it needs where the state differs."""
        shown = self._layout.shown[instruction]
        rows = self._rows(instruction)
        before: tuple[Row, ...] = ()
        after: tuple[Row, ...] = ()
        if shown is not None:
            if not rows and not source_lines.equal(state.shown, shown):
                after = source_lines.copies(shown)
            if rows or after:
                padded = any(self._source.statements[line].word in PADDING for line in lines)
                before, more = source_lines.additions(state, (*rows, *after), shown, padded)
                after += more
        self._add(before)
        for line in lines:
            self._line(line)
        self._add(after)
        self._output.append(self._source.lines[int(self._part.line[instruction])])
        every = (*before, *rows, *after)
        return source_lines.advance(state, every) if every else state

    def _rows(self, instruction: int) -> tuple[Row, ...]:
        return tuple(self._layout.locations[line].row for line in self._layout.location_lines[instruction])

    def _keep(self, section: int, state: State, before: State) -> None:
        """Remember the state of a section, or forget it if it is what it was in the file before."""
        if source_lines.equivalent(state, before):
            self._deviating.pop(section, None)
        else:
            self._deviating[section] = state

    def _leads_to_location(self, line: int) -> bool:
        """Whether a `.loc` or an instruction that is understood comes next; its source line is set there."""
        statements = self._source.statements
        while line < len(statements):
            kind = statements[line].kind
            if kind == Kind.INSTRUCTION:
                return line in self._layout.statement
            if kind == Kind.LOCATION:
                return True
            if kind in (Kind.DIRECTIVE, Kind.ASSIGNMENT, Kind.OPAQUE) or self._source.inline[line]:
                return False
            line += 1
        return False

    def _block(self, first_line: int, block: range, order: Sequence[int]) -> None:
        """Write the lines from `first_line` to the end of a block, in a new order."""
        layout, lines = self._layout, self._part.line
        gaps: list[range] = []  # lines before each slot
        start = first_line
        for instruction in block:
            gaps.append(range(start, int(lines[instruction])))
            start = int(lines[instruction]) + 1
        section = int(self._part.section[block.start])
        state = self._deviating.get(section, layout.before[block.start])
        travelling = {line for k in block for line in (*layout.location_lines[k], *layout.comments[k])}
        for slot, index in enumerate(order):
            instruction = block.start + index
            if index == slot:
                state = self._instruction(instruction, gaps[slot], state)
                continue
            for line in gaps[slot]:
                if line not in travelling:
                    self._line(line)
            belonging = sorted((*layout.location_lines[instruction], *layout.comments[instruction]))
            state = self._instruction(instruction, belonging, state)
        shown = layout.shown[block.stop - 1]
        if (
            shown is not None
            and not source_lines.equal(state.shown, shown)
            and not self._leads_to_location(int(lines[block.stop - 1]) + 1)
        ):
            rows = source_lines.copies(shown)
            before, after = source_lines.additions(state, rows, shown)
            self._add((*before, *rows, *after))
            state = source_lines.advance(state, (*before, *rows, *after))
        self._keep(section, state, layout.after[block.stop - 1])

    def _plain(self, first_line: int, instruction: int) -> None:
        """Write the lines from `first_line` to an instruction that is in no ordered block."""
        section, line = int(self._part.section[instruction]), int(self._part.line[instruction])
        if section in self._deviating:
            state = self._instruction(instruction, range(first_line, line), self._deviating[section])
            self._keep(section, state, self._layout.after[instruction])
        else:
            for number in range(first_line, line + 1):
                self._line(number)

    def _other(self, line: int) -> None:
        """Write a line that belongs to no instruction; it may hold instructions that are not understood."""
        section, rows = self._layout.other_rows.get(line, (-1, []))
        if section in self._deviating:
            self._deviating[section] = source_lines.advance(self._deviating[section], rows)
        self._line(line)

    def text(self) -> str:
        """All lines."""
        layout, line = self._layout, 0
        blocks = {}
        firsts = {}  # first line that belongs to an instruction -> the instruction
        for instruction, lines in enumerate(layout.location_lines):
            firsts[lines[0] if lines else int(self._part.line[instruction])] = instruction
        for start, (block, order) in self._orders.items():
            belonging = (*layout.location_lines[start], *layout.comments[start], int(self._part.line[start]))
            blocks[min(belonging)] = (block, order)
        while line < len(self._source.lines):
            if line in blocks:
                block, order = blocks[line]
                self._block(line, block, order)
                line = int(self._part.line[block.stop - 1])
            elif line in firsts:
                self._plain(line, firsts[line])
                line = int(self._part.line[firsts[line]])
            else:
                self._other(line)
            line += 1
        return "".join(self._output)


def text_with_orders(source: Source, part: Listing, layout: Layout, orders: Mapping[int, Sequence[int]]) -> str:
    """The text with new orders: index of a block -> index of the instruction in each slot."""
    if not source.lines or source.lines[-1].endswith("\n"):
        return _Writer(source, part, layout, orders).text()
    end = "\r\n" if source.lines[0].endswith("\r\n") else "\n"
    complete = replace(source, lines=[*source.lines[:-1], source.lines[-1] + end])
    return _Writer(complete, part, layout, orders).text().removesuffix(end)
