"""What is certain of the frames of an assembly file's functions."""

from __future__ import annotations

import pytest

from learned_schedulers.blocks.dag.memory_order import Mark
from tests.blocks.read.assembled import document, needs_as

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
        ("", "\t.data\n\t.quad .L9\n"),
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
