"""Assembly for GNU's assembler (AT&T and Intel syntax), read and written: the first path for people's own code.

Lines move, with their comments and `.loc` lines; the assembler then makes line tables, unwinding tables and relocations
anew. The text is assembled before and after, and the two objects prove that nothing else has changed: all sections,
`.eh_frame` and `.gcc_except_table` among them, are equal byte for byte outside of the ordered blocks and of debug
information, and each ordered block is exactly the permutation that was asked for. In a debugger every instruction keeps
its line. The places of variables (DWARF location lists) become approximate inside of ordered blocks, because their
ranges begin and end at labels, which do not move.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np
from iced_x86 import Decoder, Register

from learned_schedulers.blocks.dag.memory_order import Mark
from learned_schedulers.blocks.read.assembler import Refused, assemble, object_of
from learned_schedulers.blocks.read.assembly_blocks import layout
from learned_schedulers.blocks.read.assembly_exceptions import (
    OF_LANGUAGE,
    OF_OPTION,
    compiled_to_throw,
    language,
    may_throw,
)
from learned_schedulers.blocks.read.assembly_functions import frames
from learned_schedulers.blocks.read.assembly_names import names
from learned_schedulers.blocks.read.assembly_places import CHANGEABLE, Places, places
from learned_schedulers.blocks.read.assembly_proof import failing_blocks
from learned_schedulers.blocks.read.assembly_text import text_with_orders
from learned_schedulers.blocks.read.compiler_output import foreign_line
from learned_schedulers.blocks.read.document import CodeBlock, Fault
from learned_schedulers.blocks.read.listing import Listing, NotUnderstood, listing
from learned_schedulers.blocks.read.statements import Kind, Source, scan
from learned_schedulers.blocks.read.terminators import terminators
from learned_schedulers.blocks.read.unreadable import Unreadable

_CONSTANT = "if nothing changes the data, make them constant (const, .section .rodata)"
_REMEDY = "give what gcc -S, clang -S or rustc --emit=asm writes, as it is"
_OTHER_FILES = re.compile(rb"\.inc(?:lude|bin)\b", re.IGNORECASE)  # which the assembler would read
_INTEL = ("-msyntax=intel", "-mnaked-reg")
T = TypeVar("T")
_DEFECT = "it is left as it was; please report this file as a defect"


class AssemblyFile:
    """A file of assembly.

    `listing`: its instructions, each with its place in the object; `instructions[k]`: those of block k.
    """

    def __init__(
        self, content: bytes, source: Source, part: Listing, code_places: Places, options: tuple[str, ...]
    ) -> None:
        self._content, self._source, self.listing = content, source, part
        self._layout, self._options = layout(source, part, code_places), options
        self.instructions: Sequence[range] = self._layout.blocks
        is_alone = np.array([bool(reason) for reason in code_places.alone], bool)
        marks = frames(source, part, code_places.named | code_places.begins | is_alone)
        marks[part.linked] |= int(Mark.LINKED)
        marks[may_throw(source, part) | code_places.first] |= int(Mark.FIXED)
        last = np.array([block.stop - 1 for block in self._layout.blocks], np.int64)
        jumps, fused = terminators(part.forms, part.form, last, *_behind(part, self._layout.blocks, last))
        marks[last[fused]] |= int(Mark.FUSED)
        self.blocks: list[CodeBlock] = [
            CodeBlock(
                self._place(block),
                b"".join(part.code(k) for k in block),
                marks[block.start : block.stop].tobytes(),
                jump,
            )
            for block, jump in zip(self._layout.blocks, jumps, strict=True)
        ]
        self.faults: list[Fault] = [*_faults(source, part), *_left_alone(part, code_places)]

    def _place(self, block: range) -> str:
        return f"lines {self.listing.line[block.start] + 1}-{self.listing.line[block.stop - 1] + 1}"

    def rewritten(self, orders: Mapping[int, Sequence[int]]) -> bytes:
        """The file with new orders: index of a block -> index of the instruction in each slot.

        Blocks for which the proof fails stay as they were, and a fault names them. Raises ValueError for an order that
        is no permutation of its block.
        """
        changed = {}
        for block, order in orders.items():
            n = len(self.instructions[block])
            if sorted(order) != list(range(n)):
                raise ValueError(f"{self.blocks[block].place}: {list(order)} is no permutation of {n} instructions")
            if list(order) != list(range(n)):
                changed[block] = [int(index) for index in order]
        proven = self._proven(changed) if changed else {}
        for block in changed:
            if block not in proven:
                self.faults.append(
                    Fault(self.blocks[block].place, "defect: the new order could not be proven", _DEFECT)
                )
        return self._text(proven) if proven else self._content

    def _text(self, orders: Mapping[int, Sequence[int]]) -> bytes:
        return text_with_orders(self._source, self.listing, self._layout, orders).encode("latin-1")

    def _failing(self, orders: Mapping[int, Sequence[int]]) -> set[int] | None:
        try:
            after = assemble(self._text(orders), self._options)
        except Refused:
            return None
        return failing_blocks(self.listing, self.instructions, orders, after)

    def _proven(self, orders: dict[int, list[int]]) -> dict[int, list[int]]:
        """The orders that are proven, together; halves are tried if it is unclear which block is at fault."""
        while orders:
            failing = self._failing(orders)
            if not failing and failing is not None:
                return orders
            if failing is None:
                if len(orders) == 1:
                    return {}
                numbers = sorted(orders)
                half = len(numbers) // 2
                first = self._proven({k: orders[k] for k in numbers[:half]})
                second = self._proven({k: orders[k] for k in numbers[half:]})
                both = first | second
                return both if not first or not second or self._failing(both) == set() else first
            orders = {block: order for block, order in orders.items() if block not in failing}
        return {}


def _behind(part: Listing, blocks: Sequence[range], last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The instruction right behind each of B blocks, -1 for none, and whether it is a branch to the block's begin."""
    behind = np.where(last + 1 < len(part.line), last + 1, -1)
    adjoining = (part.section[behind] == part.section[last]) & (part.begin[behind] == part.end[last])
    behind[~adjoining] = -1
    repeats = np.zeros(len(blocks), bool)
    sizes = part.forms.facts["branch_bytes"][part.form[behind]]
    for k in np.flatnonzero((behind >= 0) & (sizes > 0) & ~part.relocated[behind]).tolist():
        distance = int.from_bytes(part.code(int(behind[k]))[-int(sizes[k]) :], "little", signed=True)
        repeats[k] = part.end[behind[k]] + distance == part.begin[blocks[k].start]
    return behind, repeats


