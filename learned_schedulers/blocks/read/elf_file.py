"""Objects, shared objects and executables (ELF, x86-64): blocks ordered in place, where it is proven that they may be.

A block is a run of plain instructions in one function of `.eh_frame`. It ends where control or a tool may arrive:
targets of branches, symbols, relocations and pointers, changes of the unwinding rules, lines of the debugger. What is
not proven stays as it is and is reported; assembly (`assembly_file.py`) can be ordered further.

A build-id (`.note.gnu.build-id`) stays the one of the file before. A checksum of the code that someone else keeps, such
as a signature or that of a validated cryptographic module, will not fit any more. Lines of a separate debug file, and
the locations of variables in any debug information, hold at the ends of blocks and not inside.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

import numpy as np
from iced_x86 import Decoder, Instruction

from learned_schedulers.blocks.dag.memory_order import Mark
from learned_schedulers.blocks.read.document import CodeBlock, Fault
from learned_schedulers.blocks.read.eh_frame import DAMAGE
from learned_schedulers.blocks.read.elf_analysis import OVERLAP, Analysis, analyse
from learned_schedulers.blocks.read.elf_blocks import Cut, marks
from learned_schedulers.blocks.read.elf_code import Code
from learned_schedulers.blocks.read.elf_image import Image
from learned_schedulers.blocks.read.elf_layout import damaged
from learned_schedulers.blocks.read.elf_relocations import MOVABLE, Relocations
from learned_schedulers.blocks.read.elf_symbols import WITHOUT_BOUNDS, Symbols
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.blocks.read.reorder import reordered
from learned_schedulers.blocks.read.terminators import terminators
from learned_schedulers.blocks.read.unreadable import Unreadable
from learned_schedulers.files import printable

_OFFSET_BYTES = 8  # of a relocation's place, at the begin of its entry
_NO_SIZE = "nothing says where it ends"
_TO_ASSEMBLY = "order the compiler's assembly (gcc -S) instead"
_TO_OBJECTS = "order the object files or the assembly (gcc -S) that it is made of instead"


class ElfDocument:
    """An ELF file that has been read."""

    def __init__(
        self,
        content: bytes,
        analysis: Analysis,
        forms: Forms,
        blocks: Sequence[CodeBlock],
        faults: Sequence[Fault],
    ) -> None:
        """The runs of the analysis are those of the blocks, in the same order."""
        self.blocks, self.faults = blocks, faults
        self._content, self._image, self._forms = content, analysis.image, forms
        code, relocations = analysis.code, analysis.relocations
        used = np.flatnonzero(code.relocation >= 0)
        used = used[np.argsort(code.relocation[used], kind="stable")]
        self._relocation_of = code.relocation[used]  # instruction, ascending
        self._relocation_place, self._relocation_entry = relocations.place[used], relocations.entry[used]
        self._relocation_bytes = np.array([MOVABLE.get(kind, 0) for kind in relocations.kind[used].tolist()], np.int64)
        self._first, self._last = analysis.runs
        self._start, self._length = code.start, code.length
        self._relocations, self._code = relocations, code

    def codes_in(self, other: ElfDocument) -> list[bytes]:
        """The code of another file at the places of this file's blocks, without what the linker fills in.

        A file in new orders may be cut into other blocks, because places of relocations count as targets. Raises
        ValueError for a file of another layout.
        """
        if len(other._image.code) != len(self._image.code) or other._image.parts != self._image.parts:
            raise ValueError("the files have other sections")
        hidden = _without_fields(other._image, other._relocations, other._code)
        begins = self._start[self._first].tolist()
        ends = (self._start[self._last - 1] + self._length[self._last - 1]).tolist()
        return [hidden[begin:end].tobytes() for begin, end in zip(begins, ends, strict=True)]

    def rewritten(self, orders: Mapping[int, Sequence[int]]) -> bytes:
        """The file with new orders of blocks. Raises ValueError for an order that is no permutation of its block."""
        chosen = sorted(orders)
        for block in chosen:
            count = int(self._last[block] - self._first[block])
            if sorted(orders[block]) != list(range(count)):
                raise ValueError(f"{self.blocks[block].place}: {orders[block]} is no order of {count} instructions")
        content = bytearray(self._content)
        if not chosen:
            return bytes(content)
        begins = self._start[self._first[chosen]]
        ends = self._start[self._last[chosen] - 1] + self._length[self._last[chosen] - 1]
        decoded = self._forms.decode(self._image.code, begins, ends)
        flat = np.concatenate([np.asarray(orders[block], np.int64) for block in chosen])
        code, fits = reordered(self._image.code, begins, decoded, self._forms.facts, flat)
        if not fits.all():  # `obstacles` has left out all blocks in which that can happen
            raise AssertionError("a distance does not fit into its displacement; please report it")
        shifts = np.array([part.offset - part.begin for part in self._image.parts], np.int64)
        places = begins + shifts[self._image.part_at(begins)]  # in the file
        allowed = np.zeros(len(content), bool)
        for block, begin, end, at in zip(chosen, begins.tolist(), ends.tolist(), places.tolist(), strict=True):
            moves = self._move_relocations(block, orders[block], code)
            content[at : at + end - begin] = code[begin:end].tobytes()
            allowed[at : at + end - begin] = True
            for entry, distance in moves:
                offset = int.from_bytes(content[entry : entry + _OFFSET_BYTES], "little") + distance
                content[entry : entry + _OFFSET_BYTES] = offset.to_bytes(_OFFSET_BYTES, "little")
                allowed[entry : entry + _OFFSET_BYTES] = True
            self._prove(block, orders[block], begin, end, code, dict(moves))
        before, after = np.frombuffer(self._content, np.uint8), np.frombuffer(content, np.uint8)
        if (before != after)[~allowed].any():
            raise AssertionError("bytes outside of the ordered blocks have changed; please report it")
        return bytes(content)

    def _relocated(self, instruction: int) -> range:
        """Indices of the relocations of an instruction."""
        low, high = np.searchsorted(self._relocation_of, (instruction, instruction + 1)).tolist()
        return range(low, high)

    def _move_relocations(self, block: int, order: Sequence[int], code: np.ndarray) -> list[tuple[int, int]]:
        """Entries of relocations and the distances that they move by. Puts the bytes that they fill in back to `code`.

        `reordered` changes all rip-relative displacements. Those with a relocation keep their bytes, because their
        addend is relative to their own place.
        """
        first, moves = int(self._first[block]), []
        position = int(self._start[first])
        for i in order:
            instruction = first + i
            for row in self._relocated(instruction):
                place, size = int(self._relocation_place[row]), int(self._relocation_bytes[row])
                distance = position - int(self._start[instruction])
                code[place + distance : place + distance + size] = self._image.code[place : place + size]
                moves.append((int(self._relocation_entry[row]), distance))
            position += int(self._length[instruction])
        return moves

    def _prove(
        self, block: int, order: Sequence[int], begin: int, end: int, code: np.ndarray, moves: Mapping[int, int]
    ) -> None:
        """Decode a block before and after, apart from what wrote it, and compare instruction by instruction."""
        old_code, new_code = self._image.code[begin:end].tobytes(), code[begin:end].tobytes()
        before, after = _decoded(old_code, begin), _decoded(new_code, begin)
        place, first = self.blocks[block].place, int(self._first[block])
        if len(before) != len(after) or len(before) != len(order):
            raise AssertionError(f"{place}: another number of instructions after the change; please report it")
        for i, (new, _) in zip(order, after, strict=True):
            (old, displacement_at), rows = before[i], self._relocated(first + i)
            was, now = old.ip - begin, new.ip - begin
            fields = [int(self._relocation_place[row]) - old.ip for row in rows]
            if old.is_ip_rel_memory_operand and displacement_at not in fields:
                same = old == new and old.len == new.len  # iced-x86 compares the targets and not the distances
            else:
                same = old_code[was : was + old.len] == new_code[now : now + new.len]
            if not same or any(moves[int(self._relocation_entry[row])] != now - was for row in rows):
                raise AssertionError(f"{place}: {old} has become {new}; please report it")


def _decoded(code: bytes, begin: int) -> list[tuple[Instruction, int]]:
    """The instructions, each with the offset of its displacement."""
    decoder = Decoder(64, code, ip=begin)
    return [(instruction, decoder.get_constant_offsets(instruction).displacement_offset) for instruction in decoder]


def read(content: bytes, name: str) -> ElfDocument:
    """Read an ELF file. name: for messages.

    Raises Unreadable if the file is refused as a whole, or if it is damaged.
    """
    return read_object(content, name, Forms())


def read_object(content: bytes, name: str, forms: Forms) -> ElfDocument:
    """As `read`. forms: an object that the members of an archive share."""
    try:
        return _read(content, forms)
    except Unreadable:
        raise
    except DAMAGE as error:
        raise damaged(f"{name}: {type(error).__name__}: {error}") from error


def _read(content: bytes, forms: Forms) -> ElfDocument:
    read_file = analyse(content, forms)
    image, code, functions, runs = read_file.image, read_file.code, read_file.functions, read_file.runs
    names = _Names(image, read_file.symbols)
    faults = [Fault(names.function(begin), OVERLAP, names.remedy) for begin in read_file.overlapping.tolist()]
    faults += [Fault(names.function(begin), _NO_SIZE, WITHOUT_BOUNDS) for begin in read_file.without_size().tolist()]
    function, reasons = code.function[runs.first], read_file.reasons()
    for f in np.unique(function).tolist():
        if reason := read_file.verdict.reasons[f]:
            faults.append(Fault(names.function(int(functions.begin[f])), reason, names.remedy))
    for run, reason in read_file.obstacles.items():
        if not read_file.verdict.reasons[int(function[run])]:
            faults.append(Fault(names.block(int(code.start[runs.first[run]])), reason, names.remedy))
    usable = np.array([not reason for reason in reasons], bool)
    runs = Cut(runs.first[usable], runs.last[usable])
    chosen = np.zeros(len(functions.begin), bool)
    chosen[code.function[runs.first]] = True
    tags = marks(
        image, functions, code, read_file.relocations, read_file.verdict.leaves, chosen, read_file.begins, forms
    )
    hidden = _without_fields(image, read_file.relocations, code)
    ends = code.start[runs.last - 1] + code.length[runs.last - 1]
    behind = code.at(ends)
    jumps, fused = terminators(
        forms, code.decoded.form, runs.last - 1, behind, code.to[behind] == code.start[runs.first]
    )
    tags[runs.last[fused] - 1] |= int(Mark.FUSED)
    blocks = [
        CodeBlock(names.block(begin), hidden[begin:end].tobytes(), tags[first:last].tobytes(), jump)
        for begin, end, first, last, jump in zip(
            code.start[runs.first].tolist(), ends.tolist(), runs.first.tolist(), runs.last.tolist(), jumps, strict=True
        )
    ]
    return ElfDocument(content, read_file._replace(runs=runs), forms, blocks, faults)


def _without_fields(image: Image, relocations: Relocations, code: Code) -> np.ndarray:
    """The code with zeros for what the linker fills in, uint8."""
    hidden = image.code.copy()
    for row in np.flatnonzero(code.relocation >= 0).tolist():
        place = int(relocations.place[row])
        hidden[place : place + MOVABLE.get(int(relocations.kind[row]), 0)] = 0
    return hidden


class _Names:
    """Places in a file, as people write them."""

    def __init__(self, image: Image, symbols: Symbols) -> None:
        self._image = image
        self._part_begins = [part.begin for part in image.parts]
        self._names = symbols.functions
        self._begins = sorted(symbols.functions)
        self.remedy = _TO_ASSEMBLY if image.relocatable else _TO_OBJECTS

    def _place(self, position: int) -> str:
        if not self._image.relocatable:
            return hex(self._image.address + position)
        part = self._image.parts[bisect_right(self._part_begins, position) - 1]
        return f"{printable(part.name)}+{position - part.begin:#x}"

    def block(self, position: int) -> str:
        """Of a block: section and offset in an object; address and function in a linked file."""
        if self._image.relocatable:
            return self._place(position)
        index = bisect_right(self._begins, position) - 1
        name = self._names[self._begins[index]] if index >= 0 else ""
        return f"{self._place(position)} {printable(name)}".rstrip()

    def function(self, position: int) -> str:
        """Of a function, with its name if it has one."""
        name = self._names.get(position, "")
        return f"{self._place(position)} {printable(name)}".rstrip()
