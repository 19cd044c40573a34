"""What a block reads, what leaves it, the registers of its values, and what x86 folds."""

from __future__ import annotations

import numpy as np
import pytest

from learned_schedulers.blocks.before_allocation import llvm
from learned_schedulers.blocks.before_allocation.dependencies import Effects, precedes
from learned_schedulers.blocks.before_allocation.functions import functions
from learned_schedulers.blocks.before_allocation.problem import CYCLES, OPCODES, Problem, problem
from tests.blocks.before_allocation.code import HEADER, LOOPS, MIXED
from tests.blocks.before_allocation.random_problems import drawn

FOLDS = (
    HEADER
    + """
declare void @outside(ptr)

define i64 @folds(ptr %p, i64 %x, ptr byval(i64) %copy, double %d, <8 x double> %v) {
  %slot = alloca i64, align 8
  %many = alloca i64, i64 %x, align 8
  %constant = getelementptr inbounds i8, ptr %p, i64 24
  %l1 = load i64, ptr %constant, align 8
  %scaled = getelementptr inbounds i64, ptr %p, i64 %x
  store i64 %l1, ptr %scaled, align 8
  %stored = getelementptr inbounds i8, ptr %p, i64 32
  store ptr %stored, ptr %copy, align 8
  %wide = getelementptr inbounds [3 x i64], ptr %p, i64 %x
  %l2 = load i64, ptr %wide, align 8
  %small = trunc i64 %l2 to i32
  %kind = bitcast double %d to i64
  %less = icmp slt i64 %l1, %kind
  %lower = select i1 %less, i64 %l1, i64 %x
  %equal = icmp eq i32 %small, 5
  %number = zext i1 %equal to i64
  %sum = add i64 %lower, %number
  %l3 = load i64, ptr %constant, align 8
  %plus = add i64 %l3, %sum
  %l4 = load i64, ptr %constant, align 8
  %minus = sub i64 %l4, %plus
  %l5 = load i64, ptr %constant, align 8
  %less5 = sub i64 %minus, %l5
  %l6 = load i64, ptr %constant, align 8
  %square = mul i64 %l6, %l6
  %both = xor i64 %less5, %square
  ret i64 %both
}
"""
)


def _problems(text: str) -> dict[str, tuple[list[str], Problem]]:
    """By label: the names of the results, and the problem."""
    code = llvm.read(text.encode(), "text")
    effects = Effects(code.text)
    (function,) = functions(code.text)
    return {
        block.label: (
            [item.result.lstrip("%") for item in block.items],
            problem(function, block, precedes(block, effects, function.name, code.apart)),
        )
        for block in function.blocks
    }


def test_a_block_without_others() -> None:
    ((_, of),) = _problems(MIXED).values()
    assert of.operands[:6] == ((), (0,), (1,), (), (3,), (4, 1))
    assert of.entering[:4] == ((0,), (1,), (2,), (0,))  # %1, %2, %0 by their first readers
    assert of.entering_class.tolist() == [1, 1, 1] and of.entering_registers.tolist() == [1, 1, 1]
    assert not of.entering_stays.any() and np.flatnonzero(of.leaves).tolist() == [15]
    assert [OPCODES[k] for k in of.opcode[:6]] == ["load", "mul", "store", "getelementptr", "load", "llvm.fshl"]
    assert of.register_class[:4].tolist() == [1, 1, 0, 1] and of.registers[:4].tolist() == [1, 1, 0, 1]
    assert np.flatnonzero(of.folded).tolist() == [0, 3, 7, 8, 11, 14]
    assert CYCLES[of.opcode[:3]].tolist() == [4, 3, 1]


def test_blocks_of_a_loop() -> None:
    of_blocks = _problems(LOOPS)
    names, body = of_blocks["body"]
    leaves = [name for name, leaves in zip(names, body.leaves, strict=True) if leaves]
    assert leaves == ["more", "next", "done"]  # PHI nodes, also of the block itself, and the terminator
    assert len(body.entering_stays) == 5  # x, y, n, and the PHI nodes i, sum
    entering_class = dict(zip(["x", "i", "y", "sum", "n"], body.entering_class.tolist(), strict=True))
    assert entering_class == {"x": 1, "i": 1, "y": 1, "sum": 2, "n": 1}
    assert body.entering_stays.tolist() == [False, False, False, False, True]  # the entry reads n
    assert [names[i] for i in np.flatnonzero(body.folded)] == ["from", "a", "to", "b"]
    names, end = of_blocks['"the end"']
    assert names == ['"a result"', "twice"][1:] + ["last"] and end.operands == ((), (0,)) and end.entering == ((0,), ())


def test_what_x86_folds() -> None:
    ((names, of),) = _problems(FOLDS).values()
    folded = {name for name, folds in zip(names, of.folded, strict=True) if folds}
    assert folded == {"slot", "constant", "scaled", "small", "less", "l3", "l5"}
    registers = dict(zip(names, zip(of.register_class.tolist(), of.registers.tolist(), strict=True), strict=True))
    assert registers["small"] == registers["kind"] == (1, 1)
    entering = [of.entering_registers[k] for k in of.entering[names.index("stored") + 1]]
    assert entering == [0]  # the copy on the stack
    values = of.values
    place = names.index("lower")
    reads = values.reads.items[values.reads.offsets[place] : values.reads.offsets[place + 1]].tolist()
    n = len(names)
    expected = [names.index("l1"), names.index("kind"), n + of.entering[place][0]]
    assert sorted(reads) == sorted(expected)  # what the comparison reads
    assert values.registers[:n][of.folded].sum() == 0


def test_an_order_that_is_not_legal_is_refused() -> None:
    of = drawn(3, 0)
    nothing = np.zeros(3, bool)
    with pytest.raises(ValueError, match="legal order"):
        Problem.of(
            np.eye(3, k=-1, dtype=bool), [[]] * 3, [[]] * 3, [(1, 1)] * 3, [], nothing[:0], nothing, nothing, of.opcode
        )
