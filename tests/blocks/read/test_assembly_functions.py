"""What is certain of the frames of an assembly file's functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from learned_schedulers.blocks.dag.memory_order import Mark, MemoryOrder
from learned_schedulers.blocks.order.legality import compare
from tests.blocks.read.assembled import compiled, document, needs_as, needs_gcc

pytestmark = needs_as
CLOSED, SLOT = int(Mark.CLOSED), int(Mark.CLOSED | Mark.PRIVATE)
BODY = "\tmovl %edi, 4(%rsp)\n\tmovl (%rsi), %eax\n"


def function(body: str, end: str = "\taddq $24, %rsp\n\tret\n") -> str:
    return f"\t.text\n\t.type f, @function\nf:\n\tsubq $24, %rsp\n.L9:\n\tjne .L9\n{body}{end}\t.size f, .-f\n"


def marks(text: str) -> list[int]:
    """Marks of the block that contains BODY."""
    (block,) = (b for b in document(text).blocks if bytes.fromhex("897c24048b06") in b.code)
    return list(block.marks)[:2]


def test_slots_of_a_closed_frame() -> None:
    assert marks(function(BODY)) == [SLOT, CLOSED]


def test_a_function_by_its_frame_directives() -> None:
    head = "f:\n\t.cfi_startproc\n\tsubq $24, %rsp\n\t.cfi_def_cfa_offset 32\n"
    text = f"{head}{BODY}\tjmp .L1\n.L1:\n\tret\n\t.cfi_endproc\n"
    assert marks(text) == [SLOT, CLOSED]


def test_without_a_function_nothing_is_certain() -> None:
    assert marks(f"f:\n\tsubq $24, %rsp\n\tjmp .L1\n.L1:\n{BODY}\tret\n") == [0, 0]


@pytest.mark.parametrize(
    "end",
    [
        "\taddq $24, %rsp\n\tjmp g\n",  # a function of another file
        "\taddq $24, %rsp\n\tjmp g@PLT\n",
        "\tcall g\n",  # it does not return
        "\tjmp *%rax\n",
        "\tud2\n",
    ],
)
def test_ends_of_functions(end: str) -> None:
    assert marks(function(BODY, end)) == [SLOT, CLOSED]


@pytest.mark.parametrize(
    "body",
    [
        "\tleaq 4(%rsp), %rdi\n",  # the frame escapes
        "\tjne .Lelsewhere\n",
        "\tjne f.cold\n",
        "#APP\n\tnop\n#NO_APP\n",
        "\tnop; nop\n",
        "\t.byte 0x90\n",
        "\tlock\n\taddl %eax, (%rcx)\n",
        "\tcall .L9\n",
    ],
)
def test_nothing_is_certain_of_other_functions(body: str) -> None:
    elsewhere = "\t.section .text.unlikely\n.Lelsewhere:\nf.cold:\n\tret\n"
    assert marks(function(f"{body}\tjmp .L2\n.L2:\n{BODY}") + elsewhere) == [0, 0]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "\tjmp .L9\n"),
        ("", "\tcall .L9\n"),
        ("", "\tjmp 1b; nop\n"),
        ("\tmovl %eax, %ebx\n", ""),  # falls into the function
        ("", '\t.section .other, "ax"\n\tjmp .L9\n'),
        ("", "\tnop; jmp .L9\n"),
        ("", "\t.globl h\n\t.set h, f + 4\n"),
        ("", "\t.section .rodata\n\t.quad .L9\n"),
    ],
)
def test_code_that_enters_the_middle(before: str, after: str) -> None:
    inside = function(f"1:\n{BODY}")
    assert marks(inside) == [SLOT, CLOSED]
    assert marks(f"\t.text\n{before}{inside}{after}") == [0, 0]


def test_a_cold_part_and_its_function() -> None:
    text = (
        "f:\n\t.cfi_startproc\n\tsubq $24, %rsp\n\tje .L3\n" + BODY + "\taddq $24, %rsp\n\tret\n\t.cfi_endproc\n"
        "\t.section .text.unlikely\n\t.cfi_startproc\nf.cold:\n.L3:\n\tmovl %edi, 8(%rsp)\n\tmovl (%rsi), %ecx\n"
        "\tcall abort\n\t.cfi_endproc\n"
    )
    assert all(not any(block.marks) for block in document(text).blocks)


def test_data_of_another_section_does_not_matter() -> None:
    table = "\tjmp *.L5(,%rcx,4)\n\t.section .rodata\n.L5:\n\t.long .L6-.L5\n\t.text\n\t.p2align 4\n.L6:\n"
    assert marks(function(table + BODY)) == [SLOT, CLOSED]


@pytest.mark.parametrize(
    ("call", "elsewhere"),
    [
        *((f"\tcall {name}\n", "") for name in ("setjmp", "_setjmp@PLT", "__sigsetjmp@PLT", "savectx", "getcontext")),
        *((f"\tcall {name}\n", "") for name in ("vfork@plt", "__vfork", "png_setjmp@PLT")),
        ("\tcall *_setjmp@GOTPCREL(%rip)\n", ""),
        ("\tleaq vfork(%rip), %rax\n\tcall *%rax\n", ""),
        ("\tcall save\n", "\t.set save, _setjmp\n"),
        ("\tcall save\n", "\t.weakref save, __sigsetjmp\n"),
        ("\tcall save\n", "save:\n\tmovl $1, %esi\n\tjmp __sigsetjmp@PLT\n"),
        ("\tcall save\n", "\tret\nsave: jmp save2\nsave2: jmp *_setjmp@GOTPCREL(%rip)\n"),
        ("\tcall *save(%rip)\n", "\t.data\nsave:\n\t.quad _setjmp\n"),
        ("\tcall save@PLT\n.LVL7:\n\tendbr64\n", ""),  # declared as one that returns twice
    ],
)
def test_a_frame_to_which_a_call_returns_twice_is_open(call: str, elsewhere: str) -> None:
    """Whoever goes back there by `longjmp` finds the slots as they are at that moment."""
    text = function(f"{call}\tjmp .L2\n.L2:\n{BODY}")
    assert marks(text + elsewhere) == [0, 0]
    for name in ("setjmp", "savectx", "getcontext", "vfork", "endbr64"):
        text, elsewhere = (part.replace(name, "nop" if name == "endbr64" else "longjmp") for part in (text, elsewhere))
    assert marks(text + elsewhere) == [SLOT, CLOSED]


@needs_gcc
def test_an_attribute_that_says_so(tmp_path: Path) -> None:
    source = tmp_path / "f.c"
    lines = "volatile long x = a, y = 0; if (!save()) { y = a; x = 7; y = 9; } return x + y;"
    for attribute, is_open in (("__attribute__((returns_twice))", True), ("", False)):
        source.write_text(f"int save(void) {attribute}; long f(long a) {{ {lines} }}")
        file = document(compiled(source, "-O2", "-fcf-protection").decode())
        assert [any(mark & Mark.CLOSED for mark in block.marks) for block in file.blocks] == [not is_open] * 3


@pytest.mark.parametrize("memory", ["tso", "precise"])
@pytest.mark.parametrize(("callee", "kind"), [("__sigsetjmp@PLT", "illegal"), ("prepare@PLT", "legal")])
def test_stores_whose_order_a_second_return_shows(memory: MemoryOrder, callee: str, kind: str) -> None:
    """A progress record of volatile locals: `36(%rsp)` says up to where the sum in `40(%rsp)` is valid."""
    stores = "\tmovq %rdi, 40(%rsp)\n", "\tmovl %edx, 36(%rsp)\n"
    text = function(f"\tcall {callee}\n.L5:\n{stores[0]}{stores[1]}\tjne .L5\n")
    after = text.replace("".join(stores), "".join(stores[::-1]))
    assert [difference.kind for difference in compare(document(text), document(after), memory)] == [kind]
