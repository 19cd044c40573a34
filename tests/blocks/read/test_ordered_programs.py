"""Programs whose assembly is in random legal orders: they print the same, and gdb unwinds from their instructions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from learned_schedulers.blocks.dag.memory_order import MemoryOrder
from learned_schedulers.blocks.read.assembler import Assembled, object_of, parsed
from learned_schedulers.blocks.read.assembly_file import read
from tests.blocks.read.assembled import PROGRAMS, document, needs_gcc
from tests.blocks.read.random_orders import moves, random_orders

needs_gdb = pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
pytestmark = [needs_gcc, pytest.mark.slow]
_FOLDER = Path(__file__).resolve().parent
_GDB_SECONDS = 300


def with_gdb(script: str, program: Path, settings: object) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        source, answer = Path(folder, "input.json"), Path(folder, "output.json")
        source.write_text(json.dumps(settings))
        environment = os.environ | {"OWN_INPUT": str(source), "OWN_OUTPUT": str(answer), "LC_ALL": "C"}
        environment.pop("DEBUGINFOD_URLS", None)
        command = ["gdb", "-q", "-nx", "-batch", "-x", str(_FOLDER / script), str(program)]
        ended = subprocess.run(
            command, capture_output=True, env=environment, timeout=_GDB_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
        if not answer.is_file():
            raise RuntimeError(f"gdb gave no answer for {program}: {ended.stderr.decode(errors='replace')[-500:]}")
        return json.loads(answer.read_text())


def lines_of_gdb(program: Path, content: Assembled, section: np.ndarray, offset: np.ndarray) -> list[tuple[str, int]]:
    """The file and line that gdb shows at each instruction of an object file."""
    settings, places = [], {}
    for index, part in content.sections.items():
        if part.loaded:
            places[index] = np.flatnonzero(section == index)
            settings.append([index, part.name, offset[places[index]].tolist()])
    answers = with_gdb("gdb_lines.py", program, settings)
    shown: list[tuple[str, int]] = [("", 0)] * len(section)
    for index, numbers in places.items():
        for number, (file, line) in zip(numbers.tolist(), answers[str(index)], strict=True):
            shown[number] = (file, line)
    return shown


def step(program: Path, steps: int, distinct: bool = False) -> dict[str, Any]:
    """Single steps through a program: `checked` backtraces, and `wrong`, rows of address, backtrace and truth.

    distinct: each address of an instruction is checked once.
    """
    answer: dict[str, Any] = with_gdb("gdb_steps.py", program, {"steps": steps, "distinct": distinct})
    return answer


_SECONDS = 60


class Ran(NamedTuple):
    """A program before and after."""

    failures: list[str]
    moved: int  # instructions
    steps: int  # single steps with a backtrace
    distinct: int  # instructions among them


def compiler(source: Path) -> str:
    """The driver for a source file."""
    return "g++" if source.suffix == ".cpp" else "gcc"


def _output(program: Path) -> bytes:
    return subprocess.run([program], capture_output=True, timeout=_SECONDS, check=True).stdout


def run(source: Path, options: list[str], memory: MemoryOrder, rng: np.random.Generator, steps: int) -> Ran:
    """Compile a program to assembly, order it at random, run both; then step through the ordered one."""
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        text, program, ordered = Path(folder, "text.s"), Path(folder, "program"), Path(folder, "ordered")
        tool = compiler(source)
        subprocess.run([tool, *options, "-g", "-S", str(source), "-o", str(text)], check=True, timeout=_SECONDS)
        subprocess.run([tool, "-pthread", str(text), "-o", str(program)], check=True, timeout=_SECONDS)
        document = read(text.read_bytes(), source.name)
        orders = random_orders(document, memory, rng)
        n_faults = len(document.faults)
        text.write_bytes(document.rewritten(orders))
        failures += [fault.reason for fault in document.faults[n_faults:]]
        subprocess.run([tool, "-pthread", str(text), "-o", str(ordered)], check=True, timeout=_SECONDS)
        if _output(program) != _output(ordered):
            failures.append("it prints something else")
        answer: dict[str, Any] = {"checked": 0, "distinct": 0, "wrong": []}
        if steps:
            answer = step(ordered, steps, distinct=True)
            if answer["wrong"]:
                failures.append(f"{len(answer['wrong'])} backtraces are wrong, first {answer['wrong'][0]}")
        moved = moves(document, orders)
    return Ran(failures, int((moved.before != moved.after).sum()), answer["checked"], answer["distinct"])


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
    shown = lines_of_gdb(path, parsed(path.read_bytes()), file.listing.section, file.listing.begin)
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
