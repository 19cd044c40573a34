"""GNU's assembler as a subprocess, and the machine code of statements."""

from __future__ import annotations

from typing import Any

import pytest

from learned_schedulers.blocks.read import assembler
from learned_schedulers.blocks.read.assembler import Refused, assemble, relocation_symbols, relocation_types
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.blocks.read.joined_code import SHIFT
from learned_schedulers.blocks.read.listing import Listing, NotUnderstood, listing
from learned_schedulers.blocks.read.statements import scan
from learned_schedulers.blocks.read.unreadable import Unreadable
from tests.blocks.read.assembled import document, needs_as

pytestmark = needs_as


def listed(text: str) -> Listing:
    return listing(scan(text))


def rows(text: str) -> list[tuple[int, str, bool, bool]]:
    """Line, code, linked and movable of each instruction."""
    part = listed(text)
    columns = zip(part.line.tolist(), part.linked.tolist(), part.movable.tolist(), strict=True)
    return [(line, part.code(k).hex(), linked, movable) for k, (line, linked, movable) in enumerate(columns)]


def test_code_linked_and_movable() -> None:
    text = "f:\n\tmovl x(%rip), %eax\n\tmovl $x, %ecx\n\taddl %eax, 8(%rsp)\n\tjmp f\n\tnop\n\tendbr64\n"
    assert rows(text) == [
        (1, "8b0500000000", True, True),
        (2, "b900000000", False, True),
        (3, "01442408", False, True),
        (4, "ebef", False, False),
        (5, "90", False, False),
        (6, "f30f1efa", False, False),
    ]


def test_intel_syntax_inside_a_file() -> None:
    text = "\tmovl %eax, %ebx\n\t.intel_syntax noprefix\n\tmov ebx, eax\n\t.att_syntax\n\tmovl %eax, %ebx\n"
    assert [row[:2] for row in rows(text)] == [(0, "89c3"), (2, "89c3"), (4, "89c3")]


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("\t.byte 0x66\n\tmovl %eax, %ebx\n\tmovl %ecx, %edx\n", "89ca"),
        ("\tlock\n\taddl %eax, (%rbx)\n\tmovl %ecx, %edx\n", "89ca"),
        ("\tfstcw (%rax)\n\tmovl %ecx, %edx\n", "89ca"),  # two instructions
        ("\t.value 0x6666\n\trex64\n\tcall f\n\tmovl %ecx, %edx\n", "89ca"),
    ],
)
def test_statements_that_are_not_one_instruction_are_left_out(text: str, last: str) -> None:
    assert [row[1] for row in rows(text)] == [last]


@pytest.mark.parametrize(
    "statement",
    [
        "leaq x@tlsgd(%rip), %rdi",
        "leaq x@tlsld(%rip), %rdi",
        "leaq x@TLSDESC(%rip), %rax",
        "movabsq $_GLOBAL_OFFSET_TABLE_-.L1, %r11",
        "movl $x-.L1, %eax",
    ],
)
def test_sequences_and_values_relative_to_code_do_not_move(statement: str) -> None:
    assert [row[3] for row in rows(f".L1:\n\t{statement}\n\tmovl %eax, %ebx\n")] == [False, True]


@pytest.mark.parametrize("operand", ["x@gottpoff(%rip)", "x@GOTPCREL(%rip)", "%fs:x@tpoff", "x@dtpoff(%rax)", "x"])
def test_relocations_of_single_instructions_move(operand: str) -> None:
    assert [row[2:] for row in rows(f"\tmovq {operand}, %rcx\n")] == [(True, True)]


def test_labels_that_change_the_text_are_noticed() -> None:
    # The string reaches to the next line, where the scanner sees an instruction.
    with pytest.raises((NotUnderstood, Refused)):
        listed('\t.ascii "a\n\tnop\n"\n')


def test_places_of_labels_and_assignments() -> None:
    text = "f:\n\tmovl %eax, %ebx\n1:\n\tmovl %ecx, %edx\n.Lx = . - 1\n\t.data\n\t.byte 0\n.Ly:\n"
    part = listing(scan(text), place_lines=[0, 2, 4, 7])
    (code,) = (index for index, section in part.object.sections.items() if section.executable)
    assert [part.places[line] for line in (0, 2, 4)] == [(code, 0), (code, 2), (code, 3)]
    assert part.places[7][1] == 1 and part.places[7][0] != code


