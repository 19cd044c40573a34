"""Function boundaries from `.eh_frame`, read by pyelftools."""

from __future__ import annotations

import io
import struct

import numpy as np
from elftools.common.exceptions import DWARFError, ELFError
from elftools.construct import ConstructError
from elftools.dwarf.callframe import FDE, CallFrameInfo
from elftools.dwarf.structs import DWARFStructs

_STRUCTS = DWARFStructs(little_endian=True, dwarf_format=32, address_size=8)
_BEGIN_FIELD = 8  # bytes into an entry: after its length and its pointer to the common entry


class EhFrameError(ValueError):
    """`.eh_frame` is not what its specification says."""


def _entries(data: bytes, address: int) -> list[FDE]:
    information = CallFrameInfo(io.BytesIO(data), len(data), address, _STRUCTS, for_eh_frame=True)
    try:
        return [entry for entry in information.get_entries() if isinstance(entry, FDE)]
    except (ELFError, DWARFError, ConstructError, struct.error, ValueError, TypeError, AttributeError, LookupError,
            ArithmeticError, AssertionError) as error:  # fmt: skip
        # pyelftools says little about damaged data.
        raise EhFrameError(f"{type(error).__name__}: {error}") from error


def function_ranges(data: bytes, address: int) -> np.ndarray:
    """Begin and end address of every function of a linked file, int64 (n, 2), in file order.

    `address`: virtual address of `data`. Raises EhFrameError where `data` is damaged.
    """
    ranges = [(e["initial_location"], e["initial_location"] + e["address_range"]) for e in _entries(data, address)]
    inside = [(begin, end) for begin, end in ranges if 0 <= begin <= end < 1 << 63]
    return np.array(inside, dtype=np.int64).reshape(-1, 2)


def relocated_functions(data: bytes) -> list[tuple[int, int]]:
    """In an object file: for every function the offset in `data` that a relocation fills with its begin, and its size.

    Raises EhFrameError as `function_ranges` does.
    """
    return [(entry.offset + _BEGIN_FIELD, entry["address_range"]) for entry in _entries(data, 0)]
