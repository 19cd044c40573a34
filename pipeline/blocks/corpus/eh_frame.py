"""Function boundaries from `.eh_frame`: pyelftools reads the forms, the numbers are taken all at once.

pyelftools decodes every unwinding instruction on the way to the next entry, 20 seconds for a large
library; only the first two numbers of each entry are wanted here. It reads the common entries; where
all of them say what GCC always writes, the two numbers stand at fixed places. Else it reads the rest too.
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

# What pyelftools raises, beside errors of its own, where the data makes no sense.
DAMAGE = (
    ELFError, DWARFError, ConstructError, struct.error, zlib.error, ValueError, TypeError, AttributeError, LookupError,
    ArithmeticError, AssertionError, RuntimeError, MemoryError,
)  # fmt: skip
_STRUCTS = DWARFStructs(little_endian=True, dwarf_format=32, address_size=8)
_BEGIN_FIELD = 8  # bytes into an entry: after its length and its pointer to the common entry
_SIZE_FIELD = 12
_USUAL_ENCODING = 0x1B  # DW_EH_PE_pcrel | DW_EH_PE_sdata4: signed, 32 bits, from where it stands


class EhFrameError(ValueError):
    """`.eh_frame` is not what its specification says."""


def _parsed(data: bytes, address: int) -> list[CIE | FDE]:
    information = CallFrameInfo(io.BytesIO(data), len(data), address, _STRUCTS, for_eh_frame=True)
    try:
        return [entry for entry in information.get_entries() if isinstance(entry, (CIE, FDE))]
    except DAMAGE as error:
        # pyelftools says little about damaged data.
        raise EhFrameError(f"{type(error).__name__}: {error}") from error


def _is_usual(common: bytes) -> bool:
    """A common entry under which functions have the usual encoding."""
    entries = _parsed(common, 0)
    return len(entries) == 1 and entries[0].augmentation_dict.get("FDE_encoding") == _USUAL_ENCODING


def _usual_entries(data: bytes) -> np.ndarray | None:
    """Offsets of the functions' entries, int64, or None where not all are of the usual encoding."""
    commons: set[int] = set()
    entries: list[int] = []
    at = 0
    while at + 4 <= len(data):
        (length,) = struct.unpack_from("<I", data, at)
        end = at + 4 + length
        if length == 0:
            pass  # a terminator; objects linked after it bring their own entries
        elif end > len(data) or length < _SIZE_FIELD:
            return None
        else:
            (back,) = struct.unpack_from("<I", data, at + 4)
            if back == 0:
                if not _is_usual(data[at:end]):
                    return None
                commons.add(at)
            elif at + 4 - back in commons:
                entries.append(at)
            else:
                return None
        at = end
    return np.array(entries, np.int64) if at == len(data) else None


def _field(data: bytes, places: np.ndarray) -> np.ndarray:
    """The signed 32-bit numbers at the places, int64."""
    return np.frombuffer(data, np.uint8)[places[:, None] + np.arange(4)].view("<i4")[:, 0].astype(np.int64)


def function_ranges(data: bytes, address: int) -> np.ndarray:
    """Begin and end address of every function of a linked file, int64 (n, 2), in file order.

    `address`: virtual address of `data`. Raises EhFrameError where `data` is damaged.
    """
    entries = _usual_entries(data)
    if entries is None:
        found = [(e["initial_location"], e["address_range"]) for e in _parsed(data, address) if isinstance(e, FDE)]
        ranges = [(begin, begin + size) for begin, size in found if min(begin, size) >= 0 and begin + size < 1 << 63]
        return np.array(ranges, dtype=np.int64).reshape(-1, 2)
    begin = address + entries + _BEGIN_FIELD + _field(data, entries + _BEGIN_FIELD)
    size = _field(data, entries + _SIZE_FIELD)
    return np.stack([begin, begin + size], 1)[(begin >= 0) & (size >= 0)]


def relocated_functions(data: bytes) -> list[tuple[int, int]]:
    """In an object file: for every function the offset in `data` that a relocation fills with its begin, and its size.

    Raises EhFrameError as `function_ranges` does.
    """
    entries = _usual_entries(data)
    if entries is None:
        return [(e.offset + _BEGIN_FIELD, e["address_range"]) for e in _parsed(data, 0) if isinstance(e, FDE)]
    return list(zip((entries + _BEGIN_FIELD).tolist(), _field(data, entries + _SIZE_FIELD).tolist(), strict=True))
