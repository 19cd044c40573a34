"""Segments of what surrounds instructions: directives, sections, macros, regions, frames, states of the machine."""

from __future__ import annotations

from benchmarks.own_generated.piece import Piece, of_length
from benchmarks.own_generated.straight import CELLS, Draw, part, straight

REGIONS = {  # the marks of tools that analyse a region of code
    "llvm_mca": (["# LLVM-MCA-BEGIN"], ["# LLVM-MCA-END"]),
    "osaca": (["# OSACA-BEGIN"], ["# OSACA-END"]),
    "iaca": (["movl $111, %ebx", ".byte 100,103,144"], ["movl $222, %ebx", ".byte 100,103,144"]),
}


def loop(piece: Piece) -> None:
    """A loop with a numbered label."""
    counter = piece.draw.pick("rcx", "r9", "rbx")
    piece.count("numbered_label")
    piece.add(f"movq ${piece.draw.number(1, 6)}, %{counter}")
    piece.add(f"{piece.draw.number(1, 8)}:")
    number = piece.body[-1][:-1]
    piece.fill(3, 9, without=(counter,))
    piece.add(f"decq %{counter}", f"jne {number}b")
    piece.fill()


def branch(piece: Piece) -> None:
    """A condition with two sides."""
    other, behind = piece.label(), piece.label()
    piece.count("branch")
    piece.fill(1, 4)
    piece.add(f"cmpq {piece.draw.register()}, {piece.draw.register()}")
    piece.add(f"{piece.draw.pick('jl', 'je', 'ja', 'js', 'jc')} {other}")
    piece.fill(2, 6)
    piece.add(f"jmp {behind}", f"{other}:")
    piece.fill(2, 6)
    piece.add(f"{behind}:")
    piece.fill()


def region(piece: Piece) -> None:
    """Code between the marks of a tool."""
    tool = piece.draw.pick("llvm_mca", "osaca", "osaca", "iaca")
    begin, end = REGIONS[tool]
    piece.count(f"region_{tool}")
    piece.fill(2, 6)
    piece.add(*begin)
    piece.fill(3, 8)
    piece.add(*end)
    piece.fill(2, 6)


def macro(piece: Piece) -> None:
    """A macro, a repetition, a condition of the assembler, several statements on a line, inline assembly."""
    draw = piece.draw
    kind = draw.pick("macro", "rept", "irp", "if", "several", "app", "comment", "ifdef", "set_number")
    piece.count(f"text_{kind}")
    piece.fill(2, 5)
    a, b = draw.register(), draw.register()
    place = piece.label()
    name = f"{piece.name}_macro{piece.number}"
    lines = {
        "macro": [
            f".macro {name} x, y",
            "addq \\x, \\y",
            "1: imulq \\y, \\x",
            "jc 2f",
            "2:",
            ".endm",
            f"{name} {a}, {b}",
        ],
        "rept": [".rept 3", f"addq {a}, {b}", f"rolq $3, {a}", ".endr"],
        "irp": [".irp r, rax, rcx, r8", f"addq %\\r, {a}", ".endr"],
        "if": [".if 1", f"addq {a}, {b}", ".else", f"subq {a}, {b}", ".endif"],
        "ifdef": [".ifdef nowhere", f"addq {a}, {b}", ".endif", f"xorq {a}, {b}"],
        "several": [f"addq {a}, {b}; imulq {b}, {a}", f"subq $3, {a} ; xorq {a}, {b} # a comment; addq %rax, %rax"],
        "app": ["#APP", f"addq {a}, {b}", f"imulq {b}, {a}", "#NO_APP"],
        "comment": [f"addq {a}, {b} # {place}:", f"/* imulq {a}, {b} */ subq {a}, {b}", "/* over", "two lines */"],
        "set_number": [f".set {name}_n, {draw.number(1, 99)}", f"addq ${name}_n, {a}", f"leaq {name}_n(%rax), {b}"],
    }
    piece.add(*lines[kind])
    piece.fill(2, 5)


