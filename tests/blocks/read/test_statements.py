"""What each line of an assembly file is, and which regions and texts are left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.blocks.read.assembly_file import read
from learned_schedulers.blocks.read.preprocessor import preprocessor_line
from learned_schedulers.blocks.read.regions import commented_regions, iaca_regions
from learned_schedulers.blocks.read.statements import Kind, scan
from learned_schedulers.blocks.read.unreadable import Unreadable
from tests.blocks.read.assembled import needs_as


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


def test_macros_conditions_and_their_uses_are_opaque() -> None:
    text = ".macro Swap a, b\nmovl \\a, \\b\n.endm\nswap %eax, %ebx\n.if X\nnop\n.endif\n.rept 2\nnop\n.endr\nnop\n"
    assert kinds(text) == [Kind.OPAQUE] * 10 + [Kind.INSTRUCTION]


def test_nested_conditions_end_together() -> None:
    assert kinds(".if 1\n.ifdef Y\nnop\n.endif\nnop\n.endif\nnop")[-3:] == [Kind.OPAQUE, Kind.OPAQUE, Kind.INSTRUCTION]


def test_inline_assembly_is_opaque_but_not_its_locations() -> None:
    source = scan('#APP\n# 5 "f.c" 1\n\tnop\n# 0 "" 2\n\t.loc 1 2 3\n#NO_APP\n\tnop\n')
    assert [s.kind for s in source.statements] == [
        *(Kind.COMMENT, Kind.COMMENT, Kind.OPAQUE, Kind.COMMENT, Kind.LOCATION, Kind.COMMENT, Kind.INSTRUCTION),
    ]
    assert source.inline == [True] * 6 + [False]


def test_code_for_other_modes_is_opaque() -> None:
    assert kinds(".code32\nnop\n.code64\nnop") == [Kind.OPAQUE, Kind.OPAQUE, Kind.SILENT, Kind.INSTRUCTION]
    assert scan(".macro real\n.code16\n.endm\n").foreign_mode
    assert not scan(".code32\nnop\n.code64\n").foreign_mode


def test_nothing_counts_after_the_end() -> None:
    assert kinds("nop\n.end\nnop") == [Kind.INSTRUCTION, Kind.OPAQUE, Kind.OPAQUE]


@pytest.mark.parametrize("text", [".if 1\n.loc 1 2\n.endif", "nop; .loc 1 2 3", ".macro m\n.loc 1 2\n.endm"])
def test_hidden_locations(text: str) -> None:
    assert scan(text).hidden_locations
    assert not scan(".loc 1 2 3\n").hidden_locations


def test_references_of_debug_information_do_not_count() -> None:
    text = (
        '.L1:\n.L2:\n.L3:\n.L4:\n.L5:\n\tjmp .L1\n\t.section .debug_info,"",@progbits\n\t.quad .L2\n\t.previous\n'
        "\t.quad .L3\n\t.pushsection .debug_loclists\n\t.quad .L4\n\t.popsection\n\t.section .debug_line\n\t.quad .L5\n"
    )
    assert {".L1", ".L3", ".L5"} <= scan(text).references
    assert not {".L2", ".L4"} & scan(text).references


def test_all_references_count_where_a_macro_changes_the_section() -> None:
    assert ".L2" in scan(".macro m\n.text\n.endm\n.section .debug_info\n.quad .L2\n").references


@given(st.text(alphabet=st.sampled_from("nop\n\r\t #/*\"'\\;:.L1APif"), max_size=60))
def test_every_byte_is_in_a_line(text: str) -> None:
    source = scan(text)
    assert "".join(source.lines) == text
    assert len(source.lines) == len(source.statements) == len(source.inline)


BEGIN, END = bytes.fromhex("bb6f000000646790"), bytes.fromhex("bbde000000646790")


def test_regions_with_names_overlap() -> None:
    lines = [
        "a",
        "# LLVM-MCA-BEGIN x",
        "b",
        "\t# LLVM-MCA-BEGIN y z",
        "c",
        "# LLVM-MCA-END x",
        "d",
        "#LLVM-MCA-END",
        "e",
    ]
    result = commented_regions(lines)
    assert result is not None
    inside, marks = result
    assert [line for line, within in zip(lines, inside, strict=True) if within] == ["b", "c", "d"]
    assert sum(marks) == 4


def test_without_marks_there_is_no_region() -> None:
    assert commented_regions(["nop", "# a comment on LLVM-MCA-BEGINNERS"]) is None
    assert iaca_regions({1: b"\x90" * 20}) is None


def test_an_end_without_a_name_does_not_end_one_of_two() -> None:
    result = commented_regions(["# LLVM-MCA-BEGIN a", "# LLVM-MCA-BEGIN b", "# LLVM-MCA-END", "nop"])
    assert result is not None and result[0] == [False, False, False, True]


def test_regions_of_osaca() -> None:
    lines = ["a", "# OSACA-BEGIN", "b", "# OSACA-END", "c", "// LLVM-MCA-BEGIN", "d", "# OSACA-END", "e"]
    result = commented_regions(lines)
    assert result is not None
    assert [line for line, within in zip(lines, result[0], strict=True) if within] == ["b", "d", "e"]
    assert [line for line, mark in zip(lines, result[1], strict=True) if mark] == [lines[k] for k in (1, 3, 5, 7)]


def test_marks_of_tools_that_are_not_known_bound_no_region() -> None:
    result = commented_regions(["a", "# MY-TOOL-START kernel", "b", "# a START of something"])
    assert result == ([True] * 4, [False, True, False, False])


def test_iaca_marks_are_bytes() -> None:
    code = b"\x90" + BEGIN + b"\x01\xc3" + END + b"\x90" + BEGIN + b"\xc3"
    assert iaca_regions({1: b"\x90", 2: code}) == {2: [(9, 11), (28, 29)]}


CODE = "f:\n\tmovl %eax, %ebx\n{}\taddl $5, %ecx\n\tret\n"


@pytest.mark.parametrize(
    ("lines", "number"),
    [
        ("#ifdef ROUND\n\taddl $5, %esi\n#endif\n", 2),
        ("# if defined(X) && Y\n\tnop\n# else\n\tnop\n# endif\n", 2),
        ("\t#\tifndef X\n#if 1\n#endif\n#endif\n", 2),
        ("/* x */ #ifdef A\n#endif\n", 2),
        ('#include "macros.h"\n', 2),
        ("# include <asm/linkage.h>\n", 2),
        ("#define SIZE 8\n\taddq $SIZE, %rdi\n", 2),
    ],
)
@pytest.mark.parametrize("name", ["x.s", "x.S"])
def test_lines_of_the_preprocessor(lines: str, number: int, name: str) -> None:
    assert preprocessor_line(CODE.format(lines), name) == number


@pytest.mark.parametrize(
    "lines",
    [
        "# if the sum is zero\n",
        "# else the loop goes on\n",
        "# include the carry\n",
        "# define what a step is\n",
        "#endif\n",  # alone, it has no meaning
        '# 12 "f.c" 3 4\n',
        "#line 5\n",
        "#APP\n#NO_APP\n",
        "\tmovl $3, %eax # if it fits\n",
        "",
    ],
)
def test_comments_and_line_markers(lines: str) -> None:
    assert preprocessor_line(CODE.format(lines), "x.s") is None


def test_in_a_file_for_the_preprocessor_each_word_counts() -> None:
    for line in ("#undef X\n", "# if the sum is zero\n", "#pragma once\n", "#error no\n"):
        assert preprocessor_line(CODE.format(line), "x.S") == 2
    assert preprocessor_line(CODE.format('# 1 "x.S"\n# a comment\n'), "x.S") is None


@needs_as
def test_the_refusal_names_line_and_remedy() -> None:
    content = CODE.format("#ifdef ROUND\n\taddl $5, %esi\n#endif\n").encode()
    with pytest.raises(
        Unreadable, match=r"line 3 is for the C preprocessor \(#ifdef ROUND\); give its output: gcc -E x\.S"
    ):
        read(content, "x.S")
