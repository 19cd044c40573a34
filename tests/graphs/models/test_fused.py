"""Drawing is compiled: it has the observations and probabilities of the oracle in torch (observer.py)."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from learned_schedulers.graphs.devices.simulator import makespans
from learned_schedulers.graphs.environment.batched import Environment, Sequence
from learned_schedulers.graphs.models import fused
from learned_schedulers.graphs.models.conditions import Strengths, condition
from learned_schedulers.graphs.models.observation import Observation
from learned_schedulers.graphs.models.topoformer import graph_view
from tests.graphs.models.observer import Observer
from tests.graphs.models.small_policies import policy
from tests.graphs.problems import drawn

CLOSE = {"rtol": 1e-4, "atol": 1e-4}
STATE = ("placement", "ends", "arrivals", "free", "last", "now", "added", "waiting", "needed")
TOLD = Strengths(0.5, 0.2, 0.1)


def log_softmax(scores: np.ndarray) -> np.ndarray:
    largest = scores - scores.max()
    return largest - np.log(np.exp(largest).sum())


@pytest.mark.slow
@pytest.mark.parametrize("sequence", ["any", "by_start"])
@pytest.mark.parametrize(("n", "devices", "hidden"), [(1, 3, 8), (7, 3, 24), (20, 2, 8), (40, 4, 24)])
@torch.inference_mode()
def test_along_the_same_steps_it_sees_and_wants_the_same(sequence: Sequence, n: int, devices: int, hidden: int) -> None:
    problem, batch = drawn.problem(np.random.default_rng(n), n, devices), 5
    network = policy(n, sequence=sequence, hidden=hidden)
    graph, conditions = network.read(graph_view(problem)), condition(problem, 0.3, TOLD, batch)
    compiled_environment, torch_environment = (Environment(problem, batch, sequence) for _ in range(2))
    drawing, observe = (
        fused.Drawing(network, graph, problem, compiled_environment, conditions),
        Observer(torch_environment, torch.from_numpy(problem.tails)),
    )
    rng = np.random.default_rng(0)
    for _ in range(n):
        observation = observe()
        context = network.contexts(graph, observation)
        scores = network.operations(graph, observation, context, conditions)
        drawing.observe()
        np.testing.assert_allclose(drawing.observations.devices, observation.devices.numpy(), atol=1e-6)
        for s in range(batch):
            rows, count = observation.rows == s, drawing.observations.counts[s]
            assert observation.operations[rows].tolist() == drawing.observations.operations[s, :count].tolist()
            np.testing.assert_allclose(
                drawing.observations.candidates[s, :, :count].T, observation.candidates[rows], atol=1e-6
            )
            np.testing.assert_allclose(
                log_softmax(drawing.scores[s, :count]), log_softmax(scores[rows].numpy()), **CLOSE
            )
        operations = torch.from_numpy(drawing.choose(rng.random(batch))[1]).long()
        index = [
            int(((observation.rows == s) & (observation.operations == operations[s])).nonzero()[0])
            for s in range(batch)
        ]
        torch_devices = network.devices(graph, observation, torch.tensor(index), context, conditions)
        compiled_devices = torch.from_numpy(drawing.place(operations.numpy())).log_softmax(-1)
        torch.testing.assert_close(compiled_devices, torch_devices, **CLOSE)
        chosen = torch_devices.argmax(1)
        drawing.add(operations.numpy(), chosen.numpy())
        torch_environment.step(operations, chosen)
        for name in STATE:
            torch.testing.assert_close(
                getattr(compiled_environment, name), getattr(torch_environment, name), rtol=0, atol=0, equal_nan=True
            )


def test_operations_are_drawn_as_probable_as_they_are() -> None:
    problem, batch = drawn.problem(np.random.default_rng(3), 12, 3, 0.1), 20_000
    network = policy(3)
    with torch.inference_mode():
        conditions, graph = condition(problem, 0.3, TOLD, batch), network.read(graph_view(problem))
        drawing = fused.Drawing(network, graph, problem, Environment(problem, batch), conditions)
        drawing.observe()
        _, index = drawing.choose(np.random.default_rng(0).random(batch))
    count = drawing.observations.counts[0]
    expected = np.exp(log_softmax(drawing.scores[0, :count].astype(np.float64))) * batch
    counts = [(index == i).sum() for i in drawing.observations.operations[0, :count]]
    assert count > 2 and chisquare(counts, expected).pvalue > 1e-3
    assert chisquare(np.roll(counts, 1), expected).pvalue < 1e-6


def test_schedules_cost_what_the_environment_says_and_repeat() -> None:
    problem, batch = drawn.problem(np.random.default_rng(5), 30, 3), 9
    network = policy(5)

    def schedules(seed: int) -> tuple[np.ndarray, np.ndarray]:
        environment = Environment(problem, batch)
        generator = torch.Generator().manual_seed(seed)
        conditions = condition(problem, 0.3, TOLD, batch)
        with torch.inference_mode():
            graph = network.read(graph_view(problem))
        orders, placements = (
            part.numpy().astype(np.int32)
            for part in fused.schedules(network, graph, problem, environment, conditions, generator)
        )
        np.testing.assert_array_equal(makespans(problem, orders, placements), environment.makespan.numpy())
        return orders, placements

    first, again, another_seed = schedules(0), schedules(0), schedules(1)
    assert all((a == b).all() for a, b in zip(first, again, strict=True)) and (first[0] != another_seed[0]).any()


@pytest.mark.slow
@pytest.mark.parametrize("sequence", ["any", "by_start"])
@pytest.mark.parametrize(("n", "hidden"), [(1, 8), (7, 24), (40, 8)])
def test_its_trajectories_are_those_that_torch_observes(sequence: Sequence, n: int, hidden: int) -> None:
    problem, batch = drawn.problem(np.random.default_rng(n), n, 3), 6
    network = policy(n, sequence=sequence, hidden=hidden)
    generator, conditions = torch.Generator().manual_seed(n), condition(problem, 0.3, TOLD, batch)
    with torch.no_grad():
        graph = network.read(graph_view(problem))
    environment, replayed = (Environment(problem, batch, sequence) for _ in range(2))
    rollouts = fused.trajectories(network, graph, problem, environment, conditions, generator)
    observe, parts = Observer(replayed, torch.from_numpy(problem.tails)), []
    for operations in rollouts.orders.T:
        parts.append(observe())
        replayed.step(operations, rollouts.placements.gather(1, operations[:, None])[:, 0])
    expected, observed = Observation.joined([*parts, observe()]), rollouts.observation
    of_chosen = {"pairs", "allowed"}
    for name in {field.name for field in fields(Observation)} - of_chosen:
        torch.testing.assert_close(getattr(observed, name), getattr(expected, name), rtol=0, atol=2e-6)
    for name in of_chosen:
        columns = (getattr(part, name)[rollouts.chosen] for part in (observed, expected))
        torch.testing.assert_close(*columns, rtol=0, atol=2e-6)
    assert (observed.operations[rollouts.chosen] == rollouts.orders.T.flatten()).all()
    assert (rollouts.removable == expected.removable[batch:]).all()
    steps = rollouts.placements.gather(1, rollouts.orders).T.flatten()
    assert (rollouts.devices == steps).all()