def directive(piece: Piece) -> None:
    """A directive in the middle of straight code: alignment, other sections, data, a change of the subsection."""
    draw, begin, behind = piece.draw, piece.label(), piece.label()
    kind = draw.pick("align", "balign", "data_in_code", "string_in_code", "other_section", "subsection", "previous")
    piece.count(f"directive_{kind}")
    piece.fill(2, 6)
    if kind == "align":
        piece.add(f".p2align {draw.number(2, 5)}{draw.pick('', ',,7', ',0x90')}")
    elif kind == "balign":
        piece.add(f".balign {draw.pick('8', '16')}")
    elif kind == "data_in_code":
        piece.add(
            f"jmp {behind}", f"{begin}: .long {draw.number(0, 99)}, 2, 3", f"{behind}:", f"addl {begin}+4(%rip), %r8d"
        )
    elif kind == "string_in_code":
        piece.add(f"jmp {behind}", f'{begin}: .asciz "a string; # {draw.number(0, 99)}:"', f"{behind}:")
        piece.add(f"movzbl {begin}+1(%rip), %ecx")
    elif kind == "other_section":
        piece.add(
            '.section .rodata,"a"', f"{begin}: .quad {draw.number(0, 1 << 40)}", ".previous", f"xorq {begin}(%rip), %r9"
        )
    elif kind == "previous":
        piece.add(".pushsection .data", ".p2align 3", f"{begin}: .quad {draw.number(0, 99)}", ".popsection")
        piece.add(f"addq {begin}(%rip), %rax", f"movq {draw.register()}, {begin}(%rip)", f"movq $5, {begin}(%rip)")
    else:
        piece.add(f"jmp {begin}", ".subsection 9", f"{begin}:", of_length(draw, 5), of_length(draw, 4))
        piece.fill(1, 4)
        piece.add(f"jmp {behind}", ".previous", f"{behind}:")
    piece.fill()


def frame(piece: Piece) -> None:
    """A frame, pushes and pops, or the red zone."""
    draw = piece.draw
    kind = draw.pick("frame", "pushes", "red_zone", "rbp", "enter")
    piece.count(f"stack_{kind}")
    if kind == "red_zone":
        piece.fill(5, 12, red_zone=True)
    elif kind == "pushes":
        a, b = draw.register(), draw.register()
        piece.add(f"pushq {a}", ".cfi_adjust_cfa_offset 8", f"pushq {b}", ".cfi_adjust_cfa_offset 8")
        piece.fill(2, 6)
        piece.add(f"popq {a}", ".cfi_adjust_cfa_offset -8", f"popq {b}", ".cfi_adjust_cfa_offset -8")
    elif kind == "frame":
        piece.add("subq $72, %rsp", ".cfi_adjust_cfa_offset 72")
        slots = [8 * draw.number(0, 9) for _ in range(3)]
        for slot in slots:
            piece.add(f"movq {draw.register()}, {slot}(%rsp)")
            piece.fill(1, 3)
            piece.add(f"addq {slot}(%rsp), {draw.register()}")
        piece.add("addq $72, %rsp", ".cfi_adjust_cfa_offset -72")
    else:
        begin = ["enter $32, $0"] if kind == "enter" else ["pushq %rbp", "movq %rsp, %rbp", "subq $32, %rsp"]
        piece.add(*begin, f"movq {draw.register()}, -8(%rbp)")
        piece.fill(2, 6)
        piece.add(f"addq -8(%rbp), {draw.register()}", "movl $3, -12(%rbp)", "leave")
    piece.fill()


