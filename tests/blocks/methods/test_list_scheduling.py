"""Priorities of list scheduling and GCC's rules, by hand; search from list scheduling on; the linear program."""

from __future__ import annotations

import numpy as np
import pytest

from learned_schedulers.blocks.dag.dependencies import Kind
from learned_schedulers.blocks.methods import Budget
from learned_schedulers.blocks.methods.haifa import Haifa
from learned_schedulers.blocks.methods.haifa import Settings as HaifaSettings
from learned_schedulers.blocks.methods.list_scheduling import ListScheduling, list_schedule
from learned_schedulers.blocks.methods.list_scheduling import Settings as ListSettings
from learned_schedulers.blocks.methods.milp import assign
from learned_schedulers.blocks.methods.search import search_in_order
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.processors.in_order import Costs
from tests.blocks.methods.made_up import legal_orders, random_costs, random_precedes

RAW, WAR = int(Kind.REGISTER_RAW), int(Kind.REGISTER_WAR)


def problems(latencies: list[int], conflicts: dict[tuple[int, int], int]) -> Problems:
    """One block; conflicts: (i, k) -> kinds."""
    n = len(latencies)
    kinds = np.zeros((1, n, n), np.uint16)
    for (i, k), kind in conflicts.items():
        kinds[0, i, k] = kind
    return Problems(kinds > 0, np.array([latencies], np.int16), kinds, np.zeros((1, n), np.int32))


def costs(latencies: list[int], units: list[int], delays: dict[tuple[int, int], int] | None = None) -> Costs:
    """One block on two units, of which each instruction holds one for a cycle; two issue in a cycle."""
    n = len(latencies)
    waits = np.zeros((1, n, n), np.int16)
    for (i, k), cycles in (delays or {}).items():
        waits[0, i, k] = cycles
    return Costs(
        micro_ops=np.ones((1, n), np.int32),
        latencies=np.array([latencies], np.int32),
        unit_cycles=np.eye(2, dtype=np.int32)[units][None],
        choice=np.full((1, n), -1, np.int32),
        choice_cycles=np.zeros((1, n), np.int32),
        delays=waits,
        groups=np.zeros(0, np.int64),
        issue_width=2,
    )


def random_problems(rng: np.random.Generator, n: int, size: int) -> tuple[Problems, Costs]:
    precedes = random_precedes(rng, n, size)
    kinds = np.where(precedes, rng.integers(1, 512, precedes.shape), 0).astype(np.uint16)
    rows = np.zeros((size, n), np.int32)
    return Problems(precedes, rng.integers(1, 9, (size, n)).astype(np.int16), kinds, rows), random_costs(rng, n, size)


def test_critical_path_takes_the_longest_path_first() -> None:
    block = problems([1, 1, 5, 1], {(1, 2): RAW, (2, 3): RAW})
    assert list_schedule(block, "critical_path", None).tolist() == [[1, 2, 0, 3]]


def test_source_order_moves_only_what_would_wait() -> None:
    assert list_schedule(problems([4, 1, 1], {(0, 1): RAW}), "source_order", None).tolist() == [[0, 2, 1]]
    assert list_schedule(problems([1, 1, 1], {(0, 1): RAW}), "source_order", None).tolist() == [[0, 1, 2]]


def test_register_pressure_ends_a_value_before_it_makes_another() -> None:
    """0 and 1 make values; 2 reads that of 0, 3 that of 1. The longest path alone would make both values first."""
    block = problems([1, 1, 1, 1], {(0, 2): RAW, (1, 3): RAW})
    assert list_schedule(block, "critical_path", None).tolist() == [[0, 1, 2, 3]]
    assert list_schedule(block, "register_pressure", None).tolist() == [[0, 2, 1, 3]]


def test_a_value_that_another_still_reads_is_not_released() -> None:
    """0 is read by 1 and 2, and only the later of them ends it: the one that makes no value comes first."""
    block = problems([1, 1, 1, 1], {(0, 1): RAW, (0, 2): RAW, (1, 3): RAW})
    assert list_schedule(block, "register_pressure", None).tolist() == [[0, 2, 1, 3]]


