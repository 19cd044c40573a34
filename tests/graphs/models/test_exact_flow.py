"""On tiny graphs all trajectories are listed, and compared with the exact probabilities of policies."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise, permutations

import numpy as np
import pytest
import torch

from learned_schedulers.graphs.environment.batched import Environment
from learned_schedulers.graphs.models.conditions import PLAIN, Strengths, condition
from learned_schedulers.graphs.models.exact_flow import distribution, levels
from learned_schedulers.graphs.models.flow_loss import estimated_log_z, log_partition, log_partition_variance
from learned_schedulers.graphs.models.policy import Policy
from learned_schedulers.graphs.models.rollout import LogProbabilities, Trajectories, log_probabilities
from learned_schedulers.graphs.models.topoformer import graph_view
from learned_schedulers.graphs.problems.problem import Edges, Problem
from tests.graphs.models.small_policies import SIGMA, policy

Way = tuple[tuple[int, ...], tuple[int, ...]]  # order, placement: devices are numbered as they are first used
Schedule = frozenset[tuple[int, ...]]  # sequence of each device; devices have no names

MOVED = Strengths(slope=0.7, delay=0.2)
PAIRS = ((0, 2), (1, 3))
JOB = Problem(  # 0 -> 2, 1 -> 3
    np.array([0.31, 0.52, 0.17, 0.44]),
    np.array([1.0, 2.0, 3.0, 4.0]),
    Edges(np.array([0, 1, 2, 2, 2], np.int32), np.array([2, 3], np.int32)),
    3,
)
every_network = pytest.mark.parametrize("reads", ["once", "every_step"])
every_sequence = pytest.mark.parametrize("sequence", ["any", "by_start"])


def placements(order: tuple[int, ...], devices: int) -> list[tuple[int, ...]]:
    """Placements of each operation on a device that is already used, or on the next one."""
    partial: list[dict[int, int]] = [{}]
    for i in order:
        partial = [
            placed | {i: device} for placed in partial for device in range(min(len(set(placed.values())) + 1, devices))
        ]
    return [tuple(placed[i] for i in range(len(order))) for placed in partial]


def every_way(devices: int) -> list[Way]:
    orders = [o for o in permutations(range(4)) if all(o.index(i) < o.index(k) for i, k in PAIRS)]
    return [(order, placement) for order in orders for placement in placements(order, devices)]


def schedule(way: Way) -> Schedule:
    order, placement = way
    return frozenset(tuple(i for i in order if placement[i] == device) for device in set(placement))


def starts(job: Problem, way: Way) -> list[float]:
    order, placement = way
    begins, ends, free = [0.0] * 4, [0.0] * 4, [0.0] * job.devices
    for i in order:
        arrivals = [free[placement[i]]]
        for source in (source for source, target in PAIRS if target == i):
            delay = job.transfers.slope * job.sizes[source] + job.transfers.delay
            arrivals.append(ends[source] + (delay if placement[source] != placement[i] else 0.0))
        begins[i] = max(arrivals)
        ends[i] = free[placement[i]] = begins[i] + float(job.seconds[i])
    return begins


def makespan(job: Problem, way: Way) -> float:
    return max(begin + second for begin, second in zip(starts(job, way), job.seconds.tolist(), strict=True))


def ways_of(job: Problem, sequence: str) -> list[Way]:
    """All ways; with `by_start` those in the order of starts, equal ones by number: one for each schedule."""
    every = every_way(job.devices)
    if sequence == "any":
        return every
    return [way for way in every if list(way[0]) == sorted(range(4), key=lambda i: (starts(job, way)[i], i))]


@torch.no_grad()
def log_probabilities_of(network: Policy, job: Problem, ways: list[Way], strengths: Strengths) -> LogProbabilities:
    """The policy's probabilities of these trajectories, which were not drawn."""
    environment = Environment(job, len(ways), network.settings.sequence)
    conditions, graph = condition(job, SIGMA, strengths, len(ways)), network.read(graph_view(job))
    orders, placed = (torch.tensor(part) for part in zip(*ways, strict=True))
    observe = network.observer(environment, torch.from_numpy(job.tails.copy()))
    observations, chosen, devices, removable, before = [], [], [], [], 0
    for step in range(4):
        observations.append(observe())
        operation = orders[:, step]
        index = (observations[-1].operations == operation[observations[-1].rows]).nonzero()[:, 0]
        assert torch.equal(observations[-1].rows[index], torch.arange(len(ways)))  # it may be added
        device = placed.gather(1, operation[:, None])[:, 0]
        environment.step(operation, device)
        chosen.append(index + before)
        devices.append(device)
        removable.append(environment.removable)
        before += len(observations[-1].rows)
    observations.append(observe())
    parts = torch.cat(chosen), torch.cat(devices), torch.cat(removable), orders, placed
    logs = log_probabilities(
        network, graph, Trajectories(type(observations[0]).joined(observations), *parts), conditions
    )
    return LogProbabilities(*(part.double() for part in logs))


