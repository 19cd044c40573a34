"""Live registers by hand, and against the definition, value by value."""

from __future__ import annotations

import numpy as np
import pytest

from learned_schedulers.blocks.before_allocation.pressure import excess, peak, pressure
from learned_schedulers.blocks.before_allocation.problem import Problem
from learned_schedulers.blocks.dag.sampling import random_ready
from tests.blocks.before_allocation.random_problems import chain, drawn


def _alive(problem: Problem, order: np.ndarray) -> np.ndarray:
    """Registers behind each slot, (n, 2): every value is looked at in every slot."""
    n, slot = len(order), np.argsort(order)
    result = np.zeros((n, 2), np.int64)

    def last(number: int, enters: bool) -> int:
        """The last slot that reads a value, n if it is read behind the block, -1 if nothing reads it."""
        stays = problem.entering_stays[number] if enters else problem.leaves[number]
        table = problem.entering if enters else problem.operands
        readers = [i for i in range(n) if number in table[i]]
        slots = [last(i, False) if problem.folded[i] else int(slot[i]) for i in readers]
        return n if stays else max(slots, default=-1)

    for enters in (False, True):
        kinds = problem.entering_class if enters else problem.register_class
        counts = problem.entering_registers if enters else problem.registers
        for number, (kind, count) in enumerate(zip(kinds.tolist(), counts.tolist(), strict=True)):
            if kind and (enters or not problem.folded[number]):
                begin = 0 if enters else int(slot[number])
                end = last(number, enters)
                result[begin : max(end, begin + (not enters)), kind - 1] += count
    return result


@pytest.mark.parametrize("seed", range(40))
def test_live_registers_are_those_of_the_definition(seed: int) -> None:
    problem = drawn(seed, seed, enters=seed % 5, nearness=0.2)
    order = random_ready(problem.precedes[None], np.random.default_rng(seed))[0]
    expected = _alive(problem, order)
    assert pressure(problem, order).tolist() == expected.tolist()
    assert peak(problem, order).tolist() == expected.max(0, initial=0).tolist()
    assert excess(problem._replace(limits=(2, 1)), order) == np.maximum(expected - [2, 1], 0).sum()


def test_a_sum_by_hand() -> None:
    """a and b enter, b stays; 0 reads a; 1 reads b and needs two registers; 2 reads 0 and 1; 3 reads 2 and leaves."""
    nothing = np.zeros(4, bool)
    precedes = np.zeros((4, 4), bool)
    precedes[[0, 1, 2], [2, 2, 3]] = True
    problem = Problem.of(
        precedes,
        [[], [], [0, 1], [2]],
        [[0], [1], [], []],
        [(1, 1), (1, 2), (2, 1), (1, 1)],
        [(1, 1), (1, 1)],
        np.array([False, True]),
        nothing | [False, False, False, True],
        nothing,
        np.zeros(4),
    )
    assert pressure(problem, np.arange(4)).tolist() == [[2, 0], [4, 0], [1, 1], [2, 0]]
    assert pressure(problem, np.array([1, 0, 2, 3])).tolist() == [[4, 0], [4, 0], [1, 1], [2, 0]]
    assert excess(problem._replace(limits=(3, 0)), np.array([1, 0, 2, 3])) == 3


def test_a_chain_needs_a_register() -> None:
    assert pressure(chain(5), np.arange(5)).tolist() == [[1, 0]] * 5
    assert pressure(chain(0), np.arange(0)).shape == (0, 2) and peak(chain(0), np.arange(0)).tolist() == [0, 0]
    assert excess(chain(0), np.arange(0)) == 0
