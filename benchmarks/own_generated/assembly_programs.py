"""Assembly programs at random: functions of segments, in several kinds of sections, and the table of what to call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.own_generated import entering, naming, surrounding
from benchmarks.own_generated.piece import Piece
from benchmarks.own_generated.straight import Draw
from learned_schedulers.blocks.dag.memory_order import MemoryOrder

Segment = Callable[[Piece], None]
# Constructs for which a reader may leave the whole file alone are in few programs.
RARE: dict[Segment, float] = {surrounding.region: 0.12, naming.alternative: 0.12, naming.jump_label: 0.12}
_DATA = [
    ".data", ".globl generated_cell", "generated_cell: .quad 5",
    '.section .tbss,"awT",@nobits', ".p2align 3", ".globl generated_own", "generated_own: .zero 8", ".text",
]  # fmt: skip


class Written(NamedTuple):
    """A program for runtime.c."""

    text: str
    constructs: frozenset[str]  # what occurs in it
    others: dict[str, str]  # a file with the table of what to call, if it is apart


def written(
    rng: np.random.Generator,
    functions: int,
    with_avx2: bool = False,
    memory: MemoryOrder = "tso",
    segments: Sequence[Segment] | None = None,
) -> Written:
    """A program of so many functions.

    memory: `single_thread` allows no handlers, `tso` no divisions that trap in their sight; segments: those that the
    functions have, otherwise some are drawn.
    """
    lines = list(_DATA)
    apart = bool(rng.random() < 0.5)  # what is called is not named in the same file, as a library's functions
    table_flags = str(rng.choice(["a", "aw"]))
    if segments is None:
        segments = _drawn_segments(Draw(rng), with_avx2, memory)
    pieces = [_function(Piece(f"f{number}", Draw(rng), table_flags), segments) for number in range(functions)]
    calls, calls_apart = list[str](), list[str]()
    for piece in pieces:
        header, footer = _surroundings(piece)
        lines += [*header, *piece.body, "ret", *footer, *piece.elsewhere]
        for number, symbol in enumerate([piece.name, *piece.symbols]):
            name = f".Lname_{piece.name}_{number}"
            rows = ['.section .rodata.names,"a"', f'{name}: .asciz "{piece.name} {number}"']
            rows += ['.section entries,"aw"', f".quad {symbol}, {name}, {piece.mask}, {int(piece.faults)}"]
            if apart and symbol.isidentifier():
                lines.append(f".globl {symbol}")
                calls_apart += rows
                piece.count("entries_apart")
            else:
                calls += rows
    stack = '.section .note.GNU-stack,"",@progbits'
    others = {"entries.s": "\n".join([*calls_apart, stack, ""])} if apart else {}
    constructs = frozenset[str]().union(*(piece.constructs for piece in pieces))
    return Written("\n".join([*lines, *calls, stack, ""]), constructs, others)


def _drawn_segments(draw: Draw, with_avx2: bool, memory: MemoryOrder) -> list[Segment]:
    """The kinds of segments of a program: some of them, because one kind may make a reader refuse a whole file."""
    usual = [
        *entering.SEGMENTS,
        *(naming.WITHOUT_SIGNALS if memory == "single_thread" else naming.SEGMENTS),
        *surrounding.SEGMENTS,
    ]
    usual += [surrounding.wide] * with_avx2
    usual += naming.PRECISE if memory == "precise" else ()
    segments = [usual[draw.number(0, len(usual))] for _ in range(draw.number(4, 9))]
    rare = [segment for segment, probability in RARE.items() if draw.chance(probability)]
    return [*segments, *rare]


def _function(piece: Piece, segments: Sequence[Segment]) -> Piece:
    draw = piece.draw
    if entering.alias in segments and draw.chance(0.4):  # an alias behind the first instructions of the function
        entering.alias(piece)
    for _ in range(draw.number(1, 4)):
        segments[draw.number(0, len(segments))](piece)
    return piece


def _surroundings(piece: Piece) -> tuple[list[str], list[str]]:
    """The lines before and behind the body: its section, its symbol, its unwinding."""
    draw, name = piece.draw, piece.name
    kind = draw.pick(
        "text", "text", "text", "function_section", "group", "subsection", "own_section", "writable", "weak"
    )
    sections = {
        "function_section": f'.section .text.{name},"ax",@progbits',
        "group": f'.section .text.{name},"axG",@progbits,{name},comdat',
        "subsection": f".text {draw.number(1, 4)}",
        "own_section": f'.section generated_{draw.number(0, 3)},"ax",@progbits',
        "writable": '.section .wtext,"awx",@progbits',
    }
    piece.count(f"in_{kind}")
    header = [sections.get(kind, ".text")]
    if kind in ("group", "weak"):
        header.append(f".weak {name}")
    elif draw.chance(0.6):
        header.append(f".globl {name}")
    if draw.chance(0.7):
        header.append(".p2align 4")
    if draw.chance(0.1):
        piece.count("no_type")
    else:
        header.append(f".type {name}, @function")
    header.append(f"{name}:")
    footer = []
    if draw.chance(0.95):
        header.append(".cfi_startproc")
        footer.append(".cfi_endproc")
    else:
        piece.count("no_unwinding")
        piece.body = [line for line in piece.body if not line.startswith(".cfi")]
    if draw.chance(0.5):
        header.append("endbr64")
    if draw.chance(0.9):
        footer.append(f".size {name}, .-{name}")
    else:
        piece.count("no_size")
    return header, footer
