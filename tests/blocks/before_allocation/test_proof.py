"""A proof accepts legal orders of the named blocks, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from learned_schedulers.blocks.before_allocation import llvm
from learned_schedulers.blocks.before_allocation.dependencies import Effects, precedes
from learned_schedulers.blocks.before_allocation.functions import NotProven, functions, prove, reordered
from learned_schedulers.blocks.dag.sampling import random_ready
from tests.blocks.before_allocation.code import LOOPS, OBSERVED

CODE = llvm.read((LOOPS + OBSERVED.partition("\n")[2]).encode(), "two.ll")
FUNCTIONS = {function.name: function for function in functions(CODE.text)}
BODY = next(block for block in FUNCTIONS["loops"].blocks if block.label == "body")
DAG = precedes(BODY, Effects(CODE.text), "loops", CODE.apart)
DAGS = {("loops", "body"): DAG}


def test_legal_orders_are_proven() -> None:
    rng, texts = np.random.default_rng(0), set()
    for _ in range(20):
        text = reordered(CODE.text, [(BODY, random_ready(DAG[None], rng)[0])])
        prove(CODE.text, text, DAGS)
        texts.add(text)
    assert len(texts) > 10


def test_orders_that_break_a_dependency_are_not() -> None:
    first, second = (int(i) for i in np.argwhere(DAG)[0])
    order = np.arange(len(DAG))
    order[[first, second]] = second, first
    with pytest.raises(NotProven, match="loops, block body: its order breaks a dependency"):
        prove(CODE.text, reordered(CODE.text, [(BODY, order)]), DAGS)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("fmul double %a, 1.5", "fmul double %a, 2.5", "block body: its instructions are others"),
        ("fsub double", "fadd double", "outside of the blocks"),
        ("@counter = global i64 0", "@counter = global i64 1", "line .*outside of the blocks"),
        ("define double @loops", "define float @loops", "its blocks are others"),
    ],
)
def test_any_other_change_is_not(old: str, new: str, reason: str) -> None:
    assert old in CODE.text
    with pytest.raises(NotProven, match=reason):
        prove(CODE.text, CODE.text.replace(old, new), DAGS)


def test_equal_instructions_keep_their_sequence() -> None:
    text = "define void @f(ptr %p) {\n  store i64 1, ptr %p, align 8\n  store i64 1, ptr %p, align 8\n  ret void\n}\n"
    code = llvm.read(text.encode(), "equal.ll")
    ((block,),) = [function.blocks for function in functions(code.text)]
    prove(code.text, code.text, {("f", block.label): np.triu(np.ones((2, 2), bool), 1)})
