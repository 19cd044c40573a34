"""What each line of an assembly file is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.blocks.read.statements import Kind, scan


def kinds(text: str) -> list[Kind]:
    return [statement.kind for statement in scan(text).statements]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("", Kind.COMMENT),
        ('  # a comment; with `marks` "', Kind.COMMENT),
        ("/ a comment too", Kind.COMMENT),
        ("/* a comment */", Kind.COMMENT),
        ("main:", Kind.LABEL),
        (".L5:  # a label", Kind.LABEL),
        ("1:", Kind.LABEL),
        ("\t.loc 1 2 3", Kind.LOCATION),
        ("\t.cfi_offset 3, -16", Kind.SILENT),
        ("\t.p2align 4,,10", Kind.SILENT),
        ("\t.long 5", Kind.DIRECTIVE),
        ('\t.string "# ; /* \\" mov"', Kind.DIRECTIVE),
        ("x = 5", Kind.ASSIGNMENT),
        ("\t.set x, y + 4", Kind.ASSIGNMENT),
        (". = . + 4", Kind.DIRECTIVE),
        ("\tmovl\t%eax, %ebx", Kind.INSTRUCTION),
        ("\tmovl %eax, %ebx;  # trailing", Kind.INSTRUCTION),
        ("\tmov eax, DWORD PTR foo[rip+4]", Kind.INSTRUCTION),
        ("\tlock addl $1, (%rax)", Kind.INSTRUCTION),
        ("\t{disp32} movl %eax, 4(%rsp)", Kind.INSTRUCTION),
        ("\tvaddpd %zmm1, %zmm2, %zmm3{%k1}{z}", Kind.INSTRUCTION),
        ("\tmovl foo@GOTPCREL(%rip), %eax /* comment */", Kind.INSTRUCTION),
        ("\tmovl %eax, %ebx; movl %ecx, %edx", Kind.OPAQUE),
        ("\tlock", Kind.OPAQUE),
        ("\trep # string", Kind.OPAQUE),
        ("\tdata16 leaq x@tlsgd(%rip), %rdi", Kind.OPAQUE),
        ("\trex64", Kind.OPAQUE),
        ("\tmovb $'a', %al", Kind.OPAQUE),
        ("\tjmp .+5", Kind.OPAQUE),
        ("\tleaq .(%rip), %rax", Kind.OPAQUE),
        ("\tleaq .LC0(%rip), %rax", Kind.INSTRUCTION),
        ("a: movl %eax, %ebx", Kind.OPAQUE),
    ],
)
def test_line(line: str, kind: Kind) -> None:
    assert kinds(f"{line}\n") == [kind]


def test_a_hash_in_a_character_is_no_comment() -> None:
    assert scan("\tcmpb $'#', %al # comment").statements[0].text == "cmpb $'', %al"


def test_comment_of_several_lines_hides_code() -> None:
    text = "nop /* begins\nmovl %eax, %ebx\nends */ nop\nnop\n"
    assert kinds(text) == [Kind.OPAQUE, Kind.OPAQUE, Kind.OPAQUE, Kind.INSTRUCTION]


def test_inline_assembly_is_opaque_but_not_its_locations() -> None:
    source = scan('#APP\n# 5 "f.c" 1\n\tnop\n# 0 "" 2\n\t.loc 1 2 3\n#NO_APP\n\tnop\n')
    assert [s.kind for s in source.statements] == [
        *(Kind.COMMENT, Kind.COMMENT, Kind.OPAQUE, Kind.COMMENT, Kind.LOCATION, Kind.COMMENT, Kind.INSTRUCTION),
    ]
    assert source.inline == [True] * 6 + [False]
    text = "# Start of file scope inline assembly\n\tnop\n# End of file scope inline assembly\n"  # as Clang writes it
    assert kinds(text) == [Kind.COMMENT, Kind.OPAQUE, Kind.COMMENT] and all(scan(text).inline)


def test_references_of_debug_information_do_not_count() -> None:
    text = (
        '.L1:\n.L2:\n.L3:\n.L4:\n.L5:\n\tjmp .L1\n\t.section .debug_info,"",@progbits\n\t.quad .L2\n\t.previous\n'
        "\t.quad .L3\n\t.pushsection .debug_loclists\n\t.quad .L4\n\t.popsection\n"
        "\t.section .debug_frame\n\t.quad .L5\n"
    )
    assert {".L1", ".L3", ".L5"} <= scan(text).references
    assert not {".L2", ".L4"} & scan(text).references


@given(st.text(alphabet=st.sampled_from("nop\n\r\t #/*\"'\\;:.L1APif"), max_size=60))
def test_every_byte_is_in_a_line(text: str) -> None:
    source = scan(text)
    assert "".join(source.lines) == text
    assert len(source.lines) == len(source.statements) == len(source.inline)
