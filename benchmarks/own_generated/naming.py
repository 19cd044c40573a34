"""Segments with instructions that data name: faults, patches, probes, alternatives, jump labels, maps of the stack."""

from __future__ import annotations

from benchmarks.own_generated.piece import Piece, of_length, some_length
from benchmarks.own_generated.straight import CELLS, GENERAL, SCRATCH

_FIVE_BYTES = ".byte 0x0f,0x1f,0x44,0x00,0x00"  # nopl 0(%rax,%rax), as Linux writes it


def fixup(piece: Piece) -> None:
    """An access to rsi that may fault; a table of pairs says where to go on."""
    draw, place, fix, behind = piece.draw, piece.label(), piece.label(), piece.label()
    piece.faults = max(piece.faults, 1)
    piece.fill(1, 5)
    register = draw.register(4)
    instructions = {
        "load": [f"movl (%rsi), {register}", f"addl 16(%rsi), {register}", f"xorq 8(%rsi), {draw.register()}"],
        "store": [f"movl {register}, (%rsi)", "movq $77, 24(%rsi)", f"addl {register}, 4(%rsi)"],
        "locked": [f"lock addl {register}, (%rsi)", f"lock xaddl {register}, 8(%rsi)", f"xchgl {register}, (%rsi)"],
        "vector": ["movdqu (%rsi), %xmm3", "movsd %xmm2, 8(%rsi)", "cvtsi2sdl (%rsi), %xmm4"],
        "short": ["movl (%rsi), %eax"],
    }
    kind = draw.pick(*instructions)
    piece.count(f"fixup_{kind}")
    instruction = draw.pick(*instructions[kind])
    if kind == "short":
        piece.add(instruction, f"{place}:")
        place = f"{place}-2"
    else:
        piece.add(f"{place}:", instruction)
    if draw.chance(0.5):
        piece.row("exceptions", ".p2align 3", f".quad {place}, {fix}")
    else:
        piece.count("fixup_relative")
        piece.row("exceptions_rel", ".p2align 2", f".long {place} - ., {fix} - .")
    piece.fill(2, 7)
    if draw.chance(0.5):
        piece.count("fixup_section")
        piece.elsewhere.append('.section .fixup,"ax"')
        piece.elsewhere += [f"{fix}:", f"movl $-14, {draw.register(4)}", of_length(draw, 4), f"jmp {behind}"]
        piece.add(f"{behind}:")
    else:
        piece.add(f"jmp {behind}", f"{fix}:", f"movl $-14, {draw.register(4)}", of_length(draw, 4), f"{behind}:")
    piece.fill()


def unnamed(piece: Piece) -> None:
    """An access to rsi that may fault, of which no table knows: the handler sees memory, and jumps out."""
    piece.count("fault_unnamed")
    piece.faults = 2
    piece.fill(2, 7)
    register = piece.draw.register()
    piece.add(piece.draw.pick(f"addq 8(%rsi), {register}", f"movq {register}, 16(%rsi)", "movdqu (%rsi), %xmm5"))
    piece.fill(2, 7)


def trap(piece: Piece) -> None:
    """A division by zero, of which no table knows: only a precise order shows the handler the stores before it."""
    piece.count("fault_division")
    piece.faults = 2
    piece.fill(2, 6)
    piece.add("movl 8(%rdi), %ecx", "andl $1, %ecx")
    piece.fill(1, 5, without=("rcx",))
    piece.add("xorl %edx, %edx", "divl %ecx")
    piece.fill(2, 7)


def divided(piece: Piece) -> None:
    """A division that may divide by zero; a table says where to go on."""
    place, fix, behind = piece.label(), piece.label(), piece.label()
    piece.count("fixup_division")
    piece.fill(1, 4)
    piece.add("movl 8(%rdi), %ecx", "andl $3, %ecx", "xorl %edx, %edx")
    piece.fill(1, 4, without=("rax", "rdx", "rcx"))
    piece.add(f"{place}:", "divl %ecx")
    piece.row("exceptions", ".p2align 3", f".quad {place}, {fix}")
    piece.fill(2, 6)
    piece.add(f"jmp {behind}", f"{fix}:", "movl $-33, %eax", f"{behind}:")
    piece.fill()


def patch(piece: Piece) -> None:
    """An immediate or a displacement that is written before the code runs."""
    draw, place, field = piece.draw, piece.label(), f"{piece.name}_field{piece.number}"
    kind = draw.pick("imm32", "imm8", "imm64", "displacement")
    size = 1 if kind == "imm8" else 4
    value = draw.number(1, 1 << 30)
    line, back = {
        "imm32": (of_length(draw, 5), 4),
        "imm8": (f"{draw.pick('addq', 'xorq', 'rolq')} ${draw.number(2, 60)}, {draw.register()}", 1),
        "imm64": (of_length(draw, 10), 8),
        "displacement": (f"{draw.pick('movq', 'addq')} {8 * draw.number(16, CELLS)}(%rdi), {draw.register()}", 4),
    }[kind]
    value = 8 * draw.number(0, CELLS) if kind == "displacement" else value & 31 | 2 if kind == "imm8" else value
    piece.count(f"patch_{kind}")
    piece.fill(1, 5)
    way = draw.pick("dot", "behind", "global")
    piece.count(f"patch_by_{way}")
    if way == "behind":
        piece.add(line, f"{place}:")
        field = f"{place}-{back}"
    else:
        piece.add(line, *([f".globl {field}"] if way == "global" else []), f".set {field}, . - {back}")
    piece.row("patches", ".p2align 3", f".quad {field}", f".long {value}, {size}")
    piece.fill(2, 7)