PLT32 = 4


def test_sections_relocations_and_symbols() -> None:
    content = assemble(b"f:\n\tcall g\n\tret\n\t.data\n\t.quad f\n")
    text = next(section for section in content.sections.values() if section.name == ".text")
    assert (text.content, text.executable, text.loaded) == (b"\xe8\0\0\0\0\xc3", True, True)
    assert relocation_types(text.relocations).tolist() == [PLT32]
    assert content.name(int(relocation_symbols(text.relocations)[0])) == "g"
    assert {key[0] for key in content.symbol_keys()} >= {"f", "g"}


def test_the_first_errors_are_told_with_their_lines() -> None:
    with pytest.raises(Refused, match=r"line 2: no such instruction: `foo'; .*line 4.*and 1 more errors") as refused:
        assemble(b"nop\nfoo\nbar\nbaz\nfoo\n")
    assert refused.value.line == 2


def test_a_file_that_grows_without_bound_is_refused() -> None:
    with pytest.raises(Refused, match="MiB"):
        assemble(b".space 100000000000\n")


def test_a_file_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembler, "SECONDS", 0.2)
    with pytest.raises(Unreadable, match=r"took more than .* divide the file"):
        assemble(b".rept 30000000\n nop\n nop\n nop\n nop\n .endr\n" * 3)


def test_without_an_assembler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(Unreadable, match="apt-get install binutils"):
        assemble(b"nop\n")


def test_options_choose_the_syntax() -> None:
    content = assemble(b"mov eax, ebx\n", ("-msyntax=intel", "-mnaked-reg"))
    assert next(iter(content.sections.values())).content == b"\x89\xd8"


BODIES = [  # each ends or begins with bytes that would be something else beside another section's
    "\tmovl %edi, %eax\n\timull %esi, %eax\n\tjmp far\n\t.byte 0x66",
    "\tmovl %edi, %eax\n\taddl x(%rip), %eax\n\tcall far\n\tret",
    "\t.byte 0x0f\n\tmovl %edi, %eax\n\tmovl $x, %ecx\n\tret",
    "",
    "\tmovl %ecx, %edx\n1:\tmovl %edi, %eax\n\tjne 1b\n\t.byte 0xe9, 0",
]


def test_a_section_reads_the_same_whatever_stands_beside_it() -> None:
    """A function for each section, as in C++ with templates."""
    alone = [rows(f'\t.section .text.f,"ax",@progbits\n{body}\n') for body in BODIES]
    text = "".join(f'\t.section .text.f{k},"ax",@progbits\n{body}\n' for k, body in enumerate(BODIES))
    together = [row[1:] for row in rows(text)]
    assert together == [row[1:] for part in alone for row in part] and len(together) > 10
    part = listed(text)
    for index in sorted(part.object.sections):
        chosen = part.branches[1] >> SHIFT == index
        base = index << SHIFT
        assert ((part.branches[1][chosen] - base) < part.object.sections[index].size).all()
    assert len(part.branches[0]) == 1  # relocations lead to other sections


def test_the_steps_of_reading_do_not_grow_with_the_sections(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, decode = [0], Forms.decode

    def counted(self: Forms, *words: Any) -> Any:
        calls[0] += 1
        return decode(self, *words)

    monkeypatch.setattr(Forms, "decode", counted)
    counts = []
    for n in (3, 200):
        text = "".join(f'\t.section .text.f{k},"ax",@progbits\nf{k}:\n{BODIES[1]}\n' for k in range(n))
        calls[0] = 0
        assert len(document(text).blocks) == n
        counts.append(calls[0])
    assert counts[0] == counts[1]


def test_an_object_with_more_sections_than_symbols_can_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembler, "_MOST_SECTIONS", 20)
    text = "".join(f'\t.section .text.f{k},"ax",@progbits\n\tret\n' for k in range(30))
    with pytest.raises(Unreadable, match=r"3\d sections, and at most 20 can be read; divide the file"):
        document(text)
