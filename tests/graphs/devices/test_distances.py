"""Distances of start times: by hand, against loops over pairs, and their invariances."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.graphs.devices.distances import start_distances
from learned_schedulers.graphs.problems.problem import Edges, Problem
from tests.graphs.problems import drawn

SEEDS = st.integers(0, 2**32 - 1)
APART = Problem(np.array([1.0, 3.0]), np.zeros(2), Edges(np.zeros(3, np.int32), np.zeros(0, np.int32)), 2)  # mean 2 s


def distances(problem: Problem, *schedules: tuple[list[int], list[int]]) -> tuple[float, float]:
    orders, placements = (np.array(part, np.int32) for part in zip(*schedules, strict=True))
    return start_distances(problem, orders, placements)


def starts(problem: Problem, order: list[int], placement: list[int]) -> list[float]:
    """Start times: as soon as the device is free and all results have arrived."""
    ends: dict[int, float] = {}
    free = [0.0] * problem.devices
    edges = list(zip(problem.children.sources.tolist(), problem.children.targets.tolist(), strict=True))
    for i in order:
        arrivals = [free[placement[i]]]
        for source, target in edges:
            if target == i:
                away = placement[source] != placement[i]
                delay = problem.transfers.slope * problem.sizes[source] + problem.transfers.delay
                arrivals.append(ends[source] + away * delay)
        ends[i] = free[placement[i]] = max(arrivals) + problem.seconds[i]
    return [ends[i] - problem.seconds[i] for i in range(len(problem))]


def by_hand(problem: Problem, orders: np.ndarray, placements: np.ndarray) -> tuple[float, float]:
    """Mean distance, pair by pair, of coordinates (operation, device); devices in the order of their first starts."""
    unit = problem.seconds.sum() / len(problem)
    every = []
    for order, placement in zip(orders.tolist(), placements.tolist(), strict=True):
        begins = starts(problem, order, placement)
        names = list(dict.fromkeys(placement[i] for i in sorted(order, key=lambda i: (begins[i], i))))
        every.append([(begins[i] / unit, names.index(placement[i])) for i in range(len(problem))])
    when, placed = [], []
    for first, second in combinations(every, 2):
        plain, with_device = 0.0, 0.0
        for (a, device_a), (b, device_b) in zip(first, second, strict=True):
            plain += (a - b) ** 2
            with_device += (a - b) ** 2 if device_a == device_b else a**2 + b**2
        when.append((plain / len(problem)) ** 0.5)
        placed.append((with_device / len(problem)) ** 0.5)
    return float(np.mean(when)), float(np.mean(placed))


def test_two_operations_by_hand() -> None:
    """On two devices both start at 0; on one device the second starts at 1 s, or the first at 3 s."""
    beside, first, second = ([0, 1], [0, 1]), ([0, 1], [0, 0]), ([1, 0], [1, 1])
    assert distances(APART, beside, first) == pytest.approx((0.5 / 2**0.5,) * 2)
    assert distances(APART, beside, second) == pytest.approx((1.5 / 2**0.5,) * 2)
    assert distances(APART, first, second)[0] == pytest.approx(((0.25 + 2.25) / 2) ** 0.5)
    whole = np.mean([0.5 / 2**0.5, 1.5 / 2**0.5, 1.25**0.5])
    assert distances(APART, beside, first, second)[0] == pytest.approx(whole)


def test_equal_times_on_different_devices_are_apart_by_when_and_where_alone() -> None:
    """Four operations of 1 s: 3 follows 0, or 3 follows 1; all starts are equal."""
    four = Problem(np.ones(4), np.zeros(4), Edges(np.zeros(5, np.int32), np.zeros(0, np.int32)), 2)
    when, placed = distances(four, ([0, 1, 2, 3], [0, 1, 0, 1]), ([0, 1, 2, 3], [0, 1, 1, 0]))
    assert when == 0 and placed == pytest.approx((4 / 4) ** 0.5)  # two operations, 1 on either device: 1 + 1 each


@given(SEEDS, st.integers(1, 9), st.integers(1, 4), st.integers(2, 5))
def test_against_loops_over_pairs(seed: int, n: int, devices: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    problem = drawn.problem(rng, n, devices)
    problem = replace(problem, seconds=problem.seconds + 0.01)
    schedules = drawn.schedules(problem, rng, count)
    assert start_distances(problem, *schedules) == pytest.approx(by_hand(problem, *schedules), abs=1e-9)


def test_the_same_schedule_in_another_order_is_at_the_same_place() -> None:
    """0 and 1 begin at the same time on two devices, in both orders."""
    four = Problem(np.ones(4), np.zeros(4), Edges(np.zeros(5, np.int32), np.zeros(0, np.int32)), 2)
    assert distances(four, ([0, 1, 2, 3], [0, 1, 0, 1]), ([1, 0, 2, 3], [0, 1, 0, 1])) == (0.0, 0.0)


@given(SEEDS, st.integers(2, 4))
def test_names_of_devices_and_the_unit_of_time_do_not_matter(seed: int, devices: int) -> None:
    rng = np.random.default_rng(seed)
    problem = replace(drawn.problem(rng, 8, devices), seconds=rng.random(8) + 0.1)
    orders, placements = drawn.schedules(problem, rng, 3)
    expected = start_distances(problem, orders, placements)
    renamed = np.stack([rng.permutation(devices)[placement] for placement in placements]).astype(np.int32)
    assert start_distances(problem, orders, renamed) == pytest.approx(expected)
    # A power of 2 does not change rounding, which could change the sequence of equal starts.
    transfers = replace(problem.transfers, slope=8 * problem.transfers.slope, delay=8 * problem.transfers.delay)
    slower = replace(problem, seconds=8 * problem.seconds, transfers=transfers)
    assert start_distances(slower, orders, placements) == pytest.approx(expected)
    when, placed = expected
    assert placed >= when - 1e-12  # a different device never reduces a distance


def test_nothing_to_compare() -> None:
    order = np.array([[0, 1]], np.int32)
    assert start_distances(APART, order, 0 * order) == (0.0, 0.0)
    assert start_distances(APART, order[:0], order[:0]) == (0.0, 0.0)
    assert distances(APART, ([0, 1], [0, 0]), ([0, 1], [1, 1])) == (0.0, 0.0)
    assert distances(replace(APART, seconds=np.zeros(2)), ([0, 1], [0, 0]), ([1, 0], [0, 1])) == (0.0, 0.0)
    empty = Problem(np.zeros(0), np.zeros(0), Edges(np.zeros(1, np.int32), np.zeros(0, np.int32)), 2)
    assert start_distances(empty, np.zeros((3, 0), np.int32), np.zeros((3, 0), np.int32)) == (0.0, 0.0)
