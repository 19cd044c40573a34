"""Bytes that betray where an instruction stood, and so the original order: they are zeroed.

A rip-relative displacement shrinks by an instruction's length for every one that comes before it;
absolute addresses and the linker's fields tell one program from another. Neither may reach a model,
nor make two equal blocks look different.
"""

from __future__ import annotations

import numpy as np
from iced_x86 import Decoder

from pipeline.corpus.elf import CodeSection
from pipeline.corpus.instructions import Instructions

_RIP_DISPLACEMENT_BYTES = 4


def _displacement_tails(section: CodeSection, found: Instructions, rip_relative: np.ndarray) -> np.ndarray:
    """For every rip-relative instruction, how many bytes before its end the displacement begins.

    That is 4 plus the bytes of an immediate, which are fixed by the instruction's code: one
    instruction of every code is taken apart.
    """
    codes, first, inverse = np.unique(found.code[rip_relative], return_index=True, return_inverse=True)
    tails = np.empty(len(codes), dtype=np.int64)
    for k, i in enumerate(rip_relative[first].tolist()):
        begin, length = int(found.address[i]) - section.address, int(found.length[i])
        decoder = Decoder(64, section.code[begin : begin + length])
        tails[k] = length - decoder.get_constant_offsets(decoder.decode()).displacement_offset
    return tails[inverse]


def _absolute_fields(section: CodeSection, found: Instructions, loaded: tuple[int, int]) -> list[tuple[int, int]]:
    """(begin, end), offsets in the section, of 32 and 64-bit constants that are addresses in the image."""
    code = np.frombuffer(section.code, dtype=np.uint8)
    low, high = loaded
    candidates = np.arange(len(found.address))
    if high < 1 << 32 and len(code) >= 4:
        # Cheap filter first: the low half of such a constant shows in some window of four bytes.
        words = code[:-3] | code[1:-2].astype(np.uint32) << 8
        words |= code[2:-1].astype(np.uint32) << 16
        words |= code[3:].astype(np.uint32) << 24
        hits = np.r_[0, np.cumsum((words >= low) & (words <= high), dtype=np.int32)]
        begin = found.address - section.address
        last = np.minimum(np.maximum(begin + found.length - 3, begin), len(words))
        candidates = np.flatnonzero(hits[last] > hits[np.minimum(begin, len(words))])
    fields = []
    begins = (found.address[candidates] - section.address).tolist()
    for begin, length in zip(begins, found.length[candidates].tolist(), strict=True):
        decoder = Decoder(64, section.code[begin : begin + length])
        constants = decoder.get_constant_offsets(decoder.decode())
        for offset, size in (
            (constants.displacement_offset, constants.displacement_size),
            (constants.immediate_offset, constants.immediate_size),
        ):
            if size in (4, 8):
                at = begin + offset
                if low <= int.from_bytes(section.code[at : at + size], "little") <= high:
                    fields.append((at, at + size))
    return fields


def masked(section: CodeSection, found: Instructions, loaded: tuple[int, int] | None) -> bytes:
    """The section's bytes with zeros for every leak; same length, so block boundaries hold.

    Zeroed: displacements of rip-relative operands, bytes that the linker fills in, and, where the
    image is `loaded` at fixed addresses, 32 and 64-bit constants inside it.
    """
    code = np.frombuffer(section.code, dtype=np.uint8).copy()
    rip_relative = np.flatnonzero(found.rip_relative)
    if len(rip_relative):
        begin = found.address[rip_relative] + found.length[rip_relative] - section.address
        begin = begin - _displacement_tails(section, found, rip_relative)
        for k in range(_RIP_DISPLACEMENT_BYTES):
            code[begin + k] = 0
    fields = section.relocated.tolist()
    if loaded is not None:
        fields += _absolute_fields(section, found, loaded)
    for first, last in fields:
        code[max(first, 0) : max(last, 0)] = 0
    return code.tobytes()
