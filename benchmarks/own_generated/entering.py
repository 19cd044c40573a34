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


def return_address(piece: Piece) -> None:
    """A called piece of code that goes on elsewhere than its caller does: behind instructions, or behind data."""
    draw, callee, behind = piece.without("r11"), piece.label(), piece.label()
    kind = draw.pick("added", "popped", "pushed", "argument", "stored")
    skipped = [some_length(draw) for _ in range(draw.number(1, 4))]
    offset = sum(length for _, length in skipped)
    piece.count(f"return_{kind}")
    piece.fill(1, 4)
    piece.add(f"call {callee}")
    if kind == "argument":
        piece.add(f".long {draw.number(1, 1 << 30)}")
    else:
        piece.add(*(line for line, _ in skipped))
    piece.fill(2, 6, without=("r11",))
    piece.add(f"jmp {behind}", f"{callee}:")
    if kind == "added":
        piece.add(f"addq ${offset}, (%rsp)", of_length(draw, 4), "ret")
    elif kind == "popped":
        piece.add("popq %r11", of_length(draw, 4), f"leaq {offset}(%r11), %r11", "jmp *%r11")
    elif kind == "pushed":
        piece.add("popq %r11", f"addq ${offset}, %r11", of_length(draw, 4), "pushq %r11", "ret")
    elif kind == "stored":
        piece.add("movq (%rsp), %r11", f"addq ${offset}, %r11", of_length(draw, 4), "movq %r11, (%rsp)", "ret")
    else:
        piece.add("popq %r11", "movl (%r11), %eax", "addq $4, %r11", of_length(draw, 4), "jmp *%r11")
    piece.add(f"{behind}:")
    piece.clear("r11")
    piece.fill()


def jump_by_memory(piece: Piece) -> None:
    """A jump or return by a word of the stack that code computes there, or to a place that a condition chooses."""
    draw, steps = piece.without("r10", "r11"), piece.label()
    kind = draw.pick("added", "resumed", "chosen", "compressed")
    piece.count(f"memory_jump_{kind}")
    run = [of_length(draw, 4) for _ in range(8)]
    if kind == "chosen":
        piece.add(f"leaq {steps}(%rip), %r11", f"leaq {steps}+8(%rip), %r10", "testb $1, 8(%rdi)", "cmovneq %r10, %r11")
        piece.fill(0, 3, without=("r10", "r11"))
        piece.add("jmp *%r11")
    elif kind == "compressed":
        table = piece.label()
        piece.add("andl $3, %ecx", f"leaq {table}(%rip), %r11", "movzbl (%r11,%rcx), %r10d")
        piece.add(f"leaq {steps}(%rip), %r11", "leaq (%r11,%r10,4), %r11", "jmp *%r11")
        piece.elsewhere += ['.section .rodata,"a"', f"{table}: .byte 0, 3, 5, 6"]
    else:
        piece.add("andl $7, %ecx", f"leaq {steps}(%rip), %r11", "movq %r11, -16(%rsp)", "xorl %r11d, %r11d")
        piece.fill(0, 3, without=("rcx",))
        piece.add(*(["shll $2, %ecx", "addq %rcx, -16(%rsp)"] if kind == "added" else []), "jmp *-16(%rsp)")
    piece.add(f"{steps}:", *run)
    piece.clear("r10", "r11")
    piece.fill()


def own_code(piece: Piece) -> None:
    """Code that writes an immediate of its own, jumps over a prefix, or into the middle of an instruction."""
    draw, place = piece.draw, piece.label()
    kind = draw.pick("patches_itself", "over_prefix", "into_instruction")
    piece.count(f"code_{kind}")
    piece.fill(1, 4)
    if kind == "patches_itself":
        piece.add(f"movl ${draw.number(1, 1 << 30)}, {place}+1(%rip)")
        piece.fill(1, 4)
        piece.add(f"jmp {place}", f"{place}:", f"movl $5, %{draw.pick('eax', 'ecx')}")
    elif kind == "over_prefix":
        piece.add("testb $1, 8(%rdi)", f"je {place}", "lock", f"{place}: addq %rax, 16(%rdi)")
    else:
        piece.add("testb $1, 8(%rdi)", f"jne {place}+1", f"{place}:", "movl $0x90c0ff48, %ecx")  # incq %rax; nop
    piece.fill(2, 7)


SEGMENTS = (
    *(alias, alias, code_with_offset, computed_jump, computed_jump, jump_table, code_as_data, rip_number, retpoline),
    *(return_address, jump_by_memory, own_code),
)
