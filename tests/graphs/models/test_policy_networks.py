"""The network: probabilities depend on the state alone, sum to one, and are those by which schedules are drawn."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from learned_schedulers.graphs.environment.batched import Environment
from learned_schedulers.graphs.methods.rules.listing import by_critical_path
from learned_schedulers.graphs.models import fused, ppo_loss
from learned_schedulers.graphs.models.conditions import PLAIN, condition
from learned_schedulers.graphs.models.flow_loss import log_partition_variance
from learned_schedulers.graphs.models.policy import Policy, make
from learned_schedulers.graphs.models.rollout import Trajectories, log_probabilities
from learned_schedulers.graphs.models.topoformer import GraphView, graph_view
from learned_schedulers.graphs.problems.problem import Problem
from tests.graphs.models import small_policies
from tests.graphs.models.observer import Observer
from tests.graphs.models.small_policies import SIGMA, TOLD, Steps, policy, probabilities, problem, steps
from tests.graphs.problems import drawn

pytestmark = pytest.mark.slow

SEQUENCES = ("any", "by_start")
SEEDS = st.integers(0, 2**32 - 1)
CLOSE = {"atol": 1e-4, "rtol": 0}

every_sequence = pytest.mark.parametrize("sequence", SEQUENCES)


def drawn_trajectories(
    network: Policy, job: Problem, batch: int, seed: int
) -> tuple[Trajectories, GraphView, torch.Tensor]:
    """Trajectories, the view of the graph, and the conditions, (B, N_CONDITIONS)."""
    moved = TOLD.transferring(job)
    environment = Environment(moved, batch, network.settings.sequence)
    conditions, view = condition(job, SIGMA, TOLD, batch), graph_view(job)
    with torch.no_grad():
        graph = network.read(view)
    generator = torch.Generator().manual_seed(seed)
    return fused.trajectories(network, graph, moved, environment, conditions, generator), view, conditions


@every_sequence
@given(SEEDS, st.integers(1, 8), st.integers(1, 4))
@settings(max_examples=10)
def test_probabilities_of_a_state_sum_to_one(sequence: str, seed: int, n: int, devices: int) -> None:
    network, job = policy(sequence=sequence), problem(seed, n, devices)
    route = steps(network, job, seed)
    half = route[: seed % n]
    current, last = probabilities(network, job, half), probabilities(network, job, route)
    assert current.forward.sum() == pytest.approx(1, abs=1e-5) and (current.forward >= 0).all()
    assert not current.forward[[operation for operation, _ in half]].any()  # each operation once
    assert (current.forward[:, devices_of(half) + 1 :] == 0).all()  # of the empty devices the first
    assert current.backward.sum() == pytest.approx(float(bool(half)), abs=1e-5)
    assert last.backward.sum() == pytest.approx(1, abs=1e-5) and not last.forward.any()
    assert (last.backward[devices_of(route) :] == 0).all() and last.backward[route[-1][1]] > 0


def devices_of(route: Steps) -> int:
    """Number of devices with an operation."""
    return len({device for _, device in route})


def test_these_networks_prefer_something() -> None:
    """Otherwise the equalities in the tests below would hold for everything."""
    network, job, route = policy(), problem(0, 8, density=0.0), [(0, 0), (1, 1), (2, 2), (3, 0)]
    current = probabilities(network, job, route)
    assert current.forward.max() > 1.5 * current.forward[current.forward > 0].min() and (current.backward > 0).all()
    assert current.backward.max() > 1.1 * current.backward.min()
    for changed in (
        probabilities(network, job, route, sigma=5 * SIGMA),
        probabilities(network, job, route, strengths=PLAIN),
    ):
        assert (
            abs(changed.forward - current.forward).max() > 0.01
            and abs(changed.backward - current.backward).max() > 1e-3
        )


@given(SEEDS, st.integers(4, 8), st.integers(2, 4))
@settings(max_examples=15, suppress_health_check=[HealthCheck.filter_too_much])
def test_devices_have_no_names(seed: int, n: int, devices: int) -> None:
    """The same state by a route on which its devices get their first operations in another sequence."""
    network, job = policy(), problem(seed, n, devices)
    route = steps(network, job, seed)[: 3 + seed % (n - 2)]
    other_route, name = elsewhere(job, route, np.random.default_rng(seed))
    assume(name != sorted(name))
    first, second = probabilities(network, job, route), probabilities(network, job, other_route)
    np.testing.assert_allclose(second.forward[:, name], first.forward, **CLOSE)
    np.testing.assert_allclose(second.backward[name], first.backward, **CLOSE)


def elsewhere(job: Problem, route: Steps, rng: np.random.Generator) -> tuple[Steps, list[int]]:
    """Other steps to the same state, and the new number of each device; empty devices keep their numbers."""
    chains: dict[int, list[int]] = {}
    for operation, device in route:
        chains.setdefault(device, []).append(operation)
    waiting, names, new_route = dict(chains), {}, []
    while any(waiting.values()):
        scheduled = {operation for operation, _ in new_route}
        parents = {d: parents_of(job, chain[0]) for d, chain in waiting.items() if chain}
        device = int(rng.choice([d for d, needed in parents.items() if needed <= scheduled]))
        names.setdefault(device, len(names))
        new_route.append((waiting[device][0], names[device]))
        waiting[device] = waiting[device][1:]
    return new_route, [names.get(device, device) for device in range(job.devices)]


def parents_of(job: Problem, operation: int) -> set[int]:
    offsets = job.parents.offsets
    return set(job.parents.targets[offsets[operation] : offsets[operation + 1]].tolist())


@given(SEEDS, st.integers(2, 9))
@settings(max_examples=15)
def test_another_numbering_permutes_the_probabilities(seed: int, n: int) -> None:
    network, job = policy(), problem(seed, n)
    order = drawn.schedules(job, np.random.default_rng(seed), 1)[0][0]
    number = np.argsort(order)
    route = steps(network, job, seed)[: seed % n]
    new_route = [(int(number[operation]), device) for operation, device in route]
    first, second = probabilities(network, job, route), probabilities(network, drawn.renumbered(job, order), new_route)
    np.testing.assert_allclose(second.forward, first.forward[order], **CLOSE)
    np.testing.assert_allclose(second.backward, first.backward, **CLOSE)


@every_sequence
@given(SEEDS, st.integers(1, 9))
@settings(max_examples=10)
def test_another_unit_of_time_changes_nothing(sequence: str, seed: int, n: int) -> None:
    network, job = policy(sequence=sequence), problem(seed, n)
    scaled = replace(job, seconds=1000 * job.seconds)
    route = steps(network, job, seed)[: seed % (n + 1)]
    first, second = probabilities(network, job, route), probabilities(network, scaled, route)
    np.testing.assert_allclose(second.forward, first.forward, **CLOSE)
    np.testing.assert_allclose(second.backward, first.backward, **CLOSE)


@every_sequence
@given(SEEDS, st.integers(1, 12))
@settings(max_examples=15)
def test_before_training_the_first_operation_is_that_of_list_scheduling(sequence: str, seed: int, n: int) -> None:
    job = problem(seed, n)
    torch.manual_seed(seed)
    listed = make(small_policies.settings(sequence=sequence, start="list")).eval()
    of_operations = probabilities(listed, job, [], sigma=0.05, strengths=PLAIN).forward.sum(1)
    order, _ = by_critical_path(job)
    assert of_operations[order[0]] == pytest.approx(of_operations.max(), rel=1e-5)
    assert job.tails[of_operations.argmax()] == pytest.approx(job.tails.max(), rel=1e-5)
    torch.manual_seed(seed)
    without = make(small_policies.settings(sequence=sequence, start="nothing")).eval()
    of_operations = probabilities(without, job, [], sigma=0.05, strengths=PLAIN).forward.sum(1)
    ready = np.diff(job.parents.offsets) == 0
    np.testing.assert_allclose(of_operations, ready / ready.sum(), **CLOSE)


@every_sequence
def test_log_probabilities_are_those_of_every_step_by_itself(sequence: str) -> None:
    """Forwards, backwards and the entropy, compared with the states of each trajectory one by one."""
    network, job = policy(sequence=sequence), problem(3, 5)
    rollouts, view, conditions = drawn_trajectories(network, job, 4, seed=1)
    with torch.no_grad():
        logs = log_probabilities(network, network.read(view), rollouts, conditions)
    assert all(part.shape == (5, 4) and part.dtype == torch.float32 for part in logs)
    for b, (order, placement) in enumerate(zip(rollouts.orders.tolist(), rollouts.placements.tolist(), strict=True)):
        route = [(operation, placement[operation]) for operation in order]
        for step, (operation, device) in enumerate(route):
            current, after = probabilities(network, job, route[:step]), probabilities(network, job, route[: step + 1])
            assert float(logs.forward[step, b]) == pytest.approx(np.log(current.forward[operation, device]), abs=1e-4)
            backward = after.backward[device] if sequence == "any" else 1.0  # by start there is one parent
            assert float(logs.backward[step, b]) == pytest.approx(np.log(backward), abs=1e-4)
            entropy = current.entropies[0] + current.entropies[1 + operation]
            assert float(logs.entropy[step, b]) == pytest.approx(entropy, abs=1e-4)


def test_uniform_backward_probabilities_count_what_can_be_removed() -> None:
    network, job = policy(backward="uniform"), problem(3, 6, density=0.1)
    rollouts, view, conditions = drawn_trajectories(network, job, 4, seed=1)
    with torch.no_grad():
        backward = log_probabilities(network, network.read(view), rollouts, conditions).backward.exp()
    for b, (order, placement) in enumerate(zip(rollouts.orders.tolist(), rollouts.placements.tolist(), strict=True)):
        for step in range(1, 7):
            scheduled = order[:step]
            last = {placement[operation]: operation for operation in scheduled}.values()
            free = [i for i in last if not any(i in parents_of(job, child) for child in scheduled)]
            assert float(backward[step - 1, b]) == pytest.approx(1 / len(free), rel=1e-5)


@every_sequence
def test_schedules_are_drawn_as_often_as_their_probabilities_say(sequence: str) -> None:
    """6,000 draws of a graph of three operations: every trajectory within four and a half deviations."""
    network, job, draws = policy(1, sequence=sequence), problem(5, 3, 2, density=0.0), 6000
    rollouts, view, conditions = drawn_trajectories(network, job, draws, seed=2)
    with torch.no_grad():
        logs = (
            log_probabilities(network, network.read(view), rollouts, conditions).forward.sum(0).double().exp().tolist()
        )
    ways = zip(rollouts.orders.tolist(), rollouts.placements.tolist(), strict=True)
    keys = [(*order, *placement) for order, placement in ways]
    expected = dict(zip(keys, logs, strict=True))
    assert sum(expected.values()) == pytest.approx(1, abs=0.01)  # few are never drawn
    for key, count in Counter(keys).items():
        p = expected[key]
        assert abs(count - draws * p) < 4.5 * np.sqrt(draws * p * (1 - p)) + 1


def test_drawing_alone_gives_the_same_schedules() -> None:
    network, job = policy(), problem(4, 9)
    rollouts, view, conditions = drawn_trajectories(network, job, 5, seed=6)
    moved, generator = TOLD.transferring(job), torch.Generator().manual_seed(6)
    environment = Environment(moved, 5)
    with torch.no_grad():
        graph = network.read(view)
    orders, placements = fused.schedules(network, graph, moved, environment, conditions, generator)
    assert torch.equal(orders, rollouts.orders) and torch.equal(placements, rollouts.placements)


@every_sequence
def test_joined_observations_are_the_separate_ones(sequence: str) -> None:
    network, job, batch = policy(sequence=sequence), problem(7, 8), 3
    moved = TOLD.transferring(job)
    environment, conditions = Environment(moved, batch, sequence), condition(job, SIGMA, TOLD, batch)
    with torch.no_grad():
        graph = network.read(graph_view(job))
        observe = Observer(environment, torch.from_numpy(job.tails))
        parts = [observe()]
        for step in range(8):  # the first allowed device; the last allowed operation, or in one schedule the first
            first, last = (
                torch.searchsorted(parts[-1].rows, torch.arange(batch), right=right) for right in (False, True)
            )
            index = torch.where(torch.arange(batch) == step % batch, first, last - 1)
            environment.step(parts[-1].operations[index], parts[-1].allowed[index].long().argmax(1))
            parts.append(observe())
        together = type(parts[0]).joined(parts)
        for field in fields(together):
            if field.name != "rows":
                assert torch.equal(getattr(together, field.name), torch.cat([getattr(p, field.name) for p in parts]))
        assert (together.rows.diff() >= 0).all()
        all_conditions = conditions.repeat(len(parts), 1)
        contexts = [network.contexts(graph, part) for part in parts]
        joined = network.contexts(graph, together)
        torch.testing.assert_close(joined, torch.cat(contexts), atol=1e-5, rtol=1e-5)
        scores = [
            network.operations(graph, part, context, conditions) for part, context in zip(parts, contexts, strict=True)
        ]
        torch.testing.assert_close(
            network.operations(graph, together, joined, all_conditions), torch.cat(scores), atol=1e-5, rtol=1e-5
        )
        removals = [
            network.removals(graph, part, 0, context, conditions) for part, context in zip(parts, contexts, strict=True)
        ]
        torch.testing.assert_close(
            network.removals(graph, together, 0, joined, all_conditions), torch.cat(removals), atol=1e-5, rtol=1e-5
        )


VALUE = {"value.weight", "value.bias"}
REMOVED = re.compile(r"of_removed|removed_")
SHIFT = re.compile(r"(operation|pair|removed)_score\.out\.bias")  # the same for all that is chosen among: no gradient


def learning(network: Policy, loss: torch.Tensor) -> set[str]:
    """Names of the parameters that a loss has a gradient for, beside rounding."""
    network.zero_grad()
    loss.backward()
    most = {name: float(p.grad.abs().max()) for name, p in network.named_parameters() if p.grad is not None}
    return {name for name, gradient in most.items() if gradient > 1e-5 * max(most.values())}


@pytest.mark.parametrize(
    "change", [{}, {"backward": "uniform"}, {"sequence": "by_start"}, {"start": "nothing"}], ids=str
)
def test_the_flow_teaches_all_but_the_value_and_a_backward_part_that_is_not_asked(change: dict[str, str]) -> None:
    network, job = policy(**change), problem(2, 8, density=0.1)
    rollouts, view, conditions = drawn_trajectories(network, job, 16, seed=3)
    logs = log_probabilities(network, network.read(view), rollouts, conditions)
    log_rewards = torch.randn(16, generator=torch.Generator().manual_seed(0))
    taught = learning(network, log_partition_variance(log_rewards, logs.forward, logs.backward))
    names = {name for name, _ in network.named_parameters()}
    idle = VALUE | {name for name in names if SHIFT.match(name)}
    if change.get("backward") == "uniform" or change.get("sequence") == "by_start":
        idle |= {name for name in names if REMOVED.match(name)}
    assert names - taught == idle


def test_ppo_teaches_all_but_the_backward_part() -> None:
    network, job = policy(objective="ppo"), problem(2, 8, density=0.1)
    rollouts, view, conditions = drawn_trajectories(network, job, 16, seed=3)
    speedups = torch.randn(16, generator=torch.Generator().manual_seed(0))
    taught = learning(network, next(ppo_loss.losses(network, view, rollouts, conditions, speedups, 0.01)))
    names = {name for name, _ in network.named_parameters()}
    assert names - taught == {name for name in names if SHIFT.match(name) or REMOVED.match(name)}


def test_everything_is_float32(tmp_path: Path) -> None:
    network, job = policy(), problem(1, 6)
    assert {weight.dtype for weight in network.state_dict().values()} == {torch.float32}
    rollouts, view, conditions = drawn_trajectories(network, job, 4, seed=3)
    logs = log_probabilities(network, network.read(view), rollouts, conditions)
    assert {part.dtype for part in logs} == {conditions.dtype} == {torch.float32}
    floats = [
        value
        for field in fields(rollouts.observation)
        if (value := getattr(rollouts.observation, field.name)).is_floating_point()
    ]
    assert floats and {value.dtype for value in floats} == {torch.float32}
    assert all(value.isfinite().all() for value in floats)


def test_every_setting_that_changes_a_network_changes_its_seeded_weights_alone() -> None:
    """The same seed and settings: the same weights; another seed: others."""
    first, second, third = (policy(seed).state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["encoder.enter.weight"], third["encoder.enter.weight"])
