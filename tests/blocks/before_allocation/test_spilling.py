"""Simulated spills: by hand, none where registers suffice, and never fewer than any allocator of the model needs."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import pytest

from learned_schedulers.blocks.before_allocation.pressure import excess
from learned_schedulers.blocks.before_allocation.problem import Problem
from learned_schedulers.blocks.before_allocation.spilling import spilling
from tests.blocks.before_allocation.random_problems import chain, drawn


def _plain(n: int, operands: list[list[int]]) -> Problem:
    """n instructions, whose results need a general register each."""
    precedes, nothing = np.zeros((n, n), bool), np.zeros(n, bool)
    for i, each in enumerate(operands):
        precedes[each, i] = True
    return Problem.of(
        precedes, operands, [[]] * n, [(1, 1)] * n, [], nothing[:0], nothing, nothing, np.zeros(n, np.int64)
    )


def test_the_value_that_is_read_latest_is_stored_once() -> None:
    """Two registers: 0 is read last, and by two instructions, so it is stored in slot 2, and loaded once."""
    of = _plain(6, [[], [], [], [1, 2], [0, 3], [0, 4]])._replace(limits=(2, 0))
    assert spilling(of, np.arange(6)) == (1, 1)
    assert spilling(of._replace(limits=(3, 0)), np.arange(6)) == (0, 0)
    assert spilling(of, np.array([1, 2, 3, 0, 4, 5])) == (0, 0)
    assert spilling(chain(0), np.arange(0)) == (0, 0)


@pytest.mark.parametrize("seed", range(30))
def test_registers_suffice_where_nothing_exceeds_them(seed: int) -> None:
    problem = drawn(30, seed, nearness=0.3)
    order = np.arange(30)
    for limits in ((4, 4), (8, 5), (12, 8), (40, 40)):
        limited = problem._replace(limits=limits)
        assert (excess(limited, order) == 0) <= (spilling(limited, order) == (0, 0))
    assert spilling(limited, order) == (0, 0) and sum(spilling(problem._replace(limits=(3, 2)), order)) > 0


def _fewest_reloads(problem: Problem) -> int:
    """The fewest loads of any allocator for the order as it stands, if stores cost nothing; every choice is tried."""
    n, reads = len(problem.leaves), [set(each) for each in problem.operands]
    room = problem.limits[0]

    @cache
    def from_slot(t: int, inside: frozenset[int]) -> int:
        if t == n:
            return 0
        loads = len(reads[t] - inside)
        later = set().union(*reads[t + 1 :]) if t + 1 < n else set()
        ready = (inside | reads[t]) & (later | reads[t])
        best = n * n
        for before in _within(frozenset(ready), frozenset(reads[t]), room):
            after = (before & later) | ({t} & later)
            best = min(best, *(loads + from_slot(t + 1, each) for each in _within(after, {t} & after, room)))
        return best

    return from_slot(0, frozenset())


def _within(values: frozenset[int], fixed: set[int] | frozenset[int], room: int) -> list[frozenset[int]]:
    """Largest choices of the values that a number of registers has room for, with the fixed values."""
    others = sorted(values - fixed)
    size = min(len(others), room - len(fixed))
    return [frozenset(fixed) | frozenset(each) for each in combinations(others, size)]


@pytest.mark.parametrize("seed", range(20))
def test_reloads_are_the_fewest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    operands = [sorted({int(k) for k in rng.integers(0, i, rng.integers(0, 3))}) if i else [] for i in range(14)]
    problem = _plain(14, operands)._replace(limits=(3, 0))
    assert spilling(problem, np.arange(14)).reloads == _fewest_reloads(problem)
