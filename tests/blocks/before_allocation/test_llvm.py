"""LLVM reads, refuses with the file's name, and emits what it is given in the order that it is given."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from learned_schedulers.blocks.before_allocation import llvm
from learned_schedulers.blocks.before_allocation.costs import counts
from learned_schedulers.blocks.before_allocation.functions import functions, reordered
from tests.blocks.before_allocation.code import HEADER, MIXED

VALUES = 24
LINES = [  # each value is read twice: a single reader would be moved to it by LLVM (live range shrinking)
    f"  %a{i} = getelementptr i64, ptr %p, i64 {i}\n  %x{i} = load i64, ptr %a{i}\n"
    f"  %y{i} = mul i64 %x{i}, {2 * i + 3}\n"
    f"  %s{i} = xor i64 {f'%s{i - 1}' if i else '%n'}, %y{i}\n  %t{i} = sub i64 %y{i}, {f'%t{i - 1}' if i else '%n'}\n"
    for i in range(VALUES)
]
SUMS = f"{HEADER}\ndefine i64 @sums(ptr %p, i64 %n) {{\n{''.join(LINES)}  %u = mul i64 %s23, %t23\n  ret i64 %u\n}}\n"


def test_names_are_added_once() -> None:
    code = llvm.read(MIXED.encode(), "mixed.ll")
    again = llvm.read(code.text.encode(), "mixed.ll")
    assert "%4 =" in MIXED and "%4 =" not in code.text and again.text.partition("\n")[2] == code.text.partition("\n")[2]
    assert again.apart == code.apart


def test_refusals_name_the_file() -> None:
    for content in (b"define", b"\xff\xfe", b"BC\xc0\xde1234", MIXED.replace("%16\n}", "%17\n}").encode()):
        with pytest.raises(llvm.LlvmError, match=r"^odd\.ll: LLVM cannot read this: "):
            llvm.read(content, "odd.ll")


def test_lower_limits_of_the_user_are_kept() -> None:
    """As `ulimit -t 300` sets them, and clusters."""
    command = [sys.executable, "-m", "learned_schedulers.blocks.before_allocation.llvm_child", "text"]
    ended = subprocess.run(
        ["prlimit", "--cpu=300:300", "--as=6000000000:6000000000", *command],
        input=MIXED.encode(),
        capture_output=True,
        check=False,
    )
    assert ended.returncode == 0 and b"define" in ended.stdout, ended.stderr


def test_the_order_of_the_text_is_the_order_of_the_assembly() -> None:
    """Twenty-four values that live together are spilled; next to their uses they are not."""
    code = llvm.read(SUMS.encode(), "sums.ll")
    ((block,),) = [function.blocks for function in functions(code.text)]
    names = {item.result: i for i, item in enumerate(block.items)}
    later = [names[f"%{letter}{i}"] for i in range(VALUES) for letter in "axyst"]
    first = [names[f"%{letter}{i}"] for i in range(VALUES) for letter in "axy"]
    first += [names[f"%{letter}{i}"] for letter in "st" for i in range(VALUES)]
    with llvm.Emitter("unscheduled", "x86-64") as emitter:
        together, near = (
            emitter.assembly(reordered(code.text, [(block, np.array([*order, names["%u"]]))]), "sums.ll")
            for order in (first, later)
        )
    spilled, fitting = (counts(assembly)["sums"] for assembly in (together, near))
    assert spilled.spills >= 8 and spilled.reloads >= spilled.spills
    assert fitting.spills == fitting.reloads == 0 and 90 < fitting.instructions < spilled.instructions


def test_an_emitter_goes_on_after_code_that_it_refuses() -> None:
    with llvm.Emitter() as emitter:
        with pytest.raises(llvm.LlvmError, match=r"^odd\.ll: LLVM cannot compile this: .*expected"):
            emitter.assembly("define", "odd.ll")
        assert "sums:" in emitter.assembly(SUMS, "sums.ll")


def test_an_order_that_is_no_permutation_is_refused() -> None:
    (function,) = functions(MIXED)
    with pytest.raises(ValueError, match="block entry: the order is no permutation"):
        reordered(MIXED, [(function.blocks[0], np.zeros(16, np.int64))])
