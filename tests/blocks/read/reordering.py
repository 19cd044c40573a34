"""A block's machine code in another order, by iced-x86: a slow and simple reference."""

from __future__ import annotations

from collections.abc import Sequence

from iced_x86 import Decoder


def reordered(code: bytes, order: Sequence[int]) -> bytes:
    """The instructions of `code` in `order`; rip-relative operands keep their targets.

    order: index of the instruction in each slot. Raises OverflowError if a displacement does not fit in the new order.
    """
    decoder = Decoder(64, code)
    pieces, displacement_offsets = [], []
    for instruction in decoder:
        pieces.append((instruction.ip, code[instruction.ip : instruction.next_ip]))
        is_relative = instruction.is_ip_rel_memory_operand
        displacement_offsets.append(
            decoder.get_constant_offsets(instruction).displacement_offset if is_relative else None
        )
    reordered_code = bytearray()
    for index in order:
        old_offset, piece = pieces[index]
        displacement_offset = displacement_offsets[index]
        if displacement_offset is not None:
            displacement = (
                int.from_bytes(piece[displacement_offset : displacement_offset + 4], "little", signed=True)
                + old_offset
                - len(reordered_code)
            )
            piece = (
                piece[:displacement_offset]
                + displacement.to_bytes(4, "little", signed=True)
                + piece[displacement_offset + 4 :]
            )
        reordered_code += piece
    return bytes(reordered_code)
