"""Programs whose assembly is in random legal orders: they print the same, and gdb unwinds from their instructions."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from learned_schedulers.blocks.read.assembler import object_of, parsed
from tests.blocks.read import debugger
from tests.blocks.read.assembled import PROGRAMS, document, needs_gcc
from tests.blocks.read.ordered_programs import run

needs_gdb = pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
pytestmark = [needs_gcc, pytest.mark.slow]


@pytest.mark.parametrize(
    ("name", "options", "steps"),
    [
        ("exceptions.cpp", ["-O2"], 60),
        ("threads.cpp", ["-O2", "-pthread"], 0),
        ("mixed.c", ["-O2"], 60),
        ("mixed.c", ["-O0"], 0),
    ],
)
def test_program(name: str, options: list[str], steps: int) -> None:
    steps = steps if shutil.which("gdb") else 0
    ran = run(PROGRAMS / name, options, "tso", np.random.default_rng(11), steps)
    assert ran.failures == []
    assert ran.moved > 50
    assert ran.steps == steps


@needs_gdb
def test_gdb_shows_the_lines_that_the_model_of_it_shows(tmp_path: Path) -> None:
    rows = (
        "1 5 1", "1 6 1 is_stmt 0", "1 7 1 is_stmt 1", "1 8 1 is_stmt 0", "1 646 1 is_stmt 1 discriminator 3",
        "1 647 1 is_stmt 0 discriminator 3", "1 647 1 is_stmt 1 discriminator 3", "1 9 1",
    )  # fmt: skip
    groups = (rows[:1], rows[1:2], rows[2:4], (), rows[4:6], (), rows[6:7], rows[7:])
    body = "".join("".join(f"\t.loc {row}\n" for row in group) + "\tmovl %eax, %ebx\n" for group in groups)
    text = f'\t.file 1 "f.c"\n\t.text\nf:\n{body}\tret\n{_INFORMATION}'
    file = document(text)
    path = tmp_path / "f.o"
    path.write_bytes(object_of(text.encode()))
    shown = debugger.lines(path, parsed(path.read_bytes()), file.listing.section, file.listing.begin)
    model = [state.gdb.line if state is not None else 0 for state in file.shown()]
    assert [line for _, line in shown] == model
    assert 646 in model[6:7]  # a line that gdb skips


# gdb reads line tables of compilation units only: the smallest one.
_INFORMATION = """.Lend:
	.section .debug_info,"",@progbits
	.long .Linfo_end-.Linfo
.Linfo:
	.value 4
	.long .Labbreviations
	.byte 8
	.uleb128 1
	.string "f.c"
	.quad f
	.quad .Lend-f
	.long .Llines
.Linfo_end:
	.section .debug_abbrev,"",@progbits
.Labbreviations:
	.uleb128 1, 0x11
	.byte 0
	.uleb128 0x3, 0x8, 0x11, 0x1, 0x12, 0x7, 0x10, 0x17
	.byte 0, 0, 0
	.section .debug_line,"",@progbits
.Llines:
"""
