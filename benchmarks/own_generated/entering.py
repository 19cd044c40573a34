"""Segments into which control arrives without a label: aliases, symbols with an offset, computed jumps, tables."""

from __future__ import annotations

from benchmarks.own_generated.piece import Piece, of_length, some_length
from benchmarks.own_generated.straight import part

_STEPS = 8  # of a run of instructions of equal length


def alias(piece: Piece) -> None:
    """A second name of a place behind the first instructions of a block, which is called."""
    draw, start, name = piece.draw, piece.label(), f"{piece.name}_alias{piece.number}"
    kind = draw.pick("set", "equals", "dot", "chain", "equ", "table", "plain_dot")
    skipped = [some_length(draw) for _ in range(draw.number(1, 4))]
    offset = sum(length for _, length in skipped)
    if kind == "plain_dot":
        piece.add(*(line for line, _ in skipped), f"{name} = .")
    else:
        piece.add(f"{start}:", *(line for line, _ in skipped))
    if kind == "set":
        piece.elsewhere.append(f".set {name}, {start}+{offset}")
    elif kind == "equals":
        piece.elsewhere.append(f"{name} = {start} + {offset}")
    elif kind == "equ":
        piece.elsewhere += [f".globl {name}", f".equ {name}, {start}+{offset - 1}+1"]
    elif kind == "chain":
        piece.elsewhere += [f".set {name}_first, {start}+{skipped[0][1]}"]
        piece.elsewhere += [f".set {name}, {name}_first+{offset - skipped[0][1]}"]
    elif kind == "dot":
        line, length = some_length(draw)
        piece.add(line, f".set {name}, . - {length}")
    piece.count(f"alias_{kind}")
    piece.symbols.append(f"{start}+{offset}" if kind == "table" else name)
    piece.fill(3, 9)


def code_with_offset(piece: Piece) -> None:
    """Code that names a place by a symbol and an offset: a call, a jump, lea; or a jump relative to itself."""
    draw = piece.without("r11")
    kind = draw.pick("jump", "lea_jump", "call", "dot", "condition")
    skipped = [some_length(draw) for _ in range(draw.number(1, 4))]
    offset, lines = sum(length for _, length in skipped), [line for line, _ in skipped]
    piece.count(f"offset_{kind}")
    if kind == "dot":
        piece.add(f"jmp .+{2 + offset}", *lines)
    elif kind == "condition":
        piece.add("testb $1, 8(%rdi)", f"jne . + {2 + offset}", *lines)
    elif kind == "jump":
        start = piece.label()
        piece.add(f"jmp {start}+{offset}", f"{start}:", *lines)
    elif kind == "lea_jump":
        start = piece.label()
        piece.add(f"leaq {start}+{offset}(%rip), %r11")
        piece.fill(1, 4, without=("r11",))
        piece.add("jmp *%r11", f"{start}:", *lines)
        piece.clear("r11")
    else:
        start, behind = piece.label(), piece.label()
        piece.add(f"call {start}+{offset}", f"jmp {behind}", f"{start}:", *lines)
        piece.fill(2, 6)
        piece.add("ret", f"{behind}:")
    piece.fill()


def computed_jump(piece: Piece) -> None:
    """A jump to base + 4 * k into a run of instructions of four bytes."""
    draw, steps = piece.without("r11"), piece.label()
    kind = draw.pick("label", "near_label", "no_label", "thunk", "ret", "call", "notrack", "scaled")
    run = [of_length(draw, 4) for _ in range(_STEPS)]
    index = draw.pick("rcx", "rdx", "rax")
    piece.count(f"computed_{kind}")
    piece.add(f"andl ${_STEPS - 1}, %{part(index, 4)}")
    piece.fill(0, 3, without=(index,))
    step = f"leaq (%r11,%{index},4), %r11"
    jump = "jmp *%r11"
    if kind == "near_label":
        piece.add(f"leaq {steps}-8(%rip), %r11", f"leaq 8(%r11,%{index},4), %r11")
    elif kind == "no_label":
        piece.add("leaq 7(%rip), %r11", step)  # the two instructions behind it have seven bytes
    elif kind == "thunk":
        after = piece.label()
        piece.add(f"call {after}", f"{after}:", "popq %r11", f"leaq {steps}-{after}(%r11,%{index},4), %r11")
    elif kind == "scaled":
        piece.add(f"leaq {steps}(%rip), %r11", f"shll $2, %{part(index, 4)}", f"addq %{index}, %r11")
    else:
        piece.add(f"leaq {steps}(%rip), %r11", step)
    if kind == "call":
        behind = piece.label()
        piece.add("call *%r11", f"jmp {behind}", f"{steps}:", *run)
        piece.fill(1, 4, without=("r11",))
        piece.add("ret", f"{behind}:")
    else:
        jump = "notrack jmp *%r11" if kind == "notrack" else jump
        piece.add(*(["pushq %r11", "ret"] if kind == "ret" else [jump]))
        piece.add(*([] if kind == "no_label" else [f"{steps}:"]), *run)
    piece.clear("r11")
    piece.fill()


