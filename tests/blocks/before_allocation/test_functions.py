"""Texts of functions are cut into blocks and items; what may not move stays in its place."""

from __future__ import annotations

from learned_schedulers.blocks.before_allocation.functions import Block, functions
from tests.blocks.before_allocation.code import HEADER, LOOPS, MIXED

PADS = (
    HEADER
    + """
define void @pads(ptr %p) personality ptr @chooser {
  store i64 1, ptr %p, align 8
    #dbg_value(i64 1, !1, !DIExpression(), !2)
  %1 = load i64, ptr %p, align 8
  %2 = invoke i64 @thrower(i64 %1)
          to label %fine unwind label %bad

fine:                                             ; preds = %0
  ret void

bad:                                              ; preds = %0
  %3 = landingpad { ptr, i32 }
          cleanup
          catch ptr null
  %4 = extractvalue { ptr, i32 } %3, 0
  store ptr %4, ptr %p, align 8
  resume { ptr, i32 } %3
}
"""
)
TAIL = (
    HEADER
    + """
define i64 @"odd name"(i64 %x) {
  %y = add i64 %x, 1
  %z = musttail call i64 @other(i64 %y)
  ret i64 %z
}
"""
)


def _blocks(text: str) -> dict[str, Block]:
    (function,) = functions(text)
    return {block.label: block for block in function.blocks}


def test_blocks_have_their_items_without_heads_and_terminators() -> None:
    (function,) = functions(LOOPS)
    assert function.name == "loops"
    assert [block.label for block in function.blocks] == ["entry", "body", '"the end"']
    assert [len(block.items) for block in function.blocks] == [1, 10, 2]
    body = function.blocks[1]
    assert [item.opcode for item in body.items][:3] == ["getelementptr", "load", "getelementptr"]
    assert body.items[0].result == "%from" and body.items[6].result == ""
    lines = LOOPS.split("\n")
    assert lines[body.begin : body.begin + 10] == [item.lines[-1] for item in body.items]


def test_an_entry_without_a_label() -> None:
    (block,) = _blocks(MIXED).values()
    assert len(block.items) == 16 and block.items[5].opcode == "call" and not block.left_alone


def test_exception_pads_and_debug_records_stay_where_they_belong() -> None:
    blocks = _blocks(PADS)
    assert [len(item.lines) for item in blocks[""].items] == [1, 2]  # the record stands before the load
    assert [item.opcode for item in blocks["bad"].items] == ["extractvalue", "store"]
    assert blocks["fine"].items == ()


def test_what_is_not_understood_is_left_alone() -> None:
    (block,) = _blocks(TAIL).values()
    assert block.left_alone == "a call that must be the last"
    odd = LOOPS.replace("  %scaled = fmul", "      continued\n  %scaled = fmul")
    assert _blocks(odd)["body"].left_alone == "a line that is not understood: continued"
    (function,) = functions(TAIL)
    assert function.name == "odd name"
