"""Orders of users' blocks: legal under the model of memory, not slower in the model, the same in any call."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learned_schedulers.blocks.dag.memory_order import Mark, MemoryDags, MemoryOrder
from learned_schedulers.blocks.order.methods import METHODS, WITHOUT_PROCESSOR, By, serves
from learned_schedulers.blocks.order.orderer import UNKNOWN, Orderer, Status
from learned_schedulers.blocks.order.targets import TARGETS
from tests.blocks import real

CODES = real.table()["code"].to_pylist()[::60]
_ORDERERS: dict[tuple[By, MemoryOrder], Orderer] = {}


def orderer(by: By, memory: MemoryOrder = "tso") -> Orderer:
    """One for atom, which keeps what it has learned."""
    if (by, memory) not in _ORDERERS:
        _ORDERERS[by, memory] = Orderer(by, "atom", memory)
    return _ORDERERS[by, memory]


def violated(code: bytes, order: list[int], memory: MemoryOrder, marks: bytes | None = None) -> list[tuple[int, int]]:
    """Conflicts whose instructions changed places."""
    read = MemoryDags(memory).conflicts([code], None if marks is None else [marks])
    slot = np.argsort(order)
    pairs = zip(read.conflicts.before.tolist(), read.conflicts.after.tolist(), strict=True)
    return [(i, k) for i, k in pairs if slot[i] > slot[k]]


@pytest.mark.parametrize("memory", ["tso", "single_thread"])
@pytest.mark.parametrize("by", METHODS)
def test_orders_are_legal_permutations_and_not_slower(by: By, memory: MemoryOrder) -> None:
    codes = CODES[:20] if by == "cp_sat" else CODES
    answer = orderer(by, memory).order(codes)
    for k, code in enumerate(codes):
        order = answer.of(k).tolist()
        assert sorted(order) == list(range(len(order)))
        assert violated(code, order, memory) == []
        changed = order != sorted(order)
        assert changed == (answer.status[k] == Status.CHANGED)
        if changed and by not in WITHOUT_PROCESSOR:
            assert UNKNOWN < answer.after[k] < answer.before[k]
    assert (answer.status == Status.CHANGED).any()


def test_the_order_of_memory_has_a_price() -> None:
    tso, alone = (orderer("list", memory).order(CODES) for memory in ("tso", "single_thread"))
    assert (tso.status == Status.SINGLE).sum() > (alone.status == Status.SINGLE).sum()


@settings(max_examples=10, deadline=None)
@given(st.permutations(range(12)))
def test_an_order_depends_on_its_block_alone(numbers: list[int]) -> None:
    """Deterministic methods give a block one order, whatever other blocks the call has."""
    codes = [CODES[number] for number in numbers]
    together = orderer("list").order(codes)
    for k, code in enumerate(codes):
        assert together.of(k).tolist() == orderer("list").order([code]).of(0).tolist()


@pytest.mark.slow
def test_the_same_seed_and_turn_give_the_same_orders() -> None:
    first, second = (Orderer("search", "skylake", "tso", seed=3).order(CODES, turn=5) for _ in range(2))
    assert first.order.tolist() == second.order.tolist()


@pytest.mark.slow
def test_random_legal_draws_every_legal_order_and_no_other() -> None:
    code = bytes.fromhex("4889d8" + "480fafc1" + "4889fe" + "4c89c2")  # mov rax, rbx; imul rax, rcx; two more moves
    answers = [Orderer("random_legal", "atom", "tso", seed=seed).order([code]) for seed in range(80)]
    orders = {tuple(answer.of(0).tolist()) for answer in answers}
    assert orders == {order for order in permutations(range(4)) if order.index(0) < order.index(1)}


def test_random_legal_needs_no_model_of_the_processor() -> None:
    code = bytes.fromhex("62f1fd486fc1" + "4889d8" + "4889fe")  # vmovdqa64 zmm0, zmm1, which atom does not have
    assert orderer("list").order([code]).status[0] == Status.UNSUPPORTED
    answers = [Orderer("random_legal", "atom", "tso", seed=seed).order([code]) for seed in range(9)]
    changed = [answer for answer in answers if answer.status[0] == Status.CHANGED]
    assert changed and all(answer.before[0] == answer.after[0] == UNKNOWN for answer in changed)


def test_random_legal_gives_the_same_orders_by_the_same_seed() -> None:
    first, second, other = (Orderer("random_legal", "atom", "tso", seed=seed).order(CODES) for seed in (3, 3, 4))
    assert first.order.tolist() == second.order.tolist() != other.order.tolist()
    assert (first.after > first.before).any()  # an order is taken although it is slower


def test_equal_instructions_that_change_places_are_no_new_order() -> None:
    code = bytes.fromhex("f8f8")  # clc; clc
    answers = [Orderer("random_legal", "atom", "tso", seed=seed).order([code]) for seed in range(9)]
    assert not any(answer.status[0] == Status.CHANGED for answer in answers)


def test_long_blocks_are_ordered_in_parts() -> None:
    code = bytes.fromhex("480fafc9" + "488b06" + "4889d8") * 50  # imul rcx, rcx; mov rax, [rsi]; mov rax, rbx
    answer = orderer("list", "single_thread").order([CODES[0], code, CODES[1]])
    order = answer.of(1).tolist()
    assert sorted(order) == list(range(150)) and len(answer.of(2)) == len(orderer("list").order([CODES[1]]).of(0))
    assert all(sorted(order[begin : begin + 64]) == list(range(begin, min(begin + 64, 150))) for begin in (0, 64, 128))


def test_fixed_instructions_stay() -> None:
    sizes = [len(orderer("list").order([code]).of(0)) for code in CODES[:5]]
    marks = [bytes([int(Mark.FIXED)]) * size for size in sizes]
    assert (orderer("list").order(CODES[:5], marks).status == Status.SINGLE).all()


def test_marks_must_fit() -> None:
    with pytest.raises(ValueError, match="marks"):
        orderer("list").order([CODES[0]], [b""])


def test_a_method_that_does_not_serve_names_another() -> None:
    for by in METHODS:
        for target in TARGETS:
            try:
                serves(by, target)
            except ValueError as error:
                assert "take --by" in str(error)
    with pytest.raises(ValueError, match="--by search"):
        Orderer("cp_sat", "skylake", "tso")


def test_equal_instructions_keep_their_sequence() -> None:
    """So that each keeps what belongs to it, such as its source line."""
    code = bytes.fromhex("48ffc9" + "488b03" + "418b5704" + "48ffc9" + "4889de" + "4889ef")
    for by in ("list", "search", "imitator"):
        order = orderer(by).order([code]).of(0).tolist()
        assert order.index(0) < order.index(3)
