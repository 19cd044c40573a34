"""Accesses to memory that may throw, in objects and programs: the rules of `assembly_exceptions.py` on ELF files."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from iced_x86 import Decoder, Mnemonic

from learned_schedulers.blocks.dag.memory_order import may_trap
from learned_schedulers.blocks.read.assembly_exceptions import OF_LANGUAGE, OF_OPTION, PERSONALITIES
from learned_schedulers.blocks.read.elf_code import Code
from learned_schedulers.blocks.read.elf_image import Image
from learned_schedulers.blocks.read.elf_layout import NOWHERE
from learned_schedulers.blocks.read.elf_symbols import Symbols
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.blocks.read.unwinding import Functions

_OMITTED, _ULEB, _WORD = 0xFF, 0x01, 0x03  # encodings of DWARF's exception tables
_ARGUMENTS = (Mnemonic.MOV, Mnemonic.LEA, Mnemonic.XOR)


def throwing(image: Image, functions: Functions, code: Code, symbols: Symbols, forms: Forms) -> str:
    """Why accesses to memory in a file may throw; empty if nothing shows that they do."""
    for table in symbols.tables.values():
        for name in table.names:
            for personality, language in PERSONALITIES.items():
                if personality in name:
                    return OF_LANGUAGE.format(language)
    begins, ends = np.array([*_ranges(image, functions)], np.int64).reshape(-1, 2).T
    first, last = code.at(begins), np.searchsorted(code.start, ends) - 1
    inside = (first >= 0) & (last >= first) & (last < len(code.start))
    instructions = {
        k: Decoder(64, forms.examples[int(code.decoded.form[k])]).decode()
        for k in np.unique(np.r_[first[inside], last[inside]]).tolist()
        if code.plain[k]
    }
    # LLVM's ranges begin before the arguments of a call, and in its languages accesses do not throw.
    if any(i.mnemonic in _ARGUMENTS and not may_trap(i) for i in instructions.values()):
        return ""
    return OF_OPTION if any(map(may_trap, instructions.values())) else ""


def _ranges(image: Image, functions: Functions) -> Iterator[tuple[int, int]]:
    """Positions [begin, end) of the ranges in the exception tables of functions; damaged tables end early."""
    tables = [
        (int(base), section.data())
        for section, base in zip(image.sections, image.bases.tolist(), strict=True)
        if section.name.startswith(".gcc_except_table") and base != NOWHERE and section["sh_type"] == "SHT_PROGBITS"
    ]
    for begin, place in zip(functions.begin.tolist(), functions.table.tolist(), strict=True):
        for base, content in tables:
            if base <= place < base + len(content):
                for offset, size in _call_sites(content, place - base):
                    yield begin + offset, begin + offset + size


def _call_sites(content: bytes, at: int) -> Iterator[tuple[int, int]]:
    """Begin and length of each range of a table (LSDA) at an offset, from the begin of its function."""
    try:
        if content[at] != _OMITTED:
            return  # ranges count from elsewhere, which compilers do not do
        at += 1
        if content[at] != _OMITTED:
            _, at = _uleb(content, at + 1)
        else:
            at += 1
        encoding = content[at]
        size, at = _uleb(content, at + 1)
        end = at + size
        while at < end and encoding in (_ULEB, _WORD):
            numbers = []
            for _ in range(3):
                number, at = _uleb(content, at) if encoding == _ULEB else _word(content, at)
                numbers.append(number)
            _, at = _uleb(content, at)
            yield numbers[0], numbers[1]
    except IndexError:
        return


def _uleb(content: bytes, at: int) -> tuple[int, int]:
    """A number in the form LEB128, and the offset after it."""
    value = shift = 0
    while True:
        byte = content[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return value, at


def _word(content: bytes, at: int) -> tuple[int, int]:
    if at + 4 > len(content):
        raise IndexError
    return int.from_bytes(content[at : at + 4], "little"), at + 4
