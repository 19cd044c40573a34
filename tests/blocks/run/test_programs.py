"""Code before it runs: assembled, prepared in any order, and the orders themselves."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from iced_x86 import Decoder

from learned_schedulers.blocks.run import layout
from learned_schedulers.blocks.run.executable import HOME, NotRunnable, assemble_all, prepare
from learned_schedulers.blocks.run.legal_orders import draw
from learned_schedulers.blocks.run.machine_code import assemble


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("syscall", "system call"),
        ("int $0x80", "system call"),
        ("ud2", "undefined by design"),
        ("x: jmp x", "branch"),
        ("ret", "branch"),
        ("hlt", "privileged"),
        ("in %dx, %al", "privileged"),
        ("mov %eax, %fs", "segment"),
        ("cpuid", "run to run"),
        ("rdtsc", "run to run"),
        ("rdrand %eax", "run to run"),
        ("popfq", "how the processor runs"),
        ("wrfsbase %rax", "how the processor runs"),
        ("fnstenv (%rax)", "x87"),
    ],
)
def test_code_that_is_never_executed(text: str, reason: str) -> None:
    with pytest.raises(NotRunnable, match=reason) as caught:
        prepare(assemble(f"nop\n{text}").code, 0)
    assert caught.value.example or text == "x: jmp x"


def test_bytes_that_are_not_code_are_not_executed() -> None:
    with pytest.raises(NotRunnable, match="not an instruction"):
        prepare(b"\x06", 0)


@pytest.mark.parametrize("address", [0x1000, 0x401FFB, 0x7FFFFF00])
def test_operands_relative_to_the_instruction_keep_their_targets(address: int) -> None:
    """In all orders, and at all addresses of the pieces, the targets are those of the original code."""
    text = "mov 0x2000(%rip), %rax\n lea -0x30(%rip), %rcx\n nop\n addl $3, 0x123(%rip)"
    program = prepare(assemble(text).code, address)
    code = assemble(text).code
    original = [i.ip_rel_memory_address for i in Decoder(64, code, ip=address) if i.is_ip_rel_memory_operand]
    shift = HOME - address // 4096 * 4096
    orders = [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]]
    slot = layout.slot_bytes(len(code))
    for number, piece in enumerate(assemble_all(program, orders)):
        start = program.start + number * slot
        piece_targets = [i.ip_rel_memory_address for i in Decoder(64, piece, ip=start) if i.is_ip_rel_memory_operand]
        targets = {k: target + shift for k, target in zip((0, 1, 3), original, strict=True)}
        assert piece_targets == [targets[k] for k in orders[number] if k in targets]


def test_code_moves_away_from_its_targets() -> None:
    program = prepare(assemble("addl $1, (%rip)").code, 0x1000)
    (instruction,) = program.instructions
    assert abs(instruction.ip_rel_memory_address - program.start) > 1 << 18


def test_flags_that_stay_undefined() -> None:
    def undefined(text: str) -> int:
        return prepare(assemble(text).code, 0).undefined_flags

    assert undefined("mul %rcx") == 0x4 | 0x10 | 0x40 | 0x80
    assert undefined("mul %rcx\n add %rax, %rcx") == 0
    assert undefined("test %eax, %eax\n shl %cl, %ebx") & 0x10  # by the test, or by the shift
    assert undefined("add %eax, %ebx\n mov %eax, %ecx") == 0


def test_an_undefined_symbol_is_refused() -> None:
    with pytest.raises(ValueError, match="does not define"):
        assemble("call elsewhere")


@st.composite
def predecessors(draw_: st.DrawFn, longest: int) -> list[int]:
    n = draw_(st.integers(1, longest))
    return [draw_(st.integers(0, (1 << i) - 1)) for i in range(n)]


def is_legal(order: tuple[int, ...], predecessor_sets: list[int]) -> bool:
    slot = {i: t for t, i in enumerate(order)}
    return all(slot[i] < slot[k] for k in slot for i in slot if predecessor_sets[k] >> i & 1)


@given(predecessors(12), st.integers(1, 20), st.integers(0, 99))
def test_orders_are_legal_distinct_and_new(predecessor_sets: list[int], count: int, seed: int) -> None:
    orders = draw(predecessor_sets, count, np.random.default_rng(seed))
    assert all(
        sorted(order) == list(range(len(predecessor_sets))) and is_legal(order, predecessor_sets) for order in orders
    )
    assert len(set(orders)) == len(orders) <= count
    assert tuple(range(len(predecessor_sets))) not in orders
    assert orders == draw(predecessor_sets, count, np.random.default_rng(seed))


@given(predecessors(5))
def test_few_orders_are_all_drawn(predecessor_sets: list[int]) -> None:
    all_legal = {order for order in permutations(range(len(predecessor_sets))) if is_legal(order, predecessor_sets)}
    orders = draw(predecessor_sets, 200, np.random.default_rng(0))
    assert set(orders) == all_legal - {tuple(range(len(predecessor_sets)))}


def test_a_sample_contains_the_most_reordered_one() -> None:
    orders = draw([0] * 20, 5, np.random.default_rng(0))
    assert tuple(reversed(range(20))) in orders
    assert len(orders) == 5
