"""The reader of each format: a document that can be written again, or lines of hexadecimal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import BinaryIO

from pipeline.blocks.formats.document import Document, Unreadable
from pipeline.blocks.formats.recognise import recognise

_PROBE_BYTES = 1 << 16
_DOCUMENTS = {"assembly": "assembly_file", "elf": "elf_file", "archive": "archive_file"}
_DATA_SETS = {"ithemal_data": "ithemal_data", "sql_dump": "sql_dump"}  # read as lines, written as lines
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
    read: Callable[[bytes, str], Document] = import_module(f"pipeline.blocks.formats.{_DOCUMENTS[name]}").read
    return read(content, path.name)


def pieces(name: str, file: BinaryIO, lines: int) -> Iterator[list[bytes]]:
    """A file that is no document as lines of hexadecimal, so many at a time; none is lost. Raises Unreadable."""
    from pipeline.blocks.formats import lines as line_format

    if name in _DATA_SETS:
        converted = import_module(f"pipeline.blocks.formats.{_DATA_SETS[name]}").lines(file)
        yield from _grouped(converted, lines)
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
