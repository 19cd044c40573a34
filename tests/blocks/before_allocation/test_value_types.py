"""Types that are read from instructions' texts, against those that LLVM says."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import llvmlite.binding as llvm_binding
import pytest

from learned_schedulers.blocks.before_allocation import llvm
from learned_schedulers.blocks.before_allocation.value_types import (
    GENERAL,
    NONE,
    VECTOR,
    Unknown,
    read_type,
    registers,
    result_type,
    tokens,
)
from tests.blocks.before_allocation.code import HEADER, LOOPS, MIXED, OBSERVED

CSMITH_HEADER = next(Path("/usr/include").glob("csmith*/csmith.h"), None)

ODD = (
    HEADER
    + """
%pair = type { i64, double }
%"odd, name" = type { i8 }
@table = global [4 x i64] zeroinitializer
declare { i64, i1 } @llvm.uadd.with.overflow.i64(i64, i64)
declare noundef nonnull align 8 dereferenceable(8) ptr @pointer(i32, ...)
declare <2 x i64> @vector(ptr byval(%pair))
declare %pair @pair()
declare void @nothing()

define void @odd(ptr %p, ptr addrspace(1) %q, i64 %x, i128 %y, <4 x i32> %v, <4 x float> %f, half %h, x86_fp80 %e) {
  %a1 = call { i64, i1 } @llvm.uadd.with.overflow.i64(i64 %x, i64 1)
  %a2 = extractvalue { i64, i1 } %a1, 1
  %a3 = insertvalue { i64, [2 x double] } undef, double 1.0, 1, 0
  %a4 = extractvalue { i64, [2 x double] } %a3, 1
  %a5 = extractvalue { i64, [2 x double] } %a3, 1, 1
  %a6 = call noundef nonnull align 8 dereferenceable(8) ptr (i32, ...) @pointer(i32 5, i64 %x)
  %a7 = tail call <2 x i64> @vector(ptr byval(%pair) %p)
  %a8 = call %pair @pair()
  %a9 = call i64 asm "mov %1, %0", "=r,r"(i64 %x)
  %b1 = getelementptr inbounds nuw %pair, ptr %p, <2 x i64> <i64 0, i64 1>, i32 1
  %b2 = getelementptr nusw nuw i8, ptr addrspace(1) %q, i64 %x
  %b3 = load <{ i8, [3 x i32] }>, ptr addrspace(1) %q, align 1
  %b4 = load atomic volatile i64, ptr %p seq_cst, align 8
  %b5 = icmp samesign ult <4 x i32> %v, zeroinitializer
  %b6 = icmp eq ptr %p, null
  %b7 = fcmp reassoc nsz oeq <4 x float> %f, zeroinitializer
  %b8 = select nnan <4 x i1> %b7, <4 x float> %f, <4 x float> %f
  %b9 = select i1 %b6, ptr %p, ptr @table
  %c1 = shufflevector <4 x i32> %v, <4 x i32> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 0, i32 0, i32 0, i32 0>
  %c2 = extractelement <8 x i32> %c1, i64 2
  %c3 = insertelement <4 x float> %f, float 1.0, i64 %x
  %c4 = trunc nuw nsw i128 %y to i64
  %c5 = zext nneg <4 x i32> %v to <4 x i64>
  %c6 = bitcast <4 x float> %f to i128
  %c7 = addrspacecast ptr %p to ptr addrspace(1)
  %c8 = ptrtoint ptr %p to i32
  %c9 = fptrunc x86_fp80 %e to double
  %d1 = alloca [4 x i32], i64 %x, align 16
  %d2 = atomicrmw volatile add ptr %p, i32 1 syncscope("singlethread") seq_cst, align 4
  %d3 = cmpxchg weak ptr %p, i16 1, i16 7 acq_rel monotonic, align 2
  %d4 = freeze <4 x i32> %v
  %d5 = fneg fast half %h
  %d6 = add i64 ptrtoint (ptr @table to i64), %x
  %d7 = or disjoint i128 %y, 5
  %d8 = load %"odd, name", ptr %p, align 1
  %d9 = va_arg ptr %p, i32
  store i8 0, ptr %p, align 1
  fence seq_cst
  call void @nothing()
  ret void
}
"""
)


def _compared(text: str) -> list[str]:
    """The opcodes of all instructions of a text; those whose type is not what LLVM says are listed with both."""
    module = llvm_binding.parse_assembly(text)
    opcodes = []
    faults = []
    for function in module.functions:
        for block in function.blocks:
            for instruction in block.instructions:
                expected = str(instruction.type).split(" = type ")[0]
                opcodes.append(instruction.opcode)
                if (of_text := result_type(str(instruction)).text) != expected:
                    faults.append((str(instruction), of_text, expected))
    assert not faults
    return opcodes


@pytest.mark.parametrize("text", [MIXED, LOOPS, OBSERVED, ODD], ids=["mixed", "loops", "observed", "odd"])
def test_types_are_those_of_llvm(text: str) -> None:
    assert len(_compared(llvm.read(text.encode(), "text").text)) >= 10


@pytest.mark.slow
@pytest.mark.skipif(
    not shutil.which("clang") or not shutil.which("csmith") or CSMITH_HEADER is None,
    reason="clang, csmith or its header (libcsmith-dev) is missing",
)
def test_types_of_a_random_program(tmp_path: Path) -> None:
    assert CSMITH_HEADER is not None
    drawing = ["csmith", "--seed", "11", "--max-funcs", "4"]  # it also writes a file where it runs
    program = subprocess.run(drawing, cwd=tmp_path, capture_output=True, check=True).stdout
    (tmp_path / "program.c").write_bytes(program)
    command = ["clang", "-O3", "-march=haswell", "-w", "-S", "-emit-llvm", "-I", str(CSMITH_HEADER.parent)]
    subprocess.run([*command, "program.c", "-o", "program.ll"], cwd=tmp_path, check=True)
    text = llvm.read((tmp_path / "program.ll").read_bytes(), "program.ll").text
    opcodes = _compared(text)
    assert len(opcodes) > 900 and len(set(opcodes)) > 15


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i1", (GENERAL, 1)),
        ("i64", (GENERAL, 1)),
        ("i65", (GENERAL, 2)),
        ("i128", (GENERAL, 2)),
        ("ptr addrspace(256)", (GENERAL, 1)),
        ("half", (VECTOR, 1)),
        ("double", (VECTOR, 1)),
        ("<4 x i32>", (VECTOR, 1)),
        ("<8 x double>", (VECTOR, 2)),
        ("<9 x float>", (VECTOR, 2)),
        ("<4 x ptr>", (VECTOR, 1)),
        ("<64 x i1>", (VECTOR, 2)),
        ("{ i64, i1 }", (GENERAL, 1)),
        ("{ i64, i128 }", (GENERAL, 3)),
        ("{ float, <8 x double> }", (VECTOR, 3)),
        ("[3 x i64]", (GENERAL, 3)),
        ("{}", (NONE, 0)),
        ("void", (NONE, 0)),
        ("token", (NONE, 0)),
        ("x86_fp80", (NONE, 0)),
        ("%declared.elsewhere", (GENERAL, 1)),
    ],
)
def test_registers_of_types(text: str, expected: tuple[int, int]) -> None:
    words = tokens(text)
    of, end = read_type(words)
    assert of.text == text and end == len(words) and registers(of) == expected


@pytest.mark.parametrize(
    "line",
    [
        "%a = extractvalue %pair %p, 0",
        "%a = load <vscale x 4 x i32>, ptr %p, align 4",
        "%a = zext",
        "%a = load",
        "%a = load [4 x",
        "%a = load { i32,",
        "%a = select i1 %c",
        "%a = call align(",
        "%a",
        "",
    ],
)
def test_what_is_not_understood_is_said(line: str) -> None:
    with pytest.raises(Unknown):
        result_type(line)
