"""GAS text -> machine code, by the assembler inside LLVM (llvmlite): no compiler is needed on the machine."""

from __future__ import annotations

import io
from dataclasses import dataclass

import llvmlite.binding as llvm
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

TRIPLE = "x86_64-unknown-linux-gnu"


@dataclass(frozen=True)
class MachineCode:
    """Position-independent code, and the offsets of its labels in it."""

    code: bytes
    labels: dict[str, int]


def assemble(text: str) -> MachineCode:
    """x86-64 instructions and labels in GAS (AT&T) syntax as bytes of one section.

    Raises ValueError where it refers to something outside. LLVM ends the process where the text is no assembly.
    """
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()
    quoted = "".join(c if c.isprintable() and c not in '"\\' else f"\\{ord(c):02X}" for c in text)
    module = llvm.parse_assembly(f'module asm "{quoted}"')
    data = llvm.Target.from_triple(TRIPLE).create_target_machine().emit_object(module)
    elf = ELFFile(io.BytesIO(data))
    if elf.get_section_by_name(".rela.text") is not None:
        raise ValueError("refers to a symbol that it does not define")
    section, symbols = elf.get_section_by_name(".text"), elf.get_section_by_name(".symtab")
    assert section is not None and isinstance(symbols, SymbolTableSection)
    labels = {symbol.name: symbol["st_value"] for symbol in symbols.iter_symbols() if symbol.name}
    return MachineCode(section.data(), labels)