def test_on_a_machine_what_can_issue_goes_first() -> None:
    """In the first cycle, the unit of the third instruction is free; that of the second is not."""
    block = problems([1, 1, 1], {})
    assert list_schedule(block, "source_order", costs([1, 1, 1], [0, 0, 1])).tolist() == [[0, 2, 1]]


def test_weighted_height_counts_cycles_of_the_machine() -> None:
    """Nominal latencies prefer 0; those of the machine prefer 1, which has the longer latency there."""
    block = problems([9, 1, 1, 1], {(0, 2): RAW, (1, 3): RAW})
    chip = costs([1, 6, 1, 1], [0, 0, 1, 1], {(0, 2): 1, (1, 3): 6})
    assert list_schedule(block, "critical_path", chip)[0, 0] == 0
    assert list_schedule(block, "weighted_height", chip)[0, 0] == 1


def test_weighted_height_needs_a_machine() -> None:
    with pytest.raises(ValueError, match="weighted_height is in cycles of a machine, and none is given"):
        ListScheduling(ListSettings(method="list_scheduling", priority="weighted_height"))


def haifa(block: Problems, **settings: object) -> list[int]:
    method = Haifa(HaifaSettings.model_validate({"method": "haifa", **settings}))
    order: list[int] = method.solve(block, np.random.default_rng(0), Budget()).orders["none"][0].tolist()
    return order


def test_haifa_by_priority() -> None:
    block = problems([1, 1, 5, 1], {(1, 2): RAW, (2, 3): RAW})
    assert haifa(block) == [1, 0, 2, 3]
    assert haifa(block, rules=[], issue_rate=1) == [0, 1, 2, 3]


def test_haifa_issues_so_many_in_a_cycle() -> None:
    """4 is ready in the second cycle, and goes before the instructions that did not fit into the first."""
    block = problems([1, 1, 1, 1, 1, 1], {(1, 4): RAW, (4, 5): RAW})
    assert haifa(block, issue_rate=2) == [1, 0, 4, 2, 3, 5]
    assert haifa(block, issue_rate=4) == [1, 0, 2, 3, 4, 5]


def test_haifa_by_the_last_instruction() -> None:
    """1 and 2 are ready and of equal priority. 1 has a WAR dependency on 0; 2 does not depend on 0."""
    block = problems([3, 2, 2], {(0, 1): WAR})
    assert haifa(block) == [0, 2, 1]
    assert haifa(block, rules=["priority"]) == [0, 1, 2]


def test_haifa_by_dependents() -> None:
    block = problems([1, 1, 1, 1, 1], {(0, 2): RAW, (1, 3): RAW, (1, 4): RAW})
    assert haifa(block)[0] == 1
    assert haifa(block, rules=["priority", "last_insn"])[0] == 0


def test_search_of_the_only_order_ends() -> None:
    chain = np.triu(np.ones((1, 5, 5), bool), 1)
    block, chip = random_problems(np.random.default_rng(0), 5, 1)
    only = Problems(chain, block.latencies, block.conflicts, block.instructions)
    assert search_in_order(only, chip, 1, 1000, np.random.default_rng(0)).tolist() == [list(range(5))]


def test_the_linear_program_is_solved() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        precedes, weights = random_precedes(rng, 5)[0], rng.integers(0, 20, 5)
        order = assign(precedes, weights, 1000)
        assert order is not None
        legal = legal_orders(precedes)
        value = (weights[legal] * np.arange(5)).sum(1)
        assert order.tolist() in legal.tolist()
        assert (weights[order] * np.arange(5)).sum() == value.min()


def test_a_cycle_has_no_linear_program() -> None:
    with pytest.raises(ValueError, match="have a cycle"):
        assign(np.array([[False, True], [True, False]]), np.ones(2), 1)
