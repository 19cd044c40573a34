"""Places in code that a text names, whatever way it writes them; the assembler's own symbols are the oracle."""

from __future__ import annotations

import pytest

from learned_schedulers.blocks.read.assembler import object_of, parsed
from learned_schedulers.blocks.read.assembly_names import names
from learned_schedulers.blocks.read.statements import scan
from tests.blocks.read.assembled import document, needs_as

pytestmark = needs_as
HEAD = "\t.text\n\t.type f, @function\nf:\n"
BODY = "\tmovl %eax, %ebx\n" * 20 + "\tret\n\t.size f, .-f\n"  # of two bytes each
END = HEAD + BODY


def value(expression: str) -> int:
    """What the assembler makes of an expression."""
    content = parsed(object_of(f"{END}size = 8\n\t.globl result\n\t.set result, {expression}\n".encode()))
    (number,) = (int(content.symbols["value"][k]) for k in range(len(content.symbols)) if content.name(k) == "result")
    return number


@pytest.mark.parametrize(
    "expression",
    [
        "f + 8 - f", "8 + f - f", "f - f + 8", "(f + 8) - f", "8 - (f - f)", "f - (f - 8)", "f - (-8 + f)",
        "f + 010 - f", "f + 0x8 - f", "f + 0b1000 - f", "f + 4 + 4 - f", "f - -8 - f", "f + 2*4 - f", "f + (1<<3) - f",
        "f + 16/2 - f", "f + 'i' - 97 - f", "f + 8*!0 - f", "f + size - f",
    ],
)  # fmt: skip
def test_a_distance_names_the_place_that_the_assembler_means(expression: str) -> None:
    """A distance is a bare number in the object: only the text shows what it names."""
    assert value(expression) == 8
    blocks = document(f"{END}size = 8\n\t.data\n\t.quad {expression}\n").blocks
    if blocks:  # or the function is left alone, because only the assembler knows the place
        assert [block.place for block in blocks] == ["lines 4-6", "lines 9-23"]
    assert bool(blocks) != any(mark in expression for mark in ("*", "<<", "/", "'", "size"))


@pytest.mark.parametrize(
    "lines",
    [
        ".La: .Lsite:\n",
        ".Lsite: .p2align 0\n",
        '".Lsite":\n',
        "\t.if 1\n.Lsite:\n\t.endif\n",
        "\t.macro here\n.Lsite:\n\t.endm\n\there\n",
        "\t.rept 1\n.Lsite:\n\t.endr\n",
        "\t.set .La, .; .set .Lsite, .\n",
        "#APP\n.Lsite:\n#NO_APP\n",
        ".Lsite = .\n",
    ],
)
def test_a_label_on_a_line_that_is_not_understood(lines: str) -> None:
    half = "\tmovl %eax, %ebx\n" * 3
    text = f"{HEAD}{half}{lines}{half}\tret\n\t.size f, .-f\n\t.data\n\t.long .Lsite - f\n"
    codes = [block.code.hex() for block in document(text).blocks]
    assert codes == ([] if "=" in lines else ["89c3" * 2] * 2)


@pytest.mark.parametrize(
    "lines",
    [
        "\t.macro entry x\n\t.long .L\\x - f\n\t.endm\n\tentry site\n",
        "\t.irp x, site\n\t.long .L\\x - f\n\t.endr\n",
        "\t.altmacro\n\t.macro entry x\n\t.long .L&x - f\n\t.endm\n\tentry site\n",
    ],
)
def test_a_name_that_a_macro_makes_up(lines: str) -> None:
    half = "\tmovl %eax, %ebx\n" * 3
    text = f"{HEAD}{half}.Lsite:\n{half}\tret\n\t.size f, .-f\n\t.data\n{lines}"
    codes = [block.code.hex() for block in document(text).blocks]
    assert codes == ([] if "&" in lines else ["89c3" * 2] * 2)


@pytest.mark.parametrize("again", [".section .mine", '.section ".mine"', ".pushsection .mine"])
def test_a_section_of_code_that_is_entered_again(again: str) -> None:
    half = "\tmovl %eax, %ebx\n" * 3
    code = f"\t{again}\n{half}.Lsite:\n{half}\tret\n"
    text = f'\t.section .mine,"ax"\nf:\n\tret\n\t.text\n{code}\t.data\n\t.long .Lsite - f\n'
    assert [block.code.hex() for block in document(text).blocks] == ["89c3" * 2] * 2
    assert document('\t.section ".my code","ax",@progbits\n' + half).blocks


def test_tables_of_switches_are_told_apart() -> None:
    body = "\tleaq .L4(%rip), %rdx\n\tmovslq (%rdx,%rax,4), %rax\n\taddq %rdx, %rax\n\tjmp *%rax\n.L1:\n\tret\n"
    table = "\t.section .rodata\n.L4:\n\t.long .L1-.L4\n\t.long .L1-.L4\n"
    (table_read,) = names(scan(f"{HEAD}{body}\t.size f, .-f\n{table}")).tables
    assert table_read.size == 8
    other = "\t.data\n\t.quad .L4\n"  # something else names the table
    assert names(scan(f"{HEAD}{body}\t.size f, .-f\n{table}{other}")).tables == []
