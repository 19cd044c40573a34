"""A function alone in its module compiles as in the module that it comes from."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from learned_schedulers.blocks.before_allocation import llvm
from learned_schedulers.blocks.before_allocation.costs import counts
from learned_schedulers.blocks.before_allocation.functions import Function, functions
from learned_schedulers.blocks.before_allocation.single_function import Parts, globals_of
from tests.blocks.before_allocation.code import HEADER

ODD = (
    HEADER
    + """
$merged = comdat any
%pair = type { i64, i64 }

@used = internal constant [2 x i64] [i64 3, i64 5]
@unused = internal constant [2 x i64] [i64 3, i64 5]
@labels = internal constant [2 x ptr] [ptr blockaddress(@jumps, %1), ptr blockaddress(@jumps, %2)]
@pointer = internal global ptr @hidden
@other_name = alias i64 (i64), ptr @merged
@chosen = ifunc i64 (i64), ptr @choose
@"odd \\22name" = thread_local global i64 7

declare i32 @__gxx_personality_v0(...)
declare i64 @outside(i64)

define internal fastcc i64 @hidden(i64 %x, ptr byval(%pair) align 8 %y) unnamed_addr #0 {
  %a = load i64, ptr %y, align 8, !tbaa !3
  %b = mul i64 %a, %x
  ret i64 %b
}

define linkonce_odr i64 @merged(i64 %x) comdat {
  %a = call i64 @outside(i64 %x), !dbg !9
  ret i64 %a, !dbg !9
}

define internal ptr @choose() {
  ret ptr @merged
}

define weak_odr hidden i64 @"a \\C3\\A9function"(i64 %x, ptr %p) section "odd" personality ptr @__gxx_personality_v0 {
  %a = load i64, ptr @used, align 8
  %b = call i64 @other_name(i64 %a)
  %c = call fastcc i64 @hidden(i64 %b, ptr byval(%pair) align 8 %p)
  %d = invoke i64 @chosen(i64 %c)
          to label %next unwind label %pad

next:
  %e = load i64, ptr @"odd \\22name", align 8
  %f = add i64 %d, %e
  ret i64 %f

pad:
  %g = landingpad { ptr, i32 }
          cleanup
  resume { ptr, i32 } %g
}

define i64 @jumps(i64 %x) {
  %a = getelementptr ptr, ptr @labels, i64 %x
  %b = load ptr, ptr %a, align 8
  indirectbr ptr %b, [label %1, label %2]

1:
  ret i64 3

2:
  ret i64 5
}

define i64 @calls_one_of_two(ptr %f, i64 %x) {
  %a = call i64 %f(i64 %x), !callees !23
  %b = add i64 %a, 1
  ret i64 %b
}

define i64 @described(i64 %x) !dbg !7 {
    #dbg_value(i64 %x, !8, !DIExpression(), !9)
  %a = call i64 @merged(i64 %x), !dbg !9
  ret i64 %a, !dbg !9
}

attributes #0 = { noinline nounwind }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !20}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "odd.c", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!20 = !{i32 5, !"CG Profile", !21}
!21 = distinct !{!22}
!22 = !{ptr @jumps, ptr @outside, i64 3}
!23 = !{ptr @jumps, ptr @outside}
!3 = !{!4, !4, i64 0}
!4 = !{!"long", !5, i64 0}
!5 = !{!"omnipotent char", !6, i64 0}
!6 = !{!"Simple C/C++ TBAA"}
!7 = distinct !DISubprogram(name: "described", file: !1, line: 1, type: !10, unit: !0, spFlags: DISPFlagDefinition)
!8 = !DILocalVariable(name: "x", arg: 1, scope: !7, file: !1, line: 1, type: !11)
!9 = !DILocation(line: 1, scope: !7)
!10 = !DISubroutineType(types: !{})
!11 = !DIBasicType(name: "long", size: 64, encoding: DW_ATE_signed)
"""
).replace("call i64 @outside(i64 %x), !dbg !9\n  ret i64 %a, !dbg !9", "call i64 @outside(i64 %x)\n  ret i64 %a")
CODE = llvm.read(ODD.encode(), "odd.ll")
FUNCTIONS = list(functions(CODE.text))


@pytest.fixture(scope="module")
def emitter() -> Iterator[llvm.Emitter]:
    with llvm.Emitter(processor="x86-64") as emitter:
        yield emitter


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.symbol)
def test_a_function_alone_has_the_same_counts(function: Function, emitter: llvm.Emitter) -> None:
    of_module = counts(emitter.assembly(CODE.text, "odd.ll"))
    text = Parts(CODE.text).alone(function.at)
    llvm.read(text.encode(), "alone.ll")
    assert counts(emitter.assembly(text, "alone.ll"))[function.symbol] == of_module[function.symbol]
    assert of_module[function.symbol].instructions > 1


def test_only_what_a_function_reaches_is_there() -> None:
    parts = Parts(CODE.text)
    text = parts.alone('@"a \\C3\\A9function"')
    assert "@used" in text and "@unused" not in text and "DILocation" not in text and text.count("\ndefine ") == 3
    assert "@used = dso_local constant" in text
    assert text.count("\ndeclare dso_local fastcc i64 @hidden(i64, ptr byval(%pair) align 8)") == 1
    assert "tbaa" in parts.alone("@hidden") and "omnipotent" in parts.alone("@hidden")
    assert "#dbg" not in parts.alone("@described")


def test_texts_name_no_globals() -> None:
    """A table of bytes may look like a name, as one of libdeflate does."""
    text = '@"a b" = constant [3 x i8] c"@AB"\ndefine void @f() "x"="@no" {\n  call void asm "nop # @no \\22 @no", ""()'
    assert globals_of(text) == ['@"a b"', "@f"]
