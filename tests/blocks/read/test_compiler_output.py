"""What compilers write passes; what people write by hand is left alone as a whole, with a line and a reason."""

from __future__ import annotations

import pytest

from learned_schedulers.blocks.read.assembly_file import read
from learned_schedulers.blocks.read.compiler_output import foreign_line
from learned_schedulers.blocks.read.statements import scan
from learned_schedulers.blocks.read.unreadable import Unreadable
from tests.blocks.read.assembled import PROGRAMS, compiled, needs_gcc

BODY = "\tmovl %eax, %ebx\n\taddl $5, %ecx\n"
FUNCTION = f"\t.type f, @function\nf:\n.LFB0:\n{BODY}\tret\n\t.size f, .-f\n"
CLANG = (
    '\t.text\n\t.file "f.c"\n# Start of file scope inline assembly\n\t.globl g\ng:\n\tret\n'
    f"# End of file scope inline assembly\n\t.type f,@function\nf:\n.Lf$local:\n.LBB0_1:\n{BODY}.Ltmp3:\n\tret\n"
    '.Lfunc_end0:\n\t.size f, .Lfunc_end0-f\n\t.ident "clang"\n\t.addrsig\n'
).replace(".Lf$local:\n", "\t.type .Lf$local,@function\n.Lf$local:\n")


@needs_gcc
@pytest.mark.parametrize(
    "options",
    [
        ("-O0",),
        ("-O2", "-g", "-fno-ident"),
        ("-O3", "-masm=intel", "-fverbose-asm"),
        ("-O2", "-pg", "-fpatchable-function-entry=3,1"),
        ("-O2", "-mindirect-branch=thunk", "-mfunction-return=thunk"),
    ],
)
@pytest.mark.parametrize("name", ["mixed.c", "exceptions.cpp"])
def test_output_of_gcc(name: str, options: tuple[str, ...]) -> None:
    assert foreign_line(scan(compiled(PROGRAMS / name, *options).decode("latin-1"))) is None


def test_output_of_clang() -> None:
    assert foreign_line(scan(CLANG)) is None
    assert foreign_line(scan(CLANG.replace("# Start of file scope inline assembly\n", ""))) is not None


HEAD = '\t.file "f.c"\n\t.text\n'


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (FUNCTION, 0, "no .file"),
        ('\t.file "f.S"\n' + FUNCTION, 0, "preprocessed"),
        (HEAD + BODY, 2, "outside of a function"),
        (HEAD + FUNCTION + BODY, 9, "outside of a function"),
        (HEAD + FUNCTION + "g:\n", 9, "label"),
        (HEAD + FUNCTION + ".Lloop:\n", 9, "label"),
        (HEAD + FUNCTION + "1:\n", 9, "label"),
        (HEAD + FUNCTION.replace("\tret", "\tnop; ret"), 7, "several statements"),
        (HEAD + FUNCTION.replace("\tret", "\tmovb $'a', %al"), 7, "several statements"),
        (HEAD + FUNCTION.replace("\tret", "\tjmp .+5"), 7, "several statements"),
        (HEAD + FUNCTION.replace("\tret", "\tleaq 8(%rip), %rax"), 7, "distance"),
        (HEAD + FUNCTION.replace("\tret", "\t.intel_syntax noprefix\n\tlea rax, [rip + 8]"), 8, "distance"),
        (HEAD + FUNCTION + "#ifdef ROUND\n", 9, "preprocessor"),
        (HEAD + FUNCTION + "\t.macro m\n", 9, "directive"),
        (HEAD + FUNCTION + "\t.code32\n", 9, "directive"),
        (HEAD + FUNCTION + '\t.include "x"\n', 9, "directive"),
        (HEAD + FUNCTION + "\t.section .eh_frame\n\t.long .LFB0\n", 10, "tables of frames"),
        (HEAD + FUNCTION + "\t.section .debug_line\n\t.long .LFB0\n", 10, "tables of frames"),
        *(
            (HEAD + FUNCTION + f"#APP\n\tnop; {word}\n#NO_APP\n", 10, "a macro, a condition")
            for word in (".macro m", ".rept 3", ".if 1", ".code32", '.INCLUDE "x"', ".incbin ", ".end")
        ),
    ],
)
def test_what_people_write_is_left_alone(text: str, line: int, reason: str) -> None:
    foreign = foreign_line(scan(text))
    assert foreign is not None and foreign.line == line and reason in foreign.reason
    if ".if" in text or ".macro" in text or ".rept" in text:  # it has no end, which the assembler says
        with pytest.raises(Unreadable, match="`as --64` refuses"):
            read(text.encode(), "f.s")
        return
    file = read(text.encode(), "f.s")
    assert file.blocks == [] and file.rewritten({}) == text.encode()
    (fault,) = file.faults
    assert fault.place == f"line {line + 1}" and reason in fault.reason and "gcc -S" in fault.remedy


def test_an_ordinary_file_passes() -> None:
    assert foreign_line(scan(HEAD + FUNCTION)) is None
    assert len(read((HEAD + FUNCTION).encode(), "f.s").blocks) == 1
