"""HDP, node_by_node and DOPPLER learn from simulated schedules, and simulate no more than their budget."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from learned_schedulers.graphs.devices import targets
from learned_schedulers.graphs.devices.completion import Completion
from learned_schedulers.graphs.devices.evaluation import Evaluated, evaluated
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.methods import UNSUPPORTED, Budget, Proposals, doppler, make, node_by_node
from learned_schedulers.graphs.methods.hdp import Network, advantages
from learned_schedulers.graphs.methods.hdp import Settings as HdpSettings
from learned_schedulers.graphs.methods.rules.ordering import ordered
from learned_schedulers.graphs.models.whole_graph.surroundings import Surroundings
from learned_schedulers.graphs.problems.problem import Edges, Problem, Transfers
from learned_schedulers.method_settings import entry
from tests.graphs.problems import drawn

pytestmark = pytest.mark.slow

HDP: dict[str, Any] = {"evaluations": 600, "groups": 16, "width": 16, "stay": 0.0}
STILL: dict[str, dict[str, Any]] = {  # learning rates that change nothing
    "hdp": {"learning_rate": 1e-12, "grouper_rate": 1e-12},
    "node_by_node": {"learning_rate": 1e-12},
}


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


def simulated(monkeypatch: pytest.MonkeyPatch, problem: Problem, seed: int, **keys: Any) -> list[Evaluated]:
    """All schedules that node_by_node simulates."""
    schedules: list[Evaluated] = []

    def recorded(*arguments: Any) -> Evaluated:
        schedules.append(evaluated(*arguments))
        return schedules[-1]

    with monkeypatch.context() as patched:
        patched.setattr(node_by_node, "evaluated", recorded)
        evaluations = propose(problem, "node_by_node", seed, **keys).stats["evaluations"][-1]
    assert evaluations == len(schedules)
    return schedules


def test_hdp_finds_the_placement_that_is_clearly_best() -> None:
    problem = chains(8)
    makespans = [best(problem, "hdp", seed, **HDP) for seed in range(2)]
    still = best(problem, "hdp", **(HDP | STILL["hdp"]))
    assert makespans == [8.0] * 2 and still > 8.0


def test_node_by_node_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last 10 of 40 episodes are better than those of a network that does not learn."""
    learned, still = (
        np.mean(
            [
                judged.seconds[0]
                for seed in range(2)
                for judged in simulated(monkeypatch, chains(8), seed, evaluations=640, **keys)[-160:]
            ]
        )
        for keys in ({}, STILL["node_by_node"])
    )
    assert learned < still - 1


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


@pytest.mark.parametrize("method", ["hdp", "node_by_node", "doppler"])
def test_a_seed_decides(method: str) -> None:
    problem = drawn.problem(np.random.default_rng(3), 40, 4, 0.05)
    first, again, another_seed = (propose(problem, method, seed, evaluations=60).placements for seed in (1, 1, 2))
    assert np.array_equal(first, again) and not np.array_equal(first, another_seed)


def test_node_by_node_refuses_large_graphs() -> None:
    proposals = propose(chains(10), "node_by_node", most_operations=19)
    assert proposals.status == UNSUPPORTED and len(proposals.orders) == 0
    assert proposals.message == "20 operations; at most 19 are placed one by one"
    assert len(propose(chains(10), "node_by_node", most_operations=20, evaluations=2).orders) == 1