def machine(piece: Piece) -> None:
    """Prefixes, locks, string instructions, state of the processor, calls of the C library, variables of threads."""
    draw, cell = piece.draw, piece.draw.cell()
    piece.fill(1, 5)
    a, b, v, w = draw.register(), draw.register(), draw.vector(), draw.vector()
    saved = "pushq %rdi | .cfi_adjust_cfa_offset 8 | pushq %rsi | .cfi_adjust_cfa_offset 8"
    restored = "popq %rsi | .cfi_adjust_cfa_offset -8 | popq %rdi | .cfi_adjust_cfa_offset -8"
    aligned = "subq $8, %rsp | .cfi_adjust_cfa_offset 8"
    released = "addq $8, %rsp | .cfi_adjust_cfa_offset -8"
    source, target = f"leaq {8 * draw.number(0, 20)}(%rdi), %rsi", f"leaq {8 * draw.number(20, 40)}(%rdi), %rdi"
    after_call = " | ".join(f"xorl %{name}, %{name}" for name in ("ecx", "edx", "r8d", "r9d", "r10d", "r11d"))
    choices = {
        "lock": f"lock addq {a}, {cell} | lock xaddq {b}, {cell} | lock cmpxchgq %rcx, 64(%rdi)",
        "exchange": f"xchgq {a}, {cell} | xchgq {a}, {b}",
        "fence": f"movq {a}, {cell} | {draw.pick('mfence', 'sfence', 'lfence', 'pause')} | movq {cell}, {b}",
        "clock": "rdtsc | xorl %eax, %eax | xorl %edx, %edx",
        "rep": f"{saved} | {source} | {target} | movl ${draw.number(0, 9)}, %ecx | rep "
        f"{draw.pick('movsb', 'stosq', 'movsq')} | {restored}",
        "repne": f"{saved} | {target} | movl $20, %ecx | {draw.pick('repne', 'repe')} scasb | sete %r8b | {restored}",
        "string": f"{saved} | {source} | {target} | {draw.pick('lodsq', 'movsl', 'stosb', 'cmpsq')} | setb %al | "
        f"{restored}",
        "backwards": f"{saved} | {source} | {target} | std | movsq | stosq | cld | {restored}",
        "flags_word": f"addq {a}, {b} | pushfq | popq {a} | andl $0x8d5, %{part(a[1:], 4)}",
        "lahf": f"cmpq {a}, {b} | lahf | andl $0xd5ff, %eax",
        "x87": f"fildq {cell} | fildl 8(%rdi) | fsubrp | fchs | fistpq {draw.cell()} | fldpi | fstpl 16(%rdi)",
        "control_word": "fnstcw -8(%rsp) | movw -8(%rsp), %cx | orb $12, %ch | movw %cx, -6(%rsp) | fldcw -6(%rsp) | "
        "fldl2e | fistpl 24(%rdi) | fldcw -8(%rsp)",
        "rounding": f"movl $0x{draw.pick('5', '3', '7')}f80, -4(%rsp) | ldmxcsr -4(%rsp) | divsd {v}, {w} | "
        f"cvtsd2siq {w}, {a} | movl $0x1f80, -4(%rsp) | ldmxcsr -4(%rsp) | mulsd {v}, {w}",
        "exceptions_word": f"divsd {v}, {w} | stmxcsr -4(%rsp) | movl -4(%rsp), %ecx | andl $0x3f, %ecx",
        "division": "xorl %edx, %edx | movl 8(%rdi), %ecx | orl $1, %ecx | divl %ecx",
        "double_shift": f"shldq $5, {a}, {b} | shrdq $9, {b}, {a} | movl $7, %ecx | shlq %cl, {b}",
        "high_bytes": f"movb %ah, %cl | addb %ch, %dh | movb %dl, {cell} | movzbl %ah, %edx",
        "legacy_vector": f"pshufd $27, {v}, {w} | movhlps {w}, {v} | unpcklps {v}, {w} | movmskpd {w}, %r8d",
        "no_operation": "nop | nopw 0(%rax,%rax) | data16 nop | endbr64",
        "library": f"{saved} | {aligned} | movq {a}, %rdi | call {draw.pick('labs', 'ffsl')}@PLT | {released} | "
        f"{restored} | {after_call}",
        "global_offset": f"movq generated_cell@GOTPCREL(%rip), %r10 | addq (%r10), {a} | movq $9, (%r10) | "
        "movq $4, generated_cell(%rip) | xorl %r10d, %r10d",
        "thread_local": f"movq generated_own@gottpoff(%rip), %r10 | addq %fs:(%r10), {a} | movq {b}, %fs:(%r10) | "
        "movq $1, %fs:(%r10) | xorl %r10d, %r10d",
        "general_dynamic": f"{saved} | {aligned} | .byte 0x66 | leaq generated_own@tlsgd(%rip), %rdi | .value 0x6666 | "
        f"rex64 | call __tls_get_addr@PLT | movq (%rax), %rcx | movq $1, (%rax) | xorl %eax, %eax | {released} | "
        f"{restored} | {after_call}",
        "system_call": f"{saved} | pushq $0x0a2e | .cfi_adjust_cfa_offset 8 | movl $1, %eax | movl $1, %edi | "
        f"movq %rsp, %rsi | movl $2, %edx | syscall | popq %rcx | .cfi_adjust_cfa_offset -8 | {restored} | "
        "xorl %ecx, %ecx | xorl %r11d, %r11d",
    }  # a bar ends a line
    kind = draw.pick(*choices)
    piece.count(f"machine_{kind}")
    if kind in ("library", "general_dynamic"):
        piece.unobserved.add("vectors")
    piece.add(*choices[kind].split(" | "))
    piece.fill()


def wide(piece: Piece) -> None:
    """Vectors of 32 bytes, with and without vzeroupper."""
    draw = piece.draw
    piece.count("avx2")
    piece.fill(1, 4)
    for _ in range(draw.number(2, 6)):
        x, y, z = (draw.vector("y") for _ in range(3))
        place = f"{32 * draw.number(0, CELLS // 4)}(%rdi)"
        choices = (f"vpaddq {x}, {y}, {z}", f"vmovdqu {place}, {x}", f"vmovdqu {x}, {place}", f"vpermq $27, {x}, {y}")
        piece.add(choices[draw.number(0, len(choices))])
        piece.add(*straight(draw, 1))
    if draw.chance(0.7):
        piece.add("vzeroupper")
    piece.fill()


def plain(piece: Piece) -> None:
    """Long straight code alone."""
    piece.count("straight")
    piece.add(*straight(Draw(piece.draw.rng), piece.draw.number(8, 50)))


SEGMENTS = (loop, branch, macro, macro, directive, directive, frame, frame, machine, machine, machine, plain, plain)