def jump_table(piece: Piece) -> None:
    """A table of differences or addresses of places, some of them with an offset; in another section or in the code."""
    draw, table, end = piece.without("r10", "r11"), piece.label(), piece.label()
    kind = draw.pick("differences", "addresses", "differences_offset", "addresses_offset", "in_code")
    piece.count(f"table_{kind}")
    piece.add("andl $3, %ecx", f"leaq {table}(%rip), %r11")
    if kind.startswith("addresses"):
        piece.add("jmp *(%r11,%rcx,8)")
    else:
        piece.add("movslq (%r11,%rcx,4), %r10", "addq %r11, %r10", "jmp *%r10")
    places: list[str] = []
    lines: list[str] = []
    for _ in range(4):
        start = piece.label()
        skipped, length = some_length(draw)
        lines.append(f"{start}:")
        if kind.endswith("offset") and draw.chance(0.6):
            places.append(f"{start}+{length}")
        else:
            places.append(start)
        lines.append(skipped)
        lines += [of_length(draw, 4) for _ in range(draw.number(2, 5))]
        if draw.chance(0.6):
            lines.append(f"jmp {end}")
    rows = [f".quad {place}" for place in places]
    if not kind.startswith("addresses"):
        rows = [f".long {place} - {table}" for place in places]
    if kind == "in_code":
        piece.add(f"{table}:", *rows)
    else:
        section = '.section .data.rel.ro,"aw"' if kind.startswith("addresses") else '.section .rodata,"a"'
        piece.elsewhere += [section, ".p2align 3", f"{table}:", *rows]
    piece.add(*lines, f"{end}:")
    piece.clear("r10", "r11")
    piece.fill()


def code_as_data(piece: Piece) -> None:
    """Code that reads an immediate of another instruction, or bytes of an instruction that it names."""
    draw, start = piece.draw, piece.label()
    piece.count("code_as_data")
    piece.fill(1, 4)
    piece.add(f"{start}:", f"movl ${draw.number(1, 1 << 30)}, %{draw.pick('eax', 'ecx')}")
    piece.fill(2, 6)
    piece.add(draw.pick(f"movl {start}+1(%rip), %edx", f"addl {start}+1(%rip), %r8d", f"movzbl {start}(%rip), %r9d"))
    piece.fill()


def rip_number(piece: Piece) -> None:
    """An operand relative to rip that is a number: it reads the constant behind the next jump."""
    draw, behind = piece.draw, piece.label()
    line, length = some_length(draw)
    piece.count("rip_number")
    piece.fill(1, 4)
    piece.add(f"movl {length + 2}(%rip), %r8d", line, f"jmp {behind}", f".long {draw.number(1, 1 << 30)}", f"{behind}:")
    piece.fill()


def retpoline(piece: Piece) -> None:
    """An indirect jump by a return."""
    target, trap, body = piece.label(), piece.label(), piece.label()
    piece.count("retpoline")
    piece.add(f"leaq {target}(%rip), %r11", f"call {body}", f"{trap}:", "pause", "lfence", f"jmp {trap}")
    piece.add(f"{body}:", "movq %r11, (%rsp)", "ret", f"{target}:")
    piece.clear("r11")
    piece.fill()


SEGMENTS = (
    alias,
    alias,
    code_with_offset,
    computed_jump,
    computed_jump,
    jump_table,
    code_as_data,
    rip_number,
    retpoline,
)
