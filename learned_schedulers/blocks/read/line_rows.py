"""Addresses at which a debugger's source line changes, from `.debug_line`."""

from __future__ import annotations

import io
import struct

import numpy as np
from elftools.common.utils import struct_parse
from elftools.construct import If, Struct
from elftools.dwarf.lineprogram import LineProgram
from elftools.dwarf.structs import DWARFStructs

_LONG_FORM = 0xFFFFFFFF  # the first four bytes of a program whose length has 64 bits


def _head(structs: DWARFStructs) -> Struct:
    """The head of a line program as far as addresses need it (DWARF 5, section 6.2.4).

    pyelftools' own struct goes on with the names of files. Damage there can make it allocate without end.
    """
    return Struct(
        "head",
        structs.Dwarf_initial_length("unit_length"),
        structs.Dwarf_uint16("version"),
        If(lambda head: head.version >= 5, structs.Dwarf_uint8("address_size")),
        If(lambda head: head.version >= 5, structs.Dwarf_uint8("segment_selector_size")),
        structs.Dwarf_offset("header_length"),
        structs.Dwarf_uint8("minimum_instruction_length"),
        If(lambda head: head.version >= 4, structs.Dwarf_uint8("maximum_operations_per_instruction"), elsevalue=1),
        structs.Dwarf_uint8("default_is_stmt"),
        structs.Dwarf_int8("line_base"),
        structs.Dwarf_uint8("line_range"),
        structs.Dwarf_uint8("opcode_base"),
    )


def line_rows(data: bytes) -> np.ndarray:
    """Addresses of all rows of a `.debug_line`, int64, sorted. Raises exceptions of `DAMAGE` for a damaged one."""
    stream, offset, addresses = io.BytesIO(data), 0, set[int]()
    while offset + 4 <= len(data):
        (first,) = struct.unpack_from("<I", data, offset)
        structs = DWARFStructs(little_endian=True, dwarf_format=64 if first == _LONG_FORM else 32, address_size=8)
        head = struct_parse(_head(structs), stream, offset)
        end = offset + head["unit_length"] + structs.initial_length_field_size()
        sizes = 2 if head["version"] >= 5 else 0
        fields = offset + structs.initial_length_field_size() + 2 + sizes
        begin = fields + structs.dwarf_format // 8 + head["header_length"]
        if not 2 <= head["version"] <= 5 or not begin <= end <= len(data):
            raise ValueError(f"a line program of version {head['version']} that ends at {end} of {len(data)} bytes")
        head["file_entry"] = []
        program = LineProgram(head, stream, structs, begin, end)
        addresses |= {entry.state.address for entry in program.get_entries() if entry.state is not None}
        offset = end
    return np.array(sorted(address for address in addresses if address < 1 << 62), np.int64)
