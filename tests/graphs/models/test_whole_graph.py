"""GO's network, its moves and its search: its inputs, what its scores may depend on, and that it learns."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from learned_schedulers.graphs.devices.completion import LEVELS, OPEN, PLAIN, Completion, Decisions, earliest_finish
from learned_schedulers.graphs.models.whole_graph import moves
from learned_schedulers.graphs.models.whole_graph.layers import SegmentAttention
from learned_schedulers.graphs.models.whole_graph.network import Scores, WholeGraph
from learned_schedulers.graphs.models.whole_graph.search import (
    LEADS,
    Learner,
    State,
    advantages,
    begin,
    better,
    draw_round,
    losses,
    search,
)
from learned_schedulers.graphs.models.whole_graph.settings import WholeGraph as Settings
from learned_schedulers.graphs.models.whole_graph.surroundings import Standing, standing
from learned_schedulers.graphs.problems.problem import Edges, Problem
from tests.graphs.problems import drawn

SMALL = Settings(width=16, heads=2, segment=8, samples=10)


def network(seed: int = 0, settings: Settings = SMALL, scale: float = 1.0) -> WholeGraph:
    """A network whose last layers have weights other than 0, too."""
    torch.manual_seed(seed)
    initial = WholeGraph(settings)
    with torch.no_grad():
        for parameter in initial.parameters():
            parameter.add_(scale * 0.2 * torch.randn_like(parameter))
    return initial


def state(seed: int = 0, n: int = 20, devices: int = 3) -> State:
    return State.begin(Completion(drawn.problem(np.random.default_rng(seed), n, devices, 0.2)))


@pytest.mark.parametrize("seed", range(5))
def test_slack_and_arrivals_are_those_of_the_schedule(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = drawn.problem(rng, 12, 3, 0.3)
    completion = Completion(problem)
    decisions = Decisions(rng.integers(OPEN, 3, (1, 12)).astype(np.int8), np.full((1, 12), PLAIN, np.int8))
    judged = completion(decisions)
    begin = State.begin(completion)
    inputs = standing(begin.surroundings, decisions, judged)
    unit, span = problem.seconds.mean(), judged.seconds[0]
    slack = np.maximum(np.expm1(inputs.operations[:, 1].numpy().astype(float)), 0) * unit
    order, placement = judged.orders[0], judged.placements[0]
    for i in range(12):  # an operation that takes as much longer as its slack lengthens nothing; more does
        for more, longer in ((0.999, False), (1.001, True)):
            times = problem.seconds.copy()
            times[i] += slack[i] * more + (1e-6 * span if longer else 0.0)
            took = _run(replace(problem, seconds=times), order, placement)
            assert (took > span * (1 + 1e-9)) == longer
    delays = problem.delays
    for i, device in product(range(12), range(3)):
        before = problem.parents.targets[problem.parents.offsets[i] : problem.parents.offsets[i + 1]]
        arrivals = [judged.ends[0, j] + (delays[j] if placement[j] != device else 0.0) for j in before]
        present_arrivals = [judged.ends[0, j] + (delays[j] if placement[j] != placement[i] else 0.0) for j in before]
        expected = (max(arrivals, default=0.0) - max(present_arrivals, default=0.0)) / unit
        assert inputs.devices[i, device, 7] == pytest.approx(np.sign(expected) * np.log1p(abs(expected)) / 2, abs=1e-5)


def _run(problem: Problem, order: np.ndarray, placement: np.ndarray) -> float:
    from learned_schedulers.graphs.devices.simulator import makespans

    return float(makespans(problem, order[None], placement[None])[0])


def test_devices_are_treated_alike() -> None:
    begin = state()
    inputs = standing(begin.surroundings, begin.decisions, begin.evaluated)
    exchanged = torch.tensor([2, 0, 1])
    net = network()
    scores = net(begin.surroundings, inputs)
    exchanged_scores = net(begin.surroundings, Standing(inputs.operations, inputs.devices[:, exchanged]))
    assert torch.allclose(exchanged_scores.placement[:, :3], scores.placement[:, exchanged], atol=1e-5)
    assert torch.allclose(exchanged_scores.placement[:, 3], scores.placement[:, 3], atol=1e-5)
    assert torch.allclose(exchanged_scores.priority, scores.priority, atol=1e-5)


def test_attention_reads_its_segment_and_the_one_before_alone() -> None:
    torch.manual_seed(0)
    layer = SegmentAttention(SMALL)
    x = torch.randn(37, 16)
    base = layer(x)
    for changed in (0, 7, 8, 30, 36):
        y = x.clone()
        y[changed] += 1
        differs = ((layer(y) - base).abs().amax(1) > 1e-6).numpy()
        segment = changed // 8
        assert not differs[: segment * 8].any() and not differs[(segment + 2) * 8 :].any()
        assert differs[segment * 8 : (segment + 2) * 8].any()
    x.requires_grad_()
    layer(x)[8:16].sum().backward()
    assert x.grad is not None and not x.grad[:8].any() and x.grad[8:16].any()  # the cached states carry no gradient
    assert torch.allclose(layer(x[:37])[:32], layer(x[:32]), atol=1e-6)  # padding of the last segment adds nothing


@pytest.mark.parametrize("left_out", [{"attention": False}, {"modulation": False}, {"recurrent_layers": False}])
def test_parts_that_an_ablation_leaves_out_are_not_there(left_out: dict[str, bool]) -> None:
    whole, part = network(), network(settings=SMALL.model_copy(update=left_out))
    assert sum(p.numel() for p in part.parameters()) < sum(p.numel() for p in whole.parameters())
    begin = state()
    scores = part(begin.surroundings, standing(begin.surroundings, begin.decisions, begin.evaluated))
    assert scores.placement.shape == (20, 4) and scores.priority.shape == (20, LEVELS)


def _scores(rng: np.random.Generator, n: int, devices: int) -> Scores:
    def drawn_now(*shape: int) -> torch.Tensor:
        return torch.tensor(rng.standard_normal(shape), dtype=torch.float32)

    return Scores(drawn_now(n, devices + 1), drawn_now(n), drawn_now(n, LEVELS), drawn_now(n), drawn_now())


@pytest.mark.parametrize("places", [True, False])
def test_probabilities_of_all_moves_sum_to_one_and_are_drawn_so(places: bool) -> None:
    rng = np.random.default_rng(3)
    scores, labels, groups = _scores(rng, 6, 2), np.array([[0, 0, 1, 2, 2, 2]]), np.array([3])
    choices = 3 if places else LEVELS
    all_moves = [
        moves.Moves(
            torch.from_numpy(labels),
            torch.from_numpy(groups),
            torch.tensor([[places]]),
            torch.tensor([[True]]),
            torch.tensor([[group]]),
            torch.tensor([[choice]]),
        )
        for group in range(3)
        for choice in range(choices)
    ]
    chances = np.array([float(moves.log_probabilities(scores, move, 0.3).exp()) for move in all_moves])
    assert chances.sum() == pytest.approx(1, abs=1e-5)
    assert chances.min() >= 0.3 * 0.3 / (3 * choices)
    count = 20_000
    drawn_moves = moves.draw(
        scores, np.repeat(labels, count, 0), np.repeat(groups, count), np.ones(count, int), float(places), 0.3, rng
    )
    shares = (
        np.bincount((drawn_moves.chosen * choices + drawn_moves.choices).flatten().numpy(), minlength=len(chances))
        / count
    )
    assert np.abs(shares - chances).max() < 4 * np.sqrt(0.25 / count)
    assert moves.log_probabilities(scores, drawn_moves, 0.3).exp().mean() == pytest.approx((chances**2).sum(), rel=0.05)


def test_a_move_changes_its_group_alone() -> None:
    labels, groups = np.array([[0, 1, 1, 2]]), np.array([3])
    several = moves.Moves(
        torch.from_numpy(labels),
        torch.from_numpy(groups),
        torch.tensor([[True, False, True]]),
        torch.tensor([[True, True, False]]),  # the third is none
        torch.tensor([[1, 0, 2]]),
        torch.tensor([[2, 19, 0]]),
    )
    changed = moves.changed(Decisions.open(4), several, 2)
    assert changed.devices.tolist() == [[OPEN, OPEN, OPEN, OPEN]]  # choice 2 of 2 devices: open
    assert changed.levels.tolist() == [[19, PLAIN, PLAIN, PLAIN]]
    placed = moves.changed(Decisions.open(4), replace(several, choices=torch.tensor([[1, 0, 0]])), 2)
    assert placed.devices.tolist() == [[OPEN, 1, 1, OPEN]] and placed.levels.tolist() == [[0, PLAIN, PLAIN, PLAIN]]


def test_a_search_keeps_the_best_and_the_same_seed_gives_the_same() -> None:
    begin, runs = state(1), []
    for _ in range(2):
        net = network(2)
        runs.append(search(net, begin, SMALL, (1.0, 0.0), 75, np.random.default_rng(5), Learner(net, 1e-3)))
    assert runs[0].costs.tolist() == runs[1].costs.tolist() and len(runs[0].costs) == 75
    assert runs[0].best.seconds[0] == runs[0].costs.min() <= runs[0].costs[0]
    assert begin.evaluated.seconds[0] == runs[0].costs[0]  # the start is left as it was


def test_what_the_memory_does_not_hold_is_worse_than_anything_it_holds() -> None:
    problem = drawn.problem(np.random.default_rng(0), 10, 2, 0.2)
    rng = np.random.default_rng(1)
    decisions = Decisions(rng.integers(0, 2, (50, 10)).astype(np.int8), np.full((50, 10), PLAIN, np.int8))
    middle = float(np.median(Completion(problem)(decisions).peaks.max(1)))
    completion = Completion(replace(problem, memory=middle))
    judged = completion(decisions)
    loss = losses(completion, judged)
    assert judged.fits.any() and not judged.fits.all()
    assert loss[judged.fits].max() < loss[~judged.fits].min()
    beyond = np.flatnonzero(~judged.fits)
    assert np.argsort(loss[beyond]).tolist() == np.argsort(judged.excess[beyond]).tolist()


def test_only_gains_count() -> None:
    assert advantages(np.array([2.0, 3.0, 1.0]), 1.0).tolist() == [0, 0, 0]
    gained = advantages(np.array([0.999, 1.0, 5.0]), 1.0)
    assert gained[0] == pytest.approx(np.log(1.5) * 2 / 3) and gained[1] == gained[2] < 0


def test_it_learns_where_gains_are() -> None:
    """Two long operations share a device with ten that take no time: only moves of the long operations help."""
    n = 12
    edges = Edges(np.zeros(n + 1, np.int32), np.zeros(0, np.int32))
    seconds = np.r_[1.0, 1.0, np.zeros(n - 2)]
    problem = Problem(seconds, np.ones(n), edges, 2)
    begin = State.begin(Completion(problem), np.zeros(n, np.int32))
    settings = SMALL.model_copy(update={"most_moves": 1, "samples": 40, "placing": 1.0, "learning_rate": 1e-2})
    torch.manual_seed(0)
    net = WholeGraph(settings)
    learn, rng = Learner(net, 1e-2), np.random.default_rng(0)

    def of_long() -> float:
        with torch.no_grad():
            scores = net(begin.surroundings, standing(begin.surroundings, begin.decisions, begin.evaluated))
        return float(torch.softmax(scores.placement_turn, 0)[:2].sum())

    before = of_long()
    for _ in range(40):
        draw_round(net, begin, settings, 1.0, 40, rng, learn)
    assert of_long() > 3 * before


def test_a_search_begins_with_the_best_of_its_leads() -> None:
    """Without a limit of memory the first is HEFT's; where one lead fits and the first does not, it is taken."""
    problem = drawn.problem(np.random.default_rng(8), 25, 3, 0.1)
    first, spent = begin(problem, 1)
    assert (
        first.evaluated.seconds[0] == spent[0] == pytest.approx((earliest_finish(problem)[1] + problem.seconds).max())
    )
    best, costs = begin(problem, 100)
    assert len(costs) == len(LEADS) and best.evaluated.seconds[0] == costs.min() <= spent[0]
    limits = problem.weights.sum() * np.linspace(0.5, 2, 60)
    starts = [begin(replace(problem, memory=float(limit)), 100) for limit in limits]
    assert all(state.evaluated.fits[0] == np.isfinite(costs).any() for state, costs in starts)
    assert any(np.isinf(costs[0]) and np.isfinite(costs).any() for _, costs in starts)


def test_better_takes_equals_and_refuses_worse() -> None:
    begin = state(3)
    drawn_now = draw_round(network(), begin, SMALL, 0.7, 10, np.random.default_rng(0))
    least = float(drawn_now.losses.min())
    assert better(replace(begin, loss=least), drawn_now).loss == least
    worse = replace(begin, loss=least * 0.99)
    assert better(worse, drawn_now) is worse
