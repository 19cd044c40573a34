"""Compiled functions are called in the confined process: equal ones leave the same, and wrong ones do not."""

from __future__ import annotations

import numpy as np
import pytest

from learned_schedulers.blocks.before_allocation import llvm
from learned_schedulers.blocks.before_allocation.execution import (
    CONTENTS,
    Effort,
    Executions,
    NotCallable,
    NotMeasured,
    Signature,
    cycles,
    drawn,
    execute,
    signature,
    state,
)
from learned_schedulers.blocks.before_allocation.image import Image, NotPlaceable, image
from learned_schedulers.blocks.run.native import Native
from tests.blocks.before_allocation.code import HEADER

MANY = "ptr %p, double %x, i64 %a, i32 %b, i64 %c, i64 %d, i64 %e, i64 %f, i64 %g"
BODY = """
  %at = getelementptr i64, ptr %p, i64 3
  %v = load i64, ptr %at
  %fg = shl i64 %f, %g
  %cd = mul i64 %c, %d
  %s = add i64 %fg, %cd
  %t = add i64 %s, %v
  store i64 %t, ptr %p
"""
CHAIN = "".join(f"  %q{i} = udiv i64 %{f'q{i - 1}' if i else 'n'}, {i + 3}\n" for i in range(20))


def compiled(emitter: llvm.Emitter, body: str, head: str = f"i64 @f({MANY})", rest: str = "") -> Image:
    text = f"{HEADER}{rest}define {head} {{{body}}}\n"
    return image(emitter.object_file(llvm.read(text.encode(), "f.ll").text, "f.ll"), "f")


def compare(native: Native, *forms: Image, head: str = f"define i64 @f({MANY}) {{", states: int = 10) -> Executions:
    of, rng = signature(head), np.random.default_rng(1)
    return execute(native, forms, of, drawn(of, rng), CONTENTS, states, rng)


def test_signatures() -> None:
    assert signature(f"define i64 @f({MANY}) {{").arguments == ("ptr", "double", "i64", "i32", *["i64"] * 5)
    odd = 'define dso_local noundef <4 x float> @"f(,)"(ptr noalias captures(none) %0, <2 x double> noundef %1) #0 {'
    assert signature(odd) == Signature("<4 x float>", ("ptr", "<2 x double>"))
    for head in (
        "define { i64, i64 } @f() {",
        "define void @f(ptr byval(i64) %0) {",
        "define void @f(i256 %0) {",
        "define void @f(ptr %0, ...) {",
        "define x86_fp80 @f() {",
    ):
        with pytest.raises(NotCallable):
            signature(head)


def test_arguments_arrive(native: Native, emitter: llvm.Emitter) -> None:
    """In registers and on the stack: a form that computes with them equals one that returns what is expected."""
    of = signature(f"define i64 @f({MANY}) {{")
    _, x, a, b, c, d, e, f, g = drawn(of, np.random.default_rng(1)).bits
    mixed = x ^ (a + 10 * b + 100 * c + 1000 * d + 10**4 * e + 10**5 * f + 10**6 * g)
    body = "\n  %sum0 = add i64 0, %a\n  %wide = zext i32 %b to i64\n"
    for power, name in enumerate(("wide", "c", "d", "e", "f", "g"), 1):
        body += f"  %p{power} = mul i64 {10**power}, %{name}\n  %sum{power} = add i64 %sum{power - 1}, %p{power}\n"
    body += "  %bits = bitcast double %x to i64\n  %mixed = xor i64 %bits, %sum6\n  ret i64 %mixed\n"
    forms = [compiled(emitter, text) for text in (body, f"\n  ret i64 {mixed}\n", f"\n  ret i64 {mixed + 1}\n")]
    result = compare(native, *forms)
    assert (result.ran, result.different, result.equal) == (10, 10, 10) and result.reason.startswith("r8 ")


@pytest.mark.parametrize(("kind", "bits", "infinity"), [("float", 32, 0xFF8 << 20), ("double", 64, 0xFFF << 52)])
def test_forms_of_what_is_not_a_number_are_equal_as_a_result(
    kind: str, bits: int, infinity: int, native: Native, emitter: llvm.Emitter
) -> None:
    """Whatever sign and payload; infinity is another result."""
    head = f"{kind} @f({MANY})"
    signless = infinity ^ 1 << (bits - 1)
    forms = [
        compiled(emitter, f"\n  %r = bitcast i{bits} {pattern} to {kind}\n  ret {kind} %r\n", head)
        for pattern in (infinity + 1, infinity + (1 << 20), signless + (1 << 20), infinity)
    ]
    result = compare(native, *forms, head=f"define {head} {{")
    assert (result.ran, result.different, result.equal) == (10, 10, 20)


def test_memory_is_compared(native: Native, emitter: llvm.Emitter) -> None:
    form, again = (compiled(emitter, f"{BODY}  ret i64 %t\n") for _ in range(2))
    assert compare(native, form, again, again) == Executions(10, 0, 0, 20, "")
    wrong = compiled(emitter, f"{BODY.replace('store i64 %t, ptr %p', 'store i64 %t, ptr %at')}  ret i64 %t\n")
    result = compare(native, form, again, wrong)
    assert (result.different, result.equal) == (10, 10) and "memory" in result.reason


