"""One assembly file with random legal orders, against the file as it was."""

from __future__ import annotations

import io
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from elftools.elf.elffile import ELFFile

from benchmarks.own_assembly import debug_tables, debugger
from benchmarks.own_assembly.orders import moves, random_orders
from pipeline.blocks.corpus.assembly import split
from pipeline.blocks.dag.memory_order import MemoryOrder
from pipeline.blocks.formats.assembler import object_of, parsed
from pipeline.blocks.formats.assembly_file import read
from pipeline.blocks.ordering.legality import compare

_EQUAL = (".eh_frame", ".gcc_except_table", ".rela.gcc_except_table")


class Checked(NamedTuple):
    """What a file shows."""

    failures: list[str]
    instructions: int
    ordered: int  # instructions of blocks with a new order
    moved: int
    lines_compared: int
    location_pairs: int
    location_changes: int
    block_pairs: int  # of location lists, in ordered blocks
    block_changes: int
    seconds_read: float
    seconds_written: float


def _sections(content: bytes) -> list[tuple[str, int, bytes]]:
    elf = ELFFile(io.BytesIO(content))
    return [
        (section.name, section["sh_size"], section.data() if section.name in _EQUAL else b"")
        for section in elf.iter_sections()
        if not section.name.startswith((".debug", ".rela.debug", ".symtab", ".strtab"))
    ]


def _changes(code: bytes, order: Sequence[int]) -> bool:
    """Whether an order changes the bytes of a block: it moves other instructions than equal ones."""
    instructions = split(code)
    return [instructions[i] for i in order] != instructions


def check(text: bytes, name: str, memory: MemoryOrder, rng: np.random.Generator) -> Checked:
    """Order all blocks of a file at random, and compare the two objects."""
    start = time.perf_counter()
    document = read(text, name)
    seconds_read = time.perf_counter() - start
    orders = random_orders(document, memory, rng)
    n_faults = len(document.faults)
    start = time.perf_counter()
    ordered_text = document.rewritten(orders)
    seconds_written = time.perf_counter() - start
    failures = [fault.reason for fault in document.faults[n_faults:]]
    if document.rewritten({}) != text:
        failures.append("without orders the text changes")
    before, after = object_of(text), object_of(ordered_text)
    n_orders = 0
    for difference in compare(document, read(ordered_text, name), memory):
        n_orders += difference.kind == "legal"
        if difference.kind != "legal":
            failures.append(f"check: {difference.place}: {difference.kind} {difference.reason}")
    n_written = sum(_changes(document.blocks[block].code, order) for block, order in orders.items())
    if n_orders != n_written:
        failures.append(f"check: {n_orders} legal orders, but {n_written} were written")
    if _sections(before) != _sections(after):
        failures.append("sections differ")
    moved = moves(document, orders)
    old = debug_tables.address(moved.section, moved.before)
    new = debug_tables.address(moved.section, moved.after)
    rows, new_rows = debug_tables.lines(before, old), debug_tables.lines(after, new)
    wrong = [k for k, (a, b) in enumerate(zip(rows, new_rows, strict=True)) if a != b]
    if wrong:
        failures.append(f"readelf: {len(wrong)} lines differ, first {rows[wrong[0]]} {new_rows[wrong[0]]}")
    with tempfile.TemporaryDirectory() as folder:
        shown = []
        for content, offsets in ((before, moved.before), (after, moved.after)):
            path = Path(folder, "input.o")
            path.write_bytes(content)
            shown.append(debugger.lines(path, parsed(content), moved.section, offsets))
    # Where the table has no row, gdb shows a line of another section's code, or none.
    wrong = [k for k, (a, b) in enumerate(zip(*shown, strict=True)) if a != b and rows[k] != ("", "")]
    if wrong:
        k = wrong[0]
        failures.append(f"gdb: {len(wrong)} lines differ, first {shown[0][k]} {shown[1][k]} at {moved.before[k]:#x}")
    locations = debug_tables.changed_locations(before, after, old, new, moved.ordered)
    return Checked(
        failures,
        len(moved.before),
        int(moved.ordered.sum()),
        int((moved.before != moved.after).sum()),
        sum(row != ("", "") for row in rows),
        *locations,
        seconds_read,
        seconds_written,
    )
