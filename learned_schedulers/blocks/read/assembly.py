"""Machine code -> text: Intel syntax for people, GAS (AT&T) syntax for llvm-mca."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise

from iced_x86 import Code, Decoder, Formatter, FormatterSyntax, FormatterSyntax_, Instruction


class AssemblyError(ValueError):
    """Bytes that are not whole x86-64 instructions; the message shows them."""


# Codes for which GNU's assembler refuses the mnemonic that iced-x86 prints -> the mnemonic that it accepts.
_GAS_MNEMONICS = {Code.MOVSXD_R32_RM32: "movl"}  # without a REX.W prefix nothing is extended


def _formatter(syntax: FormatterSyntax_) -> Formatter:
    formatter = Formatter(syntax)
    formatter.rip_relative_addresses = True  # print the masked displacement, not an address, which is unknown
    formatter.gas_show_mnemonic_size_suffix = False  # "true" adds suffixes that GNU's assembler rejects
    formatter.hex_prefix, formatter.hex_suffix = "0x", ""
    formatter.space_after_operand_separator = syntax == FormatterSyntax.INTEL
    return formatter


_INTEL = _formatter(FormatterSyntax.INTEL)
_GAS = _formatter(FormatterSyntax.GAS)


def _decode(code: bytes) -> list[Instruction]:
    instructions = list(Decoder(64, code))
    if any(instruction.is_invalid for instruction in instructions):
        raise AssemblyError(f"{code.hex()} is not a sequence of whole x86-64 instructions")
    return instructions


@cache
def _intel_text(instruction: bytes) -> str:
    return _INTEL.format(_decode(instruction)[0])


@cache
def _gas_text(instruction: bytes) -> str:
    decoded = _decode(instruction)[0]
    mnemonic = _GAS_MNEMONICS.get(decoded.code)
    return _GAS.format(decoded) if mnemonic is None else f"{mnemonic} {_GAS.format_all_operands(decoded)}"


def split(code: bytes) -> list[bytes]:
    """The bytes of every instruction of `code`, in order. Raises AssemblyError for bytes that are no code."""
    ends = [0]
    for instruction in _decode(code):
        ends.append(ends[-1] + instruction.len)
    return [code[start:end] for start, end in pairwise(ends)]


def _texts(code: bytes, text: Callable[[bytes], str]) -> list[str]:
    # Each instruction is decoded at address 0, so that equal bytes give equal texts, which can be cached.
    return [text(instruction) for instruction in split(code)]


def intel(code: bytes) -> list[str]:
    """Intel syntax, one text per instruction, for people. Raises AssemblyError for bytes that are no code."""
    return _texts(code, _intel_text)


def gas(code: bytes) -> list[str]:
    """GAS syntax, one text per instruction, as llvm-mca 19 reads it. Raises AssemblyError as `intel` does."""
    return _texts(code, _gas_text)
