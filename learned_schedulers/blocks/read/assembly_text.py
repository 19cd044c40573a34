"""The text of an assembly file with the instructions of some blocks in a new order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from learned_schedulers.blocks.read import source_lines
from learned_schedulers.blocks.read.assembly_blocks import Layout
from learned_schedulers.blocks.read.listing import Listing
from learned_schedulers.blocks.read.source_lines import Row
from learned_schedulers.blocks.read.statements import Kind, Source


class _Writer:
    """Writes lines in sequence; keeps the value of `is_stmt`, and the row in force inside of a block."""

    def __init__(self, source: Source, part: Listing, layout: Layout) -> None:
        self._source, self._part, self._layout = source, part, layout
        self._is_stmt = True
        self._row: Row | None = None
        self._deviates = False  # the next `.loc` sets the row that is in force in the file before
        self._model = next((source.lines[line] for line in layout.locations), "")
        self.output: list[str] = []

    def line(self, number: int) -> None:
        """Write a line as it is, but for the value of `is_stmt` that it needs."""
        text = self._source.lines[number]
        location = self._layout.locations.get(number)
        if location is not None:
            if not location.explicit and location.is_stmt != self._is_stmt:
                text = source_lines.with_is_stmt(text, location.is_stmt)
            self._is_stmt, self._row, self._deviates = location.is_stmt, location.row, False
        self.output.append(text)

    def _show(self, row: Row | None) -> None:
        """Write a `.loc` if another row is in force."""
        if row is not None and row != self._row:
            self.output.append(source_lines.copy(row, self._model))
            self._is_stmt, self._row = False, row

    def _sets_row(self, line: int) -> bool:
        """Whether a `.loc` comes next, before any instruction."""
        statements = self._source.statements
        while line < len(statements) and statements[line].kind in (Kind.COMMENT, Kind.LABEL):
            line += 1
        return line in self._layout.locations

    def block(self, first_line: int, block: range, order: Sequence[int]) -> int:
        """Write the lines from `first_line` to the end of a block, in a new order. Returns the line behind it."""
        layout, lines = self._layout, self._part.line
        if not self._deviates:
            self._row = layout.row_before[block.start]
        gaps: list[range] = []  # lines before each slot
        for instruction in block:
            gaps.append(range(first_line, int(lines[instruction])))
            first_line = int(lines[instruction]) + 1
        travelling = {line for k in block for line in layout.travelling[k]}
        for slot, index in enumerate(order):
            instruction = block.start + index
            stays = index == slot  # then labels stay between its lines
            for line in gaps[slot]:
                if stays or line not in travelling:
                    self.line(line)
            for line in () if stays else layout.travelling[instruction]:
                self.line(line)
            self._show(layout.row[instruction])
            self.line(int(lines[instruction]))
        self._deviates = self._sets_row(first_line)
        if not self._deviates:
            self._show(layout.row[block.stop - 1])
        return first_line


def text_with_orders(source: Source, part: Listing, layout: Layout, orders: Mapping[int, Sequence[int]]) -> str:
    """The text with new orders: index of a block -> index of the instruction in each slot."""
    lines, end = source.lines, ""
    if lines and not lines[-1].endswith("\n"):
        end = "\r\n" if lines[0].endswith("\r\n") else "\n"
        lines[-1] += end
    writer = _Writer(source, part, layout)
    blocks = {}
    for number, order in orders.items():
        start = layout.blocks[number].start
        blocks[min((*layout.travelling[start], int(part.line[start])))] = layout.blocks[number], order
    line = 0
    while line < len(lines):
        if line in blocks:
            line = writer.block(line, *blocks[line])
        else:
            writer.line(line)
            line += 1
    if end:
        lines[-1] = lines[-1].removesuffix(end)
    return "".join(writer.output).removesuffix(end) if end else "".join(writer.output)