def _ranges(lines: Sequence[int]) -> str:
    """Line numbers for people: the first ranges, and how many lines follow."""
    ranges: list[list[int]] = []
    for line in lines:
        if ranges and line == ranges[-1][1] + 1:
            ranges[-1][1] = line
        else:
            ranges.append([line, line])
    texts = [str(a) if a == b else f"{a}-{b}" for a, b in ranges[:3]]
    more = sum(b - a + 1 for a, b in ranges[3:])
    return "lines " + ", ".join(texts) + (f" and {more} more" if more else "")


def _faults(source: Source, part: Listing) -> list[Fault]:
    """What is left alone, by reason."""
    whole = "the whole file"
    if throwing := language(source):
        return [Fault(whole, OF_LANGUAGE.format(throwing), "none is needed")]
    if compiled_to_throw(source):
        return [Fault(whole, OF_OPTION, "compile it without that option")]
    understood = set(part.line.tolist())
    inline: list[int] = []
    refused: list[int] = []
    for line, statement in enumerate(source.statements):
        if source.inline[line] and statement.text:
            inline.append(line + 1)
        elif statement.kind == Kind.OPAQUE or (statement.kind == Kind.INSTRUCTION and line not in understood):
            refused.append(line + 1)
    faults = []
    if inline:
        faults.append(Fault(_ranges(inline), "inline assembly is left alone", "none is needed"))
    if refused:
        reason = "a statement that is not one instruction of 64-bit code is left alone"
        faults.append(Fault(_ranges(refused), reason, "none is needed"))
    if any(statement.word == ".section" and ".gnu.lto_" in statement.operands for statement in source.statements):
        reason = "it contains bytecode for optimisation at link time, of which the linker makes the code anew"
        faults.append(Fault(whole, reason, "compile without -flto"))
    return faults


