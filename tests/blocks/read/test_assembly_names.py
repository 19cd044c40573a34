"""Places that a text names although the object does not show it, and tables of switches."""

from __future__ import annotations

import pytest

from learned_schedulers.blocks.read.assembly_names import names
from learned_schedulers.blocks.read.statements import scan
from tests.blocks.read.assembled import document, needs_as

pytestmark = needs_as
HEAD = "\t.text\n\t.type f, @function\nf:\n"
HALF = "\tmovl %eax, %ebx\n" * 3
TEXT = f"{HEAD}{HALF}.L1:\n{HALF}\tret\n\t.size f, .-f\n\t.section .rodata\n"


def codes(text: str) -> list[str]:
    return [block.code.hex() for block in document(text).blocks]


@pytest.mark.parametrize("expression", [".L1-f", ".L1 - f + 0x0", "4 + .L1 - f - 4"])
def test_a_distance_names_the_place_that_the_assembler_means(expression: str) -> None:
    """Such a distance is a bare number in the object: only the text shows what it names."""
    assert codes(f"{TEXT}\t.quad {expression}\n") == ["89c3" * 2] * 2


@pytest.mark.parametrize("expression", ["(.L1-f)*1", "(.L1-f)/2", ".L1-f+size", "size+.L1-f", ".L1-f+010"])
def test_other_expressions_leave_the_function_alone(expression: str) -> None:
    assert codes(f"size = 8\n{TEXT}\t.quad {expression}\n") == []


def test_a_place_beside_a_label() -> None:
    assert codes(f"{TEXT}\t.quad .L1-f+2\n") == [
        "89c3" * 3
    ]  # the second after the label stays, and so does what ends there
    assert codes(f"{TEXT}\t.quad .L1-f+1\n") == []  # in the middle of an instruction


@pytest.mark.parametrize("label", [".La: .Lsite:", ".Lsite: nop", '".Lsite":', "1:", "\t.set .Lsite, ."])
def test_a_label_of_inline_assembly_keeps_what_is_beside_it(label: str) -> None:
    text = TEXT.replace(".L1:\n", f"#APP\n{label}\n#NO_APP\n")
    assert codes(text) == ["89c3" * 2] * 2
    assert codes(TEXT.replace(".L1:\n", "#APP\n#NO_APP\n")) == ["89c3" * 3] * 2


@pytest.mark.parametrize(
    ("data", "is_understood"), [("1b - .", True), ("1b - 0b", True), ("1b - f", False), ("1b + 4 - 0b", False)]
)
def test_a_distance_in_inline_assembly(data: str, is_understood: bool) -> None:
    inline = f"#APP\n0:1:\tnop\n\t.pushsection .sites\n\t.long {data}\n\t.popsection\n#NO_APP\n"
    assert codes(TEXT.replace(".L1:\n", inline)) == (["89c3" * 2] * 2 if is_understood else [])


@pytest.mark.parametrize("again", [".section .mine", '.section ".mine"', ".pushsection .mine"])
def test_a_section_of_code_that_is_entered_again(again: str) -> None:
    code = f"\t{again}\n{HALF}.L1:\n{HALF}\tret\n"
    text = f'\t.section .mine,"ax"\nf:\n\tret\n\t.text\n{code}\t.section .rodata\n\t.long .L1 - f\n'
    assert codes(text) == ["89c3" * 2] * 2
    assert document('\t.section ".my code","ax",@progbits\n' + HALF).blocks


def test_a_local_name_of_a_place_in_code() -> None:
    assert codes(TEXT.replace(".L1:\n", ".L1 = .\n") + "\t.long .L1 - f\n") == []
    assert codes(TEXT.replace(".L1:\n", ".L1:\n\t.set .L2, .L1\n")) == ["89c3" * 2] * 2


USERS = ("\taddq $8, .L4(%rip)\n\tret\n", "\tjmp *.L4(%rip)\n", "\tret\n")


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("section", [".data", '.section mine,"aw"', ".data.rel.local"])
def test_a_label_in_data_that_code_may_change(user: str, section: str) -> None:
    """Its function is left alone, with the remedy; a pointer to the begin of a function is an ordinary one."""
    data = f"\t{section if section[0:5] != '.data' else '.section ' + section}\n.L4:\n\t.quad .L1\n"
    text = TEXT.replace("\tret\n", user) + data
    file = document(text)
    assert file.blocks == []
    assert any("const" in fault.remedy for fault in file.faults)
    assert document(text.replace(".quad .L1", ".quad f")).blocks


def test_tables_of_switches_are_told_apart() -> None:
    body = "\tleaq .L4(%rip), %rdx\n\tmovslq (%rdx,%rax,4), %rax\n\taddq %rdx, %rax\n\tjmp *%rax\n.L1:\n\tret\n"
    table = "\t.section .rodata\n.L4:\n\t.long .L1-.L4\n\t.long .L1-.L4\n"
    (table_read,) = names(scan(f"{HEAD}{body}\t.size f, .-f\n{table}")).tables
    assert table_read.size == 8
    other = "\t.data\n\t.quad .L4\n"  # something else names the table
    assert names(scan(f"{HEAD}{body}\t.size f, .-f\n{table}{other}")).tables == []
