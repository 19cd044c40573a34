"""GAS text -> machine code, by the assembler inside LLVM (llvmlite), so that no compiler is needed."""

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

    Raises ValueError if the text refers to an undefined symbol. LLVM ends the process if the text is not assembly.
    """
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()
    quoted = "".join(
        character if character.isprintable() and character not in '"\\' else f"\\{ord(character):02X}"
        for character in text
    )
    module = llvm.parse_assembly(f'module asm "{quoted}"')
    object_file = llvm.Target.from_triple(TRIPLE).create_target_machine().emit_object(module)
    elf = ELFFile(io.BytesIO(object_file))
    if elf.get_section_by_name(".rela.text") is not None:
        raise ValueError("the text refers to a symbol that it does not define")
    section, symbols = elf.get_section_by_name(".text"), elf.get_section_by_name(".symtab")
    assert section is not None and isinstance(symbols, SymbolTableSection)
    labels = {symbol.name: symbol["st_value"] for symbol in symbols.iter_symbols() if symbol.name}
    return MachineCode(section.data(), labels)
