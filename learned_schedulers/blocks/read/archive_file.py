"""Static archives (`ar`): the objects in them ordered in place. Sizes stay, and so does the index of symbols.

Python has no module for archives, and none of the installed libraries reads them; their form is a header of 60 bytes
before each member (`man 5 ar`). Long names are those of GNU or of BSD.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from learned_schedulers.blocks.read.document import CodeBlock, Fault
from learned_schedulers.blocks.read.elf_file import ElfDocument, read_object
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.blocks.read.sources import ELF_MAGIC
from learned_schedulers.blocks.read.unreadable import Unreadable
from learned_schedulers.files import printable

MAGIC = b"!<arch>\n"
_THIN = b"!<thin>\n"
_HEADER, _END = 60, b"`\n"
_NAME, _SIZE = slice(0, 16), slice(48, 58)  # fields of a header
_TABLES = (b"/", b"//", b"/SYM64/", b"__.SYMDEF", b"__.SYMDEF SORTED")  # indices of symbols, and long names
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
        raise Unreadable("a thin archive, which holds names and no code", "order the objects that it names")
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


class ArchiveDocument:
    """An archive that has been read."""

    def __init__(self, content: bytes, parts: Sequence[tuple[Member, ElfDocument]], faults: Sequence[Fault]) -> None:
        """parts: the members whose blocks can be ordered, by names that are unique."""
        self._content, self._parts, self.faults = content, parts, faults
        self.blocks: Sequence[CodeBlock] = [
            block._replace(place=f"{member.name}:{block.place}") for member, part in parts for block in part.blocks
        ]
        # Members without blocks share their number with the next one, and `bisect_right` finds the last.
        self._first = list(accumulate((len(part.blocks) for _, part in parts), initial=0))[:-1]

    def codes_in(self, other: ArchiveDocument) -> list[bytes]:
        """As ElfDocument.codes_in, of all members. Raises ValueError for an archive of other members."""
        if [member for member, _ in self._parts] != [member for member, _ in other._parts]:
            raise ValueError("the archives have other members")
        pairs = zip(self._parts, other._parts, strict=True)
        return [code for (_, part), (_, counterpart) in pairs for code in part.codes_in(counterpart)]

    def rewritten(self, orders: Mapping[int, Sequence[int]]) -> bytes:
        """The archive with new orders of blocks. Raises ValueError for an order that is no permutation of its block."""
        if unknown := [block for block in orders if not 0 <= block < len(self.blocks)]:
            raise ValueError(f"block {unknown[0]} of {len(self.blocks)}")
        of_part: dict[int, dict[int, Sequence[int]]] = {}
        for block, order in orders.items():
            part = bisect_right(self._first, block) - 1
            of_part.setdefault(part, {})[block - self._first[part]] = order
        content = bytearray(self._content)
        for number, chosen in of_part.items():
            member, document = self._parts[number]
            content[member.begin : member.end] = document.rewritten(chosen)
        return bytes(content)


def read(content: bytes, name: str) -> ArchiveDocument:
    """Read a static archive; members that cannot be ordered are reported. name: for messages.

    Raises Unreadable for another format, a damaged archive, and one without a member of machine code.
    """
    forms, parts, faults = Forms(), list[tuple[Member, ElfDocument]](), list[Fault]()
    every = list(members(content))
    for member, label in zip(every, labels(every), strict=True):
        if not content.startswith(ELF_MAGIC, member.begin):
            remedy = "compile it to machine code" if member.name.endswith((".o", ".obj")) else "none is needed"
            faults.append(Fault(label, "no object of machine code", remedy))
            continue
        try:
            part = read_object(content[member.begin : member.end], f"{name}: {label}", forms)
        except Unreadable as error:
            faults.append(Fault(label, error.reason, error.remedy))
            continue
        parts.append((member._replace(name=label), part))
        faults += [fault._replace(place=f"{label}:{fault.place}") for fault in part.faults]
    if not any(content.startswith(ELF_MAGIC, member.begin) for member in every):
        raise Unreadable("an archive without objects of machine code", "give a static library (.a)")
    return ArchiveDocument(content, parts, faults)
