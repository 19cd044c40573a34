"""Properties of instructions in XLA."""

from __future__ import annotations

import pytest

from learned_schedulers.graphs.compilers.xla_decisions import Answer
from learned_schedulers.graphs.compilers.xla_instructions import is_expensive
from tests.graphs.compilers.hlo_texts import FUSED, SEPARATE, decided, entry


@pytest.mark.parametrize(
    ("line", "expensive"),
    [
        ("f32[8] sine(p)", False),
        ("c64[8] sine(q)", True),
        ("bf16[8] convert(p)", True),  # it tests for NaN
        ("f64[8] convert(p)", False),
        ("f32[8] divide(p, p)", True),
        ("f32[8] gather(p, p)", True),
        ("f32[8] multiply(p, p)", False),
    ],
)
def test_what_is_expensive(line: str, expensive: bool) -> None:
    computation = entry("p = f32[8] parameter(0)", "q = c64[8] parameter(1)", f"ROOT x = {line}")
    assert is_expensive(computation, computation.instructions["x"]) == expensive


@pytest.mark.parametrize(("shape", "answer"), [("s32[8]", FUSED), ("s8[8,4]", SEPARATE)])
def test_bits_of_other_elements_are_no_loop(shape: str, answer: Answer) -> None:
    lines = ("p = f32[8] parameter(0)", f"x = {shape} bitcast-convert(p)", f"ROOT n = {shape} negate(x)")
    assert decided(*lines)["x n"] == answer


@pytest.mark.parametrize(
    ("reader", "operand", "answer"),
    [
        ("f32[10] pad(e, k), padding=1_1", "e", FUSED),
        ("f32[10] pad(p, x), padding=1_1", "x", SEPARATE),
        ("f32[8] dynamic-update-slice(p, e, i)", "e", FUSED),
        ("f32[8] dynamic-update-slice(p, p, j)", "j", SEPARATE),
        ("f32[8] dynamic-slice(p, j), dynamic_slice_sizes={8}", "j", SEPARATE),
        ("f32[8] select(m, e, p)", "e", FUSED),
        ("f32[] reduce(e, k), dimensions={0}, to_apply=sum", "e", FUSED),
        ("f32[] reduce(p, x), dimensions={0}, to_apply=sum", "x", SEPARATE),
    ],
)
def test_what_is_expensive_is_fused_where_each_element_is_read_once(reader: str, operand: str, answer: Answer) -> None:
    """A padding, an initial value or a position is not fused: it is read for every element."""
    pairs = decided(
        "p = f32[8] parameter(0)",
        "k = f32[] parameter(1)",
        "i = s32[] parameter(2)",
        "m = pred[8] parameter(3)",
        "e = f32[8] exponential(p)",
        "x = f32[] exponential(k)",
        "j = s32[] remainder(i, i)",
        f"ROOT r = {reader}",
    )
    assert pairs[f"{operand} r"] == answer
