"""HDP learns from simulated schedules, and simulates no more than its budget."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from learned_schedulers.graphs.devices import targets
from learned_schedulers.graphs.devices.evaluation import evaluated
from learned_schedulers.graphs.devices.ordering import ordered
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.methods import Budget, Proposals, make
from learned_schedulers.graphs.methods.hdp import Network, advantages
from learned_schedulers.graphs.methods.hdp import Settings as HdpSettings
from learned_schedulers.graphs.problems.problem import Edges, Problem, Transfers
from learned_schedulers.method_settings import entry
from tests.graphs.problems import drawn

pytestmark = pytest.mark.slow

HDP: dict[str, Any] = {"evaluations": 600, "groups": 16, "width": 16, "stay": 0.0}
STILL: dict[str, Any] = {"learning_rate": 1e-12, "grouper_rate": 1e-12}  # they change nothing


def chains(length: int, count: int = 2) -> Problem:
    """As many chains as devices; a transfer takes as long as an operation, so each chain on its own device is best."""
    n = count * length
    sources = np.array([i for i in range(n) if (i + 1) % length])
    offsets = np.r_[0, np.cumsum(np.bincount(sources, minlength=n))].astype(np.int32)
    edges = Edges(offsets, (sources + 1).astype(np.int32))
    return Problem(np.ones(n), np.ones(n), edges, count, Transfers(0.0, 1.0))


def propose(problem: Problem, method: str, seed: int = 0, **keys: Any) -> Proposals:
    settings = entry("graph", method, **keys)
    proxy = targets.proxy(problem).draws[0]
    instance = make(settings, {"target": Target((problem,))})
    return instance.propose(proxy, np.random.default_rng(seed), Budget.of(settings))


def best(problem: Problem, method: str, seed: int = 0, **keys: Any) -> float:
    return float(propose(problem, method, seed, **keys).stats["best"][-1])


def best_of_random(problem: Problem, count: int, seed: int = 0) -> float:
    rng = np.random.default_rng(seed)
    placements = rng.integers(0, problem.devices, (count, len(problem))).astype(np.int32)
    return float(evaluated(problem, ordered(problem, placements), placements).costs.min())


def test_hdp_finds_the_placement_that_is_clearly_best() -> None:
    problem = chains(8)
    makespans = [best(problem, "hdp", seed, **HDP) for seed in range(2)]
    still = best(problem, "hdp", **(HDP | STILL))
    assert makespans == [8.0] * 2 and still > 8.0


@pytest.mark.parametrize("seed", range(2))
def test_hdp_is_better_than_random_placements_at_equal_evaluations(seed: int) -> None:
    problem = chains(15, 4)
    assert best(problem, "hdp", seed, evaluations=300, groups=16) < 0.9 * best_of_random(problem, 300, seed)


def test_hdp_draws_devices_by_the_probabilities_that_it_learns_from() -> None:
    """Without noise each group's device is the likeliest one by the layers, for any weights."""
    torch.manual_seed(0)
    network = Network(HdpSettings(method="hdp", groups=7, width=4, stay=0.5), 3)
    torch.nn.init.normal_(network.choose.weight)
    memory = 2 * torch.randn(50, 7, 8)
    device = network.draw(memory, torch.zeros(7, 50, 3))
    logs = network.logs(memory, device)
    assert torch.equal(logs.argmax(2), device) and len(device.unique()) == 3
    with_noise = network.draw(memory, torch.zeros(7, 50, 3).index_fill_(2, torch.tensor([1]), 1e6))
    assert (with_noise == 1).all()


def test_ranks_are_the_advantage() -> None:
    assert advantages(np.array([0.3, 20.0, 0.2])) == pytest.approx([0.0, -1.7, 1.7])
    assert advantages(np.array([1.0, 1.0])) == pytest.approx([0.0, 0.0]) and advantages(np.array([1.0])) == [0.0]


def test_a_seed_decides() -> None:
    problem = drawn.problem(np.random.default_rng(3), 40, 4, 0.05)
    first, again, another_seed = (propose(problem, "hdp", seed, evaluations=60).placements for seed in (1, 1, 2))
    assert np.array_equal(first, again) and not np.array_equal(first, another_seed)