def _left_alone(part: Listing, code_places: Places) -> Iterator[Fault]:
    """The functions that are left alone, by reason, and the instructions that stay because something names them."""
    lines = part.line + 1
    for reason in dict.fromkeys(filter(None, code_places.alone)):
        rows = [k for k, other in enumerate(code_places.alone) if other == reason]
        yield Fault(
            _ranges(sorted(lines[rows].tolist())), reason, _CONSTANT if reason == CHANGEABLE else "none is needed"
        )
    if code_places.named.any():
        rows = np.flatnonzero(code_places.named).tolist()
        reason = "data, an alias or an operand names its place, so it stays there and nothing crosses it"
        yield Fault(_ranges(sorted(lines[rows].tolist())), reason, "none is needed")


def _in_its_syntax(source: Source, work: Callable[[tuple[str, ...]], T]) -> T:
    """The result of `work`, which is given options of the assembler: a text may be in either syntax.

    Raises Unreadable if the assembler refuses it.
    """
    has_syntax = any(statement.word in (".intel_syntax", ".att_syntax") for statement in source.statements)
    errors = []
    for options in ((),) if has_syntax else ((), _INTEL):
        try:
            return work(options)
        except Refused as error:
            errors.append(error)
    best = max(errors, key=lambda refused: refused.line)  # that of the syntax which fits longer
    raise Unreadable(
        f"the assembler `as --64` refuses it: {best}", "correct it, or give the compiler's output for x86-64 (gcc -S)"
    ) from best


def _is_32_bit(part: Listing) -> bool:
    """Whether an instruction addresses memory by esp. Some functions for 32 bits assemble for 64 bits too."""
    examples = (Decoder(64, part.forms.examples[form]).decode() for form in np.unique(part.form).tolist())
    return any(instruction.memory_base == Register.ESP for instruction in examples)


class ForeignFile:
    """A file of assembly that no compiler wrote. It is left alone as a whole."""

    def __init__(self, content: bytes, fault: Fault) -> None:
        self._content = content
        self.blocks: list[CodeBlock] = []
        self.faults = [fault]

    def rewritten(self, orders: Mapping[int, Sequence[int]]) -> bytes:
        """The file as it was."""
        return self._content


def read(content: bytes, name: str) -> AssemblyFile | ForeignFile:
    """The blocks of a file of assembly. Raises Unreadable if the assembler refuses it or is not installed."""
    source = scan(content.decode("latin-1"))
    if (foreign := foreign_line(source)) is not None:
        if not _OTHER_FILES.search(content):
            _in_its_syntax(source, lambda options: object_of(content, options))  # it is assembly at least
        reason = f"not a compiler's output, so nothing is certain of its code: {foreign.reason}"
        return ForeignFile(content, Fault(f"line {foreign.line + 1}", reason, _REMEDY))
    return read_compiled(content, source, name)


def read_compiled(content: bytes, source: Source, name: str) -> AssemblyFile:
    """The blocks of a compiler's output. Raises as `read` does."""
    try:
        text_names = names(source)
        part, options = _in_its_syntax(source, lambda chosen: (listing(source, chosen, text_names.lines()), chosen))
    except NotUnderstood as error:
        raise Unreadable(f"{name} is not understood: {error}", "give the compiler's output (gcc -S)") from error
    if _is_32_bit(part):
        raise Unreadable(
            f"{name} is code for 32 bits: it accesses memory by esp", "compile it for x86-64, without -m32"
        )
    return AssemblyFile(content, source, part, places(source, part, text_names), options)
