"""XLA's decisions, read from texts written by hand."""

from __future__ import annotations

import pytest

from learned_schedulers.graphs.compilers.hlo import parse
from learned_schedulers.graphs.compilers.xla_cpu import fusions
from learned_schedulers.graphs.compilers.xla_decisions import answers, compare, fused_computations, read_fusions
from tests.graphs.compilers.hlo_texts import BOTH, FUSED, SEPARATE, entry, text

WHILE = """HloModule looping

%body (s: (f32[8])) -> (f32[8]) {
  %s = (f32[8]{0}) parameter(0)
  %g = f32[8]{0} get-tuple-element(%s), index=0
  %e = f32[8]{0} exponential(%g)
  %n = f32[8]{0} negate(%e)
  ROOT %t = (f32[8]{0}) tuple(%n)
}

%condition (s.1: (f32[8])) -> pred[] {
  %s.1 = (f32[8]{0}) parameter(0)
  ROOT %k = pred[] constant(false)
}

ENTRY %main (p: f32[8]) -> (f32[8]) {
  %p = f32[8]{0} parameter(0)
  %i = (f32[8]{0}) tuple(%p)
  ROOT %w = (f32[8]{0}) while(%i), condition=%condition, body=%body
}
"""


FUSION = """%fused (q: f32[8]) -> f32[8] {
  %q = f32[8]{0} parameter(0)
  %e.1 = f32[8]{0} exponential(%q)
  ROOT %n.1 = f32[8]{0} negate(%e.1)
}

"""


def looping_after() -> str:
    """`WHILE` after the pass: its body has a fusion."""
    lines = WHILE.replace("  %e = f32[8]{0} exponential(%g)\n", "")
    lines = lines.replace("negate(%e)", "fusion(%g), kind=kLoop, calls=%fused")
    return lines.replace("%body (s:", FUSION + "%body (s:")


def test_loops_are_gone_through_and_what_reductions_call_is_not() -> None:
    assert {computation.name for computation in fused_computations(parse(WHILE))} == {"body", "condition", "main"}
    assert {computation.name for computation in fused_computations(parse(looping_after()))} >= {"body", "main"}
    assert "fused" not in {computation.name for computation in fused_computations(parse(looping_after()))}
    reducing = parse(
        text("p = f32[8] parameter(0)", "z = f32[] constant(0)", "ROOT r = f32[] reduce(p, z), to_apply=sum")
    )
    assert {computation.name for computation in fused_computations(reducing)} == {"main"}
    sorting = parse(text("p = f32[8] parameter(0)", "ROOT c = f32[8] custom-call(p), called_computations={%sum}"))
    assert {computation.name for computation in fused_computations(sorting)} == {"main"}


def test_fusions_are_read_from_the_text_after_the_pass() -> None:
    body = parse(WHILE).computations["body"]
    read = read_fusions(body, parse(looping_after()))
    assert {pair for pair, answer in read.items() if answer == FUSED} == {("e", "n")}
    assert all(answer == SEPARATE for answer in read_fusions(body, parse(WHILE)).values())
    assert read == answers(fusions(body))


COPIED = """HloModule after

fused {
  p.1 = f32[8] parameter(0)
  n.1 = f32[8] negate(p.1)
  a.1 = f32[8] abs(n.1)
  ROOT e.1 = f32[8] exponential(a.1)
}

fused.1 {
  n.2 = f32[8] parameter(0)
  a.2 = f32[8] abs(n.2)
  ROOT t.1 = f32[8] tanh(a.2)
}

ENTRY main {
  p = f32[8] parameter(0)
  f = f32[8] fusion(p), kind=kLoop, calls=fused
  n = f32[8] negate(p)
  g = f32[8] fusion(n), kind=kLoop, calls=fused.1
  ROOT r = (f32[8], f32[8]) tuple(f, g)
}
"""


def test_what_only_one_of_two_copies_computes_itself_is_both() -> None:
    lines = ("p = f32[8] parameter(0)", "n = f32[8] negate(p)", "a = f32[8] abs(n)", "e = f32[8] exponential(a)")
    before = entry(*lines, "t = f32[8] tanh(a)", "ROOT r = (f32[8], f32[8]) tuple(e, t)")
    read = read_fusions(before, parse(COPIED))
    assert [read[pair] for pair in (("n", "a"), ("a", "e"), ("a", "t"), ("p", "n"))] == [BOTH, FUSED, FUSED, SEPARATE]
    with pytest.raises(ValueError, match="main: t is tanh before the pass and sine after it"):
        read_fusions(before, parse(COPIED.replace("tanh", "sine")))


def test_pairs_that_differ_are_told_with_the_reason() -> None:
    (same,) = compare(parse(WHILE), parse(looping_after()))
    assert same.agrees and (same.operand.name, same.reader.opcode, same.xla, same.why) == ("e", "negate", FUSED, "")
    (pair,) = compare(parse(WHILE), parse(WHILE))
    assert not pair.agrees and (pair.ours, pair.xla) == (FUSED, SEPARATE)
    opaque = [whole.replace("exponential(", "custom-call(") for whole in (WHILE, looping_after())]
    (unlike,) = compare(*map(parse, opaque))
    assert (unlike.ours, unlike.xla, unlike.why) == (SEPARATE, FUSED, "no loop")
