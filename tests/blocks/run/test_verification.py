"""The oracle's verdicts: legal orders are equal, illegal ones different, and a block that cannot run has a reason."""

from dataclasses import replace

import numpy as np
import pytest

from learned_schedulers.blocks.dag import dependencies
from learned_schedulers.blocks.run import verification
from learned_schedulers.blocks.run.comparison import compare
from learned_schedulers.blocks.run.native import Native
from learned_schedulers.blocks.run.verification import Verdict, generator, runnable, verify
from tests.blocks.run.conftest import MIXED as MIXED_TEXT
from tests.blocks.run.conftest import SETTINGS, block

MIXED = block(MIXED_TEXT)


def verdicts(native: Native, text: str, *modes: str) -> list[Verdict]:
    return verify(native, block(text), modes or ("full",), SETTINGS)[0]


def test_legal_orders_are_equal_and_their_runs_are_counted(native: Native) -> None:
    results, ran = verify(native, MIXED, ["full", "conservative"], SETTINGS)
    assert ran
    for verdict in results:
        assert verdict.outcome == "equal", verdict
        assert verdict.orders_tried == SETTINGS.orders
        assert verdict.states == SETTINGS.states and verdict.aliased_states == SETTINGS.aliased_states
        assert verdict.state_runs == verdict.orders_tried * verdict.states
        assert verdict.different == 0 and verdict.reason == ""


def test_a_verdict_is_the_same_every_time(native: Native) -> None:
    assert verify(native, MIXED, ["full"], SETTINGS) == verify(native, MIXED, ["full"], SETTINGS)


@pytest.mark.parametrize(
    "order", [[1, 0, 2, 3, 4, 5, 6, 7, 8], [0, 1, 4, 2, 3, 5, 6, 7, 8], [0, 1, 2, 3, 4, 6, 5, 7, 8]]
)
def test_an_order_that_breaks_a_dependency_is_different(native: Native, order: list[int]) -> None:
    program, block_roles = runnable(MIXED)
    rng = np.random.default_rng(0)
    comparison = compare(native, program, block_roles, [list(range(9)), order], 6, 2, rng)
    assert not comparison.lost and len(comparison.states) == 6
    assert max(comparison.column(1)) >= 2
    assert comparison.different == 1 and comparison.difference


def test_every_missing_edge_is_detected(native: Native, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drop one edge of the reduction, and verification finds an order that differs."""
    whole = verification.block_dag

    def without(number: int) -> object:
        def pruned(*arguments: object) -> dependencies.Dag:
            dag = whole(*arguments)
            return replace(dag, edges=dag.edges[:number] + dag.edges[number + 1 :])

        return pruned

    small = block("mov 8(%rsi), %rax\n add $3, %rax\n mov %rax, 16(%rdi)\n adc $0, %rdx")
    n_edges = len(whole(small.code, "full", small.address).edges)
    assert n_edges >= 3
    for number in range(n_edges):
        monkeypatch.setattr(verification, "block_dag", without(number))
        (verdict,), _ = verify(native, small, ["full"], SETTINGS)
        assert verdict.outcome == "different" and verdict.different > 0, number
        assert verdict.difference and sorted(verdict.different_order) == [0, 1, 2, 3]


def test_only_aliased_pointers_reveal_a_memory_dependency(native: Native) -> None:
    """Store and load through two registers: the order matters only if the addresses are equal."""
    small = block("mov %rax, 8(%rsi)\n mov 24(%rdi), %rcx")
    program, block_roles = runnable(small)
    swapped = [[0, 1], [1, 0]]
    without_aliases = compare(native, program, block_roles, swapped, 8, 0, generator(1, small))
    with_aliases = compare(native, program, block_roles, swapped, 8, 8, generator(1, small))
    assert max(without_aliases.column(1)) == 0
    assert max(with_aliases.column(1)) == 2


def test_without_flags_the_paper_s_dependencies_differ(native: Native) -> None:
    """The negative control: the oracle detects dependencies that are incomplete."""
    small = "add %rax, %rcx\n adc %rdx, %rbx\n sub %rsi, %rdi\n sbb %r8, %r9"
    paper, full = verdicts(native, small, "paper", "full")
    assert paper.outcome == "different" and full.outcome == "single order"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("mov %rax, %rcx\n syscall", "system call"),
        ("mov %rax, %rcx\n ud2", "undefined by design"),
        ("xor %ecx, %ecx\n xor %edx, %edx\n div %ecx\n mov %rax, %rbx", "division fault"),
        ("mov $-1, %rcx\n rep stosb\n mov %rax, %rbx", "too many pages"),
        ("mov %rbx, %rax\n rdtsc", "run to run"),
        ("mov $1, %ebx\n ror $1, %rbx\n mov (%rbx), %rax\n mov %rdx, %rsi", "general protection"),
        ("mov %rbx, %rax\n mov %ecx, 16", "no page"),
    ],
)
def test_a_block_that_is_not_runnable_has_a_reason(native: Native, text: str, reason: str) -> None:
    (verdict,) = verdicts(native, text)
    assert verdict.outcome == "not runnable"
    assert reason in verdict.reason
    assert verdict.example
    assert verdict.state_runs == verdict.states == 0
    assert verify(native, MIXED, ["full"], SETTINGS)[1], "the next block runs"