def log_rewards(job: Problem, ways: list[Way]) -> torch.Tensor:
    work = float(job.seconds.sum())
    return torch.tensor([(work / makespan(job, way) - job.devices) / SIGMA for way in ways], dtype=torch.float64)


def log_z(job: Problem) -> float:
    """log Z: every schedule counts once."""
    rewards = {schedule(way): (job.seconds.sum() / makespan(job, way) - job.devices) / SIGMA for way in every_way(3)}
    return float(np.logaddexp.reduce(list(rewards.values())))


def totals(ways: list[Way], probabilities: torch.Tensor) -> dict[Schedule, float]:
    """The sum over all trajectories that lead to each schedule."""
    sums: dict[Schedule, float] = defaultdict(float)
    for way, probability in zip(ways, probabilities.tolist(), strict=True):
        sums[schedule(way)] += probability
    return sums


def test_ways_and_schedules_by_hand() -> None:
    """Six orders, fourteen placements each; by start one way to each schedule."""
    assert len(every_way(3)) == 6 * 14 and len(every_way(2)) == 6 * 8
    assert len(ways_of(JOB, "by_start")) == len({schedule(way) for way in every_way(3)})


@every_sequence
@every_network
@pytest.mark.parametrize("backward", ["learned", "uniform"])
def test_trajectories_sum_to_one_forwards_and_those_to_a_schedule_backwards(
    reads: str, sequence: str, backward: str
) -> None:
    """So exp zeta has the mean Z, although P_F is that of an untrained network."""
    network, job = policy(3, reads=reads, sequence=sequence, backward=backward), MOVED.transferring(JOB)
    ways = ways_of(job, sequence)
    logs = log_probabilities_of(network, job, ways, MOVED)
    forward, backwards = logs.forward.sum(0), logs.backward.sum(0)
    assert float(forward.exp().sum()) == pytest.approx(1, abs=1e-5)
    assert set(totals(ways, forward.exp())) == {schedule(way) for way in every_way(3)}
    assert list(totals(ways, backwards.exp()).values()) == pytest.approx([1.0] * len(totals(ways, forward)), abs=1e-5)
    zeta = log_partition(log_rewards(job, ways), logs.forward, logs.backward)
    assert float((forward + zeta).logsumexp(0)) == pytest.approx(log_z(job), abs=1e-5)
    assert float(zeta.std()) > 0.1  # it is not exact


