"""Models compared with llvm-mca: what is drawn, what agreement means, and the class of a difference."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.machine_agreement import agreement, cases, deviations, timelines
from benchmarks.machine_agreement.agreement import Cycles
from benchmarks.machine_agreement.deviations import deviation, doubt
from benchmarks.machine_agreement.reduction import reduced
from benchmarks.machine_agreement.table import Instructions, read
from benchmarks.machine_agreement.timelines import Simulated, Timeline
from pipeline.config.evaluation import Evaluation
from pipeline.config.processors import Judge

SETTINGS = Evaluation(bootstrap_samples=100, confidence=0.95, sweep_iterations=[0], example_blocks=1)
CODES = [
    *("4801c3", "488b11", "48891424", "0fafd8", "f20f59c8"),  # addq; movq (%rcx), %rdx; movq %rdx, (%rsp); imull; mulsd
    *("0faef0", "f00fc110", "480f454018"),  # mfence; lock xaddl %edx, (%rax); cmovneq 24(%rax), %rax
    *("4801c9", "4889d9"),  # addq %rcx, %rcx; movq %rbx, %rcx
]
FENCE, LOCKED, CONDITIONAL, COPY = 5, 6, 7, 9
BYTES = pa.chunked_array([[bytes.fromhex(code) for code in CODES]])


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.data())
def test_a_part_still_differs_and_nothing_of_it_can_go(sequence: list[int], draws: st.DataObject) -> None:
    causes = set(draws.draw(st.lists(st.sampled_from(sequence), min_size=1, max_size=3)))
    [part] = reduced([tuple(sequence)], lambda sequences: [causes <= set(part) for part in sequences])
    assert sorted(part) == sorted(causes)
    rest = iter(sequence)
    assert all(instruction in rest for instruction in part)  # in their order


def test_sequences_are_reduced_side_by_side() -> None:
    assert reduced([(1, 2, 3), (3,), (4, 3, 3)], lambda sequences: [3 in part for part in sequences]) == [(3,)] * 3
    with pytest.raises(ValueError, match="agree"):
        reduced([(1, 2)], lambda sequences: [False for _ in sequences])


def test_random_sequences_are_of_known_instructions_and_all_forms() -> None:
    forms, is_known = np.array([7] * 96 + [8, 9, 9, 9]), np.arange(100) < 98
    drawn = cases.at_random(forms, is_known, 200, (4, 6), 3, seed=0)
    assert [part.instructions.shape[1] for part in drawn] == [4, 5, 6]
    assert sum(len(part.instructions) for part in drawn) == 200
    used = np.concatenate([part.instructions.ravel() for part in drawn])
    assert is_known[used].all() and 0.25 < np.mean(forms[used] == 8) < 0.42  # one of three forms
    for part in drawn:
        assert (np.sort(part.orders, 2) == np.arange(part.orders.shape[2])).all()
        assert (part.shown[0, 1] == part.instructions[0, part.orders[0, 1]]).all()
    again = cases.at_random(forms, is_known, 200, (4, 6), 3, seed=0)
    assert all((first.shown == second.shown).all() for first, second in zip(drawn, again, strict=True))


def test_agreement_by_hand() -> None:
    modelled = np.array([[5, 6, 7], [5, 5, 5], [9, 9, 8], [4, 4, 4]])
    reference = np.array([[5, 6, 7], [5, 5, 7], [8, 9, 9], [4, 4, 4]])
    rows = agreement.rows({"target": "atom"}, [Cycles(modelled, reference, 0.5, 4.0)], SETTINGS)
    value = {(row["metric"], row["judge"]): row["value"] for row in rows}
    assert value.pop(("orders_per_second", "model")) == 24 and value.pop(("orders_per_second", "llvm_mca")) == 3
    assert {metric: number for (metric, _), number in value.items()} == {
        "equal_cycles_share": pytest.approx(9 / 12),
        "equal_blocks_share": 0.5,
        "absolute_cycles_difference": pytest.approx((2 + 2) / 12),
        "largest_cycles_difference": 2,
        "rank_correlation": pytest.approx((1 + 0 - 0.5) / 3),  # the last block has no spread, the second one no model's
        "kendall_correlation": pytest.approx((1 + 0 - 0.5) / 3),
        "best_order_share": pytest.approx(2 / 3),
        "orders": 12,
    }
    [equal] = [row for row in rows if row["metric"] == "equal_blocks_share"]
    assert (equal["n"], equal["unit"]) == (4, "share") and 0.1 < equal["low"] < 0.2 and 0.8 < equal["high"] < 0.9


def timeline(*cycles: int) -> np.ndarray:
    return np.array(cycles)


@pytest.mark.parametrize(
    ("model", "simulated", "name"),
    [  # ready and issued; dispatched, ready and issued
        (((0, 0), (1, 2)), ((0, 0), (0, 0), (1, 2)), "retirement"),
        (((0, 3), (1, 3)), ((0, 0), (0, 5), (1, 5)), "late_operand"),
        (((0, 5), (1, 5)), ((0, 0), (0, 3), (1, 3)), "early_operand"),
        (((0, 0), (1, 2)), ((0, 2), (0, 2), (1, 3)), "dispatch"),
        (((0, 0), (1, 2)), ((0, 0), (0, 0), (2, 1)), "selection"),
        (((0, 0), (1, 1)), ((0, 0), (0, 0), (1, 2)), "units"),
        (((0, 0, 9), (1, 1, 9)), ((0, 0, 0), (0, 0, 7), (1, 2, 7)), "units"),  # the first cycle counts
        ((None, (0, 0)), ((0, 1), (0, 1), (0, 1)), "other"),
    ],
)
def test_the_first_difference_names_the_class(model: tuple, simulated: tuple, name: str) -> None:
    ready, issued = model
    by_model = Timeline(None if ready is None else timeline(*ready), timeline(*issued))
    by_llvm_mca, none = Simulated(*(timeline(*cycles) for cycles in simulated)), np.zeros(len(issued), bool)
    first = np.arange(len(issued)) == 0
    assert deviation(by_model, by_llvm_mca, none, none, "") == name
    barrier, move, guessed = (
        deviation(by_model, by_llvm_mca, first, none, ""),
        deviation(by_model, by_llvm_mca, none, first, ""),
        deviation(by_model, by_llvm_mca, none, none, "guessed_units"),
    )
    assert barrier == ("memory_barrier" if name in ("late_operand", "other") else name)
    assert move == ("removed_move" if name == "late_operand" else name)
    assert guessed == ("guessed_units" if name in ("units", "selection") else name)


@pytest.mark.parametrize(
    ("choices", "reason"),
    [
        ([[-1, -1]], ""),
        ([[0, -1], [1, -1]], ""),  # of two instructions
        ([[0, 1]], "ambiguous_units"),
        ([[0, 2]], ""),  # one in the other
        ([[2, 3]], ""),  # apart
        ([[2, 3], [1, 0]], "ambiguous_units"),
    ],
)
def test_units_of_crossing_groups_are_in_doubt(choices: list[list[int]], reason: str) -> None:
    groups, sure = np.array([0b0111, 0b1110, 0b0011, 0b1100]), np.zeros(len(choices), bool)
    assert doubt(sure, np.array(choices), groups) == reason
    assert doubt(~sure, np.array(choices), groups) == "guessed_units"


@pytest.fixture(scope="module")
def haswell(binary: str) -> Instructions:
    return read(BYTES, "haswell", Judge(cpu="haswell", iterations=1), binary)


def test_both_timelines_are_of_the_same_events(binary: str, haswell: Instructions) -> None:
    sequences = np.random.default_rng(0).integers(0, FENCE, (50, 12))
    shown = timelines.simulated([[haswell.texts[i] for i in line] for line in sequences], haswell.judge, binary)
    for line, simulated in zip(sequences, shown, strict=True):
        modelled = timelines.modelled(haswell.chip, line)
        assert modelled.issued.tolist() == simulated.issued.tolist()
        assert np.maximum(modelled.ready, simulated.dispatched).tolist() == simulated.ready.tolist()


@pytest.mark.parametrize(
    ("machine", "sequences", "name", "example"),
    [
        ("haswell", [(0, FENCE, 0, 1), (1, FENCE, 3, 0, 1)], "memory_barrier", "mfence; mov (%rcx),%rdx"),
        ("znver4", [(0, COPY, 8, 8)], "removed_move", "add %rax,%rbx; mov %rbx,%rcx; add %rcx,%rcx"),
        ("silvermont", [(0, LOCKED, 4, CONDITIONAL)], "early_operand", "lock xadd %edx,(%rax); cmovne 0x18(%rax),%rax"),
    ],
)
def test_documented_deviations_get_their_classes(
    binary: str, machine: str, sequences: list[tuple[int, ...]], name: str, example: str
) -> None:
    table = read(BYTES, machine, Judge(cpu=machine, iterations=1), binary)
    [row] = deviations.table({"set": "s", "target": machine}, sequences, table, binary).to_dict("records")
    assert (row["deviation"], row["blocks"], row["example"]) == (name, len(sequences), example)
    assert (row["llvm_mca_cycles"] > row["model_cycles"]) == (name != "early_operand")


def test_no_difference_has_no_rows(binary: str, haswell: Instructions) -> None:
    assert deviations.table({"set": "s", "target": "haswell"}, [], haswell, binary).empty
