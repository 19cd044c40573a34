"""Functions are cut out of modules, none stands twice, and the frozen list keeps projects apart."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from benchmarks.before_allocation import choosing, generated, table
from benchmarks.before_allocation.__main__ import PROJECTS
from benchmarks.before_allocation.cutting import CutError, Module
from benchmarks.before_allocation.duplicates import mask
from benchmarks.before_allocation.normal import named, normal
from benchmarks.before_allocation.suitable import LEAST, MOST, UnfitError, candidate, large
from learned_schedulers.blocks.before_allocation import llvm
from learned_schedulers.blocks.before_allocation.functions import Function, functions

pytestmark = pytest.mark.slow

# As clang 14 writes it: typed pointers, numbers for names.
MODULE = """; ModuleID = 'part.c'
source_filename = "part.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

%struct.pair = type { i64, %struct.inner }
%struct.inner = type { [4 x i32] }
%struct.unused = type { i8 }

@table = internal unnamed_addr constant [4 x i64] [i64 3, i64 5, i64 7, i64 11], align 16
@names = internal constant [1 x i64*] [i64* getelementptr ([4 x i64], [4 x i64]* @table, i64 0, i64 1)]
@counter = dso_local global i64 0, align 8
@zero = external constant i64, align 8
@.str = private constant [5 x i8] c"text\\00"

; Function Attrs: nounwind uwtable
define internal fastcc void @mixed(%struct.pair* nocapture %0, i64* %1, i64 %2) unnamed_addr #0 {
  %4 = getelementptr inbounds %struct.pair, %struct.pair* %0, i64 0, i32 0
  %5 = load i64, i64* %4, align 8, !tbaa !5
  %6 = tail call i64 @llvm.fshl.i64(i64 %5, i64 %5, i64 7)
LONG
  %7 = bitcast i64* %1 to i32*
  %8 = load i32, i32* %7, align 4, !tbaa !8
  %9 = zext i32 %8 to i64
  %10 = getelementptr inbounds [4 x i64], [4 x i64]* @table, i64 0, i64 %9
  %11 = load i64, i64* %10, align 8, !tbaa !5
  %12 = load i64*, i64** getelementptr ([1 x i64*], [1 x i64*]* @names, i64 0, i64 0), align 8
  %13 = load i64, i64* %12, align 8
  %14 = load i64, i64* @zero, align 8
  %15 = add i64 %14, %13
  %16 = add i64 %15, %x40
  %17 = xor i64 %11, %16
  store i64 %17, i64* %4, align 8, !tbaa !5
  ret void
}

define dso_local i64 @calls(i64 %0) #0 {
  %2 = tail call i64 @outside(i64 %0)
  ret i64 %2
}

define dso_local i64 @counts() #0 {
  %1 = load i64, i64* @counter, align 8
  ret i64 %1
}

define dso_local void @assembles() #0 {
  call void asm sideeffect "nop", ""()
  ret void
}

declare i64 @llvm.fshl.i64(i64, i64, i64) #1
declare i64 @outside(i64) #2

attributes #0 = { nounwind uwtable "target-cpu"="haswell" }
attributes #1 = { nofree nosync nounwind readnone speculatable willreturn }
attributes #2 = { "unused" }

