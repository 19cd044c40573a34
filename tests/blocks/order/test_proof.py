"""Outcomes of runs: legal orders are equal, broken ones and wrong bytes different; what cannot run has a reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

import pytest

from learned_schedulers.blocks.dag.effects import decode_block
from learned_schedulers.blocks.dag.memory_order import Mark
from learned_schedulers.blocks.order import proof
from learned_schedulers.blocks.order.legality import Legality
from learned_schedulers.blocks.order.proof import SHARES, Change, Outcome, Prover
from learned_schedulers.blocks.run import layout
from learned_schedulers.blocks.run.machine_code import assemble
from learned_schedulers.blocks.run.oracle import Execution, Run, Task
from tests.blocks.order.test_legality import block as block_of
from tests.blocks.order.test_legality import drawn, permuted
from tests.blocks.run.conftest import MIXED


def change(text: str, *orders: Sequence[int], marks: bytes | None = None) -> Change:
    code = assemble(text).code
    written = [permuted(code, order) for order in orders]
    return Change(code, bytes(len(decode_block(code))) if marks is None else marks, [tuple(o) for o in orders], written)


@pytest.fixture(scope="module")
def prover() -> Iterator[Prover]:
    with Prover() as opened:
        yield opened


def test_legal_orders_are_equal(prover: Prover) -> None:
    orders = [drawn(block_of(MIXED), memory, seed) for memory in ("tso", "single_thread") for seed in range(4)]
    (outcomes,) = prover.outcomes([change(MIXED, *orders)])
    assert outcomes == [Outcome("equal", "", 6)] * 8


def test_every_order_of_a_small_block(prover: Prover) -> None:
    """An order is equal if it is legal, in all states; this block has no instruction that is ordered for caution."""
    text = "mov 8(%rsi), %rax\n add $3, %rax\n mov %rax, 16(%rsi)\n sbb $5, %rdx"
    orders = list(permutations(range(4)))
    before, legality = block_of(text), Legality("single_thread")
    after = [permuted(before.code, order) for order in orders]
    legal = [judgement.is_legal for judgement in legality.judge([before] * len(orders), after)]
    (outcomes,) = prover.outcomes([change(text, *orders)])
    assert [outcome.name == "equal" for outcome in outcomes] == legal
    assert 1 < sum(legal) < 24
    assert all(outcome.detail and outcome.states >= 3 for outcome in outcomes if outcome.name == "different")


def test_the_written_bytes_are_compared_with_those_that_run(prover: Prover) -> None:
    right = change("mov 0x100(%rip), %eax\n add %rcx, %rdx\n mov %r8, %r9", (1, 0, 2))
    code = right.code
    same_distance = code[6:9] + code[:6] + code[9:]
    for written in (code, same_distance, right.written[0][:-1], right.written[0][:-1] + b"\xc2", b"\xff" * len(code)):
        (outcomes,) = prover.outcomes([right._replace(written=[written])])
        assert outcomes[0].name == "different" and "written bytes" in outcomes[0].detail
    assert prover.outcomes([right])[0][0].name == "equal"
    linked = right._replace(marks=bytes([Mark.LINKED, 0, 0]), written=[same_distance])
    assert prover.outcomes([linked])[0][0].name == "equal"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("rdtsc\n mov %rbx, %rcx", "result differs from run to run: rdtsc"),
        ("mov %rbx, %rcx\n ud2", "undefined by design"),
        ("xor %ecx, %ecx\n xor %edx, %edx\n div %ecx\n mov %rax, %rbx", ""),
        ("mov %rbx, %rax\n mov %ecx, 16", ": mov [10h],ecx"),
    ],
)
def test_a_block_that_cannot_run_has_a_reason(prover: Prover, text: str, reason: str) -> None:
    good = change("mov %rbx, %rcx\n mov %rsi, %rdi", (1, 0))
    bad = change(text, tuple(range(len(decode_block(assemble(text).code)))))
    first, second = prover.outcomes([bad, good])
    assert first[0].name == "not runnable" and reason in first[0].detail and first[0].detail
    assert second[0].name == "equal", "the next block runs"


def test_what_the_linker_fills_in_gets_an_address(prover: Prover) -> None:
    text = ".byte 0x8b, 4, 0x85, 0, 0, 0, 0\n .byte 0xbf, 0, 0, 0, 0\n mov 8(%rdi), %ecx"  # table(, %rax, 4); $symbol
    marked = change(text, (1, 0, 2), marks=bytes([Mark.LINKED, Mark.LINKED, 0]))
    assert prover.outcomes([marked])[0][0].name == "equal"
    plain = change(text, (1, 0, 2))
    assert prover.outcomes([plain])[0][0].name == "not runnable"


def test_what_the_linker_fills_in_is_aligned_and_may_be_equal(prover: Prover) -> None:
    linked = bytes([Mark.LINKED] * 4)
    loads = assemble(
        "movaps 0(%rip), %xmm1\n movaps 0(%rip), %xmm2\n movaps 0(%rip), %xmm3\n movaps 0(%rip), %xmm4"
    ).code
    reversed_loads = b"".join(loads[k : k + 7] for k in (21, 14, 7, 0))
    assert prover.outcomes([Change(loads, linked, [(3, 2, 1, 0)], [reversed_loads])])[0][0].name == "equal"
    stores = assemble("mov %eax, 0(%rip)\n add $1, %ebx\n mov %ecx, 0(%rip)\n mov %edx, 0(%rip)").code
    first, between, second, third = stores[:6], stores[6:9], stores[9:15], stores[15:]
    marks = bytes([Mark.LINKED, 0, Mark.LINKED, Mark.LINKED])
    orders = [(3, 1, 2, 0), (1, 0, 2, 3)]
    written = [third + between + second + first, between + first + second + third]
    outcomes = prover.outcomes([Change(stores, marks, orders, written)])[0]
    assert [outcome.name for outcome in outcomes] == ["different", "equal"]


def test_a_share_of_the_blocks_runs() -> None:
    changes = [change(f"mov ${k}, %ecx\n mov %rsi, %rdi", (1, 0)) for k in range(60)]
    chosen = []
    for share, seed in ((SHARES["sample"], 1), (SHARES["sample"], 1), (SHARES["sample"], 2), (SHARES["dag"], 1)):
        with Prover(share, seed) as prover:
            chosen.append([outcomes[0].name for outcomes in prover.outcomes(changes)])
    assert chosen[0] == chosen[1] != chosen[2] and set(chosen[3]) == {"not chosen"}
    assert 1 <= chosen[0].count("equal") <= 20 and set(chosen[0]) == {"equal", "not chosen"}
    with Prover(1e-9) as prover:
        assert [outcomes[0].name for outcomes in prover.outcomes(changes)].count("equal") == 1
        assert prover.outcomes([]) == []


def test_an_outcome_depends_on_its_block_alone(prover: Prover) -> None:
    wrong = change(MIXED, (1, 0, 2, 3, 4, 5, 6, 7, 8))
    alone = prover.outcomes([wrong])
    among = prover.outcomes([change("mov %rbx, %rcx\n mov %rsi, %rdi", (1, 0)), wrong, wrong])
    assert alone[0] == among[1] == among[2] and alone[0][0].name == "different"


def test_too_few_states_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 3"):
        Prover(states=2)


class Fragile:
    """An executor that loses its process if one of the pieces begins with a certain byte."""

    def execute(self, task: Task) -> Execution:
        if any(piece[0] == 0x90 for piece in task.pieces):
            return Execution([], "time limit")
        return Execution([Run(None, (layout.EQUAL,) * (len(task.pieces) - 1)) for _ in task.states])

    def __enter__(self) -> Fragile:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def test_an_order_that_ends_its_process_is_different(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "open_executor", Fragile)
    three = change("mov %rbx, %rcx\n nop\n mov %rsi, %rdi", (2, 0, 1), (1, 0, 2), (0, 2, 1))
    always = change("nop\n mov %rbx, %rcx\n mov %rsi, %rdi", (0, 2, 1))
    with Prover() as prover:
        outcomes, lost = prover.outcomes([three, always])
    assert [outcome.name for outcome in outcomes] == ["equal", "different", "equal"]
    assert outcomes[1].detail == "the new order ends its process: time limit"
    assert lost == [Outcome("not runnable", "time limit")]
