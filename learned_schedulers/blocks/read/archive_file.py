"""Machine code: objects and programs, alone or in static archives (`ar`). It is looked at, and not written again.

Python has no module for archives, and none of the installed libraries reads them; their form is a header of 60 bytes
before each member (`man 5 ar`). Long names are those of GNU or of BSD.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from learned_schedulers.blocks.dag.memory_order import linked_by_form
from learned_schedulers.blocks.read import cut
from learned_schedulers.blocks.read.document import CodeBlock, Fault
from learned_schedulers.blocks.read.elf import Image, read_image
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.blocks.read.sources import ELF_MAGIC
from learned_schedulers.blocks.read.unreadable import Unreadable
from learned_schedulers.files import printable

MAGIC = b"!<arch>\n"
_THIN = b"!<thin>\n"
_HEADER, _END = 60, b"`\n"
_NAME, _SIZE = slice(0, 16), slice(48, 58)  # fields of a header
_TABLES = (b"/", b"//", b"/SYM64/", b"__.SYMDEF", b"__.SYMDEF SORTED")  # indices of symbols, and long names
_ANY_LENGTH = 1 << 40
_BSD_NAME = b"#1/"  # and the length of the name, which precedes the content


class Member(NamedTuple):
    """A file in an archive."""

    name: str
    begin: int  # offset of its first byte
    end: int


def _damaged(cause: str) -> Unreadable:
    return Unreadable(f"truncated or damaged archive ({cause})", "make the archive again with ar")


def _number(text: bytes, field: str) -> int:
    digits = text.strip()
    if not digits.isdigit():
        raise _damaged(f"{field} is {text!r}")
    return int(digits)


def members(content: bytes) -> Iterator[Member]:
    """The files in an archive, without its own tables. Raises Unreadable for thin and for damaged archives."""
    if content.startswith(_THIN):
        raise Unreadable("a thin archive, which holds names and no code", "give the objects that it names")
    if not content.startswith(MAGIC):
        raise Unreadable("not an archive", "give it a name with the suffix of its format")
    long_names, offset = b"", len(MAGIC)
    while offset < len(content):
        header = content[offset : offset + _HEADER]
        if len(header) < _HEADER or not header.endswith(_END):
            raise _damaged(f"no header of a member at offset {offset}")
        name = header[_NAME].rstrip(b" ")
        begin = offset + _HEADER
        end = begin + _number(header[_SIZE], f"the size of the member at offset {offset}")
        if end > len(content):
            raise _damaged(f"the member at offset {offset} ends beyond the file")
        offset = end + end % 2  # members begin at even offsets
        if name.startswith(_BSD_NAME):
            length = _number(name[len(_BSD_NAME) :], "the length of a name")
            if length > end - begin:
                raise _damaged(f"the name of the member at offset {begin} is longer than the member")
            name, begin = content[begin : begin + length].rstrip(b"\0"), begin + length
        if name == b"//":
            long_names = content[begin:end]
        elif name not in _TABLES:
            if name[:1] == b"/" and name[1:].isdigit():
                name = long_names[int(name[1:]) :].split(b"/\n", 1)[0].split(b"\0", 1)[0]
            yield Member(name.removesuffix(b"/").decode("utf-8", "replace"), begin, end)


def labels(every: Sequence[Member]) -> list[str]:
    """Names of all members, unique and printable: a repeated or unprintable one has its number."""
    counts = Counter(member.name for member in every)
    names: list[str] = []
    for number, member in enumerate(every):
        name = printable(member.name)
        is_plain = counts[member.name] == 1 and name == member.name and name
        names.append(name if is_plain else f"{name}[{number}]")
    return names


def images(content: bytes) -> Iterator[tuple[str, Image | Unreadable]]:
    """The objects of an archive, or the one file of machine code itself, whose name is empty; or why one is refused.

    Raises Unreadable for a damaged file, and for an archive without a member of machine code.
    """
    if not content.startswith((MAGIC, _THIN)):
        yield "", read_image(content)
        return
    every = list(members(content))
    if not any(content.startswith(ELF_MAGIC, member.begin) for member in every):
        raise Unreadable("an archive without objects of machine code", "give a static library (.a)")
    for member, label in zip(every, labels(every), strict=True):
        if not content.startswith(ELF_MAGIC, member.begin):
            remedy = "compile it to machine code" if member.name.endswith((".o", ".obj")) else "none is needed"
            yield label, Unreadable("no object of machine code", remedy)
            continue
        try:
            image = read_image(content[member.begin : member.end])
        except Unreadable as error:
            yield label, error
        else:
            yield label, image


class MachineCode(NamedTuple):
    """The blocks of objects and programs, which are looked at and never written."""

    blocks: list[CodeBlock]
    faults: list[Fault]


def read(content: bytes) -> MachineCode:
    """Every block of at least two instructions, as if nothing but its bytes were known. Raises as `images` does."""
    forms, file = Forms(), MachineCode([], [])
    for label, image in images(content):
        prefix = f"{label}:" if label else ""
        if isinstance(image, Unreadable):
            file.faults.append(Fault(label, image.reason, image.remedy))
            continue
        for section in cut.blocks(image, 2, _ANY_LENGTH, forms):
            decoded = forms.decode(section.code, section.begin, section.end)
            marks = linked_by_form(section.code, section.begin, decoded, forms.facts).tobytes()
            place = f"{prefix}{section.section}+" if image.relocatable else prefix
            for k, (address, begin, end) in enumerate(
                zip(section.address.tolist(), section.begin.tolist(), section.end.tolist(), strict=True)
            ):
                code, of_block = section.code[begin:end].tobytes(), marks[decoded.first[k] : decoded.first[k + 1]]
                file.blocks.append(CodeBlock(f"{place}{address:#x}", code, of_block))
    return file