def test_states_from_which_references_differ_are_left_out(native: Native, emitter: llvm.Emitter) -> None:
    """A reference differs where the bit is set: a wrong form differs in the other half, where it counts."""
    body = "\n  %v = load i64, ptr %p\n  %bit = and i64 %v, 1\n  %twice = mul i64 %bit, 2\n"
    right, reference, wrong = (
        compiled(emitter, f"{body}  %r = add i64 %v, {more}\n  ret i64 %r\n") for more in ("0", "%twice", "1")
    )
    of, rng = signature(f"define i64 @f({MANY}) {{"), np.random.default_rng(1)
    result = execute(native, [right, reference, wrong, right], of, drawn(of, rng), CONTENTS[:1], 40, rng, 10.0, 1)
    assert result.ran + result.undefined == 40 and 8 < result.undefined < 32
    assert result.different == result.equal == result.ran


def test_only_the_result_and_memory_count(native: Native, emitter: llvm.Emitter) -> None:
    """Upper bits of a narrow result, the second result register, and the stack below are not compared."""
    narrow = f"i8 @f({MANY})"
    forms = [
        compiled(
            emitter,
            f"{BODY}  %h = lshr i64 %t, 8\n  %i = shl i64 %h, {left}\n  %r = or i64 %i, 7\n  %slot = alloca i64\n"
            "  store volatile i64 %i, ptr %slot\n  %n = trunc i64 %r to i8\n  ret i8 %n\n",
            narrow,
        )
        for left in (8, 9)
    ]
    assert compare(native, *forms, head=f"define {narrow} {{") == Executions(10, 0, 0, 10, "")
    floats = [
        compiled(emitter, f"{BODY}  %y = fmul double %x, {factor}\n  ret double %y\n", f"double @f({MANY})")
        for factor in ("2.0", "3.0")
    ]
    assert compare(native, *floats, head=f"define double @f({MANY}) {{").different == 10


@pytest.mark.parametrize("displacement", [0, 16, 48])
def test_constants_keep_their_alignment(displacement: int, emitter: llvm.Emitter) -> None:
    table = "@t = private constant [4 x i64] [i64 3, i64 5, i64 7, i64 11], align 32\n"
    body = "\n  %at = getelementptr i64, ptr @t, i64 %c\n  %v = load i64, ptr %at\n  ret i64 %v\n"
    form = compiled(emitter, body, rest=table)
    code, entry = form.at(1 << 20, displacement)
    assert entry == (1 << 20) + displacement and code.index(b"\x03\0\0\0\0\0\0\0\x05") % 32 == 0


def test_addresses_from_a_linkers_table(native: Native, emitter: llvm.Emitter) -> None:
    """A table that another file could replace is reached through the global offset table."""
    body = "\n  %at = getelementptr i64, ptr @t, i64 %c\n  %v = load i64, ptr %at\n  ret i64 %v\n"
    forms = [
        compiled(emitter, body, rest=f"@t = {linkage} constant [5 x i64] [i64 9, i64 8, i64 7, i64 6, i64 5]\n")
        for linkage in ("private", "")
    ]
    assert forms[1].loads.any() and not forms[0].loads.any()
    assert compare(native, *forms) == Executions(10, 0, 0, 10, "")


def test_what_cannot_run_is_refused(native: Native, emitter: llvm.Emitter) -> None:
    outside = "@g = external global i64\n"
    with pytest.raises(NotPlaceable, match="it needs g"):
        compiled(emitter, "\n  %v = load i64, ptr @g\n  ret i64 %v\n", rest=outside)
    with pytest.raises(NotPlaceable, match="memory that it may write"):
        compiled(emitter, "\n  store i64 1, ptr @g\n  ret i64 0\n", rest="@g = internal global i64 5\n")
    endless = compiled(emitter, "\n  br label %l\nl:\n  store volatile i64 1, ptr %p\n  br label %l\n")
    of, rng = signature(f"define i64 @f({MANY}) {{"), np.random.default_rng(2)
    assert execute(native, [endless], of, drawn(of, rng), CONTENTS, 1, rng, seconds=0.2).reason == "time limit"
    with pytest.raises(NotMeasured, match="time limit"):
        cycles(native, [endless], of, drawn(of, rng), state(CONTENTS[0], rng), Effort(), rng, seconds=0.2)


def test_cycles_tell_long_from_short(native: Native, emitter: llvm.Emitter) -> None:
    """Twenty divisions, each of the result of the one before, take longer than ten; the form is measured in place."""
    head = "i64 @f(i64 %n)"
    long, short = (
        compiled(emitter, "\n" + "".join(CHAIN.splitlines(keepends=True)[:n]) + f"  ret i64 %q{n - 1}\n", head)
        for n in (20, 10)
    )
    rng = np.random.default_rng(3)
    of = signature(f"define {head} {{")
    start = state(CONTENTS[0], rng)
    measured = cycles(native, [long, short, long], of, drawn(of, rng), start, Effort(displacements=2), rng)
    assert measured.shape == (3, 2) and (measured > 5).all()
    assert measured[1].mean() < 0.8 * measured[0].mean()
