"""The loop: learning, what a speedup is of, determinism, resuming, and how it ends where it cannot go on."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.graphs.devices.targets import Target, noisy
from learned_schedulers.graphs.environment.batched import Environment
from learned_schedulers.graphs.models import policy_training
from learned_schedulers.graphs.models.conditions import PLAIN, Strengths, at_stake
from learned_schedulers.graphs.models.policy import make
from learned_schedulers.graphs.models.policy_settings import Policy as Settings
from learned_schedulers.graphs.models.policy_training import State, StepInput, measure, train
from learned_schedulers.graphs.models.topoformer import graph_view
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.learning.loop import Diverged
from pipeline.lab.shared_tables import POLICY_HISTORY
from tests.graphs.models.small_policies import policy, problem, settings
from tests.graphs.problems import drawn

pytestmark = pytest.mark.slow

TRAINING = [[problem(0, 5), problem(1, 7)], [problem(2, 6, 2)]]
DEVELOPMENT = [problem(3, 6)]


@pytest.mark.parametrize(
    "change",
    [{"steps": 40}, {"steps": 80, "sequence": "by_start"}],
    ids=["any", "by start"],
)
def test_a_short_training_lowers_the_loss_on_development_graphs(change: dict[str, Any]) -> None:
    job = problem(1, 6, 2)
    sigma = {"least_sigma": 0.3, "most_sigma": 0.3}
    chosen = settings(start="nothing", trajectories=64, measurements=2, **sigma, **change)
    torch.manual_seed(0)
    before = measure(make(chosen), [job])["loss"]
    _, history = train([[job]], [job], chosen, 0)
    losses = [row["loss"] for row in history if row["split"] == "development"]
    assert losses[-1] < losses[0] and losses[-1] < 0.75 * before


def test_the_history_is_its_table() -> None:
    chosen = settings(steps=7, measurements=3, trajectories=4)
    _, history = train(TRAINING, DEVELOPMENT, chosen, 0)
    assert all(set(row) == set(POLICY_HISTORY.schema.names) for row in history)
    assert [row["step"] for row in history if row["split"] == "development"] == [2, 4, 6, 7]
    assert [row["split"] for row in history[:2]] == ["training", "development"]
    for row in history:
        of_training = row["split"] == "training"
        assert np.isfinite([row["loss"], row["mean"], row["learning_rate"]]).all()
        assert np.isnan(row["best"] if of_training else row["gradient"])
        assert of_training or 0 < row["mean"] <= row["best"] <= 1 + 1e-9


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.4]), st.integers(1, 2))
def test_a_speedup_is_that_of_the_target(seed: int, noise: float, devices: int) -> None:
    """With the same draws: work over makespan; under noise the mean of these over the draws."""
    strengths, job = Strengths(0.8, 0.3, noise), problem(seed, 8)
    moved = strengths.transferring(job)
    environment = Environment(moved, 5)
    orders = torch.from_numpy(drawn.schedules(job, np.random.default_rng(seed), 5)[0]).long()
    for step in range(8):
        environment.step(orders[:, step], torch.full((5,), step % devices))
    speedups = policy_training._speedups(moved, strengths, environment, orders, np.random.default_rng(seed))
    normals = np.random.default_rng(seed).standard_normal((4, 8))
    draws = noisy(job, noise, normals).draws if noise else (job,)
    schedules = orders.numpy().astype(np.int32), environment.placement.numpy().astype(np.int32)
    moved_draws = [replace(draw, transfers=moved.transfers) for draw in draws]
    expected = np.mean([draw.seconds.sum() / Target((draw,)).seconds(*schedules) for draw in moved_draws], 0)
    np.testing.assert_allclose(speedups.numpy(), expected, rtol=1e-12)


def test_drawn_targets_are_told_and_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step has its own target, some with noise, and the policy is told the same."""
    conditions_of, counted = [], []
    condition, count = policy_training.condition, policy_training._speedups

    def telling(job: Problem, sigma: float, strengths: Strengths, batch: int) -> torch.Tensor:
        conditions_of.append(strengths)
        return condition(job, sigma, strengths, batch)

    def counting(job: Problem, strengths: Strengths, *rest: Any) -> torch.Tensor:
        assert (job.transfers.slope > 0) == (strengths.slope > 0) and (job.transfers.delay > 0) == (strengths.delay > 0)
        counted.append(strengths)
        return count(job, strengths, *rest)

    monkeypatch.setattr(policy_training, "condition", telling)
    monkeypatch.setattr(policy_training, "_speedups", counting)
    _, history = train(TRAINING, DEVELOPMENT, settings(steps=20, trajectories=2, measurements=1, targets="drawn"), 0)
    assert conditions_of == counted and np.isfinite([row["loss"] for row in history]).all()
    of_steps, measured = conditions_of[:20], conditions_of[20:]
    assert measured == [PLAIN]  # development graphs are measured on the proxy
    assert len(set(of_steps)) > 15 and {bool(s.noise) for s in of_steps} == {True, False}
    assert len({(bool(s.slope), bool(s.delay)) for s in of_steps}) == 4
    conditions_of.clear()
    train(TRAINING, DEVELOPMENT, settings(steps=3, trajectories=2, measurements=1), 0)
    assert set(conditions_of) == {PLAIN}