def kprobe(piece: Piece) -> None:
    """An instruction whose bytes a list of addresses names."""
    place = piece.label()
    line, length = some_length(piece.draw)
    piece.count("kprobe")
    piece.fill(1, 6)
    piece.add(f"{place}:", line)
    piece.row("kprobes", ".p2align 3", f".quad {place}, {length}")
    piece.fill(2, 7)


def usdt(piece: Piece) -> None:
    """A probe as systemtap's: a nop, and a note that says where its arguments are."""
    draw, place = piece.draw, piece.label()
    arguments = [
        f"8@%{draw.pick(*SCRATCH)}",
        f"-8@{8 * draw.number(0, CELLS)}(%rdi)",
        f"-4@${draw.number(-9, 99)}",
        f"8@%{draw.pick(*SCRATCH)}",
    ]
    piece.count("usdt")
    piece.fill(2, 7)
    piece.add(f"{place}:", "nop")
    piece.add('.pushsection .note.stapsdt,"?","note"', ".balign 4", ".4byte 992f-991f, 994f-993f, 3", "991:")
    piece.add('.asciz "stapsdt"', "992:", ".balign 4", f"993: .8byte {place}", ".8byte 0", ".8byte 0")
    piece.add('.asciz "generated"', f'.asciz "{piece.name}"', f'.asciz "{" ".join(arguments)}"', "994:", ".balign 4")
    piece.add(".popsection")
    piece.fill(2, 7)


def alternative(piece: Piece) -> None:
    """Instructions that other ones replace if a feature is there."""
    draw, begin, end, new, last = (piece.draw, *(piece.label() for _ in range(4)))
    lengths = [some_length(draw) for _ in range(draw.number(1, 3))]
    replacement = of_length(draw, 2)
    used = draw.number(0, 2)
    piece.count("alternative_used" if used else "alternative_unused")
    piece.fill(1, 6)
    piece.add(f"{begin}:", *(line for line, _ in lengths), f"{end}:")
    rows = [f".long {begin} - ., {new} - .", f".short {used}", f".byte {end}-{begin}, {last}-{new}"]
    piece.row("alternatives", ".p2align 2", *rows)
    piece.elsewhere += ['.section .altinstr_replacement,"ax"', f"{new}:", replacement, f"{last}:"]
    piece.fill(2, 7)


def jump_label(piece: Piece) -> None:
    """A nop that becomes a jump if a key is on."""
    draw, place, target, behind = piece.draw, piece.label(), piece.label(), piece.label()
    key = draw.number(0, 2)
    piece.count("jump_label_on" if key else "jump_label_off")
    piece.fill(1, 6)
    piece.add(f"{place}:", draw.pick(_FIVE_BYTES, "nopl 8(%rax,%rax)"))
    piece.row("jump_labels", ".p2align 3", f".long {place} - ., {target} - .", f".quad {key}")
    piece.fill(2, 7)
    if draw.chance(0.5):
        piece.add(f"jmp {behind}", f"{target}:", of_length(draw, 4), of_length(draw, 5), f"{behind}:")
    else:  # the jump leads into straight code
        piece.add(f"{target}:")
    piece.fill(3, 8)


def stack_map(piece: Piece) -> None:
    """A call at which a map names registers and a slot of the frame that are live."""
    draw, place = piece.draw, piece.label()
    mask = sum(1 << GENERAL.index(register) for register in SCRATCH if draw.chance(0.6))
    piece.count("stack_map")
    piece.fill(1, 4)
    piece.add("subq $24, %rsp", ".cfi_adjust_cfa_offset 24", f"movq {draw.register()}, 8(%rsp)")
    piece.fill(1, 5)
    piece.add("call safepoint", f"{place}:")
    piece.row("stack_maps", ".p2align 3", f".quad {place}, {mask}, 2")
    piece.fill(1, 5)
    piece.add(f"addq 8(%rsp), {draw.register()}", "addq $24, %rsp", ".cfi_adjust_cfa_offset -24")
    piece.fill()


def bug(piece: Piece) -> None:
    """ud2, which a table names with a line: the handler sees registers and memory, and goes on behind it."""
    place = piece.label()
    piece.count("bug_table")
    piece.fill(2, 8)
    piece.add(f"{place}:", "ud2")
    piece.row("bugs", ".p2align 2", f".long {place} - ., {piece.draw.number(1, 1000)}")
    piece.fill(2, 8)


def length(piece: Piece) -> None:
    """The assembler's difference of two labels inside of code, as data and as an immediate."""
    begin, end, draw = piece.label(), piece.label(), piece.draw
    piece.count("length_as_data", "length_as_immediate")
    piece.fill(1, 5)
    piece.add(f"{begin}:")
    piece.fill(2, 6)
    piece.add(f"{end}:")
    piece.fill(1, 4)
    piece.add(f"movl ${end}-{begin}, {draw.register(4)}")
    piece.row("lengths", ".p2align 3", f".quad {end}-{begin}")
    piece.fill()


def counted_range(piece: Piece) -> None:
    """Two places between which data count bytes, as restartable sequences are bounded."""
    begin, end = piece.label(), piece.label()
    piece.count("range")
    piece.fill(2, 6)
    piece.add(f"{begin}:")
    piece.fill(3, 8)
    piece.add(f"{end}:")
    piece.row("ranges", ".p2align 3", f".quad {begin}, {end}-{begin}")
    piece.fill(2, 6)


SEGMENTS = (
    *(fixup, fixup, fixup, unnamed, divided, patch, patch, kprobe, kprobe, usdt, stack_map, bug, length, counted_range),
)
WITHOUT_SIGNALS = (patch, kprobe, length, counted_range)
PRECISE = (trap, trap, unnamed, unnamed)  # besides, if what a handler sees is to be exact