@pytest.mark.parametrize("evaluations", [1, 16, 17, 50])
def test_node_by_node_simulates_as_often_as_it_may(evaluations: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One schedule at a time: the start, then one for each operation, in episodes of 16."""
    judged = simulated(monkeypatch, chains(8), 0, evaluations=evaluations)
    assert [len(schedule.orders) for schedule in judged] == [1] * evaluations
    changes = [int((a.placements != b.placements).sum()) for a, b in pairwise(judged[:17])]
    assert max(changes, default=0) <= 1


def test_a_step_of_node_by_node_gains_what_it_takes_off_the_makespan() -> None:
    problem = chains(2)
    walk = node_by_node.Walk(problem, np.array([0, 0, 0, 0], np.int32))
    assert walk.place(2, 1) == pytest.approx(1 / 4)  # its result comes back when 0 and 1 have ended
    assert walk.place(3, 1) == pytest.approx(1 / 4)  # two chains side by side
    walk.begin()
    assert walk.placement.tolist() == [0, 0, 0, 0] and walk.costs == [4.0, 3.0, 2.0]
    assert walk.best.placements.tolist() == [[0, 0, 1, 1]] and walk.now.seconds == [4.0]


def test_doppler_imitates_the_critical_path_and_then_learns_more() -> None:
    """Two chains, each best on a device of its own: ten schedules after imitation are better than ten without."""
    problem = chains(8)
    quick: dict[str, Any] = {"width": 16, "learning_rate": 0.01}
    imitated = best(problem, "doppler", evaluations=10, imitations=60, **quick)
    from_nothing = best(problem, "doppler", evaluations=10, imitations=0, **quick)
    assert imitated < from_nothing
    assert best(problem, "doppler", evaluations=600, imitations=0, **quick) < from_nothing


def policies(problem: Problem, seed: int = 0) -> tuple[doppler.Policies, doppler.Read, Completion]:
    """Policies with drawn weights, and a graph that they have read."""
    torch.manual_seed(seed)
    drawn_policies = doppler.Policies(doppler.Settings(method="doppler", width=8))
    for layer in (drawn_policies.select[2], drawn_policies.score):
        torch.nn.init.normal_(layer.weight)
    completion = Completion(problem)
    return drawn_policies, drawn_policies(Surroundings.of(completion), doppler.Paths.of(problem)), completion


def test_doppler_draws_decisions_by_the_probabilities_that_it_learns_from() -> None:
    """Shares of draws are the probabilities: of the first operation, and of devices over all steps."""
    problem = drawn.problem(np.random.default_rng(5), 6, 3, 0.3)
    network, read, completion = policies(problem)
    count = 4000
    uniforms = np.random.default_rng(0).random((count, 6, 2))
    episodes = doppler.play(network, read, problem, completion.lead.urgency, uniforms)
    with torch.no_grad():
        select, place = doppler.logs(network, read, episodes)
    first = episodes.steps == 0
    chances = np.zeros(6)
    chances[episodes.candidates[first]] = select[first].exp().numpy()
    shares = np.bincount(episodes.order[:, 0], minlength=6) / count
    np.testing.assert_allclose(shares, chances, atol=0.03)
    assert chances.sum() == pytest.approx(1, abs=1e-5)
    of_first = place.exp().numpy().reshape(count, 6, 3)[:, 0]  # all devices are empty, so they are alike
    np.testing.assert_allclose(of_first, 1 / 3, atol=1e-5)
    rows = place.exp().numpy()
    devices = np.take_along_axis(episodes.placement, episodes.order, 1).flatten()
    hits = np.bincount(devices, minlength=3) / len(devices)
    np.testing.assert_allclose(hits, rows.mean(0), atol=0.02)


def test_an_episode_is_a_topological_order_and_its_teacher_the_critical_path() -> None:
    problem = drawn.problem(np.random.default_rng(6), 30, 4, 0.1)
    network, read, completion = policies(problem)
    urgency = completion.lead.urgency
    episodes = doppler.play(network, read, problem, urgency, np.random.default_rng(1).random((3, 30, 2)))
    for k in range(3):
        evaluated(problem, episodes.order[[k]], episodes.placement[[k]])  # refuses an order that is not topological
        for t in range(30):
            inside = np.flatnonzero(episodes.steps == 30 * k + t)
            ready = episodes.candidates[inside]
            assert {episodes.chosen[30 * k + t], episodes.expert[30 * k + t]} <= set(inside.tolist())
            assert episodes.order[k, t] == episodes.candidates[episodes.chosen[30 * k + t]]
            assert urgency[episodes.candidates[episodes.expert[30 * k + t]]] == urgency[ready].max()


def test_paths_are_summed_to_their_ends() -> None:
    edges = Edges(np.array([0, 2, 3, 3, 3], np.int32), np.array([1, 2, 3], np.int32))  # 0 -> 1, 0 -> 2, 1 -> 3
    problem = Problem(np.array([1.0, 1.0, 1.0, 5.0]), np.ones(4), edges, 2, Transfers(0.0, 1.0))
    down, up = doppler.Paths.of(problem)
    assert down.tolist() == [1, 3, 4, 4] and up.tolist() == [4, 0, 0, 1]
    values = torch.tensor([[1.0], [10.0], [100.0], [1000.0]])
    assert doppler.summed(values, down).flatten().tolist() == [1011, 1010, 100, 1000]
    assert doppler.summed(values, up).flatten().tolist() == [1, 11, 101, 1011]


def test_doppler_refuses_large_graphs() -> None:
    assert propose(chains(10), "doppler", most_operations=19).status == UNSUPPORTED
