"""GO's own policy: what it reads, that it learns from the probabilities it draws by, and that it finds known optima."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from learned_schedulers.graphs.devices.evaluation import evaluated
from learned_schedulers.graphs.devices.ordering import ordered
from learned_schedulers.graphs.models.whole_graph import published_learning as learning
from learned_schedulers.graphs.models.whole_graph.published import Operations, PublishedGo, initial
from learned_schedulers.graphs.models.whole_graph.settings import Generalised
from learned_schedulers.graphs.models.whole_graph.settings import Published as Settings
from learned_schedulers.graphs.problems.problem import Edges, Problem, Transfers
from tests.graphs.problems import drawn

SMALL = Settings(width=16, heads=2, segment=8, samples=10)
KINDS = ("add", "conv", "mul")


def network(settings: Settings = SMALL, devices: int = 3, seed: int = 0) -> PublishedGo:
    """A network whose last layers have weights other than 0, too."""
    started = initial(settings, KINDS, devices, seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in started.named_parameters():
            if name != "embed.weight":
                parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    return started


def problem(seed: int = 0, n: int = 20, devices: int = 3) -> Problem:
    kinds = tuple(KINDS[i % 3] for i in range(n))
    return replace(drawn.problem(np.random.default_rng(seed), n, devices, 0.2), kinds=kinds)


def batch(net: PublishedGo, of: Problem, count: int = 10, settings: Settings = SMALL) -> learning.Batch:
    operations = Operations.of(of, net.vocabulary)
    with torch.no_grad():
        logs = net(operations)
    return learning.draw(logs, operations, settings, count, torch.Generator().manual_seed(3))


def chains(length: int, delay: float) -> Problem:
    """Two chains of operations that take a second each, on two devices: 0 -> 2 -> 4 ... and 1 -> 3 -> 5 ..."""
    n = 2 * length
    targets = np.arange(2, n, dtype=np.int32)
    edges = Edges(np.minimum(np.arange(n + 1), n - 2).astype(np.int32), targets)
    kinds = ("add", "conv") * length
    return Problem(np.ones(n), np.ones(n), edges, 2, Transfers(0.0, delay), np.ones(n), kinds=kinds)


def test_the_gradient_reaches_every_part() -> None:
    net, of = network(), problem()
    learning.objective(net, batch(net, of), SMALL).backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name
    rows = net.embed.weight.grad
    assert rows is not None and not rows[0].any() and all(rows[row].any() for row in (1, 2, 3))


def test_choices_are_drawn_with_the_probabilities_that_it_learns_from() -> None:
    net, of, count = network(), problem(n=5), 40_000
    judged = batch(net, of, count)
    logs = net(Operations.of(of, KINDS))
    for task, choices, before in zip(logs, judged.choices, judged.logs, strict=True):
        assert torch.allclose(task.exp().sum(1), torch.ones(5), atol=1e-5)
        shares = torch.stack([torch.bincount(row, minlength=task.shape[1]) for row in choices]) / count
        assert (shares - task.exp()).abs().max() < 4 * np.sqrt(0.25 / count)
        assert torch.equal(before, task.gather(1, choices))
    # In the first epoch all ratios are 1: the objective is minus the mean advantage, 0, and the entropy.
    entropy = sum(-float((task.exp() * task).sum(1).mean().detach()) for task in logs)
    assert learning.objective(net, judged, SMALL).item() == pytest.approx(-SMALL.entropy * entropy, abs=1e-6)


def test_the_clip_ends_what_has_moved_far_enough() -> None:
    """A choice of a good schedule that is likelier by more than the clip has no gradient any more."""
    net, of = network(SMALL.model_copy(update={"priorities": False})), problem(n=5)
    judged = batch(net, of, 2)
    judged = replace(judged, rewards=np.array([0.0, 1.0]))
    plain = SMALL.model_copy(update={"entropy": 0.0})
    for shift, moves in ((0.1, True), (0.3, False)):
        before = [task - torch.tensor([-shift, shift]) for task in judged.logs]  # good: likelier, bad: less likely
        net.zero_grad()
        learning.objective(net, replace(judged, logs=before), plain).backward()
        weights = net.place[-1].weight.grad
        assert weights is not None and bool(weights.any()) == moves


def test_schedules_of_a_batch_are_judged_as_each_alone() -> None:
    net, of = network(), problem()
    middle = float(np.median(batch(net, of, 30).evaluated.peaks.max(1)))
    of = replace(of, memory=middle)
    judged = batch(net, of, 30)
    assert judged.evaluated.fits.any() and not judged.evaluated.fits.all()
    for s in range(30):
        placement, levels = (task[:, s].numpy()[None] for task in judged.choices)
        alone = evaluated(of, ordered(of, placement, levels), placement)
        assert alone.costs[0] == judged.evaluated.costs[s]
        share = alone.seconds[0] / of.seconds.sum()
        assert judged.rewards[s] == pytest.approx(-np.sqrt(share) if alone.fits[0] else -SMALL.invalid)


def test_advantages_have_mean_zero_and_deviation_one() -> None:
    advantage = learning.advantages(np.array([-1.0, -2.0, -10.0]))
    assert advantage.mean() == pytest.approx(0) and advantage.std() == pytest.approx(1)
    assert learning.advantages(np.full(3, -10.0)).tolist() == [0, 0, 0]


def test_kinds_without_an_embedding_are_read_alike() -> None:
    net, of = network(), problem()
    other, another, without = (replace(of, kinds=kinds) for kinds in (("a",) * 20, ("b",) * 20, ()))
    first = net(Operations.of(other, net.vocabulary))
    for changed, same in ((another, True), (without, True), (of, False)):
        pairs = zip(first, net(Operations.of(changed, net.vocabulary)), strict=True)
        assert all(torch.equal(*pair) == same for pair in pairs)


def test_devices_that_a_problem_lacks_are_never_drawn() -> None:
    net = network(devices=8)
    for devices in (1, 2, 5):
        judged = batch(net, problem(devices=devices), 50)
        assert int(judged.choices[0].max()) == devices - 1
        assert net(Operations.of(problem(devices=devices), KINDS))[0].shape == (20, devices)


def test_without_priorities_the_one_rule_orders() -> None:
    net, of = network(SMALL.model_copy(update={"priorities": False})), problem()
    judged = batch(net, of)
    assert len(judged.choices) == 1 and not hasattr(net, "order")
    assert np.array_equal(judged.evaluated.orders, ordered(of, judged.evaluated.placements))


@pytest.mark.slow
@pytest.mark.parametrize(("memory", "most"), [(np.inf, 6.0), (14.0, 7.0)])
def test_it_finds_the_optimum_of_two_chains(memory: float, most: float) -> None:
    """Six seconds, each chain on a device; one device takes twelve. With little memory, that does not fit."""
    of = replace(chains(6, 1.0), memory=memory)
    settings = SMALL.model_copy(update={"learning_rate": 3e-3, "samples": 32})
    result = learning.search(initial(settings, ("add", "conv"), 2, 0), of, settings, 3200, np.random.default_rng(0))
    assert result.best.fits[0] and 6 <= result.best.seconds[0] <= most
    late = np.median(result.costs[-320:])
    assert late == result.best.seconds[0] < np.median(result.costs[:320])  # it is learned, not met once


@pytest.mark.slow
def test_it_learns_that_a_chain_stays_on_a_device() -> None:
    n = 12
    edges = Edges(np.minimum(np.arange(n + 1), n - 1).astype(np.int32), np.arange(1, n, dtype=np.int32))
    of = Problem(np.ones(n), np.ones(n), edges, 3, Transfers(0.0, 2.0))
    settings = SMALL.model_copy(update={"learning_rate": 3e-3, "samples": 32})
    result = learning.search(initial(settings, (), 3, 0), of, settings, 3200, np.random.default_rng(0))
    assert result.best.seconds[0] == np.median(result.costs[-320:]) == n


def test_a_search_counts_its_evaluations_and_the_same_seed_gives_the_same_bytes() -> None:
    of, runs = problem(), []
    for _ in range(2):
        net = network()
        result = learning.search(net, of, SMALL, 45, np.random.default_rng(5))
        runs.append((result.costs.tobytes(), [weight.numpy().tobytes() for weight in net.state_dict().values()]))
        assert len(result.costs) == 45 and result.best.seconds[0] == result.costs.min()
    assert runs[0] == runs[1]
    still = network()
    learning.search(still, of, SMALL, 45, np.random.default_rng(5), learns=False)
    assert all(torch.equal(*pair) for pair in zip(still.parameters(), network().parameters(), strict=True))


def test_where_nothing_fits_the_nearest_is_the_best() -> None:
    of = replace(problem(), memory=float(problem().weights.max()) / 2)
    result = learning.search(network(), of, SMALL, 30, np.random.default_rng(0))
    assert np.isinf(result.costs).all() and not result.best.fits[0]


def test_a_training_needs_problems_and_its_settings() -> None:
    settings = Generalised(training=["a"], development="a", links=["a"], updates=1, published=SMALL)
    for training, chosen in (([], settings), ([problem()], settings.model_copy(update={"published": None}))):
        with pytest.raises(ValueError, match="all are needed"):
            learning.train(training, [problem()], chosen, 0)
