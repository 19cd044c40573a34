"""HLO texts that the parser reads, and texts that it refuses."""

from __future__ import annotations

import pytest

from learned_schedulers.graphs.compilers.hlo import Shape, parse
from tests.graphs.compilers.hlo_texts import entry, text


def test_names_may_have_percents_and_operands_types() -> None:
    plain = text("p = f32[2,3]{1,0} parameter(0)", "ROOT n = f32[2,3]{1,0} negate(p)")
    percents = plain.replace("p = ", "%p = ").replace("n = ", "%n = ").replace("negate(p)", "negate(f32[2,3]{1,0} %p)")
    assert parse(plain.replace("ENTRY main", "ENTRY %main (p: f32[2,3]) -> f32[2,3]")) == parse(percents)


def test_what_stands_in_quotations_and_comments_is_no_operand() -> None:
    computation = entry(
        "p = (f32[2]{0}, /*index=1*/s32[]) parameter(0)",
        'ROOT g = f32[2]{0} get-tuple-element(p), index=0, metadata={op_name="f(a, b)/\\"c\\", }" stack_frame_id=1}',
    )
    assert computation.root == "g" and computation.instructions["g"].operands == ("p",)
    assert computation.instructions["g"].attributes["index"] == "0"
    assert computation.instructions["p"].literal == "0"
    assert computation.instructions["p"].shape.parts == (Shape("f32", (2,), (0,)), Shape("s32"))


def test_shapes_have_their_layout_or_the_usual_one() -> None:
    computation = entry("a = bf16[4,2]{0,1:T(8,128)} parameter(0)", "ROOT b = pred[<=4,2] parameter(1)")
    assert computation.instructions["a"].shape == Shape("bf16", (4, 2), (0, 1))
    assert computation.instructions["b"].shape == Shape("pred", (4, 2), (1, 0))
    assert [instruction.shape.bytes for instruction in computation.instructions.values()] == [16, 8]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [("def f(): ...", "no entry"), (text("p is a parameter"), "not an HLO instr"), (text("p = f32 add(a)"), "shape")],
)
def test_what_is_no_hlo_is_named(wrong: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse(wrong)