def loss_of(chosen: Settings, sigma: float) -> float:
    network, job = policy(sequence="by_start"), problem(1, 6, 2)
    step_input = StepInput(job, graph_view(job), sigma, PLAIN)
    generator, rng = torch.Generator().manual_seed(0), np.random.default_rng(0)
    _, losses = policy_training._losses(network, step_input, chosen, generator, rng, 1.0)
    return float(next(losses).detach())


def test_losses_are_weighed_by_sigma_over_what_is_at_stake() -> None:
    plain, weighed = (loss_of(settings(sequence="by_start", loss_weight=weight), 0.2) for weight in ("none", "sigma"))
    assert weighed == pytest.approx(plain * 0.2 / at_stake(problem(1, 6, 2)))


def test_sets_are_drawn_from_equally_often_and_temperatures_log_uniform() -> None:
    small, large = [problem(0, 5)], [problem(seed, 6) for seed in range(1, 10)]
    chosen = settings(least_sigma=0.01, most_sigma=1.0)
    views: dict[int, Any] = {}
    inputs = [policy_training._draw([small, large], views, chosen, np.random.default_rng([0, k])) for k in range(600)]
    share = np.mean([step_input.problem is small[0] for step_input in inputs])
    assert 0.44 < share < 0.56 and len(views) == 10
    logs = np.log10([step_input.sigma for step_input in inputs])
    assert logs.min() > -2 and logs.max() < 0 and logs.mean() == pytest.approx(-1, abs=0.1)
    assert logs.std() == pytest.approx(2 / 12**0.5, rel=0.1)
    by_graph = settings(least_sigma=0.5, most_sigma=0.5, sigma_unit="mean_run_time")
    step_input = policy_training._draw([small], views, by_graph, np.random.default_rng(0))
    assert step_input.sigma == pytest.approx(0.5 * at_stake(small[0]))


def test_measuring_repeats_and_changes_nothing() -> None:
    network = policy()
    before = deepcopy(network.state_dict())
    assert str(measure(network, DEVELOPMENT)) == str(measure(network, DEVELOPMENT))
    assert all(torch.equal(weight, before[name]) for name, weight in network.state_dict().items())


@pytest.mark.parametrize(
    ("training", "development", "message"),
    [
        ([], DEVELOPMENT, r"\[\] training and 1 development graphs"),
        ([TRAINING[0], []], DEVELOPMENT, r"\[2, 0\] training and 1 development graphs"),
        (TRAINING, [], r"\[2, 1\] training and 0 development graphs"),
    ],
)
def test_nothing_to_learn_from_or_to_measure_by_is_an_error(
    training: list[list[Problem]], development: list[Problem], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        train(training, development, settings(), 0)


def test_a_loss_that_is_no_number_is_an_error_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    right = policy_training.log_partition_variance
    losses: list[torch.Tensor] = []
    states: list[State] = []

    def breaks_at_the_third(*arguments: torch.Tensor) -> torch.Tensor:
        losses.append(right(*arguments))
        return losses[-1] * (np.nan if len(losses) == 3 else 1.0)

    monkeypatch.setattr(policy_training, "log_partition_variance", breaks_at_the_third)
    with pytest.raises(Diverged, match="the loss is not finite at step 3; lower learning_rate"):
        train(TRAINING, DEVELOPMENT, settings(steps=20, measurements=1, trajectories=2), 0, save=states.append)
    assert len(losses) == 3 and not states  # nothing of it is kept


def test_a_rate_that_is_far_too_high_is_an_error() -> None:
    chosen = settings(learning_rate=1e30, warmup=1, trajectories=4)
    with pytest.raises(Diverged, match="lower learning_rate"):
        train(TRAINING, DEVELOPMENT, chosen, 0)
