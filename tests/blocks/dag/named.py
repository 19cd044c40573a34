"""Resources by name, for tests."""

from __future__ import annotations

from iced_x86 import Decoder, Instruction, Register, RflagsBits

from learned_schedulers.blocks.dag import resources


def bits(names: str) -> int:
    """Resources from names such as "RAX AL ZF XMM0 X87", which are those of iced-x86 or of `dag/resources.py`."""
    resource_bits = 0
    for name in names.split():
        if name in resources.FLAG_NAMES:
            resource_bits |= resources.flags(getattr(RflagsBits, name))
        elif hasattr(Register, name):
            resource_bits |= resources.LANES[getattr(Register, name)]
        else:
            resource_bits |= int(getattr(resources, name))
    return resource_bits


STATUS = bits("OF SF ZF AF CF PF")


def decode(code: str) -> Instruction:
    """One instruction from hex digits."""
    code_bytes = bytes.fromhex(code)
    instruction = Decoder(64, code_bytes).decode()
    assert instruction.len == len(code_bytes), code
    return instruction
