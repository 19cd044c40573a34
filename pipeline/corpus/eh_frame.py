"""Function boundaries from `.eh_frame`.

pyelftools decodes every unwinding instruction on the way, half a minute for a large library;
only the first two numbers of each entry are wanted here.
Source: Linux Standard Base 5.0, chapter 10.6 "Exception Frames"; DWARF 4, section 7.6 (LEB128).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np

# Low four bits of a pointer encoding -> struct format.
_FORMATS = {0x00: "<Q", 0x02: "<H", 0x03: "<I", 0x04: "<Q", 0x0A: "<h", 0x0B: "<i", 0x0C: "<q"}
_PC_RELATIVE = 0x10


class EhFrameError(ValueError):
    """`.eh_frame` is not what its specification says."""


def _skip_leb128(data: bytes, at: int) -> int:
    while data[at] & 0x80:
        at += 1
    return at + 1


def _pointer_encoding(data: bytes, at: int) -> int:
    """Encoding of the function addresses of the entries under the common entry whose version stands at `at`."""
    version = data[at]
    if version not in (1, 3):
        raise EhFrameError(f"version {version} of a common entry")
    end = data.find(b"\0", at + 1)
    if end < 0:
        raise EhFrameError("a common entry has no end")
    augmentation = data[at + 1 : end]
    at = end + 1
    if not augmentation.startswith(b"z"):
        if augmentation:
            raise EhFrameError(f"augmentation {augmentation!r}")
        return 0
    at = _skip_leb128(data, at)  # code alignment
    at = _skip_leb128(data, at)  # data alignment
    at = at + 1 if version == 1 else _skip_leb128(data, at)  # return address register
    at = _skip_leb128(data, at)  # length of what follows
    for letter in augmentation[1:].decode("ascii", "replace"):
        if letter == "R":
            return data[at]
        if letter == "L":
            at += 1
        elif letter == "P":
            at += 1 + struct.calcsize(_format(data[at]))
        elif letter not in "SB":
            raise EhFrameError(f"augmentation {augmentation!r}")
    return 0


def _format(encoding: int) -> str:
    try:
        return _FORMATS[encoding & 0x0F]
    except KeyError:
        raise EhFrameError(f"pointer encoding {encoding:#x}") from None


def _entries(data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """(offset of its begin address, that field, size of the function, encoding) of every entry."""
    encodings: dict[int, int] = {}
    at = 0
    try:
        while at + 4 <= len(data):
            (length,) = struct.unpack_from("<I", data, at)
            entry = at
            at += 4
            if length == 0:
                continue  # a terminator; objects linked after it bring their own entries
            if length == 0xFFFFFFFF:
                (length,) = struct.unpack_from("<Q", data, at)
                at += 8
            end = at + length
            if end > len(data):
                raise EhFrameError(f"the entry at {entry:#x} runs over the end")
            (back,) = struct.unpack_from("<I", data, at)
            if back == 0:
                encodings[entry] = _pointer_encoding(data, at + 4)
            elif at - back not in encodings:
                raise EhFrameError(f"the entry at {entry:#x} names no common entry")
            else:
                encoding = encodings[at - back]
                form = _format(encoding)
                (begin,) = struct.unpack_from(form, data, at + 4)
                # The size is encoded as the address is, but never signed and never relative.
                (size,) = struct.unpack_from(form.upper(), data, at + 4 + struct.calcsize(form))
                yield at + 4, begin, size, encoding
            at = end
    except (struct.error, IndexError) as error:
        raise EhFrameError(f"it ends inside an entry near {at:#x}") from error


def function_ranges(data: bytes, address: int) -> np.ndarray:
    """Begin and end address of every function of a linked file, int64 (n, 2), in file order.

    `address`: virtual address of `data`. Raises EhFrameError where `data` is damaged or in a form
    that no compiler of C or C++ writes.
    """
    ranges = []
    for place, begin, size, encoding in _entries(data):
        if encoding & 0x70 == _PC_RELATIVE:
            begin += address + place
        elif encoding & 0x70:
            raise EhFrameError(f"pointer encoding {encoding:#x}")
        if begin >= 0 and begin + size < 1 << 63:
            ranges.append((begin, begin + size))
    return np.array(ranges, dtype=np.int64).reshape(-1, 2)


def relocated_functions(data: bytes) -> list[tuple[int, int]]:
    """In an object file: for every function the offset in `data` that a relocation fills with its begin, and its size.

    Raises EhFrameError as `function_ranges` does.
    """
    return [(place, size) for place, _, size, _ in _entries(data)]
