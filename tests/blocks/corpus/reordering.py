"""A block's machine code in another order, as iced-x86 reads it: slow, and sure."""

from __future__ import annotations

from collections.abc import Sequence

from iced_x86 import Decoder


def reordered(code: bytes, order: Sequence[int]) -> bytes:
    """The instructions of `code` in `order`; rip-relative operands point to where they did.

    order: index of the instruction in each slot. Raises OverflowError where a displacement does not fit any more.
    """
    decoder = Decoder(64, code)
    pieces, displaced = [], []
    for instruction in decoder:
        pieces.append((instruction.ip, code[instruction.ip : instruction.next_ip]))
        rip = instruction.is_ip_rel_memory_operand
        displaced.append(decoder.get_constant_offsets(instruction).displacement_offset if rip else None)
    found = bytearray()
    for index in order:
        was, piece = pieces[index]
        at = displaced[index]
        if at is not None:
            displacement = int.from_bytes(piece[at : at + 4], "little", signed=True) + was - len(found)
            piece = piece[:at] + displacement.to_bytes(4, "little", signed=True) + piece[at + 4 :]
        found += piece
    return bytes(found)
