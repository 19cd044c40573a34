"""Targets: by hand, and invariants of noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from learned_schedulers.graphs.devices import targets
from learned_schedulers.graphs.devices.simulator import makespans
from learned_schedulers.graphs.problems.problem import Edges, Problem, Transfers
from tests.graphs.problems import drawn

PAIR = Problem(  # 0 -> 1
    seconds=np.array([1.0, 3.0]),
    sizes=np.array([40.0, 0.0]),
    children=Edges(np.array([0, 1, 1], np.int32), np.array([1], np.int32)),
    devices=2,
    transfers=Transfers(1.0, 1.0),
)
ORDER, APART = np.array([[0, 1]]), np.array([[0, 1]])


def problems(count: int = 8) -> list[Problem]:
    rng = np.random.default_rng(2)
    return [drawn.problem(rng, 40, 4, 0.08) for _ in range(count)]


def test_by_hand() -> None:
    """The mean run time is 2 s and the mean size 20 bytes, so 40 bytes take two units at slope 1."""
    assert targets.proxy(PAIR).seconds(ORDER, APART).tolist() == [4.0]
    assert targets.bandwidth(PAIR, 1.0).seconds(ORDER, APART).tolist() == [4.0 + 2 * 2.0]
    assert targets.latency(PAIR, 0.5).seconds(ORDER, APART).tolist() == [4.0 + 1.0]
    assert targets.latency(PAIR, 0.5).seconds(ORDER, 0 * APART).tolist() == [4.0]


def test_without_noise_there_is_the_proxy_and_with_it_the_mean_of_draws() -> None:
    problem = problems(1)[0]
    normals = targets.hidden(problem, np.random.default_rng(0))
    orders, placements = drawn.schedules(problem, np.random.default_rng(1), 5)
    quiet = targets.noisy(problem, 0.0, normals)
    assert len(quiet.draws) == targets.HIDDEN_DRAWS
    assert quiet.seconds(orders, placements) == pytest.approx(targets.proxy(problem).seconds(orders, placements))
    loud = targets.noisy(problem, 0.5, normals)
    each = [makespans(draw, orders, placements) for draw in loud.draws]
    assert loud.seconds(orders, placements) == pytest.approx(np.mean(each, axis=0))
    assert (loud.seconds(orders, placements) >= loud.bound).all() and len({draw.bound for draw in loud.draws}) == 10


def test_noise_has_the_run_times_as_its_mean() -> None:
    problem = replace(problems(1)[0], seconds=np.ones(40))
    normals = np.random.default_rng(0).standard_normal((5000, 40))
    assert targets.noisy(problem, 0.5, normals).mean.seconds.mean() == pytest.approx(1.0, abs=0.01)


def test_graphs_without_work_or_sizes_have_every_target() -> None:
    empty = Problem(np.zeros(0), np.zeros(0), Edges(np.zeros(1, np.int32), np.zeros(0, np.int32)), 2)
    none = np.zeros((1, 0), np.int32)
    for problem, schedule in ((empty, none), (replace(PAIR, sizes=np.zeros(2)), ORDER)):
        for target in (targets.bandwidth(problem, 2.0), targets.noisy(problem, 1.0, np.zeros((10, len(problem))))):
            assert target.seconds(schedule, schedule) == pytest.approx(target.mean.seconds.sum())
