"""Resources by name, for tests."""

from __future__ import annotations

from iced_x86 import Decoder, Instruction, Register, RflagsBits

from pipeline.blocks.dag import resources


def bits(names: str) -> int:
    """Resources from names such as "RAX AL ZF XMM0 X87"; those of iced-x86, or of `dag/resources.py`."""
    found = 0
    for name in names.split():
        if name in resources.FLAG_NAMES:
            found |= resources.flags(getattr(RflagsBits, name))
        elif hasattr(Register, name):
            found |= resources.LANES[getattr(Register, name)]
        else:
            found |= int(getattr(resources, name))
    return found


STATUS = bits("OF SF ZF AF CF PF")


def decode(code: str) -> Instruction:
    """One instruction from hex digits."""
    data = bytes.fromhex(code)
    found = Decoder(64, data).decode()
    assert found.len == len(data), code
    return found
