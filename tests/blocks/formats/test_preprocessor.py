"""Text that is not assembly yet is refused, comments that look like it are not."""

from __future__ import annotations

import pytest

from pipeline.blocks.corpus.unreadable import Unreadable
from pipeline.blocks.formats.assembly_file import read
from pipeline.blocks.formats.preprocessor import preprocessor_line
from tests.blocks.formats.assembled import needs_as

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
