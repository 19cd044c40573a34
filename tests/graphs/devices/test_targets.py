"""Targets: by hand, invariants of noise, and strengths found by bisection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from pipeline.graphs.devices import targets
from pipeline.graphs.devices.simulator import makespans
from pipeline.graphs.problems.problem import Edges, Problem, Transfers
from pipeline.graphs.schedulers.rules.listing import by_critical_path
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


@pytest.mark.parametrize(("name", "ratio"), targets.RATIOS.items())
def test_bisection_gives_the_ratio_that_was_asked_for(name: str, ratio: float) -> None:
    graphs, rng = problems(), np.random.default_rng(3)
    schedules = [by_critical_path(problem) for problem in graphs]
    normals = [targets.hidden(problem, rng) for problem in graphs]
    kinds: dict[str, list[Callable[[float], targets.Target]]] = {
        "noisy": [partial(targets.noisy, p, normals=z) for p, z in zip(graphs, normals, strict=True)],
        "bandwidth": [partial(targets.bandwidth, p) for p in graphs],
        "latency": [partial(targets.latency, p) for p in graphs],
    }
    strength = targets.bisect(graphs, schedules, kinds[name], ratio)
    ratios = [
        targets.speedup_ratio(of(strength), problem, *schedule)
        for of, problem, schedule in zip(kinds[name], graphs, schedules, strict=True)
    ]
    assert np.mean(ratios) == pytest.approx(ratio, abs=1e-6)
    assert targets.bisect(graphs, schedules, kinds[name], ratio) == strength


def test_a_ratio_that_no_strength_reaches_is_refused() -> None:
    alone = replace(PAIR, devices=1)
    schedule = by_critical_path(alone)
    with pytest.raises(ValueError, match=r"list scheduling still has 1\.000 of its speedup, not 0\.5"):
        targets.bisect([alone], [schedule], [partial(targets.latency, alone)], 0.5)


def test_graphs_without_work_or_sizes_have_every_target() -> None:
    empty = Problem(np.zeros(0), np.zeros(0), Edges(np.zeros(1, np.int32), np.zeros(0, np.int32)), 2)
    none = np.zeros((1, 0), np.int32)
    for problem, schedule in ((empty, none), (replace(PAIR, sizes=np.zeros(2)), ORDER)):
        for target in (targets.bandwidth(problem, 2.0), targets.noisy(problem, 1.0, np.zeros((10, len(problem))))):
            assert targets.speedup_ratio(target, problem, schedule[0], schedule[0]) == pytest.approx(1.0)
