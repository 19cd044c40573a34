"""Functions of an ELF file by `.eh_frame`, and the places where the rules of unwinding change."""

from __future__ import annotations

import io
from typing import NamedTuple

import numpy as np
from elftools.common.exceptions import DWARFError
from elftools.dwarf.callframe import FDE, CallFrameInfo
from elftools.dwarf.constants import DW_CFA
from elftools.dwarf.structs import DWARFStructs

NO_TABLE = -(1 << 62)
_STRUCTS = DWARFStructs(little_endian=True, dwarf_format=32, address_size=8)
_ADVANCES = (DW_CFA.advance_loc, DW_CFA.advance_loc1, DW_CFA.advance_loc2, DW_CFA.advance_loc4)


class Functions(NamedTuple):
    """F ranges of addresses, each a function or a part of it, by ascending begin."""

    begin: np.ndarray  # (F,) int64
    end: np.ndarray  # (F,) int64
    catches: np.ndarray  # (F,) bool: a table (LSDA) says where exceptions continue in it
    as_called: np.ndarray  # (F,) bool: at its begin the rules are those of a function that was just called
    table: np.ndarray  # (F,) int64: address of that table; NO_TABLE if there is none
    rows: np.ndarray  # (K,) int64: addresses where the rules change

    def select(self, chosen: np.ndarray) -> Functions:
        """The functions at some indices, or where a mask is true, with all rows."""
        begin, end, catches, as_called, table = (column[chosen] for column in self[:5])
        return Functions(begin, end, catches, as_called, table, self.rows)


def _rows(entry: FDE) -> list[int]:
    """Addresses in a function at which the rules of unwinding change."""
    assert entry.cie is not None  # pyelftools has read it
    address, factor, rows = entry["initial_location"], entry.cie["code_alignment_factor"], []
    for instruction in entry.instructions:
        if instruction.opcode in _ADVANCES:
            address += instruction.args[0] * factor
            rows.append(address)
        elif instruction.opcode == DW_CFA.set_loc:
            raise DWARFError("an entry sets its address, which no compiler does for x86-64")
    return rows


def read_functions(data: bytes, address: int) -> Functions:
    """The functions of an `.eh_frame` at `address`. Raises exceptions of `DAMAGE` for a damaged one."""
    frames = CallFrameInfo(io.BytesIO(data), len(data), address, _STRUCTS, for_eh_frame=True)
    ranges: dict[tuple[int, int], tuple[bool, bool, int]] = {}
    rows: list[int] = []
    for entry in frames.get_entries():
        if not isinstance(entry, FDE):
            continue
        begin, size = entry["initial_location"], entry["address_range"]
        if not 0 <= begin < 1 << 62 or not 0 < size < 1 << 62:
            continue
        # The bytes hold the address of the table, relative to their own place; zeros mean that there is none.
        catches = any(entry.augmentation_bytes or b"")
        first = next((i.opcode for i in entry.instructions if i.opcode != DW_CFA.nop), DW_CFA.advance_loc)
        earlier_catches, earlier_called, table = ranges.get((begin, begin + size), (False, True, NO_TABLE))
        if catches and entry.lsda_pointer is not None and 0 <= entry.lsda_pointer < 1 << 62:
            table = entry.lsda_pointer
        ranges[begin, begin + size] = (earlier_catches or catches, earlier_called and first in _ADVANCES, table)
        rows += _rows(entry)
    bounds = sorted(ranges)
    begins, ends = np.array(bounds, np.int64).reshape(-1, 2).T
    catches_of, called_of, table_of = np.array([ranges[bound] for bound in bounds], np.int64).reshape(-1, 3).T
    inside = [row for row in rows if row < 1 << 62]
    return Functions(
        begins.copy(), ends.copy(), catches_of.astype(bool), called_of.astype(bool), table_of.copy(),
        np.array(inside, np.int64),
    )  # fmt: skip


def of_ranges(ranges: np.ndarray) -> Functions:
    """Functions of which the bounds alone are known. ranges: (F, 2) int64, by ascending begin."""
    none = np.zeros(len(ranges), bool)
    begin, end = ranges.T.copy()
    return Functions(begin, end, none, none.copy(), np.full(len(ranges), NO_TABLE), np.zeros(0, np.int64))


def overlapping(functions: Functions) -> np.ndarray:
    """Whether each range shares bytes with another one, (F,) bool."""
    if len(functions.begin) == 0:
        return np.zeros(0, bool)
    furthest = np.maximum.accumulate(functions.end)
    shared = np.zeros(len(functions.begin), bool)
    shared[1:] |= functions.begin[1:] < furthest[:-1]
    shared[:-1] |= functions.end[:-1] > functions.begin[1:]
    # One long range may reach beyond its neighbour: then all later ones that begin inside it are marked above.
    return shared