!llvm.ident = !{!0}
!0 = !{!"a compiler"}
!5 = !{!6, !6, i64 0}
!6 = !{!"long", !7, i64 0}
!7 = !{!"omnipotent char"}
!8 = !{!9, !9, i64 0}
!9 = !{!"int", !7, i64 0}
"""
STEPS = [f"  %x{i} = add i64 %{'6' if i == 1 else f'x{i - 1}'}, {i}" for i in range(1, 41)]
MODULE = MODULE.replace("LONG", "\n".join(STEPS))


def _function(name: str) -> Function:
    return next(function for function in functions(MODULE) if function.name == name)


def test_a_function_is_cut_out_with_what_it_refers_to() -> None:
    text = normal(named(normal(named(Module(MODULE, ["zero"]).alone(_function("mixed"))))))
    assert llvm.read(text.encode(), "mixed").text
    for word in ("@calls", "@counter", "@.str", "unused", "a compiler", "part.c", "ModuleID", "internal", "fastcc"):
        assert word not in text
    for word in ("@names = private constant", "@table = private", "@zero = weak constant i64 0", '"omnipotent char"'):
        assert word in text
    assert "define void @mixed(" in text and "bitcast" not in text
    (alone,) = functions(text)
    assert len(alone.blocks[0].items) == len(STEPS) + 13 and "ptr %0, align 8" in alone.blocks[0].items[-1].lines[-1]


@pytest.mark.parametrize(
    ("name", "reason"),
    [("calls", "other functions"), ("counts", "may change"), ("assembles", "inline assembly"), ("mixed", "may change")],
)
def test_what_needs_more_than_constants_is_refused(name: str, reason: str) -> None:
    with pytest.raises(CutError, match=reason):
        Module(MODULE).alone(_function(name))  # `zero` is not declared to be a zero


def test_a_candidate_has_its_signature_and_sizes() -> None:
    module, function = Module(MODULE, ["zero"]), _function("mixed")
    with llvm.Emitter("default", "haswell") as emitter:
        answer = candidate(module, function, emitter)
        assert answer[:4] == ("mixed", "void(ptr,ptr,i64)", 53, 53)
        assert large(function) and not large(_function("calls"))
        division = """  %w = zext i64 %x40 to i128
  %y = zext i64 %x39 to i128
  %z = mul i128 %w, %w
  %d = udiv i128 %z, %y
  %q = trunc i128 %d to i64
  %16 ="""
        divides = MODULE.replace("add i64 %15, %x40", "add i64 %15, %q").replace("  %16 =", division)
        with pytest.raises(UnfitError, match="arguments"):
            _candidate(MODULE.replace("i64 %2) unnamed", "i128 %2) unnamed"), emitter)
        with pytest.raises(UnfitError, match="volatile"):
            _candidate(MODULE.replace("load i32,", "load volatile i32,"), emitter)
        with pytest.raises(UnfitError, match="library"):
            _candidate(divides, emitter)


def _candidate(text: str, emitter: llvm.Emitter) -> object:
    function = next(function for function in functions(text) if function.name == "mixed")
    return candidate(Module(text, ["zero"]), function, emitter)


FIRST = """target triple = "x86_64-pc-linux-gnu"
define i64 @f(ptr %p, i64 %n) {
  %a = load i64, ptr %p, align 8
  %b = mul i64 %a, 77
  %c = add i64 %n, %b
  ret i64 %c
}
"""


def test_duplicates_differ_in_names_numbers_and_sequence_alone() -> None:
    same = FIRST.replace("@f", "@g").replace("%a", "%value").replace("77", "-5").replace("align 8", "align 4")
    lines = same.splitlines()
    lines[3], lines[4] = lines[4], lines[3]  # not legal code, but a mask does not care
    first = mask(FIRST, "i64(ptr,i64)")
    assert mask("\n".join(lines), "i64(ptr,i64)") == first
    assert mask(FIRST.replace("add", "sub"), "i64(ptr,i64)") != first
    assert mask(FIRST.replace("load i64", "load i32"), "i64(ptr,i64)") != first
    assert mask(FIRST, "i64(ptr,i32)") != first


def test_generated_functions_are_legal_and_repeatable() -> None:
    drawn = generated.functions("training", 20, np.random.default_rng(4))
    assert drawn == generated.functions("training", 20, np.random.default_rng(4))
    assert drawn[0].text != generated.functions("training", 20, np.random.default_rng(5))[0].text
    assert Counter(function.shape for function in drawn) == dict.fromkeys(generated.SHAPES, 4)
    with llvm.Emitter("default", "haswell") as emitter:
        for function in drawn:
            entry = generated.entry(function, "training")
            assert LEAST <= entry.block_instructions <= MOST and entry.sha256 == table.digest(function.text)
            assert f"{entry.function}:" in emitter.assembly(function.text, function.name)
            llvm.read(function.text.encode(), function.name)


def _entry(name: str, kind: str, project: str, size: int) -> table.Entry:
    return table.Entry(name, kind, "kind", project, "1", "f.c", "f", "void(ptr)", size, size, "0")


def test_a_duplicate_stays_in_the_test_set() -> None:
    entries = [(_entry("a", "training", "p", 30), "same"), (_entry("b", "test", "q", 30), "same")]
    entries += [(_entry("c", "training", "p", 30), "other"), (_entry("d", "training", "p", 31), "other")]
    assert [entry.name for entry in choosing.distinct(entries)] == ["b", "c"]


def test_projects_and_sizes_are_balanced() -> None:
    sizes = [40] * 50 + [100] * 10 + [500] * 4
    entries = [_entry(f"a{i}", "test", "big", size) for i, size in enumerate(sizes)]
    entries += [_entry(f"b{i}", "test", "small", 40) for i in range(3)]
    chosen = choosing.chosen(entries, 20, 12, np.random.default_rng(1))
    assert Counter(entry.project for entry in chosen) == {"big": 12, "small": 3}
    assert Counter(entry.block_instructions for entry in chosen if entry.project == "big") == {40: 4, 100: 4, 500: 4}
    assert chosen != choosing.chosen(entries, 20, 12, np.random.default_rng(2))


def test_the_frozen_list_keeps_projects_apart() -> None:
    entries = table.read()
    projects = {kind: {entry.project for entry in entries if entry.set == kind} for kind in table.SETS}
    projects = {kind: members - {"generated"} for kind, members in projects.items()}
    assert not projects["training"] & projects["test"] and not projects["development"] & projects["test"]
    assert not projects["training"] & projects["development"] and len(projects["test"]) >= 4
    assert all(PROJECTS[name]["set"] == kind for kind, members in projects.items() for name in members)
    assert "generated" not in {entry.project for entry in entries if entry.set == "test"}
    assert all(LEAST <= entry.block_instructions <= MOST for entry in entries)
    assert len({entry.sha256 for entry in entries}) == len({entry.name for entry in entries}) == len(entries)


def test_differences_are_named() -> None:
    old = [_entry("a", "test", "p", 30), _entry("b", "test", "p", 30)]
    new = [_entry("b", "test", "p", 31), _entry("c", "test", "p", 30)]
    assert table.differences(old, new) == [
        "a: is in functions.csv and was not built",
        "c: was built and is not in functions.csv",
        "b: differs in block_instructions, instructions",
    ]
    assert table.differences(old, old) == []


def test_names_of_types_do_not_depend_on_modules_read_before() -> None:
    header = 'target triple = "x86_64-pc-linux-gnu"'
    address = "getelementptr %struct.pair, %struct.pair* %p, i64 0, i32 1, i32 1"
    types = "%struct.pair = type { i64, %struct.inner }\n%struct.inner = type { i32, i32 }"
    text = f"{header}\n{types}\ndefine i32* @f(%struct.pair* %p) {{\n  %1 = {address}\n  ret i32* %1\n}}\n"
    first = normal(named(text))
    assert "%t0 = type { i64, %t1 }" in first
    assert normal(named(text)) == first
    assert named(text) != named(text)  # LLVM itself renames them
