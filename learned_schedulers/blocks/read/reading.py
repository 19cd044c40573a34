"""The reader of each format: assembly, which can be written again; machine code, to look at; lines of hexadecimal."""

from __future__ import annotations

from pathlib import Path

from learned_schedulers.blocks.read.document import Document
from learned_schedulers.blocks.read.recognise import recognise
from learned_schedulers.blocks.read.unreadable import Unreadable

_PROBE_BYTES = 1 << 16
LINES, ASSEMBLY = "lines", "assembly"
_MACHINE_CODE = ("elf", "archive")


def format_of(path: Path) -> str:
    """The name of a file's format, by its content and suffix. Raises Unreadable, with the remedy, for others."""
    with path.open("rb") as file:
        return recognise(path, file.read(_PROBE_BYTES))


def is_document(name: str) -> bool:
    """Whether a format is read whole, as assembly and machine code are; lines are a stream."""
    return name == ASSEMBLY or is_machine_code(name)


def is_machine_code(name: str) -> bool:
    """Whether a format holds code that an assembler made already."""
    return name in _MACHINE_CODE


def document(name: str, content: bytes, path: Path) -> Document:
    """A file of assembly. Raises Unreadable, also for machine code: it gets no new orders."""
    if is_machine_code(name):
        raise Unreadable(
            "machine code gets no new orders: nothing proves where control may enter it",
            "give the compiler's assembly (gcc -S), or C and C++ with --by-clang",
        )
    from learned_schedulers.blocks.read import assembly_file  # slow to import

    return assembly_file.read(content, path.name)