def test_the_exact_flow_of_a_backward_policy_has_one_log_z() -> None:
    """P_F = F(after) P_B / F(before), where F of a state is the flow back into it: each zeta is log Z."""
    ways = every_way(3)
    rewards = dict(zip(map(schedule, ways), log_rewards(JOB, ways).exp().tolist(), strict=True))
    states = [[schedule((way[0][:t], way[1])) - {()} for t in range(5)] for way in ways]
    before: dict[Schedule, set[Schedule]] = defaultdict(set)
    for path in states:
        for parent, child in pairwise(path):
            before[child].add(parent)
    flow: dict[Schedule, float] = defaultdict(float, rewards)
    for child in sorted(before, key=lambda state: -sum(map(len, state))):
        for parent in before[child]:
            flow[parent] += flow[child] / len(before[child])
    backward = [[-np.log(len(before[child])) for child in path[1:]] for path in states]
    forward = [
        [np.log(flow[child] / len(before[child]) / flow[parent]) for parent, child in pairwise(path)] for path in states
    ]
    estimated = log_rewards(JOB, ways), torch.tensor(np.array(forward).T), torch.tensor(np.array(backward).T)
    assert estimated_log_z(*estimated) == pytest.approx(log_z(JOB), abs=1e-9)
    assert estimated_log_z(*(part[..., :5] for part in estimated)) == pytest.approx(log_z(JOB), abs=1e-9)
    assert float(log_partition_variance(*estimated)) == pytest.approx(0, abs=1e-12)
    assert float(estimated[1].sum(0).exp().sum()) == pytest.approx(1)
    network = log_probabilities_of(
        policy(backward="uniform"), JOB, ways, PLAIN
    )  # counts the parents of each state alike
    torch.testing.assert_close(network.backward, estimated[2], atol=1e-6, rtol=1e-6)


@every_network
@every_sequence
@pytest.mark.parametrize("strengths", [PLAIN, MOVED], ids=["proxy", "transfers"])
def test_the_distribution_is_the_sum_over_all_trajectories(reads: str, sequence: str, strengths: Strengths) -> None:
    network, job = policy(4, reads=reads, sequence=sequence), strengths.transferring(JOB)
    flow = distribution(network, JOB, SIGMA, strengths)
    ways = ways_of(job, sequence)
    expected = totals(ways, log_probabilities_of(network, job, ways, strengths).forward.sum(0).exp())
    flow_ways = [(tuple(o), tuple(p)) for o, p in zip(flow.orders.tolist(), flow.placements.tolist(), strict=True)]
    probabilities = dict(zip(map(schedule, flow_ways), flow.probability.tolist(), strict=True))
    assert len(flow_ways) == len(probabilities) == len(expected) and probabilities == pytest.approx(
        dict(expected), abs=1e-6
    )
    assert max(expected.values()) > 2 * min(expected.values())
    np.testing.assert_allclose(flow.makespans, [makespan(job, way) for way in flow_ways], rtol=1e-12)
    assert flow.log_z == pytest.approx(log_z(job)) and flow.target.sum() == pytest.approx(1)
    np.testing.assert_allclose(flow.log_rewards, log_rewards(job, flow_ways), rtol=1e-9)
    assert flow.total_variation == pytest.approx(np.abs(flow.probability - flow.target).clip(0).sum() / 2)
    assert 0.01 < flow.total_variation < 1


def test_the_least_of_both_is_what_total_variation_leaves() -> None:
    flow = distribution(policy(4), JOB, SIGMA)
    assert flow.total_variation == pytest.approx(1 - np.minimum(flow.probability, flow.target).sum(), abs=1e-6)
    perfect = replace(flow, probability=flow.target)
    assert perfect.total_variation == 0


def test_every_level_has_its_states_once() -> None:
    reached = levels(policy(), JOB, SIGMA)
    states = [{schedule((way[0][:t], way[1])) - {()} for way in every_way(3)} for t in range(5)]
    assert [len(level.probability) for level in reached] == [len(network) for network in states]
    assert [float(level.probability.sum()) for level in reached] == pytest.approx([1.0] * 5, abs=1e-5)


def test_what_cannot_be_counted_is_refused() -> None:
    idle = replace(JOB, seconds=np.array([0.0, 1.0, 1.0, 1.0]))
    with pytest.raises(ValueError, match="take no time may be added by start in several sequences"):
        distribution(policy(sequence="by_start"), idle, SIGMA)


def test_a_policy_that_is_not_normalised_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    network = policy()
    right = network.devices
    monkeypatch.setattr(network, "devices", lambda *arguments: right(*arguments) - 0.01)
    with pytest.raises(ValueError, match="the policy is not normalised"):
        distribution(network, JOB, SIGMA)
