"""The reader of each format: a document that can be written again, or lines of hexadecimal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from learned_schedulers.blocks.read import lines as line_format
from learned_schedulers.blocks.read.document import Document
from learned_schedulers.blocks.read.recognise import recognise
from learned_schedulers.blocks.read.unreadable import Unreadable

_PROBE_BYTES = 1 << 16
_DOCUMENTS = ("assembly", "elf", "archive")
LINES = "lines"


def format_of(path: Path) -> str:
    """The name of a file's format, by its content and suffix. Raises Unreadable, with the remedy, for others."""
    with path.open("rb") as file:
        return recognise(path, file.read(_PROBE_BYTES))


def is_document(name: str) -> bool:
    """Whether a format is read whole and written again, as assembly is; the others are streams of lines."""
    return name in _DOCUMENTS


def document(name: str, content: bytes, path: Path) -> Document:
    """A file of a format that is a document. Raises Unreadable."""
    # Readers are imported when they are needed: each of them is slow to import.
    if name == "assembly":
        from learned_schedulers.blocks.read import assembly_file

        return assembly_file.read(content, path.name)
    if name == "archive":
        from learned_schedulers.blocks.read import archive_file

        return archive_file.read(content, path.name)
    from learned_schedulers.blocks.read import elf_file

    return elf_file.read(content, path.name)


def pieces(name: str, file: BinaryIO, lines: int) -> Iterator[list[bytes]]:
    """A file that is no document as lines of hexadecimal, so many at a time; none is lost. Raises Unreadable."""
    if name == "ithemal_data":
        from learned_schedulers.blocks.read import ithemal_data

        yield from _grouped(ithemal_data.lines(file), lines)
    elif name == "sql_dump":
        from learned_schedulers.blocks.read import sql_dump

        yield from _grouped(sql_dump.lines(file), lines)
    elif name == LINES:
        yield from line_format.pieces(file, lines)
    else:
        raise Unreadable(f"a file of the format {name} has no lines", "give it to the command as it is")


def _grouped(source: Iterator[bytes], size: int) -> Iterator[list[bytes]]:
    group: list[bytes] = []
    for line in source:
        group.append(line)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group
