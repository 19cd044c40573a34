"""Prefixes that a processor ignores if it does not know them: it then executes another instruction.

Compilers write `rep bsf`, which newer processors execute as `tzcnt`, and older ones as `bsf`. So do `lzcnt` and `bsr`.
`xacquire` and `xrelease` are hints beside an instruction, and llvm-mca counts each as an instruction of its own.
"""

from __future__ import annotations

from iced_x86 import Decoder, Mnemonic

_REPEATED, _NOT_REPEATED = 0xF3, 0xF2
_NEWER = (Mnemonic.TZCNT, Mnemonic.LZCNT)


def without_hints(code: bytes) -> bytes:
    """An instruction without `xacquire` and `xrelease`."""
    instruction = Decoder(64, code).decode()
    if instruction.has_xacquire_prefix:
        return _without(code, _NOT_REPEATED)
    return _without(code, _REPEATED) if instruction.has_xrelease_prefix else code


def on_older(code: bytes) -> bytes:
    """What a processor executes that has neither `tzcnt` nor `lzcnt`, nor hints."""
    is_newer = Decoder(64, code).decode().mnemonic in _NEWER
    return _without(code, _REPEATED) if is_newer else without_hints(code)


def _without(code: bytes, prefix: int) -> bytes:
    place = code.index(prefix)  # what stands before it are prefixes too
    return code[:place] + code[place + 1 :]
