"""Function boundaries from `.eh_frame`: pyelftools reads the common entries, NumPy the numbers of all functions.

pyelftools decodes every unwinding instruction on the way to the next entry, which takes 20 seconds for a large library;
this module needs only the first two numbers of each entry. pyelftools reads the common entries. If all of them have the
encoding that GCC always writes, the two numbers are at fixed offsets. Otherwise pyelftools reads all entries.
"""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
from elftools.common.exceptions import DWARFError, ELFError
from elftools.construct import ConstructError
from elftools.dwarf.callframe import CIE, FDE, CallFrameInfo
from elftools.dwarf.structs import DWARFStructs

# Exceptions that pyelftools raises for damaged data, its own and others.
DAMAGE = (
    ELFError, DWARFError, ConstructError, struct.error, zlib.error, ValueError, TypeError, AttributeError, LookupError,
    ArithmeticError, AssertionError, RuntimeError, MemoryError,
)  # fmt: skip
_STRUCTS = DWARFStructs(little_endian=True, dwarf_format=32, address_size=8)
_BEGIN_FIELD = 8  # offset in an entry, after its length and its pointer to the common entry; bytes
_SIZE_FIELD = 12
_USUAL_ENCODING = 0x1B  # DW_EH_PE_pcrel | DW_EH_PE_sdata4: signed, 32 bits, relative to its own address


class EhFrameError(ValueError):
    """`.eh_frame` does not follow its specification."""


def _parsed(data: bytes, address: int) -> list[CIE | FDE]:
    information = CallFrameInfo(io.BytesIO(data), len(data), address, _STRUCTS, for_eh_frame=True)
    try:
        return [entry for entry in information.get_entries() if isinstance(entry, (CIE, FDE))]
    except DAMAGE as error:
        # The message of pyelftools alone says little about damaged data.
        raise EhFrameError(f"{type(error).__name__}: {error}") from error


def _is_usual(common: bytes) -> bool:
    """Whether the functions of a common entry have the usual encoding."""
    entries = _parsed(common, 0)
    return len(entries) == 1 and entries[0].augmentation_dict.get("FDE_encoding") == _USUAL_ENCODING


def _usual_entries(data: bytes) -> np.ndarray | None:
    """Offsets of the functions' entries, int64, or None if some of them have another encoding."""
    common_entries: set[int] = set()
    entries: list[int] = []
    offset = 0
    while offset + 4 <= len(data):
        (length,) = struct.unpack_from("<I", data, offset)
        end = offset + 4 + length
        if length == 0:
            pass  # a terminator; objects linked after it bring their own entries
        elif end > len(data) or length < _SIZE_FIELD:
            return None
        else:
            (distance_back,) = struct.unpack_from("<I", data, offset + 4)
            if distance_back == 0:
                if not _is_usual(data[offset:end]):
                    return None
                common_entries.add(offset)
            elif offset + 4 - distance_back in common_entries:
                entries.append(offset)
            else:
                return None
        offset = end
    return np.array(entries, np.int64) if offset == len(data) else None


def _field(data: bytes, offsets: np.ndarray) -> np.ndarray:
    """The signed 32-bit numbers at the offsets, int64."""
    return np.frombuffer(data, np.uint8)[offsets[:, None] + np.arange(4)].view("<i4")[:, 0].astype(np.int64)


def function_ranges(data: bytes, address: int) -> np.ndarray:
    """Begin and end address of every function, int64 (n, 2), in file order.

    `address`: virtual address of `data`, whose relocations are filled in. Raises EhFrameError if `data` is damaged.
    """
    entries = _usual_entries(data)
    if entries is None:
        sized_begins = [
            (e["initial_location"], e["address_range"]) for e in _parsed(data, address) if isinstance(e, FDE)
        ]
        ranges = [
            (begin, begin + size) for begin, size in sized_begins if min(begin, size) >= 0 and begin + size < 1 << 63
        ]
        return np.array(ranges, dtype=np.int64).reshape(-1, 2)
    begin = address + entries + _BEGIN_FIELD + _field(data, entries + _BEGIN_FIELD)
    size = _field(data, entries + _SIZE_FIELD)
    return np.stack([begin, begin + size], 1)[(begin >= 0) & (size >= 0)]
