"""Reads of a kernel after operands are fused into it, and their positions."""

from __future__ import annotations

from tests.graphs.compilers.hlo_texts import FUSED, SEPARATE, decided


def test_transposes_read_at_the_positions_of_their_reader() -> None:
    lines = ["p = f32[2,2] parameter(0)", "x = f32[2,2] negate(p)"]
    lines += [f"s{j} = f32[2,2]{{0,1}} transpose(x), dimensions={{1,0}}" for j in range(20)]
    lines += [f"a{j} = f32[2,2]{{0,1}} add({'s0' if j == 1 else f'a{j - 1}'}, s{j})" for j in range(1, 20)]
    assert decided(*lines[:-1], "ROOT " + lines[-1])["x s0"] == FUSED


def test_what_a_copied_position_reads_stands_as_often() -> None:
    """One reader reads the padding, at the positions that two slices need."""
    lines = ("p = f32[2] parameter(0)", "z = f32[] constant(0)", "x = f32[4] pad(p, z), padding=1_1")
    lines = (*lines, "b = f32[2,4] broadcast(x), dimensions={1}", "s = f32[2,2] slice(b), slice={[0:2], [0:2]}")
    once = (*lines, "ROOT n = f32[2,2] negate(s)")
    twice = (*lines, "r = f32[2,2] slice(b), slice={[0:2], [1:3]}", "ROOT a = f32[2,2] add(s, r)")
    assert [decided(*once)["x b"], decided(*twice)["x b"], decided(*twice)["b r"]] == [FUSED, SEPARATE, FUSED]


def test_what_is_read_several_times_reads_several_times() -> None:
    lines = ("p = f32[8] parameter(0)", "e = f32[8] exponential(p)", "n = f32[8] negate(e)")
    pairs = decided(*lines, "ROOT b = f32[8,8] broadcast(n), dimensions={0}")
    assert [pairs["n b"], pairs["e n"]] == [FUSED, SEPARATE]
    within = decided(*lines, "b = f32[8,8] broadcast(n), dimensions={0}", "ROOT a = f32[8,8] abs(b)")
    assert [within["b a"], within["n b"], within["e n"]] == [FUSED, FUSED, SEPARATE]
